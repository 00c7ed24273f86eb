"""Windows of an offline model: its server's default, results of decode_wav, limits, refusals."""

import json

import pytest

from offline_model import write_offline_model
from server_process import FILES, LONGEST, Server, samples_of, speak, start
from tool_runner import USAGE, error_line, run, succeed
from websocket_client import request


@pytest.fixture(scope="module", name="model")
def _model(tmp_path_factory):
    return write_offline_model(tmp_path_factory.mktemp("offline") / "offline.pt")


@pytest.fixture(scope="module", name="server")
def _server(model):
    with Server(model=model) as server:
        yield server


def decoded(model, *flags: str) -> str:
    """decode_wav's text of the longest recording."""
    output = succeed("decode_wav", f"--model={model}", f"--wav={FILES[LONGEST]}", *flags)
    return output.rstrip("\n").partition(" ")[2]


def sizes(ready):
    return [ready[name] for name in ("chunk_size", "left_context", "right_context")]


def test_windows_are_the_default_of_live_audio(model, server):
    with server.open() as socket:
        assert sizes(start(socket)) == [16, 128, 16]
    texts = {decoded(model), decoded(model, "--chunk_size=16"), decoded(model, "--chunk_size=8")}
    assert len(texts) == 3 and min(map(len, texts)) > 10
    with server.open() as socket:
        assert speak(socket, LONGEST) == decoded(model, "--chunk_size=16")


@pytest.mark.parametrize("chunk, left, right", [(8, 64, 32), (4, 20, 0), (16, 0, 4)])
def test_results_are_those_of_decode_wav(chunk, left, right, model, server):
    options = {"chunk_size": chunk, "left_context": left, "right_context": right}
    texts = []
    for cached in ({}, {"cached_windows": True}):
        chosen = {**options, **cached}
        with server.open() as socket:
            texts.append(speak(socket, LONGEST, (999,), **chosen))
        expected = decoded(model, *(f"--{name}={value}" for name, value in chosen.items()))
        assert texts[-1] == expected
        query = "&".join(f"{name}={str(value).lower()}" for name, value in chosen.items())
        reply = request(server.port, f"/v1/recognize?{query}", "POST", FILES[LONGEST].read_bytes())
        assert json.loads(reply.body)["text"] == expected
    assert texts[0] != texts[1] or chunk > 4  # larger ones may give the same text


def test_programs_say_that_windows_are_cached(model):
    flags = ["--chunk_size=16", "--cached_windows"]
    done = run("decode_wav", f"--model={model}", f"--wav={FILES[LONGEST]}", *flags)
    assert "left context 128, right context 16, cached windows; " in done.stderr
    with Server("--cached_windows", model=model) as server:
        with server.open() as socket:
            assert start(socket)["cached_windows"]
        server.signal()
        assert server.exit_code() == 0
        assert any("right context 16, cached windows, unless" in line for line in server.log)


def test_clients_ask_for_cached_windows(model, server):
    flags = [f"--server=ws://127.0.0.1:{server.port}/", f"--wav={FILES[LONGEST]}", "--speed=0"]
    window = ["--chunk_size=4", "--left_context=20", "--right_context=0"]
    text = succeed("stream_client", *flags, *window, "--cached_windows").partition(" ")[2].strip()
    assert text == decoded(model, *window, "--cached_windows") != decoded(model, *window)
    done = run("stream_client", *flags, "--cached_windows", "--protocol=wenet")
    assert "--cached_windows needs --protocol=runnel, got wenet" in error_line(done, USAGE)


def test_flush_and_resume(model):
    samples, rate = samples_of(LONGEST)
    with Server(model=model) as server, server.open() as socket:
        assert sizes(start(socket, rate, early_text=4)) == [16, 128, 16]
        half = len(samples) // 2
        socket.send_bytes((samples[:half] * 32768).astype("<i2").tobytes())
        socket.send_json(type="flush")
        first = socket.receive_until("utterance")["text"]
        socket.send_bytes((samples[half:] * 32768).astype("<i2").tobytes())
        socket.send_json(type="finish")
        assert first and socket.receive_until("final")["text"]


@pytest.mark.parametrize("options, message", [
    ({"right_context": 65}, "expected at most 64 on this server (--max_right_context)"),
    ({"chunk_size": 4}, "a window computes at most 32 times its chunk"),
    ({"right_context": -3}, "right_context"),
    ({"right_context": -1, "chunk_size": 16}, "this model needs the whole utterance")])
def test_refusals(options, message, server):
    with server.open() as socket:
        socket.send_json(type="start", version=1, **options)
        error = socket.receive_until("error")
        assert error["code"] == "bad_option" and message in error["message"]


def test_a_server_of_small_chunks_in_large_windows_does_not_start(model):
    done = run("stream_server", f"--model={model}", "--port=0", "--chunk_size=4")
    assert "--chunk_size is 4, expected more with --left_context=128" in error_line(done, USAGE)


def test_a_server_of_whole_utterances_limits_windows(model):
    with Server("--chunk_size=-1", model=model) as server:
        with server.open() as socket:
            assert speak(socket, LONGEST) == decoded(model)
        with server.open() as socket:
            assert sizes(start(socket, chunk_size=16)) == [16, 128, 16]
        with server.open() as socket:
            socket.send_json(type="start", version=1, chunk_size=1)
            error = socket.receive_until("error")
            assert "a window computes at most 32 times its chunk" in error["message"]


def test_an_unlimited_left_context_is_that_of_a_whole_utterance(model):
    with Server("--left_context=-1", model=model) as server, server.open() as socket:
        assert speak(socket, LONGEST) == decoded(model)


def test_whole_utterances_where_the_server_permits_them(model):
    with Server("--max_chunk_size=-1", model=model) as server, server.open() as socket:
        assert speak(socket, LONGEST, chunk_size=-1) == decoded(model)


def test_a_model_that_streams_has_no_windows():
    with Server() as server:
        with server.open() as socket:
            assert start(socket)["right_context"] == -1
        with server.open() as socket:
            socket.send_json(type="start", version=1, right_context=16)
            assert "streams in chunks" in socket.receive_until("error")["message"]
    done = run("decode_wav", "--model=models/digits/digits.pt", f"--wav={FILES[LONGEST]}",
               "--right_context=16")
    assert "--right_context is 16, expected none (-1)" in error_line(done, USAGE)
