"""The name of this program, and the programs of this repository that conversions run."""

import os
import pathlib
import shutil

from models.convert.errors import ConversionError

ROOT = pathlib.Path(__file__).resolve().parents[2]
# In messages. `runnel convert` sets the variable; programs that a conversion runs do not get it.
COMMAND = os.environ.pop("RUNNEL_COMMAND", "convert.py")


def find_program(name: str) -> str:
    """The path of a program: that of this repository's build, or one on the PATH.

    Raises:
        ConversionError: there is none.
    """
    built = ROOT / "build" / "bin" / name
    found = str(built) if built.is_file() else shutil.which(name)
    if not found:
        raise ConversionError(f"there is no program {name}: expected {built} (make build) or one "
                              "on the PATH")
    return found
