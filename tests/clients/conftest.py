"""Fixtures of the tests beside this file."""

import pytest
import soundfile

from real_clients import recognised_text
from server_process import FILES, TEXTS, Server

NAME = "ked_year"  # at 16 kHz, the model's rate


@pytest.fixture(scope="module", name="server")
def _server():
    with Server("--max_streams_per_address=0", "--max_connections_per_address=0") as server:
        yield server


@pytest.fixture(scope="session", name="wav")
def _wav(tmp_path_factory):
    """A short recording."""
    path = tmp_path_factory.mktemp("audio") / f"{NAME}.wav"
    soundfile.write(path, *soundfile.read(FILES[NAME]), subtype="PCM_16")
    return path


@pytest.fixture(scope="session", name="text")
def _text(wav):
    """What decode_wav recognises in it."""
    text = recognised_text(wav)
    assert text == TEXTS[NAME]
    return text
