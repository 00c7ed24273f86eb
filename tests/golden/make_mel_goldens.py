#!/usr/bin/python3
"""Writes tests/golden/fbank/mel_spectrogram.txt: log mel spectrograms for a grid of options.

Run from the root of the repository, with Debian 12's python3-torch and python3-torchaudio:

    /usr/bin/python3 tests/golden/make_mel_goldens.py

The short-time Fourier transform is torch.stft in double precision, as NeMo and ESPnet call it; the
mel filters are written here from their definition (Slaney, Auditory Toolbox, 1998). The input is
input.wav, which make_fbank_goldens.py writes; each case takes its samples, divided by 32768, to be
at its own rate. The file has, for each case, its name, the options that differ from those of
MelSpectrogramOptions, and the features; num_samples: only so many samples of the input.
"""

from typing import Any, Dict, List, Tuple

import numpy as np
import torch

from make_fbank_goldens import FOLDER, make_signal

Options = Dict[str, Any]
DEFAULTS: Options = {
    "num_samples": None, "sample_frequency": 16000.0, "preemph_coeff": 0.97, "fft_size": 512,
    "frame_length": 400, "frame_shift": 160, "padding": "zero", "last_frame": False,
    "window_type": "hanning", "periodic_window": False, "num_mel_bins": 80, "low_freq": 0.0,
    "high_freq": 8000.0, "mel_scale": "slaney", "slaney_norm": True, "use_power": True,
    "log_guard": "add", "log_guard_value": 2.0 ** -24,
}
ESPNET: Options = {"preemph_coeff": 0.0, "frame_length": 512, "frame_shift": 128,
                   "padding": "reflect", "last_frame": True, "periodic_window": True,
                   "log_guard": "floor", "log_guard_value": 1e-10}
WINDOWS = {"hanning": torch.hann_window, "hamming": torch.hamming_window,
           "blackman": torch.blackman_window,
           "rectangular": lambda length, periodic, dtype: torch.ones(length, dtype=dtype)}


def make_cases() -> List[Tuple[str, Options]]:
    """Returns (name, options that differ from the defaults): every option occurs."""
    few = {"num_mel_bins": 20}
    cases: List[Tuple[str, Options]] = [
        ("nemo", {}),
        ("nemo_20_ms", {**few, "frame_length": 320}),
        ("nemo_reflect", {**few, "padding": "reflect", "last_frame": True}),
        ("espnet", ESPNET),
        ("espnet_400_160", {**ESPNET, **few, "frame_length": 400, "frame_shift": 160}),
        ("espnet_8k", {**ESPNET, **few, "sample_frequency": 8000.0, "high_freq": 4000.0,
                       "fft_size": 256, "frame_length": 200, "frame_shift": 80}),
        ("espnet_htk", {**ESPNET, **few, "mel_scale": "htk"}),
        ("espnet_band", {**ESPNET, **few, "low_freq": 80.0, "high_freq": 7600.0}),
        ("no_preemphasis", {**few, "preemph_coeff": 0.0}),
        ("full_preemphasis", {**few, "preemph_coeff": 1.0, "padding": "reflect"}),
        ("not_normalized", {**few, "slaney_norm": False}),
        ("magnitude", {**few, "use_power": False}),
        ("floor", {**few, "log_guard": "floor", "log_guard_value": 1e-4}),
        ("odd_window", {**few, "frame_length": 331, "frame_shift": 111, "padding": "reflect",
                        "last_frame": True}),
        ("odd_window_periodic", {**few, "frame_length": 331, "periodic_window": True}),
        ("frames_apart", {**few, "frame_length": 100, "frame_shift": 270, "fft_size": 256,
                          "padding": "reflect", "last_frame": True}),
        ("fft_400", {**few, "fft_size": 400}),
        # Filters narrower than the distance of two points, some of which see none.
        ("empty_filters", {**few, "num_mel_bins": 128, "fft_size": 128, "frame_length": 128}),
    ]
    for window in ("hamming", "blackman", "rectangular"):
        for periodic in (True, False):
            if window != "rectangular" or periodic:
                cases.append((f"{window}_periodic_{periodic}".lower(), {
                    **few, "window_type": window, "periodic_window": periodic}))
    for padding in ("zero", "reflect"):
        for count in (1, 2, 57, 159, 160, 199, 201, 256):
            cases.append((f"short_{padding}_{count}", {
                **few, "num_samples": count, "padding": padding, "last_frame": True}))
    return cases


