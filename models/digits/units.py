"""Tokens of the digit model: letters, with U+2581 at the start of each word.

Text becomes the join of the words, each with a leading word boundary: "one two" -> ▁one▁two.
The spelling of each digit word fixes the number of encoder frames that CTC needs for it.
"""

from typing import List, Sequence

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
BLANK = "<blank>"
BOUNDARY = "\u2581"
UNITS = (BLANK, BOUNDARY) + tuple(sorted(set("".join(WORDS))))
UNIT_IDS = {unit: index for index, unit in enumerate(UNITS)}
ENCODER_FRAME_SECONDS = 0.04


def encode_words(words: Sequence[str]) -> List[int]:
    """Token ids of a sequence of digit words, without blanks."""
    return [UNIT_IDS[unit] for word in words for unit in BOUNDARY + word]


def decode_ids(ids: Sequence[int]) -> str:
    """Text of token ids without repeats and blanks."""
    return "".join(UNITS[index] for index in ids).replace(BOUNDARY, " ").strip()


def collapse(path: Sequence[int]) -> List[int]:
    """CTC's mapping of a path to tokens: merge repeats, then drop blanks."""
    ids = []
    previous = 0
    for index in path:
        if index != previous and index != 0:
            ids.append(int(index))
        previous = index
    return ids


def frames_needed(ids: Sequence[int]) -> int:
    """Fewest encoder frames with which CTC can emit these ids: one each, and a blank between
    equal neighbours (the two e of "three")."""
    return len(ids) + sum(1 for left, right in zip(ids, ids[1:]) if left == right)


def word_seconds(word: str) -> float:
    """Shortest time in which CTC can emit one word with its boundary."""
    return frames_needed(encode_words([word])) * ENCODER_FRAME_SECONDS


def encoder_frames(num_frames: int) -> int:
    """Encoder frames of `num_frames` feature frames after the conv2d4 subsampling."""
    return max(((num_frames - 1) // 2 - 1) // 2, 0)
