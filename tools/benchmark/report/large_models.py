"""Models as large as the public streaming ones: files, start, memory, streams per core, and one
stream on several threads."""

import itertools
import pathlib
from typing import Any, Dict, List, Tuple

from models.reference.model import SpeechModel
from tools.benchmark.pages.random_model import ARCHITECTURES, FASTCONFORMER_STREAMING, write_model
from tools.benchmark.report.bench import Bench, Page, Row, Section
from tools.benchmark.report.cells import (Cell, columns, number, row_of, table_of, text, verdict)
from tools.benchmark.report.one_core import streams
from tools.benchmark.report.plan import SEED

_STORED = ("bfloat16", "int8", "int4")
_STEPPED = ("int8", "int4")
_WEIGHT_BYTES = {"float32": 4, "bfloat16": 2, "int8": 1}  # of plain files
_STEP_THREADS_TARGET = 1.6  # speed of one stream on two threads, relative to one
_LEFT_CONTEXT = FASTCONFORMER_STREAMING["left_context"]
# Of the transducer of 609 million parameters: at most so many ms per chunk of one stream at C = 2,
# and MB of the file and of memory; at least so many real-time streams per core at 16 streams.
_LARGEST = "fastconformer_600m"
_MOST_MS = {"int8": 21, "int4": 12}
_MOST_MB = {"file": 380, "memory": 430}
_LEAST_STREAMS = {14: 27, 2: 25}


def _plain_file(bench: Bench, name: str) -> pathlib.Path:
    path = bench.work / f"{name}.pt"
    if not path.exists():
        write_model(ARCHITECTURES[name], SEED, str(path))
    return path


def _sizes(chunk_size: int) -> Tuple[str, str]:
    return f"--chunk_size={chunk_size}", f"--left_context={_LEFT_CONTEXT}"


def _measure_threads(bench: Bench) -> List[Row]:
    plan = bench.plan
    name = plan.large_models[0]
    encoder = SpeechModel(ARCHITECTURES[name]).encoder
    weights = sum(tensor.numel() for tensor in encoder.parameters())
    rows: List[Row] = []
    for chunk_size, precision, threads in itertools.product(
            dict.fromkeys((plan.large_chunk_sizes[0], plan.large_chunk_sizes[-1])),
            plan.precisions, (1, 2)):
        measured, = bench.encoder(
            f"--precision={precision}", streams(1), f"--step_threads={threads}",
            *_sizes(chunk_size), f"--seconds={plan.seconds}", model=_plain_file(bench, name))
        speed = bench.machine["memory_gb_per_second"]
        rows.append({**measured, "model": name, "step_threads": threads,
                     "reading_ms": weights * _WEIGHT_BYTES[precision] / speed * 1e-6})
    return rows


def _write_threads(rows: List[Row], _: Page) -> str:
    def gain(row: Row) -> str:
        alone: Any = row_of(rows, precision=row["precision"], chunk_size=row["chunk_size"],
                            step_threads=1)
        return "-" if row is alone else verdict(alone["median_ms"] / row["median_ms"],
                                                _STEP_THREADS_TARGET)

    return f"""`--step_threads=N` splits the large kernels of a step. Results are the same.
Target for two threads: {_STEP_THREADS_TARGET:g}x. M = {_LEFT_CONTEXT}. One thread needs at least
the time of the last column, in which it reads the weights of the encoder from memory, unless they
lie in the last cache.

""" + table_of(rows, {
        "model": text("model"), "C": text("chunk_size"), **columns("precision"),
        "threads of a step": text("step_threads"), **columns("ms", "p95"),
        "relative to one": gain, "reading the weights, ms": number("reading_ms", 2)})


