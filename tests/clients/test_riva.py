"""NVIDIA Riva's interface with @grpc/grpc-js; test_all_clients.py has what all clients share."""

from real_clients import Clients
from riva_client import PROTOS
from server_process import Server


def test_errors(wav):
    """A refused option is a status with a message."""
    with Server("--grpc_port=0") as server:
        outcome = Clients("riva.mjs", url=server.url, wav=wav, proto=PROTOS / "riva_asr.proto",
                          grpc=f"localhost:{server.grpc_port}",
                          config={"maxAlternatives": -1}).outcome()
    assert outcome == {"text": "", "early": "", "error": "INVALID_ARGUMENT",
                       "details": "config.max_alternatives is -1, expected 0 or more"}
