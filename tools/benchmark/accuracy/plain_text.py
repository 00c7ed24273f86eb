"""English text for experiments: sentences of files without those of transcripts.

    python3 -m tools.benchmark.accuracy.plain_text --manifest=DIR/manifest.tsv FILE ...

prints a sentence a line, as build-lm.sh of irstlm reads them. Sentences that share 6 successive
words with a transcript of the manifest (accuracy/evaluate.py) are left out.
"""

import argparse
import collections
import gzip
import re
import sys
from pathlib import Path
from typing import Collection, Counter, Iterable, Iterator, List, Optional, Sequence

from tools.benchmark.accuracy.evaluate import read_manifest, words_of

_COPIED_WORDS = 6


def _sentences_of(path: Path) -> Iterator[List[str]]:
    """Sentences of a text file, plain or compressed by gzip or dictzip. Raises OSError."""
    compressed = path.suffix in (".gz", ".dz")
    with (gzip.open if compressed else open)(path, "rt", encoding="utf-8",
                                             errors="replace") as file:
        text = file.read()
    # An abbreviation ends a sentence here, which costs its n-grams little.
    for part in re.split(r"[.!?;:]\s|\n\s*\n", text):
        words = words_of(part)
        if len(words) > 2:
            yield words


def read_sentences(paths: Iterable[Path], transcripts: Iterable[Sequence[str]]) -> List[List[str]]:
    """The sentences of all files without those that copy a part of a transcript."""
    def parts_of(words: Sequence[str]) -> Iterator[Sequence[str]]:
        return (tuple(words[i:i + _COPIED_WORDS]) for i in range(len(words) - _COPIED_WORDS + 1))

    copied = {part for words in transcripts for part in parts_of(words)}
    return [words for path in paths for words in _sentences_of(path)
            if copied.isdisjoint(parts_of(words))]


def rare_words(counts: Counter[str], number: int, excluded: Collection[str]) -> List[str]:
    """`number` words that occur 5 to 50 times: every n-th of the sorted ones. Raises ValueError."""
    found = sorted(word for word, count in counts.items()
                   if 5 <= count <= 50 and is_name_like(word) and word not in excluded)
    if len(found) < number:
        raise ValueError(f"the text has {len(found)} rare words, expected {number}")
    return [found[i * len(found) // number] for i in range(number)]


def is_name_like(word: str) -> bool:
    """Whether a word is long enough for a list of hotwords."""
    return len(word) >= 4 and word.isalpha()


def count_words(sentences: Iterable[Sequence[str]]) -> Counter[str]:
    return collections.Counter(word for words in sentences for word in words)


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("files", type=Path, nargs="+")
    args = parser.parse_args(arguments)
    try:
        transcripts = [recording.words for recording in read_manifest(args.manifest)]
        for words in read_sentences(args.files, transcripts):
            print(f"<s> {' '.join(words)} </s>")
    except (OSError, ValueError) as error:
        print(f"plain_text: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
