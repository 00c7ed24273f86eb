#!/usr/bin/python3
"""Counts the recipes of a toolkit whose models can be converted.

    /usr/bin/python3 tests/comparison/coverage/measure_coverage.py --toolkit=wenet --source=WENET

WENET is a checkout of the toolkit outside this project; nothing of it is needed otherwise. For each
recipe, the toolkit's own classes make a tiny model with random weights, in the toolkit's own files,
and `models/convert.py` converts it. With --programs, `decode_wav` of that folder also decodes a
second of noise with it. Prints a table of families and refusals; its last line is "N of M convert".
"""

import argparse
import collections
import contextlib
import importlib
import io
import pathlib
import random
import subprocess
import sys
import tempfile
import wave
from typing import Counter, Dict, List, NamedTuple, Optional

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support/python"), str(pathlib.Path(__file__).parent)]

from models.convert.command import main as convert  # noqa: E402
from recipe import Recipe  # noqa: E402

TOOLKITS = {"wenet": "wenet", "wenet_export": "wenet", "nemo": "nemo", "nemo_public": "nemo",
            "espnet": "espnet", "icefall": "icefall"}  # with the name that convert.py has for it


class Outcome(NamedTuple):
    """What became of a recipe: the line of a refusal, else None."""

    refusal: Optional[str]
    failure: Optional[str]  # of decode_wav


class Measurement:
    """Converts and decodes the models of recipes; equal ones once."""

    def __init__(self, toolkit: str, programs: Optional[pathlib.Path],
                 folder: pathlib.Path) -> None:
        self._toolkit, self._programs, self._folder = toolkit, programs, folder
        self._known: Dict[str, Outcome] = {}
        if programs:
            _write_noise(folder / "noise.wav")

    def outcome(self, recipe: Recipe) -> Outcome:
        """Makes the model, converts it and decodes with it."""
        if recipe.key not in self._known:
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                self._known[recipe.key] = self._try(recipe, pathlib.Path(folder))
        return self._known[recipe.key]

    def _try(self, recipe: Recipe, folder: pathlib.Path) -> Outcome:
        (folder / "model").mkdir()
        output = folder / "model.pt"
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                source, *flags = map(str, recipe.write(folder / "model"))
        except Exception as error:  # pylint: disable=broad-except
            line = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0]
            return Outcome(f"the toolkit does not make it ({line})", None)
        if self._toolkit == "wenet_export":  # read without conversion
            return Outcome(self._decode(source, [f"--units={folder}/model/units.txt"]), None)
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            status = convert([TOOLKITS[self._toolkit], source, *flags, f"--output={output}"])
        if status:
            return Outcome(_shown(errors.getvalue(), folder), None)
        return Outcome(None, self._decode(str(output), []) if self._programs else None)

    def _decode(self, model: str, flags: List[str]) -> Optional[str]:
        assert self._programs
        done = subprocess.run([str(self._programs / "decode_wav"), f"--model={model}",
                               f"--wav={self._folder}/noise.wav", *flags],
                              capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return None
        return _shown(done.stderr, pathlib.Path(model).parent)


def _shown(message: str, folder: pathlib.Path) -> str:
    """The last line, without the name of the program and the folder of this run."""
    line = (message.strip().splitlines() or ["no message"])[-1]
    return line.replace(f"{folder}/", "").partition(": ")[2].replace("model/", "")


def _write_noise(path: pathlib.Path) -> None:
    """A second of noise with 16 kHz."""
    values = random.Random(1)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(b"".join(values.randrange(-8000, 8000).to_bytes(2, "little", signed=True)
                                  for _ in range(16000)))


def print_table(recipes: List[Recipe], outcomes: List[Outcome], decoded: bool) -> None:
    """Families in the order of their size."""
    families: Dict[str, List[Outcome]] = collections.defaultdict(list)
    for recipe, outcome in zip(recipes, outcomes):
        families[recipe.family].append(outcome)
    print(f"| family | recipes | convert |{' decode |' if decoded else ''} refusals |")
    print(f"| --- | --- | --- |{' --- |' if decoded else ''} --- |")
    for name, found in sorted(families.items(), key=lambda item: -len(item[1])):
        converted = [outcome for outcome in found if outcome.refusal is None]
        works = sum(outcome.failure is None for outcome in converted)
        lines: Counter[str] = collections.Counter(
            line for outcome in found for line in [outcome.refusal or outcome.failure] if line)
        refusals = "; ".join(f"{count}: {line}" for line, count in lines.most_common())
        print(f"| {name} | {len(found)} | {len(converted)} |"
              f"{f' {works} |' if decoded else ''} {refusals} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--toolkit", choices=TOOLKITS, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True, help="the checkout")
    parser.add_argument("--programs", type=pathlib.Path, help="folder of decode_wav")
    parser.add_argument("--list", action="store_true", help="also print each recipe's outcome")
    args = parser.parse_args()
    if args.toolkit == "wenet_export" and not args.programs:
        parser.error("--toolkit=wenet_export needs --programs: exports are read by decode_wav")
    recipes = importlib.import_module(f"{args.toolkit}_recipes").recipes(args.source.resolve())
    with tempfile.TemporaryDirectory() as folder:
        measurement = Measurement(args.toolkit, args.programs, pathlib.Path(folder))
        outcomes = [measurement.outcome(recipe) for recipe in recipes]
    if args.list:
        for recipe, outcome in zip(recipes, outcomes):
            print(f"{recipe.name}: {outcome.refusal or outcome.failure or 'converts'}")
    print_table(recipes, outcomes, args.programs is not None)
    print(f"{sum(outcome.refusal is None for outcome in outcomes)} of {len(outcomes)} convert")


if __name__ == "__main__":
    main()
