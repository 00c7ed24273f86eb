"""WeNet's TorchScript export gives WeNet's values; unusable exports are refused."""

import pathlib
import shutil
import subprocess
import sys
import zipfile
from typing import Any, Dict, List

import numpy as np
import pytest
import torch
import yaml

from optional_parts import needs_reference
from shared_data import need_shared
from tool_runner import FAILURE, ROOT, SAMPLES, TINY_MODEL, error_line, run, succeed
from wenet_like import asr_model

sys.path[:0] = [str(ROOT)]
from models.convert.statistics import read_wenet  # noqa: E402

# The recorded cases that an export describes fully. It has neither the number of feature bins nor
# the direction of shaw_rel_selfattn.
CASES = ["main_conformer_no_pos_biases", "v1_conformer_linear_no_macaron", "v1_transformer_abs_pos",
         "v2_conformer_conv2d8_post_norm", "v2_transformer_rel_pos_conv2d6", "v3_conformer_rel_pos",
         "main_branchformer_causal", "main_e_branchformer_symmetric"]
TOLERANCE = 2e-5  # float32 in another order, against WeNet's own float32


def write_export(folder: pathlib.Path, case: Dict[str, np.ndarray]) -> List[str]:
    """Writes final.zip and units.txt; returns the flags that load them."""
    state = {name[len("weight/"):]: torch.from_numpy(value) for name, value in case.items()
             if name.startswith("weight/")}
    asr_model.build(state, yaml.safe_load(str(case["train_yaml"]))).save(
        str(folder / "final.zip"))
    symbols = ["<blank>", "<unk>", *"abcdefgh", "\u2581", "<sos/eos>"]
    (folder / "units.txt").write_text("".join(f"{s} {i}\n" for i, s in enumerate(symbols)),
                                      encoding="utf-8")
    return [f"--model={folder / 'final.zip'}", f"--units={folder / 'units.txt'}"]


def load_case(name: str) -> Dict[str, np.ndarray]:
    with np.load(ROOT / "tests/golden/wenet" / f"{name}.npz") as arrays:
        case = dict(arrays)
    if name == "main_e_branchformer_symmetric":  # statistics that change nothing tell its bins
        bins = case["features"].shape[1]
        case.update({"train_yaml": str(case["train_yaml"]).replace("null", "global_cmvn"),
                     "weight/encoder.global_cmvn.mean": np.zeros(bins, np.float32),
                     "weight/encoder.global_cmvn.istd": np.ones(bins, np.float32)})
    return case


@pytest.mark.parametrize("name", CASES)
def test_export_computes_what_wenet_computes(name, tmp_path):
    case = load_case(name)
    flags = write_export(tmp_path, case)
    np.save(tmp_path / "x.npy", case["features"].astype(np.float32))
    chunk, chunks = int(case["chunk_size"]), int(case["num_left_chunks"])
    settings = {"full": (-1, -1)}
    if "encoder_chunked" in case:
        settings["chunked"] = (chunk, -1 if chunks < 0 else chunk * chunks)
    for kind, (chunk_size, left_context) in settings.items():
        for what, option in (("encoder", []), ("ctc_log_probs", ["--log_probs"])):
            if f"{what}_{kind}" not in case:
                continue
            succeed("dump_encoder", *flags, f"--features={tmp_path / 'x.npy'}",
                    f"--chunk_size={chunk_size}", f"--left_context={left_context}", *option,
                    f"--output={tmp_path / 'y.npy'}")
            found = np.load(tmp_path / "y.npy")
            expected = case[f"{what}_{kind}"].reshape(found.shape)
            scale = max(1.0, np.abs(expected).max())
            assert np.abs(found - expected).max() <= TOLERANCE * scale, f"{what}_{kind}"


