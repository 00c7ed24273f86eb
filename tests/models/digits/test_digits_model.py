"""The digit recipe: every position scheme trains and exports; the shipped archive is its own."""

import argparse
import itertools
import os

import pytest
import torch

from models.digits import train
from models.digits.architecture import CONFIG, POSITIONS, archive_config, model_of
from models.digits.batches import Batch
from models.digits.train import loss_of
from models.digits.units import UNITS, encode_words
from models.reference.archive import export_archive, read_archive
from models.reference.model import SpeechModel
from models.reference.positions import scheme_name

ARCHIVE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "models", "digits",
                       "digits.pt")


def make_batch():
    """Two utterances of noise, the second padded."""
    torch.manual_seed(6)
    ids = encode_words(["one", "two"])
    features = torch.randn(2, 120, CONFIG.encoder.input_dim)
    return Batch(features=features, lengths=torch.tensor([120, 90]),
                 targets=torch.tensor(ids + ids), target_lengths=torch.tensor([len(ids)] * 2))


@pytest.mark.parametrize("position", POSITIONS)
def test_every_position_trains(position, tmp_path):
    """The loss falls, the scheme's own parameters move, and the model is exported."""
    torch.manual_seed(7)
    config = model_of(position)
    assert scheme_name(config.encoder.position) == position
    model = SpeechModel(config).train()
    before = {name: value.clone() for name, value in model.named_parameters()}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = loss_of(model, make_batch(), 4, 8)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.9 * losses[0]
    for name, value in model.named_parameters():
        assert not torch.equal(value, before[name]), name
    path = str(tmp_path / "model.pt")
    export_archive(model, archive_config(config), list(UNITS), path)
    assert os.path.getsize(path) < 4e6
    assert read_archive(path)[1]["encoder"]["position"]["scheme"] == position


@pytest.mark.parametrize("validate_every", [2, 3, 100])
def test_as_many_steps_as_asked_for(validate_every, tmp_path, monkeypatch):
    """The last step is validated and exported, once; a finished run makes no further step."""
    zeros = torch.zeros(CONFIG.encoder.input_dim)
    monkeypatch.setattr(train, "feature_statistics", lambda *_: (zeros, zeros + 1))
    monkeypatch.setattr(train, "load_batches", lambda *_: itertools.repeat(make_batch()))
    monkeypatch.setattr(train, "Validation", lambda *_: lambda model: {"wer": 50.0})
    args = argparse.Namespace(work_dir=tmp_path, run="r", position="chunk_rpe", init=None,
                              fsdd=tmp_path, steps=3, minutes=None, peak_rate=1e-3,
                              validate_every=validate_every)
    curve = tmp_path / "runs/r/curve.csv"
    for _ in range(2):
        train.run(args)
        steps = [int(row.split(",")[0]) for row in curve.read_text().splitlines()[1:]]
        assert steps == ([2, 3] if validate_every == 2 else [3])
        assert torch.load(tmp_path / "runs/r/checkpoint.pt")["step"] == 3
    assert read_archive(str(tmp_path / "runs/r/digits.pt"))[2] == list(UNITS)


def test_shipped_archive_is_this_architecture():
    module, sections, units = read_archive(ARCHIVE)
    assert sections == archive_config() and units == list(UNITS)
    expected = SpeechModel(CONFIG).state_dict()
    assert {name: value.shape for name, value in module.state_dict().items()} \
        == {name: value.shape for name, value in expected.items()}
