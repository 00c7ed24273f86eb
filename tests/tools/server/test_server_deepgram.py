"""stream_server as clients of Deepgram's live transcription see it."""

import json
import random
import urllib.parse
from typing import Any, Dict, Iterable, List, Sequence

import numpy as np
import pytest

from audio_files import audio_file, g711, opus_packets
from server_process import FILES, LONGEST, TEXTS, Server, cut, pcm16, samples_of
from websocket_client import Refused, WebSocket, request

RAW = {"encoding": "linear16", "sample_rate": 16000}


@pytest.fixture(scope="module", name="server")
def _server():
    with Server() as server:
        yield server


NAME = "ked_year"  # at 16 kHz, the model's rate
SAMPLES = samples_of(NAME)[0]


def open_stream(server: Server, parameters: Dict[str, Any], **options: Any) -> WebSocket:
    query = urllib.parse.urlencode({"model": "nova-3", **parameters}, doseq=True)
    return server.open(f"/v1/listen?{query}", **options)


def results_to_end(socket: WebSocket) -> List[Dict[str, Any]]:
    """All messages after CloseStream; the last is Metadata, and the connection ends normally."""
    socket.send_json(type="CloseStream")
    messages = [socket.receive_json()]
    while messages[-1]["type"] != "Metadata":
        messages.append(socket.receive_json())
    assert socket.close_code() == 1000
    return messages


