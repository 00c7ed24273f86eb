"""measure_delay reports delays that agree with decode_wav and lie within the bounds of a chunk."""

import json
import re

import pytest

from tool_runner import DIGITS, FAILURE, SAMPLE_LIST, SAMPLES, error_line, run, succeed, write_audio

MODEL = f"--model={DIGITS / 'digits.pt'}"
SCP = f"--wav_scp={SAMPLE_LIST}"
TEXT = f"--text={SAMPLES / 'text'}"
FRAME_MS = 40
GROUPS = ["all tokens", "first of an utterance", "last of an utterance"]
HEAD = re.compile(r"^model \S+, (C=\S+ M=\S+), aligned at (C=\S+ M=\S+): (\d+) recordings, "
                  r"(\d+) of (\d+) reference tokens matched$", re.MULTILINE)


def measure(*arguments):
    """(stream's setting, setting of the alignment, recordings, matched, reference tokens), and the
    rows: name -> (count, median, p90, p95, largest)."""
    output = succeed("measure_delay", *arguments)
    rows = re.findall(r"^  (\w+ delay in ms, .*?) +(\d+) +(\S+) +(\S+) +(\S+) +(\S+)$", output,
                      re.MULTILINE)
    assert [row[0] for row in rows] == [f"{kind} delay in ms, {group}"
                                        for kind in ("emission", "text") for group in GROUPS]
    table = {row[0]: tuple(0 if figure == "-" else int(figure) for figure in row[1:])
             for row in rows}
    setting, aligned, *counts = HEAD.search(output).groups()
    return (setting, aligned, *map(int, counts)), table


def tokens_of(chunk_size):
    """For each recording the (token, start) pairs of decode_wav."""
    lines = succeed("decode_wav", MODEL, SCP, f"--chunk_size={chunk_size}", "--left_context=64",
                    "--format=json").splitlines()
    best = [json.loads(line)["nbest"][0] for line in lines]
    return [[(token["text"], token["start_ms"]) for token in one["tokens"]] for one in best]


def quantile(values, share):
    return next(value for i, value in enumerate(sorted(values), start=1)
                if i >= share * len(values) - 1e-9)


@pytest.mark.parametrize("chunk_size", [1, 4, 16])
def test_emission_delay_is_the_difference_of_token_times(chunk_size):
    """Without a reference text, the alignment is the greedy result for the whole utterance."""
    streamed, whole = tokens_of(chunk_size), tokens_of(-1)
    assert [[token for token, _ in tokens] for tokens in streamed] == [
        [token for token, _ in tokens] for tokens in whole], "choose a setting with equal texts"
    delays = [[a - b for (_, a), (_, b) in zip(*pair)] for pair in zip(streamed, whole)]
    expected = [sum(delays, []), [delay[0] for delay in delays], [delay[-1] for delay in delays]]

    head, table = measure(MODEL, SCP, f"--chunk_size={chunk_size}", "--left_context=64")
    count = len(expected[0])
    assert head == (f"C={chunk_size} M=64", "C=full M=all", 6, count, count)
    for group, values in zip(GROUPS, expected):
        assert table[f"emission delay in ms, {group}"] == (
            len(values), *(quantile(values, share) for share in (0.5, 0.9, 0.95, 1)))


@pytest.mark.parametrize("chunk_size", [1, 4, 16])
def test_text_delay_is_bounded_by_the_chunk(chunk_size):
    _, table = measure(MODEL, SCP, f"--chunk_size={chunk_size}", "--left_context=64")
    needs_ms = 6 * 10 + 25  # conv2d4 reads six more feature frames, of windows of 25 ms
    for group in GROUPS:
        emission = table[f"emission delay in ms, {group}"]
        text = table[f"text delay in ms, {group}"]
        assert emission[0] == text[0] > 0
        for a, b in zip(emission[1:], text[1:]):
            assert a <= b <= emission[-1] + (chunk_size - 1) * FRAME_MS + needs_ms


