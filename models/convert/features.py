"""The `features` section of a converted model.

WeNet's models use Kaldi's filter bank or its MFCCs. NeMo and ESPnet each use their own log mel
spectrogram.
"""

import math
from typing import Any, Dict

import torch

from models.convert.errors import ConversionError
from models.convert.settings import Settings
from models.reference.archive import fbank_section, mel_spectrogram_section, mfcc_section

_KALDI_WINDOWS = {name: name for name in ("povey", "hanning", "hamming", "rectangular", "blackman")}
_WINDOWS = {"hann": "hanning", "hamming": "hamming", "blackman": "blackman"}


def wenet_fbank(fbank: Settings, bins_option: str, rate: int) -> Dict[str, Any]:
    """The Kaldi filter bank of torchaudio with WeNet's options, without dither."""
    section = fbank_section(
        sample_frequency=rate,
        num_mel_bins=fbank.size(bins_option, 23, "features.num_mel_bins"),
        frame_length_ms=float(fbank.take("frame_length", 25, "features.frame_length_ms")),
        frame_shift_ms=float(fbank.take("frame_shift", 10, "features.frame_shift_ms")),
        window_type=fbank.choice("window_type", "povey", _KALDI_WINDOWS))
    fbank.ignore("dither")
    return section


def wenet_mfcc(mfcc: Settings, rate: int) -> Dict[str, Any]:
    """The MFCCs of torchaudio with WeNet's options, without dither."""
    num_bins = mfcc.size("num_mel_bins", 23, "features.num_mel_bins")
    num_ceps = mfcc.size("num_ceps", 40, "features.num_ceps")
    if num_ceps > num_bins:
        raise ConversionError(f"train.yaml.dataset_conf.mfcc_conf: num_ceps is {num_ceps} and "
                              f"num_mel_bins {num_bins}, expected num_ceps not to be above")
    mfcc.ignore("dither")
    return mfcc_section(
        num_ceps, sample_frequency=rate, num_mel_bins=num_bins,
        frame_length_ms=float(mfcc.take("frame_length", 25, "features.frame_length_ms")),
        frame_shift_ms=float(mfcc.take("frame_shift", 10, "features.frame_shift_ms")),
        low_freq=float(mfcc.take("low_freq", 20.0)),
        high_freq=float(mfcc.take("high_freq", 0.0)))


def nemo_features(preprocessor: Settings, where: str, rate: int,
                  assumed: Dict[str, str]) -> Dict[str, Any]:
    """NeMo's AudioToMelSpectrogramPreprocessor, without `normalize`, which the encoder does.

    Args:
        where: the name of the section, for messages. rate: used if it does not set sample_rate.
    """
    target = str(preprocessor.take("_target_", "AudioToMelSpectrogramPreprocessor"))
    if not target.endswith("AudioToMelSpectrogramPreprocessor"):
        raise ConversionError(f"{where}._target_ is {target}, which is not supported; supported: "
                              "AudioToMelSpectrogramPreprocessor")
    if preprocessor.is_null("window"):
        raise ConversionError(f"{where}.window is null (no window), which is not supported; "
                              f"supported: {', '.join(_WINDOWS)}")
    preprocessor.null_is_absent("highfreq")
    rate = preprocessor.size("sample_rate", rate)
    length = _nemo_samples(preprocessor, where, "window_size", "n_window_size", 0.02, rate,
                           "features.frame_length")
    section = mel_spectrogram_section(
        sample_frequency=rate,
        preemph_coeff=_nemo_preemphasis(preprocessor, where),
        frame_length=length,
        frame_shift=_nemo_samples(preprocessor, where, "window_stride", "n_window_stride", 0.01,
                                  rate, "features.frame_shift"),
        fft_size=preprocessor.take("n_fft", None) or 2 ** math.ceil(math.log2(length)),
        window_type=preprocessor.choice("window", "hann", _WINDOWS, "features.window_type"),
        num_mel_bins=preprocessor.size("features", 64, "features.num_mel_bins"),
        low_freq=preprocessor.take("lowfreq", 0.0),
        high_freq=preprocessor.take("highfreq", 0.0) or rate / 2,
        slaney_norm=not preprocessor.is_null("mel_norm"),
        use_power=_nemo_power(preprocessor, where),
        log_guard=preprocessor.choice("log_zero_guard_type", "add",
                                      {"add": "add", "clamp": "floor"}, "features.log_guard"),
        log_guard_value=_nemo_guard(preprocessor, where))
    for field in ("padding", "last_frame"):
        assumed[f"features.{field}"] = "NeMo since July 2025, whatever trained the model"
    preprocessor.require("mel_norm", "slaney", None)
    preprocessor.require("frame_splicing", 1)
    preprocessor.require("log", True)
    preprocessor.require("exact_pad", False)
    preprocessor.require("use_torchaudio", False)
    # Padding of batches, options of training only, and names that NeMo itself ignores.
    preprocessor.ignore("dither", "pad_to", "pad_value", "stft_exact_pad", "stft_conv", "rng",
                        "nb_augmentation_prob", "nb_max_freq")
    preprocessor.finish()
    return _checked(section, where, "lowfreq", "highfreq", "n_fft", "window_size")


