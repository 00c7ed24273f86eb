"""The part of the soak in which honest clients share a server with one kind of attack at a time."""

import contextlib
import http.client
import json
import pathlib
import statistics
import subprocess
import threading
import time
from typing import Any, Callable, Dict, List

import grpc
import soundfile

from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.soak.attack_client import (BINARY, Target, ask, frame, message, start,
                                                web_socket)
from tools.benchmark.soak.attacks import DEEPGRAM, KINDS, Attack
from tools.benchmark.soak.plan import Plan
from tools.benchmark.soak.programs import Report, Server, run_load, serve
from tools.benchmark.soak.recordings import SAMPLES
from tools.benchmark.soak.riva_turns import recognize

_HONEST = "127.0.0.1"
_PROBER = "127.0.0.3"
_PROBE_PAUSE_S = 0.05
_CHECK_PAUSE_S = 1.0
_CALL_TIMEOUT_S = 30.0
_RECORDING, _TEXT = next(line.split(" ", 1) for line in
                         (SAMPLES / "text").read_text(encoding="utf-8").splitlines()
                         if line.startswith("ked_year"))


class _Checks:
    """Repeats a check in a thread until its context ends, and counts."""

    def __init__(self, check: Callable[[], bool], pause_s: float) -> None:
        self.passed = 0
        self.times_s: List[float] = []  # of all checks
        self._check = check
        self._pause_s = pause_s
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "_Checks":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def counts(self) -> List[int]:
        """Those that passed, and all."""
        return [self.passed, len(self.times_s)]

    def _run(self) -> None:
        while not self._done.is_set():
            begin = time.monotonic()
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                self.passed += self._check()
            self.times_s.append(time.monotonic() - begin)
            self._done.wait(self._pause_s)


def _is_healthy(target: Target) -> bool:
    return b" 200 " in ask(target, _PROBER, "/healthz")[:20]


def has_recording(target: Target) -> bool:
    """Whether an uploaded recording gets its text."""
    audio = (SAMPLES / f"{_RECORDING}.flac").read_bytes()
    answer = ask(target, _HONEST, "/v1/recognize", audio)
    return bool(json.loads(answer.partition(b"\r\n\r\n")[2]).get("text") == _TEXT)


def has_call(target: Target) -> bool:
    """Whether a new client of NVIDIA Riva gets the text of its call."""
    samples, rate = soundfile.read(str(SAMPLES / f"{_RECORDING}.flac"), dtype="int16")
    try:
        return _TEXT.encode() in recognize(target.grpc_port, samples, rate, _CALL_TIMEOUT_S)
    except grpc.RpcError as error:
        raise OSError(f"the call failed: {error.code().name}") from error


def has_media_stream(target: Target) -> bool:
    """Whether a stream that a process decodes gets its text."""
    data = (SAMPLES / f"{_RECORDING}.flac").read_bytes()
    texts = []
    with web_socket(target, _HONEST, DEEPGRAM) as socket:
        socket.send(frame(BINARY, data) + message(type="CloseStream"))
        while (results := json.loads(socket.receive()))["type"] == "Results":
            texts.append(results["channel"]["alternatives"][0]["transcript"])
    return " ".join(filter(None, texts)) == _TEXT


def has_snapshot(target: Target) -> bool:
    """Whether a stream that can be resumed gets a token."""
    samples, rate = soundfile.read(str(SAMPLES / f"{_RECORDING}.flac"), dtype="int16")
    with web_socket(target, _HONEST) as socket:
        socket.send(start(resume=True, sample_rate=rate))
        for _ in range(3):
            socket.send(frame(BINARY, samples.tobytes()))
        socket.receive_with(b'"snapshot"')
    return True


def _measure(bin_folder: pathlib.Path, server: Server, wav_scp: pathlib.Path,
             expected: pathlib.Path, plan: Plan, kind: str) -> Report:
    target = Target(int(server.address.rsplit(":", 1)[1]), server.next_port(), server.next_port())
    wait = threading.Event().wait
    with Attack(kind, target) as attack:
        wait(plan.attacked_before_s)
        with _Checks(lambda: _is_healthy(target), _PROBE_PAUSE_S) as health, \
                _Checks(lambda: has_recording(target), _CHECK_PAUSE_S) as recordings, \
                _Checks(lambda: has_call(target), _CHECK_PAUSE_S) as calls, \
                _Checks(lambda: has_media_stream(target), _CHECK_PAUSE_S) as media, \
                _Checks(lambda: has_snapshot(target), _CHECK_PAUSE_S) as snapshots:
            load = run_load(bin_folder, server.url, wav_scp, expected,
                            f"--streams={plan.attacked_streams}",
                            f"--duration_s={plan.attacked_s}", timeout_s=plan.attacked_s + 120)
    _, peak = server.memory()
    wait(plan.attacked_later_s)
    later, _ = server.memory()
    return {"load": load, "rounds": attack.rounds, "health": health.counts(),
            "health_median_ms": 1000 * statistics.median(health.times_s),
            "health_worst_ms": 1000 * max(health.times_s), "recordings": recordings.counts(),
            "calls": calls.counts(), "call_worst_ms": 1000 * max(calls.times_s),
            "media": media.counts(), "snapshots": snapshots.counts(), "peak": peak,
            "later": later}


def attacked(bin_folder: pathlib.Path, model: pathlib.Path, wav_scp: pathlib.Path,
             expected: pathlib.Path, plan: Plan) -> Dict[str, Any]:
    """Measurements by the kind of attack; of a server that ended, the reason.

    Args:
        wav_scp: the recordings of honest clients; logs and snapshots lie beside it.
        expected: their texts.
    """
    work = wav_scp.parent
    results: Dict[str, Any] = {}
    for kind in plan.attacks or list(KINDS):
        print(f"soak: attacked: {kind}", flush=True)
        flags = ["--grpc_port=0", "--wyoming_port=0", f"--snapshot_store={work / kind}.snapshots"]
        try:
            with serve(bin_folder, model, flags, work / f"{kind}.log") as server:
                results[kind] = _measure(bin_folder, server, wav_scp, expected, plan, kind)
        except (ProgramError, subprocess.TimeoutExpired) as error:
            results.setdefault(kind, {})["error"] = str(error).splitlines()[0]
    return results
