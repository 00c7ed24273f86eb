"""tools/benchmark/accuracy, with scripts as decode_wav: rates, flags passed on, selection of words,
errors of one line."""

import gzip
import pathlib
import sys

import numpy as np
import pytest
import soundfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
from models.digits.score import align  # noqa: E402
from tools.benchmark.accuracy import (  # noqa: E402
    evaluate, hotwords, plain_text, windows, word_times)

ID = "caf\u00e9"
TIMES = "; echo 'audio 6.00 s, wall 2.00 s' >&2"


def run(tmp_path: pathlib.Path, script: str, *flags: str,
        manifest: str = f"id\tset\ttext\n{ID}\ttest\tOne two.\n", main=evaluate.main) -> int:
    """Runs the command on one recording; `script` is the shell program that decodes."""
    (tmp_path / "wav").mkdir()
    soundfile.write(tmp_path / "wav" / f"{ID}.wav", np.ones(24000, np.int16), 8000)
    (tmp_path / "manifest.tsv").write_text(manifest, encoding="utf-8")
    program = tmp_path / "decode_wav"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return main(["--model=m.pt", f"--manifest={tmp_path}/manifest.tsv",
                 f"--decode_wav={program}", *flags])


def test_rates_and_flags(tmp_path, capsys):
    script = f'echo "$@" >> {tmp_path}/flags; echo "{ID} one too"' + TIMES
    assert run(tmp_path, script, "--vary=chunk_size=-1,16", "--vary=left_context=32",
               "--beam_size=4", "--repeats=2") == 0
    assert capsys.readouterr().out.splitlines() == [
        "| chunk_size | left_context | test (2 words) | all | times real time |",
        "| --- | --- | --- | --- | --- |",
        "| -1 | 32 | 1 | 50.00 % | 3 |",
        "| 16 | 32 | 1 | 50.00 % | 3 |"]
    passed = (tmp_path / "flags").read_text(encoding="utf-8").splitlines()
    assert [line.split("--beam_size=4 ")[1] for line in passed] == 2 * [
        "--chunk_size=-1 --left_context=32", "--chunk_size=16 --left_context=32"]


@pytest.mark.parametrize("flags, message", [
    (["--vary=chunk_size=8,16", "--chunk_size=8"], "--chunk_size is set by --vary"),
    (["--vary=chunk_size=8,16", "-chunk_size=8"], "--chunk_size is set by --vary"),
    (["--vary=chunk_size"], "'chunk_size', expected FLAG=VALUE,VALUE"),
    (["--repeats=0"], "--repeats is 0, expected at least 1")])
