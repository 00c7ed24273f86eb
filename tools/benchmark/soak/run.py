"""Runs the soak and writes its page. `make soak` calls it after building.

    python3 -m tools.benchmark.soak.run [--output=docs] [--work_dir=build/soak] [--bin=build/bin]
        [--parts=load,turns,vanish,killed,attacked] [--streams=250] [--stream_s=600] [--quick]
        [--page_only]

Takes about an hour. --quick takes half a minute; it is for tests, with few
streams, a tiny model and meaningless times. Results are kept in results.json in the work folder;
parts that are left out keep those of their last run.
"""

import argparse
import dataclasses
import pathlib
import sys
from typing import List, Optional

from tools.benchmark.pages.command import load_results, make_folders, make_parser, store_results
from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.pages.random_model import AISHELL, SMALL, write_model
from tools.benchmark.soak.page import write_page
from tools.benchmark.soak.parts import PARTS, run_parts
from tools.benchmark.soak.plan import FULL, QUICK

_SEED = 1


def describe_machine() -> str:
    """The processor and the number of its cores."""
    cpus = [line.split(":", 1)[1].strip() for line in
            pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")]
    return f"{cpus[0] if cpus else 'unknown processor'}, {len(cpus)} cores"


def parse_arguments(arguments: Optional[List[str]]) -> argparse.Namespace:
    """The command line; exits with 2 when it is wrong."""
    parser = make_parser(str(__doc__), "soak")
    parser.add_argument("--parts", default=",".join(PARTS),
                        help="parts to run, separated by commas (%(default)s)")
    parser.add_argument("--streams", type=int, default=FULL.streams,
                        help="streams of the part `load` (%(default)s); fewer on a slower machine")
    parser.add_argument("--stream_s", type=float, default=FULL.stream_s,
                        help="seconds that each stream of the part `load` lasts (%(default)s)")
    args = parser.parse_args(arguments)
    args.parts = args.parts.split(",")
    unknown = sorted(set(args.parts) - set(PARTS))
    shortest = FULL.ramp_s + 2 * FULL.sample_s  # so that at least two samples see all streams
    if args.streams < 1:
        parser.error(f"--streams is {args.streams}, expected at least 1")
    if args.stream_s < shortest:
        parser.error(f"--stream_s is {args.stream_s:g}, expected at least {shortest:g}")
    if unknown:
        parser.error(f"--parts names '{unknown[0]}', expected some of {', '.join(PARTS)}")
    return args


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; 1 when a part cannot be run or the page cannot be written."""
    args = parse_arguments(arguments)
    plan = QUICK if args.quick else dataclasses.replace(
        FULL, streams=args.streams, stream_s=args.stream_s)
    try:
        make_folders(args)
        results = load_results(args)
        if not args.page_only:
            write_model(SMALL if args.quick else AISHELL, _SEED, str(args.work_dir / "model.pt"))
            results.update(run_parts(plan, args.bin, args.work_dir, args.parts))
            results.update(quick=args.quick, machine=describe_machine())
            store_results(args, results)
        if "quick" not in results:
            raise ProgramError(f"{args.work_dir}: no results of an earlier run")
        print(write_page(results, plan, args.output))
    except (OSError, ProgramError, ValueError, KeyError) as error:
        print(f"soak: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
