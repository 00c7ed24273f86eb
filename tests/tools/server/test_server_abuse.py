"""What clients may do to stream_server: whatever they send, their neighbour's text is right."""

import json
import random
import socket as sockets
import struct

import pytest

from server_process import (LONGEST, SMALL_QUARANTINE, TEXTS, Neighbour, Server, pcm16, samples_of,
                            speak, start)
from websocket_client import BINARY, CONTINUATION, TEXT, Closed, connect

START = {"type": "start", "version": 1}


@pytest.fixture(scope="module", name="server")
def _server():
    # All of them are clients of one address.
    with Server("--max_speed=0", "--max_streams_per_address=0",
                "--max_connections_per_address=0") as server:
        yield server
        assert server.process.poll() is None
        server.signal()
        assert server.exit_code() == 0


@pytest.fixture(name="neighbour")
def _neighbour(server):
    neighbour = Neighbour(server)
    neighbour.go_on()
    yield neighbour
    neighbour.finish()


@pytest.mark.parametrize("messages, code, close", [
    ([START, START], "unsupported_order", 1008),
    (["{"], "bad_json", 1008),
    ([""], "bad_json", 1008),
    (["[1]"], "bad_json", 1008),
    (["7"], "bad_json", 1008),
    (["[" * 10000], "bad_json", 1008),
    ([{"type": "begin"}], "bad_message", 1008),
    ([{"no": "type"}], "bad_message", 1008),
    ([{"type": "start"}], "unknown_version", 1008),
    ([{"type": "start", "version": 2}], "unknown_version", 1008),
    ([{**START, "sample_rate": 1}], "bad_option", 1008),
    ([{**START, "sample_rate": 1e99}], "bad_option", 1008),
    ([{**START, "chunk_size": "x"}], "bad_option", 1008),
    ([{**START, "search": "x"}], "bad_option", 1008),
    (['{"type": "start", "version": 1, "\\ud800": 1}'], "bad_json", 1008),
    ([START, "text for audio"], "bad_json", 1008),
    ([START, {"type": "audio"}], "bad_message", 1008),
    ([START, b"odd", {"type": "finish"}], "odd_bytes", 1008),
    ([{"type": "finish"}], "unsupported_order", 1008),
    ([{"type": "resume", "version": 1, "token": "../../etc/passwd"}], "snapshot_unknown", 1008),
    ([{**START, "encoding": "opus"}, b"", b"\x7b"], "bad_message", 1008),
    ([{**START, "encoding": "opus", "sample_rate": 44100}], "bad_option", 1008),
    ([{**START, "encoding": "ogg"}], "bad_option", 1008),
    ([{**START, "encoding": "float32"}, struct.pack("<f", float("nan"))], "bad_message",
     1008),
    ([{**START, "encoding": "float32"}, struct.pack("<f", 12345)], "bad_message", 1008),
])
def test_messages(server, neighbour, messages, code, close):
    with server.open() as socket:
        for message in messages:
            if isinstance(message, bytes):
                socket.send_bytes(message)
            else:
                socket.send_text(message if isinstance(message, str) else json.dumps(message))
        neighbour.go_on()
        answer = socket.receive_json()
        while answer["type"] in ("ready", "partial"):
            answer = socket.receive_json()
        assert answer["type"] == "error" and answer["code"] == code
        assert answer["message"] and "\n" not in answer["message"]
        assert socket.close_code() == close


def test_finish_twice_and_audio_after_it(server, neighbour):
    samples, rate = samples_of(LONGEST)
    with server.open() as socket:
        start(socket, rate)
        socket.send_bytes(pcm16(samples))
        socket.send_json(type="finish")
        socket.send_json(type="finish")
        socket.send_bytes(pcm16(samples))
        neighbour.go_on()
        assert socket.close_code() in (1000, 1008)


def test_wrong_protocols(server, neighbour):
    for first, code in [(json.dumps({"signal": "stop"}), 1008), (json.dumps({"signal": 7}), 1008),
                        ("Done", 1000), (json.dumps({"signal": "start", "type": "start"}), 1008)]:
        with server.open() as socket:
            socket.send_text(first)
            assert socket.close_code() == code
    with server.open() as socket:  # sherpa-onnx, with text that is not Done
        socket.send_bytes(bytes(64))
        socket.send_text("{")
        assert socket.close_code() == 1008
    with server.open() as socket:  # WeNet, and then whatever
        socket.send_text(json.dumps({"signal": "start"}))
        socket.send_text("\"")
        assert socket.close_code() == 1008
    neighbour.go_on()


