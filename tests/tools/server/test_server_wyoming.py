"""stream_server as clients of the Wyoming protocol, such as Home Assistant, see it.

No client that others wrote is installed by npm or Debian. wyoming_client.py is written from the
protocol's description. Where the Python package `wyoming` is installed, its client is tested too.
"""

import asyncio
import contextlib
import socket
import struct

import numpy as np
import pytest

from server_process import FILES, TEXTS, Neighbour, Server, cut, pcm16, samples_of
from tool_runner import DIGITS, run, succeed
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
    (b"x" * 65537, "message_too_large"),
    (framed("audio-chunk", b"ab", **FORMAT), "unsupported_order"),
    (framed("audio-stop"), "unsupported_order"),
    (2 * framed("audio-start", **FORMAT), "unsupported_order"),
    (framed("audio-start", **FORMAT) + framed("transcribe"), "unsupported_order"),
    (framed("audio-start"), "bad_option"),
    (framed("audio-start", rate=16000, width=3, channels=1), "bad_option"),
    (framed("audio-start", rate=16000, width=1, channels=1), "bad_option"),
    (framed("audio-start", rate=96000, width=2, channels=1), "bad_option"),
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


def test_limits():
    with Server("--wyoming_port=0", "--max_streams=1", "--max_audio_s=3", "--max_connections=3",
                "--max_message_bytes=4096") as server:
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
        with Wyoming(server.wyoming_port) as client:  # the slot is free again
            assert speak(client, cut(pcm16(SAMPLES[:32000]), [4096])) != ""
        with Wyoming(server.wyoming_port) as client:
            client.start()
            client.send("audio-chunk", bytes(4098), **FORMAT)
            expect_error(client, "message_too_large")
        assert server.rejections("full") == 1
        assert server.rejections("message_too_large") == 1
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Wyoming(server.wyoming_port)) for _ in range(3)]
            for client in clients:
                client.send("ping")
                client.receive_until("pong")
            expect_error(stack.enter_context(Wyoming(server.wyoming_port)), "full")


def test_idle_clients():
    with Server("--wyoming_port=0", "--idle_timeout_s=3") as server:
        with Wyoming(server.wyoming_port) as client:
            assert speak(client, cut(pcm16(SAMPLES[:32000]), [4096])) != ""
            expect_error(client, "idle_timeout")


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
