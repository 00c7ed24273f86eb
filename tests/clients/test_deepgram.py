"""Deepgram's SDK for JavaScript, and programs that do without it."""

import base64
import hashlib
import json

import pytest
import soundfile

from audio_files import g711, opus_packets
from real_clients import Clients, recognised_text, twice_with_silence
from server_process import Server, samples_of

RAW = {"encoding": "linear16", "sample_rate": 16000}
SDK, BROWSER, RECORDINGS = ("deepgram_sdk.mjs", "deepgram_browser.mjs",
                            "deepgram_recordings.mjs")


def sdk(server, wav, **options):
    """The outcome of a stream that the server ended normally, before any other was opened."""
    outcome = Clients(SDK, url=server.url, wav=wav, **options).outcome()
    assert "error" not in outcome and outcome["code"] == 1000 and outcome["openings"] == 1, outcome
    assert outcome["early"] and outcome["kinds"][-1] == "Metadata"
    return outcome


def test_options(server, wav, text):
    outcome = sdk(server, wav, parameters={
        **RAW, "vad_events": "true", "utterance_end_ms": 1000, "endpointing": 300,
        "smart_format": "true", "language": "en", "keyterm": ["two zero", "sixteen"],
        "channels": 1})
    assert outcome["text"] == text
    assert outcome["kinds"][:2] == ["SpeechStarted", "Results"]


def test_keywords_of_earlier_models(server, wav, text):
    outcome = sdk(server, wav, parameters={
        **RAW, "model": "nova-2", "keywords": ["two:2", "zero:-3"]})
    assert outcome["text"] == text


def test_utterances_and_their_events(server, wav, text, tmp_path):
    path = twice_with_silence(wav, tmp_path / "talk.wav")
    outcome = sdk(server, path, parameters={
        "vad_events": "true", "utterance_end_ms": 1000, "endpointing": 500})
    spoken = [final for final in outcome["finals"] if final["transcript"]]
    assert [final["transcript"] for final in spoken] == [text, text]
    assert all(final["speechFinal"] for final in spoken)
    events = [kind for kind in outcome["kinds"] if kind != "Results"]
    assert events == ["SpeechStarted", "UtteranceEnd"] * 2 + ["Metadata"]
    assert 0 < outcome["events"]["UtteranceEnd"]["last_word_end"]


def test_without_endpointing(server, wav, text, tmp_path):
    path = twice_with_silence(wav, tmp_path / "talk.wav")
    outcome = sdk(server, path, parameters={"endpointing": "false"})
    assert outcome["text"] == f"{text} {text}"
    *others, last = outcome["finals"]
    assert last["speechFinal"] and not any(final["speechFinal"] for final in others)


def test_keep_alive_and_finalize(server, wav, text):
    outcome = sdk(server, wav, beforeClose=["KeepAlive", "Finalize"])
    finals = [final for final in outcome["finals"] if final["fromFinalize"]]
    assert [final["transcript"] for final in finals] == [text]
    assert outcome["text"] == text


def test_telephone_audio(server, tmp_path):
    samples, rate = samples_of("rms_telephone")
    raw, wav = tmp_path / "raw", tmp_path / "telephone.wav"
    raw.write_bytes(g711(samples, "mulaw"))
    soundfile.write(wav, samples, rate, subtype="ULAW")
    outcome = sdk(server, raw, parameters={"encoding": "mulaw", "sample_rate": rate})
    assert outcome["text"] == recognised_text(wav)


def test_opus_packets(server, wav, text, tmp_path):
    packets, _ = opus_packets(*soundfile.read(wav, dtype="float32"))
    path = tmp_path / "packets.json"
    path.write_text(json.dumps([base64.b64encode(packet).decode() for packet in packets]))
    outcome = sdk(server, wav, packets=path,
                  parameters={"encoding": "opus", "sample_rate": 48000})
    assert outcome["text"] == text


def test_credentials_of_browsers(server, wav):
    assert Clients(BROWSER, url=server.url, wav=wav).outcome()["protocol"] == "token"


