"""Requests that two servers could read in two ways, clients that end first, few descriptors."""

import base64
import contextlib
import os
import socket as sockets
import ssl

import pytest

from server_process import (FILES, LONGEST, TEXTS, Server, make_certificate, pcm16, samples_of,
                            speak)
from websocket_client import Closed, connect, read_answer, request

UPGRADE = (b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ")
POST = b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module", name="server")
def _server():
    with Server() as server:
        yield server


@pytest.fixture(scope="module", name="protected")
def _protected(tmp_path_factory):
    certificate, key = make_certificate(tmp_path_factory.mktemp("tls"))
    with Server(f"--tls_certificate={certificate}", f"--tls_key={key}") as server:
        yield server, ssl.create_default_context(cafile=str(certificate))


@pytest.mark.parametrize("head, status", [
    (b"GET / HTTP/1.1\r\n", 400),
    (b"GET / HTTP/1.0\r\n", 200),
    (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n", 400),
    (b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n", 400),
    (POST + b"Transfer-Encoding: gzip, chunked\r\n", 501),
    (POST + b"Transfer-Encoding: xchunked\r\n", 501),
    (POST + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", 501),
    (b"POST /v1/recognize HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", 400),
    (POST + b"Content-Encoding: gzip\r\nContent-Length: 1\r\n", 415),
    (UPGRADE + b"x\r\n", 400),
    (UPGRADE + b"dGhlIHNhbXBsZSBub25jZQ=\r\n", 400),
    (UPGRADE + b"dGhlIHNhbXBsZSBub25jZQ==\r\n", 101),
    (b"GET http://x/healthz HTTP/1.1\r\nHost: x\r\n", 200),
    (b"GET http://x HTTP/1.1\r\nHost: x\r\n", 200),
    (b"GET http://x/nothing?y HTTP/1.1\r\nHost: x\r\n", 404),
    (b"GET HTTPS://X:80/healthz?y HTTP/1.1\r\nHost: x:80\r\n", 200),
    (b"GET http://x/healthz HTTP/1.0\r\n", 200),
    (b"GET http://x/healthz HTTP/1.1\r\n", 400),
    (b"GET http://x/healthz HTTP/1.1\r\nHost: y\r\n", 200),
    (b"GET http://x/healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n", 400),
    (UPGRADE.replace(b" / ", b" http://x/vosk ") + b"dGhlIHNhbXBsZSBub25jZQ==\r\n", 101),
] + [
    (UPGRADE.replace(before, after) + b"dGhlIHNhbXBsZSBub25jZQ==\r\n", 101)
    for before, after in [  # a list on several lines
        (b"Connection: ", b"Connection: keep-alive\r\nConnection: "),
        (b"Connection: Upgrade", b"Connection: Upgrade\r\nConnection: keep-alive"),
        (b"Connection: ", b"Connection: a, b\r\nCONNECTION:\r\nconnection: c,"),
        (b"Upgrade: ", b"Upgrade: h2c\r\nUpgrade: ")]
] + [
    (POST + b"Content-Encoding: identity\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n", 415),
    (POST + b"Expect: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n", 100),
    (b"POST /v1/recognize HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 0\r\n", 400),
], ids=range(28))
def test_strictness(server, head, status):
    with connect(server.port) as connection:
        connection.sendall(head + b"\r\n")
        answer, _ = read_answer(connection)
        assert answer.status == status
        if status >= 400:
            assert answer.json()["error"]["code"] in ("bad_request", "bad_message", "not_found")


def form_of(audio):
    return (b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n" +
            audio + b"\r\n--b--\r\n")


@pytest.mark.parametrize("path", [
    "/v1/audio/transcriptions/", "/audio/transcriptions", "/openai/v1/audio/transcriptions",
    "/openai/deployments/digits/audio/transcriptions?api-version=2025-03-01-preview"])
def test_base_urls_of_clients(server, path):
    answer = request(server.port, path, "POST", form_of(FILES[LONGEST].read_bytes()),
                     headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert answer.status == 200 and answer.json()["text"] == TEXTS[LONGEST]


def test_lists_of_models_and_translations(server):
    for path in "/v1/models", "/models/", "/openai/v1/models":
        assert request(server.port, path).json()["data"][0]["id"] == "digits"
    assert request(server.port, "/openai/v1/models/digits").json()["id"] == "digits"
    answer = request(server.port, "/openai/v1/audio/translations", "POST", form_of(b"x"))
    assert answer.status == 404 and "does not translate" in answer.json()["error"]["message"]


def test_the_key_of_azure_clients(tmp_path):
    (tmp_path / "token").write_text("s3cret")
    with Server(f"--bearer_token_file={tmp_path / 'token'}") as server:
        for path, key, status in [("/openai/models", "s3cret", 200), ("/openai/models", "x", 401),
                                  ("/openai/models", "", 401), ("/v1/recognize", "s3cret", 401)]:
            method = "POST" if path == "/v1/recognize" else "GET"
            answer = request(server.port, path, method, headers={"api-key": key})
            assert answer.status == status, path


def test_http_to_the_port_of_tls_is_told(tmp_path):
    certificate, key = make_certificate(tmp_path)
    with Server(f"--tls_certificate={certificate}", f"--tls_key={key}") as server:
        for head in b"GET /healthz HTTP/1.1\r\nHost: x\r\n", POST + b"Content-Length: 9\r\n":
            with connect(server.port) as connection:
                connection.sendall(head + b"\r\n")
                answer, _ = read_answer(connection)
                assert answer.status == 400
                assert answer.body == b"this port expects TLS, as in https:// or wss://\r\n"
                assert connection.recv(1) == b""


def test_the_end_of_a_tls_connection_is_told(tmp_path):
    certificate, key = make_certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with Server(f"--tls_certificate={certificate}", f"--tls_key={key}") as server:
        raw = connect(server.port)
        with trusting.wrap_socket(raw, server_hostname="localhost",
                                  suppress_ragged_eofs=False) as connection:
            connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            answer, rest = read_answer(connection)
            assert answer.status == 200
            assert rest + connection.recv(100) == b""  # close_notify: no exception


def runnel(socket):
    socket.send_json(type="start", version=1, sample_rate=16000)
    socket.send_bytes(AUDIO)
    socket.send_json(type="finish")


def vosk(socket):
    socket.send_json(config={"sample_rate": 16000})
    socket.send_bytes(AUDIO)
    socket.send_json(eof=1)


def deepgram(socket):
    socket.send_bytes(AUDIO)
    socket.send_json(type="CloseStream")


def deepgram_finalize(socket):
    socket.send_bytes(AUDIO)
    socket.send_json(type="Finalize")


def deepgram_container(socket):
    socket.send_bytes(FILES[NAME].read_bytes())
    socket.send_json(type="CloseStream")


def sherpa(socket):
    socket.send_bytes(samples_of(NAME)[0].astype("<f4").tobytes())
    socket.send_text("Done")


def wenet(socket):
    socket.send_json(signal="start")
    socket.send_bytes(AUDIO)
    socket.send_json(signal="end")


def openai(socket):
    socket.send_json(type="session.update", session={
        "type": "transcription", "audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000},
                                                     "turn_detection": None}}})
    socket.send_json(type="input_audio_buffer.append", audio=base64.b64encode(AUDIO).decode())
    socket.send_json(type="input_audio_buffer.commit")


NAME = "ked_year"  # at 16 kHz
AUDIO = pcm16(samples_of(NAME)[0])


@pytest.mark.parametrize("has_tls", [False, True])
@pytest.mark.parametrize("target, talk", [
    ("/v1/stream", runnel), ("/vosk", vosk), ("/", sherpa), ("/", wenet),
    ("/v1/listen?encoding=linear16&sample_rate=16000", deepgram),
    ("/v1/listen?encoding=linear16&sample_rate=16000", deepgram_finalize),
    ("/v1/listen", deepgram_container), ("/v1/realtime?model=digits", openai)])
def test_a_client_that_closes_its_side_gets_its_text(server, protected, target, talk, has_tls):
    used, tls = protected if has_tls else (server, None)
    with used.open(target, tls=tls) as socket:
        talk(socket)
        # TLS of Python has no half-close. This one does not tell the end by TLS.
        sockets.socket.shutdown(socket.socket, sockets.SHUT_WR)
        text = ""
        try:
            while True:
                text += socket.receive()
        except Closed as closed:
            assert closed.code == 1000
        assert TEXTS[NAME] in text


def test_a_client_that_is_paused_may_close_its_side(server):
    """The server reads its last message only when there is room for its audio."""
    with server.open() as socket:
        socket.send_json(type="start", version=1, sample_rate=16000)
        for _ in range(30):
            socket.send_bytes(AUDIO)
        socket.send_json(type="finish")
        sockets.socket.shutdown(socket.socket, sockets.SHUT_WR)
        assert TEXTS[NAME] in socket.receive_until("final")["text"]
        assert socket.close_code() == 1000


def test_a_client_that_closes_without_an_end_is_lost(server):
    with server.open() as socket:
        socket.send_json(type="start", version=1, sample_rate=16000)
        socket.send_bytes(AUDIO)
        sockets.socket.shutdown(socket.socket, sockets.SHUT_WR)
        with pytest.raises(Closed) as closed:
            socket.receive_until("final")
        assert closed.value.code == 1006
    server.wait_for(lambda now: now["runnel_streams"] == 0)


def test_few_descriptors():
    with Server("--max_connections_per_address=0", max_files=100) as server, \
            contextlib.ExitStack() as stack:
        server.wait_for(lambda _: any("only 100 open files are allowed: 50 connections at once"
                                      in line for line in server.log))
        for _ in range(300):
            stack.enter_context(connect(server.port))
        assert server.get("/healthz").status == 200
        stack.close()
        server.wait_for(lambda now: now["runnel_connections"] == 1)
        with server.open() as socket:
            assert speak(socket, LONGEST) == TEXTS[LONGEST]


@pytest.mark.parametrize("mode, is_told", [(0o600, False), (0o640, False), (0o644, True)])
def test_a_token_that_everybody_may_read(tmp_path, mode, is_told):
    token = tmp_path / "token"
    token.write_text("secret")
    os.chmod(token, mode)
    with Server(f"--bearer_token_file={token}") as server:
        server.signal()
        assert server.exit_code() == 0
    assert any("expected mode 600" in line for line in server.log) == is_told
