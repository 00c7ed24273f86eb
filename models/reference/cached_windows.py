"""The specification of cached windows: chunks that read frames after them, and cached ones before.

A step computes the encoder frames of a chunk and of its right context. Their left context is what
the attention and the convolutions cached of it when it was the chunk. The frames of the right
context leave nothing: they are computed again, as those of a chunk.
"""

from typing import Dict, List

import torch
from torch import Tensor, nn

from models.reference.branchformer import BranchformerLayer
from models.reference.config import ConformerConfig
from models.reference.conformer import ConformerEncoder
from models.reference.depthwise import DepthwiseConvolution
from models.reference.normalization import UTTERANCE_TYPES, Statistics
from models.reference.subsampling import geometry_of

# While fewer feature frames are before a chunk, a model with statistics of the utterance computes
# the left context anew, because these change much. Not beyond left_context.
UNSETTLED_FRAMES = 256


def cached_windows(encoder: ConformerEncoder, config: ConformerConfig, features: Tensor,
                   chunk_size: int, left_context: int, right_context: int) -> Tensor:
    """Features (T, input_dim), not normalised, to encoder frames (T', d). Sizes are in encoder
    frames."""
    geometry = geometry_of(config.subsampling)
    rate, num_frames = geometry.rate, features.size(0)
    by_window = config.normalization.type in UTTERANCE_TYPES
    unsettled = min(left_context, UNSETTLED_FRAMES // rate) if by_window else 0
    overlap = (geometry.left_overlap + rate - 1) // rate
    caches = _Caches(encoder)
    outputs, total = [], geometry.num_encoder_frames(num_frames)
    for offset in range(0, total, chunk_size):
        end = min(offset + chunk_size, total)
        heard = min(geometry.feature_range(offset, chunk_size)[1] + right_context * rate,
                    num_frames)
        first = offset
        if offset < unsettled:
            first = 0
            caches = _Caches(encoder)
        window = features[rate * max(0, offset - max(left_context, overlap)):heard]
        read = features[max(0, rate * first - geometry.left_overlap):heard]
        if by_window:
            statistics = Statistics(features.size(1))
            statistics.add(window)
            read = statistics.normalize(read, config.normalization.epsilon,
                                        UTTERANCE_TYPES[config.normalization.type])
        x, _ = encoder.subsample(read[None], torch.tensor([read.size(0)]), first, True)
        x = encoder.add_speaker(encoder.positions.enter(x, first))
        x = caches.forward(x, first, end - first, left_context)
        outputs.append(encoder.last_norm(x)[0, offset - first:end - first])
    return torch.cat(outputs, 0)


class _Caches:
    """Of every layer: keys and values, and the frames that each depthwise convolution reads."""

    def __init__(self, encoder: ConformerEncoder) -> None:
        self._encoder = encoder
        self._attention, convolutions = encoder.initial_caches()
        self._convolutions = list(convolutions)
        self._given: Dict[nn.Module, Tensor] = {}  # the frames of a step, cached ones first

    def forward(self, x: Tensor, offset: int, num_kept: int, left_context: int) -> Tensor:
        """Rows (1, T, d) through all layers. The caches take the first `num_kept` of them."""
        encoder = self._encoder
        num_cached = self._attention.size(2)
        tables = encoder.position_tables(x.size(1), num_cached + x.size(1), offset, x)
        everything = torch.ones(1, 1, 1, 1, dtype=torch.bool)
        end = num_cached + num_kept
        attention: List[Tensor] = []
        hooks = [module.register_forward_pre_hook(self._take) for module in encoder.modules()
                 if isinstance(module, DepthwiseConvolution)]
        for i, layer in enumerate(encoder.encoders):
            x, keys_values, _ = layer(x, tables, everything, everything[0, 0], -1,
                                      self._attention[i:i + 1], self._convolutions[i])
            attention.append(keys_values[:, :, max(0, end - left_context):end])
            frames = [self._given[module][:, :, num_kept:num_kept + module.left_frames]
                      for module in layer.modules() if isinstance(module, DepthwiseConvolution)]
            if isinstance(layer, BranchformerLayer):
                frames = [torch.cat([part.flatten(1) for part in frames], 1).unsqueeze(2)]
            if frames:
                self._convolutions[i] = frames[0]
        for hook in hooks:
            hook.remove()
        self._attention = torch.cat(attention, 0)
        return x

    def _take(self, module: nn.Module, arguments: tuple) -> None:
        x, cache = arguments[:2]
        self._given[module] = torch.cat([cache, x], 2)
