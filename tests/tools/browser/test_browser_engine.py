"""The engine for web pages in Node.js against decode_wav."""

import json
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import live_page
from server_process import FILES, LONGEST, TEXTS, samples_of
from tool_runner import DIGITS, succeed

pytestmark = [
    pytest.mark.skipif(not live_page.IS_BUILT, reason=live_page.WHY_NOT),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")]

PROGRAM = pathlib.Path(__file__).with_name("decode.mjs")
MODEL = DIGITS / "digits.pt"
# Without fused multiply-adds, sums are rounded otherwise than on a PC.
SCORE_TOLERANCE = 1e-3
CONFIDENCE_TOLERANCE = 2e-4


def run_engine(requests, model=MODEL):
    return subprocess.run(["node", PROGRAM, live_page.FOLDER, model], text=True, encoding="utf-8",
                          input="".join(json.dumps(request) + "\n" for request in requests),
                          capture_output=True, check=False)


def decode(folder, recordings, packet=640, **start):
    """The messages about recordings, (samples, rate) each, and the seconds that they took."""
    requests = []
    for i, (samples, rate) in enumerate(recordings):
        path = folder / f"{i}.f32"
        np.asarray(samples, dtype="<f4").tofile(path)
        requests.append({"path": str(path), "packet": packet,
                         "start": {"sample_rate": rate, **start}})
    done = run_engine(requests)
    assert done.returncode == 0, done.stderr
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(replies) == len(requests)
    return [reply["messages"] for reply in replies], [reply["seconds"] for reply in replies]


def compare(found, expected):
    """Hypotheses: texts, tokens and their places are equal, numbers nearly."""
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected):
        assert mine["text"] == theirs["text"]
        assert abs(mine["score"] - theirs["score"]) < SCORE_TOLERANCE
        for kind, equal in ("tokens", ("id", "frame", "start_ms", "end_ms")), (
                "words", ("text", "start_ms", "end_ms")):
            assert len(mine[kind]) == len(theirs[kind])
            for one, other in zip(mine[kind], theirs[kind]):
                assert [one[name] for name in equal] == [other[name] for name in equal]
                assert abs(one["confidence"] - other["confidence"]) < CONFIDENCE_TOLERANCE


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_the_same_results_as_decode_wav(tmp_path, search):
    nbest = 3 if search == "beam" else 1
    recordings = [samples_of(name) for name in FILES]
    replies, _ = decode(tmp_path, recordings, search=search, nbest=nbest)
    for (name, path), messages in zip(FILES.items(), replies):
        assert messages[0]["type"] == "ready" and messages[0]["model"] == "digits"
        assert [m["type"] for m in messages[1:]] == ["partial"] * (len(messages) - 2) + ["final"]
        assert messages[-1]["text"] == TEXTS[name]
        expected = json.loads(succeed("decode_wav", f"--model={MODEL}", f"--wav={path}",
                                      f"--search={search}", f"--nbest={nbest}", "--format=json"))
        compare(messages[-1]["nbest"], expected["nbest"])


def test_utterances(tmp_path):
    """Pieces of any size; a pause ends an utterance; its text grows at its end alone."""
    samples = np.concatenate([samples_of("ked_year")[0], np.zeros(32000, dtype=np.float32),
                              samples_of(LONGEST)[0]])
    expected = None
    for packet in 117, 4001, len(samples):
        (messages,), _ = decode(tmp_path, [(samples, 16000)], packet, search="beam",
                                endpointing=True)
        ended = [m for m in messages if m["type"] in ("utterance", "final")]
        assert [m["text"] for m in ended if m["text"]] == [TEXTS["ked_year"], TEXTS[LONGEST]]
        assert [m["index"] for m in ended] == list(range(len(ended)))
        results = [m["nbest"] for m in ended]
        expected = expected or results
        assert results == expected
        stable = {}
        for message in messages:
            if message["type"] == "partial":
                before = stable.get(message["utterance"], "")
                assert message["stable_text"].startswith(before)
                stable[message["utterance"]] = message["stable_text"]


def test_hotwords(tmp_path):
    recording = samples_of("alicia_countdown")
    (messages,), _ = decode(tmp_path, [recording], hotwords="three :-50\none :-50")
    found = messages[-1]["text"].split()
    assert "zero" in found and "three" not in found and "one" not in found


@pytest.mark.parametrize("start, expected", [
    ({"search": "best"}, "search is \"best\", expected greedy"),
    ({"sample_rate": 1}, "expected 1000 to 768000"),
    ({"hotwords": "\u00c5ngstr\u00f6m"}, "hotwords:1: '\u00c5ngstr\u00f6m'"),
    ({"hotwords": "three :+5"}, "expected a score of -100 to 100 after ':', got ':+5'"),
    ({"hotwords": "three :0x5"}, "got ':0x5'"),
    ({"hotwords": "three :1e3"}, "got ':1e3'"),
    ({"early_text_interval": 2}, "early_text_interval is 2, expected 0"),
    ({"early_text": 2}, "early_text is 2, expected 0"),
    ({"speed": 2}, "speed"),
    ({"version": 2}, "version is 2, expected an integer from 1 to 1")])
def test_a_wrong_start(tmp_path, start, expected):
    """One message says what is wrong, and the next stream runs."""
    recording = samples_of("diogo_one_word")
    requests = [{"path": str(tmp_path / "0.f32"), "packet": 16000, "start": fields}
                for fields in (start, {})]
    recording[0].astype("<f4").tofile(tmp_path / "0.f32")
    done = run_engine(requests)
    first, second = [json.loads(line)["messages"] for line in done.stdout.splitlines()]
    assert [message["type"] for message in first] == ["error"]
    assert first[0]["code"] == "bad_option" and expected in first[0]["message"]
    assert second[-1]["text"] == TEXTS["diogo_one_word"]


def test_samples_of_another_scale(tmp_path):
    samples, rate = samples_of("diogo_one_word")
    (messages,), _ = decode(tmp_path, [(samples * 32768, rate)], 16000)
    assert messages[-1]["type"] == "error" and messages[-1]["code"] == "stream_failed"
    assert "expected samples in [-1, 1]" in messages[-1]["message"]


def test_a_file_that_is_no_model(tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(MODEL.read_bytes()[:100000])
    done = run_engine([], path)
    assert done.returncode == 1
    assert "truncated or damaged (100000 bytes, " in done.stderr and done.stderr.count("\n") == 1


def test_speed(tmp_path, capsys):
    """At least five times real time: a minute of speech, three times, because the first one also
    warms up the compiler of Node.js."""
    samples, rate = samples_of(LONGEST)
    minute = np.resize(samples, 60 * rate)
    _, seconds = decode(tmp_path, [(minute, rate)] * 3, search="beam", endpointing=True)
    speed = 60 / min(seconds)
    with capsys.disabled():
        print(f"\nthe engine in Node.js: {speed:.0f} times real time")
    assert speed > 5
