"""Lists of hotwords and language models for the digit model, for tests."""

import math
import pathlib
from typing import Dict

from tool_runner import DIGITS

WORDS = (DIGITS / "words.txt").read_text(encoding="utf-8").split()


def write_unigrams(path: pathlib.Path, log10_probs: Dict[str, float]) -> pathlib.Path:
    lines = [f"{value}\t{word}" for word, value in log10_probs.items()]
    path.write_text("\\data\\\nngram 1=%d\n\n\\1-grams:\n%s\n\n\\end\\\n"
                    % (len(lines), "\n".join(lines)), encoding="utf-8")
    return path


def write_digits(path: pathlib.Path, **changed: float) -> pathlib.Path:
    """The digits, equally probable but for those that are changed."""
    equal = {word: -math.log10(len(WORDS)) for word in WORDS}
    return write_unigrams(path, {**equal, "<s>": -99, "</s>": -1, **changed})


def write_hotwords(folder: pathlib.Path, text: str) -> str:
    """The flag of a list that is written into the folder."""
    (folder / "hotwords.txt").write_text(text, encoding="utf-8")
    return f"--hotwords={folder / 'hotwords.txt'}"
