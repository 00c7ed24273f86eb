"""Trains the digit model on the clip stores and exports it.

    python3 -m models.digits.train --fsdd=DIR --work_dir=DIR --steps=N [--run=NAME]
        [--position=SCHEME]

Needs the stores of models.digits.synthesise and models.digits.recordings. Checkpoints, the log and
the curve (curve.csv) are in DIR/runs/NAME. A restarted run continues from the last checkpoint.
--minutes limits the time instead of the steps, for machines of unknown speed. Set
OMP_WAIT_POLICY=passive if other programs run too, so that waiting threads release their cores.
"""

import argparse
import copy
import csv
import math
import os
import time
from pathlib import Path
from typing import Tuple

import numpy as np
import torch
import torch.nn.functional as F

from models.digits.architecture import (CONFIG, DROPOUT, POSITIONS, archive_config,
                                        model_of)
from models.digits.batches import Batch, feature_statistics, load_batches
from models.digits.units import UNITS
from models.digits.validation import Validation
from models.reference.archive import export_archive
from models.reference.model import ModelConfig, SpeechModel

SEED = 11
FRAMES_PER_BATCH = 3000
PEAK_RATE = 1.6e-3
WARMUP_STEPS = 500
WEIGHT_DECAY = 0.01
CLIP_NORM = 2.0
AVERAGE_DECAY = 0.999
CHUNK_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, -1)
CHUNK_SHARES = (.04, .06, .04, .11, .06, .10, .06, .22, .06, .05, .20)
LEFT_CONTEXTS = (16, 32, 48, 64, 96, -1)
LEFT_SHARES = (.08, .12, .12, .38, .10, .20)


def learning_rate(peak: float, step: int, progress: float) -> float:
    """Linear warm-up to `peak`, then half a cosine to 1 % of it at progress 1."""
    warm = min(1.0, (step + 1) / WARMUP_STEPS)
    return peak * warm * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * min(progress, 1.0))))


def chunking(step: int) -> Tuple[int, int]:
    """chunk_size and left_context of a step, in encoder frames."""
    rng = np.random.default_rng([SEED, step])
    return (int(rng.choice(CHUNK_SIZES, p=CHUNK_SHARES)),
            int(rng.choice(LEFT_CONTEXTS, p=LEFT_SHARES)))


def loss_of(model: SpeechModel, batch: Batch, chunk_size: int, left_context: int) -> torch.Tensor:
    """CTC loss per token; items that CTC cannot emit count as zero."""
    log_probs, frames = model(batch.features, batch.lengths, chunk_size, left_context)
    total = F.ctc_loss(log_probs.transpose(0, 1), batch.targets, frames, batch.target_lengths,
                       blank=CONFIG.blank_id, reduction="sum", zero_infinity=True)
    return total / batch.targets.numel()


class Trainer:
    """The content of a checkpoint: model, its running average, optimiser and counters."""

    def __init__(self, config: ModelConfig, stores_dir: Path) -> None:
        torch.manual_seed(SEED)
        self.model = SpeechModel(config, DROPOUT)
        mean, istd = feature_statistics(stores_dir, SEED)
        self.model.encoder.global_cmvn.mean.copy_(mean)
        self.model.encoder.global_cmvn.istd.copy_(istd)
        self.average = copy.deepcopy(self.model).eval()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.0, betas=(0.9, 0.98),
                                           weight_decay=WEIGHT_DECAY)
        self.step = 0
        self.seconds = 0.0

    def save(self, path: Path) -> None:
        unfinished = str(path) + ".part"
        torch.save({"model": self.model.state_dict(), "average": self.average.state_dict(),
                    "optimizer": self.optimizer.state_dict(), "step": self.step,
                    "seconds": self.seconds, "random": torch.get_rng_state()}, unfinished)
        os.replace(unfinished, path)

    def restore(self, path: Path) -> None:
        saved = torch.load(path)
        self.model.load_state_dict(saved["model"])
        self.average.load_state_dict(saved["average"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.step, self.seconds = saved["step"], saved["seconds"]
        torch.set_rng_state(saved["random"])

    def train_step(self, batch: Batch, rate: float) -> float:
        """One update at a learning rate; returns the loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = loss_of(self.model.train(), batch, *chunking(self.step))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        self.optimizer.step()
        decay = min(AVERAGE_DECAY, (self.step + 1) / (self.step + 10))
        with torch.no_grad():
            for mine, fresh in zip(self.average.parameters(), self.model.parameters()):
                mine.lerp_(fresh, 1.0 - decay)
        self.step += 1
        return float(loss.detach())


def run(args: argparse.Namespace) -> None:
    folder = args.work_dir / "runs" / args.run
    folder.mkdir(parents=True, exist_ok=True)
    stores_dir = args.work_dir / "stores"
    config = model_of(args.position)
    trainer = Trainer(config, stores_dir)
    checkpoint = folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.restore(checkpoint)
    elif args.init:
        trainer.restore(args.init)
        trainer.step, trainer.seconds = 0, 0.0
    validation = Validation(args.fsdd, args.work_dir / "eval")
    curve_path = folder / "curve.csv"
    # A restart draws new pools; checkpoints do not store the current pool.
    batches = load_batches(stores_dir, SEED, trainer.step * 1000, FRAMES_PER_BATCH,
                           trainer.model.encoder.global_cmvn.mean)
    started, before = time.time(), trainer.seconds
    losses, audio_frames = [], 0

    def progress_of() -> float:
        return (trainer.step / args.steps if args.steps
                else trainer.seconds / (60.0 * args.minutes))

    while (progress := progress_of()) < 1.0:
        batch = next(batches)
        rate = learning_rate(args.peak_rate, trainer.step, progress)
        losses.append(trainer.train_step(batch, rate))
        audio_frames += int(batch.lengths.sum())
        trainer.seconds = before + time.time() - started
        if trainer.step % 50 == 0:
            print(f"{time.strftime('%H:%M:%S')} step {trainer.step} progress {progress:.3f} "
                  f"loss {np.mean(losses[-50:]):.4f} audio {audio_frames / 100:.0f} s "
                  f"in {trainer.seconds - before:.0f} s", flush=True)
        if trainer.step % args.validate_every == 0 or progress_of() >= 1.0:
            rates = validation(trainer.average)
            print(" ".join(f"{name} {rate:.2f}" for name, rate in rates.items()), flush=True)
            fresh = not curve_path.exists()
            with curve_path.open("a", newline="") as file:
                writer = csv.writer(file)
                if fresh:
                    writer.writerow(["step", "seconds", "loss", *rates])
                writer.writerow([trainer.step, f"{trainer.seconds:.0f}",
                                 f"{np.mean(losses[-args.validate_every:]):.4f}",
                                 *(f"{rate:.2f}" for rate in rates.values())])
            trainer.save(checkpoint)
            export_archive(copy.deepcopy(trainer.average), archive_config(config), list(UNITS),
                           str(folder / "digits.pt"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fsdd", type=Path, required=True)
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--run", default="base", help="name of the folder of this training")
    parser.add_argument("--position", choices=sorted(POSITIONS), default="chunk_rpe",
                        help="position scheme of the model")
    parser.add_argument("--init", type=Path, help="checkpoint of another run to start from")
    parser.add_argument("--peak_rate", type=float, default=PEAK_RATE)
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--steps", type=int)
    length.add_argument("--minutes", type=float)
    parser.add_argument("--validate_every", type=int, default=300, help="steps")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    run(args)


if __name__ == "__main__":
    main()
