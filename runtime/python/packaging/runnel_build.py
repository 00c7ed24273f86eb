"""The build backend of the Python package (PEP 517): CMake builds, wheel_file.py writes the wheel.

`pip install .` configures and builds the folder build/ with the preset `release`. With the setting
build-dir (pip install . --config-settings=build-dir=build-debug), it takes a folder that is
configured already. Nothing is downloaded. The wheel is for this machine: it uses the libraries of
the system. portable_wheel.py makes one for others.
"""

import ast
import configparser
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
from typing import Any, Dict, List, Optional

from wheel_file import write_wheel

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "runtime" / "python" / "runnel"
# The converters, which runnel.convert starts; they stay one package named `models`.
# They name a recording to decode.
CONVERTER_SOURCES = ("models/convert.py", "models/convert/**/*.py", "models/reference/**/*.py",
                     "models/digits/samples/ked_year.flac")


class UnsupportedOperation(Exception):
    """What this backend does not do."""


def get_requires_for_build_wheel(config_settings: Optional[Dict[str, Any]] = None) -> List[str]:
    """The packages that building needs: none."""
    del config_settings
    return []


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    """There is no source archive of the package alone."""
    del sdist_directory, config_settings
    raise UnsupportedOperation("runnel has no source distribution; expected a checkout")


def build_wheel(wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None,
                metadata_directory: Optional[str] = None) -> str:
    """Builds what is not up to date and writes the wheel; returns its file name."""
    del metadata_directory
    files = all_files(build((config_settings or {}).get("build-dir")))
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return write(pathlib.Path(wheel_directory), files, platform, {})


def all_files(folder: pathlib.Path) -> Dict[str, pathlib.Path]:
    """What a wheel of this build folder holds, by the names in the wheel."""
    return {**python_files(), **built_files(folder)}


def write(folder: pathlib.Path, files: Dict[str, pathlib.Path], platform: str,
          licences: Dict[str, pathlib.Path]) -> str:
    """Writes the wheel of these files for a platform; returns its name."""
    return write_wheel(folder, project(), version(), files, ROOT, f"cp39-abi3-{platform}", licences)


def project() -> Dict[str, Any]:
    """The table `project` of pyproject.toml. Python 3.9 and 3.10 have no reader of TOML; each value
    of this file stands on a line and is a literal of Python, too."""
    file = configparser.ConfigParser()
    file.read_string((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    table = {name: ast.literal_eval(value) for name, value in file["project"].items()}
    scripts = file["project.scripts"].items()
    return {**table, "scripts": {name: ast.literal_eval(value) for name, value in scripts}}


def build(build_dir: Optional[str], preset: str = "release") -> pathlib.Path:
    """Runs CMake; returns the build folder. None: that of the preset."""
    if build_dir is None:
        folder = ROOT / {"release": "build", "wheel": "build/wheel"}[preset]
        # The interpreter itself: that of a virtual environment may be gone at the next build.
        interpreter = os.path.realpath(sys.executable)
        # CMake keeps what it found of another Python, and would mix the two.
        _run("cmake", "--preset", preset, "-U_Python3*", f"-DPython3_EXECUTABLE={interpreter}")
    else:
        folder = (ROOT / build_dir).resolve()
    _run("cmake", "--build", str(folder), "--parallel", str(len(os.sched_getaffinity(0))),
         "--target", "python_package")
    return folder


def _run(*command: str) -> None:
    try:
        subprocess.run(command, cwd=ROOT, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        reason = "is not installed" if isinstance(error, FileNotFoundError) else "failed"
        # Not an exception, of which pip would show some forty lines.
        raise SystemExit(f"runnel: {' '.join(command)}: {reason}; expected the packages of "
                         "tools/install_packages.sh python") from error


def built_files(folder: pathlib.Path) -> Dict[str, pathlib.Path]:
    """The extension module and the programs by their names in the wheel."""
    lines = (folder / "python_package.txt").read_text(encoding="utf-8").splitlines()
    return {name: pathlib.Path(path) for name, path in (line.split("\t") for line in lines)}


def python_files() -> Dict[str, pathlib.Path]:
    """The Python sources by their names in the wheel."""
    sources = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyi", ".typed")]
    files = {path.relative_to(PACKAGE.parent).as_posix(): path
             for path in [*sources, PACKAGE / "py.typed"]}
    for pattern in CONVERTER_SOURCES:
        files |= {f"runnel/converters/{path.relative_to(ROOT).as_posix()}": path
                  for path in ROOT.glob(pattern)}
    return files


def version() -> str:
    """The version that runtime/version.h states."""
    header = (ROOT / "runtime" / "version.h").read_text(encoding="utf-8")
    found = re.search(r'^#define RUNNEL_VERSION "(\S+)"$', header, re.MULTILINE)
    if found is None:
        raise RuntimeError("runtime/version.h: no version, expected #define RUNNEL_VERSION")
    return found[1]
