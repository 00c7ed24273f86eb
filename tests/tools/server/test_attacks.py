"""Clients that attack within the limits: others get the right text, the server stays small.

The attacks are those of the soak, for some seconds each; docs/soak.md has their effect on times.
"""

import json
import os
import pathlib
import re
import threading
import time
from typing import Callable, TypeVar

import pytest

from server_process import SMALL_QUARANTINE, Neighbour, Server
from websocket_client import PATIENCE_S, Refused
from tools.benchmark.soak.attack_client import Target, ask
from tools.benchmark.soak.attacked import (has_call, has_media_stream, has_recording,
                                           has_snapshot)
from tools.benchmark.soak.attacks import KINDS, Attack

T = TypeVar("T")
PEAK_BYTES = 600e6
HAS_SANITIZER = "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ
SECONDS = 2


def peak_bytes(server: Server) -> float:
    """The largest memory that the process has had."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return 1024 * float(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[1])


def served(attempt: Callable[[], T]) -> T:
    """What a client gets of a full server, which makes room within seconds."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return attempt()
        except (Refused, OSError, KeyError, json.JSONDecodeError):
            assert time.monotonic() < deadline, "nobody is served beside this attack"
            threading.Event().wait(0.2)  # not to be one more flood


@pytest.mark.parametrize("kind", KINDS)
def test_attack(kind, tmp_path):
    flags = (f"--snapshot_store={tmp_path / 'snapshots'}", "--grpc_port=0", "--wyoming_port=0")
    with Server(*flags, environment=SMALL_QUARANTINE) as server:
        target = Target(server.port, server.grpc_port, server.wyoming_port)
        neighbour = Neighbour(server)
        with Attack(kind, target) as attack:
            threading.Event().wait(SECONDS)
            neighbour.go_on()
            newcomer = served(lambda: Neighbour(server))
            assert served(lambda: has_recording(target))
            assert served(lambda: has_call(target))
            assert served(lambda: has_media_stream(target))
            assert served(lambda: has_snapshot(target))
            assert ask(target, "127.0.0.1", "/healthz").startswith(b"HTTP/1.1 200 ")
            newcomer.finish()
            neighbour.finish()
        assert attack.rounds >= KINDS[kind].clients
        # A client that has gone holds nothing.
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        if not HAS_SANITIZER:
            assert peak_bytes(server) < PEAK_BYTES
        server.signal()
        assert server.exit_code() == 0, server.log
