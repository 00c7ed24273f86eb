"""Trains a transducer head for the digit model, and exports a model file with both heads.

    python3 -m models.digits.transducer.train --fsdd=DIR --output=FILE [--steps=N]

Encoder and CTC head are those of models/digits/digits.pt and stay as they are, so that training is
short. The training strings are composed of the human recordings alone (models.digits.recordings),
without the left-out speaker. Seeds are fixed; the last digits of the losses depend on the CPU.
"""

import argparse
import dataclasses
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import numpy as np
import torch
from torch import Tensor
from torchaudio.functional import rnnt_loss

from models.digits.batches import Batch, load_batches
from models.digits.recordings import build_human_store
from models.digits.train import CLIP_NORM, FRAMES_PER_BATCH, chunking
from models.reference.archive import export_archive, read_archive
from models.reference.ctc import CtcConfig
from models.reference.model import ModelConfig, SpeechModel
from models.reference.predictor import LstmPredictorConfig
from models.reference.transducer import JointConfig, TransducerConfig

DIGITS = Path(__file__).parents[1]
CTC_MODEL = DIGITS / "digits.pt"
SHIPPED = DIGITS / "digits_transducer.pt"  # made with the default values below
SEED = 11
STEPS = 1500
PEAK_RATE = 4e-3
HUMAN_STORE = "words_human"
LOG_EVERY = 100  # steps


def transducer_of(ctc: CtcConfig) -> TransducerConfig:
    """About 43,000 parameters."""
    predictor = LstmPredictorConfig(embedding_dim=32, hidden_dim=64, num_layers=1, output_dim=None)
    return TransducerConfig(vocab_size=ctc.vocab_size, blank_id=ctc.blank_id, predictor=predictor,
                            joint=JointConfig(dim=96, activation="tanh"))


def loss_of(model: SpeechModel, batch: Batch, chunk_size: int, left_context: int) -> Tensor:
    """RNN-T loss (Graves 2012) per token."""
    with torch.no_grad():
        encoded, frames = model.encode(batch.features, batch.lengths, chunk_size, left_context)
    lengths = batch.target_lengths
    targets = torch.nn.utils.rnn.pad_sequence(batch.targets.split(lengths.tolist()),
                                              batch_first=True)
    loss = rnnt_loss(model.transducer_logits(encoded, targets), targets.int(), frames.int(),
                     lengths.int(), blank=model.transducer.blank_id, reduction="sum")
    return loss / batch.targets.numel()


def untrained(seed: int) -> Tuple[SpeechModel, Dict[str, Any], List[str]]:
    """CTC_MODEL with a random transducer head, in evaluation mode; runnel.json and units of it."""
    module, sections, units = read_archive(str(CTC_MODEL))
    config = ModelConfig.from_json(sections)
    config = dataclasses.replace(config, transducer=transducer_of(config.ctc))
    torch.manual_seed(seed)
    model = SpeechModel(config).eval()
    model.load_state_dict({**model.state_dict(), **module.state_dict()})
    return model, {**sections, "name": "digits_transducer", **config.to_json()}, units


def train(model: SpeechModel, batches: Iterator[Batch], steps: int) -> None:
    """Changes the transducer head alone."""
    head = model.transducer
    optimizer = torch.optim.Adam(head.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, steps, pct_start=0.1,
                                                   cycle_momentum=False)
    losses = []
    for step in range(steps):
        loss = loss_of(model, next(batches), *chunking(step))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(head.parameters(), CLIP_NORM)
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        if (step + 1) % LOG_EVERY == 0:
            print(f"step {step + 1} loss {np.mean(losses[-LOG_EVERY:]):.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fsdd", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="the model file to write")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=SEED, help="of weights and utterances")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model, sections, units = untrained(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        build_human_store(args.fsdd).save(Path(folder) / HUMAN_STORE)
        batches = load_batches(Path(folder), args.seed, 0, FRAMES_PER_BATCH,
                               model.encoder.global_cmvn.mean, ((HUMAN_STORE, 1.0),))
        train(model, batches, args.steps)
    export_archive(model, sections, units, str(args.output))


if __name__ == "__main__":
    main()
