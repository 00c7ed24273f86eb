"""Models of toolkits' further families become archives that compute what the toolkits compute."""

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from convert_support import ROOT, TOLERANCE, convert, encode, need_shared, refusal

ESPNET = sorted(path.stem for path in (ROOT / "tests/golden/espnet").glob("*.npz"))
TOKENS = ["<blank>", *"abcd", "<sos/eos>"]


def assert_computes(module: torch.jit.ScriptModule, expected) -> None:
    """The archive's code computes the values of family_golden: whole, and under the chunk mask."""
    settings = {"full": (-1, -1)}
    if "encoder_chunked" in expected:
        settings["chunked"] = (int(expected["chunk_size"]), int(expected["left"]))
    for kind, setting in settings.items():
        encoded, log_probs = encode(module, expected["features"], *setting)
        for name, value in ((f"encoder_{kind}", encoded), (f"ctc_log_probs_{kind}", log_probs)):
            torch.testing.assert_close(value, torch.from_numpy(expected[name]), rtol=0,
                                       atol=TOLERANCE, msg=lambda text: f"{name}: {text}")


@pytest.mark.parametrize("name", ["wenet_e_branchformer_causal", "wenet_rope_conformer"])
def test_family_golden(name, tmp_path):
    folder = need_shared(f"family_golden/{name}")
    module, config, _ = convert(name.split("_")[0], folder, tmp_path / "model.pt")
    with np.load(folder / "expected.npz") as expected:
        assert_computes(module, dict(expected))
    assert config["streaming"]["chunk_size"] == 16


def write_espnet(folder: pathlib.Path, name: str, **changes: Any) -> np.ndarray:
    """An experiment folder of a recorded encoder, with a CTC head; returns the recorded arrays."""
    with np.load(ROOT / "tests/golden/espnet" / f"{name}.npz") as arrays:
        case = dict(arrays)
    weights = {key[len("weight/"):]: torch.from_numpy(value) for key, value in case.items()
               if key.startswith("weight/")}
    dim = weights["encoder.after_norm.weight"].size(0)
    weights.update({"ctc.ctc_lo.weight": torch.ones(len(TOKENS), dim),
                    "ctc.ctc_lo.bias": torch.zeros(len(TOKENS))})
    torch.save(weights, folder / "valid.acc.ave.pth")
    config = {"encoder": str(case["encoder"]), "input_size": case["features"].shape[1],
              "encoder_conf": {**yaml.safe_load(str(case["encoder_conf"])), **changes},
              "decoder": None, "token_list": TOKENS, "token_type": "char", "normalize": None}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return case


def test_there_are_recorded_cases_of_espnet():
    assert {name.split("former")[0] for name in ESPNET} == {"branch", "e_branch"}


@pytest.mark.parametrize("name", ESPNET)
def test_espnet_branchformers(name, tmp_path):
    case = write_espnet(tmp_path, name)
    module, config, _ = convert("espnet", tmp_path, tmp_path / "model.pt")
    encoded, _ = encode(module, case["features"])
    torch.testing.assert_close(encoded, torch.from_numpy(case["encoder_full"]), rtol=0,
                               atol=TOLERANCE)
    assert config["encoder"]["type"] == "branchformer"
    assert config["streaming"]["chunk_size"] == -1


def test_branchformers_stream_on_request_only(tmp_path, capsys):
    write_espnet(tmp_path, "e_branchformer")
    _, config, _ = convert("espnet", tmp_path, tmp_path / "m.pt", "--convolution=dynamic_chunk")
    assert config["encoder"]["branches"]["type"] == "dynamic_chunk"
    assert config["streaming"]["chunk_size"] == 32
    capsys.readouterr()
    write_espnet(tmp_path, "e_branchformer_legacy")
    assert "count from the end" in refusal(capsys, "espnet", tmp_path, tmp_path / "n.pt",
                                           "--convolution=dynamic_chunk")


@pytest.mark.parametrize("option, value", [
    ("merge_method", "learned_ave"), ("merge_method", "fixed_ave"), ("use_attn", False),
    ("use_cgmlp", False), ("attention_layer_type", "fast_selfattn"),
    ("gate_activation", "hardtanh")])
def test_other_branchformers_are_refused(option, value, tmp_path, capsys):
    write_espnet(tmp_path, "branchformer", **{option: value})
    assert f"config.yaml.encoder_conf.{option} is {value!r}, which is not supported" in refusal(
        capsys, "espnet", tmp_path, tmp_path / "m.pt")


def test_kernels_of_a_symmetric_branchformer_are_odd(tmp_path, capsys):
    write_espnet(tmp_path, "branchformer", cgmlp_conv_kernel=4)
    assert "encoder_conf.cgmlp_conv_kernel is 4, expected an odd number" in refusal(
        capsys, "espnet", tmp_path, tmp_path / "m.pt")
