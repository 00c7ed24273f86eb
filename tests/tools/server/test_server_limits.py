"""Every limit of stream_server: what is refused, how, and what goes on all the same."""

import contextlib
import io
import json
import socket as sockets

import numpy as np
import pytest
import soundfile

from server_process import (FILES, LONGEST, SLOW, SMALL_QUARANTINE, TEXTS, Neighbour, Server, cut,
                            long_recording, pcm16, samples_of, speak, start)
from tool_runner import DIGITS, succeed
from websocket_client import PATIENCE_S, Refused, connect, read_answer, request


@pytest.fixture(scope="module", name="small")
def _small():
    """A server whose requests, messages and options are limited, for all tests of these limits."""
    with Server("--max_body_mb=1", "--max_message_bytes=10000", "--max_left_context=64",
                "--max_beam_size=4") as server:
        yield server


@pytest.fixture(scope="module", name="short")
def _short():
    """The same for recordings and results; with snapshots."""
    with Server("--max_recording_s=5", "--max_sample_rate=16000", "--max_nbest=3",
                "--snapshot_store=") as server:
        yield server


def refusal(server, **options):
    with pytest.raises(Refused) as refused:
        server.open(**options)
    return refused.value


def test_full():
    with Server("--max_streams=2") as server:
        with server.open() as first, server.open() as second:
            for socket in first, second:
                start(socket)
                socket.send_bytes(bytes(640))
                socket.send_json(type="ping")
                socket.receive_until("pong")  # the audio is there
            refused = refusal(server)
            assert refused.status == 503 and refused.code == "full"
            assert int(refused.headers["retry-after"]) > 0
            assert server.get("/readyz").status == 503 and server.get("/healthz").status == 200
            answer = request(server.port, "/v1/recognize", "POST", b"x")
            assert answer.status == 503 and answer.json()["error"]["code"] == "full"
            server.expect_rejections("full", 2)
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        assert server.get("/readyz").status == 200
        with server.open() as socket:
            assert speak(socket, LONGEST) == TEXTS[LONGEST]


def test_streams_per_address_behind_a_proxy():
    with Server("--max_streams_per_address=1", "--trusted_proxy=127.0.0.1") as server:
        headers = {"X-Forwarded-For": "10.1.1.1, 10.2.2.2"}
        with server.open(headers=headers):
            refused = refusal(server, headers={"X-Forwarded-For": "8.8.8.8, 10.2.2.2"})
            assert refused.status == 503 and refused.code == "address_full"
            # Some proxies add the port of the connection, which is another one each time.
            for same in "10.2.2.2:4321", "[::ffff:10.2.2.2]:80":
                assert refusal(server, headers={"X-Forwarded-For": same}).code == "address_full"
            with server.open(headers={"X-Forwarded-For": "10.4.4.4:1"}):
                with server.open(headers={"X-Forwarded-For": "10.5.5.5:2"}):
                    pass
            with server.open(headers={"X-Forwarded-For": "10.1.1.1"}), server.open():
                assert refusal(server).code == "address_full"
        # Proxies may add a line of their own: the last entry of the last line counts.
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        lines = "10.1.1.1\r\nX-Forwarded-For: 10.2.2.2, {}".format
        with server.open(headers={"X-Forwarded-For": lines("127.0.0.1")}):
            assert refusal(server, headers={"X-Forwarded-For": "10.2.2.2"}).code == "address_full"
            with server.open(headers={"X-Forwarded-For": lines("10.3.3.3")}):
                assert refusal(server, headers={"X-Forwarded-For": "10.3.3.3"}).code == (
                    "address_full")
                with server.open(headers={"X-Forwarded-For": "10.1.1.1"}):
                    pass
        server.expect_rejections("address_full", 6)
        # An entry that is no address leaves the proxy's, and the log says so.
        with server.open(headers={"X-Forwarded-For": "10.1.1.1, unknown"}):
            assert refusal(server, headers={"X-Forwarded-For": "localhost:80"}).code == (
                "address_full")
        server.wait_for(lambda _: any(
            "X-Forwarded-For: 'unknown' is not an IP address; its client counts as the proxy "
            "127.0.0.1" in line for line in server.log))
    with Server("--max_streams_per_address=1") as server:
        with server.open():  # who is no trusted proxy is not believed
            assert refusal(server, headers={"X-Forwarded-For": "10.1.1.1"}).code == "address_full"


