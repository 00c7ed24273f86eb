"""Composes random training utterances: digits, voices, tempo and pauses."""

from dataclasses import dataclass
from pathlib import Path
from typing import List, Tuple

import numpy as np

from models.digits.effects import log_uniform, resample_word, transmit
from models.digits.store import STORE_RATE, ClipStore, trim_silence
from models.digits.units import WORDS, encode_words, encoder_frames, frames_needed, word_seconds

# Share of utterances by source of the voice. words_human is always one of them.
Sources = Tuple[Tuple[str, float], ...]
SOURCES: Sources = (
    ("words_human", 0.46), ("words_espeak", 0.13), ("words_accented", 0.06),
    ("words_recorded", 0.10), ("strings", 0.12), ("strings_recorded", 0.13))
# Share of utterances by number of words, 1 to 12.
LENGTHS = np.array([13, 12, 13, 13, 12, 10, 8, 7, 4, 3, 2, 3], np.float64)
MAX_WORDS = 12


@dataclass
class Utterance:
    """samples: (n,) float32 at 16 kHz. ids: units. warp: for the mel filters."""
    samples: np.ndarray
    ids: List[int]
    warp: float


def crop_edges(rng: np.random.Generator, audio: np.ndarray) -> np.ndarray:
    """Cuts up to 80 ms, at most a sixth, off either end of a word (n,), because careless recordings
    lose their first and last consonants."""
    most = min(len(audio) / 6.0, 0.08 * STORE_RATE)
    first, last = int(rng.uniform(0.0, most)), int(rng.uniform(0.0, most))
    return audio[first:len(audio) - last]


