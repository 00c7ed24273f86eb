#!/usr/bin/python3
"""Writes tests/golden/fbank: what torchaudio.compliance.kaldi computes for a grid of options.

Run from the root of the repository, with Debian 12's python3-torchaudio (0.13):

    /usr/bin/python3 tests/golden/make_fbank_goldens.py

It writes input.wav, one signal of 16-bit samples; fbank.txt, for each case its name, the options
that differ from FbankOptions' defaults, and the features; and mfcc.txt, the same for MfccOptions.
The sampling rate in input.wav means nothing: each case takes the samples to be at its own rate.
"""

import pathlib
import wave
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import torch
import torchaudio.compliance.kaldi as kaldi

FOLDER = pathlib.Path(__file__).resolve().parent / "fbank"
NUM_SAMPLES = 2500

# torchaudio's names of the options that it calls otherwise than FbankOptions does.
TORCHAUDIO_NAMES = {
    "frame_length_ms": "frame_length",
    "frame_shift_ms": "frame_shift",
    "preemph_coeff": "preemphasis_coefficient",
}

Options = Dict[str, Any]


def make_signal() -> np.ndarray:
    """Returns (NUM_SAMPLES,) int16: a loud sweep, noise and an offset; then silence; then noise."""
    random = np.random.RandomState(20)
    n = np.arange(NUM_SAMPLES)
    sweep = 9000.0 * np.sin(2 * np.pi * (0.002 * n + 0.00009 * n**2))
    noise = 300.0 * random.randn(NUM_SAMPLES)
    envelope = np.where(n < 1500, 1.0, np.where(n < 2000, 0.0, 0.1))
    return np.round(envelope * (sweep + noise + 500.0)).astype(np.int16)


def make_cases() -> List[Tuple[str, Options]]:
    """Returns (name, options that differ from the defaults): small, but every option occurs."""
    cases: List[Tuple[str, Options]] = [("defaults", {})]
    for window in ("hanning", "hamming", "rectangular", "blackman"):
        cases.append((f"window_{window}", {"window_type": window}))
    cases.append(("blackman_coeff", {"window_type": "blackman", "blackman_coeff": 0.3}))
    for use_power in (True, False):
        for use_log in (True, False):
            if not (use_power and use_log):
                cases.append((f"power_{use_power}_log_{use_log}".lower(),
                              {"use_power": use_power, "use_log_fbank": use_log}))
    for raw in (True, False):
        for htk in (True, False):
            cases.append((f"energy_raw_{raw}_htk_{htk}".lower(),
                          {"use_energy": True, "raw_energy": raw, "htk_compat": htk}))
    cases.append(("energy_floor", {"use_energy": True, "energy_floor": 1e6}))
    cases.append(("energy_linear", {"use_energy": True, "use_log_fbank": False}))
    cases.append(("no_preemphasis", {"preemph_coeff": 0.0}))
    cases.append(("full_preemphasis", {"preemph_coeff": 1.0}))
    cases.append(("keep_dc_offset", {"remove_dc_offset": False}))
    cases.append(("keep_dc_offset_energy", {"remove_dc_offset": False, "use_energy": True}))
    cases.append(("mirrored", {"snip_edges": False}))
    cases.append(("mirrored_energy", {"snip_edges": False, "use_energy": True,
                                      "raw_energy": False}))
    # A window of odd length and a shift of odd length, where "the middle" rounds.
    cases.append(("mirrored_odd", {"snip_edges": False, "sample_frequency": 11025.0,
                                   "frame_length_ms": 30.03, "frame_shift_ms": 9.99}))
    cases.append(("mirrored_dense", {"snip_edges": False, "frame_length_ms": 50.0,
                                     "frame_shift_ms": 12.5}))
    cases.append(("frames_20_5", {"frame_length_ms": 20.0, "frame_shift_ms": 5.0,
                                  "num_mel_bins": 12}))
    cases.append(("frames_apart", {"frame_length_ms": 10.0, "frame_shift_ms": 17.0,
                                   "num_mel_bins": 12}))
    cases.append(("frames_apart_mirrored", {"frame_length_ms": 10.0, "frame_shift_ms": 17.0,
                                            "num_mel_bins": 12, "snip_edges": False}))
    cases.append(("fft_400", {"round_to_power_of_two": False}))
    cases.append(("bins_4", {"num_mel_bins": 4}))
    cases.append(("bins_40", {"num_mel_bins": 40}))
    cases.append(("bins_80", {"num_mel_bins": 80}))
    for rate in (8000.0, 22050.0, 44100.0):
        for snip in (True, False):
            cases.append((f"rate_{rate:.0f}_snip_{snip}".lower(),
                          {"sample_frequency": rate, "snip_edges": snip,
                           "num_mel_bins": 15 if rate == 8000.0 else 23}))
    # 1102 points, of which KISS FFT makes 19 * 29 complex ones.
    cases.append(("fft_1102", {"sample_frequency": 44100.0, "round_to_power_of_two": False}))
    cases.append(("low_0", {"low_freq": 0.0}))
    cases.append(("high_3800", {"high_freq": 3800.0}))
    cases.append(("high_minus_400", {"high_freq": -400.0}))
    cases.append(("band", {"low_freq": 300.0, "high_freq": 3400.0, "num_mel_bins": 16}))
    cases.append(("everything", {
        "sample_frequency": 8000.0, "frame_length_ms": 32.0, "frame_shift_ms": 16.0,
        "snip_edges": False, "remove_dc_offset": False, "preemph_coeff": 0.9,
        "window_type": "hamming", "num_mel_bins": 20, "low_freq": 64.0, "high_freq": -200.0,
        "use_power": False, "use_energy": True, "raw_energy": False, "energy_floor": 0.5,
        "htk_compat": True}))
    return cases


