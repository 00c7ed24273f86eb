"""How many misread words hotwords recover, how many new errors they cause, and what hotwords change
that begin like what is said and go on differently. A table in Markdown.

    python3 -m tools.benchmark.accuracy.hotwords --model=M.pt --manifest=DIR/manifest.tsv
        --text=FILE,FILE [--scores=0.25,0.5] [--beam_sizes=8,16] [decode_wav's flags ...]

The list of hotwords has 20 misread words and 100 distractors. The misread words are those words of
the references that beam search without hotwords gets wrong, of four letters or more, and of these
the 20 that are rarest in --text. The distractors are words of --text that occur there 5 to 50 times
and in no reference: every n-th of them in alphabetical order. The manifest is that of
accuracy/evaluate.py. Unknown flags go to decode_wav.

A row is one beam size and score. "recovered" counts the misread words of the list that are now
right, by occurrence. "new errors" counts other words of the references that were right and are now
wrong, and additional insertions. "unfinished" is of another list: for each result of eight words
or more that beam search without hotwords has, three successive words of it and one that nobody says
(the first distractor). It counts the words of these results that are changed or lost, and the most
of one recording.
"""

import sys
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set

from tools.benchmark.accuracy.evaluate import Evaluation, make_parser, run
from tools.benchmark.accuracy.plain_text import (count_words, is_name_like, rare_words,
                                                 read_sentences)
from tools.benchmark.pages.markdown import table

NUM_MISREAD = 20
NUM_DISTRACTORS = 100
NUM_WORDS_BEGUN = 3  # of an unfinished phrase
MIN_WORDS = 8        # of a result that gives such a phrase


class Misreading(NamedTuple):
    """What is wrong in one recording: positions in the reference, and the number of insertions."""
    positions: Set[int]
    insertions: int


def misreading(reference: Sequence[str], hypothesis: Sequence[str]) -> Misreading:
    """Of an alignment with the fewest errors."""
    costs = [list(range(len(hypothesis) + 1))]
    for i, wanted in enumerate(reference, 1):
        row = [i]
        for j, found in enumerate(hypothesis, 1):
            row.append(min(costs[-1][j - 1] + (wanted != found), costs[-1][j] + 1, row[-1] + 1))
        costs.append(row)
    i, j = len(reference), len(hypothesis)
    positions, insertions = set(), 0
    while i > 0 or j > 0:
        differs = i == 0 or j == 0 or reference[i - 1] != hypothesis[j - 1]
        if i > 0 and j > 0 and costs[i][j] == costs[i - 1][j - 1] + differs:
            i, j = i - 1, j - 1
            if differs:
                positions.add(i)
        elif i > 0 and costs[i][j] == costs[i - 1][j] + 1:
            i -= 1
            positions.add(i)
        else:
            j -= 1
            insertions += 1
    return Misreading(positions, insertions)


class Comparison(NamedTuple):
    """Results with hotwords against those without."""
    recovered: int
    misread: int       # occurrences of hotwords that were wrong
    new_errors: int
    errors: int        # of all words


def compare(references: Dict[str, List[str]], before: Dict[str, List[str]],
            after: Dict[str, List[str]], listed: Set[str]) -> Comparison:
    recovered = misread = new_errors = errors = 0
    for key, words in references.items():
        old, new = misreading(words, before[key]), misreading(words, after[key])
        wrong = {i for i in old.positions if words[i] in listed}
        misread += len(wrong)
        recovered += len(wrong - new.positions)
        new_errors += len(new.positions - old.positions)
        new_errors += max(0, new.insertions - old.insertions)
        errors += len(new.positions) + new.insertions
    return Comparison(recovered, misread, new_errors, errors)


def unfinished_phrases(results: Dict[str, List[str]], unsaid: str) -> Dict[str, str]:
    """From a third of each result on: some of its words, and one that nobody says."""
    phrases = {}
    for key, words in results.items():
        begin = len(words) // 3
        if len(words) >= MIN_WORDS:
            phrases[key] = " ".join([*words[begin:begin + NUM_WORDS_BEGUN], unsaid])
    return phrases


def changes(before: Dict[str, List[str]], after: Dict[str, List[str]],
            keys: Iterable[str]) -> List[int]:
    """For each of the recordings: how many words of `before` are changed or lost in `after`."""
    return [len(misreading(before[key], after[key]).positions) for key in keys]


def evaluate(evaluation: Evaluation) -> None:
    """Prints the misread words of the lists, and the table."""
    args = evaluation.args
    references = {row.key: row.words for row in evaluation.recordings}
    known = {word for words in references.values() for word in words}
    counts = count_words(read_sentences(map(Path, args.text.split(",")), references.values()))
    distractors = rare_words(counts, NUM_DISTRACTORS, known)
    num_words = sum(map(len, references.values()))
    rows: List[List[str]] = []
    for beam_size in args.beam_sizes.split(","):
        def decode(*flags: str, beam_size: str = beam_size) -> Dict[str, List[str]]:
            return evaluation.decode(["--search=beam", f"--beam_size={beam_size}", *flags])[0]

        def decode_with(phrases: Iterable[str], score: str) -> Dict[str, List[str]]:
            listing = evaluation.folder / "hotwords.txt"
            listing.write_text("\n".join(phrases) + "\n", encoding="utf-8")
            return decode(f"--hotwords={listing}", f"--hotword_score={score}")

        before = decode()
        wrong = {words[i] for key, words in references.items()
                 for i in misreading(words, before[key]).positions if is_name_like(words[i])}
        listed = sorted(wrong, key=lambda word: (counts[word], word))[:NUM_MISREAD]
        unfinished = unfinished_phrases(before, distractors[0])
        print(f"beam {beam_size}: {', '.join(listed)}", flush=True)
        for score in ("none", *args.scores.split(",")):
            after = before if score == "none" else decode_with([*listed, *distractors], score)
            found = compare(references, before, after, set(listed))
            changed = changes(before, before if score == "none" else decode_with(
                unfinished.values(), score), unfinished)
            rows.append([beam_size, score, f"{found.recovered} of {found.misread}",
                         str(found.new_errors), f"{100 * found.errors / num_words:.2f} %",
                         f"{sum(changed)}, {max(changed, default=0)}"])
    print("\n" + table(["beam", "score", "recovered", "new errors", f"all {num_words} words",
                        "unfinished"], rows), end="")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--text", required=True, help="files, separated by commas")
    parser.add_argument("--beam_sizes", default="8,16")
    parser.add_argument("--scores", default="0.25,0.5,0.75,1,1.5,2", help="of --hotword_score")
    return run("hotwords", *parser.parse_known_args(arguments), evaluate)


if __name__ == "__main__":
    sys.exit(main())
