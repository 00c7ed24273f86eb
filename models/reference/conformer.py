"""The streaming Conformer encoder: whole utterance under a chunk mask, or chunk by chunk.

Both give the same output. tests/models/test_reference_streaming.py checks this in PyTorch, and
encoder_equivalence_test in C++.
"""

import math
from typing import List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.reference.attention import chunk_mask
from models.reference.basic_norm import BasicNorm
from models.reference.branchformer import BranchformerLayer
from models.reference.config import ConformerConfig
from models.reference.convolution import Convolution
from models.reference.feed_forward import FeedForward, FeedForwardConfig
from models.reference.normalization import GlobalCmvn
from models.reference.positions import SCHEMES, scheme_name
from models.reference.positions.relative_key_value import shared_vectors
from models.reference.residual_norm import NoNorm, ResidualNorm
from models.reference.subsampling import Subsampling


class ConformerLayer(nn.Module):
    """Half-step feed-forward, attention, convolution, half-step feed-forward, norm.

    With a stride, the convolution is added to the means of the frames that each of its outputs
    stands for (Burchi and Vielzeuf 2021).
    """

    def __init__(self, config: ConformerConfig, dropout: float) -> None:
        """config: of one layer."""
        super().__init__()
        dim = config.model_dim

        def norm() -> nn.Module:
            if config.is_reworked:
                return NoNorm()
            return ResidualNorm(dim, config.layer_norm_eps, config.norm_first)

        def feed_forward() -> FeedForward:
            return FeedForward(dim, config.feed_forward_dim, config.feed_forward, dropout)

        assert config.feed_forward is not None
        macaron, convolution = config.feed_forward.macaron, config.convolution
        attention = SCHEMES[scheme_name(config.position)].attention
        self.stride = config.strides[0] if config.strides else 1
        self.feed_forward_scale = 0.5 if macaron and not config.is_reworked else 1.0
        self.norm_ff_macaron = norm() if macaron else None
        self.feed_forward_macaron = feed_forward() if macaron else None
        self.norm_mha = norm()
        self.self_attn = attention(dim, config.num_heads, config.position, config.attention_bias,
                                   dropout)
        self.norm_conv = norm() if convolution else None
        self.conv_module = (Convolution(dim, convolution, self.stride) if convolution else None)
        self.norm_ff = norm()
        self.feed_forward = feed_forward()
        self.norm_final = (BasicNorm() if config.is_reworked
                           else nn.LayerNorm(dim, config.layer_norm_eps) if convolution else None)
        self.dropout = nn.Dropout(dropout)

    def initial_cnn_cache(self, batch: int) -> Tensor:
        """(B, d, left frames of the convolution)."""
        if self.conv_module is not None:
            return self.conv_module.initial_cache(batch)
        weight = self.self_attn.linear_out.weight
        return torch.zeros(batch, weight.size(0), 0, dtype=weight.dtype, device=weight.device)

    def forward(self, x: Tensor, tables: List[Tensor], visible: Tensor, present: Tensor,
                chunk_size: int, att_cache: Tensor,
                cnn_cache: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """Arguments as in SelfAttention and Convolution; returns x and the two caches."""
        scale = self.feed_forward_scale
        if self.feed_forward_macaron is not None:
            hidden = self.feed_forward_macaron(self.norm_ff_macaron.before(x))
            x = self.norm_ff_macaron.after(x + scale * self.dropout(hidden))
        attended, att_cache = self.self_attn(self.norm_mha.before(x), tables, visible, att_cache)
        x = self.norm_mha.after(x + self.dropout(attended))
        if self.conv_module is not None:
            filtered, cnn_cache = self.conv_module(self.norm_conv.before(x), cnn_cache, present,
                                                   chunk_size)
            if self.stride > 1:
                x = group_means(x, present, self.stride)
            x = self.norm_conv.after(x + self.dropout(filtered))
        hidden = self.feed_forward(self.norm_ff.before(x))
        x = self.norm_ff.after(x + scale * self.dropout(hidden))
        if self.norm_final is not None:
            x = self.norm_final(x)
        return x, att_cache, cnn_cache


def group_means(x: Tensor, present: Tensor, size: int) -> Tensor:
    """(B, T, d) to the means (B, ceil(T / size), d) of the present frames of each group.

    present: bool, broadcastable to (B, T).
    """
    missing = -x.size(1) % size
    weights = F.pad(present.to(x.dtype).expand(x.size(0), x.size(1)), [0, missing])
    weights = weights.reshape(x.size(0), -1, size, 1)
    groups = F.pad(x, [0, 0, 0, missing]).reshape(x.size(0), -1, size, x.size(2))
    return (groups * weights).sum(2) / weights.sum(2).clamp(min=1.0)


class ConformerEncoder(nn.Module):
    """Features to encoder frames."""

    strides: List[int]
    cnn_frames: List[int]

    def __init__(self, config: ConformerConfig, dropout: float) -> None:
        super().__init__()
        self.model_dim = config.model_dim
        self.num_heads = config.num_heads
        self.whole_utterance_for = config.needs_whole_utterance()
        self.input_scale = math.sqrt(config.model_dim) if config.scale_input else 1.0
        cmvn = config.normalization.type == "global_cmvn"
        self.global_cmvn = GlobalCmvn(config.input_dim) if cmvn else None
        self.embed = Subsampling(config.subsampling, config.input_dim, config.model_dim,
                                 config.layer_norm_eps)
        self.positions = SCHEMES[scheme_name(config.position)].positions(
            config.model_dim, config.num_heads, config.position)
        vectors = shared_vectors(config.position, config.model_dim // config.num_heads)
        self.register_parameter("relative_keys", vectors.get("relative_keys"))
        self.register_parameter("relative_values", vectors.get("relative_values"))
        self.speaker_kernel = (
            FeedForward(config.model_dim, config.model_dim, FeedForwardConfig(activation="relu"),
                        dropout) if config.type == "multitalker_conformer" else None)
        layer = ConformerLayer if config.branches is None else BranchformerLayer
        self.encoders = nn.ModuleList([layer(config.of_layer(i), dropout)
                                       for i in range(config.num_layers)])
        self.strides = config.strides or [1] * config.num_layers
        self.rate = math.prod(self.strides)  # frames of the subsampling per encoder frame
        self.chunk_multiple = config.chunk_multiple()
        # Of each layer's part of cnn_cache, the last ones.
        self.cnn_frames = [encoder.initial_cnn_cache(1).size(2) for encoder in self.encoders]
        self.after_norm = (nn.LayerNorm(config.model_dim, config.layer_norm_eps)
                           if config.after_norm and not config.is_reworked else None)
        self.dropout = nn.Dropout(dropout)

    def subsample(self, features: Tensor, lengths: Tensor, offset: int,
                  last: bool) -> Tuple[Tensor, Tensor]:
        """Subsampling.forward of features before global_cmvn, scaled."""
        if self.global_cmvn is not None:
            features = self.global_cmvn(features)
        x, out_lengths = self.embed(features, lengths, offset, last)
        return x * self.input_scale, out_lengths

    def add_speaker(self, x: Tensor) -> Tensor:
        """The input of the first layer, told that all sound is of the one speaker."""
        if self.speaker_kernel is not None:
            x = x + self.speaker_kernel(x)
        return x

    def position_tables(self, num_queries: int, num_keys: int, offset: int,
                        like: Tensor) -> List[Tensor]:
        """As Positions.forward."""
        shared: List[Tensor] = []
        if self.relative_keys is not None:
            shared.append(self.relative_keys)
        if self.relative_values is not None:
            shared.append(self.relative_values)
        return self.positions(num_queries, num_keys, offset, shared, like)

    def initial_caches(self) -> Tuple[Tensor, Tensor]:
        """att_cache (L, H, 0, 2 d_k) and cnn_cache (L, 1, d, left frames) before a stream.

        The cnn_cache of a Branchformer is (L, 1, values, 1). After a stride, layers have fewer
        cached frames than those before it: zeros precede them.
        """
        cnn_caches: List[Tensor] = []
        most = max(self.cnn_frames)
        for layer in self.encoders:
            cache = layer.initial_cnn_cache(1)
            cnn_caches.append(F.pad(cache, [most - cache.size(2), 0]))
        cnn_cache = torch.stack(cnn_caches, 0)
        head_dim = self.model_dim // self.num_heads
        return cnn_cache.new_zeros(len(cnn_caches), self.num_heads, 0, 2 * head_dim), cnn_cache

    def forward(self, features: Tensor, lengths: Tensor, chunk_size: int,
                left_context: int) -> Tuple[Tensor, Tensor]:
        """Whole utterances at once, under the chunk mask.

        Args:
            features: (B, T, input_dim), padded at the end. lengths: (B) int64, frames.
            chunk_size: encoder frames, -1 for the whole utterance.
            left_context: encoder frames before the chunk that attention reads, -1 for all.

        Returns:
            (B, T', d) and the lengths in encoder frames (B).
        """
        if chunk_size != -1:
            self.check_streams()
            if chunk_size % self.chunk_multiple != 0:
                raise ValueError("chunk_size must be a multiple of the model's groups of frames")
        x, out_lengths = self.subsample(features, lengths, 0, True)
        batch, frames = x.size(0), x.size(1)
        if frames == 0:
            return x, out_lengths
        x = self.add_speaker(self.dropout(self.positions.enter(x, 0)))
        present = torch.arange(frames, device=x.device).unsqueeze(0) < out_lengths.unsqueeze(1)
        chunk_size = chunk_size * self.rate if chunk_size > 0 else chunk_size
        left_context = left_context * self.rate if left_context > 0 else left_context
        visible = chunk_mask(frames, chunk_size, left_context, x).unsqueeze(0)
        visible = (visible & present.unsqueeze(1)).unsqueeze(1)  # (B, 1, T', T')
        tables = self.position_tables(frames, frames, 0, x)
        no_keys = x.new_zeros(batch, self.num_heads, 0, 2 * (self.model_dim // self.num_heads))
        for i, layer in enumerate(self.encoders):
            silence = layer.initial_cnn_cache(batch)
            x, _, _ = layer(x, tables, visible, present, chunk_size, no_keys, silence)
            stride = self.strides[i]
            if stride > 1:
                visible = visible[:, :, ::stride, ::stride]
                present = present[:, ::stride]
                tables = [table[::stride] for table in tables]
                chunk_size = chunk_size // stride if chunk_size > 0 else chunk_size
                out_lengths = torch.div(out_lengths + stride - 1, stride, rounding_mode="floor")
        return self.last_norm(x), out_lengths

    def forward_chunk(self, features: Tensor, offset: int, last: bool, left_context: int,
                      att_cache: Tensor, cnn_cache: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """One chunk of C encoder frames; the number of feature frames determines C.

        Args:
            features: (1, n, input_dim), from frame max(0, rate * offset - left_overlap) on, up to
                the last one that the chunk reads, or to the end of the stream if `last`.
            offset: first encoder frame of the chunk. last: no feature frames follow.
            left_context: encoder frames to keep in att_cache, -1 for all.
            att_cache: (L, H, M', 2 d_k), cnn_cache; at the start of a stream those of
                `initial_caches`.

        Returns:
            (1, C, d), C possibly 0, and the two caches for the next chunk.
        """
        if offset != 0 or not last:
            self.check_streams()
        lengths = torch.full([1], features.size(1), dtype=torch.int64, device=features.device)
        offset *= self.rate
        x, _ = self.subsample(features, lengths, offset, last)
        if x.size(1) == 0:
            return x, att_cache, cnn_cache
        x = self.add_speaker(self.positions.enter(x, offset))
        keys = att_cache.size(2) + x.size(1)
        tables = self.position_tables(x.size(1), keys, offset, x)
        everything = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=x.device)
        kept = keys if left_context < 0 else min(keys, left_context * self.rate)
        rate = 1  # frames of the subsampling per frame of the layer
        att_caches: List[Tensor] = []
        cnn_caches: List[Tensor] = []
        for i, layer in enumerate(self.encoders):
            cached = att_cache.size(2) // rate
            x, att, cnn = layer(x, tables, everything, everything[0, 0], -1,
                                att_cache[i:i + 1, :, att_cache.size(2) - cached:],
                                cnn_cache[i, :, :, cnn_cache.size(3) - self.cnn_frames[i]:])
            att = att[:, :, max(0, att.size(2) - kept // rate):]
            att_caches.append(F.pad(att, [0, 0, kept - att.size(2), 0]))
            cnn_caches.append(F.pad(cnn, [cnn_cache.size(3) - cnn.size(2), 0]))
            stride = self.strides[i]
            if stride > 1:
                tables = [table[::stride] for table in tables]
                rate *= stride
        return self.last_norm(x), torch.cat(att_caches, 0), torch.stack(cnn_caches, 0)

    def check_streams(self) -> None:
        """Raises an error if this model needs whole utterances."""
        if self.whole_utterance_for != "":
            raise ValueError(self.whole_utterance_for + " needs the whole utterance: chunk_size "
                             "must be -1, and the only chunk the last")

    def last_norm(self, x: Tensor) -> Tensor:
        """The norm after the last layer, if there is one."""
        if self.after_norm is not None:
            x = self.after_norm(x)
        return x
