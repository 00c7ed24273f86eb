"""Model files from models of other toolkits. The converters are those of models/convert.py."""

import importlib.util
import os
import pathlib
import subprocess
import sys
from typing import Dict, List, Literal, Sequence, Union, get_args

from runnel.errors import DataError
from runnel.options import Path

_FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAMS = _FOLDER / "bin"
_SCRIPT = _FOLDER / "converters" / "models" / "convert.py"
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
    flags = [f"--{name}={value}" for name, value in options.items()]
    done = subprocess.run(command([family, os.fspath(source), f"--output={os.fspath(output)}",
                                   *flags]),
                          env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DataError((done.stderr.strip().splitlines() or ["convert.py failed"])[-1])
    return done.stdout.splitlines()


def command(arguments: Sequence[str]) -> List[str]:
    """The command line that converts in a process of its own, which has its own PyTorch.

    Raises:
        ModuleNotFoundError: this Python lacks something that the converter imports.
    """
    needed = ("numpy",) if arguments[:1] == ["arpa"] else tuple(_NEEDED)
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        packages = " ".join(_NEEDED[name] for name in missing)
        raise ModuleNotFoundError(
            f"conversion needs {' and '.join(missing)}, which this Python ({sys.executable}) "
            f"lacks; expected Debian's packages (apt-get install {packages}) in a virtual "
            "environment with --system-site-packages", name=missing[0])
    return [sys.executable, str(_SCRIPT), *arguments]


def environment() -> Dict[str, str]:
    """The environment in which the converter finds the programs of this package."""
    return {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ.get('PATH', '')}"}
