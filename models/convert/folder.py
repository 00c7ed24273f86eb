"""Files of an experiment: a folder, or the members of a .nemo tar."""

import io
import lzma
import pathlib
import re
import tarfile
import zlib
from typing import BinaryIO, Dict, List, Optional

from models.convert.errors import ConversionError

# Entries that file managers add to archives.
OF_FILE_MANAGERS = re.compile(r"__MACOSX/|(.*/)?(\._[^/]*|\.DS_Store)$")
_DAMAGED = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError)


class Folder:
    """Files by name, with their names for messages."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._tar = _Tar(path) if path.is_file() else None

    def names(self) -> List[str]:
        """Names of the files, without those in subfolders."""
        if self._tar is not None:
            return sorted(self._tar.members)
        return sorted(entry.name for entry in self._path.iterdir() if entry.is_file())

    def where(self, name: str) -> str:
        """The name of a file for messages."""
        return f"{self._path}: {name}" if self._tar is not None else str(self._path / name)

    def has(self, name: str) -> bool:
        """Whether the file exists."""
        if self._tar is not None:
            return name in self._tar.members
        return (self._path / name).is_file()

    def open(self, name: str, what: str = "") -> BinaryIO:
        """A file, to read and to seek in, so that large ones need not be in memory.

        Raises:
            ConversionError: the file does not exist; the message says `what` it is.
        """
        if not self.has(name):
            detail = f" ({what})" if what else ""
            raise ConversionError(f"{self.where(name)}: no such file{detail}")
        if self._tar is not None:
            return self._tar.open(name)
        try:
            return (self._path / name).open("rb")
        except OSError as error:
            raise ConversionError(f"{self.where(name)}: {error.strerror}") from None

    def read(self, name: str, what: str = "") -> bytes:
        """A file's bytes; raises as `open` does."""
        with self.open(name, what) as file:
            try:
                return file.read()
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


class _Tar:
    """The plain files of a tar, nothing extracted to disk."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self.members: Dict[str, tarfile.TarInfo] = {}
        try:
            self._archive, self._compressed = self._opened()
            for member in self._archive:
                name = member.name[2:] if member.name.startswith("./") else member.name
                if member.isfile() and not OF_FILE_MANAGERS.match(name):
                    self.members[name] = member
        except _DAMAGED as error:
            raise self._damaged(error) from None
        roots = {name.partition("/")[0] for name in self.members if "/" in name}
        if len(roots) == 1 and all("/" in name for name in self.members):  # packed as a folder
            self.members = {name.partition("/")[2]: of for name, of in self.members.items()}

    def open(self, name: str) -> BinaryIO:
        try:
            file = self._archive.extractfile(self.members[name])
            # To seek backwards in compressed data is to decompress it again.
            return io.BytesIO(file.read()) if self._compressed else file
        except _DAMAGED as error:
            raise self._damaged(error) from None

    def _opened(self) -> tuple:
        """The archive and whether it is compressed."""
        if self._path.stat().st_size == 0:
            raise tarfile.ReadError("the file is empty")
        try:
            return tarfile.open(self._path, "r:"), False
        except tarfile.ReadError:
            return tarfile.open(self._path, "r:*"), True

    def _damaged(self, error: Exception) -> ConversionError:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")
        return ConversionError(f"{self._path}: is not a whole tar archive ({reason}), expected a "
                               ".nemo file")
