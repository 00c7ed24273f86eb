"""Frameworks for voice agents: LiveKit's Deepgram plugin for JavaScript in sessions of turns, and
what frameworks for Python send by their sources (LiveKit 1.7, Pipecat 1.7), sent by clients for
JavaScript: their packages are not installed here. test_openai.py has their sessions of OpenAI's
interface."""

import pytest

from real_clients import Clients
from riva_client import PROTOS
from server_process import Server

LIVEKIT, SESSION = "livekit_stt.mjs", "livekit_session.mjs"
SDK, RIVA = "deepgram_sdk.mjs", "riva.mjs"
INTERIM = "INTERIM_TRANSCRIPT"
A_TURN = ["START_OF_SPEECH", "FINAL_TRANSCRIPT", "END_OF_SPEECH"]
STREAMS = 'runnel_streams_total{protocol="deepgram"}'

# The parameters of LiveKit's SpeechStream._connect_ws and of Pipecat's _build_connect_kwargs, with
# the defaults of both.
DEEPGRAM = {
    "LiveKit": {
        "model": "nova-3", "punctuate": "true", "smart_format": "false", "no_delay": "true",
        "interim_results": "true", "encoding": "linear16", "vad_events": "true",
        "sample_rate": 16000, "channels": 1, "endpointing": 25, "filler_words": "true",
        "profanity_filter": "false", "numerals": "false", "mip_opt_out": "false",
        "language": "en-US"},
    "Pipecat": {
        "detect_entities": "false", "diarize": "false", "dictation": "false",
        "interim_results": "true", "numerals": "false", "profanity_filter": "true",
        "punctuate": "true", "smart_format": "false", "model": "nova-3-general", "language": "en",
        "encoding": "linear16", "channels": "1", "multichannel": "false", "sample_rate": "16000"},
}
# The same of LiveKit's _create_streaming_config, with an empty model, and of Pipecat's
# _create_recognition_config.
NVIDIA = {
    "LiveKit": {
        "encoding": "LINEAR_PCM", "languageCode": "en-US", "model": "", "maxAlternatives": 1,
        "enableAutomaticPunctuation": True, "sampleRateHertz": 16000, "audioChannelCount": 1,
        "enableWordTimeOffsets": True},
    "Pipecat": {
        "encoding": "LINEAR_PCM", "languageCode": "en-US", "model": "", "maxAlternatives": 1,
        "profanityFilter": False, "enableAutomaticPunctuation": True, "verbatimTranscripts": True,
        "sampleRateHertz": 16000, "audioChannelCount": 1, "enableWordTimeOffsets": False,
        "endpointingConfig": {"stopHistory": 320}},
}


@pytest.fixture(scope="module", name="server")
def _server():
    with Server("--grpc_port=0", "--max_streams_per_address=0") as server:
        yield server


def livekit(server, wav, **stt):
    """What LiveKit's plugin hears with these options."""
    more = {name: stt.pop(name) for name in ("service", "turns", "flush", "keepAlives", "key",
                                             "recorded") if name in stt}
    return Clients(LIVEKIT, url=server.url, wav=wav, stt=stt, **more).outcome()


@pytest.mark.parametrize("flush", [False, True])
def test_turns_of_a_session(server, wav, text, flush):
    """All in one connection: the server finds each end of speech, or the agent ends each turn
    before the silence. The recording's own silence at its end is shorter than 500 ms. Later turns
    are sent at once, so their final text may come before any interim text."""
    before = server.metrics().get(STREAMS, 0)
    outcome = livekit(server, wav, turns=3, flush=flush, endpointing=500 if flush else 300)
    assert "error" not in outcome and outcome["early"]
    assert outcome["turns"] == [text] * 3
    assert outcome["events"][1] == INTERIM
    assert [event for event in outcome["events"] if event != INTERIM] == A_TURN * 3
    assert server.metrics()[STREAMS] == before + 1


