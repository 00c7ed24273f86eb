"""The time of a chunk on one core: precisions, batches, variants, instruction sets, threads."""

import os
import re
from typing import Any, List

from matplotlib.axes import Axes

from tools.benchmark.pages.figure import COLORS
from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.report.bench import Bench, Page, Row, Section
from tools.benchmark.report.cells import (COLUMNS, columns, commands, number, row_of, table_of,
                                          text, verdict)

# Speed-up over TorchScript, by instruction set and precision: of one stream, and of each of 16.
TARGETS = {"avx512_bf16": {"float32": (2.6, 4.1), "bfloat16": (5.5, 8.2), "int8": (9.5, 14.5)},
           "avx2": {"float32": (1.6, 2.6), "int8": (3.5, 5.0)}}
THREADS_TARGET = 1.95  # throughput of two threads, relative to one
LOAD_TARGET_S = 1.0  # until the model is loaded, packed and warm
FIRST_CHUNK_TARGET = 1.5  # time of the first chunk, relative to a later one
# The limit of RUNNEL_INSTRUCTION_SET=avx2 for the libraries of the baseline.
LIBTORCH_AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Haswell",
                 "DNNL_MAX_CPU_ISA": "AVX2"}


def streams(*numbers: int) -> str:
    return "--streams=" + ",".join(map(str, numbers))


def _instruction_set(row: Row) -> str:
    return str(row["compute"].split(", ")[-1])


def speed_up(row: Row) -> str:
    """With its target, if it has one."""
    plain = COLUMNS["speed-up"](row)
    target = dict(zip((1, 16), TARGETS.get(_instruction_set(row), {}).get(row["precision"], ()))
                  ).get(row["streams"])
    if target is None or row["speedup"] is None:
        return plain
    return f"{plain} ({'reached' if row['speedup'] >= target else 'short of'} {target:g}x)"


def _measure(bench: Bench) -> List[Row]:
    plan = bench.plan
    return [row for precision in plan.precisions for row in bench.encoder(
        f"--precision={precision}", streams(*plan.streams), f"--seconds={plan.seconds}",
        "--baseline")]


def _write(rows: List[Row], page: Page) -> str:
    start = {
        **columns("precision"), "model loaded, s": number("load_s", 2),
        "first chunk, ms": number("first_ms", 2), "later chunks, ms": number("later_ms", 2),
        "first relative to later": lambda row: verdict(
            row["first_ms"] / row["later_ms"], FIRST_CHUNK_TARGET, at_most=True)}
    starts = list({row["precision"]: row for row in rows}.values())
    figure = page.figure("benchmark_batch.svg", "time against the number of streams",
                         lambda axes: _draw(axes, rows, page.results.get("ONNX Runtime", [])))
    return f"""{commands(rows)}{table_of(rows, {**COLUMNS, "speed-up": speed_up})}
In brackets: whether the speed-up reaches its target. Targets are those of a core with AVX-512, VNNI
and bfloat16 instructions (`avx512_bf16`). The speed-up divided by **peak** is what a step would
reach if every operation ran at the peak.

{figure}
## Start-up

From the same processes, with the model file in the system's cache. Targets: {LOAD_TARGET_S:g} s and
{FIRST_CHUNK_TARGET:g}x.

{table_of(starts, start)}"""


def _draw(axes: Axes, rows: List[Row], onnx: List[Row]) -> None:
    for name, style, points in (("Runnel", "o-", rows), ("ONNX Runtime", "x:", onnx)):
        for precision in dict.fromkeys(row["precision"] for row in points):
            chosen = [row for row in points if row["precision"] == precision]
            axes.plot([row["streams"] for row in chosen], [row["median_ms"] for row in chosen],
                      style, color=COLORS[precision], label=f"{name}, {precision}")
    axes.plot([row["streams"] for row in rows], [row["baseline_median_ms"] for row in rows], ".",
              color=COLORS["other"], label="TorchScript in LibTorch, one stream")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted({row["streams"] for row in rows}))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("streams in the batch")
    axes.set_ylabel("ms per chunk and stream (median)")


