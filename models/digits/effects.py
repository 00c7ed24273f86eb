"""Random changes of one utterance's sound: room, channel, noise, level and coding.

Speech arrives at 8 kHz, because the model's features end at 3800 Hz. Room and channel are one
multiplication of the spectrum. Noise is added to the spectrum before the inverse transform, at
16 kHz.
"""

from typing import Callable

import numpy as np
import scipy.fft

from models.digits.store import STORE_RATE

OUTPUT_RATE = 16000


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def resample_word(samples: np.ndarray, factor: float) -> np.ndarray:
    """Plays (n,) samples `factor` times as fast: pitch, formants and tempo all change."""
    if abs(factor - 1.0) < 0.005 or len(samples) < 64:
        return samples
    length = scipy.fft.next_fast_len(len(samples) + 64, real=True)
    target = scipy.fft.next_fast_len(int(round(length / factor)), real=True)
    spectrum = scipy.fft.rfft(samples, length)
    kept = min(len(spectrum), target // 2 + 1)
    changed = scipy.fft.irfft(spectrum[:kept], target) * (target / length)
    return changed[:int(len(samples) * target / length)].astype(np.float32)


def equaliser(rng: np.random.Generator, hertz: np.ndarray) -> np.ndarray:
    """A smooth random gain per frequency, a few dB up and down, sometimes with a tilt."""
    knots = np.array([0, 150, 400, 800, 1400, 2200, 3000, 4000.0])
    spread = rng.uniform(0.0, 6.0)
    gains = rng.normal(0.0, spread, len(knots)) + rng.normal(0.0, 4.0) * (knots - 2000.0) / 2000.0
    return 10.0 ** (np.interp(hertz, knots, gains) / 20.0)


def band_limit(rng: np.random.Generator, hertz: np.ndarray) -> np.ndarray:
    """A telephone band, a low-pass, a high-pass, or (half of the time) a gentle roll-off at the
    top, like that of resamplers from 8 kHz."""
    kind = rng.random()
    low, high = 0.0, rng.uniform(3600.0, 4000.0)
    if kind < 0.18:
        low, high = rng.uniform(200.0, 400.0), rng.uniform(3100.0, 3600.0)
    elif kind < 0.34:
        high = rng.uniform(2600.0, 3700.0)
    elif kind < 0.5:
        low = rng.uniform(50.0, 300.0)
    width = rng.uniform(30.0, 250.0)
    gain = np.clip((high - hertz) / width + 1.0, 0.0, 1.0)
    if low > 0.0:
        gain = gain * np.clip((hertz - low) / width + 1.0, 0.003, 1.0)
    return gain


def room(rng: np.random.Generator, length: int) -> np.ndarray:
    """Spectrum of a synthetic room response: a direct path, a few reflections, a decaying tail."""
    decay_seconds = log_uniform(rng, 0.08, 0.6)
    count = min(int(decay_seconds * STORE_RATE), length)
    envelope = np.exp(-6.9 * np.arange(count) / (decay_seconds * STORE_RATE))
    tail = rng.standard_normal(count).astype(np.float32) * envelope
    tail[:int(rng.uniform(0.001, 0.02) * STORE_RATE)] = 0.0
    for _ in range(rng.integers(0, 6)):
        place = int(log_uniform(rng, 0.001, 0.05) * STORE_RATE)
        if place < count:
            tail[place] += rng.normal(0.0, 3.0)
    ratio = 10.0 ** (rng.uniform(0.0, 20.0) / 20.0)  # direct to reverberant
    response = tail / (np.sqrt(np.square(tail).sum()) * ratio + 1e-9)
    response[0] += 1.0
    return scipy.fft.rfft(response.astype(np.float32), length)


def noise_spectrum(rng: np.random.Generator, hertz: np.ndarray) -> np.ndarray:
    """Spectrum of stationary noise of unit power per sample: white to brown, or randomly shaped."""
    count = len(hertz)
    noise = (rng.standard_normal(count, np.float32)
             + 1j * rng.standard_normal(count, np.float32))
    shape = (hertz + 30.0) ** -rng.uniform(0.0, 1.0)
    if rng.random() < 0.5:
        shape = shape * equaliser(rng, hertz)
    if rng.random() < 0.2:  # hum of the mains
        mains = rng.choice((50.0, 60.0))
        for harmonic in range(1, rng.integers(2, 12)):
            place = int(round(mains * harmonic / hertz[1]))
            if place < count:
                shape[place] *= rng.uniform(5.0, 200.0)
    noise = noise * shape
    power = 2.0 * np.square(np.abs(noise)).sum() / (2 * (count - 1)) ** 2
    return noise / np.sqrt(power + 1e-30)


def add_clicks(rng: np.random.Generator, samples: np.ndarray, level: float) -> None:
    """Adds short clicks and thumps, in place."""
    for _ in range(rng.integers(1, 5)):
        count = int(log_uniform(rng, 0.001, 0.03) * OUTPUT_RATE)
        start = int(rng.integers(0, max(len(samples) - count, 1)))
        part = samples[start:start + count]
        part += level * rng.uniform(0.2, 2.0) * rng.standard_normal(len(part), np.float32) \
            * np.exp(-4.0 * np.arange(len(part)) / count)


def change_dynamics(rng: np.random.Generator, speech: np.ndarray) -> np.ndarray:
    """Makes soft sounds softer (like gates and weak fricatives) or louder (like automatic gain), by
    a power law on the level of 10 ms blocks of (n,) samples at 8 kHz."""
    block = STORE_RATE // 100
    count = len(speech) // block
    if count < 3:
        return speech
    power = np.square(speech[:count * block].reshape(count, block)).mean(axis=1)
    level = np.sqrt(np.convolve(power, (0.25, 0.5, 0.25), "same"))
    level = level / max(float(level.max()), 1e-5)
    gain = np.clip(level, 1e-3, 1.0) ** (log_uniform(rng, 0.75, 1.7) - 1.0)
    places = (np.arange(count) + 0.5) * block
    return speech * np.interp(np.arange(len(speech)), places, gain).astype(np.float32)


def weaken_fricatives(rng: np.random.Generator, speech: np.ndarray) -> np.ndarray:
    """Lowers the 10 ms blocks of (n,) samples at 8 kHz that cross zero more than 3500 times a
    second, mostly s, f, th and t. Some speakers and most cheap microphones have little of these."""
    block = STORE_RATE // 100
    count = len(speech) // block
    if count < 3:
        return speech
    signs = speech[:count * block].reshape(count, block) > 0.0
    crossings = (signs[:, 1:] != signs[:, :-1]).sum(axis=1)
    weak = np.convolve(crossings > 35, (0.25, 0.5, 0.25), "same")
    decibels = -rng.uniform(4.0, 26.0) * weak
    places = (np.arange(count) + 0.5) * block
    gain = np.interp(np.arange(len(speech)), places, 10.0 ** (decibels / 20.0))
    return speech * gain.astype(np.float32)


def mu_law(samples: np.ndarray) -> np.ndarray:
    """8-bit mu-law coding and decoding of samples in [-1, 1]."""
    squeezed = np.sign(samples) * np.log1p(255.0 * np.abs(samples)) / np.log(256.0)
    squeezed = np.round(squeezed * 127.0) / 127.0
    return np.sign(squeezed) * np.expm1(np.abs(squeezed) * np.log(256.0)) / 255.0


def transmit(rng: np.random.Generator, speech: np.ndarray,
             babble: Callable[[int], np.ndarray]) -> np.ndarray:
    """The effect of a random microphone and channel on clean speech.

    Args:
        speech: (n,) float32 at 8 kHz, peak about one half.
        babble: returns a number of samples of other speech at 8 kHz, root mean square 1.

    Returns:
        About (2 n,) float32 in [-1, 1] at 16 kHz.
    """
    audible = np.abs(speech) > 0.01
    level = float(np.sqrt(np.square(speech).sum() / max(int(audible.sum()), 1)) + 1e-6)
    if rng.random() < 0.4:
        speech = change_dynamics(rng, speech)
    if rng.random() < 0.25:
        speech = weaken_fricatives(rng, speech)
    noisy = rng.random()
    if noisy < 0.12:
        speech = speech + babble(len(speech)) * level * 10.0 ** (-rng.uniform(8.0, 35.0) / 20.0)
    length = scipy.fft.next_fast_len(len(speech) + 800, real=True)
    length += length % 2
    spectrum = scipy.fft.rfft(speech, length)
    hertz = np.arange(len(spectrum)) * (STORE_RATE / length)
    if rng.random() < 0.35:
        spectrum = spectrum * room(rng, length)
    if rng.random() < 0.8:
        spectrum = spectrum * equaliser(rng, hertz)
    channel = band_limit(rng, hertz)
    if noisy < 0.6:
        strength = level * 10.0 ** (-rng.uniform(6.0, 45.0) / 20.0)
        noise = noise_spectrum(rng, hertz) * strength
        spectrum = spectrum * channel + noise * (channel if rng.random() < 0.6 else 1.0)
    else:
        spectrum = spectrum * channel
    output = scipy.fft.irfft(spectrum.astype(np.complex64), 2 * length)[:2 * len(speech)] * 2.0
    output = np.ascontiguousarray(output, dtype=np.float32)
    if rng.random() < 0.06:
        add_clicks(rng, output, level)
    return record(rng, output)


def record(rng: np.random.Generator, samples: np.ndarray) -> np.ndarray:
    """Level, clipping, coding, offset and rounding to 16 bits."""
    samples = samples / max(float(np.abs(samples).max()), 1e-4)
    chance = rng.random()
    if chance < 0.06:
        samples = np.clip(samples * rng.uniform(1.2, 4.0), -1.0, 1.0)
    samples = samples * 10.0 ** (-rng.uniform(0.5, 42.0) / 20.0)
    if 0.06 < chance < 0.14:
        samples = mu_law(samples)
    if rng.random() < 0.1:
        samples = samples + rng.normal(0.0, 0.01)
    if rng.random() < 0.7:
        samples = np.round(samples * 32768.0) / 32768.0
    return np.clip(samples, -1.0, 1.0).astype(np.float32)
