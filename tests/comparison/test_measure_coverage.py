"""measure_coverage.py counts what converts and what decodes, and names each refusal."""

import functools
import importlib
import io
import pathlib
import sys
import types
from typing import Any, List

import pytest

from tool_runner import ROOT

sys.path[:0] = [str(ROOT / "tests/comparison/coverage"), str(ROOT / "tests/models")]
measure_coverage = importlib.import_module("measure_coverage")
Recipe = measure_coverage.Recipe
nemo_files = importlib.import_module("nemo_files")


def write(normalization: str, folder: pathlib.Path) -> List[pathlib.Path]:
    model = nemo_files.NemoFile("fastconformer_streaming")
    model.config["preprocessor"]["normalize"] = normalization
    return [model.write(folder / "tiny.nemo")]


def fail(_: pathlib.Path) -> List[pathlib.Path]:
    raise KeyError("d_model")


@pytest.fixture(name="toolkit")
def fixture_toolkit(monkeypatch: Any) -> None:
    """A toolkit with five recipes, two of which give equal models."""
    good = Recipe("a.yaml", "streaming", "a", functools.partial(write, "NA"))
    recipes = [good, Recipe("b.yaml", "streaming", "a", fail),
               Recipe("c.yaml", "streaming", "c", functools.partial(write, "fixed")),
               Recipe("d.yaml", "other", "d", fail), Recipe("e.yaml", "third", "e", fail)]
    module = types.SimpleNamespace(recipes=lambda source: recipes)
    monkeypatch.setitem(sys.modules, "nemo_recipes", module)


def measure(monkeypatch: Any, capsys: Any, *flags: str) -> List[str]:
    monkeypatch.setattr(sys, "argv", ["measure_coverage.py", "--source=.", *flags])
    measure_coverage.main()
    lines: List[str] = capsys.readouterr().out.splitlines()
    return lines


def test_table_counts_and_names_refusals(toolkit: None, monkeypatch: Any, capsys: Any) -> None:
    assert measure(monkeypatch, capsys, "--toolkit=nemo") == [
        "| family | recipes | convert | refusals |",
        "| --- | --- | --- | --- |",
        "| streaming | 3 | 2 | 1: model_config.yaml.preprocessor.normalize is 'fixed', which is "
        "not supported; supported: per_feature, NA |",
        "| other | 1 | 0 | 1: the toolkit does not make it (KeyError: 'd_model') |",
        "| third | 1 | 0 | 1: the toolkit does not make it (KeyError: 'd_model') |",
        "2 of 5 convert"]


def test_list_names_each_recipe(toolkit: None, monkeypatch: Any, capsys: Any) -> None:
    lines = measure(monkeypatch, capsys, "--toolkit=nemo", "--list")
    assert lines[0] == "a.yaml: converts"
    assert lines[3] == "d.yaml: the toolkit does not make it (KeyError: 'd_model')"


def decoder(folder: pathlib.Path, script: str) -> pathlib.Path:
    """A folder with a program in place of decode_wav."""
    program = folder / "decode_wav"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize("script, row", [
    ('test "${1#--model=}" -nt "$0" && test -s "${2#--wav=}"', "| streaming | 3 | 2 | 2 | 1: "),
    ('echo "decode_wav: ${1#--model=}: is too small" >&2; exit 1',
     "| streaming | 3 | 2 | 0 | 2: model.pt: is too small; 1: ")])
def test_decoding_is_counted(toolkit: None, monkeypatch: Any, capsys: Any, tmp_path: pathlib.Path,
                             script: str, row: str) -> None:
    lines = measure(monkeypatch, capsys, "--toolkit=nemo",
                    f"--programs={decoder(tmp_path, script)}")
    assert lines[0] == "| family | recipes | convert | decode | refusals |"
    assert lines[2].startswith(row)
    assert lines[-1] == "2 of 5 convert"


def test_exports_need_a_program(monkeypatch: Any, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        measure(monkeypatch, capsys, "--toolkit=wenet_export")
    assert "needs --programs" in capsys.readouterr().err


def test_absent_packages_stand_in_for_anything(monkeypatch: Any) -> None:
    absent = importlib.import_module("absent_packages")
    monkeypatch.setattr(sys, "meta_path", [
        absent.AbsentPackages(["no_such_package"], {"no_such_package.part": {"five": 5}}),
        *sys.meta_path])
    names: dict = {}
    exec("from no_such_package import decorator, Base\n"  # pylint: disable=exec-used
         "from no_such_package.part import five\n"
         "@decorator\ndef function(): return five\n"
         "@decorator(1, key=2)\nclass Own(Base[int]): pass\n", names)
    assert names["function"]() == 5 and names["Own"].__mro__ == (names["Own"], object)
    assert list(names["Base"]) == [] and not isinstance(io, names["Base"])
