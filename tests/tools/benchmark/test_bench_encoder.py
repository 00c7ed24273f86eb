"""bench_encoder as a user runs it: its table, files and errors. Times are not checked."""

import csv
import itertools
import json
import pathlib
import re
import subprocess
import sys

import pytest

from optional_parts import needs_pytorch, needs_reference
from tool_runner import (BIN, DIGITS, FAILURE, ROOT, TINY_MODEL, USAGE, error_line, run, succeed,
                         without_sanitizers)

MODEL = f"--model={DIGITS / 'digits.pt'}"
SHORT = "--seconds=0.01"
FIELDS = ["precision", "streams", "chunk_size", "left_context", "right_context", "cached_windows",
          "num_threads", "max_batch_streams", "ms_per_stream_chunk_median",
          "ms_per_stream_chunk_p95", "head_ms_per_stream_chunk_median",
          "realtime_streams_per_core", "speedup_over_torchscript", "fraction_of_peak",
          "bytes_per_stream", "tokens_per_frame"]


def measure(folder: pathlib.Path, *flags: str) -> list[dict]:
    """The results of a run, after a check of the fields of its JSON."""
    output = succeed("bench_encoder", MODEL, SHORT, *flags, f"--json={folder / 'b.json'}")
    report = json.loads((folder / "b.json").read_text(encoding="utf-8"))
    assert list(report) == ["machine", "results"]
    machine = report["machine"]
    assert {"cpu", "isa", "cores", "compute", "libraries"} <= set(machine) and machine["cores"] >= 1
    assert machine["memory_gb_per_second"] > 0
    for result in report["results"]:
        assert list(result) == FIELDS
        assert 0 < result["ms_per_stream_chunk_median"] <= result["ms_per_stream_chunk_p95"]
        assert 0 < result["head_ms_per_stream_chunk_median"] < result["ms_per_stream_chunk_p95"]
        chunk_ms = 40 * result["chunk_size"]
        assert result["realtime_streams_per_core"] == pytest.approx(
            chunk_ms / result["ms_per_stream_chunk_median"])
        assert result["fraction_of_peak"] is None or result["fraction_of_peak"] > 0
        assert result["bytes_per_stream"] > 0
    assert re.match(r"model loaded in [\d.]+ s; first chunk [\d.]+ ms, later ones [\d.]+ ms; "
                    r"peak memory [\d.]+ MB\n", output)
    assert len(output.splitlines()) == 5 + len(report["results"])
    return report["results"]


