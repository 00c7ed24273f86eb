"""Running stream_server: resuming streams, draining, TLS, bearer tokens."""

import functools
import json
import os
import re
import signal
import ssl
import subprocess

import pytest

from server_process import (FILES, LONGEST, TEXTS, Neighbour, Server, cut, make_certificate, pcm16,
                            samples_of, speak, start)
from tool_runner import DIGITS, FAILURE, error_line, run
from websocket_client import Closed, Refused, connect, request

SNAPSHOTS = ("--snapshot_interval_s=0.5", "--max_speed=0")


@pytest.fixture(scope="module", name="snapshot_folder")
def _snapshot_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("store") / "snapshots"


@pytest.fixture(scope="module", name="keeper")
def _keeper(snapshot_folder):
    """A server that stores snapshots in `snapshot_folder`, for all tests of one resume."""
    with Server(f"--snapshot_store={snapshot_folder}", *SNAPSHOTS) as server:
        yield server


def resume(server, token, **options):
    """A connection that continues a stream, and its "resumed" message."""
    socket = server.open()
    socket.send_json(type="resume", version=1, token=token, **options)
    return socket, socket.receive_until("resumed")


def test_store_that_cannot_be_reached_is_told_at_once():
    with Server("--snapshot_store=redis://127.0.0.1:1") as server:
        server.wait_for(lambda _: any("snapshot store: redis://127.0.0.1:1" in line
                                      for line in server.log))  # and serves all the same


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_resume_after_a_drop(tmp_path, search):
    samples, rate = samples_of(LONGEST)
    audio = pcm16(samples)
    store = f"--snapshot_store={tmp_path / 'snapshots'}"
    nbest = 2 if search == "beam" else 1
    with Server(store, *SNAPSHOTS) as first, Server(store, *SNAPSHOTS) as second:
        with first.open() as socket:
            start(socket, rate, resume=True, search=search, chunk_size=4, nbest=nbest)
            for piece in cut(audio[:len(audio) * 3 // 4], [3200]):
                socket.send_bytes(piece)
            snapshot = socket.receive_until("snapshot")
        first.process.kill()
        for goes_on in (False, True):  # a snapshot may be used again until there are two newer ones
            socket, resumed = resume(second, snapshot["token"], nbest=nbest)
            with socket:
                assert snapshot["samples"] <= resumed["samples"] <= len(samples)
                pieces = cut(audio[2 * resumed["samples"]:], [3200])
                for piece in pieces if goes_on else pieces[:4]:  # no newer snapshot
                    socket.send_bytes(piece)
                if not goes_on:
                    continue
                socket.send_json(type="finish")
                final = socket.receive_until("final")
                assert final["text"] == TEXTS[LONGEST]
                assert len(final["nbest"]) == nbest
                assert socket.close_code() == 1000
        assert second.metrics()['runnel_snapshots_total{result="resumed"}'] == 2
        assert first.process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("started, resumed, expected", [
    ({"nbest": 5}, {}, 5), ({"nbest": 5}, {"nbest": 2}, 2), ({}, {"nbest": 5}, 5), ({}, {}, 1)],
    ids=["as it was", "fewer", "more", "one"])
def test_nbest_of_a_resume(keeper, started, resumed, expected):
    samples, rate = samples_of(LONGEST)
    audio = pcm16(samples)
    with keeper.open() as socket:
        start(socket, rate, resume=True, search="beam", chunk_size=4, **started)
        socket.send_bytes(audio)
        token = socket.receive_until("snapshot")["token"]
    socket, message = resume(keeper, token, **resumed)
    with socket:
        socket.send_bytes(audio[2 * message["samples"]:])
        socket.send_json(type="finish")
        final = socket.receive_until("final")
        assert len(final["nbest"]) == expected
        assert final["text"] == final["nbest"][0]["text"] == TEXTS[LONGEST]


@pytest.mark.parametrize("chosen, limit, message", [
    ({"left_context": 256}, "--max_left_context=128",
     "left_context is 256, expected at most 128 on this server (--max_left_context)"),
    ({"search": "beam", "beam_size": 20}, "--max_beam_size=8",
     "beam_size is 20, expected at most 8 on this server (--max_beam_size)"),
    ({}, "--max_left_context=8",
     "left_context is 64, expected at most 8 on this server (--max_left_context)"),
    ({"left_context": 256}, "--max_left_context=256", None)])
def test_a_stream_beyond_the_limits_is_not_resumed(keeper, snapshot_folder, chosen, limit, message):
    with keeper.open() as socket:
        samples, rate = samples_of(LONGEST)
        start(socket, rate, resume=True, **chosen)
        socket.send_bytes(pcm16(samples))
        token = socket.receive_until("snapshot")["token"]
    with Server(f"--snapshot_store={snapshot_folder}", limit, *SNAPSHOTS) as other, \
            other.open() as socket:
        socket.send_json(type="resume", version=1, token=token)
        answer = socket.receive_json()
        if message:
            assert (answer["code"], answer["message"]) == ("bad_option", f"resume: {message}")
        else:
            assert answer["type"] == "resumed"


def test_resume_refused(keeper, snapshot_folder):
    samples, rate = samples_of(LONGEST)
    with keeper.open() as socket:
        start(socket, rate, resume=True)
        socket.send_bytes(pcm16(samples))
        token = socket.receive_until("snapshot")["token"]
    content = (snapshot_folder / token).read_bytes()
    middle = len(content) // 2
    changed = bytes([content[middle] ^ 1])
    # Of no stream that runs, which could store a newer snapshot.
    copy = "1" * 32
    kept = snapshot_folder / copy
    for damaged in [content[:-1], content[:middle] + changed + content[middle + 1:], b"",
                    b"runnel-session 9"]:
        kept.write_bytes(damaged)
        with keeper.open() as socket:
            socket.send_json(type="resume", version=1, token=copy)
            assert socket.receive_json()["code"] == "snapshot_invalid"
            assert socket.close_code() == 1008
    kept.write_bytes(content)
    with resume(keeper, copy)[0]:
        pass
    with keeper.open() as socket:
        socket.send_json(type="resume", version=1, token="0" * 32)
        assert socket.receive_json()["code"] == "snapshot_unknown"


def test_snapshots_are_forgotten_at_the_end(tmp_path):
    folder = tmp_path / "snapshots"
    with Server(f"--snapshot_store={folder}", *SNAPSHOTS) as server:
        for ending in "finish", "cancel":
            with server.open() as socket:
                samples, rate = samples_of(LONGEST)
                start(socket, rate, resume=True)
                socket.send_bytes(pcm16(samples))
                token = socket.receive_until("snapshot")["token"]
                assert ending == "finish" or (folder / token).exists()
                socket.send_json(type=ending)
                assert socket.close_code() == 1000
            # The store's threads do it when they come to it.
            server.wait_for(lambda _: not list(folder.iterdir()))
        assert server.metrics()['runnel_snapshots_total{result="stored"}'] >= 2


@pytest.mark.parametrize("variable, folder", [
    ("STATE_DIRECTORY", "snapshots"), ("XDG_RUNTIME_DIR", "runnel-snapshots"),
    ("TMPDIR", f"runnel-snapshots-{os.geteuid()}")])
def test_default_folder(tmp_path, variable, folder):
    environment = {"STATE_DIRECTORY": "", "XDG_RUNTIME_DIR": "", variable: str(tmp_path)}
    samples, rate = samples_of(LONGEST)
    with Server("--snapshot_store=", *SNAPSHOTS, environment=environment) as server:
        with server.open() as socket:
            assert start(socket, rate, resume=True)["resume"] is True
            socket.send_bytes(pcm16(samples))
            token = socket.receive_until("snapshot")["token"]
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700
        server.process.kill()
    with Server("--snapshot_store=", *SNAPSHOTS, environment=environment) as server:
        socket, resumed = resume(server, token)  # a restarted server has it still
        with socket:
            assert resumed["resume"] is True
            socket.send_bytes(pcm16(samples)[2 * resumed["samples"]:])
            socket.send_json(type="finish")
            assert socket.receive_until("final")["text"] == TEXTS[LONGEST]


def test_without_snapshots():
    with Server("--snapshot_store=none") as server:
        for is_wanted in False, True:
            with server.open() as socket:
                assert start(socket, resume=is_wanted)["resume"] is False
        with server.open() as socket:
            socket.send_json(type="resume", version=1, token="0" * 32)
            assert socket.receive_json()["code"] == "snapshot_unknown"


def test_drain():
    with Server() as server:
        neighbour = Neighbour(server)
        neighbour.go_on()
        server.signal(signal.SIGTERM)
        server.wait_for(lambda now: now["runnel_draining"] == 1)
        server.wait_for(lambda _: any(
            re.fullmatch(r"I\d{8} \d\d:\d\d:\d\d\.\d+ .*\] draining: 1 streams\n", line)
            for line in server.log))
        assert server.get("/readyz").status == 503 and server.get("/healthz").status == 200
        with pytest.raises(Refused) as refused:
            server.open()
        assert refused.value.status == 503 and refused.value.code == "draining"
        answer = request(server.port, "/v1/recognize", "POST", b"x")
        assert answer.json()["error"]["code"] == "draining"
        neighbour.finish()
        assert server.exit_code() == 0


def test_drain_without_streams():
    with Server() as server:
        with connect(server.port):  # who asks for nothing keeps nobody waiting
            server.signal(signal.SIGINT)
            assert server.exit_code() == 0


def test_drain_has_an_end(tmp_path):
    flags = (f"--snapshot_store={tmp_path / 'snapshots'}", "--drain_timeout_s=0.2",
             "--snapshot_interval_s=1000")
    samples, rate = samples_of(LONGEST)
    with Server(*flags) as server, server.open() as plain, server.open() as kept:
        start(plain, rate)
        start(kept, rate, resume=True)
        for socket in plain, kept:
            socket.send_bytes(pcm16(samples))
            socket.receive_until("partial")
        server.signal()
        assert socket_error(plain) == ([], "draining", 1013)
        kinds, code, close = socket_error(kept)
        assert kinds == ["snapshot"] and (code, close) == ("draining", 1013)
        assert server.exit_code() == 0


def socket_error(socket):
    """What came before the error but for partials, the error's code, the close code."""
    kinds = []
    while True:
        message = socket.receive_json()
        if message["type"] == "error":
            return kinds, message["code"], socket.close_code()
        if message["type"] != "partial":
            kinds.append(message["type"])


def test_second_signal():
    with Server() as server, server.open() as socket:
        start(socket)
        server.signal()
        server.wait_for(lambda now: now["runnel_draining"] == 1)
        server.signal()
        assert server.exit_code() == 1
        with pytest.raises(Closed):
            socket.receive()


@pytest.fixture(scope="module", name="certificate")
def _certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))


