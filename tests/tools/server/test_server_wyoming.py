"""stream_server as clients of the Wyoming protocol, such as Home Assistant, see it.

No client that others wrote is installed by npm or Debian. wyoming_client.py is written from the
protocol's description. Where the Python package `wyoming` is installed, its client is tested too.
"""

import asyncio
import contextlib
import os
import pathlib
import re
import select
import socket
import struct
import threading

import numpy as np
import pytest

from server_process import FILES, SMALL_QUARANTINE, TEXTS, Neighbour, Server, cut, pcm16, samples_of
from tool_runner import DIGITS, run, succeed, without_sanitizers
from wyoming_client import Wyoming, framed, text_of

NAME = "ked_year"  # at 16 kHz, the model's rate
SAMPLES = samples_of(NAME)[0]
FORMAT = {"rate": 16000, "width": 2, "channels": 1}


@pytest.fixture(scope="module", name="server")
def _server():
    with Server("--wyoming_port=0", "--wyoming_languages=en,en-GB",
                "--max_streams_per_address=300") as server:
        yield server


@pytest.fixture(name="client")
def _client(server):
    with Wyoming(server.wyoming_port) as client:
        yield client


def decoded(path) -> str:
    """What decode_wav recognises."""
    line = succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={path}")
    return line.split(" ", 1)[1].strip()


def speak(client: Wyoming, pieces, **options) -> str:
    client.start(**options)
    for piece in pieces:
        client.chunk(piece)
    return client.stop()


def expect_error(client: Wyoming, code: str) -> str:
    """One error event, after which the connection is closed; returns its text."""
    kind, data = client.receive()
    assert kind == "error" and data["code"] == code, (kind, data)
    assert client.receive() is None
    return data["text"]


def test_info(client):
    client.send("describe")
    kind, data = client.receive()
    (program,) = data["asr"]
    assert kind == "info" and program["supports_transcript_streaming"] is True
    (model,) = program["models"]
    assert model["name"] == "digits" and model["languages"] == ["en", "en-GB"]
    for artifact in program, model:
        assert artifact["installed"] is True and set(artifact["attribution"]) == {"name", "url"}


@pytest.mark.parametrize("sizes", [[2048], [2, 0, 6400], [10 ** 6]])
def test_the_text_is_that_of_decode_wav(client, sizes):
    text = speak(client, cut(pcm16(SAMPLES), sizes), name="digits", language="en")
    assert text == decoded(FILES[NAME]) == TEXTS[NAME]


def test_pieces_come_while_audio_is_sent(client):
    half = len(SAMPLES) // 2
    client.start()
    client.chunk(pcm16(SAMPLES[:half]))
    early = client.receive_until("transcript-chunk")
    assert [kind for kind, _ in early] == ["transcript-start", "transcript-chunk"]
    client.chunk(pcm16(SAMPLES[half:]))
    client.send("audio-stop")
    assert text_of(early + client.receive_until("transcript-stop")) == TEXTS[NAME]


def test_utterances_one_after_another(client):
    """Each is a stream of its own, so that the same audio has the same text."""
    telephone, rate = samples_of("rms_telephone")
    assert rate == 8000
    for _ in range(2):
        assert speak(client, [pcm16(SAMPLES)]) == TEXTS[NAME]
        assert speak(client, [pcm16(telephone)], rate=8000) == TEXTS["rms_telephone"]
    client.send("audio-start", **FORMAT)  # without transcribe
    client.send("audio-chunk", pcm16(SAMPLES), **FORMAT)
    assert client.stop() == TEXTS[NAME]
    client.start()
    assert client.stop() == ""


