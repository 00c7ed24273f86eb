"""Strict reading of JSON objects into dataclasses: exact fields, checked types."""

import dataclasses
import math
import typing
from typing import Any, Dict, Sequence, Type, TypeVar

T = TypeVar("T")


def read_object(cls: Type[T], value: Any, where: str) -> T:
    """An instance of the dataclass `cls` from a JSON object with exactly its fields.

    A field of type Optional may be null; one of type List is a list.

    Raises:
        ValueError: names the field (as `where`.field), its value and the expected one.
    """
    hints = typing.get_type_hints(cls)
    kinds = {field.name: hints[field.name] for field in dataclasses.fields(cls)}
    check_fields(value, list(kinds), where)
    for name, kind in kinds.items():
        _check_optional_type(value[name], kind, f"{where}.{name}")
    try:
        return cls(**value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def check_fields(value: Any, names: Sequence[str], where: str) -> None:
    """Raises ValueError unless `value` is an object with exactly these fields."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} is {value!r}, expected an object")
    missing = [name for name in names if name not in value]
    if missing:
        raise ValueError(f"{where}.{missing[0]} is missing")
    unknown = sorted(set(value) - set(names))
    if unknown:
        raise ValueError(f"{where}.{unknown[0]} is not a known field")


def read_kind(value: Any, name: str, kinds: Sequence[str], where: str) -> str:
    """The field `name` of an object, on which its other fields depend: one of `kinds`."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} is {value!r}, expected an object")
    if name not in value:
        raise ValueError(f"{where}.{name} is missing")
    check_type(value[name], str, f"{where}.{name}")
    check_choice(f"{where}.{name}", value[name], kinds)
    return value[name]


def check_type(value: Any, kind: Any, where: str) -> None:
    """Raises ValueError unless a JSON value has the type: int, float, bool or str.

    A float must be finite and may be an integer. A bool is not an integer.
    """
    if kind is float:
        good = type(value) in (int, float) and math.isfinite(value)
    else:
        good = type(value) is kind
    if not good:
        names = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}
        raise ValueError(f"{where} is {value!r}, expected {names[kind]}")


def _check_optional_type(value: Any, kind: Any, where: str) -> None:
    """check_type, except that null is an Optional, and a list a List."""
    if typing.get_origin(kind) is list:
        check_list(value, typing.get_args(kind)[0], where)
        return
    inner = [member for member in typing.get_args(kind) if not isinstance(None, member)]
    if not inner:
        check_type(value, kind, where)
    elif value is not None:
        check_type(value, inner[0], where)


def check_list(value: Any, kind: Any, where: str) -> None:
    """Raises ValueError unless a JSON value is a list whose items have the type."""
    if not isinstance(value, list):
        raise ValueError(f"{where} is {value!r}, expected a list")
    for i, item in enumerate(value):
        check_type(item, kind, f"{where}[{i}]")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raises ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(choices)}")


def check_at_least(name: str, value: int, least: int) -> None:
    """Raises ValueError if `value` is below `least`."""
    if value < least:
        raise ValueError(f"{name} is {value}, expected at least {least}")


def check_positive(name: str, value: float) -> None:
    """Raises ValueError unless `value` is above 0."""
    if not value > 0:
        raise ValueError(f"{name} is {value}, expected more than 0")


def without_absent(values: Dict[str, Any]) -> Dict[str, Any]:
    """`values` without the fields that are None."""
    return {name: value for name, value in values.items() if value is not None}


def check_blank(blank_id: int, vocab_size: int) -> None:
    """Raises ValueError unless the blank is one of the tokens."""
    if not 0 <= blank_id < vocab_size:
        raise ValueError(f"blank_id {blank_id} is outside 0..{vocab_size - 1}")