def test_tls(certificate):
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    with Server(f"--tls_certificate={certificate[0]}", f"--tls_key={certificate[1]}",
                "--handshake_timeout_s=3") as server:
        assert server.url.startswith("https://")

        def rejections():
            body = request(server.port, "/metrics", tls=trusting).body.decode()
            return next(float(line.split()[-1]) for line in body.splitlines()
                        if line.startswith('runnel_rejections_total{reason="tls_handshake"}'))

        with server.open(tls=trusting) as neighbour:
            samples, rate = samples_of(LONGEST)
            start(neighbour, rate)
            garbage = [b"GET / HTTP/1.1\r\n\r\n", bytes(5000), b"\x16\x03\x01\xff\xff" * 1000,
                       b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(600)]
            for piece in garbage:
                with connect(server.port) as connection:
                    try:
                        connection.sendall(piece)
                        while connection.recv(4096):
                            pass
                    except ConnectionResetError:
                        pass
            with connect(server.port) as connection:  # not a byte
                assert connection.recv(100) == b""
            assert rejections() >= len(garbage)
            old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            old.load_verify_locations(certificate[0])
            old.maximum_version = ssl.TLSVersion.TLSv1_1
            with pytest.raises((ssl.SSLError, ConnectionResetError)):
                connect(server.port, old)
            neighbour.send_bytes(pcm16(samples))
            neighbour.send_json(type="finish")
            assert neighbour.receive_until("final")["text"] == TEXTS[LONGEST]
            assert neighbour.close_code() == 1000
        server.signal()
        assert server.exit_code() == 0