def test_huge_messages(server, neighbour):
    before = server.metrics()["process_resident_memory_bytes"]
    for is_fragmented in False, True:
        with server.open() as socket:
            start(socket)
            try:
                if is_fragmented:
                    for i in range(400):
                        socket.send_frame(CONTINUATION if i else BINARY, bytes(1 << 18),
                                          final=False)
                else:
                    socket.send_bytes(bytes(100 << 20))
            except (ConnectionResetError, BrokenPipeError):
                pass  # the server need not read it to its end
            try:
                assert socket.receive_until("partial")
            except (AssertionError, Closed) as end:
                assert "message_too_large" in str(end) or isinstance(end, Closed)
        neighbour.go_on()
    # A frame that says it is as long as can be said.
    with server.open() as socket:
        start(socket)
        socket.socket.sendall(b"\x82\xff" + b"\x7f" + b"\xff" * 7 + bytes(4) + bytes(1 << 21))
        assert socket.close_code() == 1009
    assert server.metrics()["process_resident_memory_bytes"] < before + 100e6
    assert server.rejections("message_too_large") >= 2


@pytest.mark.parametrize("frame", [
    b"\x82\x05hello",  # no mask
    b"\xf2\x80" + bytes(4), b"\x83\x80" + bytes(4), b"\x80\x80" + bytes(4),  # flags, kinds, order
    b"\x89\xfe\x00\x80" + bytes(132),  # a ping that is too long
    b"\x09\x80" + bytes(4),  # a ping in pieces
    b"\x88\x81" + bytes(4) + b"x",  # half a close code
    b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 4096], ids=range(9))
def test_frames(server, neighbour, frame):
    with server.open() as socket:
        start(socket)
        try:
            socket.socket.sendall(frame)
            socket.socket.shutdown(sockets.SHUT_WR)
            neighbour.go_on()
            assert socket.close_code() in (1002, 1006)  # 1006: cut off
        except OSError:
            pass


@pytest.mark.parametrize("is_first", [True, False])
def test_text_that_is_not_utf8(server, neighbour, is_first):
    with server.open() as socket:
        if not is_first:
            start(socket)
        socket.socket.sendall(b"\x81\x82" + bytes(4) + b"\xff\xfe")
        neighbour.go_on()
        with pytest.raises(Closed) as closed:
            socket.receive()
        assert closed.value.code == 1007


def test_random_bytes(server, neighbour):
    seed = 20261121
    print(f"seed {seed}")
    source = random.Random(seed)
    for _ in range(60):
        with connect(server.port) as connection:
            try:
                connection.sendall(source.randbytes(source.randrange(1, 3000)))
                connection.shutdown(sockets.SHUT_WR)
                while connection.recv(65536):
                    pass
            except OSError:
                pass
        with server.open() as socket:
            try:
                for _ in range(source.randrange(5)):
                    socket.send_frame(source.choice([TEXT, BINARY]),
                                      source.choice([source.randbytes(source.randrange(500)),
                                                     json.dumps(START).encode(),
                                                     b'{"type":"finish"}',
                                                     b'{"signal":"start"}', b"Done"]))
            except OSError:
                pass
    neighbour.go_on()


def test_half_open_and_vanishing_clients():
    """The neighbour speaks between any two steps: only clients that are silent are idle."""
    with Server("--idle_timeout_s=3", environment=SMALL_QUARANTINE) as server:
        neighbour = Neighbour(server)
        samples, rate = samples_of(LONGEST)
        audio = pcm16(samples)

        def vanish(step):
            socket = server.open()
            if step % 4 > 0:
                start(socket, rate)
            if step % 4 > 1:
                socket.send_bytes(audio[:20000])
            if step % 4 > 2:
                socket.send_json(type="finish")
            if step % 2:  # cut with a reset; otherwise with an end
                socket.socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER,
                                         struct.pack("ii", 1, 0))
            socket.socket.close()

        def is_alone(metrics):
            neighbour.go_on(0.0005)
            return metrics["runnel_streams"] == 1

        for step in range(300):  # what is touched for the first time takes memory once
            neighbour.go_on(0.001)
            vanish(step)
        server.wait_for(is_alone)
        before = server.metrics()
        for step in range(300):
            neighbour.go_on(0.001)
            vanish(step)
        server.wait_for(is_alone)
        silent = []
        for _ in range(20):  # never a byte, never an end
            neighbour.go_on(0.001)
            silent.append(server.open())
        neighbour.finish()
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        server.wait_for(lambda now: now["runnel_connections"] == 1)
        after = server.metrics()
        assert after["process_open_fds"] <= before["process_open_fds"]
        assert (after["process_resident_memory_bytes"]
                < before["process_resident_memory_bytes"] + 16e6)
        for socket in silent:
            socket.socket.close()


def test_many_connects_at_once(server, neighbour):
    before = server.metrics()
    connections = [connect(server.port) for _ in range(200)]
    upgraded = []
    for _ in range(100):
        socket = server.open()
        start(socket)
        upgraded.append(socket)
    neighbour.go_on()
    for connection in connections:
        connection.close()
    for socket in upgraded:
        socket.socket.close()
    server.wait_for(lambda now: now["runnel_streams"] == before["runnel_streams"])
    server.wait_for(lambda now: now["runnel_connections"] <= before["runnel_connections"])
    with server.open() as socket:
        assert speak(socket, LONGEST) == TEXTS[LONGEST]