def _nemo_samples(preprocessor: Settings, where: str, seconds: str, samples: str, default: float,
                  rate: int, field: str) -> int:
    """A duration that may be given in seconds or in samples."""
    if not preprocessor.has(samples):
        duration = preprocessor.take(seconds, default, field)
        value = int(duration * rate)
        if not 2 <= value <= 1 << 20:
            raise ConversionError(f"{where}.{seconds} is {duration}, which makes {value} samples, "
                                  f"expected 2 to {1 << 20}")
        return value
    value = preprocessor.size(samples)
    if preprocessor.take(seconds, None):
        raise ConversionError(f"{where}.{samples} is {value}, but {seconds} is set, too; expected "
                              "one of them")
    return value


def _nemo_preemphasis(preprocessor: Settings, where: str) -> float:
    if preprocessor.is_null("preemph"):  # NeMo's notation for no pre-emphasis
        return 0.0
    value = preprocessor.take("preemph", 0.97)
    if not 0.0 <= value <= 1.0:
        raise ConversionError(f"{where}.preemph is {value!r}, expected 0 to 1")
    return value


def _nemo_power(preprocessor: Settings, where: str) -> bool:
    value = preprocessor.take("mag_power", 2.0)
    if value not in (1.0, 2.0):
        raise ConversionError(f"{where}.mag_power is {value!r}, which is not supported; supported: "
                              "1, 2")
    return value == 2.0


def _nemo_guard(preprocessor: Settings, where: str) -> float:
    value = preprocessor.take_any("log_zero_guard_value", 2.0 ** -24)
    float32 = torch.finfo(torch.float32)
    try:
        number = {"tiny": float32.tiny, "eps": float32.eps}.get(value) or float(value)
    except (TypeError, ValueError):
        number = 0.0
    if not float32.tiny <= number <= 1.0:
        raise ConversionError(f"{where}.log_zero_guard_value is {value!r}, expected tiny, eps or a "
                              f"number from {float32.tiny:g} to 1")
    return number


def espnet_features(frontend: Settings, where: str) -> Dict[str, Any]:
    """ESPnet's default front end. `where`: the name of the section, for messages."""
    frontend.null_is_absent("win_length")
    rate = _espnet_rate(frontend, where)
    fft = frontend.size("n_fft", 512, "features.fft_size")
    section = mel_spectrogram_section(
        sample_frequency=rate, preemph_coeff=0.0, fft_size=fft,
        frame_length=frontend.size("win_length", fft, "features.frame_length"),
        frame_shift=frontend.size("hop_length", 128, "features.frame_shift"),
        padding="reflect", last_frame=True,
        window_type=frontend.choice("window", "hann", _WINDOWS, "features.window_type"),
        periodic_window=True,
        num_mel_bins=frontend.size("n_mels", 80, "features.num_mel_bins"),
        low_freq=float(frontend.take("fmin", None) or 0.0),
        high_freq=float(frontend.take("fmax", None) or rate / 2),
        mel_scale="htk" if frontend.take("htk", False) else "slaney",
        log_guard="floor", log_guard_value=1e-10)
    frontend.require("center", True)
    frontend.require("normalized", False)
    frontend.require("onesided", True)
    frontend.require("apply_stft", True)
    frontend.require("log_base", None)
    frontend.ignore("multichannel")
    several_channels = frontend.section("frontend_conf")
    several_channels.require("use_wpe", False)
    several_channels.require("use_beamformer", False)
    several_channels.ignore_rest()  # options of these two
    frontend.finish()
    return _checked(section, where, "fmin", "fmax", "n_fft", "win_length")


def _espnet_rate(frontend: Settings, where: str) -> int:
    """The sampling rate; ESPnet also accepts 16k."""
    value = frontend.take_any("fs", 16000, "features.sample_frequency")
    text = str(value).lower()
    digits, factor = (text[:-1], 1000) if text.endswith("k") else (text, 1)
    if not digits.isdecimal():
        raise ConversionError(f"{where}.fs is {value!r}, expected a number of Hz")
    return int(digits) * factor


def _checked(section: Dict[str, Any], where: str, low_option: str, high_option: str,
             fft_option: str, length_option: str) -> Dict[str, Any]:
    """The section, if Runnel can compute it; errors use the option names of the toolkit."""
    low, high, nyquist = section["low_freq"], section["high_freq"], section["sample_frequency"] / 2
    if not 0.0 <= low < high <= nyquist:
        raise ConversionError(f"{where}: {low_option} is {low:g} and {high_option} {high:g}, "
                              f"expected 0 <= {low_option} < {high_option} <= {nyquist:g}")
    fft, length = section["fft_size"], section["frame_length"]
    if type(fft) is not int or fft % 2 != 0 or not max(2, length) <= fft <= 1 << 20:
        raise ConversionError(f"{where}: {fft_option} is {fft!r} and {length_option} {length} "
                              f"samples, expected {fft_option} to be even and not below")
    return section
