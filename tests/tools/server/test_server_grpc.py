"""The gRPC port of stream_server: limits, tokens, TLS, health checks, reflection, draining."""

import pathlib
import queue
import subprocess

import grpc
import pytest

from riva_client import (NOT_SERVING, SERVICE, SERVING, Client, final_text, refusal, riva_stubs)
from server_process import FILES, LONGEST, TEXTS, Neighbour, Server, pcm16, samples_of, speak
from tool_runner import DIGITS, FAILURE, error_line, run
from websocket_client import PATIENCE_S

assert riva_stubs  # the fixture "riva"

STREAMS = 100
EVERY_LIMIT = "--max_streams=500", "--max_streams_per_address=0", "--max_speed=0"


def no_streams(now):
    return now["runnel_streams"] == 0


def test_a_hundred_streams_at_once(riva):
    """All are open before the first sends audio."""
    names = [list(TEXTS)[i % len(TEXTS)] for i in range(STREAMS)]
    with Server("--grpc_port=0", *EVERY_LIMIT) as server, Client(server, riva) as client:
        calls = [client.call() for _ in names]
        requests = [riva.of_sample(name, interim=True) for name in names]
        for call, (first, *_) in zip(calls, requests):
            call.send(first)
        server.wait_for(lambda now: now["runnel_streams"] == STREAMS)
        for call, (_, *audio) in zip(calls, requests):
            call.send(*audio, None)
        for call, name in zip(calls, names):
            assert final_text(call.responses) == TEXTS[name] + " "
        server.wait_for(no_streams)
        metrics = server.metrics()
        assert metrics['runnel_streams_total{protocol="riva"}'] == STREAMS
        assert metrics["runnel_final_latency_seconds_count"] == STREAMS
        assert metrics["runnel_chunk_latency_seconds_count"] >= STREAMS


def test_protocols_share_a_server(riva):
    """Both ports at once, and recordings over both."""
    with Server("--grpc_port=0") as server, Client(server, riva) as client:
        neighbour = Neighbour(server)
        neighbour.go_on(0.5)
        assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "
        neighbour.finish()
        with server.open() as socket:
            assert speak(socket, LONGEST) == TEXTS[LONGEST]


def test_slots(riva):
    with Server("--grpc_port=0", "--max_streams=1") as server, Client(server, riva) as client:
        holder = client.call()
        holder.send(riva.first(riva.config(16000)))
        server.wait_for(lambda now: now["runnel_streams"] == 1)
        full = "RESOURCE_EXHAUSTED", "too many streams"
        assert refusal(lambda: client.text(riva.of_sample(LONGEST))) == full
        assert refusal(lambda: client.stub.Recognize(riva.asr.RecognizeRequest(),
                                                     timeout=PATIENCE_S)) == full
        server.expect_rejections("full", 2)
        holder.half_close()
        assert holder.status() == ("OK", "")
        server.wait_for(no_streams)
        assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "


def test_streams_per_address(riva):
    with Server("--grpc_port=0", "--max_streams_per_address=1", "--trusted_proxy=127.0.0.1, ::1",
                "--max_uploads=0") as server, Client(server, riva) as client:
        holder = client.call(metadata=[("x-forwarded-for", "10.1.1.1")])
        holder.send(riva.first(riva.config(16000)))
        server.wait_for(lambda now: now["runnel_streams"] == 1)
        assert refusal(lambda: client.text(
            riva.of_sample(LONGEST), metadata=[("x-forwarded-for", "8.8.8.8, 10.1.1.1")])) == (
                "RESOURCE_EXHAUSTED", "too many streams from this address")
        assert client.text(riva.of_sample(LONGEST), metadata=[
            ("x-forwarded-for", "10.2.2.2")]) == TEXTS[LONGEST] + " "
        assert refusal(lambda: client.stub.Recognize(riva.asr.RecognizeRequest(),
                                                     timeout=PATIENCE_S)) == (
            "RESOURCE_EXHAUSTED", "too many recordings at the same time")
        holder.half_close()
        assert holder.status() == ("OK", "")
        server.expect_rejections("address_full", 1)
        server.expect_rejections("uploads_full", 1)


