"""NVIDIA Riva's interface with @grpc/grpc-js; test_all_clients.py has what all clients share."""

from real_clients import Clients
from riva_client import PROTOS
from server_process import Server


def riva(server, wav, **options):
    return Clients("riva.mjs", url=server.url, wav=wav, proto=PROTOS / "riva_asr.proto",
                   grpc=f"localhost:{server.grpc_port}", **options).outcome()


def test_errors(wav):
    """A refused option is a status with a message."""
    with Server("--grpc_port=0") as server:
        outcome = riva(server, wav, config={"maxAlternatives": -1})
    assert outcome == {"text": "", "early": "", "error": "INVALID_ARGUMENT",
                       "details": "config.max_alternatives is -1, expected 0 or more"}


def test_turns_that_the_client_ends(wav, text):
    """runtime_config["force_eou"], where silence is to end nothing."""
    with Server("--grpc_port=0") as server:
        outcome = riva(server, wav, turns=3, config={"endpointingConfig": {"stopHistory": 60000}})
    assert "error" not in outcome and outcome["text"] == f"{text} {text} {text}"
