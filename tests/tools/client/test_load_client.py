"""load_client as a user runs it, with few streams: counts, comparisons and reports."""

import json
import signal
import subprocess

import numpy as np
import pytest
import soundfile

from server_process import TEXTS, Server, start
from websocket_client import PATIENCE_S
from tool_runner import (BIN, FAILURE, SAMPLE_LIST, SAMPLES, SUCCESS, USAGE, error_line, run,
                         succeed)

LIST = f"--wav_scp={SAMPLE_LIST}"
EXPECTED = f"--expected={SAMPLES / 'text'}"
CHUNK_S = 0.64  # that the digit model recommends
QUICK = ["--speed=8", "--ramp_s=0.2", "--json"]


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory):
    with Server(f"--snapshot_store={tmp_path_factory.mktemp('snapshots')}") as server:
        yield server


def address(server):
    return f"--server=ws://127.0.0.1:{server.port}/"


def report(done):
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stderr
    return json.loads(lines[0])


@pytest.mark.parametrize("protocol", ["runnel", "deepgram", "openai", "wenet", "sherpa"])
def test_all_streams_end_with_their_text(server, protocol):
    """No stream is lost and every text is right, however busy the machine is."""
    found = report(run("load_client", address(server), LIST, EXPECTED, *QUICK, "--streams=8",
                       "--rounds=2", f"--protocol={protocol}", "--behind_s=1000"))
    assert [found[key] for key in ("started", "done", "failed", "refused", "behind", "mismatched")
            ] == [16, 16, 0, 0, 0, 0]
    assert found["errors"] == {} and found["audio_s"] > 16
    latency = found["latency_ms"]
    # A stream that waited until all its audio was there may get its final text first.
    assert 0 < latency["first_partial"]["count"] <= latency["final"]["count"] == 16
    for quantiles in latency.values():
        assert (0 <= quantiles["p50"] <= quantiles["p95"] <= quantiles["p99"]
                <= quantiles["max"])
    if protocol == "runnel":
        assert 0 < latency["chunk"]["count"] == latency["server_chunk"]["count"]
        # The server measures a part of the client's latency; histogram ranges are 1 % wide.
        assert latency["server_chunk"]["p50"] <= latency["chunk"]["p50"] * 1.02


@pytest.mark.parametrize("protocol", ["runnel", "deepgram", "openai"])
def test_turns(server, protocol):
    """The client asks for the text of its speech again and again, and each answer is timed."""
    flushes = 'runnel_utterances_total{end="flush"}'
    before = server.metrics()[flushes]
    found = report(run("load_client", address(server), LIST, *QUICK, "--streams=8", "--rounds=3",
                       f"--protocol={protocol}", "--turn_s=0.6", "--behind_s=1000"))
    assert found["done"] == found["started"] == 24 and found["errors"] == {}
    turns = found["latency_ms"]["end_of_speech"]
    # The last turn of a recording ends with it: by a commit, too, in OpenAI's protocol.
    last = 24 if protocol == "openai" else 0
    ended = server.metrics()[flushes] - before
    assert 24 <= turns["count"] and ended <= turns["count"] + last
    assert 0 < turns["p50"] <= turns["p99"] <= turns["max"]
    # A partial that follows an end without a new chunk has no latency of a chunk.
    assert found["latency_ms"]["chunk"]["count"] <= found["audio_s"] / CHUNK_S


def test_end_of_speech_does_not_wait_for_a_full_batch():
    """Chunks wait an hour for others here, and ends for nothing."""
    with Server("--max_batch_wait_ms=3600000", "--num_threads=1") as patient:
        found = report(run("load_client", address(patient), LIST, *QUICK, "--streams=4",
                           "--turn_s=0.6", "--behind_s=1000"))
    assert found["done"] == 4 and found["latency_ms"]["end_of_speech"]["count"] >= 4


def test_table(server):
    text = succeed("load_client", address(server), LIST, EXPECTED, "--speed=8", "--streams=2",
                   "--ramp_s=0", "--behind_s=1000")
    lines = text.splitlines()
    assert lines[0].split(None, 1) == ["streams", "2 started, 2 done, 0 failed, 0 refused"]
    assert lines[3].split() == "latency in ms p50 p95 p99 max count".split()
    *partials, final, server_final = [line.split("  ")[1] for line in lines[4:]]
    assert (final, server_final) == ("final", "final, by the server")
    # Both streams may get their final text first.
    assert partials in ([], ["first partial", "chunk", "chunk, by the server"])


def test_recordings_that_were_cut_off_are_named(server, tmp_path):
    recording = tmp_path / "cut.wav"
    soundfile.write(recording, np.zeros(4 * 16000), 16000, "PCM_16")
    recording.write_bytes(recording.read_bytes()[:44 + 2 * 32000])
    done = run("load_client", address(server), f"--wav={recording}", *QUICK, "--streams=3",
               "--behind_s=1000")
    assert report(done)["done"] == 3
    assert [line for line in done.stderr.splitlines() if "cut.wav" in line] == [
        f"load_client: {recording}: ends after 2.00 s, its header announces 4.00 s"]


