"""Checkpoints are read as weights only: nothing in them runs, and what is no weights is refused."""

import io
import os
import pathlib
import pickle
import subprocess
import sys
import tarfile
import zipfile
from typing import Any, List

import pytest
import torch
from convert_support import ROOT, main, refusal
from models.convert.errors import ConversionError
from models.convert.weights import read_weights
from nemo_files import NemoFile


class Malicious:
    """Creates a file when it is unpickled by anyone who runs what a pickle names."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def saved(content: Any, **options: Any) -> bytes:
    """What torch.save writes."""
    stream = io.BytesIO()
    torch.save(content, stream, **options)
    return stream.getvalue()


def legacy_tar(payload: bytes) -> bytes:
    """PyTorch's oldest format, with a pickle in every place that its reader opens."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name in ("storages", "tensors", "pickle", "sys_info"):
            info = tarfile.TarInfo(name)
            info.size = len(payload)
            tar.addfile(info, io.BytesIO(payload))
    return stream.getvalue()


def test_damaged_weights_are_refused(tmp_path, capsys):
    """PyTorch reads them without a word."""
    nemo = NemoFile("conformer_offline")
    path = nemo.write(tmp_path / "m.nemo")
    weight = next(value for name, value in nemo.weights.items() if name.endswith("linear1.weight"))
    data, values = bytearray(path.read_bytes()), weight.numpy().tobytes()
    assert data.count(values) == 1
    data[data.index(values) + 2] ^= 1
    path.write_bytes(data)
    line = refusal(capsys, "nemo", path, tmp_path / "m.pt")
    assert "model_weights.ckpt: cannot be read as a PyTorch checkpoint (BadZipFile: Bad CRC" in line


def test_nothing_that_a_pickle_names_is_run(tmp_path, capsys):
    trap = tmp_path / "created"
    payload = pickle.dumps(Malicious(trap), protocol=2)
    with zipfile.ZipFile(tmp_path / "hand_made.pt", "w") as archive:
        archive.writestr("archive/data.pkl", payload)
        archive.writestr("archive/version", "3\n")
    contents = [
        saved({"weight": Malicious(trap)}), saved(Malicious(trap)),
        saved({"state_dict": {}, "hook": Malicious(trap)}),
        saved({"weight": Malicious(trap)}, _use_new_zipfile_serialization=False),
        payload, pickle.dumps({"weight": Malicious(trap)}, protocol=4), legacy_tar(payload),
        (tmp_path / "hand_made.pt").read_bytes()]
    for content in contents:
        with pytest.raises(ConversionError) as raised:
            read_weights(io.BytesIO(content), "final.pt")
        assert "final.pt" in str(raised.value) and "\n" not in str(raised.value)
        assert not trap.exists()
    folder = tmp_path / "experiment"
    folder.mkdir()
    (folder / "train.yaml").write_text("encoder: conformer\ninput_dim: 80\n")
    (folder / "units.txt").write_text("<blank> 0\na 1\n")
    (folder / "final.pt").write_bytes(contents[0])
    assert main(["wenet", str(folder), f"--output={tmp_path / 'm.pt'}"]) == 1
    assert "final.pt" in capsys.readouterr().err and not trap.exists()
    pickle.loads(payload)  # the trap works
    assert trap.exists()


def test_yaml_creates_no_objects(tmp_path, capsys):
    (tmp_path / "train.yaml").write_text(f"a: !!python/object/apply:os.mkdir ['{tmp_path}/made']\n")
    assert main(["wenet", str(tmp_path), f"--output={tmp_path / 'm.pt'}"]) == 1
    assert "train.yaml" in capsys.readouterr().err and not (tmp_path / "made").exists()


def test_places_where_trainers_put_weights():
    weight = torch.arange(3.0)
    for content in ({"w": weight}, {"module.w": weight}, {"state_dict": {"w": weight}, "epoch": 1},
                    {"model": {"w": weight}}, {"model_avg": {"module.w": weight}},
                    {"w": weight.half()}, {"w": weight.double()},
                    {"w": torch.nn.Parameter(weight)}):
        for new in (True, False):
            data = saved(content, _use_new_zipfile_serialization=new)
            read = read_weights(io.BytesIO(data), "f")
            assert list(read) == ["w"] and torch.equal(read["w"], weight)


@pytest.mark.parametrize("content, message", [
    (b"", "not a PyTorch checkpoint"), (b"text", "not a PyTorch checkpoint"),
    (b"\x80\x02.", "cannot be read"), (saved([1, 2]), "no state dict"),
    (saved({}), "no state dict"),
    (saved({"w": 3}), "'w' is of type int"), (saved({1: torch.ones(1)}), "1 is of type"),
    *((saved({"w": torch.tensor([1.0, bad, 2.0])}), "not finite")
      for bad in (float("inf"), float("-inf"), float("nan"))),
    (saved({"w": torch.ones(2, dtype=torch.complex64)}), "complex"),
    (saved({"w": torch.ones(4)})[:-20], "f: "),
    (saved({"w": torch.ones(4)}).replace(b"PK\x01\x02", b"PKxx"), "cannot be read"),
])
def test_what_is_no_weights(content, message):
    with pytest.raises(ConversionError, match=message) as raised:
        read_weights(io.BytesIO(content), "f")
    assert "\n" not in str(raised.value)


def test_exports_are_told_from_checkpoints(tmp_path):
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "final.zip"))
    with pytest.raises(ConversionError, match="TorchScript export"):
        read_weights((tmp_path / "final.zip").open("rb"), "final.zip")


