"""The training features of the digit model are Kaldi's, and so are those its archive asks for."""

import numpy as np
import pytest
import torch
import torchaudio

from models.digits.architecture import archive_config
from models.digits.fbank import Fbank, mel_filters, num_frames


def kaldi_fbank(samples: np.ndarray) -> torch.Tensor:
    """torchaudio's Kaldi features (T, F) with the options that the model's archive states."""
    options = archive_config()["features"]
    return torchaudio.compliance.kaldi.fbank(
        torch.from_numpy(samples)[None] * options["sample_scale"],
        blackman_coeff=options["blackman_coeff"], dither=options["dither"],
        energy_floor=options["energy_floor"], frame_length=options["frame_length_ms"],
        frame_shift=options["frame_shift_ms"], high_freq=options["high_freq"],
        htk_compat=options["htk_compat"], low_freq=options["low_freq"],
        num_mel_bins=options["num_mel_bins"], preemphasis_coefficient=options["preemph_coeff"],
        raw_energy=options["raw_energy"], remove_dc_offset=options["remove_dc_offset"],
        round_to_power_of_two=options["round_to_power_of_two"],
        sample_frequency=options["sample_frequency"], snip_edges=options["snip_edges"],
        use_energy=options["use_energy"], use_log_fbank=options["use_log_fbank"],
        use_power=options["use_power"], window_type=options["window_type"])


def test_equals_kaldi_for_a_batch():
    rng = np.random.default_rng(3)
    batch = []
    for count in (400, 559, 560, 8000, 16001):
        samples = rng.standard_normal(count).astype(np.float32) * 0.1
        samples[count // 3:count // 2] = 0.0  # digital silence reaches the floor of the logarithm
        batch.append(samples)
    features, lengths = Fbank()(batch)
    for row, length, samples in zip(features, lengths.tolist(), batch):
        expected = kaldi_fbank(samples)
        assert length == expected.size(0) == num_frames(len(samples))
        assert (row[:length] - expected).abs().max() < 1e-3
        assert (row[length:] == 0).all()


def test_too_short_for_a_frame():
    _, lengths = Fbank()([np.zeros(399, np.float32)])
    assert lengths.tolist() == [0]


@pytest.mark.parametrize("warp", [0.85, 1.0, 1.18])
def test_warped_filters_read_from_the_warped_frequency(warp):
    plain, warped = mel_filters(), mel_filters(warp)
    assert warped.shape == plain.shape
    hertz = torch.arange(257) * 31.25
    centers = [(filters * hertz[:, None]).sum(0) / filters.sum(0) for filters in (plain, warped)]
    for bin_index in (15, 20, 25):  # about 600 to 1500 Hz, under the bend
        assert centers[1][bin_index] == pytest.approx(warp * centers[0][bin_index], rel=0.03)
    assert (warped[hertz > 3800.0] == 0).all()
