"""Synthesises the sample recordings, with voices that were not used in training.

    python3 -m models.digits.make_samples

Writes models/digits/samples: FLAC and WAV files, `wav.scp` (paths from the repository's root) and
`text`, both Kaldi style.
"""

from pathlib import Path
from typing import List, Tuple

import numpy as np
import soundfile
from scipy.signal import resample_poly

from models.digits.store import trim_silence
from models.digits.synthesisers import Request, render

ROOT = Path(__file__).parents[2]
SAMPLES_DIR = Path(__file__).parent / "samples"
SEED = 5
# File name, sample rate, engine, voice, rate, pitch, text.
PLAN: List[Tuple[str, int, str, str, float, float, str]] = [
    ("rms_phone_number.flac", 16000, "flite", "rms", 1.0, 0, "five five five zero one four two"),
    ("ked_year.flac", 16000, "festival", "ked_diphone", 1.1, 0, "two zero two six"),
    ("alicia_countdown.flac", 16000, "espeak", "en-us+Alicia", 150, 50,
     "three, two, one, zero"),
    ("diogo_one_word.flac", 16000, "espeak", "en-gb-x-gbclan+Diogo", 120, 50, "seven"),
    ("rms_telephone.wav", 8000, "flite", "rms", 0.95, 0, "eight six three"),
    ("f4_stereo.flac", 22050, "espeak", "en-gb+f4", 150, 45, "two nine six"),
]


def at_rate(samples: np.ndarray, rate: int, wanted: int) -> np.ndarray:
    """Trimmed samples at `wanted` Hz, peak 0.5, with 0.3 s of faint noise on either side."""
    samples = trim_silence(samples, rate)
    divisor = int(np.gcd(rate, wanted))
    samples = resample_poly(samples, wanted // divisor, rate // divisor)
    samples = np.pad(samples * (0.5 / np.abs(samples).max()), int(0.3 * wanted))
    rng = np.random.default_rng(SEED)
    return samples + rng.normal(0.0, 2e-5, len(samples))


def main() -> None:
    SAMPLES_DIR.mkdir(exist_ok=True)
    scp, text = [], []
    for name, wanted, engine, voice, speed, pitch, spoken in PLAN:
        words = spoken.replace(",", "")
        samples, rate = render(Request(engine, voice, speed, pitch, spoken, tuple(words.split())))
        samples = at_rate(samples, rate, wanted)
        if "stereo" in name:  # the same voice, nearer to the right microphone
            samples = np.stack([0.5 * samples, np.roll(samples, -20)], axis=1)
        path = SAMPLES_DIR / name
        soundfile.write(str(path), samples, wanted, subtype="PCM_16")
        key = name.rsplit(".", 1)[0]
        scp.append(f"{key} {path.relative_to(ROOT)}\n")
        text.append(f"{key} {words}\n")
    (SAMPLES_DIR / "wav.scp").write_text("".join(scp))
    (SAMPLES_DIR / "text").write_text("".join(text))


if __name__ == "__main__":
    main()
