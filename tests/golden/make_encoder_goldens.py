#!/usr/bin/python3
"""Writes the tiny model and the recorded values that the C++ encoder is tested against.

    /usr/bin/python3 tests/golden/make_encoder_goldens.py

writes tests/golden/encoder/tiny.pt, an archive with seeded random weights (models/README.md), and
tests/golden/encoder/tiny_goldens.pt, a TorchScript module without code whose buffers are the inputs
and outputs of the reference's modules (models/reference), computed in float64 from the archive's
float32 weights; and the same for each of VARIANTS, outputs of the encoder only. Running it again
gives the same values (tests/models/test_encoder_goldens.py).
"""

import argparse
import pathlib
import sys
from typing import Any, Dict

import numpy as np
import torch
from torch import Tensor, nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from models.reference.archive import export_archive, fbank_section, model_config  # noqa: E402
from models.reference.attention import AttentionBias  # noqa: E402
from models.reference.branches import BranchesConfig  # noqa: E402
from models.reference.config import ConformerConfig  # noqa: E402
from models.reference.convolution import ConvolutionConfig  # noqa: E402
from models.reference.ctc import CtcConfig  # noqa: E402
from models.reference.feed_forward import FeedForwardConfig  # noqa: E402
from models.reference.model import ModelConfig, SpeechModel  # noqa: E402
from models.reference.normalization import (RUNNING_TYPES, UTTERANCE_TYPES,  # noqa: E402
                                            NormalizationConfig, normalize_running,
                                            normalize_utterance)
from models.reference.positions import make_options  # noqa: E402
from models.reference.subsampling import SubsamplingConfig  # noqa: E402

SEED = 253  # one of few with which most units win somewhere on noise of changing level
CONFIG = ConformerConfig(input_dim=20, model_dim=16, num_layers=2, num_heads=2,
                         feed_forward_dim=24, convolution=ConvolutionConfig(5))
UNITS = ["<blank>", "\u2581", "a", "b", "c", "d", "\u00e9"]
STREAMING = {"chunk_size": 4, "left_context": 8}
NUM_FRAMES = 75  # feature frames of the recorded utterance: 18 encoder frames, one frame left over
MASKS = [(1, 0), (2, 3), (4, 8), (5, -1), (16, 1), (-1, -1)]  # (chunk_size, left_context)
CHUNKED = [(1, 2), (4, 8), (7, -1)]
VARIANT_MASKS = [(1, 0), (2, 3), (4, -1), (-1, -1)]
MASKS_OF_GROUPS = [(3, 0), (6, 3), (3, -1), (-1, -1)]  # of variants with groups of 3 frames
CACHED_KEYS, CHUNK = 7, 3  # M' and C of the attention with a cache


def variant(**fields: Any) -> ConformerConfig:
    """A configuration smaller than CONFIG, `fields` differing."""
    sizes = dict(input_dim=15, model_dim=8, num_layers=2, num_heads=2, feed_forward_dim=12,
                 convolution=ConvolutionConfig(4))
    return ConformerConfig(**{**sizes, **fields})