def test_all_at_once_and_a_closed_sending_side(client):
    """As a script sends it: two utterances and a ping, before anything is read."""
    utterance = (framed("transcribe") + framed("audio-start", **FORMAT)
                 + framed("audio-chunk", pcm16(SAMPLES), **FORMAT) + framed("audio-stop"))
    client.socket.sendall(2 * utterance + framed("ping", text="last"))
    client.socket.shutdown(socket.SHUT_WR)
    for _ in range(2):
        assert text_of(client.receive_until("transcript-stop")) == TEXTS[NAME]
    assert client.receive() == ("pong", {"text": "last"})
    assert client.receive() is None


def test_formats(client):
    as32 = (SAMPLES * 2 ** 31).round().clip(-2 ** 31, 2 ** 31 - 1).astype("<i4").tobytes()
    assert speak(client, cut(as32, [4000]), width=4) == TEXTS[NAME]
    stereo = np.stack([SAMPLES * 1.5, SAMPLES * 0.5], axis=1)  # their mean is the recording
    assert speak(client, cut(pcm16(stereo), [4000]), channels=2) == TEXTS[NAME]
    at48 = np.repeat(SAMPLES, 3)
    assert speak(client, cut(pcm16(at48), [40000]), rate=48000) == TEXTS[NAME]


def test_data_within_the_line(client):
    """Readers accept data in the line, after it, and both."""
    client.socket.sendall(b'{"type":"ping","data":{"text":"a"}}\n')
    assert client.receive() == ("pong", {"text": "a"})
    client.socket.sendall(b'{"type":"ping","data":{"text":"a"},"data_length":12}\n{"text":"b"}')
    assert client.receive() == ("pong", {"text": "b"})


def test_other_events_are_ignored(client):
    client.send("voice-started", timestamp=3)
    client.send("synthesize", text="hello")
    client.send("ping")
    assert client.receive() == ("pong", {})


def test_ping_within_an_utterance(client):
    client.start()
    client.send("ping", text="a")
    assert client.receive() == ("pong", {"text": "a"})
    client.chunk(pcm16(SAMPLES))
    assert client.stop() == TEXTS[NAME]


@pytest.mark.parametrize("sent, code", [
    (b"hello\n", "bad_json"),
    (b"\n", "bad_json"),
    (b"[]\n", "bad_json"),
    (b'{"type":"ping"\n', "bad_json"),
    (b'{"type":"ping","data_length":4}\n{{{{', "bad_json"),
    (b"{}\n", "bad_message"),
    (b'{"type":7}\n', "bad_message"),
    (b'{"type":"ping","data":[]}\n', "bad_message"),
    (b'{"type":"ping","data_length":-1}\n', "bad_message"),
    (b'{"type":"ping","data_length":"4"}\n', "bad_message"),
    (b'{"type":"ping","data_length":1e3}\n', "bad_message"),
    (b'{"type":"ping","data_length":%d}\n' % 2 ** 40, "message_too_large"),
    (b'{"type":"audio-chunk","payload_length":%d}\n' % 2 ** 40, "message_too_large"),
    (b'{"type":"audio-chunk","payload_length":%d}\n' % (2 ** 64 - 1), "message_too_large"),
    (b"x" * 4097, "message_too_large"),
    (framed("audio-chunk", b"ab", **FORMAT), "unsupported_order"),
    (framed("audio-stop"), "unsupported_order"),
    (2 * framed("audio-start", **FORMAT), "unsupported_order"),
    (framed("audio-start", **FORMAT) + framed("transcribe"), "unsupported_order"),
    (framed("audio-start"), "bad_option"),
    (framed("audio-start", rate=16000, width=3, channels=1), "bad_option"),
    (framed("audio-start", rate=16000, width=1, channels=1), "bad_option"),
    (framed("audio-start", rate=384000, width=2, channels=1), "bad_option"),
    (framed("audio-start", rate=16000, width=2, channels=0), "bad_option"),
    (framed("transcribe", language=["en"]), "bad_option"),
    (framed("audio-start", **FORMAT) + framed("audio-chunk", b"ab", rate=8000, width=2, channels=1),
     "bad_option"),
    (framed("audio-start", **FORMAT) + framed("audio-chunk", b"abc", **FORMAT), "odd_bytes"),
])
def test_mistakes(server, sent, code):
    with Wyoming(server.wyoming_port) as client:
        client.socket.sendall(sent)
        text = expect_error(client, code)
        assert text and "\n" not in text


