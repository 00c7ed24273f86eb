"""The soak's page, in Markdown, and its figure."""

import pathlib
from typing import Any, Dict, List, Tuple

import numpy as np
from matplotlib.axes import Axes

from tools.benchmark.pages.figure import save_figure
from tools.benchmark.pages.markdown import table
from tools.benchmark.soak.parts import BATCH_WAIT_MS
from tools.benchmark.soak.plan import (CHUNK_P95_MS, HEALTH_MEDIAN_MS, HEALTH_WORST_MS,
                                       LATER_BYTES, MEMORY_SHARE, PEAK_BYTES, Plan)
from tools.benchmark.soak.programs import Report

FIGURE = "soak_memory.svg"

_INTRODUCTION = """# Soak

`make soak` runs servers, clients and a proxy on one machine and writes this page. The numbers hold
for this machine only: {machine}. {quick}
"""
_MIB = float(1 << 20)
_STREAMS = "runnel_streams"
_RSS = "process_resident_memory_bytes"

Verdict = Tuple[str, str, bool]  # target, measured value, whether the target is met


def _targets(rows: List[Verdict]) -> str:
    return table(["target", "measured", ""],
                 [(target, measured, "met" if met else "**short**")
                  for target, measured, met in rows])


def _errors(report: Report) -> str:
    errors = ", ".join(f"{code}: {count}" for code, count in report["errors"].items())
    return f"{report['failed']} failed, {report['refused']} refused" + (
        f" ({errors})" if errors else "")


def _latencies(report: Report) -> str:
    names = {"first_partial": "first partial, by the client", "chunk": "chunk, by the client",
             "server_chunk": "chunk, by the server", "final": "final, by the client",
             "server_final": "final, by the server"}
    measured = [(name, report["latency_ms"][key]) for key, name in names.items()]
    return table(["latency in ms", "p50", "p95", "p99", "largest", "count"],
                 [(name, *(f"{values[q]:.0f}" for q in ("p50", "p95", "p99", "max")),
                   str(values["count"])) for name, values in measured if values["count"]])


def steady(load: Report, streams: int) -> List[Dict[str, float]]:
    """The samples during which all streams were open."""
    return [sample for sample in load["samples"] if sample[_STREAMS] == streams]


def intervals_in_time(load: Report, streams: int) -> Tuple[int, int]:
    """Intervals between two samples: those with 95 % of the chunks in time, and all."""
    samples = steady(load, streams)
    in_time = [after["chunks_in_time"] - before["chunks_in_time"]
               >= 0.95 * (after["chunks"] - before["chunks"])
               for before, after in zip(samples, samples[1:])]
    return sum(in_time), len(in_time)


def memory_per_stream(load: Report, streams: int) -> Tuple[float, float]:
    """Bytes per stream, in the first and in the last sample with all streams open."""
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
        (f"chunk received to partial sent, p95 at most {CHUNK_P95_MS:.0f} ms",
         f"{p95:.0f} ms; measured by the client {client_p95:.0f} ms",
         max(p95, client_p95) <= CHUNK_P95_MS),
        (f"the same in every interval of {plan.sample_s:.0f} s", f"in {good} of {intervals}",
         0 < good == intervals),
        ("no stream falls behind by 2 s", f"{report['behind']} fell behind", report["behind"] == 0),
        ("finals equal decode_wav's", f"{report['mismatched']} differ", report["mismatched"] == 0),
        (f"memory per stream within {MEMORY_SHARE:.0%} of the formula, {formula / _MIB:.2f} MiB "
         f"and {text / _MIB:.2f} MiB of text at the end",
         f"{first / _MIB:.2f} MiB once all had started, {last / _MIB:.2f} MiB at the end",
         abs(first / formula - 1) <= MEMORY_SHARE
         and abs(last / (formula + text) - 1) <= MEMORY_SHARE),
        ("memory constant except for the text", f"grew by {(last - first) / _MIB:.2f} MiB",
         last - first <= text + 0.05 * formula)]
    share = load["server_cpu_s"] / report["wall_s"]
    return ("## Many streams on a large model\n\n"
            "Random model of AISHELL's size (`tools/benchmark/pages/random_model.py`), int8, "
            "chunks of 16 encoder frames\n(640 ms), left context 64, packets of 200 ms, "
            f"`--max_batch_wait_ms={BATCH_WAIT_MS}`.\n"
            f"The server used {share:.2f} cores, the clients "
            f"{report['client_cpu_s'] / report['wall_s']:.2f}.\n\n"
            + _targets(rows) + "\n" + _latencies(report) + f"\n![Memory over time]({FIGURE})\n")


def _vanish(vanish: Report, plan: Plan) -> str:
    looks = vanish["looks"]
    growth = (looks[-1]["rss"] - looks[0]["rss"]) / _MIB
    rows: List[Verdict] = [
        (f"{plan.vanish_one_by_one} one by one, {plan.vanish_at_once} at once: same memory",
         f"{looks[0]['rss'] / _MIB:.1f} MiB before, {looks[1]['rss'] / _MIB:.1f} and "
         f"{looks[-1]['rss'] / _MIB:.1f} MiB after", growth <= 5),
        ("same number of descriptors", f"{looks[0]['descriptors']:.0f} before, "
         f"{looks[-1]['descriptors']:.0f} after",
         looks[-1]["descriptors"] <= looks[0]["descriptors"]),
        ("no stream is left", f"{looks[-1]['streams']:.0f}", looks[-1]["streams"] == 0)]
    return ("## Clients that disconnect abruptly\n\n"
            f"Digit model. `before` is after a first round: {plan.vanish_one_by_one // 4} clients "
            f"one by one and {plan.vanish_at_once} at once.\n\n"
            + _targets(rows))