@pytest.mark.parametrize("flag, sizes, expected, reason", [
    ("--max_message_bytes=1024", [2000],
     ("RESOURCE_EXHAUSTED", "a message is longer than 1024 bytes"), "message_too_large"),
    ("--max_message_bytes=1024", [3 << 20],
     ("RESOURCE_EXHAUSTED", "a message is longer than 1024 bytes"), "message_too_large"),
    ("--max_audio_s=1", [3200],
     ("RESOURCE_EXHAUSTED", "the stream has more than 1.0 s of audio"), "audio_limit")])
def test_limits_of_streams(riva, flag, sizes, expected, reason):
    samples, rate = samples_of(LONGEST)
    audio = pcm16(samples) * (30 if sizes[0] > 1 << 20 else 1)
    with Server("--grpc_port=0", flag) as server, Client(server, riva) as client:
        assert refusal(lambda: client.text(riva.requests(
            riva.config(rate), audio, sizes))) == expected
        server.expect_rejections(reason, 1)
        server.wait_for(no_streams)


@pytest.mark.parametrize("flag, message, reason", [
    ("--idle_timeout_s=0.5", "no message for 0.5 s", "idle_timeout"),
    ("--max_stream_s=0.5", "the connection lasts longer than 0.5 s", "time_limit")])
def test_silent_streams_end(riva, flag, message, reason):
    """With the results so far."""
    with Server("--grpc_port=0", flag) as server, Client(server, riva) as client:
        call = client.call()
        call.send(riva.first(riva.config(16000)))
        assert call.status() == ("DEADLINE_EXCEEDED", message)
        server.expect_rejections(reason, 1)
        server.wait_for(no_streams)


def test_limits_of_recordings(riva):
    with Server("--grpc_port=0", "--max_body_mb=1", "--max_recording_s=2") as server, \
            Client(server, riva) as client:
        def recognize(audio, config=None):
            return client.stub.Recognize(riva.asr.RecognizeRequest(
                config=config or riva.config(), audio=audio), timeout=PATIENCE_S)

        assert refusal(lambda: recognize(bytes((1 << 20) + 1))) == (
            "RESOURCE_EXHAUSTED", "the request is larger than 1048576 bytes")
        assert refusal(lambda: recognize(FILES[LONGEST].read_bytes())) == (
            "RESOURCE_EXHAUSTED", "the recording is longer than 2.0 s")
        assert refusal(lambda: recognize(bytes(20 << 20)))[0] == "RESOURCE_EXHAUSTED"  # by gRPC
        server.expect_rejections("body_too_large", 1)
        server.expect_rejections("recording_too_long", 1)
        response = recognize(FILES["diogo_one_word"].read_bytes())
        assert response.results[0].alternatives[0].transcript == "seven "


@pytest.mark.parametrize("flags, reason", [
    (("--max_speed=4", "--max_buffered_s=1"), "speed"),
    (("--max_speed=0", "--max_buffered_s=1"), "buffer")])
def test_flow_control(riva, flags, reason):
    """The server does not read what it has no room for, and loses nothing of it."""
    samples, rate = samples_of(LONGEST)
    audio = pcm16(samples) * 3
    with Server("--grpc_port=0", *flags) as server, Client(server, riva) as client:
        config = riva.config(rate)
        config.endpointing_config.stop_history = 10000
        assert client.text(riva.requests(config, audio, [100000])) == (
            " ".join([TEXTS[LONGEST]] * 3) + " ")
        assert server.metrics()[f'runnel_pauses_total{{reason="{reason}"}}'] >= 1