def test_connections():
    with Server("--max_connections=2") as server:
        with server.open(), server.open() as socket:
            refused = refusal(server)
            assert refused.status == 503 and refused.code == "full"
            assert server.get("/").status == 503
            # Whoever restarts servers that do not answer, sees that this one does.
            assert server.get("/healthz").status == 200
            assert server.get("/readyz").body == b"full\n"
            assert server.metrics()["runnel_connections"] >= 3
            assert speak(socket, LONGEST) == TEXTS[LONGEST]
            socket.socket.close()
        server.wait_for(lambda now: now["runnel_connections"] == 1)
        assert server.get("/readyz").status == 200
        server.expect_rejections("connections_full", 2)


def test_what_the_model_recommends_has_the_limits_of_clients():
    with Server("--max_left_context=32") as server, server.open() as socket:
        assert start(socket)["left_context"] == 32
    with Server("--max_left_context=32", "--left_context=48") as server, server.open() as socket:
        assert start(socket)["left_context"] == 48  # whoever runs it knows


def test_silent_connections_do_not_keep_probes_out():
    with Server("--max_connections=2", "--header_timeout_s=300") as server, \
            contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(sockets.create_connection(
                ("127.0.0.1", server.port), PATIENCE_S, source_address=("127.0.0.2", 0)))
        for _ in range(20):
            assert server.get("/healthz").status == 200
        # Those above the limit lose their places soon.
        server.wait_for(lambda now: now["runnel_connections"] <= 3)


def test_connections_per_address():
    reason = "address_connections_full"
    with Server("--max_connections_per_address=2") as server, contextlib.ExitStack() as stack:
        def connect_elsewhere():
            return stack.enter_context(sockets.create_connection(
                ("127.0.0.1", server.port), PATIENCE_S, source_address=("127.0.0.2", 0)))

        def get(target):
            connection = connect_elsewhere()
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            return read_answer(connection)[0]

        for _ in range(2):
            connect_elsewhere()
        refused = get("/")
        assert refused.status == 503 and refused.json()["error"]["code"] == "address_full"
        assert int(refused.headers["retry-after"]) > 0
        assert get("/healthz").status == get("/readyz").status == get("/metrics").status == 200
        for _ in range(50):  # most are cut off, and nobody else notices
            connect_elsewhere()
        server.wait_for(lambda now: now[f'runnel_rejections_total{{reason="{reason}"}}'] >= 40)
        with server.open() as socket:
            assert speak(socket, LONGEST) == TEXTS[LONGEST]
    # Behind a proxy it is the clients that count, one by one.
    with Server("--max_connections_per_address=1", "--trusted_proxy=::ffff:127.0.0.1") as server:
        with server.open(headers={"X-Forwarded-For": "2001:db8::1"}):
            refused = refusal(server, headers={"X-Forwarded-For": "2001:DB8:0::1"})
            assert refused.status == 503 and refused.code == "address_full"
            for address in "10.1.1.1", "10.2.2.2":
                with server.open(headers={"X-Forwarded-For": address}) as socket:
                    start(socket)
            server.expect_rejections(reason, 1)


def test_message_size(small):
    with small.open() as socket:
        assert speak(socket, LONGEST, [10000]) == TEXTS[LONGEST]
    with small.open() as socket:
        start(socket)
        socket.send_bytes(bytes(10001))
        assert socket.receive_json()["code"] == "message_too_large"
        assert socket.close_code() == 1009
    small.expect_rejections("message_too_large", 1)


