"""Results of bench_operations and bench_language_model: the parts of a step with their floors, the
time of features and of searches."""

import re
from typing import Any, Dict, List, Tuple

from tools.benchmark.pages.markdown import table
from tools.benchmark.report.bench import Bench, Page, Row, Section
from tools.benchmark.report.cells import row_of
from tools.benchmark.report.plan import CHUNK_SIZE

_WHOLE_STEP = "whole_step/"  # in the names of operations that have counters for each part
# The layers that such a name begins with.
_LAYERS = {"whole_step": "Conformer", "e_branchformer": "E-Branchformer"}
_SEARCHES = ("greedy search", "beam 8", "beam 8, with hotwords", "beam 8, with the model")


def _measure_floors(bench: Bench) -> List[Row]:
    return bench.operations(bench.plan.seconds, _WHOLE_STEP)


def _write_floors(steps: List[Row], page: Page) -> str:
    peaks = page.machine["peak_gflops_per_core"]
    names = [_name_of(step) for step in steps]
    parts = [_parts(step, precision, int(streams), peaks)
             for step, (_, precision, streams) in zip(steps, names)]
    speeds = ", ".join(f"{layers} {precision} {streams}: {step['read_gb_per_second']:.1f}"
                       for step, (layers, precision, streams) in zip(steps, names))
    return f"""```
bench_operations --benchmark_filter={_WHOLE_STEP}
```

The time of each part of the model for one chunk of one stream, at the sizes of the AISHELL model
and of WeNet's E-Branchformer (17 layers, kernels of 31 frames; its cgMLP and merging count as
convolution), and the least time that it can take. Each cell has the milliseconds, the floor, and
the time as a multiple of the floor.

- **Milliseconds** are the median time of the modules of the part inside whole steps of all layers,
  with their norms and residual sums.
- **Floor**: the operations at the peak of the precision, or the bytes that are read at the speed of
  reading, whichever takes longer ("memory" where that is the reading). A step reads the weights
  once for all streams, and the cached keys and values of each. Scores and context are float32 in
  every precision and use the peak of float32. The whole step has the sum of the floors.
- **Speed of reading**: one thread reads as many bytes as the weights and caches of a step have,
  over and over. The last cache may hold a part of them. In GB/s, by layers, precision and streams:
  {speeds}.
- **Attention**: the projections have the time of their matmuls when the large matmuls of a step run
  alone. Scores and context have the rest of the attention modules: also norm, softmax, quantisation
  and caches.

""" + table(["layers", "precision", "streams", *parts[0]],
            [[*name, *part.values()] for name, part in zip(names, parts)])


def _name_of(step: Row) -> Tuple[str, str, str]:
    """Layers, precision and streams of a step."""
    parts = step["name"].split("/")
    return _LAYERS[parts[0]], parts[-2], parts[-1]


def _parts(step: Row, precision: str, streams: int, peaks: Dict[str, float]) -> Dict[str, str]:
    """The cell of each part, from the counters of bench_operations; the last is of all of them."""
    floors: List[float] = []

    def cell(ms: float, operations: float, num_bytes: float, peak: float) -> str:
        compute_ms, memory_ms = (operations / peak * 1e-6,
                                 num_bytes / step["read_gb_per_second"] * 1e-6)
        floors.append(max(compute_ms, memory_ms))
        return _with_floor(ms, floors[-1], ", memory" if memory_ms > compute_ms else "")

    def dense(name: str, ms: float) -> str:
        return cell(ms, step[f"{name}_operations"], step[f"{name}_weight_bytes"] / streams,
                    peaks[precision])

    projections_ms = step["attention_matmuls_ms"]
    cells = {"subsampling": dense("subsampling", step["subsampling_ms"]),
             "feed-forward": dense("feed_forward", step["feed_forward_ms"]),
             "attention projections": dense("attention", projections_ms),
             "attention scores and context": cell(
                 step["attention_ms"] - projections_ms, step["scores_operations"],
                 step["cache_bytes"], peaks["float32"]),
             "convolution": dense("convolution", step["convolution_ms"]),
             "ctc": dense("ctc", step["ctc_ms"])}
    return {**cells, "whole step": _with_floor(step["step_ms"], sum(floors))}


def _with_floor(ms: float, floor_ms: float, set_by: str = "") -> str:
    return f"{ms:.3f} / {floor_ms:.3f} ({ms / floor_ms:.2f}x{set_by})"


def _measure_features(bench: Bench) -> List[Row]:
    return bench.operations(bench.plan.operation_seconds, "-/")


def _write_features(operations: List[Row], _: Page) -> str:
    return """```
bench_operations --benchmark_filter=-/
```

One feature frame of 80 bins on one thread: computed alone (`fbank`), and by a stream from packets
of 100 ms (`feature_stream`).

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
            Section("Features", _measure_features, _write_features),
            Section("Search", _measure_search, _write_search)]
