"""The soak's page, in Markdown, and its figure."""

import pathlib
from typing import Any, Dict, List, Tuple

import numpy as np
from matplotlib.axes import Axes

from models.benchmark.figures import save_figure
from models.soak.parts import BATCH_WAIT_MS
from models.soak.plan import CHUNK_P95_MS, MEMORY_SHARE, Plan
from models.soak.programs import Report

FIGURE = "soak_memory.svg"

_INTRODUCTION = """# Soak

Written by `make soak`, which runs everything below on one machine: servers, clients, proxy. Numbers
are of this machine ({machine}) and of no other. {quick}
"""
_MIB = float(1 << 20)
_STREAMS = "runnel_streams"
_RSS = "process_resident_memory_bytes"

Verdict = Tuple[str, str, bool]  # what was asked, what was measured, whether it is met


def _table(rows: List[Verdict]) -> str:
    lines = ["| target | measured | |", "| --- | --- | --- |"]
    lines += [f"| {target} | {measured} | {'met' if met else '**short**'} |"
              for target, measured, met in rows]
    return "\n".join(lines) + "\n"


def _errors(report: Report) -> str:
    errors = ", ".join(f"{code}: {count}" for code, count in report["errors"].items())
    return f"{report['failed']} failed, {report['refused']} refused" + (
        f" ({errors})" if errors else "")


def _latencies(report: Report) -> str:
    lines = ["| latency in ms | p50 | p95 | p99 | largest | count |", "| --- " * 6 + "|"]
    names = {"first_partial": "first partial, by the client", "chunk": "chunk, by the client",
             "server_chunk": "chunk, by the server", "final": "final, by the client",
             "server_final": "final, by the server"}
    for key, name in names.items():
        values = report["latency_ms"][key]
        if values["count"]:
            numbers = [f"{values[q]:.0f}" for q in ("p50", "p95", "p99", "max")]
            lines.append(f"| {name} | " + " | ".join(numbers) + f" | {values['count']} |")
    return "\n".join(lines) + "\n"


def steady(load: Report, streams: int) -> List[Dict[str, float]]:
    """The samples at which all streams were there."""
    return [sample for sample in load["samples"] if sample[_STREAMS] == streams]


def intervals_in_time(load: Report, streams: int) -> Tuple[int, int]:
    """Of the times between two samples: in how many 95 % of the chunks were in time, and all."""
    samples = steady(load, streams)
    in_time = [after["chunks_in_time"] - before["chunks_in_time"]
               >= 0.95 * (after["chunks"] - before["chunks"])
               for before, after in zip(samples, samples[1:])]
    return sum(in_time), len(in_time)


def memory_per_stream(load: Report, streams: int) -> Tuple[float, float]:
    """Bytes per stream, at the first and at the last moment at which all streams were there."""
    rss = [sample[_RSS] for sample in steady(load, streams)]
    return ((rss[0] - load["before"]["rss"]) / streams,
            (rss[-1] - load["before"]["rss"]) / streams)


def _load(load: Report, plan: Plan) -> str:
    report = load["report"]
    first, last = memory_per_stream(load, plan.streams)
    formula, text = load["formula_bytes"], load["text_bytes"]
    p95 = report["latency_ms"]["server_chunk"]["p95"]
    client_p95 = report["latency_ms"]["chunk"]["p95"]
    good, intervals = intervals_in_time(load, plan.streams)
    rows: List[Verdict] = [
        (f"{plan.streams} real-time streams, {plan.stream_s:.0f} s each",
         f"{report['done']} done, {_errors(report)}", report["done"] == plan.streams),
        (f"chunk received -> its partial sent, p95 at most {CHUNK_P95_MS:.0f} ms",
         f"{p95:.0f} ms; seen by the client {client_p95:.0f} ms",
         max(p95, client_p95) <= CHUNK_P95_MS),
        (f"the same in every {plan.sample_s:.0f} seconds", f"in {good} of {intervals}",
         0 < good == intervals),
        ("no stream falls behind (2 s)", f"{report['behind']}", report["behind"] == 0),
        ("finals are decode_wav's", f"{report['mismatched']} others", report["mismatched"] == 0),
        (f"memory per stream within {MEMORY_SHARE:.0%} of the formula, {formula / _MIB:.2f} MiB "
         f"and {text / _MIB:.2f} MiB of text at the end",
         f"{first / _MIB:.2f} MiB when all had come, {last / _MIB:.2f} MiB at the end",
         abs(first / formula - 1) <= MEMORY_SHARE
         and abs(last / (formula + text) - 1) <= MEMORY_SHARE),
        ("flat but for the text", f"grew by {(last - first) / _MIB:.2f} MiB",
         last - first <= text + 0.05 * formula)]
    share = load["server_cpu_s"] / report["wall_s"]
    return ("## Many streams on a large model\n\n"
            "AISHELL-size random model (`models/make_benchmark_model.py`), int8, chunks of 16 "
            "encoder frames (640 ms), left\ncontext 64, packets of 200 ms, "
            f"`--max_batch_wait_ms={BATCH_WAIT_MS}`.\n"
            f"The server used {share:.2f} cores, the clients "
            f"{report['client_cpu_s'] / report['wall_s']:.2f}.\n\n"
            + _table(rows) + "\n" + _latencies(report) + f"\n![Memory over time]({FIGURE})\n")


