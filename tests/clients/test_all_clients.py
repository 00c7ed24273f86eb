"""Every kind of client: text while audio is sent, the text of decode_wav, a hundred at once."""

import ssl

import pytest

from real_clients import Clients
from riva_client import PROTOS
from server_process import Server, make_certificate

# To add a kind of client, add its program, and a section to docs/clients.md.
PROGRAMS = ["runnel_protocol.py", "wenet.py", "sherpa_onnx.py", "openai_live.mjs",
            "openai_recordings.mjs", "deepgram_sdk.mjs", "deepgram_browser.mjs",
            "deepgram_recordings.mjs", "livekit_stt.mjs", "livekit_session.mjs", "vosk.py",
            "wyoming.py", "riva.mjs"]
UPLOADS = {"openai_recordings.mjs", "deepgram_recordings.mjs"}  # their text comes at the end
COUNT = 100


@pytest.fixture(scope="module", name="certificate")
def _certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module", name="server")
def _server(certificate):
    """With TLS, which OpenAI's client for live audio insists on."""
    most = COUNT * len(PROGRAMS)
    with Server(f"--tls_certificate={certificate[0]}", f"--tls_key={certificate[1]}",
                f"--max_streams={most}", f"--max_connections={2 * most}",
                f"--max_uploads={COUNT * len(UPLOADS)}",
                "--max_streams_per_address=0", "--max_connections_per_address=0",
                "--wyoming_port=0", "--wyoming_unprotected", "--grpc_port=0",
                "--idle_timeout_s=0") as server:
        server.url = server.url.replace("127.0.0.1", "localhost")
        yield server


def options_for(server, wav):
    """What the programs need, each a part of it."""
    return {"url": server.url, "wav": wav, "wyoming": server.wyoming_port,
            "grpc": f"localhost:{server.grpc_port}", "proto": PROTOS / "riva_asr.proto"}


def check(outcome, program, text):
    """A conversation that went as the client expects."""
    assert "error" not in outcome and outcome["text"] == text, outcome
    assert program in UPLOADS or outcome["early"], outcome
    assert outcome.get("code", 1000) == 1000 and outcome.get("openings", 1) == 1, outcome


@pytest.mark.parametrize("program", PROGRAMS)
def test_partial_and_final_results(server, certificate, wav, text, program):
    """A program goes on when it has text; the server's text of a recording comes at the end."""
    outcome = Clients(program, certificate=certificate[0], **options_for(server, wav)).outcome()
    check(outcome, program, text)


def test_a_hundred_of_each_beside_each_other(server, certificate, wav, text):
    started = []
    for program in PROGRAMS:
        started.append(Clients(program, COUNT, certificate[0], **options_for(server, wav)))
        started[-1].wait_until_half_way()
    metrics = server.metrics(tls=ssl.create_default_context(cafile=certificate[0]))
    assert metrics["runnel_streams"] == COUNT * len(PROGRAMS)
    for clients in started:
        for outcome in clients.outcomes():
            check(outcome, clients.program, text)
