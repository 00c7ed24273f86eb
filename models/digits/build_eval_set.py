"""Renders the evaluation lists to WAV files with Kaldi's wav.scp and text.

    python3 -m models.digits.build_eval_set --fsdd=DIR --work_dir=DIR

writes DIR/eval/LIST/{*.wav,wav.scp,text} for every list of make_eval_lists. The left-out speaker's
files are 8 kHz like his recordings; synthetic files have the rate of their synthesiser. All are
PCM16. list.sha256 is the hash of the list that they were rendered from.
"""

import argparse
import hashlib
from pathlib import Path
from typing import List, Tuple

import numpy as np
import soundfile

from models.digits.make_eval_lists import EVAL_DIR
from models.digits.recordings import read_recording
from models.digits.store import STORE_RATE
from models.digits.synthesisers import Request, render

LEFT_OUT_LIST = "left_out_speaker"
UNSEEN_LIST = "unseen_voices"
# Drawn in the same way, but not used during development.
FRESH_LISTS = ("fresh_left_out_speaker", "fresh_unseen_voices")
HASH_FILE = "list.sha256"  # in a rendered set: of the list's bytes


def list_path(name: str) -> Path:
    return EVAL_DIR / f"{name}.tsv"


def list_hash(name: str) -> str:
    return hashlib.sha256(list_path(name).read_bytes()).hexdigest()


def read_list(name: str) -> List[List[str]]:
    """Rows of a committed list, split into fields."""
    text = list_path(name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


def join_recordings(fsdd: Path, recordings: List[str], pauses: List[float]) -> np.ndarray:
    """Recordings (8 kHz) with pauses of digital silence before, between and after them."""
    if len(pauses) != len(recordings) + 1:
        raise ValueError(f"{len(recordings)} recordings need {len(recordings) + 1} pauses, "
                         f"got {len(pauses)}")
    parts = [np.zeros(int(pauses[0] * STORE_RATE), np.float32)]
    for recording, pause in zip(recordings, pauses[1:]):
        parts += [read_recording(fsdd, recording), np.zeros(int(pause * STORE_RATE), np.float32)]
    return np.concatenate(parts)


def request_of(row: List[str]) -> Request:
    """The synthesis request in a row of unseen_voices.tsv."""
    _, words, engine, voice, rate, pitch, spoken = row
    return Request(engine, voice, float(rate), float(pitch), spoken, tuple(words.split()))


def render_list(name: str, fsdd: Path) -> List[Tuple[str, str, np.ndarray, int]]:
    """(id, text, samples, sample rate) of every row of a list."""
    rendered = []
    for row in read_list(name):
        if name.endswith(LEFT_OUT_LIST):
            pauses = [float(pause) for pause in row[3].split()]
            samples, rate = join_recordings(fsdd, row[2].split(), pauses), STORE_RATE
        else:
            samples, rate = render(request_of(row))
        rendered.append((row[0], row[1], samples, rate))
    return rendered


def write_set(name: str, fsdd: Path, folder: Path) -> None:
    """Writes one evaluation set under `folder`/`name`."""
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    (target / HASH_FILE).unlink(missing_ok=True)  # until the set is complete
    for old in target.glob("*.wav"):
        old.unlink()
    used_hash = list_hash(name)
    scp, text = [], []
    for key, words, samples, rate in render_list(name, fsdd):
        path = target / f"{key}.wav"
        soundfile.write(str(path), samples, rate, subtype="PCM_16")
        scp.append(f"{key} {path}\n")
        text.append(f"{key} {words}\n")
    (target / "wav.scp").write_text("".join(scp))
    (target / "text").write_text("".join(text))
    (target / HASH_FILE).write_text(used_hash + "\n")


def ensure_set(name: str, fsdd: Path, folder: Path) -> bool:
    """Renders a set unless it is complete and matches its list. True if it was rendered."""
    hash_file = folder / name / HASH_FILE
    if hash_file.exists() and hash_file.read_text().strip() == list_hash(name):
        return False
    write_set(name, fsdd, folder)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fsdd", type=Path, required=True)
    parser.add_argument("--work_dir", type=Path, required=True)
    args = parser.parse_args()
    for name in (LEFT_OUT_LIST, UNSEEN_LIST, *FRESH_LISTS):
        write_set(name, args.fsdd, (args.work_dir / "eval").resolve())


if __name__ == "__main__":
    main()
