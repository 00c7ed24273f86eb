"""Kaldi's log mel filter bank for whole batches, with mel filters that can be warped.

The values are those of Kaldi's compute-fbank-feats with the options in FEATURES, which the model
file repeats. Training warps the filters per utterance (vocal tract length perturbation, Jaitly and
Hinton 2013).
"""

from typing import Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor

SAMPLE_RATE = 16000
SAMPLE_SCALE = 32768.0
FRAME_LENGTH = 400
FRAME_SHIFT = 160
FFT_SIZE = 512
NUM_BINS = 40
LOW_FREQ = 20.0
HIGH_FREQ = 3800.0
PREEMPH = 0.97
LOG_FLOOR = 1.1920928955078125e-07
# Options of the model file that differ from Kaldi's defaults (models/reference/archive.py).
FEATURES = {"num_mel_bins": NUM_BINS, "low_freq": LOW_FREQ, "high_freq": HIGH_FREQ}


def num_frames(num_samples: int) -> int:
    """Number of frames of that many samples (snip_edges)."""
    return 0 if num_samples < FRAME_LENGTH else 1 + (num_samples - FRAME_LENGTH) // FRAME_SHIFT


def _mel(frequency: np.ndarray) -> np.ndarray:
    return 1127.0 * np.log(1.0 + frequency / 700.0)


def mel_filters(warp: float = 1.0) -> Tensor:
    """Triangular filters (FFT_SIZE / 2 + 1, NUM_BINS) float32.

    warp: below the bend, a filter at frequency f reads at f * warp; above it, its position moves
    linearly to HIGH_FREQ. A voice with formants `warp` times higher gives the same features.
    """
    edges = np.linspace(_mel(np.array(LOW_FREQ)), _mel(np.array(HIGH_FREQ)), NUM_BINS + 2)
    if warp != 1.0:
        hertz = 700.0 * (np.exp(edges / 1127.0) - 1.0)
        bend = 0.8 * HIGH_FREQ / max(warp, 1.0)
        above = HIGH_FREQ - (HIGH_FREQ - bend * warp) * (HIGH_FREQ - hertz) / (HIGH_FREQ - bend)
        edges = _mel(np.where(hertz < bend, hertz * warp, above))
    points = _mel(np.arange(FFT_SIZE // 2 + 1) * (SAMPLE_RATE / FFT_SIZE))[:, None]
    left, center, right = edges[:-2], edges[1:-1], edges[2:]
    filters = np.minimum((points - left) / (center - left), (right - points) / (right - center))
    filters = np.maximum(filters, 0.0)
    filters[-1] = 0.0  # Kaldi omits the Nyquist bin
    return torch.from_numpy(filters.astype(np.float32))


class Fbank:
    """Batched features. Holds the window; stateless otherwise."""

    def __init__(self) -> None:
        phase = 2.0 * np.pi * np.arange(FRAME_LENGTH) / (FRAME_LENGTH - 1)
        window = (0.5 - 0.5 * np.cos(phase)) ** 0.85
        self.window = torch.from_numpy(window.astype(np.float32))
        self.filters = mel_filters()

    def __call__(self, samples: Sequence[np.ndarray],
                 warps: Optional[Sequence[float]] = None) -> Tuple[Tensor, Tensor]:
        """Features of a batch.

        Args:
            samples: B arrays (n_i,) float32 in [-1, 1] at 16 kHz.
            warps: B warps of the mel filters; 1 if not given.

        Returns:
            (B, T, NUM_BINS) float32, zero after an utterance, and frame counts (B) int64.
        """
        lengths = torch.tensor([num_frames(len(one)) for one in samples], dtype=torch.int64)
        frames = max(int(lengths.max()), 1)
        padded = np.zeros((len(samples), (frames - 1) * FRAME_SHIFT + FRAME_LENGTH), np.float32)
        for row, one in zip(padded, samples):
            used = min(len(one), len(row))
            row[:used] = one[:used]
        x = (torch.from_numpy(padded) * SAMPLE_SCALE).unfold(1, FRAME_LENGTH, FRAME_SHIFT)
        x = x - x.mean(dim=2, keepdim=True)
        previous = torch.cat([x[:, :, :1], x[:, :, :-1]], dim=2)
        x = (x - PREEMPH * previous) * self.window
        spectrum = torch.fft.rfft(x, n=FFT_SIZE)
        power = spectrum.real.square() + spectrum.imag.square()
        if warps is None:
            energies = torch.matmul(power, self.filters)
        else:
            energies = torch.bmm(power, torch.stack([mel_filters(warp) for warp in warps]))
        features = energies.clamp(min=LOG_FLOOR).log()
        valid = torch.arange(frames).unsqueeze(0) < lengths.unsqueeze(1)
        return features * valid.unsqueeze(2), lengths
