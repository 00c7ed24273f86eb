"""Runs the soak and writes its page: what `make soak` calls after building.

    python3 -m models.soak.run [--output=docs] [--work_dir=build/soak] [--bin=build/bin]
        [--parts=load,vanish,neighbours,killed] [--stream_s=600] [--quick]
        [--page_only]

Takes about twenty minutes; --quick half a minute, for tests: few streams, a tiny model and times
that mean nothing. Parts that are left out keep their last results, which are in the work folder
(results.json).
"""

import argparse
import dataclasses
import json
import pathlib
import sys
from typing import List, Optional

from models.benchmark.model import write_model
from models.benchmark.plan import FULL as LARGE, QUICK as SMALL
from models.soak.page import write_page
from models.soak.parts import PARTS, run_parts
from models.soak.plan import FULL, QUICK
from models.soak.programs import SoakError
from models.soak.recordings import ROOT

_SEED = 1


def describe_machine() -> str:
    """The processor, and how many there are."""
    cpus = [line.split(":", 1)[1].strip() for line in
            pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")]
    return f"{cpus[0] if cpus else 'unknown processor'}, {len(cpus)} cores"


def parse_arguments(arguments: Optional[List[str]]) -> argparse.Namespace:
    """The command line; exits with 2 when it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs")
    parser.add_argument("--work_dir", type=pathlib.Path, default=ROOT / "build" / "soak")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--parts", default=",".join(PARTS), help="which, separated by commas")
    parser.add_argument("--stream_s", type=float, default=FULL.stream_s,
                        help="how long each stream of the part `load` lasts (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="few streams, no useful times")
    parser.add_argument("--page_only", action="store_true",
                        help="write the page again from the results of the last run")
    args = parser.parse_args(arguments)
    args.parts = args.parts.split(",")
    unknown = sorted(set(args.parts) - set(PARTS))
    shortest = FULL.ramp_s + 2 * FULL.sample_s  # all streams are there at two looks at least
    if args.stream_s < shortest:
        parser.error(f"--stream_s is {args.stream_s:g}, expected at least {shortest:g}")
    if unknown:
        parser.error(f"--parts names '{unknown[0]}', expected some of {', '.join(PARTS)}")
    return args


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; 1 when a part could not be run or the page not be written."""
    args = parse_arguments(arguments)
    plan = QUICK if args.quick else dataclasses.replace(FULL, stream_s=args.stream_s)
    stored = args.work_dir / "results.json"
    try:
        for folder in (args.work_dir, args.output):
            folder.mkdir(parents=True, exist_ok=True)
        results = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {}
        if not args.page_only:
            model = args.work_dir / "model.pt"
            write_model((SMALL if args.quick else LARGE).architecture, _SEED, str(model))
            results.update(run_parts(plan, args.bin, args.work_dir, model, args.parts))
            results.update(quick=args.quick, machine=describe_machine())
            stored.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        if "quick" not in results:
            raise SoakError(f"{stored}: no results of an earlier run")
        print(write_page(results, plan, args.output))
    except (OSError, SoakError, ValueError, KeyError) as error:
        print(f"soak: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
