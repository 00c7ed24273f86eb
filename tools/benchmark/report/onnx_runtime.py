"""ONNX Runtime (npm's onnxruntime-node) with the same weights: measured, and its section."""

import json
import os
import pathlib
import shutil
from typing import Any, Dict, List, NamedTuple, Union

from tools.benchmark.pages.programs import ProgramError, run_program
from tools.benchmark.pages.random_model import random_model
from tools.benchmark.report.cells import COLUMNS, Column, number, row_of, table_of
from tools.benchmark.report.onnx_export import ChunkStep, WholeUtterances, export_onnx
from tools.benchmark.report.plan import CHUNK_SIZE, LEFT_CONTEXT, Plan
from tools.benchmark.report.programs import Row

PACKAGE = "onnxruntime-node"
_SCRIPT = pathlib.Path(__file__).with_name("time_onnx.js")


def install(folder: pathlib.Path) -> None:
    """Gets the package into folder/node_modules unless it is there. Raises ProgramError."""
    if shutil.which("node") is None:
        raise ProgramError("node is not installed")
    if (folder / "node_modules" / PACKAGE).is_dir():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise ProgramError("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    run_program([npm, "install", "--prefix", str(folder), PACKAGE, "--ignore-scripts",
                 "--no-audit", "--no-fund", "--loglevel=error"])


def measure(plan: Plan, seed: int, folder: pathlib.Path) -> List[Row]:
    """Rows of precision, streams, ms of one chunk of one stream (median, p95, min),
    largest_difference of the log probabilities from PyTorch's, and version.

    Args:
        folder: for the package and the exported models.

    Raises:
        ProgramError: node, npm, the package or a Python module is missing, or a run failed.
    """
    install(folder)
    step = ChunkStep(random_model(plan.architecture, seed), plan.architecture.encoder, CHUNK_SIZE,
                     LEFT_CONTEXT)
    rows: List[Row] = []
    for batch in plan.onnx_batches:
        for exported in export(folder, step, batch):
            rows.append({"precision": exported.precision, "streams": batch,
                         **time_exported(folder, exported, plan.onnx_seconds)})
    return rows


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
    """Runs time_onnx.js; its times divided by the batch. Raises ProgramError.

    Args:
        folder: with the package.
    """
    text = run_program(["node", str(_SCRIPT), str(exported.model), str(exported.inputs),
                        json.dumps(exported.shapes), str(seconds)],
                       env={**os.environ, "NODE_PATH": str(folder / "node_modules")})
    result: Dict[str, Any] = json.loads(text)
    for name in ("median_ms", "p95_ms", "min_ms"):
        result[name] /= exported.batch
    return result


def section(results: Dict[str, Any]) -> str:
    """Part of the page, beside the times of Runnel."""
    rows = results["onnx"]
    if not rows:
        return "## ONNX Runtime\n\nNot measured here, see [Not measured](#not-measured).\n"

    def beside(row: Row) -> str:
        own = row_of(results["table"], row["precision"], row["streams"])
        return number(own["median_ms"] if own else None, 2)

    columns: List[Column] = [
        ("precision", lambda row: row["precision"]), ("batch", lambda row: str(row["streams"])),
        *COLUMNS[2:5],
        ("real-time streams per core", lambda row: number(CHUNK_SIZE * 40 / row["median_ms"], 0)),
        ("Runnel's ms", beside),
        ("largest difference of log probabilities",
         lambda row: f"{row['largest_difference']:.1e}")]
    return (f"## ONNX Runtime\n\nVersion {rows[0]['version']}, npm's `onnxruntime-node`, one "
            "thread, all optimisations. The weights are the same; "
            "`tools/benchmark/report/onnx_export.py` exports them with fixed sizes and constant "
            "position tables. int8 is dynamic: matmuls with constant weights become MatMulInteger "
            "with a scale per output channel (`tools/benchmark/report/onnx_quantize.py`); the "
            "convolutions of the subsampling stay float32. ONNX Runtime is measured by itself, not "
            "in turns. The time includes the copies of inputs and outputs by the Node binding. "
            "Differences are from PyTorch's float32, after one chunk.\n\n"
            + table_of(rows, columns))
