"""Starts programs of ours from processes that have loaded LibTorch already.

Loading LibTorch takes most of the time of a short run, and tests start programs thousands of times.
After `take_over`, `subprocess` starts them through ../fork_server.c where it can: with the
environment of the test, and without what only a new process can have. All else starts as ever.
"""

import atexit
import ctypes
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
from typing import Any, Dict, List

_LIBRARY = os.environ.get("RUNNEL_FORK_SERVER")
_BIN = pathlib.Path(os.environ.get("RUNNEL_BIN_DIR", ""))
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def _without_test_name(environment: Any) -> Dict[str, str]:
    return {name: value for name, value in environment.items() if name != "PYTEST_CURRENT_TEST"}


_execute_child = subprocess.Popen._execute_child


class _ForkServer:
    """A program that waits for command lines."""

    def __init__(self, program: str):
        self._socket, theirs = socket.socketpair()
        number = theirs.fileno()
        self._environment = _without_test_name(os.environ)
        self._process = subprocess.Popen(
            [program], env={**os.environ, "LD_PRELOAD": _LIBRARY,
                            "RUNNEL_FORK_SERVER_SOCKET": str(number)}, pass_fds=(number,))
        theirs.close()

    def end(self) -> None:
        self._socket.close()
        self._process.wait()

    def serves(self, environment: Dict[str, str]) -> bool:
        return environment == self._environment

    def start(self, folder: str, arguments: List[str], files: List[int]) -> int:
        """Returns the number of a new process, a child of this one."""
        request = b"".join(os.fsencode(word) + b"\0" for word in (folder, *arguments))
        socket.send_fds(self._socket, [struct.pack("=I", len(request))], files)
        self._socket.sendall(request)
        answer = self._socket.recv(4, socket.MSG_WAITALL)
        assert len(answer) == 4, f"{arguments[0]}: the fork server ended"
        return struct.unpack("=i", answer)[0]


_servers: Dict[str, _ForkServer] = {}
_lock = threading.Lock()


def _start(self: subprocess.Popen, args: Any, executable: Any, preexec_fn: Any, close_fds: bool,
           pass_fds: Any, cwd: Any, env: Any, startupinfo: Any, creationflags: int, shell: bool,
           *rest: Any) -> None:
    """In place of Popen._execute_child of Python 3.11."""
    pipes, (_, gid, gids, uid, umask, session, group) = rest[:6], rest[6:]
    special = (executable, preexec_fn, shell, gid, gids, uid, session)
    words = [os.fspath(word) for word in args] if isinstance(args, (list, tuple)) else []
    if (any(special) or pass_fds or umask >= 0 or group >= 0 or not words
            or pathlib.Path(words[0]).parent != _BIN):
        _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env,
                       startupinfo, creationflags, shell, *rest)
        return
    environment = _without_test_name(os.environ if env is None else env)
    with _lock:
        server = _servers.get(words[0])
        if server is None and environment == _without_test_name(os.environ):
            server = _servers[words[0]] = _ForkServer(words[0])
        if server is not None and server.serves(environment):
            theirs = pipes[0], pipes[3], pipes[5]  # what the process reads and writes
            files = [own if pipe == -1 else pipe for own, pipe in enumerate(theirs)]
            self.pid = server.start(os.fspath(cwd or os.getcwd()), words, files)
            self._child_created = True
            self._close_pipe_fds(*pipes)
            return
    _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo,
                   creationflags, shell, *rest)


@atexit.register
def _end_all() -> None:
    for server in _servers.values():
        server.end()


def take_over() -> None:
    """Does nothing where no library of a build is known, or Popen is of another Python.

    This process becomes the parent of whatever its descendants leave behind.
    """
    if _LIBRARY is not None and sys.version_info[:2] == (3, 11):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        subprocess.Popen._execute_child = _start