def _vanish(vanish: Report, plan: Plan) -> str:
    looks = vanish["looks"]
    growth = (looks[-1]["rss"] - looks[0]["rss"]) / _MIB
    rows: List[Verdict] = [
        (f"{plan.vanish_one_by_one} one by one, {plan.vanish_at_once} together: memory as before",
         f"{looks[0]['rss'] / _MIB:.1f} MiB before, {looks[1]['rss'] / _MIB:.1f} and "
         f"{looks[-1]['rss'] / _MIB:.1f} MiB after", growth <= 5),
        ("descriptors as before", f"{looks[0]['descriptors']:.0f} before, "
         f"{looks[-1]['descriptors']:.0f} after",
         looks[-1]["descriptors"] <= looks[0]["descriptors"]),
        ("no stream is left", f"{looks[-1]['streams']:.0f}", looks[-1]["streams"] == 0)]
    return ("## Clients that connect, speak and vanish\n\n"
            f"Digit model. Before: after a first {plan.vanish_one_by_one // 4} one by one and "
            f"{plan.vanish_at_once} together.\n\n"
            + _table(rows))


def _digits(title: str, text: str, report: Report) -> str:
    rows: List[Verdict] = [
        ("every accepted stream ends", f"{report['done']} of {report['started']} done, "
         f"{_errors(report)}", report["done"] == report["started"]),
        ("finals are decode_wav's", f"{report['mismatched']} others", report["mismatched"] == 0)]
    return f"## {title}\n\n{text}\n\n" + _table(rows)


def write_page(results: Dict[str, Any], plan: Plan, folder: pathlib.Path) -> pathlib.Path:
    """Writes soak.md and its figure into `folder`; returns the page's path."""
    quick = "This was a quick run: its numbers mean nothing." if results["quick"] else ""
    sections = [_INTRODUCTION.format(machine=results["machine"], quick=quick).rstrip() + "\n"]
    if "load" in results:
        save_figure(folder / FIGURE, lambda axes: _memory(axes, results["load"]))
        sections.append(_load(results["load"], plan))
    if "vanish" in results:
        sections.append(_vanish(results["vanish"], plan))
    if "neighbours" in results:
        report = results["neighbours"]["report"]
        sections.append(_digits(
            "Digits beside clients that misbehave",
            f"{plan.neighbour_streams} real-time streams of the digit model's samples for "
            f"{plan.neighbour_s:.0f} s; meanwhile {report['attacks']} attacks\nand "
            f"{report['vanished']} clients that vanished.", report))
    if "killed" in results:
        killed = results["killed"]
        sections.append(_digits(
            "A server killed", f"Three servers of the digit model behind HAProxy, snapshots in "
            f"Redis, {plan.killed_streams} real-time streams; one server gets SIGKILL.\n"
            f"{killed['report']['resumes']} streams went on elsewhere.", killed["report"]))
    page = folder / "soak.md"
    page.write_text("\n".join(sections), encoding="utf-8")
    return page


def _memory(axes: Axes, load: Report) -> None:
    minutes = np.array([sample["time_s"] for sample in load["samples"]]) / 60
    axes.plot(minutes, [sample[_RSS] / _MIB for sample in load["samples"]], "-",
              color="#1f77b4", label="resident memory of the server (MiB)")
    axes.plot(minutes, [sample[_STREAMS] for sample in load["samples"]], "--",
              color="#7f7f7f", label="streams")
    axes.set_xlabel("minutes")
