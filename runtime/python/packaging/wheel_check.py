"""Checks that a wheel runs on every system that its name promises: wheel_check.py WHEEL...

A file may need the libraries of every system, in versions that manylinux_2_34 allows, and libraries
of the wheel. A wheel has at most 25 MB, as each tool holds the engine.
"""

import pathlib
import re
import sys
import tempfile
import zipfile
from typing import Dict, List, Tuple

from elf_file import SYSTEM_LIBRARIES, is_elf, needed, newest_versions, run_path

MAX_BYTES = 25_000_000
PLATFORM = "manylinux_2_34"
# As in the policy of this name of auditwheel, for the system with the oldest libstdc++ of them.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}


def text_of(version: Tuple[int, ...]) -> str:
    """As symbols have it, e.g. 3.4.29."""
    return ".".join(map(str, version))


def problems_of_file(file: pathlib.Path, root: pathlib.Path) -> List[str]:
    """What a program or library of an unpacked wheel needs that some systems lack."""
    name = file.relative_to(root).as_posix()
    folder = (file.parent / run_path(file).replace("$ORIGIN", ".")).resolve()
    problems = [f"{name}: needs {library}, expected a library of the wheel or of every system"
                for library in needed(file)
                if library not in SYSTEM_LIBRARIES and not (folder / library).is_file()]
    for family, version in newest_versions(file).items():
        if family in NEWEST and version > NEWEST[family]:
            problems.append(f"{name}: needs {family}_{text_of(version)}, expected at most "
                            f"{text_of(NEWEST[family])}")
    return problems


def check(wheel: pathlib.Path) -> Tuple[List[str], Dict[str, Tuple[int, ...]]]:
    """The problems of a wheel, and the newest versions that its files need of other libraries."""
    problems = []
    newest: Dict[str, Tuple[int, ...]] = {}
    if not re.search(rf"-{PLATFORM}_\w+\.whl$", wheel.name):
        problems.append(f"{wheel.name}: expected a name that ends in {PLATFORM}_MACHINE.whl")
    if wheel.stat().st_size > MAX_BYTES:
        problems.append(f"{wheel.name}: {wheel.stat().st_size} bytes, expected at most {MAX_BYTES}")
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(root)
        for file in sorted(root.rglob("*")):
            if file.is_file() and is_elf(file.read_bytes()[:4]):
                problems += problems_of_file(file, root)
                for family, version in newest_versions(file).items():
                    newest[family] = max(version, newest.get(family, ()))
    return problems, newest


def main() -> int:
    """Prints the problems of the wheels that are named, and what they need; returns 1 if any."""
    failed = False
    for name in sys.argv[1:]:
        wheel = pathlib.Path(name)
        problems, newest = check(wheel)
        for problem in problems:
            print(f"wheel_check: {problem}", file=sys.stderr)
        failed = failed or bool(problems)
        needs = ", ".join(f"{family} {text_of(newest[family])}" for family in NEWEST
                          if family in newest)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, needs {needs}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