def test_calls_that_clients_end_free_their_slots(riva):
    with Server("--grpc_port=0", "--max_streams=3") as server, Client(server, riva) as client:
        cancelled, lost = client.call(), Client(server, riva)
        for call in cancelled, lost.call():
            call.send(*riva.of_sample(LONGEST)[:5])
        server.wait_for(lambda now: now["runnel_streams"] == 2)
        late = client.call(timeout=1)  # the last: it may end before the server has seen it
        late.send(*riva.of_sample(LONGEST)[:5])
        assert late.status()[0] == "DEADLINE_EXCEEDED"
        cancelled.responses.cancel()
        assert cancelled.status()[0] == "CANCELLED"
        lost.channel.close()
        server.wait_for(no_streams)
        assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "


def test_recordings_that_clients_cancel_free_their_slots(riva):
    samples, rate = samples_of(LONGEST)
    with Server("--grpc_port=0", "--max_uploads=1") as server, Client(server, riva) as client:
        request = riva.asr.RecognizeRequest(config=riva.config(rate), audio=pcm16(samples) * 300)
        call = client.stub.Recognize.future(request)
        server.wait_for(lambda now: now.get('runnel_streams_total{protocol="riva"}', 0) == 1)
        call.cancel()
        server.wait_for(no_streams)
        text = client.stub.Recognize(riva.asr.RecognizeRequest(
            config=riva.config(rate), audio=pcm16(samples))).results[0].alternatives[0].transcript
        assert text == TEXTS[LONGEST] + " "


def test_bearer_token(riva, tmp_path):
    token = tmp_path / "token"
    token.write_text("secret\n")
    with Server("--grpc_port=0", f"--bearer_token_file={token}") as server, \
            Client(server, riva) as client:
        def call(metadata):
            return [
                lambda: client.text(riva.of_sample(LONGEST), metadata=metadata),
                lambda: client.stub.Recognize(riva.asr.RecognizeRequest(
                    audio=FILES[LONGEST].read_bytes()), metadata=metadata, timeout=PATIENCE_S),
                lambda: client.stub.GetRivaSpeechRecognitionConfig(
                    riva.asr.RivaSpeechRecognitionConfigRequest(), metadata=metadata,
                    timeout=PATIENCE_S)]

        for metadata in [], [("authorization", "Bearer wrong")], [("authorization", "secret")]:
            for method in call(metadata):
                assert refusal(method) == ("UNAUTHENTICATED", "expected a bearer token")
        server.expect_rejections("unauthorized", 9)
        for method in call([("authorization", "Bearer secret")]):
            assert method()
        assert client.health("") == SERVING


def test_tls(riva, tmp_path):
    paths = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    trusting = grpc.ssl_channel_credentials(paths[0].read_bytes())
    with Server("--grpc_port=0", f"--tls_certificate={paths[0]}",
                f"--tls_key={paths[1]}") as server:
        with Client(server, riva, trusting) as client:
            assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "
        with Client(server, riva) as plain:
            assert refusal(lambda: plain.text(riva.of_sample(LONGEST)))[0] == "UNAVAILABLE"


def test_health_and_reflection(riva):
    with Server("--grpc_port=0") as server, Client(server, riva) as client:
        assert client.health("") == client.health(SERVICE) == SERVING
        with pytest.raises(grpc.RpcError) as caught:
            client.health("no.such.Service")
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
        reflect = client.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        # ServerReflectionRequest: 7 string list_services, 4 string file_containing_symbol.
        listed, described = reflect(iter([
            b"\x3a\x00", b"\x22" + bytes([len(SERVICE)]) + SERVICE.encode()]), timeout=PATIENCE_S)
        assert SERVICE.encode() in listed and b"grpc.health.v1.Health" in listed
        assert b"StreamingRecognizeRequest" in described


def test_compressed_messages_are_refused(riva):
    """gRPC checks the size of a message only after it has decompressed all of it."""
    with Server("--grpc_port=0") as server, Client(server, riva) as client:
        messages = [riva.first(riva.config(16000)), riva.audio_request(bytes(1 << 20))]
        assert refusal(lambda: client.text(
            messages, compression=grpc.Compression.Gzip))[0] == "UNIMPLEMENTED"
        assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "


