"""Measured times of a batch step, and the model that the simulation derives from them."""

import dataclasses
import json
import pathlib
import tempfile
from typing import Any, Dict, List

import numpy as np

from tools.benchmark.pages.programs import run_program

_RUNS = 3
BATCH_SIZES = (1, 2, 4, 8, 16, 32)
_STREAMS_PER_THREAD = 64  # more than a batch, so that their states have left the CPU's caches


@dataclasses.dataclass(frozen=True)
class StepTimes:
    """The time of a step of the encoder and the CTC head.

    batch_sizes, step_ms: of one thread that runs alone; ascending batch sizes.
    contention: step time while two threads run, divided by that of one thread.
    spread: the 95th percentile of the step times divided by their median.
    chunk_ms: audio of a chunk.
    machine: what was measured, in words.
    """

    batch_sizes: List[int]
    step_ms: List[float]
    contention: float
    spread: float
    chunk_ms: float
    machine: str

    def table(self, max_batch: int) -> List[float]:
        """Milliseconds of a step at 0, 1, ..., max_batch streams, by linear interpolation; beyond
        the largest measured batch in proportion to the batch."""
        sizes = np.arange(max_batch + 1)
        inside = np.interp(sizes, self.batch_sizes, self.step_ms)
        beyond = sizes * (self.step_ms[-1] / self.batch_sizes[-1])
        return [float(value) for value in
                np.where(sizes <= self.batch_sizes[-1], inside, beyond)]

    def save(self, path: pathlib.Path) -> None:
        """Writes JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: pathlib.Path) -> "StepTimes":
        """Reads what `save` wrote. Raises OSError, ValueError, TypeError."""
        return StepTimes(**json.loads(path.read_text(encoding="utf-8")))


def _measure(program: pathlib.Path, model: pathlib.Path, precision: str, batch: int, threads: int,
             seconds: float) -> Dict[str, Any]:
    """The report of the run with the shortest steps: others were disturbed."""
    return min((_run(program, model, precision, batch, threads, seconds) for _ in range(_RUNS)),
               key=lambda report: step_ms_of(report, batch))


def _run(program: pathlib.Path, model: pathlib.Path, precision: str, batch: int, threads: int,
         seconds: float) -> Dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        run_program([str(program), f"--model={model}", f"--precision={precision}",
                     f"--streams={_STREAMS_PER_THREAD * threads}", f"--num_threads={threads}",
                     f"--max_batch_streams={batch}", f"--seconds={seconds}", f"--json={report}"])
        found: Dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found


def step_ms_of(report: Dict[str, Any], batch: int) -> float:
    """Of a report of bench_encoder with one result: the median time of a step."""
    return float(report["results"][0]["ms_per_stream_chunk_median"]) * batch


def measure(program: pathlib.Path, model: pathlib.Path, precision: str, seconds: float
            ) -> StepTimes:
    """Runs bench_encoder with one thread at every batch size, and with two threads at 16, three
    times each.

    Raises:
        ProgramError: it fails.
    """
    reports = {batch: _measure(program, model, precision, batch, 1, seconds)
               for batch in BATCH_SIZES}
    both = _measure(program, model, precision, 16, 2, seconds)
    alone = reports[16]
    machine, result = alone["machine"], alone["results"][0]
    return StepTimes(
        list(BATCH_SIZES), [step_ms_of(reports[batch], batch) for batch in BATCH_SIZES],
        max(1.0, step_ms_of(both, 16) / step_ms_of(alone, 16)),
        float(result["ms_per_stream_chunk_p95"] / result["ms_per_stream_chunk_median"]),
        float(result["realtime_streams_per_core"] * result["ms_per_stream_chunk_median"]),
        f"{machine['cpu']}, {precision}")
