"""Writes a wheel (PEP 427). Equal files give equal bytes, whenever and wherever it is written."""

import base64
import hashlib
import pathlib
import zipfile
from typing import Any, Dict, List

_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a ZIP file can hold
_EXECUTABLE, _PLAIN = 0o100755, 0o100644  # file modes


def _metadata(project: Dict[str, Any], version: str, root: pathlib.Path) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}", f"License: {project['license']}",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in project["dependencies"]]
    lines += ["Description-Content-Type: text/markdown", "",
              (root / project["readme"]).read_text(encoding="utf-8")]
    return "\n".join(lines)


def _entry_points(project: Dict[str, Any]) -> str:
    return "\n".join(["[console_scripts]",
                      *(f"{name} = {target}" for name, target in project["scripts"].items()), ""])


def write_wheel(folder: pathlib.Path, project: Dict[str, Any], version: str,
                files: Dict[str, pathlib.Path], root: pathlib.Path, tag: str,
                licences: Dict[str, pathlib.Path]) -> str:
    """Writes the wheel of `project`, a table of pyproject.toml, into `folder`; returns its name.

    `files`: the content by the names in the wheel. `root`: the folder of pyproject.toml. `tag`: the
    interpreter, its interface and the platform. `licences`: of what others wrote, by its names.
    """
    base = f"{project['name']}-{version}"
    info = f"{base}.dist-info"
    wheel = (f"Wheel-Version: 1.0\nGenerator: runnel_build ({version})\nRoot-Is-Purelib: false\n"
             f"Tag: {tag}\n")
    texts = {f"{info}/METADATA": _metadata(project, version, root), f"{info}/WHEEL": wheel,
             f"{info}/entry_points.txt": _entry_points(project)}
    contents = {name: path.read_bytes() for name, path in files.items()}
    contents[f"{info}/LICENSE"] = (root / "LICENSE").read_bytes()
    contents |= {f"{info}/licenses/{name}": path.read_bytes() for name, path in licences.items()}
    contents |= {name: text.encode() for name, text in texts.items()}
    name = f"{base}-{tag}.whl"
    record: List[str] = []
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(contents.items()):
            _write(archive, path, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{path},sha256={digest.decode()},{len(content)}\n")
        record.append(f"{info}/RECORD,,\n")
        _write(archive, f"{info}/RECORD", "".join(record).encode())
    return name


def _write(archive: zipfile.ZipFile, path: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(path, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (_EXECUTABLE if content.startswith(b"\x7fELF") else _PLAIN) << 16
    archive.writestr(entry, content)