def test_e_branchformer_in_chunks(tmp_path):
    """A causal one with both feed-forward modules, by WeNet's own values."""
    folder = need_shared("family_golden/wenet_e_branchformer_causal")
    with np.load(folder / "expected.npz") as arrays:
        case = dict(arrays)
    state = torch.load(folder / "final.pt", map_location="cpu")
    config = yaml.safe_load((folder / "train.yaml").read_text())
    asr_model.build(state, config).save(str(tmp_path / "final.zip"))
    flags = [f"--model={tmp_path / 'final.zip'}", f"--units={folder / 'units.txt'}"]
    np.save(tmp_path / "x.npy", case["features"].astype(np.float32))
    for kind, chunk_size, left in (("full", -1, -1),
                                   ("chunked", int(case["chunk_size"]), int(case["left"]))):
        succeed("dump_encoder", *flags, f"--features={tmp_path / 'x.npy'}",
                f"--chunk_size={chunk_size}", f"--left_context={left}",
                f"--output={tmp_path / 'y.npy'}")
        found = np.load(tmp_path / "y.npy")
        assert np.abs(found - case[f"encoder_{kind}"]).max() <= TOLERANCE


def test_a_model_of_contrastive_learning_is_an_asr_model(tmp_path):
    """WeNet's ctl_model is read as the same encoder and heads, also where no units are given."""
    case = load_case("v3_conformer_rel_pos")
    flags = write_export(tmp_path, case)
    np.save(tmp_path / "x.npy", case["features"].astype(np.float32))
    expected = log_probs(flags, tmp_path)
    config = yaml.safe_load(str(case["train_yaml"]))
    config.update(model="ctl_model", encoder="dual_conformer")
    case["train_yaml"] = np.array(yaml.safe_dump(config))
    write_export(tmp_path, case)
    assert log_probs(flags, tmp_path) == expected


def write_experiment(folder: pathlib.Path, case: Dict[str, np.ndarray]) -> pathlib.Path:
    """Writes the experiment folder of a case, whose units.txt is that of the export in `folder`."""
    experiment = folder / "experiment"
    experiment.mkdir()
    torch.save({name[len("weight/"):]: torch.from_numpy(value) for name, value in case.items()
                if name.startswith("weight/")}, experiment / "final.pt")
    (experiment / "train.yaml").write_text(str(case["train_yaml"]))
    shutil.copy(folder / "units.txt", experiment)
    return experiment


