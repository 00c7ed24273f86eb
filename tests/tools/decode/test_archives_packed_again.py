"""Model files that were unpacked and packed again by other programs decode as before."""

import io
import pathlib
import shutil
import subprocess
import zipfile
from typing import Any, List, Sequence

import pytest

from tool_runner import DIGITS, FAILURE, SAMPLE_LIST, error_line, run, succeed

MODEL = DIGITS / "digits.pt"


class Pipe(io.RawIOBase):
    """A file that cannot seek: zip files in it have data descriptors."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self._file = path.open("wb")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def packed(path: pathlib.Path, root: str = "digits/", compression: int = zipfile.ZIP_DEFLATED,
           beside: Sequence[str] = (), reverse: bool = False, wide: bool = False,
           descriptors: bool = False) -> pathlib.Path:
    """The entries of the digit model in another zip file."""
    with zipfile.ZipFile(MODEL) as old, zipfile.ZipFile(
            Pipe(path) if descriptors else path, "w", compression) as new:
        new.comment = b"packed again"
        for name in beside:
            new.writestr(name, b"")
        for entry in sorted(old.infolist(), key=lambda of: of.filename, reverse=reverse):
            name = root + entry.filename.partition("/")[2]
            with new.open(zipfile.ZipInfo(name) if compression == zipfile.ZIP_STORED else name,
                          "w", force_zip64=wide) as file:
                file.write(old.read(entry))
    return path


def text(model: pathlib.Path) -> str:
    return succeed("decode_wav", f"--model={model}", f"--wav_scp={SAMPLE_LIST}", "--format=json")


VARIANTS = {
    "deflated": {}, "stored": {"compression": zipfile.ZIP_STORED},
    "renamed": {"root": "a name/"}, "no_folder": {"root": ""}, "reversed": {"reverse": True},
    "zip64": {"wide": True}, "descriptors": {"descriptors": True},
    "stored_descriptors": {"descriptors": True, "compression": zipfile.ZIP_STORED},
    "folders": {"beside": ["digits/", "digits/data/", "digits/code/", "digits/extra/"]},
    "mac": {"beside": ["__MACOSX/digits/._data.pkl", "digits/.DS_Store", "digits/data/._0",
                       "__MACOSX/._digits"]},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_archives_of_other_programs(name, tmp_path):
    assert text(packed(tmp_path / "m.pt", **VARIANTS[name])) == text(MODEL)


@pytest.mark.skipif(shutil.which("zip") is None, reason="needs zip (Info-ZIP)")
@pytest.mark.parametrize("flags", [[], ["-0"], ["-0", "-D"], ["-9"], ["-X"]])
def test_archives_of_info_zip(flags: List[str], tmp_path):
    with zipfile.ZipFile(MODEL) as archive:
        archive.extractall(tmp_path / "unpacked")
    root = next((tmp_path / "unpacked").iterdir()).name
    subprocess.run(["zip", "-q", "-r", *flags, str(tmp_path / "m.pt"), root],
                   cwd=tmp_path / "unpacked", check=True)
    assert text(tmp_path / "m.pt") == text(MODEL)


def test_zip_bombs(tmp_path):
    """A small file that would expand to a gigabyte is refused before memory is taken for it."""
    bomb = tmp_path / "bomb.pt"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/data.pkl", b"\x80\x02}.")
        archive.writestr("m/code/__torch__.py", b"")
        with archive.open("m/data/0", "w") as file:
            for _ in range(64):
                file.write(bytes(1 << 24))
    line = error_line(run("decode_wav", f"--model={bomb}", f"--wav_scp={SAMPLE_LIST}"), FAILURE)
    assert "entry m/data/0 expands to 1073741824 bytes, expected at most" in line


def test_packed_files_are_no_zip_files(tmp_path):
    """They are mapped as they are: a zip file of one is refused."""
    succeed("pack_model", f"--model={MODEL}", "--precision=int8", f"--output={tmp_path / 'm.int8'}")
    with zipfile.ZipFile(tmp_path / "m.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "m.int8", "m.int8")
    line = error_line(run("decode_wav", f"--model={tmp_path / 'm.zip'}",
                          f"--wav_scp={SAMPLE_LIST}"), FAILURE)
    assert "holds 0 files data.pkl, expected one" in line
