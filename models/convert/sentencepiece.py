"""Reads the pieces of a SentencePiece model, which is a protocol buffer.

It implements the necessary part of the wire format (protobuf.dev, "Encoding"). Field 1 of the model
is a piece, repeated. Of a piece, field 1 is the text, 3 the type (1 normal, 2 unknown, 3 control,
4 user-defined, 5 unused, 6 byte).
"""

import dataclasses
from typing import Iterator, List, Tuple, Union

from models.convert.errors import ConversionError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_CONTROL_PIECE = 3
_BYTE_PIECE = 6


@dataclasses.dataclass
class Pieces:
    """The pieces of a model, and the ids of those that stand for something else than their text."""

    texts: List[str]
    control: List[int]  # decoded to nothing
    bytes: List[int]  # such as <0xE4>, several of which form one character


def read_pieces(data: bytes, source: str) -> Pieces:
    """The pieces in order of their ids.

    Raises:
        ConversionError: not a SentencePiece model.
    """
    pieces = _typed_pieces(data, source)

    def of_kind(wanted: int) -> List[int]:
        return [i for i, (_, kind) in enumerate(pieces) if kind == wanted]

    return Pieces([piece for piece, _ in pieces], of_kind(_CONTROL_PIECE), of_kind(_BYTE_PIECE))


def _typed_pieces(data: bytes, source: str) -> List[Tuple[str, int]]:
    pieces: List[Tuple[str, int]] = []
    try:
        for number, value in _fields(data):
            if number != 1:
                continue
            piece, kind = "", 1
            for inner_number, inner in _fields(_as_bytes(value)):
                if inner_number == 1:
                    piece = _as_bytes(inner).decode("utf-8")
                elif inner_number == 3 and isinstance(inner, int):
                    kind = inner
            pieces.append((piece, kind))
    except (ValueError, IndexError):
        pieces = []
    if not pieces:
        raise ConversionError(f"{source}: is not a SentencePiece model")
    return pieces


def _as_bytes(value: Union[int, bytes]) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("expected a length-delimited field")
    return value


def _fields(data: bytes) -> Iterator[Tuple[int, Union[int, bytes]]]:
    """(field number, value) of one message. Raises ValueError or IndexError if it is malformed."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire_type == _BYTES:
            size, at = _varint(data, at)
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(wire_type, -1)
        if size < 0 or at + size > len(data):
            raise ValueError("malformed field")
        yield number, data[at:at + size]
        at += size


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    """An integer of seven bits per byte, lowest first, and its end."""
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("integer too long")
