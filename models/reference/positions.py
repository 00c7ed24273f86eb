"""Relative positions: the sinusoid table, the row shift and the chunk mask.

Transformer-XL (Dai et al. 2019, section 3.3 and appendix B) for a whole sequence; ChunkRPE is the
same for a chunk whose keys start before its queries.
"""

import math

import torch
from torch import Tensor


def distance_sinusoids(first: int, last: int, dim: int, like: Tensor) -> Tensor:
    """Sinusoids of the distances first, first - 1, ..., last (query frame minus key frame).

    Args:
        first: largest distance. last: smallest.
        dim: model_dim. like: the result takes its dtype and device; computed in float64.

    Returns:
        (first - last + 1, dim), row r: sin(r w_m) at 2m and cos(r w_m) at 2m + 1,
        w_m = 10000^(-2m / dim).
    """
    distances = first - torch.arange(first - last + 1, dtype=torch.float64, device=like.device)
    frequencies = torch.exp(torch.arange(0, dim, 2, dtype=torch.float64, device=like.device)
                            * (-math.log(10000.0) / dim))
    angles = distances.unsqueeze(1) * frequencies.unsqueeze(0)
    return torch.stack([torch.sin(angles), torch.cos(angles)], dim=2).flatten(1).to(like.dtype)


def rel_shift(scores: Tensor, num_keys: int) -> Tensor:
    """Row i of the (C, L + C - 1) score table, shifted left by C - 1 - i, first L columns kept.

    Column k of the table belongs to distance (L - 1) - k, column j of the result to key j. In
    memory row i of the result starts C - 1 + i * (L + C - 2) elements in, so slicing is all there
    is to do.

    Args:
        scores: (B, H, C, L + C - 1). num_keys: L.

    Returns:
        (B, H, C, L)
    """
    batch, heads, rows, columns = scores.size(0), scores.size(1), scores.size(2), scores.size(3)
    if rows == 1:  # nothing to shift, and the table has no column to spare
        return scores[:, :, :, :num_keys]
    flat = scores.reshape(batch, heads, rows * columns)
    flat = flat[:, :, rows - 1:rows - 1 + rows * (columns - 1)]
    return flat.reshape(batch, heads, rows, columns - 1)[:, :, :, :num_keys]


def chunk_mask(num_frames: int, chunk_size: int, left_context: int, like: Tensor) -> Tensor:
    """True where query i sees key j: chunkstart(i) - left_context <= j < chunkend(i).

    Args:
        num_frames: T, encoder frames. chunk_size: encoder frames, -1 for the whole utterance.
        left_context: encoder frames, -1 for all.

    Returns:
        (T, T) bool, on the device of `like`
    """
    frames = torch.arange(num_frames, device=like.device)
    size = chunk_size if chunk_size > 0 else max(num_frames, 1)
    chunk_start = torch.div(frames, size, rounding_mode="floor") * size
    visible = frames.unsqueeze(0) < (chunk_start + size).unsqueeze(1)
    if left_context >= 0:
        visible = visible & (frames.unsqueeze(0) >= (chunk_start - left_context).unsqueeze(1))
    return visible
