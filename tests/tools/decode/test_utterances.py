"""decode_wav --endpointing as a user runs it: utterances in every format, while they come."""

import json
import pathlib
import re
import subprocess
import threading
from typing import Dict, List, NamedTuple

import numpy as np
import pytest
import soundfile

from tool_runner import (DIGITS, FAILURE, ROOT, SAMPLES, TINY_MODEL, command, error_file_line,
                         peak_kilobytes, run, succeed, without_sanitizers)

MODEL = f"--model={DIGITS / 'digits.pt'}"
RATE = 16000
SILENCE_S = 2.0
NAMES = ["ked_year", "rms_phone_number", "diogo_one_word", "alicia_countdown"]
GUARD_SECONDS = 120  # against hanging


class Spoken(NamedTuple):
    """A sample in the joined recording."""
    text: str
    start_ms: float
    end_ms: float


class Joined(NamedTuple):
    """A recording of several samples, with silence between them."""
    path: pathlib.Path
    spoken: List[Spoken]
    seconds: float


def texts_of_samples() -> Dict[str, str]:
    lines = (SAMPLES / "text").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def write_joined(path: pathlib.Path, rounds: int) -> Joined:
    random = np.random.default_rng(3)
    texts = texts_of_samples()
    parts, spoken, position = [], [], 0
    for name in NAMES * rounds:
        samples, rate = soundfile.read(SAMPLES / f"{name}.flac")
        assert rate == RATE
        end = position + len(samples)
        spoken.append(Spoken(texts[name], 1000 * position / RATE, 1000 * end / RATE))
        parts += [samples, 2e-5 * random.standard_normal(int(SILENCE_S * RATE))]
        position = end + len(parts[-1])
    soundfile.write(path, np.concatenate(parts), RATE, subtype="PCM_16")
    return Joined(path, spoken, position / RATE)


@pytest.fixture(name="joined", scope="module")
def joined_fixture(tmp_path_factory) -> Joined:
    return write_joined(tmp_path_factory.mktemp("joined") / "talk.flac", rounds=2)


def decode(path: pathlib.Path, *options: str) -> str:
    return succeed("decode_wav", MODEL, f"--wav={path}", "--endpointing", *options)


def test_an_utterance_per_sample(joined):
    assert decode(joined.path) == "".join(
        f"talk-{i:04} {sample.text}\n" for i, sample in enumerate(joined.spoken, 1))
    all_text = " ".join(sample.text for sample in joined.spoken)
    assert decode(joined.path, "--join_segments") == f"talk {all_text}\n"


@pytest.mark.parametrize("seconds", [1, 1.3])
def test_words_that_an_utterance_cuts_are_joined(seconds):
    """The tokens of all utterances give the text of the recording as one utterance."""
    path = SAMPLES / "rms_phone_number.flac"
    flags = [f"--endpoint_max_utterance_s={seconds}"]
    segments = json.loads(decode(path, "--format=json", *flags))["segments"]
    assert any(not one["begins_word"] for one in segments[1:])
    tokens = [token["text"] for one in segments for token in one["nbest"][0]["tokens"]]
    text = " ".join("".join(tokens).replace("\u2581", " ").split())
    assert decode(path, "--join_segments", *flags) == f"rms_phone_number {text}\n"
    assert text == "five five five zero one four two"


def test_json(joined):
    found = json.loads(decode(joined.path, "--format=json"))
    assert list(found) == ["id", "segments", "audio_seconds"]
    assert found["id"] == "talk"
    assert found["audio_seconds"] == pytest.approx(joined.seconds, abs=1e-3)
    assert len(found["segments"]) == len(joined.spoken)
    for segment, sample in zip(found["segments"], joined.spoken):
        assert list(segment) == [
            "start_ms", "end_ms", "text", "begins_word", "ends_word", "confidence", "end", "nbest"]
        assert segment["text"] == sample.text and segment["end"] == "endpoint"
        assert sample.start_ms <= segment["start_ms"] < segment["end_ms"] <= sample.end_ms + 200
        best = segment["nbest"][0]
        assert best["text"] == sample.text
        assert best["tokens"][0]["start_ms"] == segment["start_ms"]
        assert best["words"][-1]["end_ms"] == segment["end_ms"]
        confidences = [word["confidence"] for word in best["words"]]
        assert segment["confidence"] == pytest.approx(np.mean(confidences), abs=1e-3)


def test_the_last_utterance_ends_with_the_audio():
    found = json.loads(decode(SAMPLES / "ked_year.flac", "--format=json"))
    assert [segment["end"] for segment in found["segments"]] == ["finish"]


def test_words_are_those_of_the_recording_as_one_utterance(joined):
    # An endpoint in silence divides the words and changes none, nor their times.
    assert decode(joined.path, "--format=ctm") == succeed(
        "decode_wav", MODEL, f"--wav={joined.path}", "--format=ctm")


def milliseconds(text: str) -> int:
    hours, minutes, seconds, ms = map(int, re.fullmatch(r"(\d\d):(\d\d):(\d\d)[.,](\d{3})",
                                                        text).groups())
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms


