"""Runs the benchmark and writes its page. `make bench` calls it after building.

    python3 -m tools.benchmark.report.run [--output=docs] [--work_dir=build/benchmark]
        [--bin=build/bin] [--no_onnx_runtime] [--only=PATTERN] [--quick] [--page_only]

Takes about 40 minutes on an idle machine. --quick takes a minute; it is for tests, with a tiny
model and meaningless times. Results are kept in results.json in the work folder, from which
--page_only writes the page again. --only measures the sections again in whose titles its regular
expression is found, and keeps the other sections of the last run.
"""

import argparse
import os
import re
import sys
from typing import Any, Dict, List, Optional

from models.reference.model import ModelConfig, SpeechModel
from tools.benchmark.pages.command import load_results, make_folders, make_parser, store_results
from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.pages.random_model import write_model
from tools.benchmark.report import (bulk, footprint, large_models, one_core, onnx_runtime,
                                    operations, sweeps, windows)
from tools.benchmark.report.bench import Bench, Page
from tools.benchmark.report.plan import CHUNK_SIZE, FULL, LEFT_CONTEXT, QUICK, SEED

SECTIONS = [*one_core.SECTIONS, *onnx_runtime.SECTIONS, *bulk.SECTIONS, *sweeps.SECTIONS,
            *operations.SECTIONS, *windows.SECTIONS, *large_models.SECTIONS, *footprint.SECTIONS]

_INTRODUCTION = """# Benchmarks

`make bench` measures everything below, draws the figures and writes this page. The numbers hold
for the machine described here only.{quick}

The model has random weights in a common architecture (`tools/benchmark/pages/random_model.py`):
{model}.
Unless stated otherwise, a chunk has {chunk_size} encoder frames ({chunk_ms} ms of audio) and
{left_context} encoder frames of left context.

**Time** is that of one chunk of one stream: the time of one step of the encoder and the CTC head
over a batch, divided by the batch size. The streams are past their start and all caches are full.
[Features](#features) are computed beforehand and no search runs. Times are medians unless a column
says otherwise.

**Baseline** is the TorchScript `forward_chunk` of the same file, run by LibTorch for one stream on
one thread. It is measured in turns with Runnel (A B A B), after LibTorch has optimised it.

**Matmuls** is the share of the time that the large matrix multiplications take when they run alone,
with packed weights, in the same run.

**Peak** is the speed in operations per second as a share of the CPU's peak. The peak is the speed
of Runnel's fastest of several large matmuls whose weights stay in the cache, measured in the same
run. The CPU itself can be a few percent faster.

## Machine

{cpu}, {cores} cores, {isa}. {libraries}. Load average before the run: {load:.1f}.

Peak of one thread, 10^9 operations per second: {peaks}. Memory, read by one thread:
{memory:.1f} GB/s.

Data types and instruction sets of each precision:

{computes}
"""


def describe(config: ModelConfig) -> str:
    """The model in words."""
    encoder = config.encoder
    assert encoder.convolution is not None
    parameters = sum(tensor.numel() for tensor in SpeechModel(config).parameters())
    return (f"{encoder.num_layers} Conformer layers, d {encoder.model_dim}, "
            f"{encoder.num_heads} heads, feed-forward {encoder.feed_forward_dim}, "
            f"{encoder.convolution.type} kernel {encoder.convolution.kernel_size}, "
            f"{encoder.subsampling.type},\n{encoder.input_dim} bins, {config.vocab_size} tokens, "
            f"{parameters / 1e6:.1f} million parameters")


def measure(args: argparse.Namespace) -> Dict[str, Any]:
    """Runs all measurements, for write_page. One that fails becomes a note."""
    bench = Bench(QUICK if args.quick else FULL, args.bin, args.work_dir)
    write_model(bench.plan.architecture, SEED, str(bench.model))
    load = os.getloadavg()[0]
    notes: List[str] = []
    for section in filter(lambda section: args.only.search(section.title), SECTIONS):
        print(section.title, file=sys.stderr, flush=True)
        try:
            if section.title == onnx_runtime.TITLE and args.no_onnx_runtime:
                raise ProgramError("left out by request")
            bench.results[section.title] = section.measure(bench)
        except ProgramError as error:
            notes.append(f"{section.title}: not measured: {error}")
    return {"quick": args.quick, "load": load, "machine": bench.machine, "notes": notes,
            "sections": bench.results}


def with_earlier(results: Dict[str, Any], earlier: Dict[str, Any]) -> Dict[str, Any]:
    """New results of some sections in the place of those of an earlier run, whose machine stays."""
    if not earlier or earlier["quick"] != results["quick"]:
        raise ProgramError("no results of an earlier run of this kind, which --only completes")
    return {**earlier,
            "notes": [*dict.fromkeys(earlier["notes"] + results["notes"])],
            "sections": {**earlier["sections"], **results["sections"]}}


def write_page(results: Dict[str, Any], args: argparse.Namespace) -> None:
    """Writes benchmarks.md and its figures."""
    page = Page(QUICK if results["quick"] else FULL, results["sections"], results["machine"],
                args.output)
    if "One core" not in page.results:
        raise ProgramError("; ".join(results["notes"]))
    machine = page.machine
    parts = [_INTRODUCTION.format(
        quick=" **This is the quick run of the tests: a tiny model and meaningless times.**"
        if results["quick"] else "",
        model=describe(page.plan.architecture), chunk_size=CHUNK_SIZE, chunk_ms=CHUNK_SIZE * 40,
        left_context=LEFT_CONTEXT, load=results["load"], cpu=machine["cpu"],
        cores=machine["cores"], isa=", ".join(machine["isa"]),
        libraries=", ".join(f"{name} {version}" for name, version in machine["libraries"].items()),
        peaks=", ".join(f"{precision} {peak:.0f}" for precision, peak in
                        machine["peak_gflops_per_core"].items()) or "not measured",
        memory=machine["memory_gb_per_second"],
        computes="\n".join(dict.fromkeys(f"- {row['compute']}"
                                         for row in page.results["One core"])))]
    parts += [f"## {section.title}\n\n{section.write(page.results[section.title], page)}"
              for section in SECTIONS if section.title in page.results]
    if results["notes"]:
        parts.append("## Not measured\n\n" + "".join(f"- {note}\n" for note in results["notes"]))
    (args.output / "benchmarks.md").write_text("\n".join(parts), encoding="utf-8")


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; 1 when nothing could be measured or the page cannot be written."""
    parser = make_parser(str(__doc__), "benchmark")
    parser.add_argument("--no_onnx_runtime", action="store_true",
                        help="neither install nor measure ONNX Runtime")
    parser.add_argument("--only", type=re.compile, metavar="PATTERN", default=re.compile(""),
                        help="measure these sections again, and keep the others of the last run")
    args = parser.parse_args(arguments)
    try:
        make_folders(args)
        if not args.page_only:
            measured = measure(args)
            if args.only.pattern:
                measured = with_earlier(measured, load_results(args))
            store_results(args, measured)
        results = load_results(args)
        if not results:
            raise ProgramError(f"{args.work_dir}: no results of an earlier run")
        write_page(results, args)
    except (OSError, ProgramError, RuntimeError, ValueError) as error:
        print(f"benchmark: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    print(args.output / "benchmarks.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
