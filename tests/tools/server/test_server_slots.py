"""Slots follow work: who takes them for nothing keeps nobody out."""

import contextlib
import json
import select
import socket as sockets
import struct

import pytest

from server_process import (FILES, LONGEST, TEXTS, Server, open_if_there_is_room, retry, speak,
                            start)
from tools.benchmark.soak import attack_client
from tools.benchmark.soak.attack_client import Target, web_socket
from websocket_client import PATIENCE_S, Refused, connect, read_answer, request
from wyoming_client import Wyoming

AUDIO = FILES[LONGEST].read_bytes()


def connect_from(address, port):
    return sockets.create_connection(("127.0.0.1", port), PATIENCE_S,
                                     source_address=(address, 0))


def upload(server, address="127.0.0.1", body=AUDIO, length=None):
    """Sends a recording, or the beginning of one; its reply is not read."""
    connection = connect_from(address, server.port)
    connection.sendall(b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                       % (length or len(body)) + body)
    return connection


def test_slow_bodies_keep_nobody_out():
    with Server("--max_uploads=2", "--upload_wait_s=300") as server, \
            contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(upload(server, "127.0.0.2", b"x", 1000000))
        server.wait_for(lambda now: now["runnel_streams"] == 20)
        answer = request(server.port, "/v1/recognize", "POST", AUDIO)
        assert answer.status == 200 and answer.json()["text"] == TEXTS[LONGEST]


def test_bodies_have_a_share_of_the_memory():
    with Server("--max_body_mb=1", "--max_bodies_mb=2") as server, \
            contextlib.ExitStack() as stack:
        size = 1 << 20
        slow = [stack.enter_context(upload(server, "127.0.0.2", bytes(size - 1), size))
                for _ in range(3)]
        # One of the three was refused, because together they are more than 2 MB.
        server.wait_for(lambda now: now["runnel_streams"] == 2)
        server.expect_rejections("uploads_full", 1)
        readable, _, _ = select.select(slow, [], [], PATIENCE_S)
        refused, _ = read_answer(readable[0])
        assert refused.status == 503 and refused.json()["error"]["code"] == "full"
        # Another address gets its share, at the cost of the one that holds most.
        answer = request(server.port, "/v1/recognize", "POST", AUDIO)
        assert answer.status == 200 and answer.json()["text"] == TEXTS[LONGEST]


def test_a_client_that_never_closes_holds_no_slot_and_no_end():
    with (Server("--handshake_timeout_s=1000", "--drain_timeout_s=1000") as server,
          web_socket(Target(server.port), "127.0.0.2") as socket):
        socket.send(attack_client.start() + attack_client.message(type="finish"))
        socket.receive_with(b'"final"')
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        server.signal()
        assert server.exit_code() == 0


def test_an_address_waits_for_its_connections_alone():
    at_once = 5
    with Server("--max_connection_rate=0.001", f"--max_connections_per_address={at_once}",
                "--admin_port=0") as server:
        for _ in range(at_once):
            with connect_from("127.0.0.2", server.port) as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                assert read_answer(connection)[0].status == 200
        with connect_from("127.0.0.2", server.port) as waiting:
            waiting.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert request(server.port, "/healthz").status == 200
            metrics = request(server.admin_port, "/metrics").body.decode()
            assert 'runnel_pauses_total{reason="connections"} 1' in metrics
            assert not select.select([waiting], [], [], 0)[0]


def ask(connection, address):
    """A request of the client of that address, from a proxy."""
    connection.sendall(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\n\r\n"
                       % address.encode())


def answer_to(connection, address):
    ask(connection, address)
    return read_answer(connection)[0]


def test_requests_of_a_proxy_that_wait_make_room():
    most, waiting = 8, []
    with Server("--trusted_proxy=127.0.0.1", f"--max_connections={most}", "--admin_port=0",
                "--max_connections_per_address=2", "--max_connection_rate=0.001") as server, \
            contextlib.ExitStack() as stack:
        def wait_for(line):
            retry(lambda: line in request(server.admin_port, "/metrics").body.decode().split("\n")
                  or None)

        for i in range(most):
            waiting.append(stack.enter_context(connect(server.port)))
            for _ in range(2):
                assert answer_to(waiting[i], f"10.0.0.{i}").status == 200
            ask(waiting[i], f"10.0.0.{i}")
            wait_for(f'runnel_pauses_total{{reason="connections"}} {i + 1}')
        for i in range(3):
            newcomer = stack.enter_context(connect(server.port))
            assert answer_to(newcomer, f"10.0.1.{i}").status == 200
            assert waiting[i].recv(1) == b""
        assert not select.select(waiting[3:], [], [], 0)[0]
        # One that is lost is noticed.
        waiting[3].setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, struct.pack("ii", 1, 0))
        waiting[3].close()
        wait_for(f"runnel_connections {most - 1}")