def cues_of(blocks: List[str]) -> List[tuple]:
    """Start, end and text of cues without their numbers."""
    cues = []
    for block in blocks:
        times, *lines = block.split("\n")
        start, end = times.split(" --> ")
        cues.append((milliseconds(start), milliseconds(end), " ".join(lines)))
    return cues


def test_captions(joined):
    segments = json.loads(decode(joined.path, "--format=json"))["segments"]
    expected = [(s["start_ms"], s["end_ms"], s["text"]) for s in segments]
    srt = decode(joined.path, "--format=srt")
    assert srt.endswith("\n\n")
    numbers, blocks = zip(*(block.split("\n", 1) for block in srt[:-2].split("\n\n")))
    assert list(numbers) == [str(i) for i in range(1, len(segments) + 1)]
    assert cues_of(blocks) == expected and "," in blocks[0]
    vtt = decode(joined.path, "--format=vtt")
    header, *blocks = vtt[:-2].split("\n\n")
    assert header == "WEBVTT"
    assert cues_of(blocks) == expected


def test_long_utterances_become_several_cues(joined):
    options = ["--endpoint_silence_s=30", "--endpoint_initial_silence_s=30",
               "--endpoint_max_utterance_s=60"]
    assert len(decode(joined.path, *options).splitlines()) == 1
    blocks = [b.split("\n", 1)[1] for b in
              decode(joined.path, "--format=srt", *options)[:-2].split("\n\n")]
    assert len(blocks) > 1
    for block in blocks:
        lines = block.split("\n")[1:]
        assert 1 <= len(lines) <= 2 and max(map(len, lines)) <= 42
    words = [line.split(" ") for line in
             decode(joined.path, "--format=ctm", *options).splitlines()]
    cues = cues_of(blocks)
    assert " ".join(text for _, _, text in cues) == " ".join(word[4] for word in words)
    ends = {round(1000 * (float(word[2]) + float(word[3]))) for word in words}
    assert all(end in ends for _, end, _ in cues[:-1])


def test_nbest(joined):
    lines = decode(joined.path, "--search=beam", "--nbest=3").splitlines()
    first = [line for line in lines if line.startswith("talk-0001")]
    assert [line.split(" ")[0] for line in first] == [f"talk-0001-{i}" for i in (1, 2, 3)]
    assert first[0] == f"talk-0001-1 {joined.spoken[0].text}"
    segments = json.loads(decode(joined.path, "--search=beam", "--nbest=3",
                                 "--format=json"))["segments"]
    assert lines == [f"talk-{i:04}-{k} {hypothesis['text']}".strip()
                     for i, segment in enumerate(segments, 1)
                     for k, hypothesis in enumerate(segment["nbest"], 1)]


@pytest.mark.parametrize("form, expected", [
    (["--format=text"], ""),
    (["--join_segments"], "quiet\n"),
    (["--format=json"], '{"id":"quiet","segments":[],"audio_seconds":6.0}\n'),
    (["--format=ctm"], ""),
    (["--format=srt"], ""),
    (["--format=vtt"], "WEBVTT\n\n"),
])
def test_a_recording_without_text(tmp_path, form, expected):
    soundfile.write(tmp_path / "quiet.wav", np.zeros(6 * RATE), RATE, subtype="PCM_16")
    assert decode(tmp_path / "quiet.wav", *form) == expected


def test_partial_results_name_their_utterance(joined):
    done = run("decode_wav", MODEL, f"--wav={joined.path}", "--endpointing", "--partial")
    last = {}
    for line in done.stderr.splitlines():
        if match := re.fullmatch(r"(talk-\d{4}) partial: (.*)", line):
            assert not last or match[1] >= max(last)
            last[match[1]] = match[2]
    assert done.stdout == "".join(f"{name} {text}\n" for name, text in last.items())


def test_lengths_end_utterances(joined):
    segments = json.loads(decode(joined.path, "--format=json", "--endpoint_silence_s=30",
                                 "--endpoint_initial_silence_s=30",
                                 "--endpoint_max_utterance_s=5"))["segments"]
    assert len(segments) > joined.seconds / 5 - 1
    assert max(s["end_ms"] - s["start_ms"] for s in segments) <= 5000


@pytest.mark.parametrize("options", [
    ["--format=json", "--reset_encoder"], ["--format=text", "--chunk_size=-1"],
    ["--join_segments", "--search=beam", "--precision=int8"]])
def test_batches_threads_and_shards(tmp_path, joined, options):
    listing = tmp_path / "wav.scp"
    (tmp_path / "cut.flac").write_bytes(joined.path.read_bytes()[:150000])
    names = [*(SAMPLES / f"{name}.flac" for name in NAMES), joined.path, tmp_path / "cut.flac",
             joined.path, SAMPLES / "ked_year.flac"]
    listing.write_text("".join(f"id{i} {path}\n" for i, path in enumerate(names)))

    def lines(*more: str) -> List[str]:
        done = run("decode_wav", MODEL, f"--wav_scp={listing}", "--endpointing", *options, *more)
        failed = "cut.flac" in done.stderr
        assert done.returncode == (FAILURE if failed else 0)
        return done.stdout.splitlines()

    alone = lines()
    assert alone
    assert lines("--batch_streams=3") == alone
    assert lines("--batch_streams=2", "--num_threads=3") == alone
    shards = [lines(f"--shard={i}/2") for i in (1, 2)]
    assert sorted(sum(shards, [])) == sorted(alone)


