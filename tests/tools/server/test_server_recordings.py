"""Recordings over HTTP whose clients, or whose server, end in the midst of it."""

import contextlib
import json
import socket as sockets
import struct

import numpy as np
import pytest
import soundfile

from server_process import (FILES, LONG_S, LONGEST, SLOW, TEXTS, Server, long_recording,
                            samples_of)
from websocket_client import connect, read_answer, request

HEAD = "POST /v1/recognize{} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n".format


@pytest.fixture(scope="module", name="server")
def _server():
    with Server() as server:
        yield server


def test_half_closed_clients_are_answered():
    body = FILES[LONGEST].read_bytes()
    with Server() as server:
        with connect(server.port) as connection:
            connection.sendall(HEAD("", len(body)).encode() + body)
            connection.shutdown(sockets.SHUT_WR)
            answer, rest = read_answer(connection)
            assert answer.status == 200 and answer.json()["text"] == TEXTS[LONGEST]
            assert rest == b"" and connection.recv(1) == b""
        with connect(server.port) as connection:  # what is not whole is not waited for
            connection.sendall(HEAD("", len(body)).encode() + body[:1000])
            connection.shutdown(sockets.SHUT_WR)
            answer, _ = read_answer(connection)
            assert answer.status == 400 and answer.json()["error"]["code"] == "bad_request"
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        server.wait_for(lambda now: now["runnel_connections"] == 1)


@contextlib.contextmanager
def decoding(server, body):
    """The connection of a long recording that is being decoded."""
    with connect(server.port) as connection:
        connection.sendall(HEAD("?chunk_size=1", len(body)).encode() + body)
        before = server.metrics()["runnel_audio_seconds_total"]
        server.wait_for(lambda now: now["runnel_audio_seconds_total"] > before)
        yield connection


def test_clients_that_go_end_the_recognition(tmp_path):
    body = long_recording(tmp_path)
    with Server(*SLOW, "--max_batch_streams=2") as server:
        with decoding(server, body) as connection:
            connection.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, struct.pack("ii", 1, 0))
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        with decoding(server, body):
            pass  # a close in order, as of one who closes nothing but his own side
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        assert server.metrics()["runnel_audio_seconds_total"] < LONG_S / 2
        with decoding(server, body) as waiting:  # the reply to one who only does that begins
            waiting.shutdown(sockets.SHUT_WR)
            assert receive_until(waiting, b"\r\n\r\n1\r\n\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")
            assert server.metrics()["runnel_streams"] == 1


def receive_until(connection, end):
    """What comes up to `end`, and what came with it."""
    received = b""
    while end not in received:
        piece = connection.recv(65536)
        assert piece, received
        received += piece
    return received


def receive_all(connection):
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received


def form_of(audio, *fields):
    """A form (multipart/form-data) and its header."""
    parts = b"".join(b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
                     % (name, value) for name, value in [*fields, (b"file", audio)])
    return parts + b"--b--\r\n", {"Content-Type": "multipart/form-data; boundary=b"}


OFTEN = ("--reply_interval_s=0.05", "--drain_timeout_s=0.2")


@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
def test_a_long_reply_begins_before_its_end(tmp_path, version):
    """An error is in its body, and the body is not complete."""
    body = long_recording(tmp_path)
    with Server(*SLOW, *OFTEN) as server, connect(server.port) as connection:
        head = b"POST /v1/recognize HTTP/%s\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        connection.sendall(head % (version, len(body)) + body)
        filler = b"1\r\n\n\r\n" if version == b"1.1" else b"\n"
        begin = receive_until(connection, b"\r\n\r\n" + 3 * filler)
        assert begin.startswith(b"HTTP/1.1 200 OK\r\n")
        assert (b"Transfer-Encoding" in begin) == (version == b"1.1")
        assert b"Content-Length" not in begin
        server.signal()
        rest = receive_all(connection)
        assert b'"code":"draining"' in rest and not rest.endswith(b"0\r\n\r\n")
        assert server.exit_code() == 0


