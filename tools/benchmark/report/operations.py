"""Results of bench_operations and bench_language_model: the parts of a step with their floors, of
the Conformer and of other layers, the time of features and of searches."""

import re
from typing import Any, Dict, List, NamedTuple, Tuple

from tools.benchmark.pages.markdown import table
from tools.benchmark.report.bench import Bench, Page, Row, Section
from tools.benchmark.report.cells import row_of, verdict
from tools.benchmark.report.plan import CHUNK_SIZE

_FLOORS = "^conformer/"  # operations that have counters for each part
_OTHER_LAYERS = ("^(conformer|e_branchformer|reworked_conformer|rotary|efficient_conformer)/.*/"
                 "(float32|int8)/16$|"
                 "^local_attention/.*/(float32|int8)/1$")
_PIECES = "^piece/"
_FEATURES = "^(feature_stream|fbank|mfcc)$"
_LAYERS = {"conformer": "Conformer", "e_branchformer": "E-Branchformer",
           "reworked_conformer": "icefall's reworked Conformer", "rotary": "rotary positions",
           "efficient_conformer": "Efficient Conformer", "local_attention": "local attention"}
_LAYERS_TARGET = 1.2  # multiple of the floor of a step, relative to the Conformer's
# Pieces that stand in the place of another one, and how much more time they may take.
_COUNTERPARTS = {"basic_norm": "layer_norm", "double_swish": "swish"}
_COUNTERPART_TARGET = 1.25
_HEAD_TARGET = 0.05  # of a piece of the transducer, relative to the encoder
_SEARCHES = ("greedy search", "beam 8", "beam 8, with hotwords", "beam 8, with the model")


def _measure_floors(bench: Bench) -> List[Row]:
    return bench.operations(bench.plan.seconds, _FLOORS)


def _write_floors(steps: List[Row], page: Page) -> str:
    rows = [_parts(step, page) for step in steps]
    speeds = ", ".join(f"{' '.join(_setting(step))}: {step['read_gb_per_second']:.1f}"
                       for step in steps)
    return f"""```
bench_operations --benchmark_filter='{_FLOORS}'
```

The time of each part of the model for one chunk of one stream, at the sizes of the AISHELL model,
and the least time that it can take. Each cell has the milliseconds, the floor, and the time as a
multiple of the floor.

- **Milliseconds** are the median time of the modules of the part inside whole steps of all layers,
  with their norms and residual sums.
- **Floor**: the operations at the peak of the precision, or the bytes that are read at the speed of
  reading, whichever takes longer ("memory" where that is the reading). A step reads the weights
  once for all streams, and the cached keys and values of each. Scores and context are float32 in
  every precision and use the peak of float32. The whole step has the sum of the floors.
- **Speed of reading**: one thread reads as many bytes as the weights and caches of a step have,
  over and over. The last cache may hold a part of them. In GB/s, by precision and streams:
  {speeds}.
- **Attention**: the projections have the time of their matmuls when the large matmuls of a step run
  alone. Scores and context have the rest of the attention modules: also norm, softmax, quantisation
  and caches.

""" + table(["precision", "streams", *rows[0]],
            [[*_setting(step), *(_cell(part) for part in parts.values())]
             for step, parts in zip(steps, rows)])


def _setting(step: Row) -> Tuple[str, str]:
    """Precision and streams of a step."""
    precision, streams = step["name"].split("/")[-2:]
    return precision, streams


class Floor(NamedTuple):
    """Measured and least time."""

    ms: float
    least_ms: float
    memory: bool = False  # the least time is that of reading

    @property
    def multiple(self) -> float:
        return self.ms / self.least_ms


def _floor(ms: float, row: Row, operations: float, num_bytes: float, peak: float) -> Floor:
    compute_ms, memory_ms = operations / peak * 1e-6, num_bytes / row["read_gb_per_second"] * 1e-6
    return Floor(ms, max(compute_ms, memory_ms), memory_ms > compute_ms)


def _parts(step: Row, page: Page) -> Dict[str, Floor]:
    """From the counters of bench_operations; the last is of all parts."""
    peaks = page.machine["peak_gflops_per_core"]

    def dense(name: str, ms: float) -> Floor:
        return _floor(ms, step, step[f"{name}_operations"], step[f"{name}_weight_bytes"],
                      peaks[_setting(step)[0]])

    projections_ms = step["attention_matmuls_ms"]
    parts = {"subsampling": dense("subsampling", step["subsampling_ms"]),
             "feed-forward": dense("feed_forward", step["feed_forward_ms"]),
             "attention projections": dense("attention", projections_ms),
             "attention scores and context": _floor(
                 step["attention_ms"] - projections_ms, step, step["scores_operations"],
                 step["cache_bytes"], peaks["float32"]),
             "convolution": dense("convolution", step["convolution_ms"]),
             "ctc": dense("ctc", step["ctc_ms"])}
    return {**parts, "whole step": Floor(step["step_ms"],
                                         sum(part.least_ms for part in parts.values()))}


def _cell(floor: Floor) -> str:
    return (f"{floor.ms:.3f} / {floor.least_ms:.3f} "
            f"({floor.multiple:.2f}x{', memory' if floor.memory else ''})")


def _measure_other_layers(bench: Bench) -> Dict[str, List[Row]]:
    return {"steps": bench.operations(bench.plan.seconds, _OTHER_LAYERS),
            "pieces": bench.operations(bench.plan.operation_seconds, _PIECES)}


