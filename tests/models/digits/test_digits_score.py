"""models/digits/score.py on cases whose errors are known."""

import subprocess
import sys
from pathlib import Path

import pytest

from models.digits.score import Errors, align, read_text, score_texts

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("reference, hypothesis, insertions, deletions, substitutions", [
    ("one two three", "one two three", 0, 0, 0),
    ("one two three", "", 0, 3, 0),
    ("", "one", 1, 0, 0),
    ("one two three", "one three", 0, 1, 0),
    ("one two", "one five two", 1, 0, 0),
    ("one two three", "one nine three", 0, 0, 1),
    ("one two three four", "two three four five", 1, 1, 0),
    ("eight eight", "eight", 0, 1, 0),
    ("one two", "three four", 0, 0, 2),
])
def test_known_alignments(reference, hypothesis, insertions, deletions, substitutions):
    errors = align(reference.split(), hypothesis.split())
    assert errors == Errors(insertions, deletions, substitutions, len(reference.split()))


def test_rate_of_nothing():
    assert Errors().rate() == 0.0
    assert Errors(insertions=1).rate() == float("inf")


def test_ids_must_agree():
    with pytest.raises(ValueError, match="no hypothesis, first 'b'"):
        score_texts({"a": [], "b": []}, {"a": []})
    with pytest.raises(ValueError, match="no reference, first 'c'"):
        score_texts({"a": []}, {"a": [], "c": []})


def test_double_id_is_an_error(tmp_path):
    path = tmp_path / "text"
    path.write_text("a one\na two\n")
    with pytest.raises(ValueError, match="'a' comes twice"):
        read_text(path)


def score(reference: Path, hypothesis: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "models.digits.score", str(reference),
                           str(hypothesis)], cwd=ROOT, capture_output=True, text=True, check=False)


def test_command_line(tmp_path):
    (tmp_path / "ref").write_text("a one two three\nb four\nc five six\n")
    (tmp_path / "hyp").write_text("c five six seven\na one three\nb nine\n")
    done = score(tmp_path / "ref", tmp_path / "hyp")
    assert done.returncode == 0
    assert done.stdout == "WER 50.00 % [ 3 / 6, 1 ins, 1 del, 1 sub ]\n"


def test_command_line_names_a_missing_id(tmp_path):
    (tmp_path / "ref").write_text("a one\nb four\n")
    (tmp_path / "hyp").write_text("a one\n")
    done = score(tmp_path / "ref", tmp_path / "hyp")
    assert done.returncode == 1
    assert done.stderr == "score: 1 ids have no hypothesis, first 'b'\n"
