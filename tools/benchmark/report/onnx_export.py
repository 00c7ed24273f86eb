"""Exports a model's chunk step and its whole-utterance encoder to ONNX, for ONNX Runtime."""

import pathlib
import warnings
from typing import List, Tuple, Union

import numpy as np
import torch
from torch import Tensor, nn

from models.reference.config import ConformerConfig
from models.reference.model import SpeechModel
from models.reference.subsampling import geometry_of

OPSET = 14


class Pointwise(nn.Module):
    """A convolution of one tap, as a matmul: it can then be quantised, and is no slower.

    (B, inputs, T) -> (B, outputs, T).
    """

    def __init__(self, convolution: nn.Conv1d) -> None:
        super().__init__()
        self.linear = nn.Linear(convolution.in_channels, convolution.out_channels,
                                bias=convolution.bias is not None)
        self.linear.weight = nn.Parameter(convolution.weight.detach().squeeze(2))
        if convolution.bias is not None:
            self.linear.bias = convolution.bias

    def forward(self, x: Tensor) -> Tensor:
        """As nn.Conv1d."""
        return self.linear(x.transpose(1, 2)).transpose(1, 2)


class ChunkStep(nn.Module):
    """One chunk of B streams with full caches.

    All sizes are fixed, which is fastest in ONNX Runtime. The position table is then a constant.
    """

    input_names = ("features", "att_cache", "cnn_cache")
    output_names = ("log_probs", "next_att_cache", "next_cnn_cache")

    def __init__(self, model: SpeechModel, config: ConformerConfig, chunk_size: int,
                 left_context: int) -> None:
        super().__init__()
        self.model = model
        self.chunk_size, self.left_context = chunk_size, left_context
        for layer in model.encoder.encoders:
            module = layer.conv_module
            module.pointwise_conv1 = Pointwise(module.pointwise_conv1)
            module.pointwise_conv2 = Pointwise(module.pointwise_conv2)
        like = torch.zeros(1)
        tables = model.encoder.position_tables(chunk_size, left_context + chunk_size, left_context,
                                               like)
        self.tables = nn.ParameterList([nn.Parameter(table, requires_grad=False)
                                        for table in tables])
        self.config = config

    def inputs(self, batch: int) -> Tuple[Tensor, Tensor, Tensor]:
        """Random features (B, frames of a chunk, input_dim), att_cache (L, B, H, M, 2 d_k) and
        cnn_cache (L, B, d, left frames)."""
        config, generator = self.config, torch.Generator().manual_seed(batch)
        begin, end = geometry_of(config.subsampling).feature_range(self.left_context,
                                                                   self.chunk_size)
        head_dim = config.model_dim // config.num_heads
        assert config.convolution is not None
        return (_random_features(batch, end - begin, config, generator),
                torch.randn(config.num_layers, batch, config.num_heads, self.left_context,
                            2 * head_dim, generator=generator),
                torch.randn(config.num_layers, batch, config.model_dim,
                            config.convolution.left_frames, generator=generator))

    def forward(self, features: Tensor, att_cache: Tensor,
                cnn_cache: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """Log probabilities (B, C, vocab_size) and the two caches after the chunk."""
        encoder = self.model.encoder
        lengths = torch.full([features.size(0)], features.size(1), dtype=torch.int64)
        # A chunk in the middle reads as many frames as one that starts at 0, where nothing is
        # padded; offset 0 keeps Python's arithmetic on it out of the trace.
        x, _ = encoder.subsample(features, lengths, 0, False)
        everything = torch.ones(1, 1, 1, 1, dtype=torch.bool)
        att_caches: List[Tensor] = []
        cnn_caches: List[Tensor] = []
        for i, layer in enumerate(encoder.encoders):
            x, att, cnn = layer(x, list(self.tables), everything, everything[0, 0], -1,
                                att_cache[i], cnn_cache[i])
            att_caches.append(att[:, :, self.chunk_size:])
            cnn_caches.append(cnn)
        log_probs = self.model.ctc(encoder.last_norm(x))
        return log_probs, torch.stack(att_caches, 0), torch.stack(cnn_caches, 0)


class WholeUtterances(nn.Module):
    """Whole utterances of equal length: one chunk without caches, whose sizes are fixed too."""

    input_names = ("features",)
    output_names = ("log_probs",)

    def __init__(self, model: SpeechModel, config: ConformerConfig, num_frames: int) -> None:
        """num_frames: feature frames of an utterance."""
        super().__init__()
        self.num_frames = num_frames
        self.att_cache, self.cnn_cache = model.encoder.initial_caches()
        num_encoder_frames = geometry_of(config.subsampling).num_encoder_frames(num_frames)
        self.step = ChunkStep(model, config, num_encoder_frames, left_context=0)

    def inputs(self, batch: int) -> Tuple[Tensor]:
        """Random features (B, num_frames, input_dim)."""
        generator = torch.Generator().manual_seed(batch)
        return (_random_features(batch, self.num_frames, self.step.config, generator),)

    def forward(self, features: Tensor) -> Tuple[Tensor]:
        """Log probabilities (B, T', vocab_size)."""
        batch = int(features.size(0))  # a constant in the trace
        att_cache = self.att_cache.unsqueeze(1).repeat(1, batch, 1, 1, 1)
        log_probs, _, _ = self.step(features, att_cache, self.cnn_cache.repeat(1, batch, 1, 1))
        return (log_probs,)


def _random_features(batch: int, num_frames: int, config: ConformerConfig,
                     generator: torch.Generator) -> Tensor:
    return 12 + 4 * torch.randn(batch, num_frames, config.input_dim, generator=generator)


def export_onnx(step: Union[ChunkStep, WholeUtterances], batch: int, path: pathlib.Path) -> None:
    """Writes the step for a batch, and beside it the raw float32 inputs and the log probabilities
    that PyTorch computes from them (PATH.NAME.bin)."""
    step.eval()
    inputs = step.inputs(batch)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about sizes that become constants, as they should
        torch.onnx.export(step, inputs, str(path), opset_version=OPSET,
                          input_names=list(step.input_names), output_names=list(step.output_names),
                          do_constant_folding=True)
        log_probs = step(*inputs)[0]
    for name, tensor in zip([*step.input_names, "log_probs"], [*inputs, log_probs]):
        tensor.numpy().astype(np.float32).tofile(f"{path}.{name}.bin")
