"""OpenAI's Realtime protocol over sockets: items, limits, errors, the end."""

import base64
import json
import random

import numpy as np
import pytest

from audio_files import g711
from server_process import FILES, LONGEST, TEXTS, Server, cut, pcm16, samples_of
from websocket_client import Closed, Refused, request

DELTA = "conversation.item.input_audio_transcription.delta"
COMPLETED = "conversation.item.input_audio_transcription.completed"
TALK = "ked_year", "diogo_one_word"  # both at 16 kHz
ITEM = ["input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed", "conversation.item.added", "conversation.item.done",
        COMPLETED]


@pytest.fixture(scope="module", name="server")
def _server():
    with Server() as server:
        yield server


def session(turn_detection=None, **audio):
    return {"type": "session.update", "session": {"type": "transcription", "audio": {
        "input": {"turn_detection": turn_detection, **audio}}}}


def connect(server, update, **options):
    """A session with these settings."""
    options.setdefault("target", "/v1/realtime?model=digits")
    socket = server.open(**options)
    assert socket.receive_json()["type"] == "session.created"
    socket.send_json(**update)
    assert socket.receive_json()["type"] == "session.updated"
    return socket


def append(socket, payload):
    socket.send_json(type="input_audio_buffer.append", audio=base64.b64encode(payload).decode())


def format_of(rate):
    return {"type": "audio/pcm", "rate": rate}


def talk():
    """Two recordings with a second of silence after each, and their rate."""
    parts = []
    for name in TALK:
        samples, rate = samples_of(name)
        parts += [samples, np.zeros(rate, np.float32)]
    return np.concatenate(parts), rate


def events_until(socket, kind, count=1):
    events = []
    while sum(event["type"] == kind for event in events) < count:
        events.append(socket.receive_json())
        assert events[-1]["type"] != "error", events[-1]
    return events


def items_of(events):
    """What does not depend on the pace: all but the deltas, and the deltas of each item joined."""
    others, deltas = [], {}
    for event in events:
        if event["type"] == DELTA:
            deltas[event["item_id"]] = deltas.get(event["item_id"], "") + event["delta"]
        else:
            others.append({key: value for key, value in event.items()
                           if key not in ("event_id", "item_id", "previous_item_id", "item")})
    return others, list(deltas.values())


def test_utterances_do_not_depend_on_the_cut(server):
    samples, rate = talk()
    payload = pcm16(samples)
    seed = random.randrange(1 << 30)
    generator = random.Random(seed)
    results = []
    for sizes in [len(payload)], [3200], [generator.randrange(1, 9999) for _ in range(50)]:
        with connect(server, session({"type": "server_vad", "silence_duration_ms": 700},
                                     format=format_of(rate))) as socket:
            for piece in cut(payload, sizes):
                append(socket, piece)
            results.append(items_of(events_until(socket, COMPLETED, 2)))
    others, deltas = results[0]
    assert [event["type"] for event in others] == ITEM * 2
    assert [event["transcript"] for event in others[5::6]] == deltas == [
        TEXTS[name] for name in TALK]
    assert 0 <= others[0]["audio_start_ms"] < others[1]["audio_end_ms"] < others[6][
        "audio_start_ms"] < others[7]["audio_end_ms"]
    assert sum(event["usage"]["seconds"] for event in others[5::6]) <= len(samples) / rate
    assert results[1] == results[2] == results[0], f"seed {seed}"


@pytest.mark.parametrize("name", TEXTS)
def test_committed_items(server, name):
    samples, rate = samples_of(name)
    with connect(server, session(format=format_of(rate))) as socket:
        for piece in cut(pcm16(samples), [6400]):
            append(socket, piece)
        socket.send_json(type="input_audio_buffer.commit")
        others, deltas = items_of(events_until(socket, COMPLETED))
        assert [event["type"] for event in others] == ITEM[2:]
        assert deltas == [others[-1]["transcript"]] == [TEXTS[name]]
        # A second item in the same session, after one that was cleared.
        append(socket, pcm16(samples))
        socket.send_json(type="input_audio_buffer.clear")
        append(socket, pcm16(samples))
        socket.send_json(type="input_audio_buffer.commit")
        completed = events_until(socket, COMPLETED)[-1]
        assert completed["transcript"] == TEXTS[name]


def test_clear_drops_what_the_server_ended(server):
    """With turn detection: nothing of the cleared audio comes, and the next item is whole."""
    samples, rate = talk()
    with connect(server, session({"type": "server_vad"}, format=format_of(rate))) as socket:
        append(socket, pcm16(samples))
        socket.send_json(type="input_audio_buffer.clear")
        assert events_until(socket, "input_audio_buffer.cleared")
        append(socket, pcm16(samples))
        others, deltas = items_of(events_until(socket, COMPLETED, 2))
    transcripts = [event["transcript"] for event in others if event["type"] == COMPLETED]
    assert deltas == transcripts == [TEXTS[name] for name in TALK]


def test_a_large_append(server):
    """More than --max_message_bytes of audio in one event."""
    samples, rate = samples_of(LONGEST)
    audio = np.concatenate([samples, np.zeros(25 * 48000, np.float32)])
    with connect(server, session(format=format_of(rate))) as socket:
        append(socket, pcm16(audio))
        socket.send_json(type="input_audio_buffer.commit")
        assert events_until(socket, COMPLETED)[-1]["transcript"] == TEXTS[LONGEST]


def test_telephone_audio(server):
    samples, rate = samples_of("rms_telephone")
    assert rate == 8000
    with connect(server, session(format={"type": "audio/pcmu"})) as socket:
        append(socket, g711(samples, "mulaw"))
        socket.send_json(type="input_audio_buffer.commit")
        assert events_until(socket, COMPLETED)[-1]["transcript"] == TEXTS["rms_telephone"]


