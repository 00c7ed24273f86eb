"""Turns token lists of other projects into the tokens of units.txt."""

from typing import List, Sequence

from models.convert.errors import ConversionError

WORD_BOUNDARY = "\u2581"
BLANK_NAMES = ("<blank>", "<blk>")
BERT_CONTROL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
_SPACE_NAMES = ("<space>", "<SPACE>", " ")


def read_symbol_table(data: bytes, source: str) -> List[str]:
    """The tokens of a file with lines `token id`, by id."""
    symbols = {}
    lines = _text(data, source).split("\n")
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r")
        if not line.strip():
            continue
        symbol, _, digits = line.replace("\t", " ").rstrip().rpartition(" ")
        if not symbol or not digits.isdecimal():
            raise ConversionError(f"{source}: line {number} is {line!r}, expected 'token id'")
        if int(digits) in symbols:
            raise ConversionError(f"{source}: line {number}: the id {digits} is there twice")
        symbols[int(digits)] = symbol
    if not symbols:
        raise ConversionError(f"{source}: has no lines, expected 'token id' in each")
    missing = [i for i in range(len(symbols)) if i not in symbols]
    if missing:
        raise ConversionError(f"{source}: the id {missing[0]} is missing")
    return [symbols[i] for i in range(len(symbols))]


def read_lines(data: bytes, source: str) -> List[str]:
    """One token per line."""
    lines = [line.rstrip("\r") for line in _text(data, source).split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def from_word_pieces(tokens: Sequence[str]) -> List[str]:
    """Turns BERT's notation (`##` continues a word) into Runnel's (U+2581 begins a word)."""
    return [token[2:] if token.startswith("##") and len(token) > 2
            else token if token.startswith("[") or token.startswith("<")
            else WORD_BOUNDARY + token for token in tokens]


def from_words(tokens: Sequence[str]) -> List[str]:
    """Begins a word with each token that is one. Tokens in angle brackets are none."""
    return [token if token.startswith("<") and token.endswith(">") else WORD_BOUNDARY + token
            for token in tokens]


def to_units(tokens: Sequence[str], source: str, sizes: Sequence[int] = ()) -> List[str]:
    """The tokens of units.txt: word boundaries for spaces, other tokens unchanged.

    Args:
        sizes: of vocabularies that are joined, which may have equal tokens.
    """
    units: List[str] = []
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            raise ConversionError(f"{source}: token {i} is {token!r}, expected a string")
        unit = WORD_BOUNDARY if token in _SPACE_NAMES else token
        if not unit or any(ord(c) <= 32 or ord(c) == 127 for c in unit):
            raise ConversionError(f"{source}: token {i} is {token!r}, expected a symbol without "
                                  "white space")
        units.append(unit)
    begin = 0
    for size in (*sizes, len(units)):  # the last ones are of no such vocabulary
        _check_distinct(units[begin:begin + size], begin, source)
        begin += size
    return units


def _check_distinct(units: Sequence[str], begin: int, source: str) -> None:
    seen = {}
    for i, unit in enumerate(units, begin):
        if unit in seen:
            raise ConversionError(f"{source}: tokens {seen[unit]} and {i} both are {unit!r}")
        seen[unit] = i


def _text(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConversionError(f"{source}: expected UTF-8") from None
