"""Checkpoints are read as weights only: nothing in them runs, and what is no weights is refused."""

import argparse
import collections
import io
import os
import pathlib
import pickle
import random
import shutil
import subprocess
import sys
import tarfile
import zipfile
from typing import Any, Dict, List, Sequence

import numpy as np
import pytest
import torch
from convert_support import ROOT, convert, main, need_shared, read_archive, refusal
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
            read_weights(io.BytesIO(content), "final.pt", [])
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
            read = read_weights(io.BytesIO(data), "f", [])
            assert list(read) == ["w"] and torch.equal(read["w"], weight)


@pytest.mark.parametrize("key", [
    "model_avg", "averaged_model", "ema", "model_ema", "ema_state_dict", "state_dict_ema",
    "swa_model"])
def test_the_average_is_taken_and_said(key):
    trained, averaged = torch.zeros(2), torch.ones(2)
    for content in ({"model": {"w": trained}, key: {"module.w": averaged, "n_averaged": trained}},
                    {key: {"decay": 0.99, "shadow": {"w": averaged}}, "state_dict": {"w": trained}},
                    {key: {"w": averaged}, "model": {"w": trained}, "step": torch.tensor(3)}):
        notes: List[str] = []
        assert torch.equal(read_weights(io.BytesIO(saved(content)), "f", notes)["w"], averaged)
        assert len(notes) == 1 and key in notes[0] and "averaged over the training" in notes[0]
        assert notes[0].endswith("not used: model" if "model" in content else "state_dict")
    # Without weights in it, it is none.
    content = {key: {"decay": 0.99}, "model": {"w": trained}}
    assert torch.equal(read_weights(io.BytesIO(saved(content)), "f", [])["w"], trained)


def test_the_note_reaches_the_output(tmp_path, capsys):
    folder = tmp_path / "exp"
    shutil.copytree(need_shared("family_golden/icefall_reworked_conformer_transducer"), folder)
    options = ("--causal", "--num_mel_bins=24")
    convert("icefall", folder, tmp_path / "alone.pt", *options)
    assert "note: the weights are" not in capsys.readouterr().out
    weights = torch.load(folder / "pretrained.pt")["model"]
    half = {name: value * 0.5 if value.is_floating_point() else value
            for name, value in weights.items()}
    (folder / "pretrained.pt").chmod(0o644)
    torch.save({"model": half, "model_avg": weights, "batch_idx_train": 3000},
               folder / "pretrained.pt")
    averaged, _, _ = convert("icefall", folder, tmp_path / "averaged.pt", *options)
    assert ("note: the weights are those of model_avg, averaged over the training; not used: model"
            in capsys.readouterr().out)
    alone, _, _ = read_archive(str(tmp_path / "alone.pt"))
    for name, value in alone.state_dict().items():
        assert torch.equal(value, averaged.state_dict()[name])


def test_prefixes_of_wrappers_are_removed():
    for prefix in ("module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module.",
                   "module.module.", "_orig_mod._orig_mod.module."):
        content = {f"{prefix}encoder.module.w": torch.ones(2), f"{prefix}b": torch.ones(1)}
        for nested in (content, {"model": content}):
            read = read_weights(io.BytesIO(saved(nested)), "f", [])
            assert list(read) == ["encoder.module.w", "b"]
    parts = {"encoder._orig_mod.w": torch.ones(2), "module.a._orig_mod._orig_mod.module.b":
             torch.ones(1), "my_orig_mod.c": torch.ones(1)}
    read = read_weights(io.BytesIO(saved(parts)), "f", [])
    assert list(read) == ["encoder.w", "a.module.b", "my_orig_mod.c"]
    for name, other in (("w", "module.w"), ("a.w", "a._orig_mod.w")):
        with pytest.raises(ConversionError, match=f"holds {name} twice"):
            read_weights(io.BytesIO(saved({name: torch.ones(1), other: torch.ones(1)})), "f", [])


def training_checkpoint(weight: torch.Tensor) -> Dict[str, Any]:
    """What trainers save beside the weights."""
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(layer.parameters(), lr=1e-3)
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return {"model": {"w": weight}, "best_valid_loss": 0.07, "epoch": 3, "none": None, "ok": True,
            "optimizer": optimizer.state_dict(), "params": argparse.Namespace(lr=0.1),
            "path": pathlib.PurePosixPath("exp"), "loss": np.float64(0.25), "array": np.ones(3),
            "sizes": {1, 2}, "frozen": frozenset([1]), ("a", "tuple"): 1, "bytes": b"raw",
            "counts": collections.defaultdict(list, a=[1]), "big": 1 << 80, "module": layer,
            "random": torch.get_rng_state(), "dtype": torch.float16, "device": torch.device("cpu")}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_training_checkpoints_of_every_protocol(protocol):
    weight = torch.arange(6.0).view(2, 3)
    for content in (training_checkpoint(weight), {"w": weight}):
        for new in (True, False):
            data = saved(content, pickle_protocol=protocol, _use_new_zipfile_serialization=new)
            assert torch.equal(read_weights(io.BytesIO(data), "f", [])["w"], weight)