def test_other_texts_are_named(server, tmp_path):
    wrong = tmp_path / "text"
    wrong.write_text("".join(f"{name} {'none of it' if name == 'ked_year' else text}\n"
                             for name, text in TEXTS.items()), encoding="utf-8")
    done = run("load_client", address(server), LIST, f"--expected={wrong}", *QUICK,
               f"--streams={len(TEXTS)}", "--behind_s=1000")
    assert done.returncode == FAILURE
    found = report(done)
    assert found["mismatched"] == 1 and found["done"] == len(TEXTS)
    assert found["mismatches"] == [
        {"id": "ked_year", "text": TEXTS["ked_year"], "expected": "none of it"}]


def test_late_streams_are_counted(server):
    done = run("load_client", address(server), LIST, *QUICK, "--streams=3", "--behind_s=0")
    assert done.returncode == FAILURE and report(done)["behind"] == 3


def test_refused_streams_are_counted():
    with Server("--max_streams=2") as small:
        with small.open() as first, small.open() as second:
            start(first), start(second)
            done = run("load_client", address(small), LIST, *QUICK, "--streams=5")
        assert done.returncode == FAILURE
        found = report(done)
        assert found["refused"] == 5 and found["errors"] == {"full": 5} and found["done"] == 0
    done = run("load_client", address(small), LIST, *QUICK, "--streams=2")
    assert report(done)["errors"] == {"refused": 2}


def test_options_are_sent(server):
    done = run("load_client", address(server), LIST, *QUICK, "--streams=2",
               '--options={"head":"transducer"}')
    assert done.returncode == FAILURE and report(done)["errors"] == {"bad_option": 2}


def test_duration(server):
    """Recordings start during that time, at least one per stream."""
    found = report(run("load_client", address(server), LIST, EXPECTED, *QUICK, "--streams=2",
                       "--duration_s=0.001", "--behind_s=1000"))
    assert found["started"] == found["done"] == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_is_reported(server, number):
    with subprocess.Popen([BIN / "load_client", address(server), LIST, "--streams=3", "--ramp_s=0",
                           "--duration_s=3600", "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8") as process:
        try:
            server.wait_for(lambda metrics: metrics["runnel_streams"] == 3)
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == FAILURE
    assert json.loads(stdout)["started"] >= 3
    assert "interrupted" in stderr and len(stderr.splitlines()) == 1


@pytest.mark.parametrize("encoding", ["alaw", "opus"])
def test_compressed_audio(server, encoding):
    found = report(run("load_client", address(server), LIST, EXPECTED, *QUICK, "--streams=4",
                       f"--encoding={encoding}", "--behind_s=1000"))
    assert found["done"] == 4 and found["mismatched"] == 0 and found["errors"] == {}


def test_help():
    done = run("load_client", "--help")
    assert done.returncode == SUCCESS and done.stdout.startswith("load_client runs many live")
    assert "--streams=INTEGER" in done.stdout and "--bearer_token=TEXT" in done.stdout


@pytest.mark.parametrize("flags, code, message", [
    (["--streams=-1"], USAGE, "--streams is -1, expected 1 to"),
    (["--rounds=0"], USAGE, "--rounds is 0"),
    (["--rounds=1", "--duration_s=5"], USAGE, "--rounds and --duration_s are both given"),
    (["--streams=0"], USAGE, "--streams is 0, expected 1 to"),
    (["--vanish=1"], USAGE, "vanish"),
    (["--ramp_s=-1"], USAGE, "--ramp_s is -1, expected at least 0 s"),
    (["--expected=none"], FAILURE, "none: cannot open"),
    ([f"--expected={SAMPLE_LIST.parent / 'none'}"], FAILURE, "cannot open"),
    (["--server=ftp://h/"], USAGE, "has the scheme 'ftp'"),
    (["--turn_s=0.1"], USAGE, "--turn_s is 0.1, expected at least 0.5 s"),
    (["--turn_s=3", "--protocol=wenet"], USAGE, "needs --protocol=runnel, deepgram or openai, got"),
    (["--turn_s=3", "--expected=none"], USAGE, "--turn_s and --expected are both given"),
    (["--turn_s=3", "--resume"], USAGE, "--turn_s and --resume are both given"),
    (["--options=greedy"], USAGE, "--options is 'greedy', expected a JSON object"),
])
def test_wrong_flags(flags, code, message):
    assert message in error_line(run("load_client", "--server=ws://127.0.0.1:1/", LIST, *flags),
                                 code)


def test_recording_without_expected_text(tmp_path):
    (tmp_path / "text").write_text("ked_year two zero two six\n", encoding="utf-8")
    line = error_line(run("load_client", "--server=ws://127.0.0.1:1/", LIST,
                          f"--expected={tmp_path}/text"), FAILURE)
    assert "text: has no line for 'rms_phone_number'" in line
