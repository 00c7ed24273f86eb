"""Writes a long recording: the samples in turn, each followed by two seconds of silence.

    python3 -m models.digits.long_recording --hours=24 --output=day.wav

For measurements of streams that do not end: WAV, 16 kHz, 16 bits, 115 MB per hour.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import resample_poly

SAMPLES = Path(__file__).parent / "samples"
RATE_HZ = 16000
PAUSE_S = 2


def block() -> np.ndarray:
    """All samples once, with the pauses: int16."""
    parts = []
    for line in (SAMPLES / "wav.scp").read_text(encoding="utf-8").splitlines():
        samples, rate = soundfile.read(SAMPLES / Path(line.split(maxsplit=1)[1]).name,
                                       dtype="float64", always_2d=True)
        mono = resample_poly(samples.mean(axis=1), RATE_HZ, rate)
        parts += [np.clip(mono, -1, 1), np.zeros(PAUSE_S * RATE_HZ)]
    return np.round(np.concatenate(parts) * 32767).astype(np.int16)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    left = round(args.hours * 3600 * RATE_HZ)
    samples = block()
    try:
        with soundfile.SoundFile(args.output, "w", RATE_HZ, 1, "PCM_16") as file:
            while left > 0:
                file.write(samples[:left])
                left -= min(left, len(samples))
    except (OSError, soundfile.LibsndfileError) as error:
        print(f"long_recording: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