def test_table_and_json(tmp_path):
    results = measure(tmp_path, "--streams=1,3", f"--csv={tmp_path / 'b.csv'}")
    assert [result["streams"] for result in results] == [1, 3]
    for result in results:
        assert (result["precision"], result["num_threads"]) == ("float32", 1)
        assert (result["chunk_size"], result["left_context"]) == (16, 64)
        assert result["speedup_over_torchscript"] is None
    with (tmp_path / "b.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["streams"]) for row in rows] == [1, 3]
    for row, result in zip(rows, results):
        assert float(row["median_ms"]) == pytest.approx(result["ms_per_stream_chunk_median"], 1e-4)
        assert float(row["min_ms"]) <= float(row["median_ms"])
        assert int(row["dense_operations"]) > int(row["attention_operations"]) > 0


@needs_reference
def test_baseline(tmp_path):
    result, = measure(tmp_path, "--streams=2", "--baseline")
    assert result["speedup_over_torchscript"] > 0


@without_sanitizers
def test_peak_memory_is_that_of_the_process_itself():
    parent = b"x" * (600 << 20)  # whose peak a child inherits in getrusage()
    output = succeed("bench_encoder", MODEL, SHORT, "--streams=1")
    found = re.search(r"peak memory ([\d.]+) MB\n", output)
    assert found and 5 < float(found[1]) < len(parent) / 1e6


def test_sizes_and_threads(tmp_path):
    result, = measure(tmp_path, "--streams=5", "--num_threads=2", "--chunk_size=4",
                      "--left_context=8")
    assert (result["streams"], result["num_threads"]) == (5, 2)
    assert (result["chunk_size"], result["left_context"]) == (4, 8)
    assert result["speedup_over_torchscript"] is None
    # Default numbers of streams below the number of threads are left out.
    assert measure(tmp_path, "--num_threads=3", "--chunk_size=1", "--left_context=0")[0][
        "streams"] == 4


def test_streams_take_turns_in_batches(tmp_path):
    together, = measure(tmp_path, "--streams=7")
    in_turns, = measure(tmp_path, "--streams=7", "--max_batch_streams=3")
    assert (together["max_batch_streams"], in_turns["max_batch_streams"]) == (0, 3)
    assert in_turns["streams"] == 7
    assert in_turns["bytes_per_stream"] == together["bytes_per_stream"]


@pytest.mark.parametrize("flags, precision", [
    pytest.param(["--backend=libtorch"], "float32", marks=needs_reference),
    pytest.param(["--precision=float64"], "float64", marks=needs_reference),
    (["--precision=int8"], "int8"), (["--precision=bfloat16"], "bfloat16")])
def test_precisions(tmp_path, flags, precision):
    result, = measure(tmp_path, "--streams=2", *flags)
    assert result["precision"] == precision
    assert precision != "float64" or result["fraction_of_peak"] is None


def test_memory_follows_left_context(tmp_path):
    sizes = [measure(tmp_path, "--streams=1", f"--left_context={left_context}")[0][
        "bytes_per_stream"] for left_context in (0, 64, 128)]
    assert sizes[0] < sizes[1] < sizes[2]


def test_long_run(tmp_path):
    path = tmp_path / "hours.csv"
    output = succeed("bench_encoder", MODEL, "--hours=0.04", f"--csv={path}")
    assert [line.split(":")[0] for line in output.splitlines()] == [
        "first minute", "in turns afterwards", "bytes per stream", "resident bytes"]
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["minute"]) for row in rows] == [0, 1, 2]
    assert sum(int(row["chunks"]) for row in rows) == 225  # 144 s in chunks of 640 ms
    assert len({row["bytes_per_stream"] for row in rows}) == 1


@pytest.mark.parametrize("flags, message", [
    (["--streams=1,x"], "--streams is '1,x', expected numbers of 1 to 65536"),
    (["--streams="], "--streams is ''"),
    (["--streams=0"], "--streams is '0'"),
    (["--streams=1,"], "--streams is '1,'"),
    (["--streams=1", "--num_threads=2"], "--streams is '1', expected at least one per thread, 2"),
    (["--num_threads=0"], "--num_threads is 0, expected 1 to 1024"),
    (["--max_batch_streams=-1"], "--max_batch_streams is -1, expected 0 to 65536"),
    (["--seconds=0"], "--seconds is 0"),
    (["--seconds=1e9"], "--seconds is 1000000000, expected 0.001 to 600 s"),
    (["--hours=0"], "--hours is 0"),
    (["--hours=1", "--baseline"], "--baseline cannot be given with --hours"),
    (["--chunk_size=-1"], "have no steady state"),
    (["--left_context=-1"], "have no steady state"),
    (["--chunk_size=0"], "chunk_size"),
    (["--json=-"], "--json is -, expected a file"),
    (["--baseline", "--running_normalization"], "--baseline needs the model as its file"),
])
def test_wrong_flags(flags, message):
    assert message in error_line(run("bench_encoder", MODEL, *flags), USAGE)


def test_files_that_cannot_be_written(tmp_path):
    for flag in "json", "csv":
        missing = tmp_path / "missing" / "b"
        assert f"{missing}: cannot create: No such file" in error_line(
            run("bench_encoder", "--model=no_model.pt", f"--{flag}={missing}"), FAILURE)
        assert f"--{flag} is {TINY_MODEL}, which is also read" in error_line(
            run("bench_encoder", f"--model={TINY_MODEL}", f"--{flag}={TINY_MODEL}"), USAGE)
    done = run("bench_encoder", MODEL, SHORT, "--streams=1", "--json=/dev/full")
    assert done.returncode == FAILURE
    assert done.stderr.splitlines() == [
        "bench_encoder: /dev/full: cannot write: No space left on device"]


