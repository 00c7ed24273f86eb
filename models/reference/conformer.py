"""The streaming Conformer-CTC: whole utterance under a chunk mask, or chunk by chunk with caches.

Both give the same numbers; that equality is what Runnel is about, and what
tests/python/test_reference.py checks here and the C++ tests check there.
"""

import math
from typing import List, Tuple

import torch
from torch import Tensor, nn

from models.reference.config import ConformerConfig
from models.reference.modules import (CausalConvolution, Conv2dSubsampling4, FeedForward,
                                      GlobalCmvn, RelativeAttention)
from models.reference.positions import chunk_mask, distance_sinusoids


class ConformerLayer(nn.Module):
    """Half-step feed-forward, attention, convolution, half-step feed-forward, norm."""

    def __init__(self, config: ConformerConfig, dropout: float) -> None:
        super().__init__()
        dim, eps = config.model_dim, config.layer_norm_eps
        self.norm_ff_macaron = nn.LayerNorm(dim, eps)
        self.feed_forward_macaron = FeedForward(dim, config.feed_forward_dim, dropout)
        self.norm_mha = nn.LayerNorm(dim, eps)
        self.self_attn = RelativeAttention(dim, config.num_heads, dropout)
        self.norm_conv = nn.LayerNorm(dim, eps)
        self.conv_module = CausalConvolution(dim, config.conv_kernel_size, eps)
        self.norm_ff = nn.LayerNorm(dim, eps)
        self.feed_forward = FeedForward(dim, config.feed_forward_dim, dropout)
        self.norm_final = nn.LayerNorm(dim, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sinusoids: Tensor, visible: Tensor, att_cache: Tensor,
                cnn_cache: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """Shapes as in RelativeAttention and CausalConvolution; returns x and the two caches."""
        x = x + 0.5 * self.dropout(self.feed_forward_macaron(self.norm_ff_macaron(x)))
        attended, att_cache = self.self_attn(self.norm_mha(x), sinusoids, visible, att_cache)
        x = x + self.dropout(attended)
        filtered, cnn_cache = self.conv_module(self.norm_conv(x), cnn_cache)
        x = x + self.dropout(filtered)
        x = x + 0.5 * self.dropout(self.feed_forward(self.norm_ff(x)))
        return self.norm_final(x), att_cache, cnn_cache


class ConformerEncoder(nn.Module):
    """Features to encoder frames."""

    def __init__(self, config: ConformerConfig, dropout: float) -> None:
        super().__init__()
        self.model_dim = config.model_dim
        self.num_heads = config.num_heads
        self.cnn_cache_frames = config.conv_kernel_size - 1
        self.input_scale = math.sqrt(config.model_dim) if config.scale_input else 1.0
        self.global_cmvn = GlobalCmvn(config.input_dim)
        self.embed = Conv2dSubsampling4(config.input_dim, config.model_dim)
        self.encoders = nn.ModuleList(
            [ConformerLayer(config, dropout) for _ in range(config.num_layers)])
        self.after_norm = nn.LayerNorm(config.model_dim, config.layer_norm_eps)
        self.dropout = nn.Dropout(dropout)

    def subsample(self, features: Tensor) -> Tensor:
        """(B, T, input_dim) -> (B, T', d), T' = ((T-1)//2-1)//2; none when T < 7."""
        if features.size(1) < 7:
            return features.new_zeros(features.size(0), 0, self.model_dim)
        return self.embed(self.global_cmvn(features)) * self.input_scale

    def forward(self, features: Tensor, lengths: Tensor, chunk_size: int,
                left_context: int) -> Tuple[Tensor, Tensor]:
        """Whole utterances at once, under the chunk mask.

        Args:
            features: (B, T, input_dim), padded at the end. lengths: (B) int64, frames.
            chunk_size: encoder frames, -1 for the whole utterance.
            left_context: encoder frames before the chunk that it sees, -1 for all.

        Returns:
            (B, T', d) and the lengths in encoder frames (B).
        """
        x = self.dropout(self.subsample(features))
        halved = torch.div(lengths - 1, 2, rounding_mode="floor")
        out_lengths = torch.clamp(torch.div(halved - 1, 2, rounding_mode="floor"), min=0)
        batch, frames = x.size(0), x.size(1)
        if frames == 0:
            return x, out_lengths
        present = torch.arange(frames, device=x.device).unsqueeze(0) < out_lengths.unsqueeze(1)
        visible = chunk_mask(frames, chunk_size, left_context, x).unsqueeze(0)
        visible = (visible & present.unsqueeze(1)).unsqueeze(1)  # (B, 1, T', T')
        sinusoids = distance_sinusoids(frames - 1, 1 - frames, self.model_dim, x)
        no_keys = x.new_zeros(batch, self.num_heads, 0, 2 * (self.model_dim // self.num_heads))
        silence = x.new_zeros(batch, self.model_dim, self.cnn_cache_frames)
        for layer in self.encoders:
            x, _, _ = layer(x, sinusoids, visible, no_keys, silence)
        return self.after_norm(x), out_lengths

    def forward_chunk(self, features: Tensor, left_context: int, att_cache: Tensor,
                      cnn_cache: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """One chunk of C encoder frames, C following from the number of feature frames.

        Args:
            features: (1, 4 C + 3, input_dim), the last 3 frames of one chunk being the first of
                the next. left_context: encoder frames to keep in att_cache, -1 for all.
            att_cache: (L, H, M', 2 d_k), M' = 0 at the start.
            cnn_cache: (L, 1, d, K - 1), zeros at the start.

        Returns:
            (1, C, d) and the two caches for the next chunk.
        """
        x = self.subsample(features)
        if x.size(1) == 0:
            return x, att_cache, cnn_cache
        chunk, keys = x.size(1), att_cache.size(2) + x.size(1)
        sinusoids = distance_sinusoids(keys - 1, 1 - chunk, self.model_dim, x)
        visible = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=x.device)
        first_kept = 0 if left_context < 0 else max(0, keys - left_context)
        att_caches: List[Tensor] = []
        cnn_caches: List[Tensor] = []
        for i, layer in enumerate(self.encoders):
            x, att, cnn = layer(x, sinusoids, visible, att_cache[i:i + 1], cnn_cache[i])
            att_caches.append(att[:, :, first_kept:])
            cnn_caches.append(cnn)
        return self.after_norm(x), torch.cat(att_caches, 0), torch.stack(cnn_caches, 0)


class CtcHead(nn.Module):
    """The projection to the vocabulary."""

    def __init__(self, model_dim: int, vocab_size: int) -> None:
        super().__init__()
        self.ctc_lo = nn.Linear(model_dim, vocab_size)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, d) -> log probabilities (B, T, vocab_size)."""
        return torch.log_softmax(self.ctc_lo(x), dim=-1)


class ConformerCtc(nn.Module):
    """The model that archives hold. Scriptable; arguments as in ConformerEncoder."""

    def __init__(self, config: ConformerConfig, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder = ConformerEncoder(config, dropout)
        self.ctc = CtcHead(config.model_dim, config.vocab_size)

    @torch.jit.export
    def encode(self, features: Tensor, lengths: Tensor, chunk_size: int,
               left_context: int) -> Tuple[Tensor, Tensor]:
        """Whole utterances to encoder frames (B, T', d) and their lengths (B)."""
        return self.encoder(features, lengths, chunk_size, left_context)

    @torch.jit.export
    def encode_chunk(self, features: Tensor, offset: int, left_context: int, att_cache: Tensor,
                     cnn_cache: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """One chunk to encoder frames (1, C, d) and the caches.

        `offset`, the chunk's first encoder frame, belongs to the interface for schemes with
        absolute positions; relative ones do not look at it.
        """
        return self.encoder.forward_chunk(features, left_context, att_cache, cnn_cache)

    def forward(self, features: Tensor, lengths: Tensor, chunk_size: int,
                left_context: int) -> Tuple[Tensor, Tensor]:
        """Whole utterances to CTC log probabilities (B, T', vocab_size) and lengths (B)."""
        x, lengths = self.encode(features, lengths, chunk_size, left_context)
        return self.ctc(x), lengths

    @torch.jit.export
    def forward_chunk(self, features: Tensor, offset: int, left_context: int, att_cache: Tensor,
                      cnn_cache: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """One chunk to CTC log probabilities (1, C, vocab_size) and the caches."""
        x, att_cache, cnn_cache = self.encode_chunk(features, offset, left_context, att_cache,
                                                    cnn_cache)
        return self.ctc(x), att_cache, cnn_cache
