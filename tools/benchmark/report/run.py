"""Runs the benchmark and writes its page: what `make bench` calls after building.

    python3 -m models.benchmark.run [--output=docs] [--work_dir=build/benchmark] [--bin=build/bin]
        [--no_onnx_runtime] [--quick] [--page_only]

Takes about twelve minutes on an idle machine; --quick a minute, for tests: a tiny model and times
that mean nothing. Results are kept in the work folder (results.json), from which --page_only writes
the page again.
"""

import argparse
import json
import pathlib
import sys
from typing import Any, Dict, List, Optional

from models.benchmark.figures import save_figures
from models.benchmark.measure import Measurements
from models.benchmark.model import write_model
from models.benchmark.page import write_page
from models.benchmark.plan import FULL, QUICK, Plan
from models.benchmark.tools import Tools
from models.reference.config import ConformerConfig
from models.reference.conformer import ConformerCtc

ROOT = pathlib.Path(__file__).parents[2]
_SEED = 1


def describe(config: ConformerConfig) -> Dict[str, Any]:
    """The model in words, and how many parameters it has."""
    assert config.convolution is not None
    parameters = sum(tensor.numel() for tensor in ConformerCtc(config).parameters())
    return {"parameters": parameters,
            "description": f"{config.num_layers} Conformer layers, d {config.model_dim}, "
                           f"{config.num_heads} heads, feed-forward {config.feed_forward_dim}, "
                           f"{config.convolution.type} kernel {config.convolution.kernel_size}, "
                           f"{config.subsampling.type}, {config.input_dim} bins, "
                           f"{config.vocab_size} units"}


def measure(plan: Plan, args: argparse.Namespace) -> Dict[str, Any]:
    """Everything; see Measurements for what it returns."""
    model = args.work_dir / "benchmark.pt"
    write_model(plan.architecture, _SEED, str(model))
    measurements = Measurements(plan, Tools(args.bin, model),
                                lambda line: print(line, file=sys.stderr, flush=True))
    measurements.measure_table()
    measurements.measure_backends()
    measurements.measure_threads()
    measurements.measure_sweeps()
    measurements.measure_long_run()
    measurements.measure_operations()
    if args.no_onnx_runtime:
        measurements.results["notes"].append("ONNX Runtime: not measured: left out by request")
    else:
        measurements.measure_onnx(_SEED, args.work_dir / "onnxruntime")
    return {**measurements.results, "quick": args.quick, "model": describe(plan.architecture)}


def parse_arguments(arguments: Optional[List[str]]) -> argparse.Namespace:
    """The command line; exits with 2 when it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs")
    parser.add_argument("--work_dir", type=pathlib.Path, default=ROOT / "build" / "benchmark")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--no_onnx_runtime", action="store_true",
                        help="neither install nor time ONNX Runtime")
    parser.add_argument("--quick", action="store_true", help="a tiny model, no useful times")
    parser.add_argument("--page_only", action="store_true",
                        help="write the page again from the results of the last run")
    return parser.parse_args(arguments)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; 1 when nothing could be measured or the page not be written."""
    args = parse_arguments(arguments)
    stored = args.work_dir / "results.json"
    try:
        for folder in (args.work_dir, args.output):
            folder.mkdir(parents=True, exist_ok=True)
        if not args.page_only:
            results = measure(QUICK if args.quick else FULL, args)
            stored.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        results = json.loads(stored.read_text(encoding="utf-8"))
        if not results["table"]:
            raise RuntimeError("; ".join(results["notes"]))
        figures = save_figures(results, args.output)
        (args.output / "benchmarks.md").write_text(write_page(results, figures), encoding="utf-8")
    except (OSError, RuntimeError, ValueError) as error:
        print(f"benchmark: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    print(args.output / "benchmarks.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