@pytest.mark.parametrize("name", CASES)
def test_both_ways_of_importing_give_the_same_bits(name, tmp_path):
    """Names, shapes and defaults are stated by the C++ reader and by models/convert alike."""
    case = load_case(name)
    export = write_export(tmp_path, case)
    subprocess.run([sys.executable, "models/convert.py", "wenet",
                    str(write_experiment(tmp_path, case)), f"--output={tmp_path / 'model.pt'}"],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    # Features and chunk sizes are those of the model.
    wav = f"--wav={SAMPLES / 'rms_telephone.wav'}"
    found = []
    for flags in (export, [f"--model={tmp_path / 'model.pt'}"]):
        succeed("dump_encoder", *flags, wav, "--log_probs", f"--output={tmp_path / 'y.npy'}")
        found.append((tmp_path / "y.npy").read_bytes())
    assert found[0] == found[1]


@pytest.fixture(name="export")
def fixture_export(tmp_path) -> List[str]:
    return write_export(tmp_path, load_case("v3_conformer_rel_pos"))


def refusal(*flags: str) -> str:
    done = run("dump_encoder", *flags, "--wav=none.wav", "--output=y.npy")
    return error_line(done, FAILURE)


def test_exports_of_other_types(tmp_path):
    """float64 is read as float32; frozen, an export has no names of weights."""
    case = load_case("v3_conformer_rel_pos")
    flags = write_export(tmp_path, case)
    path = tmp_path / "final.zip"
    np.save(tmp_path / "x.npy", case["features"].astype(np.float32))

    def encode() -> np.ndarray:
        succeed("dump_encoder", *flags, f"--features={tmp_path / 'x.npy'}",
                f"--output={tmp_path / 'y.npy'}")
        return np.load(tmp_path / "y.npy")

    single, module = encode(), torch.jit.load(str(path))
    module.double().save(str(path))
    assert np.array_equal(encode(), single)
    torch.jit.freeze(module.float().eval()).save(str(path))
    assert "is a WeNet export that is frozen (torch.jit.freeze)" in refusal(*flags)


def test_what_an_export_does_not_tell_is_refused(tmp_path):
    assert "not of 80 bins" in refusal(*write_export(tmp_path, load_case("v2_conformer_symmetric")))
    assert "models/convert.py" in refusal(*write_export(tmp_path, load_case("v3_conformer_shaw")))


def test_units_must_be_given(export):
    assert "expected the units.txt beside it too (--units)" in refusal(export[0])


def test_units_of_an_archive_that_has_its_own(export):
    assert "holds its own units" in refusal(f"--model={TINY_MODEL}", export[1])


def test_units_that_do_not_fit(export, tmp_path):
    units = tmp_path / "units.txt"
    units.write_text("<blank> 0\na 1\n")
    assert refusal(*export) == (f"dump_encoder: {units}: has 2 lines, expected the 12 tokens of "
                                "the model (vocab_size)")
    assert "units.txt: cannot be read" in refusal(export[0], "--units=no_such/units.txt")


def test_the_converter_names_what_needs_no_conversion(export):
    path = export[0].partition("=")[2]
    done = subprocess.run([sys.executable, "models/convert.py", "wenet", path, "--output=m.pt"],
                          cwd=ROOT, check=False, stderr=subprocess.PIPE, text=True)
    assert done.returncode == FAILURE
    assert done.stderr == (f"convert.py: {path}: is a zip archive, expected an experiment folder; "
                           "a TorchScript export is read without a conversion (--model=final.zip "
                           "--units=units.txt)\n")


def quantized(case: Dict[str, np.ndarray], scheme: torch.quantization.QConfig) -> torch.nn.Module:
    state = {name[len("weight/"):]: torch.from_numpy(value) for name, value in case.items()
             if name.startswith("weight/")}
    return asr_model.quantize(
        asr_model.assemble(state, yaml.safe_load(str(case["train_yaml"]))), scheme)


def log_probs(flags: List[str], folder: pathlib.Path) -> bytes:
    succeed("dump_encoder", *flags, f"--features={folder / 'x.npy'}", "--log_probs",
            "--chunk_size=-1", "--left_context=-1", f"--output={folder / 'y.npy'}")
    return (folder / "y.npy").read_bytes()


@pytest.mark.parametrize("scheme", [torch.quantization.default_dynamic_qconfig,
                                    torch.quantization.per_channel_dynamic_qconfig],
                         ids=["one scale", "a scale for each row"])
@pytest.mark.parametrize("name", CASES)
def test_int8_weights_are_dequantised(name, scheme, tmp_path):
    """The values are those of the float32 export that has the dequantised weights, to the bit."""
    case = load_case(name)
    flags = write_export(tmp_path, case)
    np.save(tmp_path / "x.npy", case["features"].astype(np.float32))
    before = log_probs(flags, tmp_path)
    model = quantized(case, scheme)
    torch.jit.script(model).save(str(tmp_path / "final.zip"))
    found = log_probs(flags, tmp_path)
    count = 0
    for path, layer in model.named_modules():
        if isinstance(layer, torch.nn.quantized.dynamic.Linear):
            case[f"weight/{path}.weight"] = layer.weight().dequantize().numpy()
            count += 1
    assert count >= 10
    write_export(tmp_path, case)
    assert found == log_probs(flags, tmp_path) != before


def test_int8_weights_are_reported(tmp_path):
    folder = need_shared("family_golden/wenet_u2pp_quant_export")
    wav = f"--wav={SAMPLES / 'rms_phone_number.flac'}"
    done = run("decode_wav", f"--model={folder / 'final_quant.zip'}",
               f"--units={folder / 'units.txt'}", wav)
    assert done.returncode == 0
    assert "weights dequantised from int8" in done.stderr.splitlines()[0]
    succeed("pack_model", f"--model={folder / 'final_quant.zip'}",
            f"--units={folder / 'units.txt'}", "--precision=int8",
            f"--output={tmp_path / 'packed.pt'}")
    done = run("decode_wav", f"--model={tmp_path / 'packed.pt'}", wav)
    assert done.returncode == 0
    assert "weights dequantised from int8" in done.stderr.splitlines()[0]
    done = run("decode_wav", *write_export(tmp_path, load_case(CASES[0])), wav)
    assert done.returncode == 0 and "dequantised" not in done.stderr


def test_int8_export_of_wenet(tmp_path):
    """WeNet's own export_jit.py wrote it; the values are WeNet's with the dequantised weights."""
    folder = need_shared("family_golden/wenet_u2pp_quant_export")
    flags = [f"--model={folder / 'final_quant.zip'}", f"--units={folder / 'units.txt'}"]
    with np.load(folder / "expected.npz") as arrays:
        case = dict(arrays)
    np.save(tmp_path / "x.npy", case["features"].astype(np.float32))
    settings = {"full": (-1, -1), "chunked": (int(case["chunk_size"]), int(case["left"]))}
    for kind, (chunk_size, left_context) in settings.items():
        for what, option in (("encoder", []), ("ctc_log_probs", ["--log_probs"])):
            succeed("dump_encoder", *flags, f"--features={tmp_path / 'x.npy'}", *option,
                    f"--chunk_size={chunk_size}", f"--left_context={left_context}",
                    f"--output={tmp_path / 'y.npy'}")
            found = np.load(tmp_path / "y.npy")
            assert np.abs(found - case[f"{what}_{kind}"].reshape(found.shape)).max() <= TOLERANCE


TRANSDUCERS = ["wenet_transducer_rnn", "wenet_transducer_conv", "wenet_transducer_embedding"]


def write_transducer(folder: pathlib.Path, name: str, **joint: Any) -> List[str]:
    """The export of a recorded transducer; returns the flags that load it."""
    source = need_shared(f"transducer_golden/{name}")
    config = yaml.safe_load((source / "train.yaml").read_text())
    config["joint_conf"].update(joint)
    state = torch.load(source / "final.pt", map_location="cpu")
    if "encoder.global_cmvn.mean" not in state:
        mean, istd = read_wenet((source / "global_cmvn").read_bytes(), True, "global_cmvn")
        state.update({"encoder.global_cmvn.mean": mean, "encoder.global_cmvn.istd": istd})
    asr_model.build(state, config).save(str(folder / "final.zip"))
    return [f"--model={folder / 'final.zip'}", f"--units={source / 'units.txt'}"]


@pytest.mark.parametrize("name", TRANSDUCERS)
def test_transducers_give_what_their_experiment_folder_gives(name, tmp_path):
    """Tokens and scores of every head and search, to the last digit."""
    export = write_transducer(tmp_path, name)
    source = need_shared(f"transducer_golden/{name}")
    subprocess.run([sys.executable, "models/convert.py", "wenet", str(source), "--name=wenet",
                    f"--output={tmp_path / 'model.pt'}"],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with np.load(source / "expected.npz") as arrays:
        np.save(tmp_path / "x.npy", arrays["features"].astype(np.float32))
    for flags in (["--head=transducer"], ["--head=ctc"], ["--head=transducer", "--search=beam",
                                                          "--nbest=4"]):
        found = [succeed("decode_wav", *model, f"--features={tmp_path / 'x.npy'}", "--format=json",
                         "--chunk_size=4", "--left_context=8", *flags)
                 for model in (export, [f"--model={tmp_path / 'model.pt'}"])]
        assert found[0] == found[1]
        assert '"tokens"' in found[0]


def test_transducers_that_are_not_supported(tmp_path):
    flags = write_transducer(tmp_path, TRANSDUCERS[0], hat_joint=True)
    assert "is a WeNet export with hat_joint, not supported" in refusal(*flags)


def test_other_modules_are_refused(export, tmp_path):
    state = {name[len("weight/"):]: torch.from_numpy(value)
             for name, value in load_case("v3_conformer_rel_pos").items()
             if name.startswith("weight/") and "ctc" not in name}
    config = yaml.safe_load(str(load_case("v3_conformer_rel_pos")["train_yaml"]))
    asr_model.build(state, config).save(str(tmp_path / "final.zip"))
    assert "without ctc.ctc_lo.weight" in refusal(*export)


def test_code_is_not_run_or_even_compiled(export, tmp_path):
    """An export may have the operators of a newer PyTorch."""
    path = tmp_path / "final.zip"
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist()}
    code = next(name for name in files if name.endswith(".py") and b"return xs" in files[name])
    files[code] = files[code].replace(b"return xs", b"return torch.of_the_future(xs)")
    assert b"of_the_future" in files[code]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    done = run("dump_encoder", *export, "--wav=none.wav", "--output=y.npy")
    assert "none.wav" in error_line(done, FAILURE)


def rewrite(path: pathlib.Path, entry: str, more: bytes, compression: int) -> None:
    """Appends to the first entry with this ending, and stores it with this compression."""
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist()}
    chosen = next(name for name in files if name.endswith(entry))
    files[chosen] += more
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data, compression if name == chosen else zipfile.ZIP_STORED)


