"""Recordings over HTTP whose clients, or whose server, end in the midst of it."""

import contextlib
import socket as sockets
import struct

from server_process import FILES, LONG_S, LONGEST, SLOW, TEXTS, Server, long_recording
from websocket_client import connect, read_answer, request

HEAD = "POST /v1/recognize{} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n".format


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
        with decoding(server, body) as waiting:  # who only does that is told that it goes on
            waiting.shutdown(sockets.SHUT_WR)
            for _ in range(2):
                assert read_answer(waiting)[0].status == 100
            assert server.metrics()["runnel_streams"] == 1


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
