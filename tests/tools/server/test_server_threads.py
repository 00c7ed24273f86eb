"""Everything that threads of stream_server share, once, for the thread sanitizer."""

import json
import threading

import pytest

from server_process import (FILES, LONGEST, TEXTS, Server, cut, pcm16, samples_of, start)
from websocket_client import request

RATE = 16000
NAMES = [name for name in TEXTS if samples_of(name)[1] == RATE][:2]


def ours(server, name):
    """A stream whose connection is lost and resumed on the way."""
    samples, rate = samples_of(name)
    audio = pcm16(samples)
    with server.open() as socket:
        assert start(socket, rate, resume=True, search="beam")["resume"] is True
        for piece in cut(audio[:len(audio) * 3 // 4], [6400]):
            socket.send_bytes(piece)
        token = socket.receive_until("snapshot")["token"]
    with server.open() as socket:
        socket.send_json(type="resume", version=1, token=token)
        begin = socket.receive_until("resumed")["samples"]
        for piece in cut(audio[2 * begin:], [6400]):
            socket.send_bytes(piece)
        socket.send_json(type="finish")
        assert socket.receive_until("final")["text"] == TEXTS[name]
        assert socket.close_code() == 1000


def wenet(server, name):
    with server.open() as socket:
        socket.send_text(json.dumps({"signal": "start", "nbest": 2}))
        for piece in cut(pcm16(samples_of(name)[0]), [6400]):
            socket.send_bytes(piece)
        socket.send_text(json.dumps({"signal": "end"}))
        message = {"type": ""}
        while message["type"] != "final_result":
            message = socket.receive_json()
        assert json.loads(message["nbest"])[0]["sentence"] == TEXTS[name]
        assert socket.close_code() == 1000


def sherpa(server, name):
    with server.open() as socket:
        for piece in cut(samples_of(name)[0].astype("<f4").tobytes(), [12800]):
            socket.send_bytes(piece)
        socket.send_text("Done")
        last, text = "", socket.receive()
        while text != "Done!":
            last, text = text, socket.receive()
        assert json.loads(last)["text"] == TEXTS[name]
        assert socket.close_code() == 1000


def upload(server, name):
    answer = request(server.port, "/v1/recognize", "POST", FILES[name].read_bytes())
    assert answer.status == 200 and answer.json()["text"] == TEXTS[name]


def vanish(server, name):
    samples, rate = samples_of(name)
    for _ in range(3):
        with server.open() as socket:
            start(socket, rate, resume=True)
            socket.send_bytes(pcm16(samples))
        server.metrics()


@pytest.mark.parametrize("drain_timeout_s", [60, 0.1])
def test_all_at_once(tmp_path, drain_timeout_s):
    """Streams of all protocols, a resume, an upload; then those that live are drained."""
    failures = []

    def attempt(work, *arguments):
        try:
            work(*arguments)
        except BaseException as error:  # pylint: disable=broad-except
            failures.append((work.__name__, error))

    with Server("--io_threads=2", "--num_threads=2", f"--snapshot_store={tmp_path / 'snapshots'}",
                "--snapshot_interval_s=0.5", "--max_speed=0",
                f"--drain_timeout_s={drain_timeout_s}") as server:
        threads = [threading.Thread(target=attempt, args=(work, server, name))
                   for name in NAMES for work in (ours, wenet, sherpa, upload, vanish)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
        samples, rate = samples_of(LONGEST)
        with server.open() as last:
            start(last, rate, resume=True)
            last.send_bytes(pcm16(samples))
            last.receive_until("partial")
            server.signal()
            if drain_timeout_s > 1:
                server.wait_for(lambda now: now["runnel_draining"] == 1)
                last.send_json(type="finish")
                assert last.receive_until("final")["text"] == TEXTS[LONGEST]
                assert last.close_code() == 1000
            else:
                assert last.close_code() == 1013
        assert server.exit_code() == 0, "".join(server.log)
    assert not any("ThreadSanitizer" in line for line in server.log), "".join(server.log)