def test_keywords_need_no_beam_search_of_the_server(server):
    samples, rate = samples_of(LONGEST)
    with connect(server, session(format=format_of(rate), transcription={
            "model": "any", "language": "xx", "keywords": ["five", "Ünspellable!"],
            "prompt": "zero, one"})) as socket:
        append(socket, pcm16(samples))
        socket.send_json(type="input_audio_buffer.commit")
        assert events_until(socket, COMPLETED)[-1]["transcript"] == TEXTS[LONGEST]


def test_mistakes_leave_the_session_open(server):
    samples, rate = samples_of(LONGEST)
    with connect(server, session(format=format_of(rate))) as socket:
        for message, code in [("{", "invalid_event"),
                              ('{"type":"response.create"}', "invalid_value"),
                              ('{"type":"input_audio_buffer.commit","event_id":"mine"}',
                               "input_audio_buffer_commit_empty")]:
            socket.send_text(message)
            event = socket.receive_json()
            assert event["type"] == "error" and event["error"]["code"] == code
            assert set(event["error"]) == {"type", "code", "message", "param", "event_id"}
        assert event["error"]["event_id"] == "mine"
        append(socket, pcm16(samples))
        socket.send_json(type="input_audio_buffer.commit")
        assert events_until(socket, COMPLETED)[-1]["transcript"] == TEXTS[LONGEST]


def closing_of(socket):
    """The last event, and how the server closed."""
    last = {}
    with pytest.raises(Closed) as closed:
        while True:
            last = socket.receive_json()
    return last, closed.value


def test_wrong_intents(server):
    with server.open(target="/v1/realtime?intent=conversation") as socket:
        event, closed = closing_of(socket)
        assert event["type"] == "error" and "intent" in event["error"]["message"]
        assert (closed.code, closed.reason) == (4000, "invalid_request_error.invalid_intent")


def test_large_messages():
    samples, rate = samples_of(LONGEST)
    payload = pcm16(samples)
    with Server(f"--max_message_bytes={len(payload) // 15 + 1}") as server:
        with connect(server, session(format=format_of(rate))) as socket:
            append(socket, payload)  # base64 takes a third more
            socket.send_json(type="input_audio_buffer.commit")
            assert events_until(socket, COMPLETED)[-1]["transcript"] == TEXTS[LONGEST]
            append(socket, payload * 2)
            event, closed = closing_of(socket)
            assert event["error"]["code"] == "message_too_large"
            assert (closed.code, closed.reason) == (
                4000, "invalid_request_error.message_too_large")
        server.expect_rejections("message_too_large", 1)


def test_limits_and_draining():
    samples, rate = samples_of(LONGEST)
    with Server("--max_streams=1", "--max_audio_s=2", "--drain_timeout_s=0") as server:
        with connect(server, session(format=format_of(rate))) as socket:
            with pytest.raises(Refused) as refused:
                server.open(target="/v1/realtime?intent=transcription")
            assert refused.value.status == 503
            assert refused.value.error == {"message": "too many streams", "type": "server_error",
                                           "param": None, "code": "full"}
            assert refused.value.headers["x-request-id"]
            append(socket, pcm16(samples))
            event, closed = closing_of(socket)
            assert event["error"]["code"] == "audio_limit" and closed.code == 4000
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        with connect(server, session(format=format_of(rate))) as socket:
            server.signal()
            event, closed = closing_of(socket)
            assert event["error"]["type"] == "server_error"
            assert (closed.code, closed.reason) == (4000, "server_error.draining")
        assert server.exit_code() == 0


def test_tokens_and_subprotocols(tmp_path):
    (tmp_path / "token").write_text("s3cret")
    offer = "realtime, openai-insecure-api-key.{}, openai-beta.realtime-v1".format
    with Server(f"--bearer_token_file={tmp_path / 'token'}") as server:
        options = {"target": "/v1/realtime?intent=transcription"}
        with pytest.raises(Refused) as refused:
            server.open(headers={"Sec-WebSocket-Protocol": offer("wrong")}, **options)
        assert refused.value.status == 401
        assert refused.value.error["type"] == "invalid_request_error"
        for headers in {"Sec-WebSocket-Protocol": offer("s3cret")}, {
                "Authorization": "Bearer s3cret", "OpenAI-Beta": "realtime=v1"}:
            with server.open(headers=headers, **options) as socket:
                assert socket.headers.get("sec-websocket-protocol") == (
                    "realtime" if "Sec-WebSocket-Protocol" in headers else None)
                assert socket.receive_json()["type"] == "transcription_session.created"
                socket.send_json(type="transcription_session.update", session={
                    "input_audio_format": "g711_ulaw", "turn_detection": None})
                updated = socket.receive_json()
                assert updated["type"] == "transcription_session.updated"
                assert updated["session"]["input_audio_format"] == "g711_ulaw"


def test_streams_are_counted_with_the_first_audio(server):
    series = 'runnel_streams_total{protocol="openai"}'
    before = server.metrics().get(series, 0)
    with connect(server, session()) as socket:
        assert server.metrics().get(series, 0) == before
        append(socket, bytes(4800))
        server.wait_for(lambda now: now[series] == before + 1)


def test_other_protocols_keep_their_paths(server):
    """A recording on the port of live sessions."""
    answer = request(server.port, "/v1/recognize", "POST", FILES[LONGEST].read_bytes())
    assert json.loads(answer.body)["text"] == TEXTS[LONGEST]