# Every value of every option occurs in one of these, or in CONFIG.
VARIANTS: Dict[str, ConformerConfig] = {
    "absolute": variant(
        position=make_options("absolute"), subsampling=SubsamplingConfig("conv2d6"),
        convolution=ConvolutionConfig(5, "dynamic_chunk", "batch_norm", norm_epsilon=1e-3)),
    "none": variant(
        position=make_options("none"), subsampling=SubsamplingConfig("linear"),
        convolution=ConvolutionConfig(4, left_padding="gated_zero", activation="relu"),
        normalization=NormalizationConfig("none"), scale_input=False),
    "chunk_rpe": variant(
        position=make_options("chunk_rpe", linear_pos_bias=True, query_scaling="before_bias",
                              table_order="ascending"),
        subsampling=SubsamplingConfig("dw_striding8", 6, False),
        convolution=ConvolutionConfig(4, "dynamic_chunk", bias=False, activation="gelu"),
        feed_forward=FeedForwardConfig(activation="gelu", bias=False)),
    "bounded_rpe": variant(
        position=make_options("bounded_rpe", radius=3), subsampling=SubsamplingConfig("conv2d8"),
        attention_bias=AttentionBias(False, False, False, False)),
    "relative_key_value": variant(
        position=make_options("relative_key_value", max_distance=2),
        subsampling=SubsamplingConfig("striding4", 5, True),
        attention_bias=AttentionBias(key=False)),
    "relative_key": variant(
        position=make_options("relative_key_value", max_distance=0, values=False),
        subsampling=SubsamplingConfig("linear"), feed_forward=FeedForwardConfig(False)),
    "transformer": variant(
        position=make_options("relative_key_value", max_distance=3, shared=True),
        subsampling=SubsamplingConfig("striding4", 5, False), convolution=None,
        feed_forward=FeedForwardConfig(macaron=False, activation="relu"), after_norm=False),
    "post_norm": variant(norm_first=False, layer_norm_eps=1e-3),
    "unshifted": variant(
        position=make_options("unshifted"), subsampling=SubsamplingConfig("dw_striding8", 6, True),
        normalization=NormalizationConfig("running", 1e-5)),
    "legacy_rel_pos": variant(
        position=make_options("legacy_rel_pos", table_length=50),
        convolution=ConvolutionConfig(5, "symmetric", "batch_norm"),
        normalization=NormalizationConfig("utterance", 1e-5)),
    "conv1d2": variant(subsampling=SubsamplingConfig("conv1d2"), num_layers=1),
    "conv2d2": variant(subsampling=SubsamplingConfig("conv2d2"), num_layers=1),
    "conv2d_1_2_1": variant(subsampling=SubsamplingConfig("conv2d_1_2_1"), num_layers=1),
    "reworked_conformer": variant(
        type="reworked_conformer", subsampling=SubsamplingConfig("conv2d_1_2_2"),
        position=make_options("chunk_rpe", query_scaling="before_bias"), scale_input=False,
        convolution=ConvolutionConfig(5, norm="none", norm_epsilon=None,
                                      activation="double_swish"),
        feed_forward=FeedForwardConfig(activation="double_swish")),
    **{name: variant(subsampling=SubsamplingConfig("linear"), num_layers=1,
                     normalization=NormalizationConfig(name, epsilon))
       for name, epsilon in (("running_mean", None), ("running_biased", 1e-20),
                             ("utterance_mean", None), ("utterance_biased", 1e-20))},
    "multitalker_conformer": variant(type="multitalker_conformer"),
    "efficient_conformer": variant(
        type="efficient_conformer", num_layers=4, strides=[1, 2, 1, 1],
        strides_divide_kernels=True,
        position=make_options("grouped_unshifted", group_sizes=[3, 3, 1, 1]),
        convolution=ConvolutionConfig(7, left_padding="gated_zero")),
    "efficient_conformer_dynamic_chunk": variant(
        type="efficient_conformer", num_layers=3, strides=[2, 1, 2],
        subsampling=SubsamplingConfig("conv2d_2"), norm_first=False,
        position=make_options("grouped_unshifted", group_sizes=[3, 2, 1], linear_pos_bias=True,
                              query_scaling="before_bias"),
        convolution=ConvolutionConfig(5, "dynamic_chunk", "batch_norm")),
    "rotary": variant(position=make_options("rotary")),
    "windowed_rpe": variant(position=make_options("windowed_rpe", left=3, right=2)),
    "e_branchformer": variant(
        type="branchformer", convolution=None,
        branches=BranchesConfig(10, 4, 3)),
    "e_branchformer_dynamic_chunk": variant(
        type="branchformer", convolution=None,
        branches=BranchesConfig(12, 5, 4, "dynamic_chunk", True, "relu"),
        feed_forward=FeedForwardConfig(False)),
    "e_branchformer_symmetric": variant(
        type="branchformer", convolution=None,
        branches=BranchesConfig(12, 3, 5, "symmetric", False, "gelu")),
    "branchformer": variant(
        type="branchformer", convolution=None,
        branches=BranchesConfig(6, 3, 0, "causal", True, "tanh"),
        feed_forward=None, feed_forward_dim=0),
    "branchformer_swish": variant(
        type="branchformer", convolution=None,
        branches=BranchesConfig(6, 4, 0, gate_activation="swish"),
        feed_forward=None, feed_forward_dim=0),
}


def with_ctc(config: ConformerConfig) -> ModelConfig:
    """The encoder with a CTC head for UNITS."""
    return ModelConfig(config, CtcConfig(len(UNITS)))


