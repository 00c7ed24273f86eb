"""The benchmark's page, in Markdown, from its results."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from tools.benchmark.pages.markdown import table
from tools.benchmark.report import bulk, large_models, one_stream
from tools.benchmark.report.fit import fit_line, fit_operations
from tools.benchmark.report.plan import CHUNK_SIZE, LEFT_CONTEXT
from tools.benchmark.report.programs import Row

# Speed-up over TorchScript: of one stream, and per stream of a batch of 16.
TARGETS = {"float32": (2.6, 4.1), "bfloat16": (5.5, 8.2), "int8": (9.5, 14.5)}
THREADS_TARGET = 1.95  # throughput of two threads, relative to one
LOAD_TARGET_S = 1.0  # until the model is loaded, packed and warm
FIRST_CHUNK_TARGET = 1.5  # time of the first chunk, relative to a later one
DRIFT_TARGET = 0.03  # of the time per chunk after ten hours, relative to a new stream
PARTS = ("subsampling", "feed_forward", "attention", "convolution", "ctc")

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
of the fastest of several large matmuls whose weights stay in the cache, measured in the same run.
"""


def write_page(results: Dict[str, Any], figures: Sequence[str]) -> str:
    """The whole text."""
    sections = [_introduction(results), _machine(results), _main_table(results),
                _targets(results), _where_time_goes(results), _backends(results),
                _threads(results), _starts(results), _onnx(results),
                bulk.section(results.get("bulk", {})),
                _left_context(results, figures),
                _chunk_size(results, figures), _fits(results), _hours(results, figures),
                _operations(results), _search(results),
                one_stream.section(results.get("one_stream", {})),
                large_models.section(results.get("large_models", {})), _notes(results)]
    return "\n".join(section for section in sections if section)


def _number(value: Optional[float], decimals: int, unit: str = "") -> str:
    return "-" if value is None else f"{value:.{decimals}f}{unit}"


def _percent(share: Optional[float]) -> str:
    return "-" if share is None else f"{share:.0%}".replace("%", " %")


Column = Tuple[str, Callable[[Row], str]]


def _table(rows: Sequence[Row], columns: Sequence[Column]) -> str:
    return table([name for name, _ in columns],
                 [[cell(row) for _, cell in columns] for row in rows])


def _commands(results: Dict[str, Any], section: str, shown: int = 3) -> str:
    """The first commands of a section, which differ in one flag."""
    commands = results["commands"].get(section, [])
    if not commands:
        return ""
    lines = commands[:shown] + ([f"... ({len(commands) - shown} more like these)"]
                                if len(commands) > shown else [])
    return "```\n" + "\n".join(lines) + "\n```\n"


def _figure(figures: Sequence[str], file: str, text: str) -> str:
    return f"![{text}]({file})\n" if file in figures else ""


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
            f"Peak of one thread, 10^9 operations per second: {peaks or 'not measured'}.\n\n"
            "Data types and instruction sets of each precision:\n\n"
            + "".join(f"- {start['compute']}\n" for start in results["starts"]))


_COLUMNS: List[Column] = [
    ("precision", lambda row: row["precision"]),
    ("streams", lambda row: str(row["streams"])),
    ("ms", lambda row: _number(row["median_ms"], 2)),
    ("p95", lambda row: _number(row["p95_ms"], 2)),
    ("min", lambda row: _number(row["min_ms"], 2)),
    ("real-time streams per core", lambda row: _number(row["realtime_streams_per_core"], 0)),
    ("baseline ms", lambda row: _number(row["baseline_median_ms"], 2)),
    ("speed-up", lambda row: _number(row["speedup"], 2, "x")),
    ("matmuls", lambda row: _percent(row["matmul_share"])),
    ("peak", lambda row: _percent(row["fraction_of_peak"])),
    ("MB per stream", lambda row: _number(row["bytes_per_stream"] / 1e6, 2)),
]


def _main_table(results: Dict[str, Any]) -> str:
    if not results["table"]:
        return ""
    return ("## One core\n\n" + _commands(results, "table") + "\n"
            + _table(results["table"], _COLUMNS) + "\n"
            + "![time against the number of streams](benchmark_batch.svg)\n")


