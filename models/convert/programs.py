"""The name of this program, and the programs of this repository that conversions run."""

import os
import pathlib
import shlex
import shutil

from models.convert.errors import ConversionError

ROOT = pathlib.Path(__file__).resolve().parents[2]
# In messages. `runnel convert` sets the variable; programs that a conversion runs do not get it.
COMMAND = os.environ.pop("RUNNEL_COMMAND", "convert.py")


def decode_command(model: str) -> str:
    """A command line that decodes a recording with a model file, and works as it is."""
    sample = ROOT / "models" / "digits" / "samples" / "ked_year.flac"
    recording = _shown(sample) if sample.is_file() else "RECORDING"
    try:
        found = find_program("decode_wav")
    except ConversionError:
        of_package = COMMAND.removesuffix("convert") if COMMAND.endswith("convert") else "runnel "
        return f"{of_package}transcribe {shlex.quote(model)} {recording}"
    program = "decode_wav" if shutil.which("decode_wav") == found else _shown(pathlib.Path(found))
    return f"{program} --model={shlex.quote(model)} --wav={recording}"


def _shown(path: pathlib.Path) -> str:
    """A path for a command line, from this folder if it is below it."""
    try:
        path = path.relative_to(pathlib.Path.cwd())
    except ValueError:
        pass
    return shlex.quote(str(path))


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
