"""Records the outputs of one build: record.py PROGRAMS COMMANDS.json OUTPUT_FOLDER.

COMMANDS.json is a list of command lines, as cases.py describes them. What command i writes lies in
OUTPUT_FOLDER/i, a file per output. If the command cannot be run, a file NOT_IN_BUILD or FAILURE
says why. PROGRAMS is also $RUNNEL_BIN_DIR.
"""

import dataclasses
import functools
import json
import os
import pathlib
import shlex
import shutil
import string
import subprocess
import sys
import urllib.parse
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np
import soundfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support" / "python"))
from server_process import Server, cut, pcm16  # noqa: E402
from websocket_client import Closed, WebSocket, request  # noqa: E402

NOT_IN_BUILD, FAILURE = "not in build", "failure"

Outputs = Iterator[Tuple[str, bytes]]  # by name

_MODEL = str(ROOT / "models" / "digits" / "digits_transducer.pt")  # of $SERVER
_OPENAI = "/v1/audio/transcriptions"
_LIMIT_S = 300
# In messages with partial results, whose number depends on the times at which audio arrives.
_PARTIAL = ('"type":"partial"', '"partial_result"', '"partial"', '"is_final":false')


class NotInBuild(Exception):
    """The build lacks what a case runs; the message is one line."""


class Recorder:
    """Runs commands with the programs of one build; use it in a with statement."""

    def __init__(self, programs: pathlib.Path, folder: pathlib.Path) -> None:
        self._programs = programs
        self._folder = folder
        self._servers: Dict[str, Server] = {}

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: Any) -> None:
        for server in self._servers.values():
            server.__exit__()

    def record(self, index: int, line: str) -> None:
        """Writes the outputs of a command line."""
        folder = self._folder / str(index)
        (folder / "files").mkdir(parents=True)
        places = {"OUT": str(folder / "files")}
        if "$SERVER" in line:
            places["SERVER"] = f"ws://127.0.0.1:{self._server(_MODEL).port}/"
        kinds: Dict[str, Callable[..., Outputs]] = {
            "post": self._post, "socket": self._socket, "stream": self._stream}
        for number, command in enumerate(string.Template(line).substitute(places).split(" ; ")):
            words = shlex.split(command)
            run = kinds.get(words[0])
            for name, data in run(*words[1:]) if run else self._run(words):
                (folder / f"command {number + 1}, {name}").write_bytes(data)

    def _run(self, words: List[str]) -> Outputs:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        while "=" in words[0]:
            name, value = words.pop(0).split("=")
            environment[name] = value
        program = self._programs / words[0]
        if not program.exists():
            raise NotInBuild(f"{program} is missing")
        done = subprocess.run([str(program), *words[1:]], cwd=ROOT, env=environment, check=False,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=_LIMIT_S)
        yield "exit code", b"%d\n" % done.returncode
        yield "standard output", done.stdout
        yield "standard error", done.stderr

    def _server(self, model: str) -> Server:
        if not (self._programs / "stream_server").exists():
            raise NotInBuild(f"{self._programs / 'stream_server'} is missing")
        if model not in self._servers:
            self._servers[model] = Server("--max_speed=0", model=pathlib.Path(model))
        return self._servers[model]

    def _post(self, model: str, target: str, file: str) -> Outputs:
        body, headers = pathlib.Path(file).read_bytes(), {}
        if target.startswith(_OPENAI):
            target, query = target.split("?")
            headers["Content-Type"] = "multipart/form-data; boundary=frontier"
            fields = [*urllib.parse.parse_qsl(query.encode()), (b'file"; filename="a.flac', body)]
            body = b"".join(
                b'--frontier\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % field
                for field in fields) + b"--frontier--\r\n"
        answer = request(self._server(model).port, target, "POST", body, headers)
        yield "status", f"{answer.status} {answer.headers.get('content-type')}\n".encode()
        yield "body", answer.body

    def _socket(self, model: str, target: str, first: str, file: str, last: str) -> Outputs:
        samples = soundfile.read(file, dtype="float32")[0]
        lines: List[str] = []
        with WebSocket(self._server(model).port, target) as socket:
            if first:
                socket.send_text(first)
            for piece in cut(pcm16(samples), [3200]):
                socket.send_bytes(piece)
            socket.send_text(last)
            try:
                while True:
                    lines.append(socket.receive())
            except Closed as closed:
                lines.append(f"closed: {closed}")
        final = (line for line in lines
                 if not any(mark in line.replace(" ", "") for mark in _PARTIAL))
        yield "final messages", "".join(line + "\n" for line in final).encode()

    @functools.cached_property
    def _package(self) -> Any:
        """The Python package on the extension module of this build."""
        built = self._programs.parent / "runtime" / "python"
        files = [*built.glob("_runnel*.so"), built / "options.py"]
        if len(files) != 2 or not files[1].exists():
            raise NotInBuild(f"{built}: no Python package")
        package = self._folder / "package" / "runnel"
        shutil.copytree(ROOT / "runtime" / "python" / "runnel", package,
                        ignore=shutil.ignore_patterns("__pycache__"))
        for file in files:
            (package / file.name).symlink_to(file)
        sys.path.insert(0, str(package.parent))
        import runnel
        return runnel

    def _stream(self, model: str, file: str, *options: str) -> Outputs:
        loaded = self._package.load(model)
        given = {name: _value(value) for name, value in (word.split("=") for word in options)}
        samples = soundfile.read(file, dtype="float32")[0]
        packets = np.array_split(samples, len(samples) // 1600)
        middle = len(packets) // 2
        lines: List[str] = []
        stream = loaded.stream(**given)
        for number, packet in enumerate(packets):
            stream.accept(packet)
            lines += [json.dumps([stream.partial, stream.stable_partial]),
                      *map(_json, stream.nbest(given.get("nbest", 1))),
                      *map(_json, stream.utterances())]
            if number == middle:
                yield "snapshot", stream.snapshot()
        yield "partial results", "".join(line + "\n" for line in lines).encode()
        utterances = stream.finish()
        yield "utterances", "".join(_json(each) + "\n" for each in utterances).encode()
        yield "last snapshot", stream.snapshot()


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(result: Any) -> str:
    return json.dumps(dataclasses.asdict(result))


def main(programs: str, commands: str, output: str) -> None:
    """Records all commands."""
    folder = pathlib.Path(output)
    with Recorder(pathlib.Path(programs), folder) as recorder:
        for index, line in enumerate(json.loads(pathlib.Path(commands).read_text("utf-8"))):
            try:
                recorder.record(index, line)
            except NotInBuild as error:
                (folder / str(index) / NOT_IN_BUILD).write_text(str(error), "utf-8")
            except Exception as error:  # of any other command the outputs are recorded all the same
                (folder / str(index) / FAILURE).write_text(repr(error), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