def _measure_variants(bench: Bench) -> List[Row]:
    plan = bench.plan
    variants = {"LibTorch backend, float32": ["--backend=libtorch"],
                **{f"{precision}, cache in bfloat16":
                   [f"--precision={precision}", "--cache_precision=bfloat16"]
                   for precision in plan.precisions}}
    return [row for variant, flags in variants.items() for row in bench.encoder(
        *flags, streams(1, plan.batch), f"--seconds={plan.seconds}", "--baseline",
        variant=variant)]


def _write_variants(rows: List[Row], _: Page) -> str:
    return commands(rows) + table_of(rows, {
        "variant": text("variant"),
        **{name: cell for name, cell in COLUMNS.items() if name != "precision"}})


def _instruction_sets(bench: Bench) -> List[str]:
    """The names that RUNNEL_INSTRUCTION_SET may have, from the least to the most."""
    try:  # the message about a wrong name lists them
        bench.encoder(environment={"RUNNEL_INSTRUCTION_SET": "?"})
    except ProgramError as error:
        names = re.search(r"RUNNEL_INSTRUCTION_SET is '\?', expected one of (.*)", str(error))
        if names is None:
            raise
        return names[1].split(", ")
    raise ProgramError("bench_encoder accepts any RUNNEL_INSTRUCTION_SET")


def _measure_instruction_sets(bench: Bench) -> List[Row]:
    """From AVX2 on, which alone has a baseline; those of this CPU."""
    plan, names = bench.plan, _instruction_sets(bench)
    if "avx2" not in names:
        raise ProgramError(f"this architecture has no avx2, but {', '.join(names)}")
    found: List[Row] = []
    for name in names[names.index("avx2"):]:
        limits = {"RUNNEL_INSTRUCTION_SET": name, **(LIBTORCH_AVX2 if name == "avx2" else {})}
        for precision in plan.precisions:
            rows = bench.encoder(f"--precision={precision}", streams(*plan.sweep_streams),
                                 f"--seconds={plan.seconds}",
                                 *(["--baseline"] if name == "avx2" else []), environment=limits)
            found += [row for row in rows if _instruction_set(row) == name]  # others: not this CPU
    return found


def _write_instruction_sets(rows: List[Row], _: Page) -> str:
    return commands(rows) + """`RUNNEL_INSTRUCTION_SET` limits Runnel on this CPU. With AVX2 the
other variables limit the baseline, LibTorch in the same process, likewise.

""" + table_of(rows, {"instruction set": _instruction_set, **COLUMNS, "speed-up": speed_up})


def _measure_threads(bench: Bench) -> List[Row]:
    """The same batch in each of 1, 2, 4, ... threads, up to one per core."""
    plan = bench.plan
    numbers = [2 ** i for i in range((os.cpu_count() or 1).bit_length())]
    return [row for precision in plan.precisions for threads in numbers for row in bench.encoder(
        f"--precision={precision}", streams(plan.batch * threads), f"--num_threads={threads}",
        f"--seconds={plan.seconds}")]


def _write_threads(rows: List[Row], _: Page) -> str:
    def total(row: Row) -> float:
        return float(row["realtime_streams_per_core"] * row["num_threads"])

    def gain(row: Row) -> str:
        alone: Any = row_of(rows, precision=row["precision"], num_threads=1)
        ratio = total(row) / total(alone)
        return {1: "-", 2: verdict(ratio, THREADS_TARGET)}.get(row["num_threads"], f"{ratio:.2f}x")

    return (f"{commands(rows)}Each thread has its own batch. Target for two threads: "
            f"{THREADS_TARGET:g}x.\n\n" + table_of(rows, {
                **columns("precision"), "threads": text("num_threads"),
                **columns("streams", "ms", "p95", "min"),
                "real-time streams, all threads": lambda row: f"{total(row):.0f}",
                "relative to one thread": gain}))


SECTIONS = [Section("One core", _measure, _write),
            Section("Other variants", _measure_variants, _write_variants),
            Section("Other instruction sets", _measure_instruction_sets, _write_instruction_sets),
            Section("Threads", _measure_threads, _write_threads)]
