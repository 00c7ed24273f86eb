"""Every block of code in docs/clients.md runs as it is, but for the ports."""

import asyncio
import json
import re
import socket
import threading
import wave
from typing import Any

import pytest
import websockets

from page_programs import (
    blocks_of, command_of, make_checkout, printed_by, run_block, start_server)
from server_process import TEXTS, Server, make_certificate
from tool_runner import ROOT

TEXT = TEXTS["ked_year"]
PAGE = ROOT / "docs" / "clients.md"
BLOCKS = blocks_of(PAGE.read_text(encoding="utf-8"))
SERVERS = [block for block in BLOCKS if block.code.startswith("build/bin/stream_server ")]
# What is done once before the programs: the recording, and modules of Python.
PREPARATIONS = [block for block in BLOCKS
                if re.search("soundfile.write|^protoc ", block.code, flags=re.MULTILINE)]
PROGRAMS = [block for block in BLOCKS if block not in SERVERS + PREPARATIONS]


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    """Where the programs run: like a checkout, with the recording that the page makes."""
    folder = tmp_path_factory.mktemp("checkout")
    make_checkout(folder, PREPARATIONS)
    return folder


@pytest.fixture(scope="module", name="ports")
def _ports(folder):
    """Addresses in the page, and those of servers that stand for them."""
    certificate, key = make_certificate(folder)
    with (Server("--grpc_port=0", "--wyoming_port=0") as plain,
          Server(f"--tls_certificate={certificate}", f"--tls_key={key}") as tls):
        yield {"127.0.0.1:8080": f"127.0.0.1:{plain.port}",
               "localhost:8443": f"localhost:{tls.port}",
               "localhost:50051": f"localhost:{plain.grpc_port}",
               '"127.0.0.1", 10300': f'"127.0.0.1", {plain.wyoming_port}'}


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_program(block, folder, ports):
    printed = run_block(block, ports, folder)
    assert TEXT in printed
    if "response_format=vtt" in block.code:
        assert "WEBVTT" in printed and '"transcript.text.done"' in printed


class NoHoarder:
    """A WebSocket server, without compression, that answers each message of a client with a long
    one, and reads no more than the client does. Kernels hold some 10 MB of either, so that a client
    that sends much before it reads waits for ever."""

    def __init__(self, answer: str, end: str, *last: str):
        """`answer`: to each message; `last`: the answers to the message that has `end`."""
        self._answer, self._end, self._last = answer, end, last
        self._loop = asyncio.new_event_loop()
        self.port = 0

    def __enter__(self) -> "NoHoarder":
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        self.port = listener.getsockname()[1]
        self._loop.run_until_complete(self._serve(listener))
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _serve(self, listener: socket.socket) -> None:
        await websockets.serve(self._converse, sock=listener, compression=None,
                               ping_interval=None, max_queue=1)

    async def _converse(self, connection: Any, *_: Any) -> None:
        async for message in connection:
            if isinstance(message, str) and self._end in message:
                for answer in self._last:
                    await connection.send(answer)
                return
            await connection.send(self._answer)


ROOM = " " * 16384
PLAYED = {
    "WeNet": ['{"type":"partial_result"}' + ROOM, "end",
              json.dumps({"type": "final_result", "nbest": json.dumps([{"sentence": TEXT}])})],
    "sherpa-onnx": ['{"text":"","tokens":[]}' + ROOM, "Done", json.dumps({"text": TEXT}), "Done!"],
    "Runnel's protocol": ['{"type":"partial"}' + ROOM, "finish",
                          json.dumps({"type": "final", "text": TEXT})]}


@pytest.mark.parametrize("heading", PLAYED)
def test_programs_read_while_they_send(heading, tmp_path):
    (block,) = [block for block in PROGRAMS if block.heading == heading]
    with wave.open(str(tmp_path / "recording.wav"), "wb") as recording:
        recording.setparams((1, 2, 16000, 0, "NONE", ""))
        recording.writeframes(bytes(2 * 16000 * 900))
    with NoHoarder(*PLAYED[heading]) as server:
        code = block.code.replace("127.0.0.1:8080", f"127.0.0.1:{server.port}")
        assert TEXT in printed_by(command_of(block, code, tmp_path), tmp_path)


@pytest.mark.parametrize("block", SERVERS, ids=str)
def test_server(block, folder):
    start_server(block, folder)


def test_every_client_of_the_table_has_a_section():
    page = PAGE.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", page, flags=re.MULTILINE)
    assert re.findall(r"^\| [^|]* \| \[(.*?)\]\(", page, flags=re.MULTILINE) == headings
    assert {block.heading for block in BLOCKS} == {"Clients", *headings}
    assert len(re.findall(r"^\s*(?:```|~~~)", page, flags=re.MULTILINE)) == 2 * len(BLOCKS)