def test_what_is_written_before_a_failure_stays(tmp_path, joined):
    cut, good = tmp_path / "cut.flac", SAMPLES / "ked_year.flac"
    content = joined.path.read_bytes()
    cut.write_bytes(content[:len(content) // 2])

    def failing(*options: str) -> str:
        done = run("decode_wav", MODEL, f"--wav={cut},{good}", "--endpointing", *options)
        assert "is damaged" in error_file_line(done, "cut.flac")
        assert "files 2, failures 1," in done.stderr
        return done.stdout

    whole = [f"{sample.text}" for sample in joined.spoken]
    *lines, last = failing().splitlines()
    assert last == "ked_year-0001 two zero two six"
    assert 2 <= len(lines) < len(whole)
    assert lines == [f"cut-{i:04} {text}" for i, text in enumerate(whole[:len(lines)], 1)]
    assert failing("--join_segments").splitlines()[0] == " ".join(["cut", *whole[:len(lines)]])
    broken, complete = map(json.loads, failing("--format=json").splitlines())
    assert list(broken) == ["id", "segments", "error"]
    assert [segment["text"] for segment in broken["segments"]] == whole[:len(lines)]
    assert broken["error"].startswith(f"{cut}: is damaged after sample ")
    assert "error" not in complete


@pytest.mark.parametrize("form", [["--format=json"], ["--format=ctm"], ["--join_segments"]])
def test_resumed_after_any_part(tmp_path, joined, form):
    listing, output = tmp_path / "wav.scp", tmp_path / "out"
    names = [SAMPLES / "ked_year.flac", joined.path, SAMPLES / "diogo_one_word.flac"]
    listing.write_text("".join(f"id{i} {path}\n" for i, path in enumerate(names)))
    arguments = ["decode_wav", MODEL, f"--wav_scp={listing}", f"--output={output}",
                 "--endpointing", *form]
    succeed(*arguments)
    whole = output.read_bytes()
    for size in range(0, len(whole) + 1, len(whole) // 3):
        output.write_bytes(whole[:size])
        succeed(*arguments, "--resume")
        assert output.read_bytes() == whole


def test_a_recording_that_failed_in_the_middle_is_tried_again(tmp_path, joined):
    output, path = tmp_path / "out", tmp_path / "talk.flac"
    content = joined.path.read_bytes()
    arguments = ["decode_wav", MODEL, f"--wav={path},{SAMPLES / 'ked_year.flac'}",
                 f"--output={output}", "--endpointing", "--format=json", "--resume"]
    path.write_bytes(content[:len(content) // 2])
    for _ in range(2):
        error_file_line(run(*arguments), "talk.flac")
        lines = output.read_text().splitlines()
        assert len(lines) == 2 and "error" in json.loads(lines[0])
    path.write_bytes(content)
    succeed(*arguments)
    assert output.read_text().splitlines() == [
        decode(joined.path, "--format=json").rstrip("\n"), lines[1]]


def test_utterances_are_written_while_the_audio_arrives(joined):
    samples, _ = soundfile.read(joined.path, dtype="int16")
    half = len(samples) // 2
    process = subprocess.Popen(
        command("decode_wav", MODEL, "--wav=-", "--endpointing"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)
    watchdog = threading.Timer(GUARD_SECONDS, process.kill)  # a hang becomes a failure
    watchdog.start()
    try:
        header = (b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0"
                  b"\x02\0\x10\0data\xff\xff\xff\xff")
        process.stdin.write(header + samples[:half].tobytes())
        process.stdin.flush()
        written = [process.stdout.readline() for _ in range(2)]
        process.stdin.write(samples[half:].tobytes())
        process.stdin.close()
        written += process.stdout.readlines()
        assert process.wait() == 0
    finally:
        watchdog.cancel()
        process.kill()
    assert b"".join(written).decode() == decode(joined.path).replace("talk", "stdin")


@without_sanitizers
def test_memory_does_not_grow_with_the_recording(tmp_path):
    def peak(rounds: int, least_size: int) -> int:
        talk, output = write_joined(tmp_path / "talk.wav", rounds), tmp_path / "out"
        kilobytes = peak_kilobytes(
            "decode_wav", f"--model={TINY_MODEL}", f"--wav={talk.path}", "--endpointing",
            "--endpoint_max_utterance_s=5", "--search=beam", "--nbest=4", "--format=json",
            f"--output={output}")
        assert output.stat().st_size > least_size
        return kilobytes

    # Of 2 and of 20 minutes. As one utterance the long recording takes 29 MB more.
    assert peak(70, least_size=5000000) < peak(7, least_size=500000) + 1000
