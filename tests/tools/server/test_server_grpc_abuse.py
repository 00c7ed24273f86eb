"""What clients may do to the gRPC port of stream_server, in frames of HTTP/2 of their own."""

import contextlib
import pathlib
import queue
import re
import resource
import select
import socket
import struct

import pytest

from riva_client import SERVICE, SERVING, Client, final_text, refusal, riva_stubs
from server_process import (FILES, LONGEST, SMALL_QUARANTINE, TEXTS, Server, open_if_there_is_room,
                            retry, speak)
from tool_runner import without_sanitizers
from websocket_client import PATIENCE_S, request

assert riva_stubs  # the fixture "riva"

ATTACKER = "127.0.0.2"  # another address than that of the honest clients
DATA, HEADERS, RESET, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4
MIB = 1 << 20
UPLOAD_TIMEOUTS = 'runnel_rejections_total{reason="upload_timeout"}'
# After so long a time without room for another byte, the server has stopped reading.
BLOCKED_S = 0.5


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return (struct.pack("!I", len(content))[1:] + bytes([kind, flags])
            + struct.pack("!I", stream) + content)


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)


def literal(name: bytes, value: bytes) -> bytes:
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call_of(path: str, **metadata: bytes) -> bytes:
    """The header of a call."""
    fields = {b":method": b"POST", b":scheme": b"http", b":authority": b"x",
              b":path": path.encode(), b"content-type": b"application/grpc", b"te": b"trailers",
              **{name.replace("_", "-").encode(): value for name, value in metadata.items()}}
    return b"".join(literal(name, value) for name, value in fields.items())


CONFIG = f"/{SERVICE}/GetRivaSpeechRecognitionConfig"
STREAMING = f"/{SERVICE}/StreamingRecognize"
CALL = call_of(STREAMING)


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.grpc_port), timeout=PATIENCE_S,
                                    source_address=(ATTACKER, 0))


def resident(server: Server) -> int:
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) << 10


def send_until_blocked(connection: socket.socket, data: bytes) -> int:
    """The number of bytes that the server has taken."""
    sent = 0
    connection.setblocking(False)
    while sent < len(data) and select.select([], [connection], [], BLOCKED_S)[1]:
        try:
            sent += connection.send(data[sent:sent + 65536])
        except ConnectionError:
            break
    connection.settimeout(PATIENCE_S)
    return sent


def is_open(connection: socket.socket) -> bool:
    """Whether the server greets: the connection has become one of gRPC."""
    try:
        connection.sendall(PREFACE)
        return connection.recv(1) != b""
    except ConnectionError:
        return False


def expect_end(connection: socket.socket) -> None:
    with contextlib.suppress(ConnectionError):
        while connection.recv(65536):
            pass


def test_calls_that_are_reset(riva):
    """gRPC frees them later than clients can open new ones: it gets no more than it can free."""
    resets = b"".join(frame(HEADERS, END_HEADERS, stream, CALL)
                      + frame(RESET, 0, stream, struct.pack("!I", 8))
                      for stream in range(1, 200001, 2))
    with Server("--grpc_port=0", environment=SMALL_QUARANTINE) as server, \
            Client(server, riva) as client:
        assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "
        before = resident(server)
        with contextlib.ExitStack() as stack:
            for _ in range(4):
                attacker = stack.enter_context(connect(server))
                attacker.sendall(PREFACE)
                assert send_until_blocked(attacker, resets) < len(resets)
            assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "
            assert client.health("") == SERVING
        assert resident(server) - before < 64 * MIB
        assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "


def test_messages_that_do_not_arrive_make_room(riva):
    """gRPC would keep their parts, without a token: the connection that holds most is closed."""
    unfinished = b"".join(frame(HEADERS, END_HEADERS, stream, CALL)
                          + frame(DATA, 0, stream, struct.pack("!BI", 0, 15 * MIB))
                          for stream in (1, 3, 5, 7, 9))
    flags = "--grpc_port=0", "--max_body_mb=16", "--max_bodies_mb=64"
    with Server(*flags) as server, Client(server, riva) as client:
        with connect(server) as attacker:
            attacker.sendall(PREFACE + unfinished)
            expect_end(attacker)
        server.wait_for(lambda _: server.rejections("uploads_full")
                        + server.rejections("bad_request") >= 1)
        assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "


def test_connections_are_bounded(riva):
    flags = "--grpc_port=0", "--max_connections=30", "--max_connections_per_address=20"
    with Server(*flags) as server, Client(server, riva) as client:
        assert client.health("") == SERVING
        with contextlib.ExitStack() as stack:
            attackers = [stack.enter_context(connect(server)) for _ in range(60)]
            assert sum(map(is_open, attackers)) == 20
            assert server.get("/healthz").status == 200
            assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "
            with Client(server, riva) as another:
                assert another.health("") == SERVING
        server.expect_rejections("address_connections_full", 40)
        server.wait_for(lambda now: now["runnel_connections"] <= 2)
        with connect(server) as again:
            assert is_open(again)


@pytest.mark.parametrize("path", [CONFIG, STREAMING, "/grpc.health.v1.Health/Check"])
def test_connections_whose_calls_say_nothing_make_room(path):
    flags = "--max_connections=6", "--max_connections_per_address=0", "--start_timeout_s=0"
    with Server("--grpc_port=0", *flags) as server, contextlib.ExitStack() as stack:
        for _ in range(6):
            attacker = stack.enter_context(connect(server))
            attacker.sendall(PREFACE + frame(HEADERS, END_HEADERS, 1, call_of(path)))
            assert attacker.recv(1)
        retry(lambda: request(server.port, "/v1/models").status == 200 or None)
        server.wait_for_rejections("idle_timeout", 1)