@pytest.mark.parametrize("program", [SDK, BROWSER])
def test_errors(server, wav, program, tmp_path):
    """A refused query is an error of the client; wrong audio is a close code with a reason."""
    refused = Clients(program, url=server.url, wav=wav,
                      parameters={"encoding": "flac"}).outcome()
    assert "400" in refused["error"] and refused["openings"] == 0, refused
    aiff = tmp_path / "wrong.aiff"
    soundfile.write(aiff, *soundfile.read(wav))
    closed = Clients(program, url=server.url, wav=aiff).outcome()
    assert closed["code"] == 1008 and closed["reason"].startswith("DATA-0000: the audio is AIFF")


def test_recordings(server, wav, text):
    outcome = Clients(RECORDINGS, url=server.url, wav=wav,
                      parameters={"smart_format": "true", "language": "en",
                                  "keyterm": ["two zero"], "numerals": "true",
                                  "detect_language": "false"}).outcome()
    assert outcome["text"] == text
    samples, rate = soundfile.read(wav)
    metadata, results = outcome["reply"]["metadata"], outcome["reply"]["results"]
    assert metadata["duration"] == pytest.approx(len(samples) / rate, abs=1e-3)
    assert metadata["channels"] == 1 and metadata["request_id"]
    assert metadata["sha256"] == hashlib.sha256(wav.read_bytes()).hexdigest()
    assert [warning["parameter"] for warning in metadata["warnings"]] == [
        "numerals", "language"]
    (model,) = metadata["models"]
    assert metadata["model_info"][model]["name"] == model == "digits"
    (alternative,) = results["channels"][0]["alternatives"]
    assert 0 < alternative["confidence"] <= 1
    assert [word["punctuated_word"] for word in alternative["words"]] == text.split()
    for word in alternative["words"]:
        assert 0 <= word["start"] < word["end"] <= metadata["duration"]
        assert 0 < word["confidence"] <= 1
    assert "utterances" not in results


def test_utterances_of_a_recording(server, wav, text, tmp_path):
    path = twice_with_silence(wav, tmp_path / "talk.wav")
    outcome = Clients(RECORDINGS, url=server.url, wav=path,
                      parameters={"utterances": "true", "utt_split": 0.5}).outcome()
    assert outcome["text"] == f"{text} {text}"
    first, second = outcome["reply"]["results"]["utterances"]
    assert first["transcript"] == second["transcript"] == text
    assert first["words"][0]["start"] < first["end"] < second["start"] < second["end"]
    assert first["id"] != second["id"]


def test_errors_of_recordings(wav, tmp_path):
    (tmp_path / "token").write_text("secret", encoding="utf-8")
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 4)
    with Server(f"--bearer_token_file={tmp_path / 'token'}") as server:
        def refused(**options):
            outcome = Clients(RECORDINGS, **{"url": server.url, "wav": wav, "key": "secret",
                                             **options}).outcome()
            assert outcome["body"]["request_id"]
            return outcome["status"], outcome["body"]["err_code"], outcome["body"]["err_msg"]

        assert refused(key="wrong") == (401, "INVALID_AUTH", "expected a bearer token")
        assert refused(parameters={"utterances": "yes"}) == (
            400, "INVALID_QUERY_PARAMETER", "utterances is 'yes', expected true or false")
        assert refused(parameters={"multichannel": "true"}) == (
            400, "INVALID_QUERY_PARAMETER",
            "multichannel is 'true', expected false: the channels are mixed")
        assert refused(parameters={"callback": "https://example.org/"}) == (
            400, "INVALID_QUERY_PARAMETER",
            "callback is 'https://example.org/', expected none: the reply has the result")
        assert refused(parameters={"diarize": "true"}) == (
            400, "INVALID_QUERY_PARAMETER",
            "diarize is 'true', expected false or none: this server has no such parameter")
        assert refused(parameters={"utterances": "true", "utt_split": "1s"}) == (
            400, "INVALID_QUERY_PARAMETER",
            "utt_split is '1s', expected a number from 0 to 86400")
        assert refused(remote="https://example.org/a.wav") == (
            400, "BAD_MESSAGE",
            "the body is JSON, expected an audio file: this server fetches no URL")
        status, code, message = refused(wav=tmp_path / "noise")
        assert (status, code) == (400, "BAD_MESSAGE") and "the recording" in message