def test_tensors_are_those_of_pytorch():
    """Every type, views of one storage, empty and zero-dimensional ones, to the bit."""
    whole = torch.arange(24.0)
    content = {"part": whole[3:9].view(2, 3), "columns": whole.view(4, 6)[:, 1:3],
               "transposed": whole.view(4, 6).t(), "again": whole, "empty": torch.ones(0, 3),
               "scalar": torch.tensor(2.5), "parameter": torch.nn.Parameter(whole[:2]),
               "buffer": torch.nn.parameter.Buffer(whole[:2])
               if hasattr(torch.nn.parameter, "Buffer") else whole[:1]}
    for kind in (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32,
                 torch.int16, torch.int8, torch.uint8, torch.bool):
        content[str(kind)] = (whole * 0.37).to(kind)
        content[f"scalar {kind}"] = torch.tensor(1).to(kind)
    for new in (True, False):
        data = saved(content, _use_new_zipfile_serialization=new)
        read = read_weights(io.BytesIO(data), "f", [])
        assert list(read) == list(content)
        for name, value in content.items():
            expected = value.detach()
            expected = expected.float() if expected.is_floating_point() else expected
            assert torch.equal(read[name], expected) and read[name].dtype == expected.dtype, name


def zipped_again(data: bytes, root: str = "archive/", compression: int = zipfile.ZIP_DEFLATED,
                 beside: Sequence[str] = (), reverse: bool = False) -> bytes:
    """The entries of a zip file as a file manager packs them."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", compression) as new:
        for name in beside:
            new.writestr(name, b"")
        for name in sorted(old.namelist(), reverse=reverse):
            new.writestr(root + name.partition("/")[2], old.read(name))
    return stream.getvalue()


def test_checkpoints_that_were_unpacked_and_zipped_again():
    weight = torch.arange(6.0)
    data = saved({"w": weight})
    for again in (
            zipped_again(data), zipped_again(data, compression=zipfile.ZIP_STORED),
            zipped_again(data, "renamed/"), zipped_again(data, ""),
            zipped_again(data, reverse=True),
            zipped_again(data, beside=["archive/", "archive/data/", ".DS_Store",
                                       "archive/.DS_Store", "__MACOSX/archive/._data.pkl",
                                       "__MACOSX/archive/data.pkl", "archive/._data.pkl"])):
        assert torch.equal(read_weights(io.BytesIO(again), "f", [])["w"], weight)
    with pytest.raises(ConversionError, match="a zip file with 0 files data.pkl"):
        read_weights(io.BytesIO(zipped_again(data, "one/two/three/")), "f", [])
    zeros = zipped_again(saved({"w": torch.zeros(1 << 23)}))
    with pytest.raises(ConversionError, match="bytes expand to"):
        read_weights(io.BytesIO(zeros), "f", [])


def test_entries_of_a_checkpoint_that_overlap_are_an_error():
    stream = io.BytesIO(saved({"w": torch.ones(1000)}))
    with zipfile.ZipFile(stream, "a") as archive:
        large = max(archive.filelist, key=lambda entry: entry.file_size)
        archive.filelist += [large] * 3
        archive.writestr("archive/x", b"")  # so that the directory is written again
    with pytest.raises(ConversionError, match="f: its entries take .*: some overlap"):
        read_weights(io.BytesIO(stream.getvalue()), "f", [])


def test_nemo_files_that_were_packed_again(tmp_path):
    source = NemoFile("conformer_offline").write(tmp_path / "m.nemo")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path / "m")
    convert("nemo", source, tmp_path / "first.pt")
    (tmp_path / "m" / "._model_config.yaml").write_bytes(b"Mac OS X")
    for mode, root in (("w", ""), ("w", "./"), ("w:gz", "renamed/"), ("w:xz", "./m/")):
        with tarfile.open(tmp_path / "again.nemo", mode) as archive:
            for path in sorted((tmp_path / "m").iterdir(), reverse=True):
                archive.add(path, root + path.name)
        again, _, _ = convert("nemo", tmp_path / "again.nemo", tmp_path / "again.pt")
        first, _, _ = read_archive(str(tmp_path / "first.pt"))
        assert all(map(torch.equal, first.state_dict().values(), again.state_dict().values()))


def pickled(operations: bytes) -> bytes:
    """A checkpoint whose pickle is these operations."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + operations + b".")
        archive.writestr("archive/data/0", bytes(16))
    return stream.getvalue()


