"""What skipping silence saves: time and word errors on audio that is half silence.

    python3 -m tools.benchmark.report.evaluate_silence --model=M.pt --manifest=DIR/manifest.tsv
        [--stretch_s=30] [--chunk_size=16] [--left_context=64] [--repeats=3]
        [decode_wav's flags ...]

All recordings are joined into one: stretches of speech of at least --stretch_s, each followed by a
pause as long as the stretch. Pauses are noise of 1e-4 of full scale (-80 dB). For the manifest see
report/recordings.py. Unknown flags go to decode_wav.

Both ways are decoded in turns, on one thread; a time is the shortest of the repeats. "streams per
core" is the audio's duration divided by it.
"""

import re
import subprocess
import sys
from typing import List, NamedTuple, Optional

import numpy as np
import soundfile
from scipy.signal import resample_poly

from models.digits.score import align
from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.report.recordings import (Evaluation, chunk_flags, make_parser, run, words_of)

_RATE_HZ = 16000
_NOISE = 1e-4
_SEED = 1


def half_silent(evaluation: Evaluation) -> str:
    """Writes the joined recording; its path."""
    random = np.random.default_rng(_SEED)
    last = evaluation.recordings[-1]
    parts: List[np.ndarray] = []
    stretch = 0  # samples since the last pause
    for recording in evaluation.recordings:
        samples, rate = soundfile.read(recording.path, dtype="float32", always_2d=True)
        mono = resample_poly(samples.mean(axis=1), _RATE_HZ, rate)
        parts.append(mono)
        stretch += len(mono)
        if stretch >= evaluation.args.stretch_s * _RATE_HZ or recording is last:
            parts.append(_NOISE * random.standard_normal(stretch, dtype=np.float32))
            stretch = 0
    path = str(evaluation.folder / "joined.wav")
    soundfile.write(path, np.concatenate(parts), _RATE_HZ)
    return path


class Decoded(NamedTuple):
    """One run of decode_wav."""

    words: List[str]
    audio_s: float
    wall_s: float


def decode(evaluation: Evaluation, flags: List[str]) -> Decoded:
    """Raises ProgramError with decode_wav's message."""
    command = [str(evaluation.args.decode_wav), f"--model={evaluation.args.model}",
               "--num_threads=1", "--endpointing", *flags]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    found = re.search(r"audio ([\d.]+) s, wall ([\d.]+) s", done.stderr)
    if done.returncode != 0 or found is None:
        raise ProgramError(done.stderr.strip() or "decode_wav printed no times")
    words = [word for line in done.stdout.splitlines() for word in words_of(line.partition(" ")[2])]
    return Decoded(words, float(found[1]), float(found[2]))


def evaluate(evaluation: Evaluation) -> None:
    """Prints a row for each way, and the ratio."""
    args = evaluation.args
    common = [f"--wav={half_silent(evaluation)}", *evaluation.flags,
              *chunk_flags(args.chunk_size, args.left_context)]
    reference = [word for recording in evaluation.recordings for word in recording.words]
    ways = {"all chunks": common, "skip_silence": [*common, "--skip_silence"]}
    runs = [{name: decode(evaluation, flags) for name, flags in ways.items()}
            for _ in range(args.repeats)]
    best = {name: min(done[name].wall_s for done in runs) for name in ways}
    for name, wall_s in best.items():
        words, audio_s, _ = runs[0][name]
        errors = align(reference, words)
        print(f"{name:<12} {audio_s:.0f} s of audio in {wall_s:.2f} s, "
              f"{audio_s / wall_s:.0f} streams per core, {errors.total()}/{errors.words} = "
              f"{errors.rate():.2f} % word errors")
    print(f"ratio {best['all chunks'] / best['skip_silence']:.2f}")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--stretch_s", type=float, default=30)
    parser.add_argument("--chunk_size", type=int, default=16)
    parser.add_argument("--left_context", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    return run("evaluate_silence", *parser.parse_known_args(arguments), evaluate)


if __name__ == "__main__":
    sys.exit(main())
