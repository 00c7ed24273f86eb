"""One stream beside the others: on several threads, and with the positions of WeNet's models."""

import dataclasses
import itertools
import pathlib
from typing import Any, Dict, List

from models.reference.model import SpeechModel
from models.reference.positions import make_options
from tools.benchmark.pages.markdown import table
from tools.benchmark.pages.random_model import ARCHITECTURES, FASTCONFORMER_STREAMING, write_model
from tools.benchmark.report.cells import verdict
from tools.benchmark.report.plan import Plan
from tools.benchmark.report.programs import Programs, Row

_THREADS = (1, 2)
_WEIGHT_BYTES = {"float32": 4, "bfloat16": 2, "int8": 1}
_STEP_THREADS_TARGET = 1.6  # speed of one stream on two threads, relative to one
_POSITIONS_TARGET = 1.03  # time with unshifted positions, relative to chunk_rpe
_LEFT_CONTEXT = FASTCONFORMER_STREAMING["left_context"]


def measure(plan: Plan, seed: int, bin_folder: pathlib.Path, folder: pathlib.Path
            ) -> Dict[str, List[Dict[str, Any]]]:
    """Keys: `threads` (a row per model, precision and number) and `positions` (per scheme).

    Raises:
        ProgramError: a program failed.
    """
    folder.mkdir(exist_ok=True)
    results: Dict[str, List[Dict[str, Any]]] = {"threads": [], "positions": []}
    name = plan.large_models[0]
    large = folder / f"{name}.pt"
    write_model(ARCHITECTURES[name], seed, str(large))
    encoder = SpeechModel(ARCHITECTURES[name]).encoder
    weights = sum(tensor.numel() for tensor in encoder.parameters())
    for chunk_size, precision, threads in itertools.product(
            dict.fromkeys((plan.large_chunk_sizes[0], plan.large_chunk_sizes[-1])),
            plan.precisions, _THREADS):
        rows, machine, _ = Programs(bin_folder, large).table(
            [f"--precision={precision}", "--streams=1", f"--step_threads={threads}",
             f"--chunk_size={chunk_size}", f"--left_context={_LEFT_CONTEXT}",
             f"--seconds={plan.seconds}"])
        reading_ms = weights * _WEIGHT_BYTES[precision] / machine["memory_gb_per_second"] * 1e-6
        results["threads"] += [{**row, "model": name, "step_threads": threads,
                                "reading_ms": reading_ms} for row in rows]
    for scheme in ("chunk_rpe", "unshifted"):
        model = folder / f"{scheme}.pt"
        config = dataclasses.replace(plan.architecture.encoder, position=make_options(scheme))
        write_model(dataclasses.replace(plan.architecture, encoder=config), seed, str(model))
    for scheme in ("chunk_rpe", "unshifted"):
        rows, _, _ = Programs(bin_folder, folder / f"{scheme}.pt").table(
            [f"--precision={plan.precisions[-1]}", f"--streams=1,{plan.batch}",
             f"--seconds={plan.seconds}"])
        results["positions"] += [{**row, "scheme": scheme} for row in rows]
    return results


def section(results: Dict[str, List[Dict[str, Any]]]) -> str:
    """Part of the page; empty if nothing was measured."""
    if not results:
        return ""
    alone = {(row["precision"], row["chunk_size"]): row["median_ms"] for row in results["threads"]
             if row["step_threads"] == 1}

    def relative_to_one(row: Row) -> str:
        return "-" if row["step_threads"] == 1 else verdict(
            alone[row["precision"], row["chunk_size"]] / row["median_ms"], _STEP_THREADS_TARGET)

    threads = table(
        ["model", "C", "precision", "threads of a step", "ms", "p95", "relative to one",
         "reading the weights, ms"],
        [[row["model"], str(row["chunk_size"]), row["precision"], str(row["step_threads"]),
          f"{row['median_ms']:.2f}", f"{row['p95_ms']:.2f}", relative_to_one(row),
          f"{row['reading_ms']:.2f}"] for row in results["threads"]])
    base = {row["streams"]: row["median_ms"] for row in results["positions"]
            if row["scheme"] == "chunk_rpe"}

    def relative_to_chunk_rpe(row: Row) -> str:
        return "-" if row["scheme"] == "chunk_rpe" else verdict(
            row["median_ms"] / base[row["streams"]], _POSITIONS_TARGET, at_most=True)

    positions = table(
        ["positions", "streams", "ms", "relative to chunk_rpe", "MB per stream"],
        [[row["scheme"], str(row["streams"]), f"{row['median_ms']:.2f}",
          relative_to_chunk_rpe(row), f"{row['bytes_per_stream'] / 1e6:.2f}"]
         for row in results["positions"]])
    return ("## One stream on several threads\n\n"
            "`--step_threads=N` splits the large kernels of a step. Results are the same. "
            f"Target for two threads: {_STEP_THREADS_TARGET:g}x. M = {_LEFT_CONTEXT}. One "
            "thread needs at least the time of the last column, in which it reads the weights of "
            "the encoder from memory, unless they lie in the last cache.\n\n"
            + threads + "\n## Position schemes\n\n"
            "The model of this page with the positions of WeNet's models (`unshifted`), int8. "
            f"Target: at most {_POSITIONS_TARGET:g} times the time of `chunk_rpe`.\n\n" + positions)