@pytest.mark.parametrize("target", ["/v1/recognize", "/v1/listen", "/v1/audio/transcriptions"])
def test_blanks_before_json(tmp_path, server, target):
    samples, rate = soundfile.read(FILES[LONGEST], dtype="int16")
    soundfile.write(tmp_path / "a.flac", np.concatenate([samples, np.zeros(600 * rate, "<i2")]),
                    rate)
    body, headers = (tmp_path / "a.flac").read_bytes(), {}
    if target.endswith("transcriptions"):
        body, headers = form_of(body)
    with Server("--reply_interval_s=0.001") as hasty:
        answer = request(hasty.port, target, "POST", body, headers=headers)
        assert answer.status == 200 and answer.body.startswith(b"\n")
        assert TEXTS[LONGEST] in json.dumps(answer.json())
    answer = request(server.port, target, "POST", b"no audio", headers=headers)
    assert answer.status == 400


def test_text_has_no_blanks(tmp_path):
    """Its reply begins early only for a client that may have gone."""
    body, headers = form_of(long_recording(tmp_path), (b"response_format", b"text"))
    head = (f"POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
            f"Content-Type: {headers['Content-Type']}\r\n\r\n").encode()
    with Server(*SLOW, *OFTEN) as server, connect(server.port) as waiting, \
            connect(server.port) as closing:
        for connection in waiting, closing:
            connection.sendall(head + body)
        closing.shutdown(sockets.SHUT_WR)
        begin = receive_until(closing, b"\r\n\r\n")
        assert begin.startswith(b"HTTP/1.1 200 OK\r\n") and begin.endswith(b"\r\n\r\n")
        server.signal()
        assert read_answer(waiting)[0].status == 503
        assert receive_all(closing) == b""  # not even the end of the body
        assert server.exit_code() == 0


def events_of(body):
    return [json.loads(event[6:]) for event in body.decode().split("\n\n")
            if event.startswith("data: ")]


@pytest.mark.parametrize("is_form", [False, True])
def test_events_of_a_recording(server, is_form):
    fields = {"stream": "true", "endpointing": "true", "search": "beam"}
    body, headers = FILES[LONGEST].read_bytes(), {}
    target = "/v1/recognize"
    if is_form:
        body, headers = form_of(body, *((name.encode(), value.encode())
                                        for name, value in fields.items()))
    else:
        target += "?" + "&".join(f"{name}={value}" for name, value in fields.items())
    answer = request(server.port, target, "POST", body, headers=headers)
    assert answer.headers["content-type"] == "text/event-stream"
    begin, *steps, final = events_of(answer.body)
    samples, rate = samples_of(LONGEST)
    assert begin["type"] == "begin" and begin["model"] == "digits"
    assert begin["duration_ms"] == pytest.approx(1000 * len(samples) / rate, abs=1)
    assert final["type"] == "final"
    whole = request(server.port, "/v1/recognize?endpointing=true&search=beam", "POST",
                    FILES[LONGEST].read_bytes()).json()
    utterances = [step for step in steps if step["type"] == "utterance"] + [final]
    assert [one["nbest"] for one in utterances if one["text"]] == [
        segment["nbest"] for segment in whole["segments"]]
    progress = [step["audio_ms"] for step in steps if step["type"] == "progress"]
    assert progress and progress == sorted(progress)


def test_errors_of_an_event_stream(server):
    for body in b"", b"no audio":
        answer = request(server.port, "/v1/recognize?stream=true", "POST", body)
        assert answer.status == 400 and answer.json()["error"]["code"] == "bad_message"
    answer = request(server.port, "/v1/recognize?stream=maybe", "POST", b"x")
    assert answer.json()["error"]["message"] == "stream is 'maybe', expected true or false"