def test_keys_that_cannot_be_used(certificate, tmp_path):
    encrypted = tmp_path / "encrypted.pem"
    subprocess.run(["openssl", "rsa", "-aes256", "-passout", "pass:secret", "-in", certificate[1],
                    "-out", encrypted], check=True, capture_output=True)
    other = tmp_path / "other.pem"
    subprocess.run(["openssl", "genrsa", "-out", other, "2048"], check=True, capture_output=True)
    for chain, key, message in [
            (certificate[0], encrypted, f"{encrypted}: the key is encrypted"),
            (certificate[0], other, f"{other}: no private key in PEM for the certificate"),
            (certificate[0], tmp_path / "no", f"{tmp_path / 'no'}: No such file or directory"),
            (tmp_path / "no", certificate[1], f"{tmp_path / 'no'}: No such file or directory"),
            (certificate[1], certificate[1], f"{certificate[1]}: cannot be read as a certificate")]:
        done = run("stream_server", f"--model={DIGITS / 'digits.pt'}", f"--tls_key={key}",
                   f"--tls_certificate={chain}", "--port=0")
        assert message in error_line(done, FAILURE)


def test_bearer_token(tmp_path):
    (tmp_path / "token").write_text("s3cret/+ \n")
    with Server(f"--bearer_token_file={tmp_path / 'token'}") as server:
        for options in [{}, {"headers": {"Authorization": "Bearer s3cret"}},
                        {"headers": {"Authorization": "Basic s3cret/+"}},
                        {"target": "/v1/stream?token=wrong"}]:
            with pytest.raises(Refused) as refused:
                server.open(**options)
            assert refused.value.status == 401 and refused.value.code == "unauthorized"
        for options in [{"headers": {"Authorization": "Bearer s3cret/+"}},
                        {"headers": {"authorization": "bearer s3cret/+"}},
                        {"target": "/v1/stream?x=1&token=s3cret%2F%2B"}]:
            with server.open(**options) as socket:
                assert speak(socket, LONGEST) == TEXTS[LONGEST]
        assert request(server.port, "/v1/recognize", "POST", b"").status == 401
        assert server.get("/healthz").status == server.get("/").status == 200
        server.expect_rejections("unauthorized", 5)