def test_compressed_entries_have_a_limit(export, tmp_path):
    path = tmp_path / "final.zip"
    rewrite(path, ".py", b"\n" * 1000, zipfile.ZIP_DEFLATED)
    assert "none.wav" in refusal(*export)
    rewrite(path, ".py", b"\n" * (1 << 26), zipfile.ZIP_DEFLATED)
    size = max(info.file_size for info in zipfile.ZipFile(path).infolist())
    assert f"expands to {size} bytes, expected at most 16 times the size" in refusal(*export)
    assert path.stat().st_size < 1 << 20


@pytest.mark.parametrize("change", [{"activation_type": "relu"}, {"conv_norm_eps": 1e-3},
                                    {"causal": True}, {"eps": 1e-6}])
def test_layers_that_differ_are_refused(change, tmp_path, monkeypatch):
    case, make_layer = load_case("v3_conformer_rel_pos"), asr_model._layer

    def layer(state: Dict[str, torch.Tensor], conf: Dict[str, Any], conformer: bool, index: int,
              eps: float) -> torch.nn.Module:
        other = {**conf, "causal": False, **(change if index == 1 else {})}
        return make_layer(state, other, conformer, index, other.get("eps", eps))

    monkeypatch.setattr(asr_model, "_layer", layer)
    assert "whose layer 1 differs from layer 0, not supported" in refusal(
        *write_export(tmp_path, case))


