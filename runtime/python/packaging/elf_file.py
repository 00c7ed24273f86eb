"""What programs and libraries need: shared libraries, and versions of their symbols (readelf)."""

import pathlib
import re
import subprocess
from typing import Dict, List, Tuple

# Of every Linux. Their versions of symbols decide on which (wheel_check.py).
SYSTEM_LIBRARIES = frozenset((
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1", "libstdc++.so.6",
    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"))


def is_elf(content: bytes) -> bool:
    """Whether a file with this content is a program or a library."""
    return content.startswith(b"\x7fELF")


def _readelf(path: pathlib.Path, what: str) -> str:
    return subprocess.run(["readelf", "--wide", what, path], check=True, capture_output=True,
                          text=True).stdout


def needed(path: pathlib.Path) -> List[str]:
    """The names of the libraries that the file is linked with."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", _readelf(path, "--dynamic"))


def run_path(path: pathlib.Path) -> str:
    """Where the loader looks for them first; "" if nowhere."""
    found = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", _readelf(path, "--dynamic"))
    return found[1] if found else ""


def newest_versions(path: pathlib.Path) -> Dict[str, Tuple[int, ...]]:
    """The newest version of each family of symbols that the file needs, e.g. GLIBC: (2, 34)."""
    newest: Dict[str, Tuple[int, ...]] = {}
    # Of the symbols that the file defines, the line has no flags behind the name.
    for family, number in re.findall(r"Name: ([A-Z]+)_([0-9.]+)\s+Flags:",
                                     _readelf(path, "--version-info")):
        version = tuple(map(int, number.split(".")))
        newest[family] = max(version, newest.get(family, ()))
    return newest
