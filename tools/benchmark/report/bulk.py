"""Bulk decoding: whole utterances in batches, by Runnel, TorchScript and ONNX Runtime."""

import functools
import pathlib
import re
import statistics
import time
import wave
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np
import torch

from tools.benchmark.pages.markdown import table
from tools.benchmark.pages.programs import ProgramError, run_program
from tools.benchmark.pages.random_model import random_model
from tools.benchmark.report import onnx_runtime
from tools.benchmark.report.onnx_export import WholeUtterances
from tools.benchmark.report.plan import CHUNK_SIZE, LEFT_CONTEXT, Plan

_FRAMES_PER_SECOND = 100
_SAMPLE_RATE_HZ = 16000
_WARM_UP_CALLS = 3  # LibTorch compiles the program for a shape in its first calls
_FLAGS = ["--chunk_size=-1", "--left_context=-1"]
_CHUNK_FLAGS = [f"--chunk_size={CHUNK_SIZE}", f"--left_context={LEFT_CONTEXT}"]
_IN_CHUNKS = "Runnel, in chunks"
_FROM_AUDIO = "Runnel, from WAV files"


class Candidate(NamedTuple):
    """A row to be measured."""

    engine: str
    precision: str
    batch: int  # recordings
    measure: Callable[[], float]  # seconds of audio per second of one thread


def measure(plan: Plan, seed: int, bin_folder: pathlib.Path, model: pathlib.Path,
            folder: pathlib.Path, onnx_folder: Optional[pathlib.Path]) -> Dict[str, Any]:
    """Keys: `recordings` (their number), `seconds` (of one), `rounds`, and `rows` of engine,
    precision, batch and hours (of audio per core-hour, the median of all rounds).

    Args:
        model: the archive of random_model(plan.architecture, seed).
        folder: for the recordings.
        onnx_folder: with ONNX Runtime installed; None: it is left out.

    Raises:
        ProgramError: a program failed.
    """
    folder.mkdir(exist_ok=True)
    candidates = (_torchscript(plan, model) + _onnx(plan, seed, onnx_folder)
                  + _runnel(plan, bin_folder, model, folder))
    found: List[List[float]] = [[] for _ in candidates]
    for _ in range(plan.bulk_rounds):  # in turns: the clock of the CPU changes
        for candidate, hours in zip(candidates, found):
            hours.append(candidate.measure())
    rows = [{"engine": candidate.engine, "precision": candidate.precision,
             "batch": candidate.batch, "hours": statistics.median(hours)}
            for candidate, hours in zip(candidates, found)]
    return {"recordings": plan.bulk_recordings, "seconds": plan.bulk_seconds,
            "rounds": plan.bulk_rounds, "rows": rows}


def _random_features(plan: Plan, count: int) -> np.ndarray:
    shape = (count, plan.bulk_seconds * _FRAMES_PER_SECOND, plan.architecture.encoder.input_dim)
    return np.random.default_rng(1).normal(12, 4, shape).astype(np.float32)