def test_the_error_arrives_although_audio_follows(server):
    """The server reads what the client still sends, so that the event is not lost."""
    with Wyoming(server.wyoming_port) as client:
        client.start()
        client.send("audio-chunk", b"abc", **FORMAT)
        with contextlib.suppress(ConnectionError):
            for _ in range(50):
                client.chunk(bytes(32000))
        expect_error(client, "odd_bytes")


def test_clients_that_vanish(server):
    """Their streams end; others do not notice."""
    neighbour = Neighbour(server)
    for cut_at in 1, 30, 200, 20000:
        client = Wyoming(server.wyoming_port)
        sent = (framed("audio-start", **FORMAT)
                + framed("audio-chunk", pcm16(SAMPLES[:16000]), **FORMAT))
        client.socket.sendall(sent[:cut_at])
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.file.close()
        client.socket.close()  # resets the connection
    server.wait_for(lambda metrics: metrics["runnel_streams"] == 1)  # the neighbour
    neighbour.finish()


def test_a_hundred_connections_at_once(server):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Wyoming(server.wyoming_port)) for _ in range(100)]
        pieces = cut(pcm16(SAMPLES), [8000])
        for client in clients:
            client.start()
        for piece in pieces:
            for client in clients:
                client.chunk(piece)
        for client in clients:
            client.send("audio-stop")
        for client in clients:
            assert text_of(client.receive_until("transcript-stop")) == TEXTS[NAME]


def admitted(port):
    """A client that is let in. That of the metrics counts until the server sees its end."""
    while True:
        client = Wyoming(port)
        with contextlib.suppress(ConnectionError):
            client.send("ping")
            if (client.receive() or ["closed"])[0] == "pong":
                return client
        client.socket.close()


def test_limits():
    with Server("--wyoming_port=0", "--max_streams=1", "--max_audio_s=3", "--max_connections=3",
                "--max_connections_per_address=0", "--max_message_bytes=4096") as server:
        with Wyoming(server.wyoming_port) as first, Wyoming(server.wyoming_port) as second:
            first.start()
            first.send("ping")
            first.receive_until("pong")
            second.send("describe")  # needs no slot
            assert second.receive()[0] == "info"
            second.start()
            expect_error(second, "full")
            for piece in cut(bytes(32000 * 4), [4096]):
                first.chunk(piece)
            expect_error(first, "audio_limit")
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        with Wyoming(server.wyoming_port) as client:  # the slot is free again
            assert speak(client, cut(pcm16(SAMPLES[:32000]), [4096])) != ""
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        with Wyoming(server.wyoming_port) as client:
            client.start()
            client.send("audio-chunk", bytes(4098), **FORMAT)
            expect_error(client, "message_too_large")
        server.expect_rejections("full", 1)
        server.expect_rejections("message_too_large", 1)
        server.wait_for(lambda now: now["runnel_connections"] <= 1)  # that of the metrics
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(admitted(server.wyoming_port))
            expect_error(stack.enter_context(Wyoming(server.wyoming_port)), "full")


def test_idle_clients():
    with Server("--wyoming_port=0", "--idle_timeout_s=3") as server:
        with Wyoming(server.wyoming_port) as client:
            assert speak(client, cut(pcm16(SAMPLES[:32000]), [4096])) != ""
            expect_error(client, "idle_timeout")


def resident(server) -> int:
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) << 10


MIB = 1 << 20
# More bytes than its answer has.
LONG_QUESTION = b'{"type":"describe","ignored":"' + b"x" * 2000 + b'"}\n'


