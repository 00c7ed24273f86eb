"""A store of short recordings: 8 kHz PCM16, words and voice.

Written once by synthesise.py and tempo.py (slow), read by every training run (fast, memory-mapped).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

import numpy as np

STORE_RATE = 8000


@dataclass(frozen=True)
class Clip:
    """One recording of a store: samples [start, start + length) say `words` in `voice`."""
    start: int
    length: int
    words: Tuple[str, ...]
    voice: str


class ClipStore:
    """All clips of one kind, indexed by voice and, for single words, by the word."""

    def __init__(self, samples: np.ndarray, clips: Sequence[Clip]):
        self.samples = samples
        self.clips = list(clips)
        self.by_voice: Dict[str, List[int]] = {}
        self.by_voice_word: Dict[str, Dict[str, List[int]]] = {}
        for index, clip in enumerate(self.clips):
            self.by_voice.setdefault(clip.voice, []).append(index)
            if len(clip.words) == 1:
                words = self.by_voice_word.setdefault(clip.voice, {})
                words.setdefault(clip.words[0], []).append(index)
        self.voices = sorted(self.by_voice)

    def audio(self, index: int) -> np.ndarray:
        """Samples (n,) float32 in [-1, 1] of one clip."""
        clip = self.clips[index]
        return self.samples[clip.start:clip.start + clip.length].astype(np.float32) / 32768.0

    def save(self, path: Path) -> None:
        """Writes `path`.npy, then `path`.json, which marks completion."""
        np.save(str(path) + ".npy", self.samples)
        rows = [[clip.start, clip.length, " ".join(clip.words), clip.voice] for clip in self.clips]
        Path(str(path) + ".json").write_text(json.dumps(rows))

    @staticmethod
    def load(path: Path) -> "ClipStore":
        samples = np.load(str(path) + ".npy", mmap_mode="r")
        rows = json.loads(Path(str(path) + ".json").read_text())
        return ClipStore(samples, [Clip(r[0], r[1], tuple(r[2].split()), r[3]) for r in rows])

    @staticmethod
    def exists(path: Path) -> bool:
        return Path(str(path) + ".json").exists()


def build_store(items: Sequence[Tuple[np.ndarray, Sequence[str], str]]) -> ClipStore:
    """A store of (samples (n,) float in [-1, 1] at 8 kHz, words, voice) items."""
    clips = []
    blocks = []
    start = 0
    for samples, words, voice in items:
        block = np.clip(np.round(samples * 32767.0), -32768, 32767).astype(np.int16)
        clips.append(Clip(start, len(block), tuple(words), voice))
        blocks.append(block)
        start += len(block)
    return ClipStore(np.concatenate(blocks) if blocks else np.zeros(0, np.int16), clips)


def trim_silence(samples: np.ndarray, rate: int, threshold_db: float = -42.0,
                 margin_seconds: float = 0.02) -> np.ndarray:
    """Cuts leading and trailing parts more than `threshold_db` below the loudest 10 ms."""
    step = rate // 100
    count = len(samples) // step
    if count == 0:
        return samples
    power = np.square(samples[:count * step].reshape(count, step)).mean(axis=1)
    loud = np.nonzero(power > power.max() * 10.0 ** (threshold_db / 10.0))[0]
    if len(loud) == 0:
        return samples
    margin = int(margin_seconds * rate)
    return samples[max(loud[0] * step - margin, 0):(loud[-1] + 1) * step + margin]
