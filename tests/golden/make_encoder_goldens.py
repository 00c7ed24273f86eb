#!/usr/bin/python3
"""Writes the tiny model and the recorded values that the C++ encoder is tested against.

    /usr/bin/python3 tests/golden/make_encoder_goldens.py

writes tests/golden/encoder/tiny.pt, an archive with seeded random weights (models/README.md), and
tests/golden/encoder/tiny_goldens.pt, a TorchScript module without code whose buffers are the inputs
and outputs of the reference's modules (models/reference), computed in float64 from the archive's
float32 weights. Running it again gives the same values (tests/python/test_encoder_goldens.py).
"""

import argparse
import pathlib
import sys
from typing import Dict

import numpy as np
import torch
from torch import Tensor, nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from models.reference.archive import export_archive, fbank_section, model_config  # noqa: E402
from models.reference.config import ConformerConfig  # noqa: E402
from models.reference.conformer import ConformerCtc  # noqa: E402
from models.reference.positions import distance_sinusoids  # noqa: E402

SEED = 253  # one of few with which most units win somewhere on noise of changing level
CONFIG = ConformerConfig(input_dim=20, model_dim=16, num_layers=2, num_heads=2,
                         feed_forward_dim=24, conv_kernel_size=5, vocab_size=7)
UNITS = ["<blank>", "\u2581", "a", "b", "c", "d", "\u00e9"]
STREAMING = {"chunk_size": 4, "left_context": 8}
NUM_FRAMES = 75  # feature frames of the recorded utterance: 18 encoder frames, one frame left over
MASKS = [(1, 0), (2, 3), (4, 8), (5, -1), (16, 1), (-1, -1)]  # (chunk_size, left_context)
CHUNKED = [(1, 2), (4, 8), (7, -1)]
CACHED_KEYS, CHUNK = 7, 3  # M' and C of the attention with a cache


def normal(random: np.random.RandomState, *shape: int) -> Tensor:
    """Standard normal float32 values, the same on every machine (PyTorch's depend on the CPU)."""
    return torch.from_numpy(random.standard_normal(shape)).float()


def make_model() -> ConformerCtc:
    """The tiny model in float32. No parameter keeps a special value such as a norm's 0 and 1."""
    random = np.random.RandomState(SEED)
    model = ConformerCtc(CONFIG).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            values = normal(random, *parameter.shape)
            if parameter.dim() == 1:
                is_norm_weight = "norm" in name and name.endswith("weight")
                parameter.copy_(0.3 * values + (1.0 if is_norm_weight else 0.0))
            else:
                parameter.copy_(values * parameter[0].numel() ** -0.5)
        # Log mel energies of such noise lie around 17.
        cmvn = model.encoder.global_cmvn
        cmvn.mean.copy_(17 + normal(random, CONFIG.input_dim))
        cmvn.istd.copy_(0.5 + 0.3 * normal(random, CONFIG.input_dim).abs())
        model.ctc.ctc_lo.weight.mul_(2.0)
    return model


def module_goldens(model: ConformerCtc, random: np.random.RandomState) -> Dict[str, Tensor]:
    """Each module of the first layer on its own, without a cache and with one.

    Shapes without a batch dimension: rows (T, d), att_cache (H, M', 2 d_k), cnn_cache (d, K - 1).
    """
    dim, head_dim = CONFIG.model_dim, CONFIG.model_dim // CONFIG.num_heads
    layer = model.encoder.encoders[0]
    x = normal(random, CHUNK, dim).double()
    att_cache = normal(random, CONFIG.num_heads, CACHED_KEYS, 2 * head_dim).double()
    cnn_cache = normal(random, dim, CONFIG.conv_kernel_size - 1).double()
    goldens = {"module_x": x, "module_att_cache": att_cache, "module_cnn_cache": cnn_cache}
    everything = torch.ones(1, 1, 1, 1, dtype=torch.bool)

    goldens["feed_forward"] = layer.feed_forward(x)
    for suffix, att, cnn in [("", att_cache[:, :0], torch.zeros_like(cnn_cache)),
                             ("_cached", att_cache, cnn_cache)]:
        sinusoids = distance_sinusoids(att.size(1) + CHUNK - 1, 1 - CHUNK, dim, x)
        y, keys_values = layer.self_attn(x[None], sinusoids, everything, att[None])
        goldens["attention" + suffix] = y[0]
        goldens["attention_keys_values" + suffix] = keys_values[0]
        y, next_cache = layer.conv_module(x[None], cnn[None])
        goldens["convolution" + suffix] = y[0]
        goldens["convolution_next_cache" + suffix] = next_cache[0]
        y, _, _ = layer(x[None], sinusoids, everything, att[None], cnn[None])
        goldens["layer" + suffix] = y[0]
    return goldens