def _digits(title: str, text: str, report: Report) -> str:
    rows: List[Verdict] = [
        ("every accepted stream ends", f"{report['done']} of {report['started']} done, "
         f"{_errors(report)}", report["done"] == report["started"]),
        ("finals equal decode_wav's", f"{report['mismatched']} differ", report["mismatched"] == 0)]
    return f"## {title}\n\n{text}\n\n" + _targets(rows)


_ATTACKED = """## Attacks

Digit model, default limits, every port open, one server for each attack
(`tools/benchmark/soak/attacks.py`), whose clients have the lowest priority of the system. From
{before:.0f} s after its start on: {streams} real-time streams for {seconds:.0f} s, each second a
recording and a stream with a snapshot, and each 50 ms a probe, from other addresses than the
attack's. Memory later is {later:.0f} s after the attack.
"""


def _share(counts: List[int]) -> str:
    return f"{counts[0]} of {counts[1]}"


def _attack_row(kind: str, measured: Report) -> Tuple[str, ...]:
    if "load" not in measured:
        return (kind, measured["error"], *[""] * 7)
    load = measured["load"]
    right = load["done"] - load["mismatched"]
    return (kind, f"{right} of {load['started']}", _share(measured["recordings"]),
            _share(measured["snapshots"]), f"{load['latency_ms']['chunk']['p95']:.0f}",
            f"{measured['health_median_ms']:.1f}", f"{measured['health_worst_ms']:.0f}",
            f"{measured['peak'] / 1e6:.0f}", f"{measured['later'] / 1e6:.0f}")


def _attack_verdicts(attacks: Report) -> List[Verdict]:
    ended = [kind for kind, measured in attacks.items() if "error" in measured]
    whole = {kind: measured for kind, measured in attacks.items() if "load" in measured}

    def worst(name: str, target: str, unit: str, most: float,
              values: Dict[str, float]) -> Verdict:
        kind = max(values, key=lambda kind: values[kind])
        return (f"{name} {target}", f"{values[kind]:.1f} {unit} ({kind})",
                values[kind] <= most and not ended)

    def all_right(name: str, lacks: Dict[str, int]) -> Verdict:
        wrong = [f"{kind} lacks {count}" for kind, count in lacks.items() if count > 0]
        return (name, ", ".join(wrong) or "all", not wrong and not ended)

    rows = [("the server works and ends as told", "; ".join(
        f"{kind}: {attacks[kind]['error']}" for kind in ended) or "after every attack", not ended)]
    if not whole:
        return rows
    rows.append(all_right("every text is right", {
        kind: measured["load"]["started"] - measured["load"]["done"]
        + measured["load"]["mismatched"] for kind, measured in whole.items()}))
    rows += [all_right(f"every {what}", {kind: max(1, measured[key][1]) - measured[key][0]
                                         for kind, measured in whole.items()})
             for what, key in (("recording gets its text", "recordings"),
                               ("resumable stream gets a snapshot", "snapshots"),
                               ("probe is answered", "health"))]
    for name, most, value in (
            ("chunk p95", CHUNK_P95_MS, lambda m: m["load"]["latency_ms"]["chunk"]["p95"]),
            ("probe, median", HEALTH_MEDIAN_MS, lambda m: m["health_median_ms"]),
            ("probe, longest", HEALTH_WORST_MS, lambda m: m["health_worst_ms"])):
        rows.append(worst(name, f"at most {most:g} ms", "ms", most,
                          {kind: value(measured) for kind, measured in whole.items()}))
    for name, most, key in (("largest memory", PEAK_BYTES, "peak"),
                            ("memory later", LATER_BYTES, "later")):
        rows.append(worst(name, f"at most {most / 1e6:g} MB", "MB", most / 1e6,
                          {kind: measured[key] / 1e6 for kind, measured in whole.items()}))
    return rows


def _attacked(attacks: Report, plan: Plan) -> str:
    return (_ATTACKED.format(streams=plan.attacked_streams, seconds=plan.attacked_s,
                             before=plan.attacked_before_s, later=plan.attacked_later_s)
            + "\n" + _targets(_attack_verdicts(attacks)) + "\n"
            + table(["attack", "texts right", "recordings", "snapshots", "chunk p95, ms",
                     "probe median, ms", "longest, ms", "peak, MB", "later, MB"],
                    [_attack_row(kind, measured) for kind, measured in attacks.items()]))


def write_page(results: Dict[str, Any], plan: Plan, folder: pathlib.Path) -> pathlib.Path:
    """Writes soak.md and its figure into `folder`; returns the page's path."""
    quick = "This was a quick run: its numbers mean nothing." if results["quick"] else ""
    sections = [_INTRODUCTION.format(machine=results["machine"], quick=quick).rstrip() + "\n"]
    if "load" in results:
        save_figure(folder / FIGURE, lambda axes: _memory(axes, results["load"]))
        sections.append(_load(results["load"], plan))
    if "vanish" in results:
        sections.append(_vanish(results["vanish"], plan))
    if "killed" in results:
        killed = results["killed"]
        sections.append(_digits(
            "A server killed", f"Three servers of the digit model behind HAProxy, snapshots in "
            f"Redis, {plan.killed_streams} real-time streams; one server gets SIGKILL.\n"
            f"{killed['report']['resumes']} streams resumed on another server.", killed["report"]))
    if "attacked" in results:
        sections.append(_attacked(results["attacked"], plan))
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
