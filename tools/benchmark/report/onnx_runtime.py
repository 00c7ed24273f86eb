"""ONNX Runtime (npm's onnxruntime-node) with the same weights: measured, and its section."""

import json
import os
import pathlib
import shutil
from typing import Any, Dict, List, NamedTuple, Union

from tools.benchmark.pages.programs import ProgramError, run_program
from tools.benchmark.pages.random_model import random_model
from tools.benchmark.report.bench import Bench, Page, Row, Section
from tools.benchmark.report.cells import columns, row_of, table_of, text
from tools.benchmark.report.onnx_export import ChunkStep, WholeUtterances, export_onnx
from tools.benchmark.report.plan import CHUNK_SIZE, LEFT_CONTEXT, SEED

_PACKAGE = "onnxruntime-node"
_SCRIPT = pathlib.Path(__file__).with_name("time_onnx.js")
TITLE = "ONNX Runtime"


def _install(folder: pathlib.Path) -> None:
    """Gets the package into folder/node_modules unless it is there. Raises ProgramError."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise ProgramError(f"{program} is not installed")
    if not (folder / "node_modules" / _PACKAGE).is_dir():
        run_program(["npm", "install", "--prefix", str(folder), _PACKAGE, "--ignore-scripts",
                     "--no-audit", "--no-fund", "--loglevel=error"])


class Exported(NamedTuple):
    """A file of one precision and batch."""

    precision: str
    batch: int
    model: pathlib.Path
    inputs: pathlib.Path  # as INPUTS_PREFIX of time_onnx.js
    shapes: Dict[str, List[int]]  # of the inputs


def export(folder: pathlib.Path, step: Union[ChunkStep, WholeUtterances], batch: int
           ) -> List[Exported]:
    """Writes the step in float32 and int8 into the folder.

    Raises:
        ProgramError: a Python module is missing.
    """
    try:  # Debian's python3-onnx; imported here since nothing else needs it
        from tools.benchmark.report.onnx_quantize import quantize_file
    except ImportError as error:
        raise ProgramError(f"Python: {error}") from None
    name = f"{type(step).__name__}_{batch}"
    exported, quantized = folder / f"{name}.onnx", folder / f"{name}_int8.onnx"
    export_onnx(step, batch, exported)
    quantize_file(exported, quantized)
    shapes = {name: list(tensor.shape)
              for name, tensor in zip(step.input_names, step.inputs(batch))}
    return [Exported(precision, batch, path, exported, shapes)
            for precision, path in (("float32", exported), ("int8", quantized))]


def time_exported(folder: pathlib.Path, exported: Exported, seconds: float) -> Dict[str, Any]:
    """Runs time_onnx.js with the package in the folder; its times divided by the batch."""
    result: Dict[str, Any] = json.loads(run_program(
        ["node", str(_SCRIPT), str(exported.model), str(exported.inputs),
         json.dumps(exported.shapes), str(seconds)],
        env={**os.environ, "NODE_PATH": str(folder / "node_modules")}))
    for name in ("median_ms", "p95_ms", "min_ms"):
        result[name] /= exported.batch
    return result


def _measure(bench: Bench) -> List[Row]:
    """Rows of precision, streams, times of one chunk of one stream, largest_difference of the log
    probabilities from PyTorch's, and version."""
    plan, folder = bench.plan, bench.work / "onnxruntime"
    folder.mkdir(exist_ok=True)
    _install(folder)
    step = ChunkStep(random_model(plan.architecture, SEED), plan.architecture.encoder, CHUNK_SIZE,
                     LEFT_CONTEXT)
    rows = [{"precision": exported.precision, "streams": batch,
             **time_exported(folder, exported, plan.onnx_seconds)}
            for batch in plan.onnx_batches for exported in export(folder, step, batch)]
    return [{**row, "realtime_streams_per_core": CHUNK_SIZE * 40 / row["median_ms"]}
            for row in rows]


def _write(rows: List[Row], page: Page) -> str:
    def beside(row: Row) -> str:
        own = row_of(page.results["One core"], precision=row["precision"], streams=row["streams"])
        return "-" if own is None else f"{own['median_ms']:.2f}"

    return f"""Version {rows[0]["version"]}, npm's `onnxruntime-node`, one thread, all
optimisations. The weights are the same; `tools/benchmark/report/onnx_export.py` exports them with
fixed sizes and constant position tables. int8 is dynamic: matmuls with constant weights become
MatMulInteger with a scale per output channel (`tools/benchmark/report/onnx_quantize.py`); the
convolutions of the subsampling stay float32. ONNX Runtime is measured by itself, not in turns. The
time includes the copies of inputs and outputs by the Node binding. Differences are from PyTorch's
float32, after one chunk.

""" + table_of(rows, {
        **columns("precision"), "batch": text("streams"),
        **columns("ms", "p95", "min", "real-time streams per core"), "Runnel's ms": beside,
        "largest difference of log probabilities":
            lambda row: f"{row['largest_difference']:.1e}"})


SECTIONS = [Section(TITLE, _measure, _write)]