def reload(server, result="read"):
    """Has the server read its files again; they are in use when this returns."""
    series = f'runnel_reloads_total{{result="{result}"}}'
    before = server.metrics()[series]
    server.signal(signal.SIGHUP)
    server.wait_for(lambda now: now[series] == before + 1)


def unverified():
    """TLS with any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def test_a_renewed_certificate_is_used_for_new_connections(tmp_path):
    renewed, grown = tmp_path / "renewed", tmp_path / "used"
    for folder in renewed, grown:
        folder.mkdir()
        make_certificate(folder)
    chain, key = grown / "certificate.pem", grown / "key.pem"
    trusting = ssl.create_default_context(cafile=str(chain))
    trusting_new = ssl.create_default_context(cafile=str(renewed / "certificate.pem"))
    with Server(f"--tls_certificate={chain}", f"--tls_key={key}", "--grpc_port=0") as server:
        server.metrics = functools.partial(server.metrics, tls=unverified())
        expiry = server.metrics()["runnel_certificate_expiry_seconds"]
        assert expiry > 0
        samples, rate = samples_of(LONGEST)
        with server.open(tls=trusting) as running:
            start(running, rate)
            running.send_bytes(pcm16(samples[:len(samples) // 2]))
            key.write_bytes((renewed / "key.pem").read_bytes())
            reload(server, "kept")  # the key of another certificate
            server.wait_for(lambda _: any(
                f"SIGHUP: everything stays as it is: {key}: no private key in PEM" in line
                for line in server.log))
            connect(server.port, trusting).close()
            chain.write_bytes((renewed / "certificate.pem").read_bytes())
            reload(server)
            for port in server.port, server.grpc_port:
                context = ssl.create_default_context(cafile=str(renewed / "certificate.pem"))
                context.set_alpn_protocols(["h2"] if port == server.grpc_port else ["http/1.1"])
                connect(port, context).close()
                with pytest.raises(ssl.SSLCertVerificationError):
                    connect(port, trusting)
            running.send_bytes(pcm16(samples[len(samples) // 2:]))
            running.send_json(type="finish")
            assert running.receive_until("final")["text"] == TEXTS[LONGEST]
            assert running.close_code() == 1000
        with server.open(tls=trusting_new) as socket:
            assert speak(socket, LONGEST) == TEXTS[LONGEST]


def test_a_token_and_lists_are_read_again(tmp_path):
    token, hotwords = tmp_path / "token", tmp_path / "hotwords"
    token.write_text("first")
    hotwords.write_text("two\n")
    flags = f"--bearer_token_file={token}", f"--hotwords={hotwords}", "--search=beam"
    with Server(*flags) as server:
        def is_accepted(secret):
            answer = request(server.port, f"/v1/recognize?token={secret}", "POST",
                             FILES[LONGEST].read_bytes())
            assert answer.status in (200, 401)
            return answer.status == 200

        with server.open("/v1/stream?token=first") as running:
            samples, rate = samples_of(LONGEST)
            start(running, rate)
            for lists, secret, result in [("no, such, \0 word\n", "second", "kept"),
                                          ("three\n", "", "kept"), ("three\n", "second", "read")]:
                hotwords.write_text(lists)
                token.write_text(secret)
                reload(server, result)
                assert is_accepted("first") == (result == "kept")
                assert is_accepted("second") == (result == "read")
            os.remove(token)
            reload(server, "kept")
            server.wait_for(lambda _: any(
                f"{token}: cannot open: No such file or directory" in line for line in server.log))
            assert is_accepted("second")
            running.send_bytes(pcm16(samples))
            running.send_json(type="finish")
            assert running.receive_until("final")["text"] == TEXTS[LONGEST]


def test_reloads_of_a_slow_file_hold_up_nobody(tmp_path):
    hotwords = tmp_path / "hotwords"
    hotwords.write_text("two\n")
    series = 'runnel_reloads_total{result="read"}'
    with Server(f"--hotwords={hotwords}", "--search=beam") as server:
        os.remove(hotwords)
        os.mkfifo(hotwords)
        server.signal(signal.SIGHUP)
        for num_reloads in 1, 2:
            with open(hotwords, "w", encoding="utf-8") as slow:  # returns when it is being read
                for _ in range(5):
                    server.signal(signal.SIGHUP)
                    assert server.metrics()[series] == num_reloads - 1
                answer = request(server.port, "/v1/recognize", "POST", FILES[LONGEST].read_bytes())
                assert answer.status == 200
                slow.write("three\n")
            server.wait_for(lambda now, count=num_reloads: now[series] == count)


def test_hotwords_of_new_streams_are_the_renewed_ones(tmp_path):
    hotwords = tmp_path / "hotwords"
    hotwords.write_text("two :0.1\n")

    def text(server):
        answer = request(server.port, "/v1/recognize", "POST", FILES["ked_year"].read_bytes())
        return answer.json()["text"]

    with Server(f"--hotwords={hotwords}", "--search=beam") as server:
        assert text(server) == TEXTS["ked_year"]
        hotwords.write_text("nine :30\n")  # so much that it is found everywhere
        reload(server)
        assert "nine" in text(server)


def test_log_is_one_line_per_event(tmp_path):
    with Server() as server:
        with server.open() as socket:
            socket.send_text("{\n\x1b[31mnot for the log")
            assert json.loads(socket.receive())["code"] == "bad_json"
        server.signal()
        assert server.exit_code() == 0
    assert not any("not for the log" in line or "\x1b" in line for line in server.log)


def test_log_of_many_failures():
    """Few lines of a kind, which tell how many more there were, in characters that are shown."""
    count = 300
    bad = {"type": "start", "version": 1, "\u202e\u009b31m" * 100: 1}
    with Server() as server:
        for _ in range(count):
            with server.open() as socket:
                socket.send_json(**bad)
                assert json.loads(socket.receive())["code"] == "bad_option"
        server.signal()
        assert server.exit_code() == 0
    lines = [line for line in server.log if "stream ended with bad_option" in line]
    left_out = sum(int(found[1]) for line in lines
                   if (found := re.search(r"(\d+) more lines were left out", line)))
    shown = [line for line in lines if "does not know" in line or "..." in line]
    assert len(shown) + left_out == count and len(shown) < count / 2
    assert not any(char in "".join(server.log) for char in "\u202e\u009b")


def test_messages_are_not_cut_at_a_nul():
    with Server() as server:
        for target in "/v1/recognize?language=%00%ff", "/v1/recognize?%00%ff=1":
            answer = request(server.port, target, "POST", FILES[LONGEST].read_bytes())
            assert answer.status == 400
            message = json.loads(answer.body)["error"]["message"]
            assert r"'\x00" in message and "expected" in message
