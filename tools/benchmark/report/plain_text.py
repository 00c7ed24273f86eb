"""English text for experiments with language models: sentences of files, counted and selected."""

import collections
import gzip
import re
from pathlib import Path
from typing import Collection, Counter, Iterable, Iterator, List, Sequence

from tools.benchmark.report.recordings import words_of

# A sentence with so many successive words of a transcript is taken for a part of it.
COPIED_WORDS = 6


def sentences_of(path: Path) -> Iterator[List[str]]:
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


def ngrams_of(words: Sequence[str], order: int) -> Iterator[Sequence[str]]:
    return (tuple(words[i:i + order]) for i in range(len(words) - order + 1))


def read_sentences(paths: Iterable[Path], transcripts: Iterable[Sequence[str]]) -> List[List[str]]:
    """The sentences of all files without those that copy a part of a transcript."""
    copied = {ngram for words in transcripts for ngram in ngrams_of(words, COPIED_WORDS)}
    return [words for path in paths for words in sentences_of(path)
            if copied.isdisjoint(ngrams_of(words, COPIED_WORDS))]


def count_words(sentences: Iterable[Sequence[str]]) -> Counter[str]:
    counts: Counter[str] = collections.Counter()
    for words in sentences:
        counts.update(words)
    return counts


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
