"""The layer of a Branchformer or E-Branchformer."""

from typing import Any, List, Tuple

import torch
from torch import Tensor, nn

from models.reference.branches import Cgmlp
from models.reference.depthwise import DepthwiseConvolution
from models.reference.feed_forward import FeedForward
from models.reference.positions import SCHEMES, scheme_name


class BranchformerLayer(nn.Module):
    """Half-step feed-forward, attention beside cgMLP, half-step feed-forward, norm.

    The interface is that of ConformerLayer. cnn_cache holds the frames of both convolutions: first
    the gates of the cgMLP, then those of the merging, (B, values, 1).
    """

    def __init__(self, config: Any, dropout: float) -> None:
        super().__init__()
        dim, branches, sizes = config.model_dim, config.branches, config.feed_forward

        def norm() -> nn.LayerNorm:
            return nn.LayerNorm(dim, config.layer_norm_eps)

        def feed_forward() -> FeedForward:
            return FeedForward(dim, config.feed_forward_dim, sizes, dropout)

        macaron = sizes is not None and sizes.macaron
        attention = SCHEMES[scheme_name(config.position)].attention
        self.feed_forward_scale = 0.5 if macaron else 1.0
        self.norm_ff_macaron = norm() if macaron else None
        self.feed_forward_macaron = feed_forward() if macaron else None
        self.norm_mha = norm()
        self.self_attn = attention(dim, config.num_heads, config.position, config.attention_bias,
                                   dropout)
        self.norm_mlp = norm()
        self.cgmlp = Cgmlp(dim, branches, config.layer_norm_eps)
        self.depthwise_conv_fusion = None if branches.merge_kernel_size == 0 else (
            DepthwiseConvolution(2 * dim, branches.merge_kernel_size, branches.type, True))
        self.merge_proj = nn.Linear(2 * dim, dim)
        self.norm_ff = norm() if sizes is not None else None
        self.feed_forward = feed_forward() if sizes is not None else None
        self.norm_final = norm()
        self.dropout = nn.Dropout(dropout)

    def initial_cnn_cache(self, batch: int) -> Tensor:
        """(B, values, 1)."""
        caches = [self.cgmlp.csgu.initial_cache(batch).flatten(1)]
        if self.depthwise_conv_fusion is not None:
            caches.append(self.depthwise_conv_fusion.initial_cache(batch).flatten(1))
        return torch.cat(caches, 1).unsqueeze(2)

    def forward(self, x: Tensor, tables: List[Tensor], visible: Tensor, present: Tensor,
                chunk_size: int, att_cache: Tensor,
                cnn_cache: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """As ConformerLayer.forward."""
        scale = self.feed_forward_scale
        if self.feed_forward_macaron is not None and self.norm_ff_macaron is not None:
            hidden = self.feed_forward_macaron(self.norm_ff_macaron(x))
            x = x + scale * self.dropout(hidden)
        batch = x.size(0)
        num_gates = self.cgmlp.csgu.conv.weight.size(0)
        num_values = num_gates * self.cgmlp.csgu.conv.left_frames
        gates = cnn_cache[:, :num_values].reshape(batch, num_gates, -1)
        attended, att_cache = self.self_attn(self.norm_mha(x), tables, visible, att_cache)
        gated, gates = self.cgmlp(self.norm_mlp(x), gates, present, chunk_size)
        both = torch.cat([self.dropout(attended), self.dropout(gated)], 2)
        caches = [gates.flatten(1)]
        if self.depthwise_conv_fusion is not None:
            frames = cnn_cache[:, num_values:].reshape(batch, both.size(2), -1)
            filtered, frames = self.depthwise_conv_fusion(both.transpose(1, 2), frames, present,
                                                          chunk_size)
            both = both + filtered.transpose(1, 2)
            caches.append(frames.flatten(1))
        x = x + self.dropout(self.merge_proj(both))
        if self.feed_forward is not None and self.norm_ff is not None:
            x = x + scale * self.dropout(self.feed_forward(self.norm_ff(x)))
        return self.norm_final(x), att_cache, torch.cat(caches, 1).unsqueeze(2)
