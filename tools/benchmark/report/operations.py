"""Results of bench_operations: single operations, and the parts of a step with their floors."""

from typing import Any, Dict, List, Tuple

from tools.benchmark.report.cells import Column, number, table_of
from tools.benchmark.report.programs import Row

WHOLE_STEP = "whole_step/"  # how the names of operations begin that have counters for each part


def section(operations: List[Row]) -> str:
    """Part of the page; empty if nothing was measured. Names are `operation` or
    `operation/backend/precision/streams`."""
    microseconds = {row["name"]: 1e6 / row["items_per_second"] for row in operations}
    if not microseconds:
        return ""
    frames = [{"name": name, "us": value} for name, value in microseconds.items()
              if "/" not in name]
    modules: Dict[Tuple[str, str], Row] = {}
    variants: Dict[str, None] = {}
    for name, value in microseconds.items():
        if "/" not in name:
            continue
        operation, backend, precision, streams = name.split("/")
        variants[f"{backend} {precision}"] = None
        row = modules.setdefault((operation, streams), {"name": operation, "streams": streams})
        row[f"{backend} {precision}"] = value
    columns: List[Column] = [
        ("operation", lambda row: row["name"]), ("streams", lambda row: row["streams"]),
        *[(variant, lambda row, variant=variant: number(row.get(variant), 1))
          for variant in variants]]
    ordered = sorted(modules.values(), key=lambda row: int(row["streams"]))
    return ("## Single operations\n\n```\nbench_operations\n```\n\n"
            "Mean microseconds on one thread, at the sizes of the AISHELL model. First, one "
            "feature frame of 80 bins: computed alone (`fbank`), and by a stream from packets of "
            "100 ms (`feature_stream`).\n\n"
            + table_of(frames, [("operation", lambda row: row["name"]),
                                ("microseconds per frame", lambda row: number(row["us"], 2))])
            + "\nSecond, one chunk of one stream: the time of a batch divided by its size. The "
            "modules of a layer include their norm and residual sum.\n\n"
            + table_of(ordered, columns))


def floors(results: Dict[str, Any]) -> str:
    """Part of the page: the least time that each part of a step can take, and its time."""
    machine = results["machine"]
    peaks = machine.get("peak_gflops_per_core", {})
    steps = [(*step["name"].split("/")[2:], step) for step in results["steps"]]
    rows = [row for precision, streams, step in steps if {precision, "float32"} <= peaks.keys()
            for row in _parts_of_step(step, precision, int(streams), peaks)]
    if not rows:
        return ""
    columns: List[Column] = [
        ("precision", lambda row: row["precision"]), ("streams", lambda row: str(row["streams"])),
        ("part", lambda row: row["part"]),
        ("10^6 operations", lambda row: number(row["operations"] / 1e6, 0)),
        ("MB read", lambda row: number(row["bytes"] / 1e6, 2)),
        ("floor, ms", lambda row: number(row["floor_ms"], 3)),
        ("set by", lambda row: row["set_by"]),
        ("ms", lambda row: number(row["ms"], 3)),
        ("times the floor", lambda row: number(row["ms"] / row["floor_ms"], 2, "x"))]
    speeds = ", ".join(f"{precision} {streams}: {step['read_gb_per_second']:.1f}"
                       for precision, streams, step in steps)
    return ("## Distance from the floor\n\n"
            f"```\nbench_operations --benchmark_filter={WHOLE_STEP}\n```\n\n"
            "The least time of each part of the model for one chunk of one stream, at the sizes of "
            "the AISHELL model, and the time that it takes.\n\n"
            "- **MB read**: the weights of the part, divided by the number of streams, because a "
            "step reads them once for all. For scores and context: the cached keys and values.\n"
            "- **floor**: the operations at the peak of the precision, or the MB at the speed of "
            "reading, whichever takes longer. Scores and context are float32 in every precision "
            "and use the peak of float32. `whole step` has the sum of the floors.\n"
            "- **speed of reading**: one thread reads as many bytes as the weights and caches of a "
            "step have, over and over. The last cache may hold a part of them. In GB/s, by "
            f"precision and streams: {speeds}.\n"
            "- **ms**: the median time of the modules of the part inside whole steps of all "
            "layers, with their norms and residual sums. `whole step` is the median time of a "
            "step.\n"
            "- **ms of attention**: the projections have the time of their matmuls when the large "
            "matmuls of a step run alone. Scores and context have the rest of the attention "
            "modules: also norm, softmax, quantisation and caches.\n\n"
            + table_of(rows, columns))


def _parts_of_step(step: Row, precision: str, streams: int, peaks: Dict[str, float]) -> List[Row]:
    """A row for each part, from the counters of bench_operations; the last is for all of them."""
    def part(name: str, operations: float, num_bytes: float, ms: float, peak: float) -> Row:
        compute_ms = operations / peak * 1e-6
        memory_ms = num_bytes / step["read_gb_per_second"] * 1e-6
        return {"part": name, "operations": operations, "bytes": num_bytes, "ms": ms,
                "floor_ms": max(compute_ms, memory_ms),
                "set_by": "operations" if compute_ms > memory_ms else "memory"}

    def dense(name: str, counter: str, ms: float) -> Row:
        return part(name, step[f"{counter}_operations"],
                    step[f"{counter}_weight_bytes"] / streams, ms, peaks[precision])

    projections_ms = step["attention_matmuls_ms"]
    rows = [dense("subsampling", "subsampling", step["subsampling_ms"]),
            dense("feed-forward", "feed_forward", step["feed_forward_ms"]),
            dense("attention projections", "attention", projections_ms),
            part("attention scores and context", step["scores_operations"], step["cache_bytes"],
                 step["attention_ms"] - projections_ms, peaks["float32"]),
            dense("convolution", "convolution", step["convolution_ms"]),
            dense("ctc", "ctc", step["ctc_ms"])]
    total = {name: sum(row[name] for row in rows) for name in ("operations", "bytes", "floor_ms")}
    rows.append({**total, "part": "whole step", "ms": step["step_ms"], "set_by": ""})
    return [{**row, "precision": precision, "streams": streams} for row in rows]
