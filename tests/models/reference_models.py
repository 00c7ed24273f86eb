"""Small models of every kind, and the loop that feeds them chunk by chunk, for the tests here."""

import dataclasses
import itertools
import math
import pathlib
import sys
from typing import Any, Dict, List

import torch
from torch import Tensor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from models.reference.attention import AttentionBias  # noqa: E402
from models.reference.branches import BranchesConfig  # noqa: E402
from models.reference.config import ConformerConfig  # noqa: E402
from models.reference.convolution import ConvolutionConfig  # noqa: E402
from models.reference.convolution import TYPES as CONVOLUTIONS  # noqa: E402
from models.reference.ctc import CtcConfig  # noqa: E402
from models.reference.feed_forward import GATE_ACTIVATIONS, FeedForwardConfig  # noqa: E402
from models.reference.model import ModelConfig, SpeechModel  # noqa: E402
from models.reference.normalization import NormalizationConfig  # noqa: E402
from models.reference.positions import SCHEMES, make_options  # noqa: E402
from models.reference.subsampling import TYPES as SUBSAMPLINGS  # noqa: E402
from models.reference.subsampling import STRIDING_TYPES, SubsamplingConfig  # noqa: E402

CONFIG = ConformerConfig(input_dim=20, model_dim=16, num_layers=2, num_heads=2,
                         feed_forward_dim=24, convolution=ConvolutionConfig(5))
VOCAB = 7


def with_(**fields: Any) -> ConformerConfig:
    """CONFIG with some fields changed."""
    return dataclasses.replace(CONFIG, **fields)


def position_configs() -> Dict[str, ConformerConfig]:
    """Every scheme, each with every value of its options."""
    options: Dict[str, Any] = {name: make_options(name) for name in SCHEMES
                               if name != "grouped_unshifted"}
    for scaling, bias in itertools.product(["after_bias", "before_bias"], [False, True]):
        for name in ("chunk_rpe", "bounded_rpe", "unshifted", "legacy_rel_pos"):
            options[f"{name}-{scaling}-{bias}"] = make_options(
                name, query_scaling=scaling, linear_pos_bias=bias)
    for name in ("chunk_rpe", "bounded_rpe"):
        options[f"{name}-ascending"] = make_options(name, table_order="ascending")
    options["legacy_rel_pos-short"] = make_options("legacy_rel_pos", table_length=6)
    options["windowed_rpe"] = make_options("windowed_rpe", left=2, right=1)
    for radius in (1, 3):
        options[f"bounded_rpe-{radius}"] = make_options("bounded_rpe", radius=radius)
    for distance, values, shared in itertools.product([0, 3], [False, True], [False, True]):
        options[f"relative_key_value-{distance}-{values}-{shared}"] = make_options(
            "relative_key_value", max_distance=distance, values=values, shared=shared)
    return {name: with_(position=position) for name, position in options.items()}


def subsampling_configs() -> Dict[str, SubsamplingConfig]:
    """Every kind, causal and not."""
    kinds = {kind: SubsamplingConfig(kind) for kind in SUBSAMPLINGS if kind not in STRIDING_TYPES}
    for kind, causal in itertools.product(STRIDING_TYPES, [False, True]):
        kinds[f"{kind}-{'causal' if causal else 'centred'}"] = SubsamplingConfig(kind, 6, causal)
    return kinds


def convolution_configs() -> Dict[str, ConvolutionConfig]:
    """Every type, norm and bias; odd and even kernels; every left padding and activation."""
    kinds = {f"{kind}-{norm}-{kernel}-{bias}": ConvolutionConfig(kernel, kind, norm, bias=bias)
             for kind, norm, kernel, bias in itertools.product(
                 CONVOLUTIONS, ["layer_norm", "batch_norm"], [1, 4, 5], [True, False])}
    kinds["gated_zero"] = ConvolutionConfig(5, left_padding="gated_zero")
    kinds["gated_zero-no_bias"] = ConvolutionConfig(5, left_padding="gated_zero", bias=False)
    kinds["relu"] = ConvolutionConfig(5, activation="relu", norm_epsilon=1e-2)
    return kinds


def branches_configs() -> Dict[str, ConformerConfig]:
    """Branchformers: every type, gate and kind of merging, with and without feed-forward."""
    def of(branches: BranchesConfig, **fields: Any) -> ConformerConfig:
        return with_(type="branchformer", convolution=None, branches=branches, **fields)
    configs = {f"e_branchformer-{kind}-{kernel}": of(BranchesConfig(12, kernel, merge, kind))
               for kind, (kernel, merge) in itertools.product(CONVOLUTIONS, [(5, 3), (4, 6)])}
    for gate in GATE_ACTIVATIONS:
        configs[f"branchformer-{gate}"] = of(
            BranchesConfig(10, 3, 0, linear_after_convolution=True, gate_activation=gate),
            feed_forward=None, feed_forward_dim=0)
    configs["e_branchformer-kernels_of_one"] = of(
        BranchesConfig(10, 1, 1), feed_forward=FeedForwardConfig(False), after_norm=False)
    return configs