def normal(random: np.random.RandomState, *shape: int) -> Tensor:
    """Standard normal float32 values, the same on every machine (PyTorch's depend on the CPU)."""
    return torch.from_numpy(random.standard_normal(shape)).float()


def make_model(config: ConformerConfig = CONFIG) -> SpeechModel:
    """A tiny model in float32. No parameter keeps a special value such as a norm's 0 and 1."""
    random = np.random.RandomState(SEED)
    model = SpeechModel(with_ctc(config)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            values = normal(random, *parameter.shape)
            if parameter.dim() == 1:
                is_norm_weight = "norm" in name and name.endswith("weight")
                parameter.copy_(0.3 * values + (1.0 if is_norm_weight else 0.0))
            else:
                parameter.copy_(values * parameter[0].numel() ** -0.5)
        for name, buffer in model.named_buffers():
            values = normal(random, *buffer.shape)
            if name == "encoder.global_cmvn.mean":
                buffer.copy_(17 + values)  # log mel energies of such noise lie around 17
            elif name == "encoder.global_cmvn.istd":
                buffer.copy_(0.5 + 0.3 * values.abs())
            else:  # of a batch norm
                buffer.copy_(0.3 * values if name.endswith("mean") else 0.2 + values.abs())
        model.ctc.ctc_lo.weight.mul_(2.0)
    return model


def module_goldens(model: SpeechModel, random: np.random.RandomState) -> Dict[str, Tensor]:
    """Each module of the first layer on its own, without a cache and with one.

    Shapes without a batch dimension: rows (T, d), att_cache (H, M', 2 d_k), cnn_cache (d, K - 1).
    """
    dim, head_dim = CONFIG.model_dim, CONFIG.model_dim // CONFIG.num_heads
    layer = model.encoder.encoders[0]
    x = normal(random, CHUNK, dim).double()
    att_cache = normal(random, CONFIG.num_heads, CACHED_KEYS, 2 * head_dim).double()
    cnn_cache = normal(random, dim, CONFIG.convolution.left_frames).double()
    goldens = {"module_x": x, "module_att_cache": att_cache, "module_cnn_cache": cnn_cache}
    everything = torch.ones(1, 1, 1, 1, dtype=torch.bool)

    present = everything[0, 0]
    goldens["feed_forward"] = layer.feed_forward(x)
    for suffix, att, cnn in [("", att_cache[:, :0], torch.zeros_like(cnn_cache)),
                             ("_cached", att_cache, cnn_cache)]:
        keys = att.size(1) + CHUNK
        tables = model.encoder.position_tables(CHUNK, keys, keys - CHUNK, x)
        y, keys_values = layer.self_attn(x[None], tables, everything, att[None])
        goldens["attention" + suffix] = y[0]
        goldens["attention_keys_values" + suffix] = keys_values[0]
        y, next_cache = layer.conv_module(x[None], cnn[None], present, -1)
        goldens["convolution" + suffix] = y[0]
        goldens["convolution_next_cache" + suffix] = next_cache[0]
        y, _, _ = layer(x[None], tables, everything, present, -1, att[None], cnn[None])
        goldens["layer" + suffix] = y[0]
    return goldens


def encoder_goldens(model: SpeechModel, random: np.random.RandomState) -> Dict[str, Tensor]:
    """The utterance whole under several masks, and chunk by chunk. `m1` stands for -1."""
    features = (17 + 2 * normal(random, NUM_FRAMES, CONFIG.input_dim)).double()
    lengths = torch.tensor([NUM_FRAMES])
    goldens = {"features": features,
               "subsampling": model.encoder.subsample(features[None], lengths, 0, True)[0][0]}
    for chunk_size, left_context in MASKS:
        name = setting_name(chunk_size, left_context)
        rows, _ = model.encode(features[None], lengths, chunk_size, left_context)
        goldens["encode_" + name] = rows[0]
        goldens["log_probs_" + name] = model(features[None], lengths, chunk_size,
                                             left_context)[0][0]
    for chunk_size, left_context in CHUNKED:
        goldens["encode_chunk_" + setting_name(chunk_size, left_context)] = run_chunked(
            model, CONFIG, features, chunk_size, left_context)
    return goldens


def setting_name(chunk_size: int, left_context: int) -> str:
    """As in the goldens' names."""
    return f"c{chunk_size}_m{left_context}".replace("-", "m")


def run_chunked(model: SpeechModel, config: ConformerConfig, features: Tensor, chunk_size: int,
                left_context: int) -> Tensor:
    """(T, input_dim) through encode_chunk, the tail included; returns (T', d)."""
    geometry = config.geometry()
    total = geometry.num_encoder_frames(features.size(0))
    att, cnn = model.initial_caches()
    outputs, offset = [features.new_zeros(0, config.model_dim)], 0
    while offset < total:
        begin, end = geometry.feature_range(offset, chunk_size)
        last = offset + chunk_size >= total
        chunk = features[begin:] if last else features[begin:end]
        rows, att, cnn = model.encode_chunk(chunk[None], offset, last, left_context, att, cnn)
        outputs.append(rows[0])
        offset += rows.size(1)
    return torch.cat(outputs, 0)


def float64_of(model: SpeechModel, config: ConformerConfig) -> SpeechModel:
    """The same weights in float64."""
    reference = SpeechModel(with_ctc(config)).double().eval()
    reference.load_state_dict(model.state_dict())
    return reference


def make_goldens(model: SpeechModel) -> Dict[str, Tensor]:
    """Every recorded value of the tiny model by name, float64. `model` is not changed."""
    reference = float64_of(model, CONFIG)
    random = np.random.RandomState(SEED + 1)
    with torch.no_grad():
        return {**module_goldens(reference, random), **encoder_goldens(reference, random)}


def variant_streaming(config: ConformerConfig) -> Dict[str, Any]:
    """The streaming section of a variant."""
    if config.needs_whole_utterance():
        whole = {"chunk_size": -1, "left_context": -1}
        return {**whole, "only": [whole]}
    return {name: size * config.chunk_multiple() for name, size in STREAMING.items()}


def make_variant_goldens(name: str) -> Dict[str, Tensor]:
    """Of VARIANTS[name]: features, and for each chunking `normalized` (only where the encoder
    does not normalise itself) and `encode`."""
    config = VARIANTS[name]
    reference = float64_of(make_model(config), config)
    random = np.random.RandomState(SEED + 2)
    loudness = 17.0 if config.normalization.type != "none" else 0.0
    features = (loudness + 2 * normal(random, NUM_FRAMES, config.input_dim)).double()
    goldens = {"features": features}
    masks = VARIANT_MASKS if config.chunk_multiple() == 1 else MASKS_OF_GROUPS
    for chunk_size, left_context in [(-1, -1)] if config.needs_whole_utterance() else masks:
        frames = features
        kind, epsilon = config.normalization.type, config.normalization.epsilon
        if kind in UTTERANCE_TYPES:
            frames = normalize_utterance(features, epsilon, UTTERANCE_TYPES[kind])
        elif kind in RUNNING_TYPES:
            frames = normalize_running(features, epsilon, chunk_size,
                                       config.geometry(), RUNNING_TYPES[kind])
        setting = setting_name(chunk_size, left_context)
        if frames is not features:
            goldens["normalized_" + setting] = frames
        with torch.no_grad():
            rows, _ = reference.encode(frames[None], torch.tensor([NUM_FRAMES]), chunk_size,
                                       left_context)
        goldens["encode_" + setting] = rows[0]
    return goldens


class Values(nn.Module):
    """Tensors as buffers: what any LibTorch reads by name."""

    def __init__(self, values: Dict[str, Tensor]) -> None:
        super().__init__()
        for name, value in values.items():
            self.register_buffer(name, value.contiguous().clone())


def main() -> None:
    """Writes all files to --output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "tests/golden/encoder")
    output = parser.parse_args().output
    (output / "variants").mkdir(parents=True, exist_ok=True)
    save(make_model(), "tiny", CONFIG, STREAMING, make_goldens(make_model()), output / "tiny")
    for name, config in VARIANTS.items():
        save(make_model(config), name, config, variant_streaming(config),
             make_variant_goldens(name), output / "variants" / name)


def save(model: SpeechModel, name: str, config: ConformerConfig, streaming: Dict[str, Any],
         goldens: Dict[str, Tensor], path: pathlib.Path) -> None:
    """Writes path.pt and path_goldens.pt."""
    sections = model_config(name, with_ctc(config),
                            fbank_section(num_mel_bins=config.input_dim), streaming)
    export_archive(model, sections, UNITS, f"{path}.pt")
    torch.jit.save(torch.jit.script(Values(goldens)), f"{path}_goldens.pt")


if __name__ == "__main__":
    main()