def test_requests_of_a_proxy_that_are_refused_do_not_wait():
    with Server("--trusted_proxy=127.0.0.1", "--max_connections_per_address=1",
                "--max_connection_rate=0.001") as server, \
            connect(server.port) as first, connect(server.port) as second:
        assert answer_to(first, "10.0.0.1").status == 200
        answer = answer_to(second, "10.0.0.1")
        assert answer.status == 503 and answer.json()["error"]["code"] == "address_full"


def test_a_full_server_ends_streams_without_audio_first():
    with (Server("--max_streams=3", "--start_timeout_s=0") as server,
          contextlib.ExitStack() as stack):
        idle = []
        for _ in range(3):
            connection = connect_from("127.0.0.2", server.port)
            stack.enter_context(connection)
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                               b"Connection: Upgrade\r\nSec-WebSocket-Key: "
                               b"dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
            assert read_answer(connection)[0].status == 101
            idle.append(connection)
        # At once, because this address has none.
        with server.open() as socket:
            assert b"the server is full" in idle[0].recv(1000)
            assert speak(socket, LONGEST) == TEXTS[LONGEST]
        server.expect_rejections("idle_timeout", 1)


def test_a_full_server_ends_utterances_without_audio_first():
    with Server("--wyoming_port=0", "--max_streams=1") as server, \
            Wyoming(server.wyoming_port) as idle:
        idle.start()
        server.wait_for(lambda now: now["runnel_streams"] == 1)
        with retry(lambda: open_if_there_is_room(server)) as socket:
            assert "the server is full" in idle.receive_until("error")[-1][1]["text"]
            assert speak(socket, LONGEST) == TEXTS[LONGEST]


def test_clients_that_do_not_close_hold_no_slot():
    with Server("--max_streams=2", "--start_timeout_s=1", "--handshake_timeout_s=300") as server, \
            contextlib.ExitStack() as stack:
        for _ in range(2):  # told to end, and deaf to it
            stack.enter_context(server.open())
        socket = retry(lambda: open_if_there_is_room(server))
        with socket:
            assert speak(socket, LONGEST) == TEXTS[LONGEST]


def test_connections_that_wait_make_room():
    with Server("--max_connections=10", "--header_timeout_s=300",
                "--max_connections_per_address=0") as server, contextlib.ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(connect(server.port))
        for _ in range(20):
            assert request(server.port, "/v1/models").status == 200


def test_a_stream_must_be_started():
    with Server("--start_timeout_s=1") as server:
        with server.open() as socket:
            assert "no stream was started" in socket.receive_json()["message"]
            assert socket.close_code() == 1008
        with server.open() as socket:
            start(socket)
            socket.send_json(type="ping")
            assert socket.receive_until("pong")
        # OpenAI's clients say nothing before somebody speaks.
        with server.open(target="/v1/realtime") as quiet, server.open() as socket:
            assert json.loads(quiet.receive())["type"].endswith("created")
            assert socket.receive_json()["code"] == "idle_timeout"
            quiet.send_json(type="input_audio_buffer.commit")
            assert json.loads(quiet.receive())["type"]
        server.expect_rejections("idle_timeout", 2)


def test_a_stream_must_have_audio():
    with Server("--silence_timeout_s=1", "--idle_timeout_s=100") as server:
        with server.open() as socket:
            start(socket)
            with pytest.raises(AssertionError, match="no audio for 1.0 s"):
                while True:
                    socket.send_json(type="ping")
                    socket.receive_until("pong")
            assert socket.close_code() == 1008


def test_one_ipv6_network_is_one_client():
    with Server("--max_streams_per_address=2", "--trusted_proxy=127.0.0.1") as server, \
            contextlib.ExitStack() as stack:
        for last in 1, 2:
            stack.enter_context(server.open(headers={"X-Forwarded-For": f"2001:db8::{last}"}))
        with pytest.raises(Refused) as refused:
            server.open(headers={"X-Forwarded-For": "2001:db8::ffff:3"})
        assert refused.value.code == "address_full"
        stack.enter_context(server.open(headers={"X-Forwarded-For": "2001:db8:0:1::1"}))
