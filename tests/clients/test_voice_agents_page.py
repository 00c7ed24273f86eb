"""The commands and programs of docs/voice_agents.md. Those for JavaScript run as they are, but for
the port; those for Python, whose packages are not installed here, are compiled."""

import pytest

from page_programs import blocks_of, make_checkout, run_block, start_server
from real_clients import LIVEKIT_NODE, skip_without_node
from server_process import TEXTS, Server
from tool_runner import ROOT

BLOCKS = blocks_of((ROOT / "docs" / "voice_agents.md").read_text(encoding="utf-8"))
SERVERS = [block for block in BLOCKS if block.code.startswith("build/bin/stream_server ")]
PREPARATIONS = [block for block in BLOCKS if "soundfile.write" in block.code]
SETTINGS = [block for block in BLOCKS if block.language == "python"]
PROGRAMS = [block for block in BLOCKS if block not in SERVERS + PREPARATIONS + SETTINGS]


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    make_checkout(folder, PREPARATIONS)
    return folder


def test_there_is_one_of_each():
    assert len(SERVERS) == len(PREPARATIONS) == len(PROGRAMS) == 1 and len(SETTINGS) == 2


def test_server(folder):
    start_server(SERVERS[0], folder)


def test_program(folder):
    skip_without_node(LIVEKIT_NODE)
    with Server("--endpoint_silence_s=0.5") as server:
        printed = run_block(PROGRAMS[0], {"127.0.0.1:8080": f"127.0.0.1:{server.port}"}, folder)
    assert printed.splitlines()[-1] == f"turn: {TEXTS['ked_year']}"


@pytest.mark.parametrize("block", SETTINGS, ids=str)
def test_settings_for_python(block):
    compile(block.code, str(block), "exec")
    assert "127.0.0.1:8080" in block.code and "127.0.0.1:50051" in block.code