def _write_other_layers(measured: Dict[str, List[Row]], page: Page) -> str:
    steps: Dict[Tuple[str, str], Dict[str, Floor]] = {}  # by layers and precision
    for step in measured["steps"]:
        steps[step["name"].split("/")[0], _setting(step)[0]] = _parts(step, page)

    def relative(layers: str, precision: str, part: str) -> float:
        return (steps[layers, precision][part].multiple
                / steps["conformer", precision][part].multiple)

    names = [name for name in next(iter(steps.values())) if name != "ctc"]
    return f"""```
bench_operations --benchmark_filter='{_OTHER_LAYERS}'
bench_operations --benchmark_filter='{_PIECES}'
```

Time and floor as [above](#distance-from-the-floor), for 16 streams. The layers have the sizes of
the Conformer, but for the E-Branchformer, which is WeNet's (17 layers, kernels of 31 frames; its
cgMLP and merging count as convolution), and the Efficient Conformer, also WeNet's (strides of 2 in
layers 3 and 7, attention in groups of 3 frames before, chunks of 15 encoder frames of 80 ms with 63
before; the time is that of 16). Local attention is NeMo's: utterances of 1024 encoder
frames, one at a time, in which a frame attends to 128 frames on both sides; the time is that of 16
frames. Last column: the multiple of the whole step relative to the Conformer's. Target: at most
{_LAYERS_TARGET}x.

""" + table(["layers", "precision", *names, "relative to the Conformer"],
            [[_LAYERS[layers], precision, *(_cell(parts[name]) for name in names),
              "-" if layers == "conformer" else verdict(
                  relative(layers, precision, "whole step"), _LAYERS_TARGET, at_most=True)]
             for (layers, precision), parts in steps.items()]) + _write_pieces(
                 measured["pieces"], page)


def _write_pieces(rows: List[Row], page: Page) -> str:
    us = {row["name"].split("/")[1]: 1e6 / row["items_per_second"] for row in rows}
    encoder: Any = row_of(page.results["One core"], precision="int8", streams=page.plan.batch)
    encoder_us = encoder["median_ms"] * 1000 / CHUNK_SIZE

    def cells(name: str, row: Row) -> Tuple[str, ...]:
        floor = _floor(us[name] / 1000, row, row["operations"], row["bytes"],
                       page.machine["peak_gflops_per_core"]["int8"])
        other = _COUNTERPARTS.get(name)
        if other is not None:
            judged = f"{other}: {verdict(us[name] / us[other], _COUNTERPART_TARGET, at_most=True)}"
        elif row["operations"]:
            judged = f"encoder: {verdict(us[name] / encoder_us, _HEAD_TARGET, at_most=True)}"
        else:
            judged = "-"
        return (name, f"{us[name]:.3f}", f"{floor.least_ms * 1000:.3f}", f"{floor.multiple:.2f}x",
                judged)

    return f"""
Small operations: a row of 512 float32 values in the first two caches, which is read and written; a
token or a frame of one of 16 hypotheses of icefall's stateless transducer in int8 (512 values, 500
tokens). The floor of the former is reading as many bytes. Targets: at most {_COUNTERPART_TARGET}x
the operation that it replaces, or {_HEAD_TARGET}x the encoder's time of a frame.

""" + table(["operation", "microseconds", "floor", "multiple", "relative to"],
            [cells(name, row) for name, row in zip(us, rows)])


def _measure_features(bench: Bench) -> List[Row]:
    return bench.operations(bench.plan.operation_seconds, _FEATURES)


def _write_features(operations: List[Row], _: Page) -> str:
    return f"""```
bench_operations --benchmark_filter='{_FEATURES}'
```

One feature frame of 80 bins on one thread: computed alone (`fbank`), and by a stream from packets
of 100 ms (`feature_stream`). `mfcc` are 80 cepstral coefficients of as many bins.

""" + table(["operation", "microseconds per frame"],
            [(row["name"], f"{1e6 / row['items_per_second']:.2f}") for row in operations])


def _measure_search(bench: Bench) -> Dict[str, float]:
    """The lines of bench_language_model: value by name, in the unit printed."""
    text = bench.run("bench_language_model", f"--folder={bench.work}",
                     f"--words={bench.plan.search_words}", f"--ngrams={bench.plan.search_ngrams}")
    return {name.strip(): float(value)
            for name, value in re.findall(r"^(.{40}) +([\d.]+)", text, re.M)}


def _write_search(values: Dict[str, float], page: Page) -> str:
    ngrams = sum(values[f"{length}-grams"] for length in (1, 2, 3))
    encoder: Any = row_of(page.results["One core"], precision="int8", streams=page.plan.batch)

    def cells(search: str) -> Tuple[str, ...]:
        us = values[f"a frame, {search}"]
        ms = us * CHUNK_SIZE / 1000
        return search, f"{us:.2f}", f"{ms:.3f}", f"{100 * ms / encoder['median_ms']:.0f} %"

    return f"""```
bench_language_model --folder=/tmp
```

CTC searches of one stream on one thread. The log probabilities of 4233 tokens are random: every
fourth encoder frame has a token with probability 0.6 and four others, the frames between are blank.
The hotwords are 100 pairs of words. The model is a random 3-gram model of {ngrams / 1e6:.1f}
million n-grams. Target: beam 8 with the model takes at most a tenth of the encoder's time (int8,
{encoder["streams"]} streams).

""" + table(["search", "microseconds per encoder frame", "ms per chunk",
             "relative to the encoder, int8"], map(cells, _SEARCHES))


SECTIONS = [Section("Distance from the floor", _measure_floors, _write_floors),
            Section("Other layers", _measure_other_layers, _write_other_layers),
            Section("Features", _measure_features, _write_features),
            Section("Search", _measure_search, _write_search)]
