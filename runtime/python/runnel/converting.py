"""Model files from models of other toolkits. The converters are those of models/convert.py."""

import importlib.util
import os
import pathlib
import subprocess
import sys
from typing import Dict, List, Literal, Sequence, Union, get_args

from runnel.errors import DataError
from runnel.options import Path

_PROGRAM = pathlib.Path(__file__).resolve().parent / "bin" / "runnel"
_NEEDED = {"torch": "python3-torch", "yaml": "python3-yaml", "numpy": "python3-numpy"}


Family = Literal["wenet", "nemo", "espnet", "icefall", "arpa"]


def convert(family: Family, source: Path, output: Path, **options: Union[str, float]) -> List[str]:
    """Converts a trained model to a model file, or ARPA text to a compiled language model.

    Args:
        family: the toolkit of the model; "arpa": an n-gram language model.
        source: file or folder to convert (docs/models.md).
        output: file to write.
        options: the other flags of models/convert.py, such as store="int8" or head="ctc".

    Returns:
        What the converter reports: lines about assumptions and the file written.

    Raises:
        ModuleNotFoundError: this Python lacks PyTorch or PyYAML.
        ValueError: no such family.
        DataError: the source cannot be converted; the message says why.
    """
    if family not in get_args(Family):
        raise ValueError(f"family is {family!r}, expected one of {', '.join(get_args(Family))}")
    _check_modules(family)
    flags = [f"--{name}={value}" for name, value in options.items()]
    done = subprocess.run(command(["convert", family, os.fspath(source),
                                   f"--output={os.fspath(output)}", *flags]),
                          env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DataError((done.stderr.strip().splitlines() or ["convert.py failed"])[-1])
    return done.stdout.splitlines()


def _check_modules(family: str) -> None:
    needed = ("numpy",) if family == "arpa" else tuple(_NEEDED)
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        packages = " ".join(_NEEDED[name] for name in missing)
        raise ModuleNotFoundError(
            f"conversion needs {' and '.join(missing)}, which this Python ({sys.executable}) "
            f"lacks; expected Debian's packages (apt-get install {packages}) in a virtual "
            "environment with --system-site-packages", name=missing[0])


def command(arguments: Sequence[str]) -> List[str]:
    """The command line of the program runnel, which runs the other programs of this package."""
    return [str(_PROGRAM), *arguments]


def environment() -> Dict[str, str]:
    """Its environment: the converter runs in this Python."""
    return {**os.environ, "RUNNEL_PYTHON": sys.executable}
