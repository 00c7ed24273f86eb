"""Clients of Vosk's server."""

from real_clients import Clients, twice_with_silence
from server_process import Server


def test_connection_that_ends(wav):
    with Server("--max_audio_s=0.5") as server:
        outcome = Clients("vosk.py", url=server.url, wav=wav).outcome()
        assert "1008" in outcome["error"] and "audio_limit" in outcome["error"]


def test_several_utterances(server, wav, text, tmp_path):
    path = twice_with_silence(wav, tmp_path / "talk.wav")
    outcome = Clients("vosk.py", url=server.url, wav=path).outcome()
    assert outcome["text"] == f"{text} {text}"