def test_the_output_is_no_part_of_the_source(tmp_path, capsys):
    folder = tmp_path / "exp"
    folder.mkdir()
    weights = folder / "final.pt"
    weights.write_bytes(saved({"a": torch.ones(2)}))
    before = weights.read_bytes()
    (folder / "link.pt").symlink_to(weights)
    for output in (weights, folder / "link.pt", tmp_path / "exp" / ".." / "exp" / "final.pt"):
        assert main(["wenet", str(folder), f"--output={output}"]) == 1
        assert "which belongs to the source, expected a new file" in capsys.readouterr().err
    assert weights.read_bytes() == before


def test_the_output_must_be_a_file_that_can_be_written(tmp_path, capsys):
    folder = tmp_path / "exp"
    folder.mkdir()
    protected = tmp_path / "protected.pt"
    protected.write_bytes(b"kept")
    protected.chmod(0o444)
    for output, message in ((tmp_path, "which is not a file"), ("/dev/null", "which is not a file"),
                            (protected, "which is write-protected"),
                            (tmp_path / "none" / "m.pt", "there is no folder")):
        assert main(["wenet", str(folder), f"--output={output}"]) == 1
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
    assert protected.read_bytes() == b"kept"
    assert pathlib.Path("/dev/null").is_char_device()


def test_the_command_as_written_in_the_readme(tmp_path):
    """From the top of the repository; a wrong flag is 2, a wrong source 1 and one line."""
    def run(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "models/convert.py", *arguments], cwd=ROOT,
                              capture_output=True, text=True)

    failed = run("wenet", "nothing", f"--output={tmp_path}/m.pt")
    assert failed.returncode == 1 and failed.stdout == ""
    assert failed.stderr == "convert.py: nothing: no such file or folder\n"
    assert run("kaldi", "x", "--output=y").returncode == 2
    assert run("--help").returncode == 0


def test_a_folder_of_nobody_is_told_what_was_looked_for(tmp_path, capsys):
    assert main(["nemo", str(tmp_path), f"--output={tmp_path / 'm.pt'}"]) == 1
    error = capsys.readouterr().err
    assert "model_config.yaml" in error and "state_dict.pt" in error and error.count("\n") == 1
    junk = tmp_path / "junk.nemo"
    junk.write_bytes(b"junk\n")
    assert main(["nemo", str(junk), f"--output={tmp_path / 'm.pt'}"]) == 1
    assert capsys.readouterr().err == (
        f"convert.py: {junk}: is not a whole tar archive (file could not be opened successfully), "
        "expected a .nemo file\n")


def nothing_to_convert(folder: pathlib.Path) -> List[pathlib.Path]:
    """Files and folders that no importer reads."""
    contents = {
        "empty.wav": b"", "speech.wav": b"RIFF\x24\0\0\0WAVEfmt " + bytes(500),
        "text.txt": b"hello\n", "zeros.nemo": bytes(20480),
        "weights.pt": saved({"a": torch.ones(2)})}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        info = tarfile.TarInfo("model_config.yaml")
        info.size = 5000
        archive.addfile(info, io.BytesIO(bytes(5000)))
    (folder / "half.nemo").write_bytes(tar.getvalue()[:3000])
    binary, of_folders = folder / "binary", folder / "of_folders"
    for made in (folder / "none", binary, of_folders):
        made.mkdir()
    for name in ("train.yaml", "config.yaml", "model_config.yaml", "model.pth", "final.pt"):
        (binary / name).write_bytes(b"\xff\x00\x9b" * 40)
        (of_folders / name).mkdir()
    return sorted(folder.iterdir())


@pytest.mark.parametrize("family", ["wenet", "nemo", "espnet", "icefall"])
def test_what_is_no_model_at_all(family, tmp_path, capsys):
    folder = tmp_path / "sources"
    folder.mkdir()
    for source in nothing_to_convert(folder):
        line = refusal(capsys, family, source, tmp_path / "m.pt")
        assert line.startswith(f"convert.py: {source}"), line
        assert any(text in line for text in ("expected", "no such file", "is not", "holds neither"))


def test_the_packing_program_is_looked_for_first(tmp_path, capsys, monkeypatch):
    """Not after the weights were read and written."""
    def missing(name: str) -> str:
        raise ConversionError(f"there is no program {name}")

    monkeypatch.setattr("models.convert.command.find_program", missing)
    (tmp_path / "m.nemo").write_bytes(b"junk")
    line = refusal(capsys, "nemo", tmp_path / "m.nemo", tmp_path / "m.pt", "--store=int8")
    assert "there is no program pack_model" in line


MEASURE = """
import re, sys
from models.convert import command

def peak_bytes():  # of this process alone, unlike ru_maxrss
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read()).group(1))

before = peak_bytes()
assert command.main(sys.argv[1:]) == 0
print(peak_bytes() - before)
"""


def test_the_memory_holds_the_weights_once(tmp_path):
    """A model of 0.6 B parameters must fit: no second copy, from the checkpoint to the file."""
    nemo = NemoFile("conformer_offline")
    nemo.widen(20000)
    path = nemo.write(tmp_path / "m.nemo")
    done = subprocess.run([sys.executable, "-c", MEASURE, "nemo", str(path),
                           f"--output={tmp_path / 'm.pt'}"], cwd=ROOT, capture_output=True,
                          text=True, check=True)
    growth = int(done.stdout.splitlines()[-1])
    assert path.stat().st_size > 100e6
    assert growth < 1.9 * path.stat().st_size, (growth, path.stat().st_size)
