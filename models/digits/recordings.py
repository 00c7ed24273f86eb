"""The human recordings (Free Spoken Digit Dataset) and the choice of the left-out speaker.

yweweler is left out for validation. He was chosen before any result was known, because his
recordings are the quietest and the shortest of the five speakers and his accent is not native. One
German speaker (lucas) remains for training.
"""

import argparse
from pathlib import Path
from typing import Dict, List, Tuple

import numpy as np
import soundfile

from models.digits.store import STORE_RATE, ClipStore, build_store
from models.digits.tempo import change_tempo

LEFT_OUT_SPEAKER = "yweweler"
TRAINING_SPEAKERS = ("george", "jackson", "lucas", "nicolas")
TEMPOS = (1.0, 0.72, 0.85, 1.15, 1.3)


def read_labels(fsdd: Path) -> Dict[str, str]:
    """Recording id -> word, from the Kaldi-style `text` of the FSDD folder."""
    lines = (fsdd / "text").read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line.strip())


def speaker_of(recording: str) -> str:
    """The speaker's name inside an FSDD id such as 7_jackson_32."""
    return recording.split("_")[1]


def recordings_of(fsdd: Path, speakers: Tuple[str, ...]) -> List[Tuple[str, str]]:
    """Sorted (recording id, word) of the given speakers."""
    return sorted(item for item in read_labels(fsdd).items() if speaker_of(item[0]) in speakers)


def read_recording(fsdd: Path, recording: str) -> np.ndarray:
    """Samples (n,) float32 in [-1, 1] at 8 kHz; raises ValueError for another rate."""
    path = fsdd / "recordings" / f"{recording}.wav"
    samples, rate = soundfile.read(str(path), dtype="float32")
    if rate != STORE_RATE:
        raise ValueError(f"{path}: {rate} Hz, expected {STORE_RATE} Hz")
    return samples


def build_human_store(fsdd: Path) -> ClipStore:
    """All training recordings at several tempos, each scaled to a peak of one half."""
    items = []
    for recording, word in recordings_of(fsdd, TRAINING_SPEAKERS):
        samples = read_recording(fsdd, recording)
        samples = samples * (0.5 / max(float(np.abs(samples).max()), 1e-4))
        for tempo in TEMPOS:
            changed = samples if tempo == 1.0 else change_tempo(samples, STORE_RATE, tempo)
            items.append((changed, (word,), f"human:{speaker_of(recording)}"))
    return build_store(items)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the store of human training words.")
    parser.add_argument("--fsdd", type=Path, required=True)
    parser.add_argument("--work_dir", type=Path, required=True)
    args = parser.parse_args()
    folder = args.work_dir / "stores"
    folder.mkdir(parents=True, exist_ok=True)
    store = build_human_store(args.fsdd)
    store.save(folder / "words_human")
    print(f"words_human: {len(store.clips)} clips, {len(store.samples) / STORE_RATE:.0f} s")


if __name__ == "__main__":
    main()
