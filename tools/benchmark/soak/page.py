"""The soak's page, in Markdown, and its figure."""

import pathlib
from typing import Any, Dict, List, Tuple

import numpy as np
from matplotlib.axes import Axes

from tools.benchmark.pages.figure import save_figure
from tools.benchmark.pages.markdown import table
from tools.benchmark.soak.parts import BATCH_WAIT_MS, END_STREAM, TURN_ENDS
from tools.benchmark.soak.plan import (CALL_WORST_MS, CHUNK_P95_MS, END_OF_SPEECH_P99_MS,
                                       HEALTH_MEDIAN_MS, HEALTH_WORST_MS, LATER_BYTES,
                                       MEMORY_SHARE, PEAK_BYTES, Plan)
from tools.benchmark.soak.programs import Report

FIGURE = "soak_memory.svg"

_INTRODUCTION = """# Soak

`make soak` runs servers, clients and a proxy on one machine and writes this page. The numbers hold
for this machine only: {machine}. {quick}
"""
_MB = 1e6
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


def _load(load: Report, plan: Plan) -> str:
    report = load["report"]
    # The samples during which all streams were open.
    samples = [sample for sample in load["samples"] if sample[_STREAMS] == plan.streams]
    first, last = ((samples[i][_RSS] - load["before"]["rss"]) / plan.streams for i in (0, -1))
    formula, text = load["formula_bytes"], load["text_bytes"]
    p95 = report["latency_ms"]["server_chunk"]["p95"]
    client_p95 = report["latency_ms"]["chunk"]["p95"]
    in_time = [after["chunks_in_time"] - before["chunks_in_time"]
               >= 0.95 * (after["chunks"] - before["chunks"])
               for before, after in zip(samples, samples[1:])]
    rows: List[Verdict] = [
        (f"{plan.streams} real-time streams, {plan.stream_s:.0f} s each",
         f"{report['done']} done, {_errors(report)}", report["done"] == plan.streams),
        (f"chunk received to partial sent, p95 at most {CHUNK_P95_MS:.0f} ms",
         f"{p95:.0f} ms; measured by the client {client_p95:.0f} ms",
         max(p95, client_p95) <= CHUNK_P95_MS),
        (f"the same in every interval of {plan.sample_s:.0f} s",
         f"in {sum(in_time)} of {len(in_time)}",
         bool(in_time) and all(in_time)),
        ("no stream falls behind by 2 s", f"{report['behind']} fell behind", report["behind"] == 0),
        ("finals equal decode_wav's", f"{report['mismatched']} differ", report["mismatched"] == 0),
        (f"memory per stream within {MEMORY_SHARE:.0%} of the formula, {formula / _MB:.2f} MB "
         f"and {text / _MB:.2f} MB of text at the end",
         f"{first / _MB:.2f} MB once all had started, {last / _MB:.2f} MB at the end",
         abs(first / formula - 1) <= MEMORY_SHARE
         and abs(last / (formula + text) - 1) <= MEMORY_SHARE),
        ("memory constant except for the text", f"grew by {(last - first) / _MB:.2f} MB",
         last - first <= text + 0.05 * formula)]
    share = load["server_cpu_s"] / report["wall_s"]
    return ("## Many streams on a large model\n\n"
            "Random model of AISHELL's size (`tools/benchmark/pages/random_model.py`), int8, "
            "chunks of 16 encoder frames\n(640 ms), left context 64, packets of 200 ms, "
            f"`--max_batch_wait_ms={BATCH_WAIT_MS}`.\n"
            f"The server used {share:.2f} cores, the clients "
            f"{report['client_cpu_s'] / report['wall_s']:.2f}.\n\n"
            + _targets(rows) + "\n" + _latencies(report) + f"\n![Memory over time]({FIGURE})\n")


def _turn_latency(protocol: str, measured: Report) -> Dict[str, float]:
    latency: Dict[str, float] = measured["report"]["latency_ms"][
        "final" if protocol in END_STREAM else "end_of_speech"]
    return latency