def encoder_goldens(model: ConformerCtc, random: np.random.RandomState) -> Dict[str, Tensor]:
    """The utterance whole under several masks, and chunk by chunk. `m1` stands for -1."""
    features = (17 + 2 * normal(random, NUM_FRAMES, CONFIG.input_dim)).double()
    goldens = {"features": features, "subsampling": model.encoder.subsample(features[None])[0]}
    for chunk_size, left_context in MASKS:
        name = f"c{chunk_size}_m{left_context}".replace("-", "m")
        lengths = torch.tensor([NUM_FRAMES])
        rows, _ = model.encode(features[None], lengths, chunk_size, left_context)
        goldens["encode_" + name] = rows[0]
        goldens["log_probs_" + name] = model(features[None], lengths, chunk_size,
                                             left_context)[0][0]
    for chunk_size, left_context in CHUNKED:
        name = f"c{chunk_size}_m{left_context}".replace("-", "m")
        goldens["encode_chunk_" + name] = run_chunked(model, features, chunk_size, left_context)
    return goldens


def run_chunked(model: ConformerCtc, features: Tensor, chunk_size: int,
                left_context: int) -> Tensor:
    """(T, input_dim) through encode_chunk, the tail included; returns (T', d)."""
    att = features.new_zeros(CONFIG.num_layers, CONFIG.num_heads, 0,
                             2 * CONFIG.model_dim // CONFIG.num_heads)
    cnn = features.new_zeros(CONFIG.num_layers, 1, CONFIG.model_dim, CONFIG.conv_kernel_size - 1)
    outputs, start, offset = [], 0, 0
    while features.size(0) - start >= 7:
        chunk = features[start:start + 4 * chunk_size + 3]
        rows, att, cnn = model.encode_chunk(chunk[None], offset, left_context, att, cnn)
        outputs.append(rows[0])
        start += 4 * rows.size(1)
        offset += rows.size(1)
    return torch.cat(outputs, 0)


def make_goldens(model: ConformerCtc) -> Dict[str, Tensor]:
    """Every recorded value by name, float64. `model` is not changed."""
    reference = ConformerCtc(CONFIG).double().eval()
    reference.load_state_dict(model.state_dict())
    random = np.random.RandomState(SEED + 1)
    with torch.no_grad():
        return {**module_goldens(reference, random), **encoder_goldens(reference, random)}


class Values(nn.Module):
    """Tensors as buffers: what any LibTorch reads by name."""

    def __init__(self, values: Dict[str, Tensor]) -> None:
        super().__init__()
        for name, value in values.items():
            self.register_buffer(name, value.contiguous().clone())


def main() -> None:
    """Writes both files to --output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "tests/golden/encoder")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    model = make_model()
    config = model_config("tiny", CONFIG, fbank_section(num_mel_bins=CONFIG.input_dim), STREAMING)
    export_archive(model, config, UNITS, str(output / "tiny.pt"))
    torch.jit.save(torch.jit.script(Values(make_goldens(model))),
                   str(output / "tiny_goldens.pt"))


if __name__ == "__main__":
    main()
