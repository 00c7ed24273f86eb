#!/usr/bin/python3
"""Compares the speed of two builds: the time of a chunk in each row of bench_encoder, in turns.

    python3 tests/comparison/compare_speed.py --before=OLD_BUILD --after=build
        --model=M.pt [--model=M2.int8 ...] [--rounds=5] [-- --precision=int8 --streams=1,16]

A round runs bench_encoder of one build, then of the other; every second round begins with the
other build. A ratio is that of the smallest times: what else the machine does only adds time.
Everything behind "--" goes to bench_encoder. The exit code is 1 if a row is slower by more than
--tolerance.
"""

import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile
from typing import Dict, List, Optional, Tuple

from compare_builds import programs_folder

Key = Tuple[str, str]  # model, streams
Times = Dict[Key, float]  # smallest milliseconds of a chunk


def parse_arguments(arguments: Optional[List[str]]) -> argparse.Namespace:
    """The command line; exits with 2 when it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("before", "after"):
        parser.add_argument(f"--{name}", type=programs_folder, required=True,
                            help="folder of a build or of its programs")
    parser.add_argument("--model", action="append", required=True, type=pathlib.Path,
                        help="a model file; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each build; default: 5")
    parser.add_argument("--tolerance", type=float, default=0.02,
                        help="by how much a row may be slower; default: 0.02")
    parser.add_argument("flags", nargs="*", help="flags of bench_encoder")
    return parser.parse_args(arguments)


def measure(programs: pathlib.Path, model: pathlib.Path, flags: List[str]) -> Times:
    """The smallest time of a chunk in each row that bench_encoder prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.csv")
        subprocess.run([programs / "bench_encoder", f"--model={model}", f"--csv={path}", *flags],
                       check=True, stdout=subprocess.DEVNULL)
        with path.open(encoding="utf-8", newline="") as file:
            return {(model.name, row["streams"]): float(row["min_ms"])
                    for row in csv.DictReader(file)}


def smallest(known: Times, new: Times) -> Times:
    """The smaller time of each row."""
    return {key: min(known.get(key, time), time) for key, time in new.items()}


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the comparison; returns the exit code."""
    options = parse_arguments(arguments)
    slower = 0
    print("| model | streams | before, ms | after, ms | after / before |")
    print("| --- | --- | --- | --- | --- |")
    for model in options.model:
        before: Times = {}
        after: Times = {}
        for turn in range(options.rounds):
            for first in (turn % 2 == 0, turn % 2 == 1):
                if first:
                    before = smallest(before, measure(options.before, model, options.flags))
                else:
                    after = smallest(after, measure(options.after, model, options.flags))
        if before.keys() != after.keys():
            streams = (",".join(key[1] for key in times) for times in (before, after))
            print(f"{model.name}: the builds have other rows: streams {' against '.join(streams)}",
                  file=sys.stderr)
            return 1
        for key, time in before.items():
            ratio = after[key] / time
            slower += ratio > 1 + options.tolerance
            print(f"| {key[0]} | {key[1]} | {time:.3f} | {after[key]:.3f} | {ratio:.3f} |",
                  flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
