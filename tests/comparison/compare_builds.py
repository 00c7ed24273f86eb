#!/usr/bin/python3
"""Shows whether two builds give the same outputs, bit for bit.

    python3 tests/comparison/compare_builds.py --before=FOLDER --after=FOLDER [--only=PATTERN]

A folder is that of a build, or of its programs. cases.py has the cases. Each gives a line that says
whether its outputs are equal, and the first difference. Live streams are compared in their final
messages. A case is skipped, with the reason, where an input or a part of the build before is
missing: a folder of programs has no Python package. What only the build after lacks differs. The
exit code is 1 if a case differs, help texts included, or if none is equal.
A whole comparison takes four minutes of one core.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Dict, List, Optional, Tuple

from cases import all_cases
from inputs import Inputs, MissingInput
from record import FAILURE, NOT_IN_BUILD

Outputs = Dict[str, bytes]

# What differs between two runs of one build: pattern, what replaces it, why.
MASKS = [
    (r"wall [\d.]+ s, real-time factor [\d.-]+", "wall TIME", "decode_wav measures its run"),
    (r"chunk latency .*? ms \(", "chunk latency TIME (", "decode_wav measures its chunks"),
    (r'"latency_ms": ?[\d.]+', '"latency_ms": TIME', "results of live streams have their latency"),
    (r"\(Runnel\) \d+\.\d+\.\d+", "(Runnel) VERSION", "builds may have different versions"),
    (r'\b[0-9a-f]{12}-\d+\b', "ID", "a server names its streams by chance"),
    (r'"created":"[^"]*"', '"created":TIME', "a reply of Deepgram's has the date"),
]
_HELP = re.compile(r"--help$|--version$|^write_options ")


def parse_arguments(arguments: Optional[List[str]]) -> argparse.Namespace:
    """The command line; exits with 2 when it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("before", "after"):
        parser.add_argument(f"--{name}", type=programs_folder, required=True,
                            help="folder of a build or of its programs")
    parser.add_argument("--only", type=_pattern, default=re.compile(""), metavar="PATTERN",
                        help="only the cases in which this regular expression is found")
    parser.add_argument("--renamed", action="append", default=[], metavar="OLD:NEW", type=_renaming,
                        help="a field of JSON that has another name after; may be repeated")
    parser.add_argument("--keep", type=_new_folder, metavar="FOLDER",
                        help="a new folder for all outputs, which stays; by default none does")
    parser.add_argument("--list", action="store_true", help="print the cases and run none")
    return parser.parse_args(arguments)


def programs_folder(text: str) -> pathlib.Path:
    """The folder of programs of a build, for argparse."""
    folder = pathlib.Path(text).absolute()
    folder = folder / "bin" if (folder / "bin").is_dir() else folder
    if not (folder / "decode_wav").exists():
        raise argparse.ArgumentTypeError(f"{text}: no decode_wav, expected the folder of a build")
    return folder


def _pattern(text: str) -> "re.Pattern[str]":
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression: {error}")


def _new_folder(text: str) -> pathlib.Path:
    if pathlib.Path(text).exists():
        raise argparse.ArgumentTypeError(f"{text} exists, expected a new folder")
    return pathlib.Path(text)


def _renaming(text: str) -> Tuple[str, str]:
    old, colon, new = text.partition(":")
    if not (old and colon and new):
        raise argparse.ArgumentTypeError(f"'{text}', expected OLD:NEW")
    return f'"{old}":', f'"{new}":'


def record(programs: pathlib.Path, commands: pathlib.Path, output: pathlib.Path
           ) -> "subprocess.Popen[bytes]":
    """Begins to run the commands with one build."""
    environment = {**os.environ, "RUNNEL_BIN_DIR": str(programs)}
    environment.pop("RUNNEL_FORK_SERVER", None)  # programs may be scripts
    recorder = pathlib.Path(__file__).with_name("record.py")
    return subprocess.Popen([sys.executable, str(recorder), str(programs), str(commands),
                             str(output)], env=environment)


