"""Measures ONNX Runtime (npm's onnxruntime-node) with the same weights."""

import json
import os
import pathlib
import shutil
from typing import Any, Dict, List

from tools.benchmark.pages.programs import ProgramError, run_program
from tools.benchmark.pages.random_model import random_model
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
    try:  # Debian's python3-onnx; imported here since nothing else needs it
        from tools.benchmark.report.onnx_quantize import quantize_file
    except ImportError as error:
        raise ProgramError(f"Python: {error}") from None
    from tools.benchmark.report.onnx_export import INPUTS, ChunkStep, export_onnx
    step = ChunkStep(random_model(plan.architecture, seed), plan.architecture.encoder, CHUNK_SIZE,
                     LEFT_CONTEXT)
    rows: List[Row] = []
    for batch in plan.onnx_batches:
        shapes = dict(zip(INPUTS, (list(tensor.shape) for tensor in step.inputs(batch))))
        exported = folder / f"float32_{batch}.onnx"
        quantized = folder / f"int8_{batch}.onnx"
        export_onnx(step, batch, exported)
        quantize_file(exported, quantized)
        for precision, path in (("float32", exported), ("int8", quantized)):
            rows.append({"precision": precision, "streams": batch,
                         **_time(folder, path, exported, shapes, batch, plan.onnx_seconds)})
    return rows


def _time(folder: pathlib.Path, model: pathlib.Path, inputs: pathlib.Path,
          shapes: Dict[str, List[int]], batch: int, seconds: float) -> Dict[str, Any]:
    """Runs time_onnx.js; its times divided by the batch."""
    text = run_program(["node", str(_SCRIPT), str(model), str(inputs), json.dumps(shapes),
                        str(seconds)],
                       env={**os.environ, "NODE_PATH": str(folder / "node_modules")})
    result: Dict[str, Any] = json.loads(text)
    for name in ("median_ms", "p95_ms", "min_ms"):
        result[name] /= batch
    return result