def test_clients_that_do_not_read():
    """The server stops reading, and keeps little of what they send."""
    asking = LONG_QUESTION * 10000
    with Server("--wyoming_port=0", environment=SMALL_QUARANTINE) as server:
        before = resident(server)
        with contextlib.ExitStack() as stack:
            for _ in range(5):
                client = stack.enter_context(Wyoming(server.wyoming_port))
                client.socket.setblocking(False)
                sent = 0
                while sent < len(asking) and select.select([], [client.socket], [], 0.5)[1]:
                    sent += client.socket.send(asking[sent:sent + 65536])
            assert server.get("/healthz").status == 200
            # The address sanitizer puts as much again around what is allocated.
            assert resident(server) - before < (48 if "RUNNEL_SANITIZE" in os.environ else 16) * MIB


@without_sanitizers  # which keep what is freed
def test_a_client_that_asks_much_and_reads_the_answers(server):
    """Events wait in the server only as far as one read brings them."""
    count = 10000
    before = resident(server)
    with Wyoming(server.wyoming_port) as client:
        asking = threading.Thread(target=client.socket.sendall, args=(LONG_QUESTION * count,))
        asking.start()
        for i in range(count):
            assert client.receive()[0] == "info"
            if i % 1000 == 0:
                assert resident(server) - before < 8 * MIB
        asking.join()


@pytest.mark.parametrize("event", ["ping", "describe", "transcribe"])
def test_a_client_that_only_asks(event):
    """It ends as an idle one does, although it sends events all the time."""
    with Server("--wyoming_port=0", "--idle_timeout_s=1") as server:
        with Wyoming(server.wyoming_port) as client:
            kind = None
            while kind != "error":
                with contextlib.suppress(ConnectionError):
                    client.send(event)
                    client.send("ping")
                kind, data = client.receive()
                while kind not in ("pong", "error"):
                    kind, data = client.receive()  # replies that wait would hold the server up
            assert data == {"text": "no audio-start for 1.0 s", "code": "idle_timeout"}


@pytest.mark.parametrize("resets", [True, False])
def test_a_client_that_is_lost_while_nothing_is_read(resets):
    """The server does not read while the audio waits, and notices all the same."""
    with Server("--wyoming_port=0", "--max_speed=1", "--max_buffered_s=1",
                "--send_timeout_s=1000") as server:
        client = Wyoming(server.wyoming_port)
        client.start(rate=1000)
        client.send("audio-chunk", bytes(1000000), rate=1000, width=2, channels=1)  # 500 s
        server.wait_for(lambda now: now['runnel_pauses_total{reason="speed"}'] > 0)
        if resets:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.file.close()
        client.socket.close()
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        assert server.metrics()["runnel_audio_seconds_total"] < 100
        assert server.metrics()["runnel_input_bytes"] == 0


def test_a_client_that_waits_is_pinged():
    """It may pass over the pings or answer them; its utterance goes on."""
    with Server("--wyoming_port=0", "--max_speed=1", "--max_buffered_s=1") as server:
        with Wyoming(server.wyoming_port) as client:
            client.start(rate=1000)
            client.send("audio-chunk", bytes(14000), rate=1000, width=2, channels=1)  # 7 s
            event = client.receive_any()
            while event != ("ping", {}):
                assert event is not None
                event = client.receive_any()
            client.send("pong")
            assert isinstance(client.stop(), str)