def _turns(turns: Report, plan: Plan) -> str:
    rows: List[Verdict] = []
    numbers: List[Tuple[str, ...]] = []
    for protocol, measured in turns.items():
        report, latency = measured["report"], _turn_latency(protocol, measured)
        rows.append((f"{protocol}: p99 at most {END_OF_SPEECH_P99_MS:.0f} ms",
                     f"{latency['p99']:.0f} ms", 0 < latency["p99"] <= END_OF_SPEECH_P99_MS))
        rows.append((f"{protocol}: every stream ends, with the text of decode_wav"
                     if protocol in END_STREAM else f"{protocol}: every stream ends",
                     f"{report['done']} of {report['started']} done, {_errors(report)}, "
                     f"{report['mismatched']} differ",
                     report["done"] == report["started"] and report["mismatched"] == 0))
        numbers.append((protocol, TURN_ENDS[protocol],
                        *(f"{latency[q]:.1f}" for q in ("p50", "p95", "p99", "max")),
                        str(latency["count"]),
                        f"{measured['server_cpu_s'] / report['wall_s']:.2f}",
                        f"{measured['load_before']:.1f}"))
    return (_TURNS.format(streams=plan.turn_streams, turn_s=plan.turn_s, turns_s=plan.turns_s,
                          riva_calls=plan.riva_calls)
            + "\n" + _targets(rows) + "\n"
            + table(["protocol", "end of speech", "p50, ms", "p95", "p99", "largest", "turns",
                     "server's cores", "load before"], numbers))


def _vanish(vanish: Report, plan: Plan) -> str:
    looks = vanish["looks"]
    growth = (looks[-1]["rss"] - looks[0]["rss"]) / _MB
    rows: List[Verdict] = [
        (f"{plan.vanish_one_by_one} one by one, {plan.vanish_at_once} at once: same memory",
         f"{looks[0]['rss'] / _MB:.1f} MB before, {looks[1]['rss'] / _MB:.1f} and "
         f"{looks[-1]['rss'] / _MB:.1f} MB after", growth <= 5),
        ("same number of descriptors", f"{looks[0]['descriptors']:.0f} before, "
         f"{looks[-1]['descriptors']:.0f} after",
         looks[-1]["descriptors"] <= looks[0]["descriptors"]),
        ("no stream is left", f"{looks[-1]['streams']:.0f}", looks[-1]["streams"] == 0)]
    return ("## Clients that disconnect abruptly\n\n"
            f"Digit model. `before` is after a first round: {plan.vanish_one_by_one // 4} clients "
            f"one by one and {plan.vanish_at_once} at once.\n\n"
            + _targets(rows))


def _killed(killed: Report, plan: Plan) -> str:
    report = killed["report"]
    rows: List[Verdict] = [
        ("every accepted stream ends", f"{report['done']} of {report['started']} done, "
         f"{_errors(report)}", report["done"] == report["started"]),
        ("finals equal decode_wav's", f"{report['mismatched']} differ", report["mismatched"] == 0)]
    return ("## A server killed\n\nThree servers of the digit model behind HAProxy, snapshots in "
            f"Redis, {plan.killed_streams} real-time streams; one server gets SIGKILL.\n"
            f"{report['resumes']} streams resumed on another server.\n\n" + _targets(rows))


_TURNS = """## End of speech

Random model of AISHELL's size, int8, chunks of 16 encoder frames (640 ms), the server's defaults
without limits. {streams} real-time streams for {turns_s:.0f} s in each protocol, with packets of
100 ms and turns of {turn_s:.0f} s on average. Where the protocol has a message for the end of
speech, a stream has many turns, and the time is from that message until its final text is there, on
the client's clock. In the other protocols each turn is a stream, and the time is from the message
that ends it until its final text is there. Of Riva's protocol there are {riva_calls} calls, beside
streams of Runnel's. Load before: the load average of the machine.
"""

_ATTACKED = """## Attacks

Digit model, default limits, every port open, one server for each attack
(`tools/benchmark/soak/attacks.py`), whose clients have the lowest priority of the system. From
{before:.0f} s after its start on: {streams} real-time streams for {seconds:.0f} s, each second a
recording, a call of NVIDIA Riva on a new connection, a live stream of FLAC and a stream with a
snapshot, and each 50 ms a probe, from other addresses than the attack's. Memory later is
{later:.0f} s after the attack.
"""


def _share(counts: List[int]) -> str:
    return f"{counts[0]} of {counts[1]}"