def test_an_agent(server, wav, text):
    """The turns of a whole session of LiveKit's framework."""
    outcome = Clients(SESSION, url=server.url, wav=wav, turns=3).outcome()
    assert "error" not in outcome and outcome["early"]
    assert outcome["turns"] == [text] * 3
    assert outcome["states"] == ["speaking", "listening"] * 3


def test_keep_alive(server, wav, text):
    outcome = livekit(server, wav, keepAlives=3)
    assert "error" not in outcome and outcome["turns"] == [text]


def test_options(server, wav, text):
    outcome = livekit(server, wav, language="en", keyterm=["two zero", "sixteen"],
                      keywords=[["two", 2], ["zero", -3]], utteranceEndMs=1000, numerals=True,
                      profanityFilter=True, model="nova-2")
    assert "error" not in outcome and outcome["turns"] == [text]


@pytest.mark.parametrize("service", ["deepgram", "openai"])
def test_a_recording(server, wav, text, service):
    options = {"useRealtime": False} if service == "openai" else {"keyterm": ["two zero"]}
    assert livekit(server, wav, service=service, recorded=True, **options)["text"] == text


def test_turns_with_the_plugin_for_openai(server, wav, text):
    detection = {"type": "server_vad", "silence_duration_ms": 350, "prefix_padding_ms": 600}
    outcome = livekit(server, wav, service="openai", turns=3, model="gpt-4o-transcribe",
                      turnDetection=detection)
    assert "error" not in outcome and outcome["early"]
    assert outcome["turns"] == [text] * 3


@pytest.mark.parametrize("options", [
    {"diarize": True}, {"redact": ["pci"]}, {"replace": {"two": "2"}}, {"search": ["two"]}])
def test_options_that_are_refused(server, wav, options):
    outcome = livekit(server, wav, **options)
    assert "400" in outcome["error"] and not outcome["events"]


def test_a_wrong_key(wav, text, tmp_path):
    (tmp_path / "token").write_text("s3cret")
    with Server(f"--bearer_token_file={tmp_path / 'token'}") as server:
        assert "401" in livekit(server, wav, key="wrong")["error"]
        assert livekit(server, wav, key="s3cret")["turns"] == [text]


def test_agents_that_vanish(server, wav):
    agents = Clients(LIVEKIT, 5, url=server.url, wav=wav)
    agents.wait_until_half_way()
    assert server.metrics()["runnel_streams"] == 5
    agents.vanish()
    server.wait_for(lambda now: now["runnel_streams"] == 0)


@pytest.mark.parametrize("framework", DEEPGRAM)
def test_deepgram_service_in_python(server, wav, text, framework):
    """The framework's VAD ends the turn: Finalize."""
    parameters = {**DEEPGRAM[framework], "endpointing": "false"}
    outcome = Clients(SDK, url=server.url, wav=wav, parameters=parameters,
                      beforeClose=["KeepAlive", "Finalize"]).outcome()
    assert "error" not in outcome and outcome["code"] == 1000 and outcome["early"]
    assert [final["transcript"] for final in outcome["finals"] if final["fromFinalize"]] == [text]
    unused = [warning["parameter"] for warning in outcome["events"]["Metadata"]["warnings"]]
    assert unused == ["profanity_filter"] * (framework == "Pipecat") + ["language"]


@pytest.mark.parametrize("framework", DEEPGRAM)
def test_parameters_of_deepgram_services_as_they_are(server, wav, text, framework):
    outcome = Clients(SDK, url=server.url, wav=wav, parameters=DEEPGRAM[framework]).outcome()
    assert "error" not in outcome and outcome["code"] == 1000 and outcome["text"] == text


@pytest.mark.parametrize("framework", NVIDIA)
def test_nvidia_service_in_python(server, wav, text, framework):
    outcome = Clients(RIVA, url=server.url, wav=wav, proto=PROTOS / "riva_asr.proto",
                      grpc=f"localhost:{server.grpc_port}", config=NVIDIA[framework]).outcome()
    assert "error" not in outcome and outcome["early"] and outcome["text"] == text
