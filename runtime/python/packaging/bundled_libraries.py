"""Puts the shared libraries that the files of a wheel need into the wheel.

Each library gets a name of its own: a process has one library of a name, and other packages may
bring another libcrypto.so.3. The files find their libraries by paths relative to themselves. Needs
Debian's package patchelf.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
from typing import Dict, Iterable, List

from elf_file import SYSTEM_LIBRARIES, is_elf, needed

FOLDER = "runnel/lib"  # in the wheel


def libraries_of(files: Iterable[pathlib.Path]) -> Dict[str, pathlib.Path]:
    """The libraries that the loader of this machine takes for the files, by the names that they are
    needed by, without those of every system.

    Raises:
        RuntimeError: one is not there.
    """
    found: Dict[str, pathlib.Path] = {}
    for file in files:
        taken = _taken(file)
        left = needed(file)
        while left:
            name = left.pop()
            if name in SYSTEM_LIBRARIES or name in found:
                continue
            if name not in taken:
                raise RuntimeError(f"{file}: needs {name}, which is not there")
            found[name] = taken[name]
            left += needed(taken[name])
    return found


def _taken(file: pathlib.Path) -> Dict[str, pathlib.Path]:
    shown = subprocess.run(["ldd", file], check=True, capture_output=True, text=True).stdout
    return {name: pathlib.Path(path).resolve()
            for name, path in re.findall(r"^\s*(\S+) => (/\S+) \(", shown, re.MULTILINE)}


def own_name(name: str, library: pathlib.Path) -> str:
    """The name of a library in the wheel, e.g. libogg-1a2b3c4d.so.0."""
    digest = hashlib.sha256(library.read_bytes()).hexdigest()[:8]
    stem, so, number = name.partition(".so")
    return f"{stem}-{digest}{so}{number}"


def with_libraries(files: Dict[str, pathlib.Path], folder: pathlib.Path
                   ) -> Dict[str, pathlib.Path]:
    """The files of a wheel, by their names in it, with their libraries. Those that change are
    copies in `folder`."""
    binaries = {name: path for name, path in files.items() if is_elf(path.read_bytes())}
    libraries = libraries_of(binaries.values())
    names = {name: own_name(name, path) for name, path in libraries.items()}
    changed = {}
    for name, path in binaries.items():
        copy = changed[name] = _copy(path, folder / name)
        subprocess.run(["strip", "--strip-unneeded", copy], check=True)
        libraries_from_file = os.path.relpath(FOLDER, pathlib.PurePosixPath(name).parent)
        _patch(copy, [f"--set-rpath=$ORIGIN/{libraries_from_file}"], names)
    for name, path in libraries.items():
        copy = changed[f"{FOLDER}/{names[name]}"] = _copy(path, folder / FOLDER / names[name])
        _patch(copy, ["--set-rpath=$ORIGIN", f"--set-soname={names[name]}"], names)
    return {**files, **changed}


def _copy(source: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)
    return target


def _patch(file: pathlib.Path, changes: List[str], names: Dict[str, str]) -> None:
    for change in changes:
        option, _, value = change.partition("=")
        subprocess.run(["patchelf", option, value, file], check=True)
    replaced = [word for name in needed(file) if name in names
                for word in ("--replace-needed", name, names[name])]
    if replaced:
        subprocess.run(["patchelf", *replaced, file], check=True)


def licences(libraries: Iterable[pathlib.Path]) -> Dict[str, pathlib.Path]:
    """The copyright files of the Debian packages of libraries, by the names of the packages."""
    found = {}
    for library in libraries:
        # A system whose /lib is a link lists some files below /lib.
        for path in (str(library), str(library).removeprefix("/usr")):
            shown = subprocess.run(["dpkg-query", "--search", path], check=False,
                                   capture_output=True, text=True)
            if shown.returncode == 0:
                package = shown.stdout.partition(":")[0]
                found[package] = pathlib.Path("/usr/share/doc") / package / "copyright"
                break
        else:
            raise RuntimeError(f"{library} is of no Debian package, so its licence is not known")
    return found