def _runnel(plan: Plan, bin_folder: pathlib.Path, model: pathlib.Path, folder: pathlib.Path
            ) -> List[Candidate]:
    """From features. In the last precision also in chunks, and from audio."""
    features, audio = [], []
    noise = np.random.default_rng(2)
    for i, frames in enumerate(_random_features(plan, plan.bulk_recordings)):
        features.append(str(folder / f"{i}.npy"))
        np.save(features[-1], frames)
        audio.append(str(folder / f"{i}.wav"))
        with wave.open(audio[-1], "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(_SAMPLE_RATE_HZ)
            samples = noise.normal(0, 2000, plan.bulk_seconds * _SAMPLE_RATE_HZ)
            file.writeframes(samples.astype("<i2").tobytes())

    def decode(files: str, flags: List[str], precision: str, batch: int) -> float:
        text = run_program([str(bin_folder / "decode_wav"), f"--model={model}", files, *flags,
                            f"--precision={precision}", f"--batch_streams={batch}"],
                           with_messages=True)
        times = re.search(r"audio ([\d.]+) s, wall ([\d.]+) s", text)
        if times is None:
            raise ProgramError("decode_wav printed no times")
        return float(times[1]) / max(float(times[2]), 0.01)  # 0.01 s is what it resolves

    from_features, from_audio = "--features=" + ",".join(features), "--wav=" + ",".join(audio)
    def candidate(engine: str, files: str, flags: List[str], precision: str, batch: int
                  ) -> Candidate:
        return Candidate(engine, precision, batch,
                         functools.partial(decode, files, flags, precision, batch))

    last = plan.precisions[-1]
    return [*(candidate("Runnel", from_features, _FLAGS, precision, batch)
              for precision in plan.precisions for batch in plan.bulk_batches),
            candidate(_IN_CHUNKS, from_features, _CHUNK_FLAGS, last, plan.batch),
            candidate(_FROM_AUDIO, from_audio, _FLAGS, last, plan.onnx_batches[-1])]


def _torchscript(plan: Plan, model: pathlib.Path) -> List[Candidate]:
    module = torch.jit.load(str(model)).eval()

    def forward(features: torch.Tensor) -> float:
        """Seconds of one call."""
        lengths = torch.full([features.size(0)], features.size(1))
        start = time.perf_counter()
        module(features, lengths, -1, -1)
        return time.perf_counter() - start

    def decode(batch: int) -> float:
        features = torch.from_numpy(_random_features(plan, batch))
        torch.set_num_threads(1)
        with torch.inference_mode():
            for _ in range(_WARM_UP_CALLS):
                forward(features)
            times: List[float] = []
            while sum(times) < plan.seconds:
                times.append(forward(features))
        return batch * plan.bulk_seconds / statistics.median(times)

    return [Candidate("TorchScript", "float32", batch, functools.partial(decode, batch))
            for batch in plan.onnx_batches]


def _onnx(plan: Plan, seed: int, folder: Optional[pathlib.Path]) -> List[Candidate]:
    if folder is None:
        return []
    package = folder  # decode() needs a name that is never None
    encoder = plan.architecture.encoder
    step = WholeUtterances(random_model(plan.architecture, seed), encoder,
                           plan.bulk_seconds * _FRAMES_PER_SECOND)

    def decode(exported: onnx_runtime.Exported) -> float:
        result = onnx_runtime.time_exported(package, exported, plan.seconds)
        return plan.bulk_seconds * 1000 / float(result["median_ms"])

    candidates = [Candidate("ONNX Runtime", exported.precision, exported.batch,
                            functools.partial(decode, exported))
                  for batch in plan.onnx_batches
                  for exported in onnx_runtime.export(folder, step, batch)]
    return sorted(candidates, key=lambda candidate: candidate.precision)


def section(results: Dict[str, Any]) -> str:
    """Part of the page; empty if nothing was measured."""
    if not results:
        return ""
    rows = results["rows"]
    base = rows[0]  # TorchScript, one recording at a time
    last = rows[-1]
    return ("## Bulk decoding\n\n"
            f"```\ndecode_wav --model=benchmark.pt --features=0.npy,1.npy,... {' '.join(_FLAGS)} "
            f"--precision={last['precision']} --batch_streams={last['batch']}\n```\n\n"
            f"Hours of audio per hour of a core, on one thread. {results['recordings']} recordings "
            f"of {results['seconds']} s of noise are decoded, each as a whole utterance. The row "
            f"in chunks has `{' '.join(_CHUNK_FLAGS)}`. Medians "
            f"of {results['rounds']} rounds, in which the rows take turns.\n\n"
            "- **Runnel** is the time that `decode_wav` prints. It reads the files, searches "
            "greedily and writes the text. Loading the model does not count.\n"
            "- **TorchScript** is the whole-utterance `forward` of the same file in LibTorch.\n"
            "- **ONNX Runtime** has the same weights, exported and quantised as for "
            "[chunks](#onnx-runtime). The number of frames is fixed, which is fastest there.\n"
            "- TorchScript and ONNX Runtime compute log probabilities only, without a search.\n"
            "- Features are computed beforehand in every row but the last.\n"
            "- All recordings have the same length, so no batch is padded. Runnel never pads. In "
            "the other engines a batch of different lengths needs padding.\n\n"
            + table(["engine", "precision", "recordings per batch", "hours of audio per core-hour",
                     "relative to TorchScript"],
                    [[row["engine"], row["precision"], str(row["batch"]), f"{row['hours']:.0f}",
                      f"{row['hours'] / base['hours']:.2f}x"] for row in rows]))
