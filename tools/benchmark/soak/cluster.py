"""Three servers behind HAProxy with their snapshots in Redis, set up as in docs/deploy.md."""

import contextlib
import os
import pathlib
import socket
import subprocess
import time
import urllib.request
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from tools.benchmark.pages.command import ROOT
from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.soak.programs import Server, serve

NUM_SERVERS = 3
_START_TIMEOUT_S = 60
_POLL_S = 0.1


def _free_ports(count: int) -> List[int]:
    """Ports of the loopback interface that are free at the moment."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in listeners]


def _wait_until(is_there: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not is_there():
        if time.monotonic() > deadline:
            raise ProgramError(f"{what} did not start")
        time.sleep(_POLL_S)


def _accepts(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def _running(command: List[str], log: pathlib.Path,
             environment: Optional[Dict[str, str]] = None) -> Iterator[None]:
    with log.open("w", encoding="utf-8") as messages, \
            subprocess.Popen(command, stdout=messages, stderr=subprocess.STDOUT,
                             env={**os.environ, **(environment or {})}) as process:
        try:
            yield
        finally:
            process.kill()


def _all_up(port: int) -> bool:
    """Whether HAProxy's statistics say that every server is ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/;csv", timeout=5) as reply:
            lines = reply.read().decode("utf-8").splitlines()
    except OSError:
        return False
    return sum(line.startswith("streams,server") and ",UP," in line and ",L7OK," in line
               for line in lines) == NUM_SERVERS


@contextlib.contextmanager
def cluster(bin_folder: pathlib.Path, model: pathlib.Path, flags: List[str],
            work: pathlib.Path) -> Iterator[Tuple[str, List[Server]]]:
    """The proxy's ws:// address, and the servers behind it. They may be killed."""
    redis_port, proxy_port, statistics_port = _free_ports(3)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_running(
            ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", ""],
            work / "redis.log"))
        _wait_until(lambda: _accepts(redis_port), "redis-server")
        servers = [stack.enter_context(serve(
            bin_folder, model, [f"--snapshot_store=redis://127.0.0.1:{redis_port}", *flags],
            work / f"server{index}.log", may_be_killed=True)) for index in range(NUM_SERVERS)]
        stack.enter_context(_running(
            ["haproxy", "-f", str(ROOT / "tools" / "deploy" / "haproxy.cfg")], work / "haproxy.log",
            {"RUNNEL_LISTEN": f"127.0.0.1:{proxy_port}",
             "RUNNEL_STATISTICS": f"127.0.0.1:{statistics_port}",
             "RUNNEL_HAPROXY_SOCKET": str(work / "haproxy.sock"),
             **{f"RUNNEL_SERVER_{index + 1}": server.address
                for index, server in enumerate(servers)}}))
        _wait_until(lambda: _all_up(statistics_port), "HAProxy")
        yield f"ws://127.0.0.1:{proxy_port}/", servers
