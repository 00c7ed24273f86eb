"""Files of an experiment: a folder, or the members of a .nemo tar, read into memory."""

import lzma
import pathlib
import tarfile
import zlib
from typing import Dict, List, Optional

from models.convert.errors import ConversionError


class Folder:
    """Files by name, with their names for messages."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._members: Optional[Dict[str, bytes]] = None
        if path.is_file():
            self._members = _read_tar(path)

    def names(self) -> List[str]:
        """Names of the files, without those in subfolders."""
        if self._members is not None:
            return sorted(self._members)
        return sorted(entry.name for entry in self._path.iterdir() if entry.is_file())

    def where(self, name: str) -> str:
        """The name of a file for messages."""
        return f"{self._path}: {name}" if self._members is not None else str(self._path / name)

    def has(self, name: str) -> bool:
        """Whether the file exists."""
        if self._members is not None:
            return name in self._members
        return (self._path / name).is_file()

    def read(self, name: str, what: str = "") -> bytes:
        """A file's bytes.

        Raises:
            ConversionError: the file does not exist; the message says `what` it is.
        """
        if not self.has(name):
            detail = f" ({what})" if what else ""
            raise ConversionError(f"{self.where(name)}: no such file{detail}")
        if self._members is not None:
            return self._members[name]
        try:
            return (self._path / name).read_bytes()
        except OSError as error:
            raise ConversionError(f"{self.where(name)}: {error.strerror}") from None

    def find(self, configured: Optional[str], *candidates: str) -> Optional[str]:
        """The first file that exists.

        Tries the file that a configuration names, by its path from the folder, then by its last
        part (experiments are moved), then the candidates.
        """
        names = [] if not configured else [configured, configured.replace("\\", "/").split("/")[-1]]
        for name in [*names, *candidates]:
            if self.has(name):
                return name
        return None


def _read_tar(path: pathlib.Path) -> Dict[str, bytes]:
    """The plain files of a tar, nothing extracted to disk."""
    members: Dict[str, bytes] = {}
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isfile() else None
                if content is not None:
                    name = member.name[2:] if member.name.startswith("./") else member.name
                    members[name] = content.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = str(error).splitlines()[0].rstrip(":")
        raise ConversionError(f"{path}: is not a tar archive ({reason})") from None
    return members
