"""The command line and the stored results of a program that measures and writes a page."""

import argparse
import json
import pathlib
from typing import Any, Dict

ROOT = pathlib.Path(__file__).parents[3]


def make_parser(description: str, work_folder: str) -> argparse.ArgumentParser:
    """A parser with the arguments that every page has; the work folder lies in build/."""
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs",
                        help="folder of the page and its figures")
    parser.add_argument("--work_dir", type=pathlib.Path, default=ROOT / "build" / work_folder,
                        help="folder of intermediate files and results.json")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin",
                        help="folder of the programs")
    parser.add_argument("--quick", action="store_true",
                        help="a short run for tests, whose numbers mean nothing")
    parser.add_argument("--page_only", action="store_true",
                        help="write the page again from the results of the last run")
    return parser


def make_folders(args: argparse.Namespace) -> None:
    """Creates the folders of the command line where they are missing."""
    for folder in (args.work_dir, args.output):
        folder.mkdir(parents=True, exist_ok=True)


def _path(args: argparse.Namespace) -> pathlib.Path:
    folder: pathlib.Path = args.work_dir
    return folder / "results.json"


def load_results(args: argparse.Namespace) -> Dict[str, Any]:
    """The results of the last run, empty if there was none."""
    path = _path(args)
    if not path.exists():
        return {}
    results: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results


def store_results(args: argparse.Namespace, results: Dict[str, Any]) -> None:
    """Keeps the results for load_results."""
    _path(args).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