def page_section(page: str, title: str) -> str:
    """The text below a title, to the next."""
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


@without_sanitizers
@needs_reference
@needs_pytorch
def test_the_whole_benchmark(tmp_path):
    """`make bench` on a tiny model, without downloads."""
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-m", "tools.benchmark.report.run", "--quick", "--no_onnx_runtime",
               f"--bin={BIN}", f"--output={tmp_path / 'docs'}", f"--work_dir={tmp_path / 'work'}"]
    done = subprocess.run([*command, "--only=^Threads$"], cwd=ROOT, capture_output=True,
                          encoding="utf-8", check=False)
    assert done.returncode == 1 and "no results of an earlier run" in done.stderr
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert "This is the quick run" in page and str(tmp_path) not in page
    for title in ("Machine", "One core", "Start-up", "Other variants", "Threads", "Bulk decoding",
                  "Left context", "Chunk size", "Hours of one stream", "Search",
                  "One stream on several threads", "Large models", "Not measured"):
        assert f"\n## {title}\n" in page
    for figure in ("batch", "left_context", "chunk_size", "hours", "memory"):
        name = f"benchmark_{figure}.svg"
        assert f"]({name})" in page
        assert (tmp_path / "docs" / name).read_text(encoding="utf-8").startswith("<?xml")
    for engine in ("TorchScript | float32", "Runnel | int8", "Runnel, from WAV files | int8"):
        assert f"| {engine} | 2 | " in page
    assert "- ONNX Runtime: not measured: left out by request\n" in page
    assert re.search(r"Memory, read by one thread:\s[\d.]+ GB/s\.", page)
    assert re.search(r"\| int8 \| 2 \| .* \| [\d.]+x \((reached|short)\) \| [\d.]+ \|\n",
                     page_section(page, "One stream on several threads"))
    if (BIN / "bench_operations").exists():  # where Google Benchmark is installed
        floors = page_section(page, "Distance from the floor")
        for precision, streams in itertools.product(("float32", "bfloat16", "int8"), (1, 16)):
            assert re.search(rf"^\| {precision} \| {streams}( \| \S+ / \S+ \(.*?\)){{7}} \|$",
                             floors, re.M)
        others = page_section(page, "Other layers")
        for layers, precision in itertools.product(
                ("E-Branchformer", "icefall's reworked Conformer", "rotary positions",
                 "local attention"), ("float32", "int8")):
            assert re.search(rf"^\| {layers} \| {precision}( \| \S+ / \S+ \(.*?\)){{6}}"
                             r" \| \S+x \((reached|short)\) \|$", others, re.M)
        for piece in ("basic_norm", "double_swish", "stateless_predictor", "stateless_joint"):
            assert re.search(rf"^\| {piece} \|.*\((reached|short)\) \|$", others, re.M)
        assert re.search(r"^\| fbank \| [\d.]+ \|$", page_section(page, "Features"), re.M)
    if "avx2" in page_section(page, "Machine"):
        sets = page_section(page, "Other instruction sets")
        assert "RUNNEL_INSTRUCTION_SET=avx2 ATEN_CPU_CAPABILITY=avx2" in sets
        assert re.search(r"^\| avx2 \| int8 \| 1 \|.* \| [\d.]+x \((reached|short of) 3.5x\) \|",
                         sets, re.M)

    done = subprocess.run([*command, "--only=^Threads$"], cwd=ROOT, capture_output=True,
                          encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "Threads\n")
    again = (tmp_path / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert page_section(again, "Threads") != page_section(page, "Threads")
    for title in ("One core", "Bulk decoding", "Large models"):
        assert page_section(again, title) == page_section(page, title)