def efficient_configs() -> Dict[str, ConformerConfig]:
    """Efficient Conformers: strides, groups, and kernels that strides divide."""
    def of(strides: List[int], position: Any, **fields: Any) -> ConformerConfig:
        return with_(type="efficient_conformer", num_layers=len(strides), strides=strides,
                     position=position, **fields)
    groups = {name: make_options("grouped_unshifted", group_sizes=sizes, query_scaling=scaling)
              for name, sizes, scaling in (("threes", [3, 3, 1], "after_bias"),
                                           ("twos", [1, 2, 3], "before_bias"))}
    configs = {f"efficient-{kind}-{name}": of(strides, groups[name],
                                              convolution=ConvolutionConfig(7, kind))
               for kind, name, strides in itertools.product(CONVOLUTIONS, groups,
                                                            [[1, 2, 1], [2, 3, 2]])}
    configs["efficient-divided"] = of(
        [2, 2, 1], make_options("unshifted"), strides_divide_kernels=True,
        convolution=ConvolutionConfig(9, left_padding="gated_zero"), norm_first=False)
    configs["efficient-none"] = of([1, 2], make_options("none"))
    return configs


def model_configs() -> Dict[str, ConformerConfig]:
    """Every option of the encoder occurs."""
    configs = position_configs()
    configs.update((name, with_(subsampling=kind)) for name, kind in subsampling_configs().items())
    configs.update((name, with_(convolution=kind)) for name, kind in convolution_configs().items())
    configs.update(branches_configs())
    configs.update(efficient_configs())
    configs["post_norm"] = with_(norm_first=False)
    configs["transformer"] = with_(
        convolution=None, feed_forward=FeedForwardConfig(False, "relu"), after_norm=False)
    configs["transformer-post_norm"] = with_(
        convolution=None, feed_forward=FeedForwardConfig(False, "gelu", False), norm_first=False)
    configs["macaron_transformer"] = with_(convolution=None)
    configs["no_biases"] = with_(attention_bias=AttentionBias(False, False, False, False))
    configs["reworked"] = with_(
        type="reworked_conformer", subsampling=SubsamplingConfig("conv2d_1_2_2"),
        convolution=ConvolutionConfig(5, norm="none", norm_epsilon=None,
                                      activation="double_swish"),
        feed_forward=FeedForwardConfig(activation="double_swish"), scale_input=False)
    configs["multitalker"] = with_(type="multitalker_conformer")
    configs["unscaled"] = with_(scale_input=False)
    configs["none_normalized"] = with_(normalization=NormalizationConfig("none"))
    configs["running"] = with_(normalization=NormalizationConfig("running", 1e-5))
    configs["utterance"] = with_(normalization=NormalizationConfig("utterance", 1e-5))
    return configs


def with_ctc(config: ConformerConfig) -> ModelConfig:
    """The encoder with a CTC head."""
    return ModelConfig(config, CtcConfig(VOCAB))


def make_model(config: ConformerConfig) -> SpeechModel:
    """The encoder with a CTC head and random weights."""
    return make_full_model(with_ctc(config))


def make_full_model(config: ModelConfig) -> SpeechModel:
    """Seeded random weights in float64; nothing keeps a special value such as a norm's 0 and 1."""
    torch.manual_seed(1)
    model = SpeechModel(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    for buffer in model.buffers():
        buffer.copy_(torch.rand_like(buffer) + 0.5)
    return model


def run_whole(model: Any, features: Tensor, chunk_size: int, left_context: int) -> Tensor:
    """(T, input_dim) under the chunk mask; returns (T', vocab)."""
    with torch.no_grad():
        return model(features[None], torch.tensor([features.size(0)]), chunk_size,
                     left_context)[0][0]


def run_chunked(model: Any, config: ConformerConfig, features: Tensor, chunk_size: int,
                left_context: int) -> Tensor:
    """Feeds (T, input_dim) frames chunk by chunk, the tail included; returns (T', vocab)."""
    geometry = config.geometry()
    total = geometry.num_encoder_frames(features.size(0))
    att, cnn = model.initial_caches()
    outputs, offset = [features.new_zeros(0, VOCAB)], 0
    while offset < total:
        begin, end = geometry.feature_range(offset, chunk_size)
        last = offset + chunk_size >= total
        assert last or end <= features.size(0)
        chunk = features[begin:] if last else features[begin:end]
        with torch.no_grad():
            out, att, cnn = model.forward_chunk(chunk[None], offset, last, left_context, att, cnn)
        assert out.size(1) == min(chunk_size, total - offset)
        assert left_context < 0 or att.size(2) <= left_context * math.prod(config.strides or [1])
        outputs.append(out[0])
        offset += out.size(1)
    return torch.cat(outputs, 0)
