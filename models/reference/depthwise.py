"""Depthwise convolutions over encoder frames, with the frames before them cached."""

from typing import Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

TYPES = ("causal", "symmetric", "dynamic_chunk")


def left_frames_of(kind: str, kernel_size: int) -> int:
    """Number of frames before t that frame t reads; the length of the cache.

    causal: frame t reads t - K + 1 .. t. symmetric: t - (K-1)//2 .. t + K - 1 - (K-1)//2, zeros
    outside the utterance; needs the whole utterance. dynamic_chunk (SpeechBrain): as symmetric, but
    frames after the end of the chunk count as zero.
    """
    return kernel_size - 1 if kind == "causal" else (kernel_size - 1) // 2


class DepthwiseConvolution(nn.Conv1d):
    """One filter for each of `dim` channels."""

    def __init__(self, dim: int, kernel_size: int, kind: str, bias: bool) -> None:
        super().__init__(dim, dim, kernel_size, groups=dim, bias=bias)
        self.taps = kernel_size
        self.left_frames = left_frames_of(kind, kernel_size)
        self.right_frames = kernel_size - 1 - self.left_frames

    def initial_cache(self, batch: int) -> Tensor:
        """(B, dim, left frames) of zeros."""
        return torch.zeros(batch, self.weight.size(0), self.left_frames, dtype=self.weight.dtype,
                           device=self.weight.device)

    def forward(self, x: Tensor, cache: Tensor, present: Tensor,
                chunk_size: int) -> Tuple[Tensor, Tensor]:
        """Filters T new frames.

        Args:
            x: (B, dim, T). cache: (B, dim, left frames), the frames before x.
            present: bool, broadcastable to (B, T); false for the padding of a batch.
            chunk_size: for dynamic_chunk: size of the chunks in x, -1 for one chunk.

        Returns:
            (B, dim, T) and the next cache, same shape.
        """
        if self.right_frames > 0:
            x = x.masked_fill(torch.logical_not(present).unsqueeze(1), 0.0)
        padded = torch.cat([cache, x], 2)
        y = self._filter(F.pad(padded, [0, self.right_frames]), chunk_size)
        return y, padded[:, :, padded.size(2) - cache.size(2):]

    def _filter(self, padded: Tensor, chunk_size: int) -> Tensor:
        """(B, dim, left frames + T + right frames) -> (B, dim, T)."""
        num_frames = padded.size(2) - (self.taps - 1)
        if self.right_frames == 0 or chunk_size <= 0 or chunk_size >= num_frames:
            return self._conv_forward(padded, self.weight, self.bias)
        frames = torch.arange(num_frames, device=padded.device)
        chunk_ends = (torch.div(frames, chunk_size, rounding_mode="floor") + 1) * chunk_size
        taps = torch.arange(self.taps, device=padded.device) - self.left_frames
        in_chunk = frames.unsqueeze(1) + taps.unsqueeze(0) < chunk_ends.unsqueeze(1)  # (T, K)
        windows = padded.unfold(2, self.taps, 1) * in_chunk  # (B, dim, T, K)
        y = (windows * self.weight).sum(3)
        bias = self.bias
        return y if bias is None else y + bias.unsqueeze(1)
