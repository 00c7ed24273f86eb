"""Endpoints of the digit model: how many utterances are found, and how exactly they are bounded.

    python3 -m models.digits.endpointing --fsdd=DIR --work_dir=DIR [--recordings=N]
        [--precision=int8] [--chunk_size=4] [--endpoint_silence_s=0.6] ...

Joins digit strings of the left-out speaker with silences of 1 to 3 s, decodes the recordings with
`decode_wav --endpointing`, and compares the segments with what was joined. Prints the share of the
recordings with the right number of utterances. For these recordings, it prints quantiles of the
distance between the segments' boundaries and those of the speech, and the share of the boundaries
within 200 ms. Other flags are passed to decode_wav.
"""

import argparse
import json
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Tuple

import numpy as np
import soundfile

from models.digits.build_eval_set import join_recordings
from models.digits.recordings import LEFT_OUT_SPEAKER, recordings_of
from models.digits.score import score_texts
from models.digits.store import STORE_RATE

ROOT = Path(__file__).parents[2]
SEED = 11
# Rules of EndpointOptions: shorter than the shortest silence between strings, longer than the
# pauses within them.
RULES = ("--endpoint_silence_s=0.6",)
LEVEL = 10 ** (-40 / 20)  # of the largest sample of a string: quieter is not speech


@dataclass
class Joined:
    """One string within a recording: words, and the seconds in which it is spoken."""
    words: List[str]
    start_s: float
    end_s: float


def speech_bounds(samples: np.ndarray) -> Tuple[int, int]:
    """First and last sample + 1 above LEVEL of the largest one."""
    loud = np.flatnonzero(np.abs(samples) > LEVEL * np.abs(samples).max())
    return int(loud[0]), int(loud[-1]) + 1


def write_recordings(fsdd: Path, folder: Path, count: int) -> Dict[str, List[Joined]]:
    """Writes `count` recordings and their list; returns what each consists of."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(SEED)
    noise = np.random.default_rng(SEED)
    recordings = recordings_of(fsdd, (LEFT_OUT_SPEAKER,))
    truth: Dict[str, List[Joined]] = {}
    lines = []
    for index in range(count):
        name = f"joined-{index:03d}"
        pieces: List[np.ndarray] = []
        joined: List[Joined] = []
        position = 0
        for _ in range(rng.randint(2, 5)):
            silence = np.zeros(int(rng.uniform(1.0, 3.0) * STORE_RATE), np.float32)
            chosen = [rng.choice(recordings) for _ in range(rng.randint(1, 6))]
            pauses = [0.0] + [rng.uniform(0.05, 0.3) for _ in chosen[1:]] + [0.0]
            speech = join_recordings(fsdd, [one for one, _ in chosen], pauses)
            begin, end = speech_bounds(speech)
            position += len(silence)
            joined.append(Joined([word for _, word in chosen], (position + begin) / STORE_RATE,
                                 (position + end) / STORE_RATE))
            position += len(speech)
            pieces += [silence, speech]
        pieces.append(np.zeros(2 * STORE_RATE, np.float32))
        samples = np.concatenate(pieces)
        # The weakest noise that 16-bit files hold: no microphone gives zeros.
        samples = samples + noise.normal(0, 1 / 32768, len(samples))
        path = folder / f"{name}.wav"
        soundfile.write(str(path), samples, STORE_RATE, subtype="PCM_16")
        lines.append(f"{name} {path.resolve()}\n")
        truth[name] = joined
    (folder / "wav.scp").write_text("".join(lines))
    return truth


def decode(decode_wav: Path, model: Path, folder: Path, flags: List[str]) -> Dict[str, List[dict]]:
    """The segments of each recording. Raises RuntimeError with decode_wav's message."""
    done = subprocess.run([str(decode_wav), f"--model={model}", f"--wav_scp={folder / 'wav.scp'}",
                           "--endpointing", "--format=json", *RULES, *flags],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"decode_wav ended with {done.returncode}")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {result["id"]: result["segments"] for result in results}


@dataclass
class Report:
    recordings: int
    right_number: int
    start_errors_ms: List[float]  # of the recordings with the right number; positive: late
    end_errors_ms: List[float]
    text: str                     # word errors over all recordings

    def share(self) -> float:
        return self.right_number / self.recordings

    def boundaries_within(self, limit_ms: float) -> float:
        """The share of the boundaries that are no further away; 0 if there are none."""
        errors = self.start_errors_ms + self.end_errors_ms
        if not errors:
            return 0.0
        return sum(abs(error) <= limit_ms for error in errors) / len(errors)


def compare(truth: Dict[str, List[Joined]], found: Dict[str, List[dict]]) -> Report:
    """Raises ValueError when a recording is not among the found ones."""
    missing = sorted(truth.keys() - found.keys())
    if missing:
        raise ValueError(f"decode_wav gave no result for {missing[0]}, expected {len(truth)} "
                         f"recordings, got {len(truth) - len(missing)}")
    starts: List[float] = []
    ends: List[float] = []
    right = 0
    for name, joined in truth.items():
        segments = found[name]
        if len(segments) != len(joined):
            continue
        right += 1
        starts += [segment["start_ms"] - 1000 * one.start_s
                   for segment, one in zip(segments, joined)]
        ends += [segment["end_ms"] - 1000 * one.end_s for segment, one in zip(segments, joined)]
    reference = {name: " ".join(word for one in joined for word in one.words)
                 for name, joined in truth.items()}
    hypothesis = {name: " ".join(segment["text"] for segment in segments)
                  for name, segments in found.items()}
    return Report(len(truth), right, starts, ends, str(score_texts(reference, hypothesis)))


def describe(name: str, errors: List[float]) -> str:
    if not errors:
        return f"{name}: none"
    quantiles = np.quantile(errors, (0.05, 0.5, 0.95))
    return (f"{name}: median {quantiles[1]:+.0f} ms, 5 % {quantiles[0]:+.0f} ms, "
            f"95 % {quantiles[2]:+.0f} ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fsdd", type=Path, required=True)
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--recordings", type=int, default=200)
    parser.add_argument("--decode_wav", type=Path, default=ROOT / "build" / "bin" / "decode_wav")
    parser.add_argument("--model", type=Path, default=Path(__file__).parent / "digits.pt")
    args, flags = parser.parse_known_args()
    folder = args.work_dir / "endpointing"
    try:
        truth = write_recordings(args.fsdd, folder, args.recordings)
        report = compare(truth, decode(args.decode_wav, args.model, folder, flags))
    except (RuntimeError, ValueError, OSError) as error:
        print(f"endpointing: {error}", file=sys.stderr)
        return 1
    print(f"{report.right_number} of {report.recordings} recordings "
          f"({100 * report.share():.1f} %) have the right number of utterances")
    print(describe("starts", report.start_errors_ms))
    print(describe("ends", report.end_errors_ms))
    print(f"{100 * report.boundaries_within(200):.1f} % of the boundaries are within 200 ms")
    print(f"word errors: {report.text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
