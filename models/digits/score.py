"""Word error rate between a reference and a hypothesis file, both Kaldi style (`id words...`).

    python3 -m models.digits.score REFERENCE HYPOTHESIS

prints `WER 3.21 % [ 32 / 997, 4 ins, 8 del, 20 sub ]`. Every id of the reference must be in the
hypotheses and vice versa; an id without words is an empty text.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Sequence


@dataclass
class Errors:
    """Counts of word errors and of the reference's words."""
    insertions: int = 0
    deletions: int = 0
    substitutions: int = 0
    words: int = 0

    def total(self) -> int:
        return self.insertions + self.deletions + self.substitutions

    def rate(self) -> float:
        """Word error rate in percent. Without words: 0 without errors, otherwise infinite."""
        if self.words == 0:
            return 0.0 if self.total() == 0 else float("inf")
        return 100.0 * self.total() / self.words

    def add(self, other: "Errors") -> None:
        self.insertions += other.insertions
        self.deletions += other.deletions
        self.substitutions += other.substitutions
        self.words += other.words

    def __str__(self) -> str:
        return (f"WER {self.rate():.2f} % [ {self.total()} / {self.words}, {self.insertions} ins, "
                f"{self.deletions} del, {self.substitutions} sub ]")


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> Errors:
    """Errors of the cheapest alignment (Levenshtein); substitutions are preferred among equals."""
    # Row i, column j: (cost, insertions, deletions, substitutions) of the first i and j words.
    row = [(j, j, 0, 0) for j in range(len(hypothesis) + 1)]
    for i, wanted in enumerate(reference, 1):
        above, row = row, [(i, 0, i, 0)]
        for j, found in enumerate(hypothesis, 1):
            cost, ins, dele, sub = above[j - 1]
            differs = int(wanted != found)
            best = (cost + differs, ins, dele, sub + differs)
            cost, ins, dele, sub = above[j]
            if cost + 1 < best[0]:
                best = (cost + 1, ins, dele + 1, sub)
            cost, ins, dele, sub = row[j - 1]
            if cost + 1 < best[0]:
                best = (cost + 1, ins + 1, dele, sub)
            row.append(best)
    _, ins, dele, sub = row[-1]
    return Errors(ins, dele, sub, len(reference))


def read_text(path: Path) -> Dict[str, List[str]]:
    """id -> words; raises ValueError for a repeated id."""
    texts: Dict[str, List[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if not fields:
            continue
        if fields[0] in texts:
            raise ValueError(f"{path}: id '{fields[0]}' comes twice")
        texts[fields[0]] = fields[1:]
    return texts


def score_texts(reference: Dict[str, List[str]], hypothesis: Dict[str, List[str]]) -> Errors:
    """Errors over all ids; raises ValueError if the ids differ."""
    missing = sorted(set(reference) - set(hypothesis))
    extra = sorted(set(hypothesis) - set(reference))
    if missing:
        raise ValueError(f"{len(missing)} ids have no hypothesis, first '{missing[0]}'")
    if extra:
        raise ValueError(f"{len(extra)} ids have no reference, first '{extra[0]}'")
    errors = Errors()
    for key, words in reference.items():
        errors.add(align(words, hypothesis[key]))
    return errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("hypothesis", type=Path)
    args = parser.parse_args()
    try:
        print(score_texts(read_text(args.reference), read_text(args.hypothesis)))
    except (ValueError, OSError) as error:
        print(f"score: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
