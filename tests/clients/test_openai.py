"""OpenAI's own client for JavaScript: recordings, models, live audio."""

import pathlib

import pytest
import scipy.signal
import soundfile

from audio_files import g711
from real_clients import Clients, recognised_text, twice_with_silence
from server_process import FILES, LONGEST, TEXTS, Server, make_certificate, samples_of
from tool_runner import DIGITS, succeed

KEY = "s3cret"
LIVE_RATE = 24000
MADE = {"general": ["conversation.item.added", "conversation.item.done"],
        "browser": ["conversation.item.added", "conversation.item.done"],
        "beta": ["conversation.item.created"]}


@pytest.fixture(scope="module", name="certificate")
def _certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))[0]


@pytest.fixture(scope="module", name="server")
def _server(certificate, tmp_path_factory):
    """With TLS, which the client for live audio insists on, and a token."""
    token = tmp_path_factory.mktemp("token") / "token"
    token.write_text(KEY)
    with Server(f"--tls_certificate={certificate}",
                f"--tls_key={certificate.with_name('key.pem')}",
                f"--bearer_token_file={token}") as server:
        yield server


@pytest.fixture(scope="module", name="live_wav")
def _live_wav(tmp_path_factory) -> pathlib.Path:
    """The longest recording at the rate of OpenAI's sessions."""
    samples, rate = samples_of(LONGEST)
    path = tmp_path_factory.mktemp("audio") / "live.wav"
    soundfile.write(path, scipy.signal.resample_poly(samples, LIVE_RATE, rate), LIVE_RATE,
                    subtype="PCM_16")
    return path


@pytest.fixture(name="outcome_of")
def _outcome_of(server, certificate):
    """Runs a program to its end."""
    def run(program, wav, **options):
        return Clients(program, certificate=certificate, **{
            "url": server.url, "wav": wav, "key": KEY, **options}).outcome()
    return run


@pytest.fixture(name="live")
def _live(outcome_of):
    """A session that went without an error."""
    def run(wav, **options):
        outcome = outcome_of("openai_live.mjs", wav, **options)
        assert "error" not in outcome and not outcome["errors"] and outcome["early"], outcome
        for item in outcome["items"]:
            assert item["deltas"] == item["transcript"] and item["usage"] == "duration"
        return outcome
    return run


def captions(path: pathlib.Path, name: str) -> str:
    return succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={path}",
                   "--endpointing", f"--format={name}")


def test_recordings_and_models(outcome_of):
    path = FILES[LONGEST]
    outcome = outcome_of("openai_requests.mjs", path)
    formats = outcome["formats"]
    assert formats["json"]["text"] == formats["text"].strip() == recognised_text(path)
    assert outcome["whole"]["text"] == TEXTS[LONGEST]
    for name in "srt", "vtt":
        assert formats[name] == captions(path, name)
    assert formats["verbose_json"]["text"] == TEXTS[LONGEST]
    assert " ".join(word["word"] for word in outcome["words"]["words"]) == TEXTS[LONGEST]
    *deltas, done = outcome["events"]
    assert "".join(event["delta"] for event in deltas) == done["text"] == TEXTS[LONGEST]
    assert outcome["models"] == [outcome["model"]] and outcome["model"]["id"] == "digits"


def test_errors_of_requests(outcome_of):
    failures = outcome_of("openai_requests.mjs", FILES[LONGEST])["failures"]
    expected = {"model": ("NotFoundError", 404, "model_not_found", "model"),
                "format": ("BadRequestError", 400, "bad_option", "response_format"),
                "recording": ("BadRequestError", 400, "bad_message", None),
                "events": ("BadRequestError", 400, "bad_message", None),
                "key": ("AuthenticationError", 401, "invalid_api_key", None)}
    assert set(failures) == set(expected)
    for name, (kind, status, code, param) in expected.items():
        failure = failures[name]
        assert (failure["name"], failure["status"]) == (kind, status)
        assert (failure["code"], failure["param"]) == (code, param)
        assert failure["type"] == "invalid_request_error" and failure["requestID"]


@pytest.mark.parametrize("shape", MADE)
def test_commits(live, live_wav, shape):
    outcome = live(live_wav, shape=shape)
    assert outcome["text"] == recognised_text(live_wav) == TEXTS[LONGEST]
    assert outcome["types"] == ["session.created", "session.updated",
                                "input_audio_buffer.committed", *MADE[shape],
                                "conversation.item.input_audio_transcription.completed"]


# LiveKit's _session_update for a model with hints, and Pipecat's _send_session_update: the
# framework's VAD commits.
AGENTS = {
    "LiveKit": {"transcription": {"model": "gpt-live-transcribe", "languages": ["en"],
                                  "keywords": []}},
    "Pipecat": {"transcription": {"model": "gpt-realtime-whisper", "language": "en"}}}


@pytest.mark.parametrize("framework", AGENTS)
def test_sessions_of_voice_agents(live, live_wav, framework):
    outcome = live(live_wav, input={**AGENTS[framework], "turn_detection": None})
    assert outcome["text"] == TEXTS[LONGEST]


@pytest.mark.parametrize("shape", MADE)
def test_turn_detection(live, live_wav, tmp_path, shape):
    """The server ends the utterances."""
    outcome = live(twice_with_silence(live_wav, tmp_path / "talk.wav"), shape=shape, items=2,
                   input={"turn_detection": {"type": "server_vad", "silence_duration_ms": 1000}})
    assert [item["transcript"] for item in outcome["items"]] == [TEXTS[LONGEST]] * 2
    assert outcome["types"][2:] == [
        "input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed", *MADE[shape],
        "conversation.item.input_audio_transcription.completed"] * 2


@pytest.mark.parametrize("encoding, subtype, names", [
    ("mulaw", "ULAW", {"general": {"format": {"type": "audio/pcmu"}},
                       "beta": {"input_audio_format": "g711_ulaw"}}),
    ("alaw", "ALAW", {"general": {"format": {"type": "audio/pcma"}},
                      "beta": {"input_audio_format": "g711_alaw"}})])
def test_telephone_audio(live, tmp_path, encoding, subtype, names):
    samples, rate = samples_of("rms_telephone")
    raw, wav = tmp_path / "raw", tmp_path / "telephone.wav"
    raw.write_bytes(g711(samples, encoding))
    soundfile.write(wav, samples, rate, subtype=subtype)
    for shape, fields in names.items():
        outcome = live(raw, raw=True, shape=shape, input=fields)
        assert outcome["text"] == recognised_text(wav)


def test_errors_leave_the_session_open(outcome_of, live_wav):
    outcome = outcome_of("openai_live.mjs", live_wav, mistake=True)
    (error,) = outcome["errors"]
    assert error.pop("message") and error == {
        "kind": "OpenAIRealtimeError", "type": "invalid_request_error",
        "code": "input_audio_buffer_commit_empty", "id": "mistake"}
    assert outcome["text"] == TEXTS[LONGEST]


def test_errors_that_end_the_session(outcome_of, live_wav, certificate):
    with Server(f"--tls_certificate={certificate}",
                f"--tls_key={certificate.with_name('key.pem')}", "--max_audio_s=1") as server:
        outcome = outcome_of("openai_live.mjs", live_wav, url=server.url)
    (error,) = outcome["errors"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "audio_limit")
    assert outcome["code"] == 4000 and outcome["reason"] == "invalid_request_error.audio_limit"


def test_a_wrong_key(outcome_of, live_wav):
    assert "401" in outcome_of("openai_live.mjs", live_wav, key="wrong")["error"]
    assert "401" in outcome_of("openai_recordings.mjs", live_wav, key="wrong")["error"]
