"""Runs the benchmark and writes its page. `make bench` calls it after building.

    python3 -m tools.benchmark.report.run [--output=docs] [--work_dir=build/benchmark]
        [--bin=build/bin] [--no_onnx_runtime] [--quick] [--page_only]

Takes about 40 minutes on an idle machine. --quick takes a minute; it is for tests, with a tiny
model and meaningless times. Results are kept in results.json in the work folder, from which
--page_only writes the page again.
"""

import argparse
import sys
from typing import Any, Dict, List, Optional

from models.reference.model import ModelConfig, SpeechModel
from tools.benchmark.pages.command import load_results, make_folders, make_parser, store_results
from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.pages.random_model import write_model
from tools.benchmark.report.figures import save_figures
from tools.benchmark.report.measure import Measurements
from tools.benchmark.report.page import write_page
from tools.benchmark.report.plan import FULL, QUICK, Plan
from tools.benchmark.report.programs import Programs

_SEED = 1


def describe(config: ModelConfig) -> Dict[str, Any]:
    """The model in words, and how many parameters it has."""
    encoder = config.encoder
    assert encoder.convolution is not None
    parameters = sum(tensor.numel() for tensor in SpeechModel(config).parameters())
    return {"parameters": parameters,
            "description": f"{encoder.num_layers} Conformer layers, d {encoder.model_dim}, "
                           f"{encoder.num_heads} heads, feed-forward {encoder.feed_forward_dim}, "
                           f"{encoder.convolution.type} kernel {encoder.convolution.kernel_size}, "
                           f"{encoder.subsampling.type}, {encoder.input_dim} bins, "
                           f"{config.vocab_size} tokens"}


def measure(plan: Plan, args: argparse.Namespace) -> Dict[str, Any]:
    """Runs all measurements. Returns Measurements.results, whether it was quick, and the model."""
    model = args.work_dir / "benchmark.pt"
    write_model(plan.architecture, _SEED, str(model))
    measurements = Measurements(plan, Programs(args.bin, model),
                                lambda line: print(line, file=sys.stderr, flush=True))
    measurements.measure_table()
    measurements.measure_backends()
    measurements.measure_instruction_sets()
    measurements.measure_threads()
    measurements.measure_sweeps()
    measurements.measure_long_run()
    measurements.measure_operations()
    measurements.measure_search()
    measurements.measure_one_stream(_SEED, args.bin, args.work_dir / "one_stream")
    measurements.measure_large_models(_SEED, args.bin, args.work_dir / "large")
    if args.no_onnx_runtime:
        measurements.results["notes"].append("ONNX Runtime: not measured: left out by request")
    else:
        measurements.measure_onnx(_SEED, args.work_dir / "onnxruntime")
    measurements.measure_bulk(_SEED, args.bin, model, args.work_dir / "bulk",
                              args.work_dir / "onnxruntime")
    return {**measurements.results, "quick": args.quick, "model": describe(plan.architecture)}


def parse_arguments(arguments: Optional[List[str]]) -> argparse.Namespace:
    """The command line; exits with 2 when it is wrong."""
    parser = make_parser(str(__doc__), "benchmark")
    parser.add_argument("--no_onnx_runtime", action="store_true",
                        help="neither install nor measure ONNX Runtime")
    return parser.parse_args(arguments)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; 1 when nothing could be measured or the page cannot be written."""
    args = parse_arguments(arguments)
    try:
        make_folders(args)
        if not args.page_only:
            store_results(args, measure(QUICK if args.quick else FULL, args))
        results = load_results(args)
        if not results:
            raise ProgramError(f"{args.work_dir}: no results of an earlier run")
        if not results["table"]:
            raise ProgramError("; ".join(results["notes"]))
        figures = save_figures(results, args.output)
        (args.output / "benchmarks.md").write_text(write_page(results, figures), encoding="utf-8")
    except (OSError, ProgramError, RuntimeError, ValueError) as error:
        print(f"benchmark: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    print(args.output / "benchmarks.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
