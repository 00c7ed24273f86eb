"""runnel.convert and python -m runnel convert."""

import importlib.util
import sys

import pytest
from installed_runnel import run_python
from tool_runner import ROOT

import runnel

sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "models")]
from test_convert_wenet import load_case, write_experiment  # noqa: E402


def test_convert(tmp_path):
    experiment = tmp_path / "experiment"
    experiment.mkdir()
    write_experiment(experiment, load_case("main_conformer_no_pos_biases"))
    lines = runnel.convert("wenet", experiment, tmp_path / "a.pt", name="mine")
    assert lines[-2].startswith(f"{tmp_path / 'a.pt'}: written, ")
    assert lines[-1].startswith("decode with: ")
    usage = run_python("-m", "runnel", "convert", "--help").stdout
    assert usage.startswith("usage: runnel convert ")
    assert runnel.load(tmp_path / "a.pt").name == "mine"
    # With packed weights, by the program in the package.
    done = run_python("-m", "runnel", "convert", "wenet", experiment,
                      f"--output={tmp_path / 'b.int8'}", "--name=mine", "--store=int8")
    assert done.returncode == 0, done.stderr
    packed = runnel.load(tmp_path / "b.int8")
    assert packed.fingerprint == runnel.load(tmp_path / "a.pt", precision="int8").fingerprint
    (tmp_path / "lm.arpa").write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<s>\n-1\t</s>\n"
                                      "-1\tone\n\n\\end\\\n")
    runnel.convert("arpa", tmp_path / "lm.arpa", tmp_path / "lm.bin")
    assert runnel.LanguageModel(tmp_path / "lm.bin").num_ngrams == 3


def test_conversion_errors(tmp_path, monkeypatch):
    with pytest.raises(runnel.DataError, match="no_such_folder"):
        runnel.convert("nemo", "no_such_folder", tmp_path / "a.pt")
    with pytest.raises(ValueError, match="family is 'nope', expected one of wenet.*arpa"):
        runnel.convert("nope", "a", tmp_path / "a.pt")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else 1)
    with pytest.raises(ModuleNotFoundError, match="needs torch.*python3-torch.*system-site"):
        runnel.convert("nemo", tmp_path, tmp_path / "a.pt")
