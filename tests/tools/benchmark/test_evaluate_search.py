"""report/evaluate_hotwords.py, evaluate_lm.py: counts, selection of words, errors of one line."""

import gzip
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
from models.digits.score import align  # noqa: E402
from tools.benchmark.report import evaluate_hotwords, evaluate_lm, plain_text  # noqa: E402


@pytest.mark.parametrize("reference, hypothesis, positions, insertions", [
    ("a b c", "a b c", set(), 0),
    ("a b c", "a x c", {1}, 0),
    ("a b c", "a c", {1}, 0),
    ("a b c", "a b x c", set(), 1),
    ("checkerboard", "checker board", {0}, 1),
    ("", "a b", set(), 2),
    ("a b", "", {0, 1}, 0),
])
def test_what_is_misread(reference, hypothesis, positions, insertions):
    words, found = reference.split(), hypothesis.split()
    assert evaluate_hotwords.misreading(words, found) == (positions, insertions)
    assert align(words, found).total() == len(positions) + insertions


def test_comparison():
    references = {"1": "the ferris wheel".split(), "2": "a spectre is here".split()}
    before = {"1": "the fairest wheel".split(), "2": "a spectra is here".split()}
    after = {"1": "the ferris wheels".split(), "2": "a spectra is here ferris".split()}
    found = evaluate_hotwords.compare(references, before, after, {"ferris", "spectre"})
    assert (found.recovered, found.misread, found.new_errors, found.errors.total()) == (1, 2, 2, 3)


def test_unfinished_phrases():
    before = {"1": "one two three four five six seven eight nine".split(), "2": "one two".split()}
    phrases = evaluate_hotwords.unfinished_phrases(before, "zebra")
    assert phrases == {"1": "four five six zebra"}
    after = {"1": "one two tree four five six".split(), "2": []}
    assert evaluate_hotwords.changes(before, after, phrases) == [4]
    assert evaluate_hotwords.changes(before, before, before) == [0, 0]


def test_text_without_transcripts(tmp_path):
    copied = "ask not what your country can do"
    path = tmp_path / "text.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(f"He said {copied}. Nothing else was copied here;\nIt's \u2014 the end 42!\n")
    found = plain_text.read_sentences([path], [copied.split()])
    assert found == ["nothing else was copied here".split(), "it's the end".split()]


def test_rare_words():
    counts = plain_text.count_words([["alpha"] * 5, ["beta"] * 51, ["gamma"] * 50, ["tau"] * 9,
                                     ["delta"] * 4, ["omega"] * 7, ["known"] * 8, ["it's"] * 6])
    assert plain_text.rare_words(counts, 3, {"known"}) == ["alpha", "gamma", "omega"]
    with pytest.raises(ValueError, match="the text has 3 rare words, expected 4"):
        plain_text.rare_words(counts, 4, {"known"})


def test_tuning_on_the_other_half():
    right, wrong = align(["a"], ["a"]), align(["a"], ["b"])
    rows = [("first", [right, wrong]), ("second", [wrong, right])]
    # The row that is best for one half is the worst for the other one.
    assert evaluate_lm.untuned(rows).total() == 2
    assert evaluate_lm.untuned([("only", [right, wrong])]).total() == 1


@pytest.mark.parametrize("module", [evaluate_hotwords, evaluate_lm])
def test_errors_are_one_line(module, tmp_path, capsys):
    assert module.main(["--model=m.pt", f"--manifest={tmp_path / 'none'}", "--text=t"]) == 1
    name = module.__name__.rsplit(".", maxsplit=1)[-1]
    line = capsys.readouterr().err
    assert line.startswith(f"{name}: ") and line.count("\n") == 1
