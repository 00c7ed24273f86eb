"""Requests that two servers could read in two ways, TLS connections that end, few descriptors."""

import contextlib
import os
import ssl

import pytest

from server_process import FILES, LONGEST, TEXTS, Server, make_certificate, speak
from websocket_client import connect, read_answer, request

UPGRADE = (b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ")
POST = b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module", name="server")
def _server():
    with Server() as server:
        yield server


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
], ids=range(21))
def test_strictness(server, head, status):
    with connect(server.port) as connection:
        connection.sendall(head + b"\r\n")
        answer, _ = read_answer(connection)
        assert answer.status == status
        if status >= 400:
            assert answer.json()["error"]["code"] in ("bad_request", "not_found")


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