def read_outputs(folder: pathlib.Path, renamed: List[Tuple[str, str]]) -> Outputs:
    """The files of a case by name: bytes as they are, texts with masks."""
    outputs = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            outputs[str(path.relative_to(folder))] = _masked(path.read_bytes(), folder, renamed)
    return outputs


def _masked(data: bytes, folder: pathlib.Path, renamed: List[Tuple[str, str]]) -> bytes:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    if "\0" in text:
        return data
    text = text.replace(str(folder), "OUT")
    for old, new in renamed:
        text = text.replace(old, new)
    for pattern, replacement, _ in MASKS:
        text = re.sub(pattern, replacement, text)
    return text.encode()


def difference(before: Outputs, after: Outputs) -> str:
    """The first difference in two or three lines; empty if there is none."""
    for name in [*before, *(after.keys() - before.keys())]:
        if name not in before or name not in after:
            return f"  {name}: only {'after' if name in after else 'before'}\n"
        if before[name] != after[name]:
            return f"  {name}, {_first_difference(before[name], after[name])}"
    return ""


def judge(before: Outputs, after: Outputs) -> Tuple[str, str]:
    """The result of a case, and what explains it."""
    if NOT_IN_BUILD in before:
        return "skipped", f"  {NOT_IN_BUILD}: {before[NOT_IN_BUILD].decode()}\n"
    for name in NOT_IN_BUILD, FAILURE:
        if name in before or name in after:
            return "differs", f"  {name}: {(before.get(name) or after[name]).decode()}\n"
    changed = difference(before, after)
    return ("differs", changed) if changed else ("equal", "")


def _first_difference(before: bytes, after: bytes) -> str:
    if b"\0" in before + after:
        at = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b),
                  min(len(before), len(after)))
        return f"byte {at}: {len(before)} and {len(after)} bytes\n"
    lines = [data.decode("utf-8", "replace").splitlines() for data in (before, after)]
    at = next((i for i, (a, b) in enumerate(zip(*lines)) if a != b), min(map(len, lines)))
    old, new = (side[at] if at < len(side) else "(ended)" for side in lines)
    column = max(0, len(os.path.commonprefix([old, new])) - 60)
    return (f"line {at + 1}, from column {column + 1}:\n"
            f"    before: {old[column:column + 160]}\n    after:  {new[column:column + 160]}\n")


def main(arguments: Optional[List[str]] = None) -> int:
    """Compares two builds; 1 if they differ."""
    args = parse_arguments(arguments)
    cases = [case for case in all_cases() if args.only.search(case)]
    if args.list or not cases:
        print("\n".join(cases) or "no case matches --only")
        return 0 if cases else 2
    counts: Dict[str, int] = collections.Counter()

    def report(case: str, result: str, detail: str = "") -> None:
        if result == "differs" and _HELP.search(case):
            result = "help differs"
        counts[result] += 1
        print(f"{result}: {case}\n{detail}", end="", flush=True)

    with tempfile.TemporaryDirectory(prefix="compare-builds-") as name:
        work = (args.keep or pathlib.Path(name)).absolute()
        work.mkdir(parents=True, exist_ok=args.keep is None)
        inputs, runs = Inputs(work / "inputs"), {}
        for case in cases:
            try:
                runs[case] = inputs.fill_in(case)
            except MissingInput as error:
                report(case, "skipped", f"  {error}\n")
        commands = work / "commands.json"
        commands.write_text(json.dumps(list(runs.values())), "utf-8")
        sides = {"before": args.before, "after": args.after}
        recorders = [record(programs, commands, work / side) for side, programs in sides.items()]
        if any([recorder.wait() for recorder in recorders]):
            print("compare_builds: a build could not be recorded", file=sys.stderr)
            return 1
        for index, case in enumerate(runs):
            before = read_outputs(work / "before" / str(index), args.renamed)
            after = read_outputs(work / "after" / str(index), [])
            report(case, *judge(before, after))
    print(f"{len(cases)} cases: " + ", ".join(
        f"{counts[result]} {result}" for result in ("equal", "differs", "help differs", "skipped")))
    return 1 if counts["differs"] or counts["help differs"] or not counts["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
