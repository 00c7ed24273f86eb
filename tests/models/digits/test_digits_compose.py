"""Composed training utterances: seeded, audible, and spellable by CTC."""

import numpy as np
import pytest
import torch

from models.digits.batches import TrainingBatches
from models.digits.compose import MAX_WORDS, SOURCES, Composer
from models.digits.fbank import NUM_BINS, num_frames
from models.digits.store import STORE_RATE, build_store
from models.digits.units import WORDS, encoder_frames, frames_needed


@pytest.fixture(name="stores", scope="module")
def make_stores(tmp_path_factory):
    """Small stores of noise bursts, 0.1 to 0.4 s a word: some too short for their letters."""
    folder = tmp_path_factory.mktemp("stores")
    rng = np.random.default_rng(1)
    for name, _ in SOURCES:
        items = []
        for word in WORDS:
            spoken = (word, "three", "six") if name == "strings" else (word,)
            for voice in ("a", "b"):
                count = int(rng.uniform(0.1, 0.4) * len(spoken) * STORE_RATE)
                items.append((rng.uniform(-0.5, 0.5, count), spoken, voice))
        build_store(items).save(folder / name)
    return folder


def test_utterances_can_be_spelled(stores):
    composer = Composer(stores)
    rng = np.random.default_rng(2)
    for _ in range(200):
        one = composer.utterance(rng)
        assert 1 <= one.ids.count(1) <= MAX_WORDS
        assert frames_needed(one.ids) <= encoder_frames(num_frames(len(one.samples)))
        assert np.isfinite(one.samples).all() and 0.0 < np.abs(one.samples).max() <= 1.0


def test_same_seed_same_batches(stores):
    def first():
        return next(iter(TrainingBatches(stores, 5, 0, 3000, torch.zeros(NUM_BINS))))
    one, two = first(), first()
    assert torch.equal(one.features, two.features) and torch.equal(one.targets, two.targets)
    assert one.features.size(0) * one.features.size(1) <= 3000
    assert int(one.target_lengths.sum()) == one.targets.numel()
