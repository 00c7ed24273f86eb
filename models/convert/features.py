"""The `features` section of a converted model.

Runnel computes Kaldi's filterbank. WeNet's models were trained on that. NeMo's and ESPnet's own
front ends are another computation, which the section cannot express; for those the nearest options
of Kaldi's are written and the difference is printed.
"""

from typing import Any, Dict

from models.convert.errors import ConversionError
from models.convert.settings import Settings
from models.reference.archive import fbank_section

NEMO_NOTE = ("NeMo's own features are another computation (Slaney's mel scale, Hann window centred "
             "on the frame, log(x + 2^-24)); these options of Kaldi's filterbank stand in for them")
ESPNET_NOTE = ("ESPnet's own features are another computation (Slaney's mel scale, Hann window as "
               "long as the FFT, no pre-emphasis); these options of Kaldi's filterbank stand in "
               "for them")


def wenet_fbank(fbank: Settings, bins_option: str, rate: int) -> Dict[str, Any]:
    """Options of torchaudio's Kaldi filterbank as WeNet calls it; no dither when decoding."""
    section = fbank_section(
        sample_frequency=rate,
        num_mel_bins=fbank.size(bins_option, 23, "features.num_mel_bins"),
        frame_length_ms=float(fbank.take("frame_length", 25, "features.frame_length_ms")),
        frame_shift_ms=float(fbank.take("frame_shift", 10, "features.frame_shift_ms")))
    fbank.ignore("dither")
    return section


def nemo_stand_in(bins: int, rate: int, window_ms: float, shift_ms: float, normalized: bool,
                  **changes: float) -> Dict[str, Any]:
    """Kaldi's filterbank in place of NeMo's.

    Args:
        normalized: whether the model subtracts means, so that the scale of the samples, a constant
            in the logarithm, does not matter; NeMo's samples are in [-1, 1].
        changes: fields of the section that the model's configuration sets.
    """
    return fbank_section(sample_frequency=rate, num_mel_bins=bins, frame_length_ms=window_ms,
                         frame_shift_ms=shift_ms, snip_edges=False,
                         sample_scale=32768.0 if normalized else 1.0, **changes)


def espnet_stand_in(frontend: Settings) -> Dict[str, Any]:
    """Kaldi's filterbank in place of ESPnet's default front end."""
    rate = _rate(frontend)
    fft = frontend.size("n_fft", 512, "features.frame_length_ms")
    window = frontend.take("win_length", None) or fft
    hop = frontend.size("hop_length", 128, "features.frame_shift_ms")
    section = fbank_section(
        sample_frequency=rate, num_mel_bins=frontend.size("n_mels", 80, "features.num_mel_bins"),
        frame_length_ms=1000.0 * window / rate, frame_shift_ms=1000.0 * hop / rate,
        low_freq=float(frontend.take("fmin", None) or 0.0),
        high_freq=float(frontend.take("fmax", None) or 0.0), window_type="hanning",
        preemph_coeff=0.0, remove_dc_offset=False, snip_edges=False, sample_scale=1.0)
    frontend.require("window", "hann")
    frontend.require("center", True)
    frontend.require("normalized", False)
    frontend.require("onesided", True)
    frontend.require("apply_stft", True)
    frontend.require("log_base", None)
    frontend.require("htk", False, True)
    frontend.ignore("frontend_conf", "multichannel")  # of WPE and beamforming, off by default
    frontend.finish()
    return section


def _rate(frontend: Settings) -> int:
    """The sampling rate, which ESPnet lets people write as 16k."""
    value = frontend.take("fs", None, "features.sample_frequency")
    text = str(16000 if value is None else value).lower()
    digits, factor = (text[:-1], 1000) if text.endswith("k") else (text, 1)
    if not digits.isdecimal():
        raise ConversionError(f"config.yaml.frontend_conf.fs is {value!r}, expected a number of Hz")
    return int(digits) * factor