def _of(rows: Sequence[Row], precision: str, streams: int) -> Optional[Row]:
    found = [row for row in rows if (row["precision"], row["streams"]) == (precision, streams)]
    return found[0] if found else None


def _verdict(value: Optional[float], target: float) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}x ({'reached' if value >= target else 'short'})"


def _targets(results: Dict[str, Any]) -> str:
    def measured(precision: str, streams: int, target: float) -> str:
        row = _of(results["table"], precision, streams)
        return _verdict(row["speedup"] if row else None, target)

    rows = [{"precision": precision, "one": f"{one:g}x", "batch": f"{batch:g}x",
             "measured_one": measured(precision, 1, one),
             "measured_batch": measured(precision, 16, batch)}
            for precision, (one, batch) in TARGETS.items()]
    columns: List[Column] = [
        ("speed-up over TorchScript", lambda row: row["precision"]),
        ("target, 1 stream", lambda row: row["one"]),
        ("measured", lambda row: row["measured_one"]),
        ("target, 16 streams, per stream", lambda row: row["batch"]),
        ("measured", lambda row: row["measured_batch"])]
    return ("## Targets\n\nFor a core with AVX-512, VNNI and bfloat16 instructions.\n\n"
            + _table(rows, columns))


def _where_time_goes(results: Dict[str, Any]) -> str:
    rows = [row for row in results["table"]
            if row["matmul_share"] is not None and row["streams"] in (1, 16)]
    if not rows:
        return ""
    columns: List[Column] = _COLUMNS[:3] + [
        (part.replace("_", "-"), lambda row, part=part: _percent(row[f"matmul_share_{part}"]))
        for part in PARTS] + [
        ("everything else", lambda row: _percent(1 - row["matmul_share"]))]
    return ("## Where the time goes\n\n"
            "The share of the time that the large matmuls of each part take when they run alone. "
            "Everything else is norms, softmax, attention scores and context, depthwise "
            "convolution, quantisation, activations that are not fused, copies, and the slow-down "
            "of matmuls that run between these operations.\n\n" + _table(rows, columns))


def _backends(results: Dict[str, Any]) -> str:
    if not results["backends"]:
        return ""
    columns: List[Column] = [("variant", lambda row: row["label"]), *_COLUMNS[1:]]
    return ("## Other variants\n\n" + _commands(results, "backends") + "\n"
            + _table(results["backends"], columns))


def _threads(results: Dict[str, Any]) -> str:
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
        return (_verdict(value, THREADS_TARGET) if row["num_threads"] == 2
                else _number(value, 2, "x"))

    columns: List[Column] = [
        *_COLUMNS[:1], ("threads", lambda row: str(row["num_threads"])), *_COLUMNS[1:5],
        ("real-time streams, all threads", lambda row: _number(total(row), 0)),
        ("relative to one thread", gain)]
    return ("## Threads\n\n" + _commands(results, "threads") + "\n"
            f"Each thread has its own batch. Target for two threads: {THREADS_TARGET:g}x.\n\n"
            + _table(rows, columns))


def _starts(results: Dict[str, Any]) -> str:
    if not results["starts"]:
        return ""
    columns: List[Column] = [
        *_COLUMNS[:1], ("model loaded, s", lambda row: _number(row["load_s"], 2)),
        ("first chunk, ms", lambda row: _number(row["first_ms"], 2)),
        ("later chunks, ms", lambda row: _number(row["later_ms"], 2)),
        ("first relative to later", lambda row: _number(row["first_ms"] / row["later_ms"], 2, "x"))]
    return ("## Start-up\n\nFrom the processes of [One core](#one-core), with the model file in "
            f"the system's cache. Targets: {LOAD_TARGET_S:g} s and {FIRST_CHUNK_TARGET:g}x.\n\n"
            + _table(results["starts"], columns))