def finals(messages: Iterable[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return [message for message in messages if message.get("is_final")]


def contents(messages: Iterable[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The final results without what names the request."""
    return [{key: value for key, value in results.items() if key != "metadata"}
            for results in finals(messages)]


def alternative(results: Dict[str, Any]) -> Dict[str, Any]:
    return results["channel"]["alternatives"][0]


def text_of(messages: Iterable[Dict[str, Any]]) -> str:
    texts = [alternative(results)["transcript"] for results in finals(messages)]
    return " ".join(text for text in texts if text)


def transcribe(server: Server, parameters: Dict[str, Any], pieces: Sequence[bytes]
               ) -> List[Dict[str, Any]]:
    with open_stream(server, parameters) as socket:
        for piece in pieces:
            socket.send_bytes(piece)
        return results_to_end(socket)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(int(16000 * seconds), dtype="float32")


AUDIO = {
    "linear16": (RAW, pcm16(SAMPLES)),
    "linear32": ({"encoding": "linear32", "sample_rate": 16000}, SAMPLES.astype("<f4").tobytes()),
    "mulaw": ({"encoding": "mulaw", "sample_rate": 16000}, g711(SAMPLES, "mulaw")),
    "alaw": ({"encoding": "alaw", "sample_rate": 16000}, g711(SAMPLES, "alaw")),
    "stereo": ({**RAW, "channels": 2}, pcm16(np.repeat(SAMPLES, 2))),
    "wav": ({}, audio_file(SAMPLES, 16000, "WAV", "PCM_16")),
    "wav for linear16": ({"encoding": "linear16", "sample_rate": 8000},
                         audio_file(SAMPLES, 16000, "WAV", "PCM_16")),
    "ogg": ({}, audio_file(SAMPLES, 16000, "OGG", "OPUS")),
    "ogg-opus": ({"encoding": "ogg-opus", "sample_rate": 8000},  # the file's rate counts
                 audio_file(SAMPLES, 16000, "OGG", "OPUS")),
}


@pytest.mark.parametrize("kind", AUDIO)
def test_encodings(server, kind):
    parameters, payload = AUDIO[kind]
    messages = transcribe(server, parameters, cut(payload, [3201]))
    assert text_of(messages) == TEXTS[NAME]
    assert messages[-1]["duration"] == pytest.approx(len(SAMPLES) / 16000, abs=1e-3)
    assert messages[-1]["channels"] == 1


def test_opus_packets(server):
    packets, _ = opus_packets(SAMPLES, 16000)
    messages = transcribe(server, {"encoding": "opus", "sample_rate": 48000, "channels": 2},
                          packets)
    assert text_of(messages) == TEXTS[NAME]


@pytest.mark.parametrize("kind", ["linear16", "wav", "ogg"])
def test_any_cut_gives_the_same_results(server, kind):
    parameters, payload = AUDIO[kind]
    whole = contents(transcribe(server, parameters, [payload]))
    seed = random.randrange(2 ** 32)
    for largest in 50, 5000:
        sizes = [random.Random(seed).randint(1, largest) for _ in range(100)]
        some = contents(transcribe(server, parameters, cut(payload, sizes)))
        assert some == whole, f"seed {seed}, pieces of up to {largest} bytes"


def test_interim_results_come_while_audio_is_sent(server):
    with open_stream(server, {**RAW, "interim_results": "true"}) as socket:
        middle = len(SAMPLES) // 2
        socket.send_bytes(pcm16(SAMPLES[:middle]))
        interim = socket.receive_json()
        while not alternative(interim)["transcript"]:
            interim = socket.receive_json()
        assert interim["type"] == "Results" and not interim["is_final"]
        assert not interim["speech_final"] and interim["channel_index"] == [0, 1]
        words = alternative(interim)["words"]
        assert " ".join(word["word"] for word in words) == alternative(interim)["transcript"]
        for word in words:
            assert 0 <= word["start"] < word["end"] <= interim["duration"] + 0.1
            assert 0 < word["confidence"] <= 1
        socket.send_bytes(pcm16(SAMPLES[middle:]))
        messages = results_to_end(socket)
        assert text_of(messages) == TEXTS[NAME]


def test_without_interim_results_only_finals_come(server):
    messages = transcribe(server, RAW, cut(pcm16(SAMPLES), [3200]))
    assert all(message.get("is_final") for message in messages[:-1])


def test_stretches_follow_each_other(server):
    samples = np.concatenate([SAMPLES, silence(2), SAMPLES, silence(2)])
    messages = transcribe(server, {**RAW, "interim_results": "true"}, cut(pcm16(samples), [3200]))
    assert text_of(messages) == f"{TEXTS[NAME]} {TEXTS[NAME]}"
    end = 0.0
    for results in messages[:-1]:
        assert results["start"] == pytest.approx(end)
        if results["is_final"]:
            end += results["duration"]
    assert end == pytest.approx(len(samples) / 16000, abs=0.1)
    speech_finals = [results["speech_final"] for results in finals(messages)]
    assert len(speech_finals) == 3 and all(speech_finals)  # the last one is silent


def test_events_of_speech(server):
    samples = np.concatenate([SAMPLES, silence(3), SAMPLES])
    messages = transcribe(server, {**RAW, "interim_results": "true", "vad_events": "true",
                                   "utterance_end_ms": 1000}, cut(pcm16(samples), [3200]))
    kinds = [message["type"] for message in messages if message["type"] != "Results"]
    assert kinds == ["SpeechStarted", "UtteranceEnd", "SpeechStarted", "Metadata"]
    first = alternative(finals(messages)[0])
    started, ended, *_ = [message for message in messages if message["type"] != "Results"]
    assert started["timestamp"] == first["words"][0]["start"]
    assert ended["last_word_end"] == first["words"][-1]["end"] and ended["channel"] == [0, 1]


def test_endpointing(server):
    close, apart = (pcm16(np.concatenate([SAMPLES, silence(seconds), SAMPLES]))
                    for seconds in (0, 2))  # speech ends 0.46 s before the end of SAMPLES
    cases = [(close, {}, [True]), (close, {"endpointing": 500}, [True, True]),
             (apart, {}, [True, True]), (apart, {"endpointing": "false"}, [False, True])]
    for samples, options, speech_final in cases:
        results = finals(transcribe(server, {**RAW, **options}, [samples]))
        assert [result["speech_final"] for result in results] == speech_final
        assert text_of(results) == f"{TEXTS[NAME]} {TEXTS[NAME]}"


def test_finalize_and_keep_alive(server):
    with open_stream(server, RAW) as socket:
        socket.send_json(type="KeepAlive")
        socket.send_json(type="Finalize")  # before any audio
        empty = socket.receive_json()
        assert empty["from_finalize"] and alternative(empty)["transcript"] == ""
        socket.send_bytes(pcm16(SAMPLES))
        socket.send_json(type="Finalize")
        flushed = socket.receive_json()
        assert flushed["is_final"] and flushed["from_finalize"]
        assert alternative(flushed)["transcript"] == TEXTS[NAME]
        socket.send_json(type="Finalize")
        again = socket.receive_json()
        assert again["from_finalize"] and alternative(again)["transcript"] == ""
        assert again["start"] == pytest.approx(flushed["duration"])
        socket.send_bytes(pcm16(SAMPLES))
        messages = results_to_end(socket)
        assert text_of(messages) == TEXTS[NAME] and not messages[0]["from_finalize"]


def test_speech_ends_after_finalize(server):
    with open_stream(server, {**RAW, "endpointing": 500}) as socket:
        for _ in range(2):
            socket.send_bytes(pcm16(SAMPLES))
            socket.send_json(type="Finalize")
            flushed = socket.receive_json()
            assert alternative(flushed)["transcript"] == TEXTS[NAME]
            assert flushed["from_finalize"] and not flushed["speech_final"]
            socket.send_bytes(pcm16(silence(2)))
            ended = socket.receive_json()
            assert ended["speech_final"] and alternative(ended)["transcript"] == ""
            assert ended["start"] == pytest.approx(flushed["start"] + flushed["duration"])


def test_warnings(server):
    options = {"profanity_filter": "true", "numerals": "false", "language": "en"}
    for parameters in {**RAW, **options}, RAW:
        metadata = transcribe(server, parameters, [pcm16(SAMPLES)])[-1]
        named = [warning["parameter"] for warning in metadata.get("warnings", [])]
        assert named == ([] if parameters is RAW else ["profanity_filter", "language"])


def test_parameters_with_an_obvious_meaning(server):
    """What frameworks send by default is served or has a warning."""
    options = {"alternatives": "1", "utterances": "true", "vad_turnoff": "500", "tier": "enhanced",
               "detect_language": "true", "extra": ["call:7:b", "line:2"]}
    metadata = transcribe(server, {**RAW, **options}, [pcm16(SAMPLES)])[-1]
    assert metadata["extra"] == {"call": "7:b", "line": "2"}
    assert [warning["parameter"] for warning in metadata["warnings"]] == [
        "utterances", "detect_language"]


def test_paragraphs_of_a_recording(server):
    audio = FILES[NAME].read_bytes()
    query = "paragraphs=true&detect_language=true&interim_results=true&extra=a:b&alternatives=1"
    reply = request(server.port, f"/v1/listen?{query}", "POST", audio).json()
    alternative = reply["results"]["channels"][0]["alternatives"][0]
    paragraphs = alternative["paragraphs"]
    assert paragraphs["transcript"].split() == TEXTS[NAME].split()
    sentences = [sentence for paragraph in paragraphs["paragraphs"]
                 for sentence in paragraph["sentences"]]
    assert " ".join(sentence["text"] for sentence in sentences) == TEXTS[NAME]
    assert sum(p["num_words"] for p in paragraphs["paragraphs"]) == len(TEXTS[NAME].split())
    assert reply["metadata"]["extra"] == {"a": "b"}
    assert [warning["parameter"] for warning in reply["metadata"]["warnings"]] == [
        "interim_results", "detect_language"]


def test_no_audio(server):
    for parameters in {}, RAW:
        messages = transcribe(server, parameters, [])
        assert text_of(messages) == "" and messages[-1]["duration"] == 0


def test_keywords(server):
    for options in [{"keyterm": ["two zero", "sixteen"]}, {"keywords": ["two:2", "zero:-3"]}]:
        messages = transcribe(server, {**RAW, **options}, [pcm16(SAMPLES)])
        assert text_of(messages) == TEXTS[NAME]


def test_credentials(tmp_path):
    (tmp_path / "token").write_text("s3cret\n")
    with Server(f"--bearer_token_file={tmp_path / 'token'}") as server:
        for headers in [{}, {"Authorization": "Token wrong"},
                        {"Sec-WebSocket-Protocol": "token, wrong"}]:
            with pytest.raises(Refused) as refused:
                open_stream(server, RAW, headers=headers)
            assert refused.value.status == 401
        for headers, chosen in [({"Authorization": "Token s3cret"}, None),
                                ({"Authorization": "Bearer s3cret"}, None),
                                ({"Sec-WebSocket-Protocol": "token, s3cret"}, "token"),
                                ({"Sec-WebSocket-Protocol": "bearer, s3cret"}, "bearer")]:
            with open_stream(server, RAW, headers=headers) as socket:
                assert socket.headers.get("sec-websocket-protocol") == chosen
                assert socket.headers["dg-request-id"]
                assert text_of(results_to_end(socket)) == ""


@pytest.mark.parametrize("parameters, message", [
    ({"encoding": "flac"}, "encoding is 'flac'"),
    ({"encoding": "linear16"}, "sample_rate is ''"),
    ({**RAW, "multichannel": "true", "channels": 2}, "multichannel is 'true'"),
    ({**RAW, "utterance_end_ms": 1000}, "utterance_end_ms is '1000'"),
    ({**RAW, "redact": "pci"}, "redact is 'pci', expected false or none"),
])
def test_a_wrong_query_is_refused(server, parameters, message):
    with pytest.raises(Refused) as refused:
        open_stream(server, parameters)
    assert refused.value.status == 400
    error = json.loads(refused.value.body)
    assert error["err_code"] == "INVALID_QUERY_PARAMETER" and message in error["err_msg"]
    assert error["err_msg"] == refused.value.headers["dg-error"]
    assert error["request_id"] == refused.value.headers["dg-request-id"]


def test_other_refusals_are_in_the_same_words(tmp_path):
    (tmp_path / "token").write_text("s3cret")
    with Server(f"--bearer_token_file={tmp_path / 'token'}", "--max_streams=1") as server:
        key = {"Authorization": "Token s3cret"}
        for target, headers, status, code in [
                ("/v1/listen", {}, 401, "INVALID_AUTH"),
                ("/v2/listen", key, 404, "UNKNOWN_VERSION"),
                ("/v1/listen/?encoding=flac", key, 400, "INVALID_QUERY_PARAMETER")]:
            with pytest.raises(Refused) as refused:
                server.open(target=target, headers=headers)
            assert refused.value.status == status
            assert json.loads(refused.value.body)["err_code"] == code
        with server.open(target="/v1/listen", headers=key):
            with pytest.raises(Refused) as refused:
                server.open(target="/v1/listen", headers=key)
            assert refused.value.status == 503
            assert json.loads(refused.value.body)["err_code"] == "FULL"


@pytest.mark.parametrize("parameters, audio, reason", [
    ({}, b"FORM" + bytes(4) + b"AIFFCOMM" + bytes(100), "DATA-0000: the audio is AIFF"),
    ({}, b"OggS" + bytes(24) + b"OpusHead" + bytes(100), "DATA-0000: the Ogg Opus audio: "),
    ({}, b"\x1a\x45\xdf\xa3" + bytes(range(256)) * 50,
     "DATA-0000: the audio is WebM or Matroska and cannot be opened ("),
    ({}, b"\x1f\x43\xb6\x75" + bytes(100),
     "DATA-0000: the audio is WebM or Matroska without its beginning"),
    ({**RAW}, b"\x1f\x43\xb6\x75" + bytes(100),
     "DATA-0000: the audio is WebM or Matroska without its beginning"),
    ({**RAW}, bytes(3) + b"\x10moof" + bytes(100),
     "DATA-0000: the audio is fragments of MP4 without their beginning"),
    ({"encoding": "mulaw", "sample_rate": 8000}, b"fLaC" + bytes(100),
     "DATA-0000: the audio is FLAC, expected mulaw without a header"),
    ({"encoding": "linear32", "sample_rate": 8000}, b"\xff" * 8, "DATA-0000: sample 0 is "),
    ({"encoding": "linear16", "sample_rate": 384000}, bytes(100),
     "DATA-0000: sample_rate is 384000"),
])
def test_audio_that_cannot_be_decoded(server, parameters, audio, reason):
    with open_stream(server, parameters) as socket:
        socket.send_bytes(audio)
        closed = socket.closed()
        assert closed.code == 1008 and closed.reason.startswith(reason), closed


def test_idle_clients():
    with Server("--idle_timeout_s=0.5") as server, open_stream(server, RAW) as socket:
        socket.send_bytes(pcm16(SAMPLES))
        closed = socket.closed()
        assert closed.code == 1011 and closed.reason.startswith("NET-0001: no message for 0.5 s")


def test_limits():
    with Server("--max_streams=1", "--max_message_bytes=5000", "--max_audio_s=1") as server:
        with open_stream(server, RAW) as socket:
            with pytest.raises(Refused) as refused:
                open_stream(server, RAW)
            assert refused.value.status == 503
            socket.send_bytes(bytes(5001))
            assert socket.closed().code == 1009
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        with open_stream(server, RAW) as socket:
            for piece in cut(bytes(40000), [5000]):
                socket.send_bytes(piece)
            closed = socket.closed()
            assert closed.code == 1008 and closed.reason.startswith("audio_limit: "), closed


def test_drain():
    with (Server("--drain_timeout_s=0") as server,
          open_stream(server, {**RAW, "interim_results": "true"}) as socket):
        socket.send_bytes(pcm16(SAMPLES))
        socket.receive_json()
        server.signal()
        closed = socket.closed()
        assert closed.code == 1013 and closed.reason == "draining: the server is shutting down"
        assert server.exit_code() == 0


def test_streams_are_counted(server):
    series = 'runnel_streams_total{protocol="deepgram"}'
    before = server.metrics().get(series, 0)
    assert text_of(transcribe(server, RAW, [pcm16(SAMPLES)])) == TEXTS[NAME]
    assert server.metrics()[series] == before + 1


def test_long_recording(server):
    samples, rate = samples_of(LONGEST)
    messages = transcribe(server, {"encoding": "linear16", "sample_rate": rate},
                          cut(pcm16(samples), [1601]))
    assert text_of(messages) == TEXTS[LONGEST]


def test_rates_above_the_limit(server):
    """The message names the limit of the server and its flag, also far above it."""
    for rate in 384000, 1000000:
        with open_stream(server, {**RAW, "sample_rate": rate}) as socket:
            socket.send_bytes(bytes(100))
            closed = socket.closed()
            assert closed.code == 1008 and closed.reason.startswith(
                f"DATA-0000: sample_rate is {rate}, expected at most "), closed
            assert closed.reason.endswith("on this server (--max_sample_rate)")
