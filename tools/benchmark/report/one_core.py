"""The time of a chunk on one core against its targets, in other variants, and on more cores."""

from typing import Any, Dict, List, Sequence, Tuple

from tools.benchmark.report.cells import (COLUMNS, Column, commands, number, percent, row_of,
                                          table_of, verdict)
from tools.benchmark.report.programs import Row

# Speed-up over TorchScript: of one stream, and per stream of a batch of 16.
TARGETS = {"float32": (2.6, 4.1), "bfloat16": (5.5, 8.2), "int8": (9.5, 14.5)}
THREADS_TARGET = 1.95  # throughput of two threads, relative to one
LOAD_TARGET_S = 1.0  # until the model is loaded, packed and warm
FIRST_CHUNK_TARGET = 1.5  # time of the first chunk, relative to a later one
PARTS = ("subsampling", "feed_forward", "attention", "convolution", "ctc")


def section(results: Dict[str, Any]) -> str:
    """All precisions and batches, their targets, and where the time goes."""
    return "\n".join(part for part in (_main_table(results), _targets(results),
                                       _where_time_goes(results)) if part)


def _main_table(results: Dict[str, Any]) -> str:
    if not results["table"]:
        return ""
    return ("## One core\n\n" + commands(results, "table") + "\n"
            + table_of(results["table"], COLUMNS) + "\n"
            + "![time against the number of streams](benchmark_batch.svg)\n")


def targets_table(rows: Sequence[Row], targets: Dict[str, Tuple[float, float]]) -> str:
    """The speed-up of each precision against its targets and its limit: of one stream, of 16."""
    def measured(precision: str, streams: int, target: float) -> str:
        row = row_of(rows, precision, streams)
        return verdict(row["speedup"] if row else None, target)

    def at_peak(precision: str, streams: int) -> str:
        row = row_of(rows, precision, streams)
        return ("-" if row is None or not row["speedup"] or not row["fraction_of_peak"]
                else number(row["speedup"] / row["fraction_of_peak"], 2, "x"))

    columns: List[Column] = [
        ("speed-up over TorchScript", lambda row: row["precision"]),
        ("target, 1 stream", lambda row: f"{row['one']:g}x"),
        ("measured", lambda row: measured(row["precision"], 1, row["one"])),
        ("at the peak", lambda row: at_peak(row["precision"], 1)),
        ("target, 16 streams, per stream", lambda row: f"{row['batch']:g}x"),
        ("measured", lambda row: measured(row["precision"], 16, row["batch"])),
        ("at the peak", lambda row: at_peak(row["precision"], 16))]
    return table_of([{"precision": precision, "one": one, "batch": batch}
                     for precision, (one, batch) in targets.items()], columns)


def _targets(results: Dict[str, Any]) -> str:
    computes = [start["compute"] for start in results["starts"]]
    used = ", ".join(sorted({text.split(", ")[-1] for text in computes}))
    return ("## Targets\n\nThe targets are those of a core with AVX-512, VNNI and bfloat16 "
            f"instructions (`avx512_bf16`). Measured here: `{used}`. **At the peak** is the "
            "speed-up if every operation of the step ran at the peak.\n\n"
            + targets_table(results["table"], TARGETS))


def _where_time_goes(results: Dict[str, Any]) -> str:
    rows = [row for row in results["table"]
            if row["matmul_share"] is not None and row["streams"] in (1, 16)]
    if not rows:
        return ""
    columns: List[Column] = COLUMNS[:3] + [
        (part.replace("_", "-"), lambda row, part=part: percent(row[f"matmul_share_{part}"]))
        for part in PARTS] + [
        ("everything else", lambda row: percent(1 - row["matmul_share"]))]
    return ("## Where the time goes\n\n"
            "The share of the time that the large matmuls of each part take when they run alone. "
            "Everything else is norms, softmax, attention scores and context, depthwise "
            "convolution, quantisation, activations that are not fused, copies, and the slow-down "
            "of matmuls that run between these operations.\n\n" + table_of(rows, columns))


def variants(results: Dict[str, Any]) -> str:
    """The LibTorch backend, and the CPU backend with other caches."""
    if not results["backends"]:
        return ""
    columns: List[Column] = [("variant", lambda row: row["label"]), *COLUMNS[1:]]
    return ("## Other variants\n\n" + commands(results, "backends") + "\n"
            + table_of(results["backends"], columns))


def threads(results: Dict[str, Any]) -> str:
    """The same batch in every thread."""
    rows = results["threads"]
    if not rows:
        return ""
    single = {row["precision"]: row["realtime_streams_per_core"] for row in rows
              if row["num_threads"] == 1}

    def total(row: Row) -> float:
        return float(row["realtime_streams_per_core"] * row["num_threads"])

    def gain(row: Row) -> str:
        if row["precision"] not in single or row["num_threads"] == 1:
            return "-"
        value = total(row) / single[row["precision"]]
        return (verdict(value, THREADS_TARGET) if row["num_threads"] == 2
                else number(value, 2, "x"))

    columns: List[Column] = [
        *COLUMNS[:1], ("threads", lambda row: str(row["num_threads"])), *COLUMNS[1:5],
        ("real-time streams, all threads", lambda row: number(total(row), 0)),
        ("relative to one thread", gain)]
    return ("## Threads\n\n" + commands(results, "threads") + "\n"
            f"Each thread has its own batch. Target for two threads: {THREADS_TARGET:g}x.\n\n"
            + table_of(rows, columns))


def start_up(results: Dict[str, Any]) -> str:
    """Until the model is loaded, and the first chunk."""
    if not results["starts"]:
        return ""
    columns: List[Column] = [
        *COLUMNS[:1], ("model loaded, s", lambda row: number(row["load_s"], 2)),
        ("first chunk, ms", lambda row: number(row["first_ms"], 2)),
        ("later chunks, ms", lambda row: number(row["later_ms"], 2)),
        ("first relative to later", lambda row: verdict(
            row["first_ms"] / row["later_ms"], FIRST_CHUNK_TARGET, at_most=True))]
    return ("## Start-up\n\nFrom the processes of [One core](#one-core), with the model file in "
            f"the system's cache. Targets: {LOAD_TARGET_S:g} s and {FIRST_CHUNK_TARGET:g}x.\n\n"
            + table_of(results["starts"], columns))