def test_wrong_flags(flags, message, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        run(tmp_path, f'echo "{ID} one two"', *flags)
    assert message in capsys.readouterr().err


def test_the_list_of_recordings_is_utf8(tmp_path):
    script = f'for f; do case $f in --wav_scp=*) cp "${{f#*=}}" {tmp_path}/scp;; esac; done\n'
    assert run(tmp_path, script + f'echo "{ID} one two"' + TIMES) == 0
    assert (tmp_path / "scp").read_bytes().startswith(f"{ID} {tmp_path}".encode())


def test_joined_recordings_and_their_utterances(tmp_path, capsys):
    script = (f'for f; do case $f in --wav_scp=*) cp $(cut -d" " -f2 "${{f#*=}}") {tmp_path};; '
              'esac; done\necho joined-0001 one; echo joined-0002 two')
    assert run(tmp_path, script + TIMES, "--half_silent_s=30") == 0
    assert capsys.readouterr().out.endswith("| 0 | 0.00 % | 3 |\n")
    samples, rate = soundfile.read(tmp_path / "joined.wav")
    assert (rate, len(samples)) == (16000, 2 * 48000)
    assert np.abs(samples[:48000]).max() < 1e-4 < np.abs(samples[48000:]).max() < 1e-3


@pytest.mark.parametrize("script, message", [
    ("exit 3", "decode_wav ended with status 3, no message"),
    ("kill -9 $$", "decode_wav ended with status -9, no message"),
    ("echo first >&2; echo last >&2; exit 1", "evaluate: last"),
    ("echo other one" + TIMES, f"decode_wav printed no text for {ID}"),
    (f"echo {ID} one", "decode_wav printed no times"),
])
def test_decoding_that_fails(script, message, tmp_path, capsys):
    assert run(tmp_path, script) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.endswith(f"{message}\n")
    assert captured.err.startswith("evaluate: ") and captured.err.count("\n") == 1


def test_manifest_without_a_column(tmp_path, capsys):
    assert run(tmp_path, "exit 0", manifest=f"id\ttext\n{ID}\tone\n") == 1
    assert capsys.readouterr().err.endswith("manifest.tsv: a row has no set\n")


def test_choice_on_the_other_half():
    right, wrong = align(["a"], ["a"]), align(["a"], ["b"])
    # The row that is best for one half is the worst for the other one.
    assert evaluate.chosen_on_the_other_half([[right, wrong], [wrong, right]]).total() == 2
    assert evaluate.chosen_on_the_other_half([[right, wrong]]).total() == 1


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
    assert hotwords.misreading(words, found) == (positions, insertions)
    assert align(words, found).total() == len(positions) + insertions


def test_comparison():
    references = {"1": "the ferris wheel".split(), "2": "a spectre is here".split()}
    before = {"1": "the fairest wheel".split(), "2": "a spectra is here".split()}
    after = {"1": "the ferris wheels".split(), "2": "a spectra is here ferris".split()}
    assert hotwords.compare(references, before, after, {"ferris", "spectre"}) == (1, 2, 2, 3)


def test_unfinished_phrases():
    before = {"1": "one two three four five six seven eight nine".split(), "2": "one two".split()}
    phrases = hotwords.unfinished_phrases(before, "zebra")
    assert phrases == {"1": "four five six zebra"}
    after = {"1": "one two tree four five six".split(), "2": []}
    assert hotwords.changes(before, after, phrases) == [4]
    assert hotwords.changes(before, before, before) == [0, 0]


def test_text_without_transcripts(tmp_path, capsys):
    copied = "ask not what your country can do"
    path = tmp_path / "text.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(f"He said {copied}. Nothing else was copied here;\nIt's \u2014 the end 42!\n")
    (tmp_path / "wav").mkdir()
    (tmp_path / "wav" / "1.wav").touch()
    (tmp_path / "m.tsv").write_text(f"id\tset\ttext\n1\ttest\t{copied}\n", encoding="utf-8")
    assert plain_text.main([f"--manifest={tmp_path / 'm.tsv'}", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == ["<s> nothing else was copied here </s>",
                                                    "<s> it's the end </s>"]


def test_rare_words():
    counts = plain_text.count_words([["alpha"] * 5, ["beta"] * 51, ["gamma"] * 50, ["tau"] * 9,
                                     ["delta"] * 4, ["omega"] * 7, ["known"] * 8, ["it's"] * 6])
    assert plain_text.rare_words(counts, 3, {"known"}) == ["alpha", "gamma", "omega"]
    with pytest.raises(ValueError, match="the text has 3 rare words, expected 4"):
        plain_text.rare_words(counts, 4, {"known"})


@pytest.mark.parametrize("module, flags", [
    (hotwords, ["--model=m.pt", "--text=t"]), (plain_text, ["t"])])
def test_errors_are_one_line(module, flags, tmp_path, capsys):
    assert module.main([f"--manifest={tmp_path / 'none'}", *flags]) == 1
    line = capsys.readouterr().err
    assert line.startswith(f"{module.__name__.rsplit('.', maxsplit=1)[-1]}: ")
    assert line.count("\n") == 1


def run_windows(tmp_path, *flags):
    """Runs the command on one recording."""
    (tmp_path / "wav").mkdir()
    soundfile.write(tmp_path / "wav" / f"{ID}.wav", np.ones(24000, np.int16), 8000)
    (tmp_path / "manifest.tsv").write_text(f"id\tset\ttext\n{ID}\ttest\tOne two.\n",
                                           encoding="utf-8")
    program = tmp_path / "decode_wav"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/flags; echo "{ID} one too"{TIMES}\n',
                       encoding="utf-8")
    program.chmod(0o755)
    return windows.main(["--model=m.pt", f"--manifest={tmp_path}/manifest.tsv",
                         f"--decode_wav={program}", "--chunk_size=16", "--left_context=64", *flags])


def test_windows(tmp_path, capsys):
    assert run_windows(tmp_path, "--right_context=8,16", "--head=ctc") == 0
    assert capsys.readouterr().out.splitlines() == [
        "| C | R | latency | M = 64: float32 | int8 | int8 streams |",
        "| --- | --- | --- | --- | --- | --- |",
        "| whole utterance |  |  | 50.00 % | 50.00 % | 3 |",
        "| 16 | 8 | 0.96 s | 50.00 % | 50.00 % | 3 |",
        "| 16 | 16 | 1.28 s | 50.00 % | 50.00 % | 3 |"]
    passed = (tmp_path / "flags").read_text(encoding="utf-8").splitlines()
    assert len(passed) == 6 and all("--head=ctc" in line for line in passed)
    assert passed[-1].endswith("--precision=float32 --num_threads=1 --batch_streams=1 "
                               "--chunk_size=16 --right_context=16 --left_context=64")


def test_cached_windows_take_turns_with_others(tmp_path, capsys):
    assert run_windows(tmp_path, "--right_context=8", "--cached_windows", "--repeats=2") == 0
    assert capsys.readouterr().out.splitlines() == [
        "| C | R | latency | M = 64: float32 | int8 | times as fast |",
        "| --- | --- | --- | --- | --- | --- |",
        "| whole utterance |  |  | 50.00 % | 50.00 % |  |",
        "| 16 | 8 | 0.96 s | 50.00 % | 50.00 % | 1.0 |"]
    passed = (tmp_path / "flags").read_text(encoding="utf-8").splitlines()[3:]
    assert ["--cached_windows" in line for line in passed] == [True, False, True, False, True]
    assert all("--chunk_size=16" in line for line in passed)


def test_errors_of_times_of_words(tmp_path, capsys):
    truth = tmp_path / "truth.ctm"
    truth.write_text(f"{ID} 1 0.100 0.200 one\n{ID} 1 0.400 0.100 two\n", encoding="utf-8")
    script = (f'echo "{ID} 1 0.120 0.150 One 0.9"; echo "{ID} 1 0.270 0.100 odd 0.9"; '
              f'echo "{ID} 1 0.460 0.110 two 0.9"')
    assert run(tmp_path, script, f"--truth={truth}", main=word_times.main) == 0
    assert capsys.readouterr().out.splitlines() == [
        "2 of 2 words, 1 of 1 recordings", "",
        "| of | median error | mean | median | 90 % |",
        "| --- | --- | --- | --- | --- |",
        "| start | +40 ms | 40 ms | 40 ms | 56 ms |",
        "| end | +20 ms | 50 ms | 50 ms | 66 ms |",
        "| duration | -20 ms | 30 ms | 30 ms | 46 ms |"]


def test_a_truth_without_the_words(tmp_path, capsys):
    truth = tmp_path / "truth.ctm"
    truth.write_text(f"{ID} 1 0.100 0.200 nine\n", encoding="utf-8")
    assert run(tmp_path, f'echo "{ID} 1 0.1 0.1 one 1"', f"--truth={truth}",
               main=word_times.main) == 1
    assert capsys.readouterr().err == "word_times: no word of the truth was recognised\n"