def test_events_have_a_budget():
    """One account takes no more than its share, whoever waits for it loses nothing."""
    pieces = cut(pcm16(np.resize(SAMPLES, 150000)), [2048])
    with Server("--wyoming_port=0", "--max_input_mb=4") as server:
        with Wyoming(server.wyoming_port) as client:
            text = speak(client, pieces)
        half = Wyoming(server.wyoming_port)
        half.socket.sendall(framed("audio-chunk", bytes(10 ** 6), **FORMAT)[:900000])
        server.wait_for(lambda now: now["runnel_input_bytes"] > 890000)
        with Wyoming(server.wyoming_port) as waiting:
            waiting.start()
            waiting.chunk(b"".join(pieces))
            server.wait_for(lambda now: now['runnel_pauses_total{reason="input"}'] > 0)
            assert server.metrics()["runnel_input_bytes"] <= MIB
            with Wyoming(server.wyoming_port) as small:
                assert speak(small, cut(pcm16(SAMPLES), [2048])) == TEXTS[NAME]
            with Wyoming(server.wyoming_port, "127.0.0.2") as other:
                assert speak(other, [pcm16(SAMPLES)]) == TEXTS[NAME]
            assert server.metrics()["runnel_input_bytes"] > 890000
            half.file.close()
            half.socket.close()
            assert waiting.stop() == text
            server.wait_for(lambda now: now["runnel_input_bytes"] == 0)


def test_draining():
    """An utterance goes on; the next one is refused, and the server ends."""
    with Server("--wyoming_port=0") as server:
        with Wyoming(server.wyoming_port) as client, Wyoming(server.wyoming_port) as late:
            for one in client, late:
                one.send("ping")
                one.receive_until("pong")
            client.start()
            client.chunk(pcm16(SAMPLES[:16000]))
            client.receive_until("transcript-chunk")
            server.signal()
            while server.get("/readyz").status != 503:
                pass
            late.start()
            expect_error(late, "draining")
            client.chunk(pcm16(SAMPLES[16000:]))
            client.send("audio-stop")
            assert client.receive_until("transcript")[-1][1]["text"] == TEXTS[NAME]
        assert server.exit_code() == 0


def test_the_end_of_draining():
    with Server("--wyoming_port=0", "--drain_timeout_s=0") as server:
        with Wyoming(server.wyoming_port) as client:
            client.start()
            client.send("ping")
            client.receive_until("pong")
            server.signal()
            expect_error(client, "draining")
        assert server.exit_code() == 0


def test_a_protected_server_needs_a_permission(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret\n", encoding="utf-8")
    flags = ("--wyoming_port=0", f"--bearer_token_file={token}")
    done = run("stream_server", f"--model={DIGITS / 'digits.pt'}", "--port=0", *flags)
    assert done.returncode != 0 and "--wyoming_unprotected" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    with Server(*flags, "--wyoming_unprotected") as server:
        with Wyoming(server.wyoming_port) as client:
            assert speak(client, [pcm16(SAMPLES)]) == TEXTS[NAME]
        assert server.metrics()['runnel_streams_total{protocol="wyoming"}'] == 1


def test_the_client_of_the_python_package(server):
    """The protocol's reference implementation."""
    asr = pytest.importorskip("wyoming.asr")
    from wyoming import audio, client as clients, info  # pylint: disable=import-outside-toplevel

    async def converse():
        kinds, text = [], ""
        async with clients.AsyncTcpClient("127.0.0.1", server.wyoming_port) as client:
            await client.write_event(info.Describe().event())
            described = info.Info.from_event(await client.read_event())
            await client.write_event(asr.Transcribe(language="en").event())
            await client.write_event(audio.AudioStart(**FORMAT).event())
            for piece in cut(pcm16(SAMPLES), [2048]):
                await client.write_event(audio.AudioChunk(audio=piece, **FORMAT).event())
            await client.write_event(audio.AudioStop().event())
            while "transcript-stop" not in kinds:
                event = await client.read_event()
                kinds.append(event.type)
                if asr.Transcript.is_type(event.type):
                    text = asr.Transcript.from_event(event).text
        return described, kinds, text

    described, kinds, text = asyncio.run(converse())
    (program,) = described.asr
    assert program.supports_transcript_streaming and program.models[0].languages == ["en", "en-GB"]
    assert kinds[:2] == ["transcript-start", "transcript-chunk"] and text == TEXTS[NAME]
