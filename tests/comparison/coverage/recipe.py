"""A recipe of a toolkit, of which a tiny model is made."""

import dataclasses
import pathlib
from typing import Callable, Sequence, Union


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One configuration.

    name: its file in the checkout, or the name of a published model.
    family: row of the table.
    key: recipes with equal keys give equal models, which are made once.
    write: writes the model into an empty folder; returns what a user gives to convert.py: the file
        or folder, then the flags for facts that it does not hold.
    """

    name: str
    family: str
    key: str
    write: Callable[[pathlib.Path], Sequence[Union[str, pathlib.Path]]]