def make_mfcc_cases() -> List[Tuple[str, Options]]:
    """As make_cases, of MfccOptions."""
    return [
        ("defaults", {}),
        ("wenet", {"num_mel_bins": 40, "num_ceps": 40, "high_freq": -400.0}),
        ("one", {"num_ceps": 1}),
        ("no_lifter", {"num_ceps": 20, "cepstral_lifter": 0.0}),
        ("lifter_5", {"num_ceps": 23, "cepstral_lifter": 5.0}),
        ("energy", {"use_energy": True, "energy_floor": 1.0}),
        ("mirrored", {"snip_edges": False, "cepstral_lifter": 30.5}),
    ]


def compute(signal: np.ndarray, options: Options, extractor: Callable = kaldi.fbank) -> np.ndarray:
    """Returns (frames, dim) float64; in double precision, so as to add no rounding of its own."""
    arguments: Options = {"sample_frequency": 16000.0, "energy_floor": 0.0, "dither": 0.0}
    for name, value in options.items():
        arguments[TORCHAUDIO_NAMES.get(name, name)] = value
    waveform = torch.from_numpy(signal.astype(np.float64)).unsqueeze(0)
    return extractor(waveform, **arguments).numpy()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    signal = make_signal()
    with wave.open(str(FOLDER / "input.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(signal.astype("<i2").tobytes())
    write("fbank.txt", [(name, options, compute(signal, options))
                        for name, options in make_cases()])
    # torchaudio makes its matrix of cosines in the default type.
    torch.set_default_dtype(torch.float64)
    write("mfcc.txt", [(name, options, compute(signal, options, kaldi.mfcc))
                       for name, options in make_mfcc_cases()])


def write(name: str, cases: List[Tuple[str, Options, np.ndarray]]) -> None:
    with open(FOLDER / name, "w", encoding="ascii") as file:
        for name, options, features in cases:
            file.write(f"case {name}\n")
            for option, value in options.items():
                text = str(int(value)) if isinstance(value, bool) else str(value)
                file.write(f"option {option} {text}\n")
            file.write(f"features {features.shape[0]} {features.shape[1]}\n")
            for row in features:
                file.write(" ".join(f"{value:.7g}" for value in row) + "\n")


if __name__ == "__main__":
    main()