def _onnx(results: Dict[str, Any]) -> str:
    rows = results["onnx"]
    if not rows:
        return "## ONNX Runtime\n\nNot measured here, see [Not measured](#not-measured).\n"

    def beside(row: Row) -> str:
        own = _of(results["table"], row["precision"], row["streams"])
        return _number(own["median_ms"] if own else None, 2)

    columns: List[Column] = [
        ("precision", lambda row: row["precision"]), ("batch", lambda row: str(row["streams"])),
        *_COLUMNS[2:5],
        ("real-time streams per core", lambda row: _number(CHUNK_SIZE * 40 / row["median_ms"], 0)),
        ("Runnel's ms", beside),
        ("largest difference of log probabilities",
         lambda row: f"{row['largest_difference']:.1e}")]
    return (f"## ONNX Runtime\n\nVersion {rows[0]['version']}, npm's `onnxruntime-node`, one "
            "thread, all optimisations. The weights are the same; "
            "`tools/benchmark/report/onnx_export.py` exports them with fixed sizes and constant "
            "position tables. int8 is dynamic: matmuls with constant weights become MatMulInteger "
            "with a scale per output channel (`tools/benchmark/report/onnx_quantize.py`); the "
            "convolutions of the subsampling stay float32. ONNX Runtime is measured by itself, not "
            "in turns. The time includes the copies of inputs and outputs by the Node binding. "
            "Differences are from PyTorch's float32, after one chunk.\n\n"
            + _table(rows, columns))


def _linear(rows: Sequence[Row], name: str) -> str:
    """Straight lines through each precision and batch."""
    fits = []
    for precision, streams in dict.fromkeys((row["precision"], row["streams"]) for row in rows):
        points = [row for row in rows
                  if (row["precision"], row["streams"]) == (precision, streams)]
        if len(points) > 2:
            fits.append({"precision": precision, "streams": streams,
                         "line": fit_line([row[name] for row in points],
                                          [row["median_ms"] for row in points])})
    columns: List[Column] = [
        *_COLUMNS[:2],
        ("ms at 0", lambda row: _number(row["line"].intercept, 3)),
        ("microseconds per frame", lambda row: _number(row["line"].slope * 1e3, 2)),
        ("R squared", lambda row: _number(row["line"].r_squared, 4))]
    return _table(fits, columns) if fits else ""


def _left_context(results: Dict[str, Any], figures: Sequence[str]) -> str:
    rows = results["left_contexts"]
    if not rows:
        return ""
    return ("## Left context\n\n" + _commands(results, "left_contexts", 1) + "\n"
            "The number of operations is linear in M: each encoder frame adds a key, a position "
            "and a value for each query. Straight lines by least squares:\n\n"
            + _linear(rows, "left_context") + "\n"
            + _figure(figures, "benchmark_left_context.svg", "time against left context"))


def _chunk_size(results: Dict[str, Any], figures: Sequence[str]) -> str:
    rows = results["chunk_sizes"]
    if not rows:
        return ""
    return ("## Chunk size\n\n" + _commands(results, "chunk_sizes", 1) + "\n"
            "The number of operations is linear in C, except for the attention within the chunk, "
            "which is quadratic and small:\n\n" + _linear(rows, "chunk_size") + "\n"
            + _figure(figures, "benchmark_chunk_size.svg", "time against chunk size"))


