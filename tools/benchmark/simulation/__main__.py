"""Simulates a server on machines of 1 to 64 cores, from measured times of a batch step.

    python3 -m tools.benchmark.simulation --measure --model=M.pt --step_times=F.json
    python3 -m tools.benchmark.simulation [--step_times=F.json] [--cores=1,2,4,8,16,32,64]

--measure runs bench_encoder for about a minute, which needs an idle machine. Without it, the
program prints a table in Markdown: the streams whose 95th percentile of the latency, from the last
sample of a chunk to its result, is within a limit.
"""

import argparse
import dataclasses
import pathlib
import sys
from typing import List, Optional

from tools.benchmark.pages.command import ROOT
from tools.benchmark.pages.markdown import table
from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.simulation.capacity import Load, Machine, Setting, best
from tools.benchmark.simulation.step_times import StepTimes, measure

_LIMITS_MS = (250, 500)


def _parse(arguments: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="simulation", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure step times, then end")
    parser.add_argument("--model", type=pathlib.Path, help="model file, with --measure")
    parser.add_argument("--precision", default="int8", help="with --measure (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.7, help="per measurement (%(default)s)")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin",
                        help="folder of the programs")
    parser.add_argument("--step_times", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent / "step_times.json",
                        help="file of the measured times; without it those of docs/benchmarks.md")
    parser.add_argument("--cores", default="1,2,4,8,16,32,64", help="machines (%(default)s)")
    parser.add_argument("--contention", type=float,
                        help="in place of the measured value: step time of two threads divided by "
                        "that of one")
    parser.add_argument("--other_ms", type=float, default=Load.other_ms,
                        help="computing time per chunk outside the step (%(default)s)")
    parser.add_argument("--packet_ms", type=float, default=Load.packet_ms,
                        help="audio of a packet (%(default)s)")
    args = parser.parse_args(arguments)
    if args.measure and args.model is None:
        parser.error("--model is missing, expected a model file with --measure")
    try:
        args.cores = [int(count) for count in args.cores.split(",")]
    except ValueError:
        args.cores = [0]
    if min(args.cores) < 1:
        parser.error("--cores expects numbers of at least 1, separated by commas")
    return args


def _describe(setting: Setting, machine: Machine) -> str:
    copies = machine.cores // setting.threads
    return (f"{setting.window_ms:g} ms, {setting.max_batch}, "
            f"{copies} x {setting.threads}")


def report(steps: StepTimes, load: Load, cores: List[int]) -> str:
    """The table of all machines."""
    rows = []
    for machine in [Machine(count, nodes) for count in cores for nodes in (1, 2)
                    if nodes == 1 or count >= 16 and count % 2 == 0]:
        cells = [f"{machine.cores}", f"{machine.nodes}"]
        for limit_ms in _LIMITS_MS:
            with_defaults, streams, setting = best(machine, steps, load, limit_ms)
            cells += [f"{with_defaults}", f"{streams}", _describe(setting, machine)]
        rows.append(cells)
        print(f"simulation: {machine.cores} cores, {machine.nodes} nodes", file=sys.stderr)
    header = ["cores", "NUMA nodes"]
    for limit_ms in _LIMITS_MS:
        header += [f"{limit_ms} ms: defaults", "best", "window, batch, servers x threads"]
    return table(header, rows)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; 1 when it cannot measure or has no times."""
    args = _parse(arguments)
    try:
        if args.measure:
            args.step_times.parent.mkdir(parents=True, exist_ok=True)
            measure(args.bin / "bench_encoder", args.model, args.precision, args.seconds).save(
                args.step_times)
            print(args.step_times.read_text(encoding="utf-8"), end="")
            return 0
        steps = StepTimes.load(args.step_times)
        if args.contention is not None:
            steps = dataclasses.replace(steps, contention=args.contention)
        print(f"{steps.machine}; a step of {list(steps.batch_sizes)} streams takes "
              f"{[round(value, 1) for value in steps.step_ms]} ms; "
              f"two threads: {steps.contention:.3f} times as long; "
              f"p95 {steps.spread:.3f} times the median\n")
        print(report(steps, Load(packet_ms=args.packet_ms, other_ms=args.other_ms), args.cores),
              end="")
    except (OSError, ProgramError, ValueError, KeyError, TypeError) as error:
        print(f"simulation: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
