"""Messages that are large or take long: memory, pace within a message, clients that vanish."""

import base64
import json
import socket as sockets
import struct

import numpy as np
import pytest

from server_process import LONGEST, TEXTS, Neighbour, Server, pcm16, samples_of, start
from websocket_client import Closed

SLOW_AUDIO = 400000  # bytes of mu-law at 1 kHz, a second in 1000
PAUSES = 'runnel_pauses_total{{reason="{}"}}'


def ours(server):
    socket = server.open()
    start(socket, 1000, encoding="mulaw")
    socket.send_bytes(b"\xff" * SLOW_AUDIO)
    return socket


def deepgram(server):
    socket = server.open("/v1/listen?encoding=mulaw&sample_rate=1000")
    socket.send_bytes(b"\xff" * SLOW_AUDIO)
    return socket


def wav(rate, payload):
    """A WAV file of mu-law."""
    fields = struct.pack("<4sIHHIIHH", b"fmt ", 16, 7, 1, rate, rate, 1, 8)
    return b"RIFF" + struct.pack("<I", 0) + b"WAVE" + fields + b"data" + bytes(4) + payload


def vosk(server):
    socket = server.open("/vosk")
    socket.send_bytes(wav(1000, b"\xff" * SLOW_AUDIO))
    return socket


def openai(server):
    socket = server.open("/v1/realtime")
    socket.receive_json()
    audio_format = {"type": "audio/pcm", "rate": 1000}
    socket.send_json(type="session.update",
                     session={"audio": {"input": {"format": audio_format, "turn_detection": None}}})
    socket.receive_json()
    audio = base64.b64encode(bytes(2 * SLOW_AUDIO)).decode()
    socket.send_json(type="input_audio_buffer.append", audio=audio)
    return socket


@pytest.mark.parametrize("resets", [True, False])
@pytest.mark.parametrize("client", [ours, deepgram, vosk, openai])
def test_a_client_that_vanishes_is_noticed(client, resets):
    """Its message has 400 s of audio, of which 30 s are decoded at once."""
    with Server("--max_speed=1") as server:
        socket = client(server)
        server.wait_for(lambda now: now[PAUSES.format("speed")] >= 1)
        if resets:
            socket.socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER,
                                     struct.pack("ii", 1, 0))
        socket.socket.close()
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        assert server.metrics()["runnel_audio_seconds_total"] < 100
        assert server.metrics()["runnel_input_bytes"] == 0


def test_a_program_that_ends_with_unsent_data_is_noticed():
    """The server takes no more from its system, which cannot say that it has ended."""
    with Server("--max_speed=1", "--max_buffered_s=10") as server:
        socket = deepgram(server)  # is sent nothing that its system would have to drop
        server.wait_for(lambda now: now[PAUSES.format("speed")] >= 1)
        socket.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                socket.socket.send(b"\xff" * 65536)
        socket.socket.close()
        server.wait_for(lambda now: now["runnel_streams"] == 0)


def test_messages_that_wait_have_a_budget():
    samples, rate = samples_of(LONGEST)
    with Server("--max_input_mb=4") as server:
        half = server.open()
        start(half, rate)
        half.send_frame(0x2, bytes(900000), final=False)
        server.wait_for(lambda now: now["runnel_input_bytes"] >= 900000)
        waiting = server.open()
        start(waiting, rate)
        audio = pcm16(np.resize(samples, 400000))
        waiting.send_bytes(audio)
        server.wait_for(lambda now: now[PAUSES.format("input")] >= 1)
        # Small messages have room.
        small = server.open()
        start(small, rate)
        small.send_bytes(pcm16(samples[:rate]))
        small.send_json(type="finish")
        assert small.receive_until("final")["audio_ms"] > 0
        half.socket.close()
        waiting.send_json(type="finish")
        assert waiting.receive_until("final")["audio_ms"] > 24000
        assert server.metrics()["runnel_input_bytes"] == 0


def test_a_long_append_is_read_in_parts():
    """Slashes have escapes, as some programs write them; its text is that of short ones."""
    samples, rate = samples_of(LONGEST)
    audio = base64.b64encode(pcm16(samples)).decode()
    with Server("--max_speed=0") as server:
        transcripts = []
        for text in audio, audio.replace("/", "\\/").replace("+", "\\u002b"):
            with server.open("/v1/realtime") as socket:
                socket.receive_json()
                socket.send_json(type="session.update", session={"audio": {"input": {
                    "format": {"type": "audio/pcm", "rate": rate}, "turn_detection": None}}})
                socket.receive_json()
                socket.send_text('{"event_id":"one","audio":"' + text +
                                 '","type":"input_audio_buffer.append"}')
                socket.send_json(type="input_audio_buffer.commit")
                event = socket.receive_json()
                while not event["type"].endswith("transcription.completed"):
                    event = socket.receive_json()
                transcripts.append(event["transcript"])
        assert transcripts == [TEXTS[LONGEST]] * 2


@pytest.mark.parametrize("text", [
    '{"type":"x","a":[' + "1," * 500000 + "1]}",
    '{"type":"input_audio_buffer.append","audio":"AAAA","a":[' + "{}," * 100000 + "{}]}",
    '{"type":"session.update","session":{"include":["' + "a" * 100000 + '"]}}',
    '{"type":"input_audio_buffer.append","a":{"audio":"' + "A" * 100000 + '"}}',
    "[" * 100000,
], ids=["numbers", "values after audio", "string", "audio within", "depth"])
def test_a_long_event_is_audio_or_refused(text):
    with Server() as server, server.open("/v1/realtime") as socket:
        socket.receive_json()
        socket.send_text(text)
        error = socket.receive_json()["error"]
        assert error["code"] == "invalid_event" and "65536 bytes" in error["message"]
        socket.send_json(type="input_audio_buffer.clear")
        assert socket.receive_json()["type"] == "input_audio_buffer.cleared"


def test_what_takes_long_delays_nobody():
    """Hotwords, packets of Opus and long messages of one client, beside a stream of another."""
    words = [f"{a} {b} {c}" for a in ("one", "two", "three") for b in ("four", "five", "six")
             for c in ("seven", "eight", "nine", "zero")]
    with Server() as server:
        neighbour = Neighbour(server)
        others = []
        for _ in range(20):
            others.append(server.open())
            start(others[-1], 16000, hotwords="\n".join(words * 50))
            others[-1].send_bytes(bytes(500000))
            neighbour.go_on(0.04)
        neighbour.finish()
        for socket in others:
            socket.send_json(type="cancel")
            with pytest.raises(Closed):
                while True:
                    json.loads(socket.receive())
        server.wait_for(lambda now: now["runnel_event_loop_delay_seconds_count"] > 0)