def _fits(results: Dict[str, Any]) -> str:
    rows = results["left_contexts"] + results["chunk_sizes"]
    fits = []
    for precision, streams in dict.fromkeys((row["precision"], row["streams"]) for row in rows):
        points = [row for row in rows
                  if (row["precision"], row["streams"]) == (precision, streams)]
        if len(points) > 3:
            fits.append({"precision": precision, "streams": streams, "fit": fit_operations(
                [row["dense_operations"] for row in points],
                [row["attention_operations"] for row in points],
                [row["median_ms"] for row in points])})
    if not fits:
        return ""
    columns: List[Column] = [
        *_COLUMNS[:2],
        ("constant ms", lambda row: _number(row["fit"].overhead_ms, 3)),
        ("dense, 10^9/s", lambda row: _number(row["fit"].dense_gflops, 0)),
        ("attention, 10^9/s", lambda row: _number(row["fit"].attention_gflops, 0)),
        ("R squared", lambda row: _number(row["fit"].r_squared, 4)),
        ("largest deviation", lambda row: _percent(row["fit"].largest_deviation))]
    return ("## Time and number of operations\n\n"
            "A fit over both sweeps: time = a constant + dense operations / their speed + "
            "attention operations / their speed. Dense operations are those of matmuls with "
            "weights, attention operations those of scores and context. The fit minimises the "
            "squares of relative residuals. A speed of inf means that the fit attributes no time "
            "to these operations.\n\n"
            + _table(fits, columns))


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
    return (f"## {run['hours']:g} hours of one stream\n\n" + _commands(results, "long_run") + "\n"
            f"Time per chunk of the last hour relative to the first minute: "
            f"{run['ratio_over_time']:.3f}. That ratio includes changes of the CPU's clock, so the "
            "old stream was then measured in turns with a new one: "
            f"{run['ratio_in_turns']:.3f}, {verdict} the target of {DRIFT_TARGET * 100:g} %. "
            f"{memory}\n\n"
            + _figure(figures, "benchmark_hours.svg", "time per chunk over the stream")
            + _figure(figures, "benchmark_memory.svg", "memory over the stream"))


def _operations(results: Dict[str, Any]) -> str:
    """Names are `operation` or `operation/backend/precision/streams`."""
    microseconds = {row["name"]: 1e6 / row["items_per_second"] for row in results["operations"]}
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
        *[(variant, lambda row, variant=variant: _number(row.get(variant), 1))
          for variant in variants]]
    ordered = sorted(modules.values(), key=lambda row: int(row["streams"]))
    return ("## Single operations\n\n```\nbench_operations\n```\n\n"
            "Mean microseconds on one thread, at the sizes of the AISHELL model. First, one "
            "feature frame of 80 bins: computed alone (`fbank`), and by a stream from packets of "
            "100 ms (`feature_stream`).\n\n"
            + _table(frames, [("operation", lambda row: row["name"]),
                              ("microseconds per frame", lambda row: _number(row["us"], 2))])
            + "\nSecond, one chunk of one stream: the time of a batch divided by its size. The "
            "modules of a layer include their norm and residual sum.\n\n"
            + _table(ordered, columns))


_SEARCHES = ("greedy search", "beam 8", "beam 8, with the model")


def _search(results: Dict[str, Any]) -> str:
    """The time of a chunk's search, beside that of the encoder in int8."""
    values = results["search"]
    if not values:
        return ""
    encoder = _of(results["table"], "int8", 16) or _of(results["table"], "int8", 2)
    rows = [{"search": name, "us": values[f"a frame, {name}"],
             "ms": values[f"a frame, {name}"] * CHUNK_SIZE / 1000} for name in _SEARCHES]

    def share(row: Row) -> str:
        return _percent(row["ms"] / encoder["median_ms"] if encoder else None)

    columns: List[Column] = [
        ("search", lambda row: row["search"]),
        ("microseconds per encoder frame", lambda row: _number(row["us"], 2)),
        ("ms per chunk", lambda row: _number(row["ms"], 3)),
        ("relative to the encoder, int8", share)]
    ngrams = sum(values[f"{length}-grams"] for length in (1, 2, 3))
    return ("## Search\n\n```\nbench_language_model --folder=/tmp\n```\n\n"
            "CTC searches of one stream on one thread. The log probabilities of 4233 tokens are "
            "random: every fourth encoder frame has a token with probability 0.6 and four others, "
            "the frames between are blank. The model is a random 3-gram model of "
            f"{ngrams / 1e6:.1f} million n-grams. Target: beam 8 with the model takes at most a "
            "tenth of the encoder's time (int8, "
            f"{encoder['streams'] if encoder else '-'} streams).\n\n" + _table(rows, columns))


def _notes(results: Dict[str, Any]) -> str:
    if not results["notes"]:
        return ""
    return "## Not measured\n\n" + "".join(f"- {note}\n" for note in results["notes"])
