"""Position schemes. A new scheme is a file with a SCHEME, a test and a line in SCHEMES."""

import dataclasses
from typing import Any, Dict

from models.reference.fields import check_choice, read_kind, read_object
from models.reference.positions import (absolute, bounded_rpe, chunk_rpe, grouped_unshifted,
                                        legacy_rel_pos, none, relative_key_value, rotary,
                                        unshifted, windowed_rpe)
from models.reference.positions.scheme import Scheme

SCHEMES: Dict[str, Scheme] = {
    "none": none.SCHEME,
    "absolute": absolute.SCHEME,
    "chunk_rpe": chunk_rpe.SCHEME,
    "bounded_rpe": bounded_rpe.SCHEME,
    "relative_key_value": relative_key_value.SCHEME,
    "unshifted": unshifted.SCHEME,
    "grouped_unshifted": grouped_unshifted.SCHEME,
    "legacy_rel_pos": legacy_rel_pos.SCHEME,
    "rotary": rotary.SCHEME,
    "windowed_rpe": windowed_rpe.SCHEME,
}


def scheme_name(options: Any) -> str:
    """The name of the scheme that these options belong to."""
    for name, scheme in SCHEMES.items():
        if scheme.options is type(options):
            return name
    raise ValueError(f"position is {options!r}, expected the options of a scheme: one of "
                     f"{', '.join(SCHEMES)}")


def make_options(scheme: str, **options: Any) -> Any:
    """The options of a scheme; missing ones have their defaults."""
    check_choice("scheme", scheme, list(SCHEMES))
    return SCHEMES[scheme].options(**options)


def options_to_json(options: Any) -> Dict[str, Any]:
    """The `position` object of a model file."""
    return {"scheme": scheme_name(options), **dataclasses.asdict(options)}


def options_from_json(value: Any, where: str) -> Any:
    """The options of a `position` object. Raises ValueError with the problem."""
    scheme = read_kind(value, "scheme", list(SCHEMES), where)
    rest = {name: field for name, field in value.items() if name != "scheme"}
    return read_object(SCHEMES[scheme].options, rest, where)