@pytest.mark.parametrize("part, change, message", [
    ("", {"merge_proj": torch.nn.Linear(16, 16)}, "are not merged by concat, not supported"),
    ("", {"attn": None}, "has no attn, which is not supported"),
    ("cgmlp", {"csgu": None}, "has no csgu, which is not supported"),
    ("cgmlp.channel_proj1", {"1": torch.nn.ReLU()}, "the cgMLP activation ReLU, expected GELU"),
    ("cgmlp.csgu", {"act": torch.nn.Hardtanh()}, "with the activation Hardtanh, expected"),
    ("cgmlp.csgu", {"lorder": 0}, "in one convolution only, not supported"),
    ("cgmlp.csgu", {"norm": torch.nn.LayerNorm(20, eps=1e-6)}, "has another epsilon than"),
    ("", {"norm_mlp": torch.nn.LayerNorm(16, eps=1e-6)}, "has another epsilon than"),
])
def test_branchformers_that_are_not_supported(part, change, message, tmp_path):
    folder = need_shared("family_golden/wenet_e_branchformer_causal")
    model = asr_model.assemble(torch.load(folder / "final.pt", map_location="cpu"),
                               yaml.safe_load((folder / "train.yaml").read_text()))
    for layer in model.encoder.encoders.children():
        for name, value in change.items():
            setattr(layer.get_submodule(part), name, value)
    torch.jit.script(model).save(str(tmp_path / "final.zip"))
    assert message in refusal(f"--model={tmp_path / 'final.zip'}",
                              f"--units={folder / 'units.txt'}")


def test_other_encoders_are_named(tmp_path, monkeypatch):
    monkeypatch.setitem(asr_model.ENCODERS, "branchformer", asr_model.ASRModel)
    line = refusal(*write_export(tmp_path, load_case("main_branchformer_causal")))
    assert "is a WeNet export of class ASRModel, expected ConformerEncoder, " in line


def test_norms_outside_the_layers_have_their_epsilon(tmp_path, monkeypatch):
    make_layer = asr_model._layer
    monkeypatch.setattr(asr_model, "_layer", lambda *arguments: make_layer(*arguments[:-1], 1e-6))
    assert "whose layer norm after_norm has another epsilon than its layers" in refusal(
        *write_export(tmp_path, load_case("v3_conformer_rel_pos")))


def test_a_damaged_export(export, tmp_path):
    data = (tmp_path / "final.zip").read_bytes()
    (tmp_path / "final.zip").write_bytes(data[:len(data) // 2])
    assert "final.zip" in refusal(*export)


@needs_reference
def test_verify_streaming(export):
    printed = succeed("verify_streaming", *export, "--seconds=2", "--precision=float64")
    assert "not compared with the file's TorchScript" in printed
    assert "forward_chunk" not in printed
