"""Bulk decoding: whole utterances in batches, by Runnel, TorchScript and ONNX Runtime."""

import functools
import statistics
import time
from typing import Callable, Dict, List, NamedTuple

import numpy as np
import soundfile
import torch

from tools.benchmark.pages.programs import run_decoder
from tools.benchmark.pages.random_model import random_model
from tools.benchmark.report import onnx_runtime
from tools.benchmark.report.bench import Bench, Page, Row, Section
from tools.benchmark.report.cells import number, table_of, text
from tools.benchmark.report.onnx_export import WholeUtterances
from tools.benchmark.report.plan import CHUNK_SIZE, LEFT_CONTEXT, SEED, Plan

_FRAMES_PER_SECOND = 100
_RATE_HZ = 16000
_WARM_UP_CALLS = 3  # LibTorch compiles the program for a shape in its first calls
_FLAGS = ["--chunk_size=-1", "--left_context=-1"]
_CHUNK_FLAGS = [f"--chunk_size={CHUNK_SIZE}", f"--left_context={LEFT_CONTEXT}"]


class Candidate(NamedTuple):
    """A row to be measured."""

    engine: str
    precision: str
    batch: int  # recordings
    measure: Callable[[], float]  # seconds of audio per second of one thread


def _measure(bench: Bench) -> List[Row]:
    """Rows of engine, precision, batch and hours (of audio per core-hour, median of all rounds)."""
    candidates = _torchscript(bench) + _onnx(bench) + _runnel(bench)
    rounds = [[candidate.measure() for candidate in candidates]
              for _ in range(bench.plan.bulk_rounds)]  # in turns: the clock of the CPU changes
    return [{"engine": candidate.engine, "precision": candidate.precision,
             "batch": candidate.batch, "hours": statistics.median(hours)}
            for candidate, hours in zip(candidates, zip(*rounds))]


def _random_features(plan: Plan, count: int) -> np.ndarray:
    shape = (count, plan.bulk_seconds * _FRAMES_PER_SECOND, plan.architecture.encoder.input_dim)
    return np.random.default_rng(1).normal(12, 4, shape).astype(np.float32)


def _runnel(bench: Bench) -> List[Candidate]:
    """From features. In the last precision also in chunks, and from audio."""
    plan, folder = bench.plan, bench.work / "bulk"
    folder.mkdir(exist_ok=True)
    features, audio = [], []
    noise = np.random.default_rng(2)
    for i, frames in enumerate(_random_features(plan, plan.bulk_recordings)):
        features.append(str(folder / f"{i}.npy"))
        np.save(features[-1], frames)
        audio.append(str(folder / f"{i}.wav"))
        samples = noise.normal(0, 2000, plan.bulk_seconds * _RATE_HZ).astype(np.int16)
        soundfile.write(audio[-1], samples, _RATE_HZ)

    def candidate(engine: str, flags: List[str], precision: str, batch: int) -> Candidate:
        def decode() -> float:
            _, audio_s, wall_s = run_decoder(
                [bench.path("decode_wav"), f"--model={bench.model}", *flags,
                 f"--precision={precision}", f"--batch_streams={batch}"])
            return audio_s / wall_s
        return Candidate(engine, precision, batch, decode)

    from_features, last = "--features=" + ",".join(features), plan.precisions[-1]
    return [*(candidate("Runnel", [from_features, *_FLAGS], precision, batch)
              for precision in plan.precisions for batch in plan.bulk_batches),
            candidate("Runnel, in chunks", [from_features, *_CHUNK_FLAGS], last, plan.batch),
            candidate("Runnel, from WAV files", ["--wav=" + ",".join(audio), *_FLAGS], last,
                      plan.onnx_batches[-1])]


def _torchscript(bench: Bench) -> List[Candidate]:
    plan = bench.plan
    module = torch.jit.load(str(bench.model)).eval()

    def decode(batch: int) -> float:
        features = torch.from_numpy(_random_features(plan, batch))
        lengths = torch.full([batch], features.size(1))
        times: List[float] = []
        torch.set_num_threads(1)
        with torch.inference_mode():
            while len(times) <= _WARM_UP_CALLS or sum(times[_WARM_UP_CALLS:]) < plan.seconds:
                start = time.perf_counter()
                module(features, lengths, -1, -1)
                times.append(time.perf_counter() - start)
        return batch * plan.bulk_seconds / statistics.median(times[_WARM_UP_CALLS:])

    return [Candidate("TorchScript", "float32", batch, functools.partial(decode, batch))
            for batch in plan.onnx_batches]


def _onnx(bench: Bench) -> List[Candidate]:
    """None where ONNX Runtime could not be measured."""
    plan, folder = bench.plan, bench.work / "onnxruntime"
    if onnx_runtime.TITLE not in bench.results:
        return []
    step = WholeUtterances(random_model(plan.architecture, SEED), plan.architecture.encoder,
                           plan.bulk_seconds * _FRAMES_PER_SECOND)

    def decode(exported: onnx_runtime.Exported) -> float:
        result = onnx_runtime.time_exported(folder, exported, plan.seconds)
        return plan.bulk_seconds * 1000 / float(result["median_ms"])

    candidates = [Candidate(onnx_runtime.TITLE, exported.precision, exported.batch,
                            functools.partial(decode, exported))
                  for batch in plan.onnx_batches
                  for exported in onnx_runtime.export(folder, step, batch)]
    return sorted(candidates, key=lambda candidate: candidate.precision)


def _write(rows: List[Row], page: Page) -> str:
    plan, last = page.plan, rows[-1]
    base: Dict[str, float] = rows[0]  # TorchScript, one recording at a time
    return f"""```
decode_wav --model=benchmark.pt --features=0.npy,1.npy,... {" ".join(_FLAGS)} \
--precision={last["precision"]} --batch_streams={last["batch"]}
```

Hours of audio per hour of a core, on one thread. {plan.bulk_recordings} recordings of
{plan.bulk_seconds} s of noise are decoded, each as a whole utterance. The row in chunks has
`{" ".join(_CHUNK_FLAGS)}`. Medians of {plan.bulk_rounds} rounds, in which the rows take turns.

- **Runnel** is the time that `decode_wav` prints. It reads the files, searches greedily and writes
  the text. Loading the model does not count.
- **TorchScript** is the whole-utterance `forward` of the same file in LibTorch.
- **ONNX Runtime** has the same weights, exported and quantised as for [chunks](#onnx-runtime). The
  number of frames is fixed, which is fastest there.
- TorchScript and ONNX Runtime compute log probabilities only, without a search.
- Features are computed beforehand in every row but the last.
- All recordings have the same length, so no batch is padded. Runnel never pads. In the other
  engines a batch of different lengths needs padding.

""" + table_of(rows, {
        "engine": text("engine"), "precision": text("precision"),
        "recordings per batch": text("batch"), "hours of audio per core-hour": number("hours", 0),
        "relative to TorchScript": lambda row: f"{row['hours'] / base['hours']:.2f}x"})


SECTIONS = [Section("Bulk decoding", _measure, _write)]