def mel_points(options: Options) -> np.ndarray:
    """Hz of the filters' edges and centres, (bins + 2,)."""
    def to_mel(hz: float) -> float:
        if options["mel_scale"] == "htk":
            return 2595.0 * np.log10(1.0 + hz / 700.0)
        return 3.0 * hz / 200.0 if hz < 1000.0 else 15.0 + 27.0 * np.log(hz / 1000) / np.log(6.4)

    def to_hz(mel: float) -> float:
        if options["mel_scale"] == "htk":
            return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
        return 200.0 * mel / 3.0 if mel < 15.0 else 1000.0 * 6.4 ** ((mel - 15.0) / 27.0)

    mels = np.linspace(to_mel(options["low_freq"]), to_mel(options["high_freq"]),
                       options["num_mel_bins"] + 2)
    return np.array([to_hz(mel) for mel in mels])


def mel_filters(options: Options) -> np.ndarray:
    """Triangles in Hz, (bins, fft_size / 2 + 1)."""
    edges = mel_points(options)
    hz = np.arange(options["fft_size"] // 2 + 1) * options["sample_frequency"] / options["fft_size"]
    rising = (hz[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - hz[None]) / (edges[2:] - edges[1:-1])[:, None]
    filters = np.maximum(0.0, np.minimum(rising, falling))
    if options["slaney_norm"]:
        filters *= (2.0 / (edges[2:] - edges[:-2]))[:, None]
    return filters


def compute(samples: np.ndarray, changes: Options) -> np.ndarray:
    """(frames, bins) float64 of samples in [-1, 1]."""
    options = {**DEFAULTS, **changes}
    signal = np.array(samples[:options["num_samples"]], dtype=np.float64)
    signal[1:] -= options["preemph_coeff"] * signal[:-1]
    half = options["fft_size"] // 2
    mode = {"zero": "constant", "reflect": "reflect"}[options["padding"]]
    window = WINDOWS[options["window_type"]](options["frame_length"],
                                             periodic=options["periodic_window"],
                                             dtype=torch.float64)
    arguments = {"n_fft": options["fft_size"], "hop_length": options["frame_shift"],
                 "win_length": options["frame_length"], "window": window, "return_complex": True}
    # By hand, because PyTorch reflects once only; where it can, it must agree.
    spectrum = torch.stft(torch.from_numpy(np.pad(signal, half, mode)), center=False, **arguments)
    if len(signal) > half:
        torch.testing.assert_close(spectrum, torch.stft(
            torch.from_numpy(signal), center=True, pad_mode=mode, **arguments))
    power = spectrum.abs().numpy() ** (2.0 if options["use_power"] else 1.0)
    mel = (mel_filters(options) @ power).T
    guard = options["log_guard_value"]
    features = np.log(mel + guard if options["log_guard"] == "add" else np.maximum(mel, guard))
    count = len(signal) // options["frame_shift"] + (1 if options["last_frame"] else 0)
    assert count <= len(features)
    return features[:count]


def main() -> None:
    samples = make_signal() / 32768.0
    with open(FOLDER / "mel_spectrogram.txt", "w", encoding="ascii") as file:
        for name, options in make_cases():
            features = compute(samples, options)
            file.write(f"case {name}\n")
            for option, value in options.items():
                text = str(int(value)) if isinstance(value, bool) else str(value)
                file.write(f"option {option} {text}\n")
            file.write(f"features {features.shape[0]} {features.shape[1]}\n")
            for row in features:
                file.write(" ".join(f"{value:.7g}" for value in row) + "\n")


if __name__ == "__main__":
    main()