def tensor_operations(count: int, offset: int, shape: Sequence[int], strides: Sequence[int],
                      kind: str = "FloatStorage") -> bytes:
    """{"w": tensor}."""
    def long(value: int) -> bytes:
        data = pickle.encode_long(value)
        return b"\x8a" + bytes([len(data)]) + data

    def longs(values: Sequence[int]) -> bytes:
        return b"(" + b"".join(map(long, values)) + b"t"

    return (b"}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n"
            + kind.encode() + b"\nX\x01\0\0\x000X\x03\0\0\0cpu" + long(count) + b"tQ"
            + long(offset) + longs(shape) + longs(strides) + b"\x89N}tRs")


def test_sizes_that_do_not_fit():
    assert list(read_weights(io.BytesIO(pickled(tensor_operations(4, 1, [3], [1]))), "f", [])) == [
        "w"]
    for count, offset, shape, strides in (
            (4, 2, [3], [1]), (4, -1, [3], [1]), (4, 3, [3], [-1]), (4, 0, [3, -1], [1, 1]),
            (1 << 60, 0, [4], [1]), (4, 0, [1 << 62, 1 << 62], [0, 0]), (4, 0, [8], [0]),
            (4, 0, [2, 2], [1]), (4, 0, [1] * 1000, [1] * 1000), (4, 0, [2], [1 << 100]),
            (-4, 0, [0], [1]), (4, 1 << 100, [1], [1])):
        operations = tensor_operations(count, offset, shape, strides)
        with pytest.raises(ConversionError, match="w: cannot be read"):
            read_weights(io.BytesIO(pickled(operations)), "f", [])


def test_pickles_that_ask_for_much():
    """Each is refused at once, in little memory, and none ends the process."""
    for operations in (
            b"}r\xff\xff\xff\x7f",  # a place 2^31 - 1 to remember it
            b"(" * 200000, b"]" * 200000 + b"a" * 199999, b")" + b"\x85" * 200000,
            b"}" + b")" + b"\x85" * 200000 + b"Ns",  # a key that is deep
            b"}q\0X\x05\0\0\0modelh\0s",  # a dict within itself
            b"cos\nsystem\nX\x04\0\0\0true\x85R",
            b"".join(b"cm\nC%d\n)R0" % i for i in range(50000)) + b"N"):
        with pytest.raises(ConversionError):
            read_weights(io.BytesIO(pickled(operations)), "f", [])


def test_damaged_checkpoints_raise_one_kind_of_error():
    generator = random.Random(37)
    for new in (True, False):
        data = saved(training_checkpoint(torch.ones(40)), _use_new_zipfile_serialization=new)
        for _ in range(150):
            damaged = bytearray(data)
            for _ in range(generator.randint(1, 4)):
                damaged[generator.randrange(len(data))] = generator.randrange(256)
            cut = generator.choice([len(data), generator.randrange(len(data))])
            try:
                read_weights(io.BytesIO(bytes(damaged[:cut])), "f", [])
            except ConversionError as error:
                assert "\n" not in str(error)


def test_no_message_advises_unsafe_loading():
    """Neither our own words, nor those of PyTorch."""
    advice = "weights" + "_only"
    for folder in ("models", "docs", "runtime", "tools"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".cc", ".h"):
                assert advice not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("content, message", [
    (b"", "not a PyTorch checkpoint"), (b"text", "not a PyTorch checkpoint"),
    (b"\x80\x02.", "cannot be read"), (saved([1, 2]), "no state dict"),
    (saved({}), "no state dict"),
    (saved(torch.nn.Linear(1, 1)), r"class torch.nn.modules.linear.Linear, .* expected a state "
                                   r"dict: torch.save\(model.state_dict\(\), "),
    (saved({"w": 3}), "'w' is of type int"), (saved({1: torch.ones(1)}), "1 is of type"),
    *((saved({"w": torch.tensor([1.0, bad, 2.0])}), "not finite")
      for bad in (float("inf"), float("-inf"), float("nan"))),
    (saved({"w": torch.ones(2, dtype=torch.complex64)}), "complex"),
    (saved({"w": torch.ones(4)})[:-20], "f: "),
    (saved({"w": torch.ones(4)}).replace(b"PK\x01\x02", b"PKxx"), "cannot be read"),
])
def test_what_is_no_weights(content, message):
    with pytest.raises(ConversionError, match=message) as raised:
        read_weights(io.BytesIO(content), "f", [])
    assert "\n" not in str(raised.value)


def test_exports_are_told_from_checkpoints(tmp_path):
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "final.zip"))
    with pytest.raises(ConversionError, match="TorchScript export"):
        read_weights((tmp_path / "final.zip").open("rb"), "final.zip", [])


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
