"""Cached windows of dump_encoder against their specification in PyTorch."""

import copy
import dataclasses
import itertools
import os

import numpy as np
import pytest
import torch

from offline_model import write_offline_model
from tool_runner import USAGE, error_line, run, succeed

from models.reference.archive import export_archive, read_archive
from models.reference.branches import BranchesConfig
from models.reference.cached_windows import cached_windows
from models.reference.config import ConformerConfig
from models.reference.convolution import ConvolutionConfig
from models.reference.model import ModelConfig, SpeechModel
from models.reference.normalization import NormalizationConfig
from models.reference.positions import make_options
from models.reference.subsampling import SubsamplingConfig

NUM_FRAMES = 900
SIZES = [(1, 8, 3), (4, 0, 0), (4, 1, 2), (4, 20, 7), (16, 40, 16), (16, 100, 30), (7, 300, 2)]
VARIANTS = {
    "conformer": {},
    "by_mean": {"normalization": NormalizationConfig("utterance_mean"),
                "position": make_options("unshifted"),
                "subsampling": SubsamplingConfig("dw_striding8", 6, False)},
    "global_cmvn": {"normalization": NormalizationConfig("global_cmvn"),
                    "position": make_options("rotary"),
                    "convolution": ConvolutionConfig(4, "causal", left_padding="gated_zero")},
    "local_attention": {"position": make_options("windowed_rpe", left=6, right=5)},
    "transformer": {"convolution": None, "position": make_options("absolute")},
    "e_branchformer": {"type": "branchformer", "convolution": None,
                       "branches": BranchesConfig(12, 5, 3, "symmetric")},
    "multitalker": {"type": "multitalker_conformer"},
}
PRECISIONS = {"float32": 2e-5, **({"float64": 1e-9} if "RUNNEL_LIBTORCH" in os.environ else {})}


@pytest.fixture(scope="module", name="offline")
def _offline(tmp_path_factory):
    return write_offline_model(tmp_path_factory.mktemp("offline") / "offline.pt")


def write_variant(offline, path, changes):
    """Random weights in the configuration of the offline model with `changes`; the model."""
    _, config, units = read_archive(str(offline))
    encoder = dataclasses.replace(ConformerConfig.from_json(config["encoder"]), **changes)
    torch.manual_seed(3)
    model = SpeechModel(ModelConfig(encoder, ModelConfig.from_json(config).ctc)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    config = copy.deepcopy(config)
    config["encoder"] = encoder.to_json()
    export_archive(model, config, units, str(path))
    return model.double(), encoder


@pytest.mark.parametrize("name", VARIANTS)
def test_rows_are_those_of_the_reference(name, offline, tmp_path):
    model, config = write_variant(offline, tmp_path / "m.pt", VARIANTS[name])
    levels = 1 + np.sin(np.arange(NUM_FRAMES) / 50)[:, None]  # statistics change
    features = (levels * np.random.default_rng(5).standard_normal((NUM_FRAMES, config.input_dim))
                + 3).astype(np.float32)
    np.save(tmp_path / "x.npy", features)
    for (chunk, left, right), precision in itertools.product(SIZES, PRECISIONS):
        succeed("dump_encoder", f"--model={tmp_path / 'm.pt'}", f"--precision={precision}",
                f"--features={tmp_path / 'x.npy'}", f"--output={tmp_path / 'y.npy'}",
                f"--chunk_size={chunk}", f"--left_context={left}", f"--right_context={right}",
                "--cached_windows")
        with torch.no_grad():
            expected = cached_windows(model.encoder, config,
                                      torch.from_numpy(features).double(), chunk, left, right)
        np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected.numpy(), rtol=0,
                                   atol=PRECISIONS[precision])


def test_short_audio_has_no_cached_left_context(offline, tmp_path):
    """While the statistics are those of little audio, all windows are computed anew."""
    features = np.random.default_rng(6).standard_normal((260, 20)).astype(np.float32)
    np.save(tmp_path / "x.npy", features)
    for name, flags in (("a", ["--cached_windows"]), ("b", [])):
        succeed("dump_encoder", f"--model={offline}", f"--features={tmp_path / 'x.npy'}",
                f"--output={tmp_path / name}.npy", "--chunk_size=8", "--left_context=128",
                "--right_context=8", *flags)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_refusals(offline, tmp_path):
    flags = [f"--features={tmp_path / 'x.npy'}", f"--output={tmp_path / 'y.npy'}", "--chunk_size=4",
             "--cached_windows"]
    np.save(tmp_path / "x.npy", np.zeros((100, 20), np.float32))
    line = error_line(run("dump_encoder", f"--model={offline}", *flags, "--chunk_size=-1"), USAGE)
    assert ("--cached_windows is true, expected false without windows, which a --right_context of "
            "0 or more makes") in line
    write_variant(offline, tmp_path / "m.pt", {"position": make_options("legacy_rel_pos")})
    line = error_line(run("dump_encoder", f"--model={tmp_path / 'm.pt'}", *flags), USAGE)
    assert "--cached_windows is true, expected false: the position scheme of this model" in line
    efficient = {"type": "efficient_conformer", "num_layers": 2, "strides_divide_kernels": False}
    for changes in (
            {**efficient, "strides": [2, 1], "position": make_options("unshifted")},
            {**efficient, "strides": [1, 1],
             "position": make_options("grouped_unshifted", group_sizes=[2, 1])},
            {"num_layers": 2, "position": make_options("grouped_unshifted", group_sizes=[1, 3])}):
        write_variant(offline, tmp_path / "m.pt", changes)
        line = error_line(run("dump_encoder", f"--model={tmp_path / 'm.pt'}", *flags), USAGE)
        assert ("--cached_windows is true, expected false: layers of this model join frames "
                "(strides or group_sizes)") in line