def test_a_recording_that_arrives_does_not_vouch_for_others():
    """Also when the others claim to be that recording."""
    recognize = call_of(f"/{SERVICE}/Recognize", runnel_http2_stream=b"1")
    begin = PREFACE + b"".join(frame(HEADERS, END_HEADERS, stream, recognize)
                               for stream in (1, 3, 5, 7, 9))
    piece = frame(DATA, 0, 1, bytes(8192))
    with Server("--grpc_port=0", "--max_streams=5") as server, connect(server) as attacker:
        attacker.sendall(begin + frame(DATA, 0, 1, struct.pack("!BI", 0, 16 * MIB)))
        server.wait_for(lambda now: now["runnel_streams"] == 5)

        def attempt():
            attacker.sendall(piece)
            return open_if_there_is_room(server)
        with retry(attempt, pause_s=1) as socket:
            server.wait_for(lambda now: now[UPLOAD_TIMEOUTS] == 4)
            assert speak(socket, LONGEST) == TEXTS[LONGEST]


@without_sanitizers  # the sanitizer for undefined behaviour needs descriptors to look at a vtable
@pytest.mark.parametrize("free", [0, 1, 2])
def test_connections_without_descriptors(riva, free):
    """A connection takes three: those that cannot be served end, and later ones are served."""
    with Server("--grpc_port=0") as server:
        pid = server.process.pid
        usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        taken = {int(entry.name) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
        first_free = min(set(range(len(taken) + 1)) - taken)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (first_free + free, usual[1]))
        for _ in range(5):
            with connect(server) as client:
                expect_end(client)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
        with Client(server, riva) as client:
            assert client.health("") == SERVING
            assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "


@pytest.mark.parametrize("size", [0, 1000])
def test_a_header_without_end(riva, size):
    part = frame(CONTINUATION, 0, 1, literal(b"a", b"b" * 90) * (size // 100))
    with Server("--grpc_port=0") as server, Client(server, riva) as client:
        with connect(server) as attacker:
            attacker.sendall(PREFACE + frame(HEADERS, 0, 1, CALL))
            send_until_blocked(attacker, part * 100000)
            expect_end(attacker)
        server.expect_rejections("bad_request", 1)
        assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "


def test_other_protocols():
    with Server("--grpc_port=0", "--header_timeout_s=0.5") as server:
        for sent in b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02", b"PRI * HTTP/2.0\r\n", b"":
            with connect(server) as client:
                client.sendall(sent)
                expect_end(client)
        server.expect_rejections("bad_request", 2)
        server.expect_rejections("header_timeout", 2)


def test_recordings_that_do_not_arrive(riva):
    """They hold no place that others need, and end."""
    with Server("--grpc_port=0", "--max_uploads=2") as server, Client(server, riva) as client:
        never = queue.Queue()
        recognize = client.channel.stream_unary(
            "/nvidia.riva.asr.RivaSpeechRecognition/Recognize")
        calls = [recognize.future(iter(never.get, None), timeout=PATIENCE_S) for _ in range(10)]
        server.wait_for(lambda now: now["runnel_streams"] == 10)
        answer = request(server.port, "/v1/recognize", "POST", FILES[LONGEST].read_bytes())
        assert answer.status == 200
        response = client.stub.Recognize(riva.asr.RecognizeRequest(
            audio=FILES[LONGEST].read_bytes()), timeout=PATIENCE_S)
        assert response.results[0].alternatives[0].transcript == TEXTS[LONGEST] + " "
        for call in calls:
            assert refusal(call.result) == ("DEADLINE_EXCEEDED", "the request does not arrive")
        server.expect_rejections("upload_timeout", 10)
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        for _ in calls:
            never.put(None)


def frames(stream: bytes):
    """Type, flags and number of the stream of each frame."""
    while stream:
        size = int.from_bytes(stream[:3], "big")
        yield stream[3], stream[4], int.from_bytes(stream[5:9], "big")
        stream = stream[9 + size:]


def test_a_client_that_goes_away_gets_the_end():
    """Its connection ends then, and not before."""
    call = frame(HEADERS, END_HEADERS, 1, call_of(CONFIG)) + frame(DATA, END_STREAM, 1, bytes(5))
    with Server("--grpc_port=0") as server, connect(server) as client:
        client.sendall(PREFACE + call + frame(GOAWAY, 0, 0, bytes(8))
                       + frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1") * 50)
        received = b""
        while piece := client.recv(65536):
            received += piece
        assert any(kind == HEADERS and flags & END_STREAM and stream == 1
                   for kind, flags, stream in frames(received))


def test_a_client_behind_a_proxy_has_its_own_address(riva):
    """The proxy's connections carry calls of many clients."""
    with Server("--grpc_port=0", "--max_streams_per_address=1",
                "--trusted_proxy=127.0.0.1,::1") as server, Client(server, riva) as client:
        calls = [client.call(metadata=[("x-forwarded-for", f"10.0.0.{i}")]) for i in range(150)]
        for call in calls:
            call.send(*riva.of_sample("diogo_one_word"), None)
        for call in calls:
            assert final_text(call.responses) == "seven "