def test_reflection_has_few_threads(riva):
    with Server("--grpc_port=0") as server, Client(server, riva) as client:
        reflect = client.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        ends = [queue.Queue() for _ in range(50)]
        calls = [reflect(iter(end.get, None), timeout=PATIENCE_S) for end in ends]
        for end in ends:
            end.put(b"\x3a\x00")
        for call in calls:
            try:
                next(call)
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        tasks = pathlib.Path(f"/proc/{server.process.pid}/task")
        assert len(list(tasks.iterdir())) < 50
        assert client.text(riva.of_sample(LONGEST)) == TEXTS[LONGEST] + " "
        for end in ends:
            end.put(None)


class TestDraining:
    """After SIGTERM."""

    def test_streams_go_on(self, riva):
        requests = riva.of_sample(LONGEST, interim=True)
        with Server("--grpc_port=0") as server, Client(server, riva) as client, \
                Client(server, riva) as other:
            health = other.watch_health()
            assert next(health) == SERVING
            calls = [client.call() for _ in range(5)]
            for call in calls:
                call.send(*requests[:len(requests) // 2])
                call.until_text()
            server.signal()
            assert next(health) == NOT_SERVING
            server.wait_for(lambda now: now["runnel_draining"] == 1)
            # The old connection takes no calls any more, and the port no new connection. gRPC
            # cancels a call that it gets before the client has the GOAWAY.
            assert refusal(lambda: client.text(requests, wait_for_ready=False))[0] in (
                "UNAVAILABLE", "CANCELLED")
            for call in calls:
                call.send(*requests[len(requests) // 2:], None)
            for call in calls:
                assert final_text(call.responses) == TEXTS[LONGEST] + " "
                assert call.responses.code() == grpc.StatusCode.OK
            assert server.exit_code() == 0

    def test_streams_that_do_not_end(self, riva):
        """Results so far come before the status."""
        samples, rate = samples_of(LONGEST)
        config = riva.config(rate)
        silence = bytes(4 * rate)
        with Server("--grpc_port=0", "--drain_timeout_s=0.1") as server, \
                Client(server, riva) as client:
            call = client.call()
            call.send(*riva.requests(config, pcm16(samples) + silence))
            first = call.until_text()
            server.signal()
            assert final_text([first]) == TEXTS[LONGEST] + " "
            assert call.status() == ("UNAVAILABLE", "the server is shutting down")
            assert server.exit_code() == 0

    def test_recordings_that_do_not_end(self, riva):
        samples, rate = samples_of(LONGEST)
        with Server("--grpc_port=0", "--drain_timeout_s=0") as server, \
                Client(server, riva) as client:
            call = client.stub.Recognize.future(riva.asr.RecognizeRequest(
                config=riva.config(rate), audio=pcm16(samples) * 500))
            server.wait_for(lambda now: now.get('runnel_streams_total{protocol="riva"}', 0) == 1)
            server.signal()
            assert refusal(call.result) == ("UNAVAILABLE", "the server is shutting down")
            assert server.exit_code() == 0

    def test_second_signal(self, riva):
        with Server("--grpc_port=0") as server, Client(server, riva) as client:
            call = client.call()
            call.send(*riva.of_sample(LONGEST)[:5])
            server.wait_for(lambda now: now["runnel_streams"] == 1)
            server.signal()
            server.wait_for(lambda now: now["runnel_draining"] == 1)
            server.signal()
            assert server.exit_code() == FAILURE
            assert call.status()[0] in ("UNAVAILABLE", "CANCELLED")


def test_port_that_is_taken():
    with Server("--grpc_port=0") as server:
        done = run("stream_server", f"--model={DIGITS / 'digits.pt'}", "--port=0",
                   f"--grpc_port={server.grpc_port}")
        assert f"cannot listen on 127.0.0.1 port {server.grpc_port}" in error_line(done, FAILURE)
