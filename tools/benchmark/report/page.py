"""The benchmark's page, in Markdown, from its results."""

from typing import Any, Dict, List, Sequence

from tools.benchmark.report import (bulk, instruction_sets, large_models, one_core, one_stream,
                                    onnx_runtime, operations, sweeps)
from tools.benchmark.report.cells import (Column, commands, figure, number, percent, row_of,
                                          table_of)
from tools.benchmark.report.plan import CHUNK_SIZE, LEFT_CONTEXT
from tools.benchmark.report.programs import Row

DRIFT_TARGET = 0.03  # of the time per chunk after ten hours, relative to a new stream

_INTRODUCTION = """# Benchmarks

`make bench` measures everything below, draws the figures and writes this page. The numbers hold
for the machine described here only. {quick}

The model has random weights in a common architecture (`tools/benchmark/pages/random_model.py`):
{model}, {parameters} million parameters. Unless stated otherwise, a chunk has {chunk_size} encoder
frames ({chunk_ms:.0f} ms of audio) and {left_context} encoder frames of left context.

**Time** is that of one chunk of one stream: the time of one step of the encoder and the CTC head
over a batch, divided by the batch size. The streams are past their start and all caches are full.
Features are computed beforehand and no search runs; for the features see
[Single operations](#single-operations). Times are medians unless a column says otherwise.

**Baseline** is the TorchScript `forward_chunk` of the same file, run by LibTorch for one stream on
one thread. It is measured in turns with Runnel (A B A B), after LibTorch has optimised it.

**Matmuls** is the share of the time that the large matrix multiplications take when they run alone,
with packed weights, in the same run.

**Peak** is the speed in operations per second as a share of the CPU's peak. The peak is the speed
of Runnel's fastest of several large matmuls whose weights stay in the cache, measured in the same
run. The CPU itself can be a few percent faster.
"""


def write_page(results: Dict[str, Any], figures: Sequence[str]) -> str:
    """The whole text."""
    sections = [_introduction(results), _machine(results), one_core.section(results),
                operations.floors(results), one_core.variants(results),
                instruction_sets.section(results), one_core.threads(results),
                one_core.start_up(results), onnx_runtime.section(results),
                bulk.section(results.get("bulk", {})),
                sweeps.section(results, figures), _hours(results, figures),
                operations.section(results["operations"]), _search(results),
                one_stream.section(results.get("one_stream", {})),
                large_models.section(results.get("large_models", {})), _notes(results)]
    return "\n".join(section for section in sections if section)


def _introduction(results: Dict[str, Any]) -> str:
    quick = ("**This is the quick run of the tests: a tiny model and meaningless times.** "
             if results["quick"] else "")
    model = results["model"]
    return _INTRODUCTION.format(quick=quick, model=model["description"],
                                parameters=f"{model['parameters'] / 1e6:.1f}",
                                chunk_size=CHUNK_SIZE, chunk_ms=CHUNK_SIZE * 40.0,
                                left_context=LEFT_CONTEXT)


def _machine(results: Dict[str, Any]) -> str:
    machine = results["machine"]
    if not machine:
        return ""
    peaks = ", ".join(f"{precision} {peak:.0f}"
                      for precision, peak in machine["peak_gflops_per_core"].items())
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    return ("## Machine\n\n"
            f"{machine['cpu']}, {machine['cores']} cores, {', '.join(machine['isa'])}. "
            f"{libraries}. Load average before the run: {results['load']:.1f}.\n\n"
            f"Peak of one thread, 10^9 operations per second: {peaks or 'not measured'}. "
            f"Memory, read by one thread: {machine['memory_gb_per_second']:.1f} GB/s.\n\n"
            "Data types and instruction sets of each precision:\n\n"
            + "".join(f"- {start['compute']}\n" for start in results["starts"]))


def _hours(results: Dict[str, Any], figures: Sequence[str]) -> str:
    run = results["long_run"]
    if not run:
        return ""
    bytes_seen = [row["bytes_per_stream"] for row in run["minutes"]]
    resident = [row["resident_bytes"] / 1e6 for row in run["minutes"]]
    low, high = min(bytes_seen) / 1e6, max(bytes_seen) / 1e6
    memory = (f"State of the stream: {low:.2f} to {high:.2f} MB. "
              f"Process: {resident[0]:.1f} MB after the first minute, {resident[-1]:.1f} MB "
              "after the last.")
    drift = abs(run["ratio_in_turns"] - 1)
    verdict = "within" if drift <= DRIFT_TARGET else "outside"
    return (f"## {run['hours']:g} hours of one stream\n\n" + commands(results, "long_run") + "\n"
            f"Time per chunk of the last hour relative to the first minute: "
            f"{run['ratio_over_time']:.3f}. That ratio includes changes of the CPU's clock, so the "
            "old stream was then measured in turns with a new one: "
            f"{run['ratio_in_turns']:.3f}, {verdict} the target of {DRIFT_TARGET * 100:g} %. "
            f"{memory}\n\n"
            + figure(figures, "benchmark_hours.svg", "time per chunk over the stream")
            + figure(figures, "benchmark_memory.svg", "memory over the stream"))


_SEARCHES = ("greedy search", "beam 8", "beam 8, with hotwords", "beam 8, with the model")


def _search(results: Dict[str, Any]) -> str:
    """The time of a chunk's search, beside that of the encoder in int8."""
    values = results["search"]
    if not values:
        return ""
    encoder = row_of(results["table"], "int8", 16) or row_of(results["table"], "int8", 2)
    rows = [{"search": name, "us": values[f"a frame, {name}"],
             "ms": values[f"a frame, {name}"] * CHUNK_SIZE / 1000} for name in _SEARCHES]

    def share(row: Row) -> str:
        return percent(row["ms"] / encoder["median_ms"] if encoder else None)

    columns: List[Column] = [
        ("search", lambda row: row["search"]),
        ("microseconds per encoder frame", lambda row: number(row["us"], 2)),
        ("ms per chunk", lambda row: number(row["ms"], 3)),
        ("relative to the encoder, int8", share)]
    ngrams = sum(values[f"{length}-grams"] for length in (1, 2, 3))
    return ("## Search\n\n```\nbench_language_model --folder=/tmp\n```\n\n"
            "CTC searches of one stream on one thread. The log probabilities of 4233 tokens are "
            "random: every fourth encoder frame has a token with probability 0.6 and four others, "
            "the frames between are blank. The hotwords are 100 pairs of words. The model is a "
            f"random 3-gram model of {ngrams / 1e6:.1f} million n-grams. Target: beam 8 with the "
            "model takes at most a tenth of the encoder's time (int8, "
            f"{encoder['streams'] if encoder else '-'} streams).\n\n" + table_of(rows, columns))


def _notes(results: Dict[str, Any]) -> str:
    if not results["notes"]:
        return ""
    return "## Not measured\n\n" + "".join(f"- {note}\n" for note in results["notes"])
