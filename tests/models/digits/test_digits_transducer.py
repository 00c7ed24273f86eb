"""The transducer recipe: its loss, what training changes, and the shipped model file."""

import itertools
from typing import List

import pytest
import torch
from torch import Tensor

from models.digits.batches import Batch
from models.digits.transducer.train import CTC_MODEL, SHIPPED, loss_of, train, untrained
from models.digits.units import encode_words
from models.reference.archive import read_archive

CHUNK_SIZE, LEFT_CONTEXT = 4, 8
TRAINED = "transducer."


@pytest.fixture(name="batch")
def _batch() -> Batch:
    """Two utterances of noise, of different lengths and numbers of tokens."""
    torch.manual_seed(6)
    ids = [encode_words(words) for words in (["one", "two"], ["six"])]
    return Batch(features=torch.randn(2, 120, 40), lengths=torch.tensor([120, 90]),
                 targets=torch.tensor(ids[0] + ids[1]),
                 target_lengths=torch.tensor([len(one) for one in ids]))


def log_probability(log_probs: Tensor, tokens: List[int]) -> float:
    """ln of the sum over all alignments (Graves 2012), of log probabilities (T, U + 1, V)."""
    before = torch.full([len(tokens) + 1], -float("inf"), dtype=log_probs.dtype)
    before[0] = 0.0
    for row in log_probs:  # of one frame
        for place, token in enumerate(tokens):
            emitted = before[place] + row[place, token]
            before[place + 1] = torch.logaddexp(before[place + 1], emitted)
        before = before + row[:, 0]
    return float(before[-1])


def test_loss_is_that_of_each_utterance_alone(batch):
    model = untrained(seed=3)[0]
    total = 0.0
    for i, tokens in enumerate(batch.targets.split(batch.target_lengths.tolist())):
        length = batch.lengths[i:i + 1]
        encoded, _ = model.encode(batch.features[i:i + 1, :int(length)], length, CHUNK_SIZE,
                                  LEFT_CONTEXT)
        logits = model.transducer_logits(encoded, tokens.unsqueeze(0))
        total -= log_probability(torch.log_softmax(logits[0].double(), 2), tokens.tolist())
    loss = loss_of(model, batch, CHUNK_SIZE, LEFT_CONTEXT)
    assert float(loss) == pytest.approx(total / batch.targets.numel(), rel=1e-4)


def test_training_changes_the_transducer_alone(batch):
    model = untrained(seed=3)[0]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    loss = loss_of(model, batch, CHUNK_SIZE, LEFT_CONTEXT)
    train(model, itertools.repeat(batch), steps=8)
    assert loss_of(model, batch, CHUNK_SIZE, LEFT_CONTEXT) < 0.9 * loss
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]) != name.startswith(TRAINED), name


def test_shipped_file_is_the_ctc_model_with_a_transducer():
    module, sections, units = read_archive(str(SHIPPED))
    model, expected_sections, expected_units = untrained(seed=3)
    assert sections == expected_sections and units == expected_units
    tensors, expected = module.state_dict(), model.state_dict()
    assert {name: value.shape for name, value in tensors.items()} \
        == {name: value.shape for name, value in expected.items()}
    for name, value in read_archive(str(CTC_MODEL))[0].state_dict().items():
        assert torch.equal(tensors[name], value), name