def _measure(bench: Bench) -> Dict[str, List[Row]]:
    """Keys: `files` (a row per file and precision) and `steps` (per model, head and setting)."""
    plan = bench.plan
    results: Dict[str, List[Row]] = {"files": [], "steps": []}
    for name in plan.large_models:
        plain = _plain_file(bench, name)
        packed = {precision: bench.work / f"{name}.{precision}" for precision in _STORED}
        for precision, path in packed.items():
            bench.run("pack_model", f"--model={plain}", f"--precision={precision}",
                      f"--output={path}")
        for kind, precision, path in (
                *(("plain", precision, plain) for precision in _WEIGHT_BYTES),
                *(("packed", precision, path) for precision, path in packed.items())):
            results["files"] += bench.encoder(
                f"--precision={precision}", streams(1), f"--seconds={plan.sweep_seconds / 10}",
                model=path, name=name, kind=kind, megabytes=path.stat().st_size / 1e6)
        architecture = ARCHITECTURES[name]
        for chunk_size, (head, there) in itertools.product(
                plan.large_chunk_sizes, (("ctc", architecture.ctc),
                                         ("transducer", architecture.transducer))):
            if there:
                for precision in _STEPPED:
                    results["steps"] += bench.encoder(
                        f"--head={head}", streams(*plan.sweep_streams), *_sizes(chunk_size),
                        f"--seconds={plan.seconds}", model=packed[precision], name=name, head=head,
                        reading_ms=packed[precision].stat().st_size * 1e-6
                        / bench.machine["memory_gb_per_second"])
    return results


def _write_targets(results: Dict[str, List[Row]]) -> str:
    """Of the largest model, if it was measured."""
    steps = [row for row in results["steps"]
             if row["name"] == _LARGEST and row["head"] == "transducer"]
    if not steps:
        return ""

    def at_most(value: float, target: float) -> str:
        return f"{value:.1f} | {verdict(value / target, 1, at_most=True)}"

    lines = ["| fastconformer_600m, transducer | target | measured | share of the target |",
             "| --- | --- | --- | --- |"]
    for precision, target in _MOST_MS.items():
        row = row_of(steps, precision=precision, chunk_size=2, streams=1)
        lines.append(f"| {precision}, one stream, C = 2 | at most {target} ms | "
                     f"{at_most(row['median_ms'], target)} |")
    for chunk_size, target in _LEAST_STREAMS.items():
        row = row_of(steps, precision="int8", chunk_size=chunk_size, streams=16)
        value = row["realtime_streams_per_core"]
        lines.append(f"| int8, 16 streams, C = {chunk_size} | at least {target} real-time streams "
                     f"per core | {value:.0f} | {verdict(value / target, 1)} |")
    stored = row_of(results["files"], name=_LARGEST, kind="packed", precision="int4")
    lines.append(f"| int4, file | at most {_MOST_MB['file']} MB | "
                 f"{at_most(stored['megabytes'], _MOST_MB['file'])} |")
    lines.append(f"| int4, peak memory | at most {_MOST_MB['memory']} MB | "
                 f"{at_most(stored['peak_mb'], _MOST_MB['memory'])} |")
    return "\n".join(lines) + "\n\n"


def _write(results: Dict[str, List[Row]], _: Page) -> str:
    model: Dict[str, Cell] = {"model": text("name")}
    return f"""Random weights in the architectures of public models
(`tools/benchmark/pages/random_model.py --architecture`). Packed files are made by `pack_model`
([large models](large_models.md)). Peak memory is that of `bench_encoder` after it has loaded the
model and computed some chunks of one stream. [Other runtimes](other_runtimes.md) are measured on a
page of their own.

```
python3 -m tools.benchmark.pages.random_model --architecture=fastconformer_114m --output=model.pt
pack_model --model=model.pt --precision=int8 --output=model.int8
bench_encoder --model=model.int8 --head=transducer --streams=1,16 {" ".join(_sizes(7))}
```

{table_of(results["files"], {
    **model, "file": text("kind"), **columns("precision"), "file, MB": number("megabytes", 0),
    "loads in, s": number("load_s", 2), "peak memory, MB": number("peak_mb", 0),
    "first chunk, ms": number("first_ms", 0)})}
Time per chunk of one stream on one thread, packed files, M = {_LEFT_CONTEXT}; encoder frames of
80 ms. The transducer's greedy search is made to find a random token in every third frame in the
mean. Targets: it adds at most 10 % to the encoder's time at 16 streams, and 25 % at one. At one
stream the weights come from memory for every chunk: reading the file once takes the time of the
column before the last.

{_write_targets(results)}""" + table_of(results["steps"], {
        **model, "head": text("head"), "C": text("chunk_size"),
        **columns("precision", "streams", "ms", "p95", "real-time streams per core", "peak"),
        "reading the file, ms": number("reading_ms", 2),
        "time of the head beside that of the encoder": lambda row:
            f"{100 * row['head_ms'] / (row['median_ms'] - row['head_ms']):.1f} %"})


SECTIONS = [Section("One stream on several threads", _measure_threads, _write_threads),
            Section("Large models", _measure, _write)]