def test_whole_utterance_has_no_emission_delay():
    head, table = measure(MODEL, SCP, "--chunk_size=-1", "--left_context=-1")
    assert head[:2] == ("C=full M=all", "C=full M=all")
    for group in GROUPS:
        assert table[f"emission delay in ms, {group}"][1:] == (0, 0, 0, 0)
        assert table[f"text delay in ms, {group}"][1] > 0


def test_reference_texts(tmp_path):
    """A text that was recognised changes nothing; words that were not said are not matched."""
    recognised = succeed("decode_wav", MODEL, SCP, "--chunk_size=-1")
    reference = tmp_path / "text"
    reference.write_text(recognised, encoding="utf-8")
    flags = [MODEL, SCP, "--chunk_size=4", "--left_context=64"]
    found = measure(*flags)
    assert measure(*flags, f"--text={reference}") == found

    reference.write_text(recognised.replace("\n", " nine nine\n") + "other one\n",
                         encoding="utf-8")
    head, table = measure(*flags, f"--text={reference}")
    _, _, _, matched, tokens = found[0]
    assert head[3] <= matched and head[4] == tokens + 6 * 2 * len(" nine")
    assert table["emission delay in ms, last of an utterance"][0] <= 1


def test_a_line_for_every_recording():
    output = succeed("measure_delay", MODEL, SCP, TEXT, "--verbose")
    lines = re.findall(r"^(\S+): (\d+) of (\d+) reference tokens matched, median emission delay "
                       r"-?\d+ ms, text delay \d+ ms$", output, re.MULTILINE)
    assert [line[0] for line in lines] == [
        line.split()[0] for line in SAMPLE_LIST.read_text(encoding="utf-8").splitlines()]
    assert all(int(line[1]) <= int(line[2]) for line in lines)


def test_recordings_that_cannot_be_measured(tmp_path):
    good, short = SAMPLES / "ked_year.flac", tmp_path / "short.wav"
    write_audio(short, seconds=0.2)
    text = tmp_path / "text"

    def fails(words, wav):
        text.write_text(f"short {words}\nked_year two zero two six\n", encoding="utf-8")
        return run("measure_delay", MODEL, f"--wav={wav}", f"--text={text}")

    said = error_line(fails("one two", short), FAILURE)
    assert said == (f"measure_delay: {short}: the reference of 8 tokens cannot be aligned with "
                    "3 encoder frames; expected at least 8")
    assert "the tokens of the model cannot spell 'Two'" in error_line(fails("Two", short), FAILURE)
    done = fails("Two", f"{short},{good}")
    assert done.returncode == FAILURE
    assert len(done.stderr.splitlines()) == 1
    assert HEAD.search(done.stdout).groups()[2:] == ("1", "17", "17")

    missing = tmp_path / "missing.wav"
    said = error_line(run("measure_delay", MODEL, f"--wav={missing}"), FAILURE)
    assert str(missing) in said
    text.write_text("ked_year two\n", encoding="utf-8")
    said = error_line(run("measure_delay", MODEL, f"--wav={short}", f"--text={text}"), FAILURE)
    assert said == f"measure_delay: {text}: has no line for recording 'short'"
    text.write_text("short two\n\n", encoding="utf-8")
    said = error_line(run("measure_delay", MODEL, f"--wav={short}", f"--text={text}"), FAILURE)
    assert said == f"measure_delay: {text}:2: empty line, expected 'id words'"


def test_nothing_to_measure(tmp_path):
    short = tmp_path / "short.wav"
    write_audio(short, seconds=0.01)
    done = run("measure_delay", MODEL, f"--wav={short}")
    assert error_line(done, FAILURE) == ("measure_delay: the recordings have no reference token, "
                                         "expected speech and its text")
    assert done.stdout == ""
    # Beside others, such a recording is one without tokens.
    head, _ = measure(MODEL, f"--wav={short},{SAMPLES / 'ked_year.flac'}")
    assert head[2:] == (2, 17, 17)