def test_buffered_audio_is_not_lost(tmp_path):
    # Audio at once into a buffer that is smaller: reading stops, and nothing is missing.
    samples, rate = samples_of(LONGEST)
    samples = np.tile(samples, 4)
    soundfile.write(tmp_path / "long.wav", samples, rate, subtype="PCM_16")
    exact, _ = soundfile.read(tmp_path / "long.wav", dtype="float32")
    expected = succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}",
                       f"--wav={tmp_path / 'long.wav'}")
    with Server("--max_buffered_s=2", "--max_speed=0") as server, server.open() as socket:
        start(socket, rate)
        for piece in cut(pcm16(exact), [len(samples) // 2]):
            socket.send_bytes(piece)
        socket.send_json(type="finish")
        assert "long " + socket.receive_until("final")["text"] + "\n" == expected
        assert server.metrics()['runnel_pauses_total{reason="buffer"}'] >= 1


def test_times():
    with Server("--idle_timeout_s=3", "--header_timeout_s=3") as server:
        with server.open() as socket:
            assert socket.receive_json()["code"] == "idle_timeout"
            assert socket.close_code() == 1008
        with server.open() as socket:  # whom pings do not make less idle
            start(socket)
            assert socket.receive_json()["code"] == "idle_timeout"
        with connect(server.port) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
            assert connection.recv(100) == b""
        with connect(server.port) as connection:
            assert connection.recv(100) == b""
        server.expect_rejections("idle_timeout", 2)
        server.expect_rejections("header_timeout", 2)
    with Server("--max_stream_s=1") as server, server.open() as socket:
        start(socket)
        assert socket.receive_json()["code"] == "time_limit"
        server.expect_rejections("time_limit", 1)


@pytest.mark.parametrize("head, status, code", [
    (b"nonsense\r\n\r\n", 400, "bad_request"),
    (b"GET / HTTP/7.0\r\n\r\n", 400, "bad_request"),
    (b"\x00\x01\x02\x03\r\n\r\n", 400, "bad_request"),
    (b"GET / HTTP/1.1\r\nA: " + b"x" * 20000, 431, "header_too_large"),
    (b"GET / HTTP/1.1\r\n" + b"A: x\r\n" * 5000, 431, "header_too_large"),
    (b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
     413, "body_too_large"),
    (b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
     + b"100000\r\n" + bytes(0x100000) + b"\r\n100000\r\n" + bytes(0x100000) + b"\r\n0\r\n\r\n",
     413, "body_too_large"),
    (b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400,
     "bad_request"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 200, None),
], ids=range(9))
def test_requests(small, head, status, code):
    with connect(small.port) as connection:
        try:
            connection.sendall(head)
        except (ConnectionResetError, BrokenPipeError):
            pass
        answer, _ = read_answer(connection)
        assert answer.status == status
        assert code is None or answer.json()["error"]["code"] == code
        while connection.recv(4096):
            pass


def test_slow_reader():
    # A client that sends for ever and reads nothing: cut off, without memory that grows.
    with Server("--send_timeout_s=1", "--max_send_queue_kb=16", "--max_speed=0",
                environment=SMALL_QUARANTINE) as server:
        neighbour = Neighbour(server)
        with server.open(receive_buffer=2048) as socket:
            start(socket)
            before = server.metrics()["process_resident_memory_bytes"]
            ping = json.dumps({"type": "ping", "id": "x" * 4000})
            with pytest.raises(OSError):
                socket.socket.settimeout(20)
                for _ in range(10 ** 5):
                    socket.send_text(ping)
        server.wait_for(lambda now: now['runnel_rejections_total{reason="slow_reader"}'] == 1)
        assert server.metrics()['runnel_pauses_total{reason="send_queue"}'] >= 1
        assert server.metrics()["process_resident_memory_bytes"] < before + 50e6
        neighbour.finish()


def test_limits_of_options(small):
    for options in [{"left_context": 65}, {"left_context": -1}, {"chunk_size": 65},
                    {"chunk_size": -1}, {"sample_rate": 192001},
                    {"search": "beam", "beam_size": 5}, {"chunk_size": 16, "early_text": 1}]:
        with small.open() as socket:
            socket.send_json(type="start", version=1, **options)
            message = socket.receive_json()
            assert message["code"] == "bad_option"
            assert list(options)[-1] in message["message"]
            assert "on this server" in message["message"]
            assert socket.close_code() == 1008
        if "sample_rate" not in options:
            query = "&".join(f"{name}={value}" for name, value in options.items())
            answer = request(small.port, f"/v1/recognize?{query}", "POST",
                             FILES[LONGEST].read_bytes())
            assert answer.status == 400 and answer.json()["error"]["code"] == "bad_option"
    with small.open() as socket:
        start(socket, 48000, chunk_size=64, left_context=64, search="beam", beam_size=4)
    with small.open() as socket:  # a beam that nobody asked for is not refused
        assert speak(socket, LONGEST, search="beam", nbest=4) == TEXTS[LONGEST]
    with small.open() as socket:
        socket.send_text(json.dumps({"signal": "start", "nbest": 10}))
        assert socket.receive_json()["type"] == "server_ready"
        socket.send_text(json.dumps({"signal": "end"}))
        assert socket.receive_json()["type"] == "final_result"


def test_number_of_results(short):
    for message in [{"type": "start", "version": 1, "nbest": 4},
                    {"type": "start", "version": 1, "nbest": 101},
                    {"type": "resume", "version": 1, "nbest": 4, "token": "0" * 32}]:
        with short.open() as socket:
            socket.send_json(**message)
            refused = socket.receive()
            assert "bad_option" in refused
            assert f"nbest is {message['nbest']}, expected at most 3 on this server " \
                   "(--max_nbest)" in refused
            assert socket.close_code() == 1008
    for nbest, status in (4, 400), (3, 200):
        answer = request(short.port, f"/v1/recognize?search=beam&nbest={nbest}", "POST",
                         FILES[LONGEST].read_bytes())
        assert answer.status == status
    assert len(answer.json()["nbest"]) == 3


def test_options_without_effect(short):
    """A greedy search has one result and no beam."""
    for name, message in (("nbest", "nbest is 2, expected at most 1 with search=greedy"),
                          ("beam_size", "beam_size needs search=beam")):
        answer = request(short.port, f"/v1/recognize?{name}=2", "POST", FILES[LONGEST].read_bytes())
        assert answer.status == 400 and answer.json()["error"]["message"] == message
        with short.open() as socket:
            socket.send_json(type="start", version=1, **{name: 2})
            refused = socket.receive_json()
            assert (refused["code"], refused["message"]) == ("bad_option", message)


def test_audio_of_a_stream():
    # Faster than real time too, and in whatever messages.
    with Server("--max_audio_s=1.5", "--max_speed=0") as server:
        for size in 320, 40000:
            with server.open() as socket:
                start(socket, 16000)
                for piece in cut(bytes(2 * 24000), [size]):
                    socket.send_bytes(piece)
                socket.send_json(type="finish")
                socket.receive_until("final")
            with server.open() as socket:
                start(socket, 8000)
                for piece in cut(bytes(2 * 12001), [size]):
                    socket.send_bytes(piece)
                message = socket.receive_json()
                while message["type"] == "partial":
                    message = socket.receive_json()
                assert message["code"] == "audio_limit" and "1.5 s" in message["message"]
                assert socket.close_code() == 1008
        server.expect_rejections("audio_limit", 2)


def test_long_results(tmp_path):
    """A final message that a task makes is that of decode_wav, over WebSocket and over HTTP."""
    samples, rate = samples_of(LONGEST)
    soundfile.write(tmp_path / "long.wav", np.tile(samples, 8), rate, subtype="PCM_16")
    expected = json.loads(succeed(
        "decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={tmp_path / 'long.wav'}",
        "--search=beam", "--beam_size=10", "--nbest=10", "--format=json"))
    texts = [result["text"] for result in expected["nbest"]]
    assert len(texts) == 10
    exact, _ = soundfile.read(tmp_path / "long.wav", dtype="float32")
    with Server("--max_speed=0") as server:
        neighbour = Neighbour(server)
        with server.open() as socket:
            start(socket, rate, search="beam", beam_size=10, nbest=10)
            for piece in cut(pcm16(exact), [20000]):
                socket.send_bytes(piece)
            neighbour.go_on()
            socket.send_json(type="finish")
            final = socket.receive_until("final")
            assert socket.close_code() == 1000
        answer = request(server.port, "/v1/recognize?search=beam&beam_size=10&nbest=10", "POST",
                         (tmp_path / "long.wav").read_bytes()).json()
        for result in final, answer:
            assert result["nbest"] == expected["nbest"]
            assert result["text"] == texts[0]
        assert sum(len(one["tokens"]) for one in final["nbest"]) > 2000  # long enough for a task
        neighbour.finish()
        after = server.metrics()
        assert after["runnel_final_latency_seconds_count"] == 2


def recording(rate, seconds, file_format):
    """A file of silence."""
    file = io.BytesIO()
    soundfile.write(file, np.zeros(rate * seconds, np.int16), rate, format=file_format)
    return file.getvalue()


def without_length(flac):
    """A FLAC file whose header leaves open how many samples there are."""
    return flac[:21] + bytes([flac[21] & 0xF0]) + bytes(4) + flac[26:]


def test_length_of_recordings(short):
    # Silence of an hour and a second takes some kilobytes.
    with Server() as server:
        flac = recording(1000, 3601, "FLAC")
        assert len(flac) < 1 << 20
        answer = request(server.port, "/v1/recognize", "POST", flac)
        assert answer.status == 413
        assert answer.json()["error"]["code"] == "recording_too_long"
        assert "3600.0 s" in answer.json()["error"]["message"]
        assert server.metrics()["runnel_audio_seconds_total"] == 0
        server.expect_rejections("recording_too_long", 1)
    for seconds, status in (5, 200), (30, 413):
        body = without_length(recording(16000, seconds, "FLAC"))
        assert request(short.port, "/v1/recognize", "POST", body).status == status
    short.expect_rejections("recording_too_long", 1)


def test_rate_of_recordings(short):
    for file_format in "WAV", "FLAC":
        answer = request(short.port, "/v1/recognize", "POST", recording(16001, 1, file_format))
        assert answer.status == 400 and answer.json()["error"]["code"] == "bad_option"
        assert "sample_rate is 16001" in answer.json()["error"]["message"]
        answer = request(short.port, "/v1/recognize", "POST", recording(16000, 1, file_format))
        assert answer.status == 200


@contextlib.contextmanager
def long_upload(server, tmp_path):
    """Another client's recording that is being decoded."""
    body = long_recording(tmp_path)
    with connect(server.port) as connection:
        connection.sendall(b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                           % len(body) + body)
        server.wait_for(lambda now: now.get('runnel_streams_total{protocol="http"}') == 1)
        yield connection


def test_uploads(tmp_path):
    with Server("--max_uploads=1", "--upload_wait_s=0", *SLOW) as server:
        with long_upload(server, tmp_path):
            answer = request(server.port, "/v1/recognize", "POST", b"x")
            assert answer.status == 503
            server.expect_rejections("uploads_full", 1)
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        answer = request(server.port, "/v1/recognize", "POST", b"x")
        assert answer.status == 400, "it was read, and is no recording"


def test_an_upload_waits_for_a_place(tmp_path):
    with Server("--max_uploads=1", "--upload_wait_s=100", *SLOW) as server:
        with long_upload(server, tmp_path) as slow, connect(server.port) as waiting:
            waiting.sendall(b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
            server.wait_for(lambda now: now["runnel_streams"] == 2)
            slow.close()
            answer, _ = read_answer(waiting)
            assert answer.status == 400, "it was read, and is no recording"
        server.expect_rejections("uploads_full", 0)


def test_slow_upload():
    # A byte now and then is not silence, but takes a place for too long.
    with Server("--max_upload_s=1") as server, connect(server.port) as slow:
        slow.sendall(b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        slow.settimeout(0.05)
        answer = b""
        for _ in range(2000):
            slow.sendall(b"x")
            try:
                answer = slow.recv(4096)
                break
            except TimeoutError:
                pass
        assert answer.startswith(b"HTTP/1.1 408 ") and b"upload_timeout" in answer
        server.expect_rejections("upload_timeout", 1)
        server.wait_for(lambda now: now["runnel_streams"] == 0)


@pytest.mark.parametrize("flag, reason", [
    ("--idle_timeout_s=1", "nothing of the body came for 1.0 s"),
    ("--max_upload_s=1", "the body takes longer than 1.0 s")])
@pytest.mark.parametrize("body", [
    b"Content-Length: 1000000\r\n\r\n", b"Content-Length: 1000000\r\n\r\nRIFF",
    b"Transfer-Encoding: chunked\r\n\r\n4\r\nRIFF\r\n"])
def test_a_body_that_stops_is_refused(flag, reason, body):
    with Server(flag) as server, connect(server.port) as silent:
        silent.sendall(b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\n" + body)
        answer, _ = read_answer(silent)
        assert answer.status == 408
        error = answer.json()["error"]
        assert (error["code"], error["message"]) == ("upload_timeout", reason)
        server.expect_rejections("upload_timeout", 1)
        server.wait_for(lambda now: now["runnel_streams"] == 0)


def test_whole_utterance_longer_than_the_buffer():
    with Server("--max_buffered_s=1.5", "--max_speed=0", "--max_chunk_size=-1") as server:
        samples, rate = samples_of(LONGEST)
        with server.open() as socket:
            start(socket, rate, chunk_size=-1)
            for piece in cut(pcm16(samples), [8000]):
                socket.send_bytes(piece)
            message = socket.receive_json()
            assert message["code"] == "bad_option" and "1.5" in message["message"]
            assert socket.close_code() == 1008
        answer = request(server.port, "/v1/recognize?chunk_size=-1", "POST",
                         FILES[LONGEST].read_bytes())
        assert answer.status == 400 and answer.json()["error"]["code"] == "bad_option"