def _attack_row(kind: str, measured: Report) -> Tuple[str, ...]:
    if "load" not in measured:
        return (kind, measured["error"], *[""] * 10)
    load = measured["load"]
    right = load["done"] - load["mismatched"]
    return (kind, f"{right} of {load['started']}", _share(measured["recordings"]),
            _share(measured["calls"]), f"{measured['call_worst_ms']:.0f}",
            _share(measured["media"]), _share(measured["snapshots"]),
            f"{load['latency_ms']['chunk']['p95']:.0f}",
            f"{measured['health_median_ms']:.1f}", f"{measured['health_worst_ms']:.0f}",
            f"{measured['peak'] / _MB:.0f}", f"{measured['later'] / _MB:.0f}")


def _attack_verdicts(attacks: Report) -> List[Verdict]:
    ended = [f"{kind}: {measured['error']}" for kind, measured in attacks.items()
             if "error" in measured]
    whole = {kind: measured for kind, measured in attacks.items() if "load" in measured}
    rows = [("the server works and ends as told", "; ".join(ended) or "after every attack",
             not ended)]
    if not whole:
        return rows
    for name, lacks in (
            ("text is right", lambda m: m["load"]["started"] - m["load"]["done"]
             + m["load"]["mismatched"]),
            *((name, lambda m, key=key: max(1, m[key][1]) - m[key][0]) for name, key in (
                ("recording gets its text", "recordings"),
                ("call gets its text", "calls"), ("stream of FLAC gets its text", "media"),
                ("resumable stream gets a snapshot", "snapshots"),
                ("probe is answered", "health")))):
        wrong = [f"{kind} lacks {lacks(measured)}" for kind, measured in whole.items()
                 if lacks(measured) > 0]
        rows.append((f"every {name}", ", ".join(wrong) or "all", not wrong and not ended))
    for name, most, unit, value in (
            ("chunk p95", CHUNK_P95_MS, "ms", lambda m: m["load"]["latency_ms"]["chunk"]["p95"]),
            ("call, longest", CALL_WORST_MS, "ms", lambda m: m["call_worst_ms"]),
            ("probe, median", HEALTH_MEDIAN_MS, "ms", lambda m: m["health_median_ms"]),
            ("probe, longest", HEALTH_WORST_MS, "ms", lambda m: m["health_worst_ms"]),
            ("largest memory", PEAK_BYTES / _MB, "MB", lambda m: m["peak"] / _MB),
            ("memory later", LATER_BYTES / _MB, "MB", lambda m: m["later"] / _MB)):
        worst, kind = max((value(measured), kind) for kind, measured in whole.items())
        rows.append((f"{name} at most {most:g} {unit}", f"{worst:.1f} {unit} ({kind})",
                     worst <= most and not ended))
    return rows


def _attacked(attacks: Report, plan: Plan) -> str:
    return (_ATTACKED.format(streams=plan.attacked_streams, seconds=plan.attacked_s,
                             before=plan.attacked_before_s, later=plan.attacked_later_s)
            + "\n" + _targets(_attack_verdicts(attacks)) + "\n"
            + table(["attack", "texts right", "recordings", "calls", "longest call, ms",
                     "FLAC streams", "snapshots", "chunk p95, ms",
                     "probe median, ms", "longest, ms", "peak, MB", "later, MB"],
                    [_attack_row(kind, measured) for kind, measured in attacks.items()]))


def write_page(results: Dict[str, Any], plan: Plan, folder: pathlib.Path) -> pathlib.Path:
    """Writes soak.md and its figure into `folder`; returns the page's path."""
    quick = "This was a quick run: its numbers mean nothing." if results["quick"] else ""
    sections = [_INTRODUCTION.format(machine=results["machine"], quick=quick).rstrip() + "\n"]
    if "load" in results:
        save_figure(folder / FIGURE, lambda axes: _memory(axes, results["load"]))
    sections += [write(results[part], plan) for part, write in (
        ("load", _load), ("turns", _turns), ("vanish", _vanish), ("killed", _killed),
        ("attacked", _attacked))
        if part in results]
    page = folder / "soak.md"
    page.write_text("\n".join(sections), encoding="utf-8")
    return page


def _memory(axes: Axes, load: Report) -> None:
    minutes = np.array([sample["time_s"] for sample in load["samples"]]) / 60
    axes.plot(minutes, [sample[_RSS] / _MB for sample in load["samples"]], "-",
              color="#1f77b4", label="resident memory of the server (MB)")
    axes.plot(minutes, [sample[_STREAMS] for sample in load["samples"]], "--",
              color="#7f7f7f", label="streams")
    axes.set_xlabel("minutes")
