"""Word errors during training, in PyTorch: the evaluation lists, greedy search, the chunk mask."""

from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Tuple

import numpy as np
import soundfile
import torch
from scipy.signal import resample_poly

from models.digits.build_eval_set import LEFT_OUT_LIST, UNSEEN_LIST, ensure_set
from models.digits.fbank import SAMPLE_RATE, Fbank
from models.digits.score import Errors, align, read_text
from models.digits.units import collapse, decode_ids
from models.reference.model import SpeechModel

# Names in the log: chunk_size, left_context in encoder frames.
MODES: Dict[str, Tuple[int, int]] = {"c16": (16, 64), "c4": (4, 64), "full": (-1, -1)}


@dataclass
class Sample:
    """features: (1, T, F). words: the reference text."""
    features: torch.Tensor
    words: List[str]


def load_samples(folder: Path) -> List[Sample]:
    """A set of build_eval_set.py as features, shortest first."""
    fbank = Fbank()
    samples = []
    texts = read_text(folder / "text")
    for line in (folder / "wav.scp").read_text().splitlines():
        key, path = line.split(maxsplit=1)
        audio, rate = soundfile.read(path, dtype="float32")
        if rate != SAMPLE_RATE:
            divisor = int(np.gcd(rate, SAMPLE_RATE))
            audio = resample_poly(audio, SAMPLE_RATE // divisor, rate // divisor)
        samples.append(Sample(fbank([audio.astype(np.float32)])[0], texts[key]))
    return sorted(samples, key=lambda sample: sample.features.size(1))


def recognise(model: SpeechModel, samples: List[Sample], chunk_size: int,
              left_context: int) -> List[List[str]]:
    """Words of every sample by greedy search."""
    texts = []
    with torch.no_grad():
        for start in range(0, len(samples), 20):
            group = samples[start:start + 20]
            lengths = torch.tensor([sample.features.size(1) for sample in group])
            features = torch.zeros(len(group), int(lengths.max()), group[0].features.size(2))
            for row, sample in zip(features, group):
                row[:sample.features.size(1)] = sample.features[0]
            log_probs, frames = model(features, lengths, chunk_size, left_context)
            for row, count in zip(log_probs.argmax(dim=2), frames.tolist()):
                texts.append(decode_ids(collapse(row[:count].tolist())).split())
    return texts


class Validation:
    """Both evaluation lists in memory; call it with a model in evaluation mode."""

    def __init__(self, fsdd: Path, folder: Path) -> None:
        """Uses the sets under `folder`, which are rendered first if they do not exist or their list
        has changed."""
        self.sets = {}
        for name in (LEFT_OUT_LIST, UNSEEN_LIST):
            ensure_set(name, fsdd, folder.resolve())
            self.sets[name] = load_samples(folder / name)

    def __call__(self, model: SpeechModel) -> Dict[str, float]:
        """Word error rates in percent: {set}_{mode} -> rate."""
        rates = {}
        for name, samples in self.sets.items():
            for mode, (chunk_size, left_context) in MODES.items():
                errors = Errors()
                for sample, found in zip(samples,
                                         recognise(model, samples, chunk_size, left_context)):
                    errors.add(align(sample.words, found))
                rates[f"{name}_{mode}"] = errors.rate()
        return rates