def test_what_curl_sends_otherwise(server):
    audio = FILES[LONGEST].read_bytes()
    for content_type in ("application/x-www-form-urlencoded",
                         "Application/x-www-form-urlencoded; charset=x"):
        headers = {"Content-Type": content_type}
        # --data-binary
        assert request(server.port, "/v1/recognize", "POST", audio, headers=headers).status == 200
        # -d drops line breaks
        answer = request(server.port, "/v1/recognize", "POST",
                         audio.replace(b"\n", b"").replace(b"\r", b""), headers=headers)
        assert answer.status == 400
        assert "with --data-binary @FILE, not with -d @FILE" in answer.json()["error"]["message"]
    body, headers = form_of(audio, (b"chunk_size", b"4"))  # -F
    assert request(server.port, "/v1/recognize", "POST", body, headers=headers).json()["text"]
    body, headers = form_of(audio, (b"no_option", b"4"))
    answer = request(server.port, "/v1/recognize", "POST", body, headers=headers)
    assert "'no_option' is no option of a recording" in answer.json()["error"]["message"]
    body, headers = form_of(b"")
    answer = request(server.port, "/v1/recognize", "POST", body, headers=headers)
    assert answer.json()["error"]["message"] == "file is missing or empty, expected an audio file"


def test_draining_tells_recordings(tmp_path):
    """One that is being decoded, one whose body still comes, one that was told to continue."""
    body = long_recording(tmp_path)
    with Server(*SLOW, "--max_batch_streams=9", "--drain_timeout_s=0.2") as server, \
            connect(server.port) as decoding, connect(server.port) as sending, \
            connect(server.port) as waiting:
        decoding.sendall(HEAD("?chunk_size=1", len(body)).encode() + body)
        sending.sendall(HEAD("", len(body)).encode() + body[:1000])
        waiting.sendall(HEAD("", len(body)).encode()[:-2] + b"Expect: 100-continue\r\n\r\n")
        assert read_answer(waiting)[0].status == 100
        server.wait_for(lambda now: now["runnel_streams"] == 3
                        and now["runnel_audio_seconds_total"] > 0)
        server.signal()
        for connection in decoding, sending, waiting:
            answer, _ = read_answer(connection)
            assert answer.status == 503 and answer.json()["error"]["code"] == "draining"
            assert int(answer.headers["retry-after"]) > 0
            assert connection.recv(1) == b""
            connection.close()
        assert server.exit_code() == 0
        assert any("tells 3 streams to end" in line for line in server.log)
        assert not any("streams left" in line for line in server.log)


def test_draining_waits_for_recordings():
    body = FILES[LONGEST].read_bytes()
    with Server() as server, connect(server.port) as connection:
        connection.sendall(HEAD("", len(body)).encode() + body[:1000])
        server.wait_for(lambda now: now["runnel_streams"] == 1)
        server.signal()
        server.wait_for(lambda now: now["runnel_draining"] == 1)
        connection.sendall(body[1000:])
        answer, _ = read_answer(connection)
        assert answer.status == 200 and answer.json()["text"] == TEXTS[LONGEST]
        assert server.exit_code() == 0


def test_refused_recordings_are_told_when_to_come_again():
    with Server("--max_uploads=0") as server:
        for size in 10, 100000, 1 << 20:
            answer = request(server.port, "/v1/recognize", "POST", bytes(size))
            assert answer.status == 503 and answer.json()["error"]["code"] == "full"
            assert int(answer.headers["retry-after"]) > 0


def test_progress_is_merged_for_a_slow_reader(tmp_path):
    """What waits does not grow with the number of chunks, and no text is lost."""
    samples, rate = soundfile.read(FILES[LONGEST], dtype="int16")
    length_s = 600
    soundfile.write(tmp_path / "a.flac", np.concatenate([samples, np.zeros(length_s * rate, "<i2"),
                                                         samples]), rate)
    body = (tmp_path / "a.flac").read_bytes()
    with Server("--max_send_queue_kb=1", "--send_timeout_s=600") as server, \
            connect(server.port, receive_buffer=2048) as connection:
        target = "?stream=true&chunk_size=1&endpointing=true"
        connection.sendall(HEAD(target, len(body)).encode() + body)
        server.wait_for(lambda now: now["runnel_audio_seconds_total"] > length_s)
        answer, _ = read_answer(connection)
        events = events_of(answer.body)
        texts = [event["nbest"][0]["text"] for event in events if "nbest" in event]
        assert " ".join(filter(None, texts)) == f"{TEXTS[LONGEST]} {TEXTS[LONGEST]}"
        progress = [event for event in events if event["type"] == "progress"]
        assert 0 < len(progress) < length_s / 0.04 / 2  # of 0.04 s each