class Composer:
    """Draws utterances from the clip stores; all randomness comes from the given generator."""

    def __init__(self, stores_dir: Path, sources: Sources = SOURCES) -> None:
        self.sources = sources
        self.stores = {name: ClipStore.load(stores_dir / name) for name, _ in sources}
        self.shares = np.array([share for _, share in sources])
        self.length_shares = LENGTHS / LENGTHS.sum()

    def utterance(self, rng: np.random.Generator) -> Utterance:
        """One utterance of 1-12 words that CTC can emit in its encoder frames."""
        source = self.sources[rng.choice(len(self.sources), p=self.shares)][0]
        count = 1 + int(rng.choice(MAX_WORDS, p=self.length_shares))
        # Formants move with `factor * warp`; together they stay within about a third of an octave.
        factor = log_uniform(rng, 0.82, 1.22)
        warp = float(np.clip(log_uniform(rng, 0.85, 1.18), 0.78 / factor, 1.28 / factor))
        if source.startswith("strings"):
            pieces = self._strings(rng, source, count, factor)
        else:
            pieces = self._words(rng, source, count, factor)
        speech, words = self._join(rng, pieces)
        ids = encode_words(words)
        short = frames_needed(ids) + 1 - encoder_frames(2 * len(speech) // 160 - 2)
        if short > 0:
            speech = np.pad(speech, (0, int(0.04 * short * STORE_RATE)))
        samples = transmit(rng, speech, lambda size: self._babble(rng, size))
        return Utterance(samples, ids, 1.0 / warp)

    def _words(self, rng: np.random.Generator, source: str, count: int,
               factor: float) -> List[Tuple[np.ndarray, Tuple[str, ...]]]:
        """`count` single words, mostly by one voice."""
        mixed = rng.random() < 0.3
        store = self.stores[source]
        voice = store.voices[rng.integers(len(store.voices))]
        pieces = []
        for _ in range(count):
            if mixed:
                name = ("words_human", source)[rng.integers(2)]
                store = self.stores[name]
                voice = store.voices[rng.integers(len(store.voices))]
            word = WORDS[rng.integers(len(WORDS))]
            choices = store.by_voice_word[voice].get(word)
            if not choices:
                continue
            index = choices[rng.integers(len(choices))]
            for _ in range(3):  # avoids words much faster than CTC can emit
                if store.clips[index].length > 0.6 * factor * word_seconds(word) * STORE_RATE:
                    break
                index = choices[rng.integers(len(choices))]
            audio = store.audio(index)
            if rng.random() < 0.5:
                audio = trim_silence(audio, STORE_RATE, -rng.uniform(22.0, 45.0),
                                     rng.uniform(0.0, 0.04))
            if rng.random() < 0.35:
                audio = crop_edges(rng, audio)
            audio = resample_word(audio, factor * log_uniform(rng, 0.95, 1.05))
            audio = audio * 10.0 ** (rng.normal(0.0, 2.5) / 20.0)
            fade = int(rng.uniform(0.0, 0.012) * STORE_RATE)
            if fade > 1 and len(audio) > 2 * fade:
                audio[:fade] *= np.linspace(0.0, 1.0, fade, dtype=np.float32)
                audio[-fade:] *= np.linspace(1.0, 0.0, fade, dtype=np.float32)
            pieces.append((audio, (word,)))
        return pieces

    def _strings(self, rng: np.random.Generator, source: str, count: int,
                 factor: float) -> List[Tuple[np.ndarray, Tuple[str, ...]]]:
        """Strings spoken without pauses, until there are at least `count` words (at most 12)."""
        store = self.stores[source]
        voice = store.voices[rng.integers(len(store.voices))]
        pieces: List[Tuple[np.ndarray, Tuple[str, ...]]] = []
        total = 0
        for _ in range(20):
            choices = store.by_voice[voice] if rng.random() < 0.8 else range(len(store.clips))
            index = int(choices[rng.integers(len(choices))])
            words = store.clips[index].words
            # Speech with fewer frames than letters has no CTC path: it is slowed down or omitted.
            needed = 1.1 * sum(word_seconds(word) for word in words) * STORE_RATE
            slowest = store.clips[index].length / needed
            if slowest < 0.8:
                continue
            if total + len(words) > MAX_WORDS:
                break
            total += len(words)
            pieces.append((resample_word(store.audio(index), min(factor, slowest)), words))
            if total >= count:
                break
        return pieces or self._words(rng, "words_human", count, factor)

    def _join(self, rng: np.random.Generator,
              pieces: List[Tuple[np.ndarray, Tuple[str, ...]]]) -> Tuple[np.ndarray, List[str]]:
        """Adds pauses between the pieces, before and after; few words are faster than CTC can emit.

        A fifth of the utterances has no pause at either end, like cut recordings.
        """
        style = rng.random()
        low, high = (-0.03, 0.0) if style < 0.12 else (0.0, 0.15) if style < 0.42 \
            else (0.03, 0.5) if style < 0.88 else (0.2, 0.9)
        fair = rng.random() < 0.8
        gaps = [int(rng.uniform(low, high) * STORE_RATE) for _ in pieces]
        for index, (audio, words) in enumerate(pieces):
            needed = int(sum(word_seconds(word) for word in words) * STORE_RATE) - len(audio)
            if fair and gaps[index] < needed:
                gaps[index] = needed
        cut = rng.random() < 0.2
        lead = 0 if cut or rng.random() < 0.1 else int(rng.uniform(0.0, 0.6) * STORE_RATE)
        if cut:
            gaps[-1] = 0
        elif rng.random() < 0.8:
            gaps[-1] = max(gaps[-1], int(rng.uniform(0.0, 0.6) * STORE_RATE))
        total = lead + sum(len(audio) + max(gap, 0) for (audio, _), gap in zip(pieces, gaps))
        speech = np.zeros(total, np.float32)
        place = lead
        for (audio, _), gap in zip(pieces, gaps):
            place = max(place, 0)
            speech[place:place + len(audio)] += audio[:total - place]
            place += len(audio) + gap
        end = min(max(place, 1), total)
        return speech[:end], [word for _, words in pieces for word in words]

    def _babble(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """(size,) float32 of several voices at once, root mean square 1."""
        mix = np.zeros(size, np.float32)
        for _ in range(rng.integers(2, 7)):
            place = -int(rng.integers(0, STORE_RATE))
            while place < size:
                fluent = rng.random() < 0.5 and "strings" in self.stores
                store = self.stores["strings" if fluent else "words_human"]
                audio = store.audio(int(rng.integers(len(store.clips))))
                start, end = max(place, 0), min(place + len(audio), size)
                if end > start:
                    mix[start:end] += audio[start - place:end - place]
                place += len(audio) + int(rng.integers(0, STORE_RATE // 3))
        return mix / (np.sqrt(np.square(mix).mean()) + 1e-6)
