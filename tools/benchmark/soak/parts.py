"""The parts of a soak. Each starts the programs it needs and returns its measurements for JSON."""

import json
import os
import pathlib
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Optional

import numpy as np

from tools.benchmark.pages.command import ROOT
from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.soak.attack_client import Round, Target
from tools.benchmark.soak.attacked import attacked
from tools.benchmark.soak.cluster import cluster
from tools.benchmark.soak.disorder import disconnections
from tools.benchmark.soak.plan import CHUNK_P95_MS, Plan
from tools.benchmark.soak.programs import Report, Sampler, Server, run_load, serve
from tools.benchmark.soak.recordings import (SAMPLES, decode, read_recordings,
                                             write_recordings)
from tools.benchmark.soak.riva_turns import riva_turns

DIGITS = ROOT / "models" / "digits" / "digits.pt"

PARTS = ("load", "turns", "vanish", "killed", "attacked")

# What ends the speech of a client, by protocol.
TURN_ENDS = {"runnel": "`flush`", "deepgram": "`Finalize`", "openai": "`commit`",
             "riva": "`force_eou`", "wenet": "`end` of the stream",
             "sherpa": "`Done`, the end of the stream"}
# Those in which a stream is a turn.
END_STREAM = ("wenet", "sherpa")

_PACKET_MS = 200  # of audio in each message
# Longer than the default, because fuller batches take less time per chunk.
BATCH_WAIT_MS = 40

# Within which a server notices that its clients are gone.
_CLEANING_S = 10.0

# Besides the caches: memory of an idle connection, and of one token of text.
CONNECTION_BYTES = 60_000
TOKEN_BYTES = 60

_RSS = "process_resident_memory_bytes"
_DESCRIPTORS = "process_open_fds"
_STREAMS = "runnel_streams"
_CONNECTIONS = "runnel_connections"
_CHUNKS = "runnel_chunk_latency_seconds_count"
_CHUNKS_IN_TIME = f'runnel_chunk_latency_seconds_bucket{{le="{CHUNK_P95_MS / 1000:g}"}}'
_NO_LIMITS = ["--max_streams=10000", "--max_streams_per_address=0", "--max_connections=10000",
              "--max_connections_per_address=0"]


def stream_bytes(model: pathlib.Path, left_context: int, chunk_size: int) -> int:
    """Bytes of a stream with float32 caches and no text (docs/embedding.md, Memory per stream)."""
    with zipfile.ZipFile(model) as archive:
        name = next(n for n in archive.namelist() if n.endswith("/extra/runnel.json"))
        config = json.loads(archive.read(name))
    encoder = config["encoder"]
    width, layers = encoder["model_dim"], encoder["num_layers"]
    kernel = encoder["convolution"]["kernel_size"]
    features = 2 * chunk_size * 4 * encoder["input_dim"] * 4
    return layers * (2 * left_context * width * 4 + (kernel - 1) * width * 4) + features


def _memory_of(metrics: Dict[str, float]) -> Report:
    return {"rss": metrics[_RSS], "descriptors": metrics[_DESCRIPTORS],
            "streams": metrics[_STREAMS]}


def _memory_alone(server: Server) -> Report:
    """Of the first reply that counts no other connection, or after `_CLEANING_S`. A second request
    could count the connection of the first, which the server is just closing."""
    deadline = time.monotonic() + _CLEANING_S
    metrics = server.metrics()
    while metrics[_CONNECTIONS] > 1 and time.monotonic() < deadline:
        threading.Event().wait(0.05)
        metrics = server.metrics()
    return _memory_of(metrics)


def _quantiles(milliseconds: List[float]) -> Dict[str, float]:
    """As load_client reports a latency."""
    p50, p95, p99 = np.quantile(milliseconds, (0.5, 0.95, 0.99))
    return {"count": len(milliseconds), "p50": p50, "p95": p95, "p99": p99,
            "max": max(milliseconds)}


class Parts:
    """Runs the programs of one build; their files lie in one folder."""

    def __init__(self, plan: Plan, bin_folder: pathlib.Path, work: pathlib.Path) -> None:
        """The large model is work/model.pt."""
        self._plan, self._bin, self._work = plan, bin_folder, work

    def load(self) -> Report:
        """Many real-time streams on the large model."""
        plan, model, int8 = self._plan, self._work / "model.pt", ["--precision=int8"]
        wav_scp = write_recordings(self._work / "long", 8, plan.stream_s)
        expected, tokens = decode(self._bin, model, wav_scp, int8)
        flags = [*int8, *_NO_LIMITS, f"--max_batch_wait_ms={BATCH_WAIT_MS}"]
        with serve(self._bin, model, flags, self._work / "load.log") as server:
            before, cpu_before = _memory_of(server.metrics()), server.cpu_s()
            with Sampler(server, plan.sample_s) as sampler:
                report = run_load(self._bin, server.url, wav_scp, expected,
                                  f"--streams={plan.streams}", f"--ramp_s={plan.ramp_s}",
                                  f"--packet_ms={_PACKET_MS}")
            server_cpu_s = server.cpu_s() - cpu_before
        keys = {"time_s": "time_s", _RSS: _RSS, _STREAMS: _STREAMS, _CHUNKS: "chunks",
                _CHUNKS_IN_TIME: "chunks_in_time"}
        return {"report": report, "before": before, "server_cpu_s": server_cpu_s,
                "formula_bytes": stream_bytes(model, 64, 16) + CONNECTION_BYTES,
                "text_bytes": tokens * TOKEN_BYTES,
                "samples": [{name: sample[key] for key, name in keys.items()}
                            for sample in sampler.samples]}

    def turns(self) -> Report:
        """Streams whose speech ends again and again, on the large model, in each protocol."""
        plan, model, int8 = self._plan, self._work / "model.pt", ["--precision=int8"]
        long = write_recordings(self._work / "conversations", 8, plan.turns_s)
        short = write_recordings(self._work / "turns", 8, plan.turn_s)
        expected, _ = decode(self._bin, model, short, int8)
        turn = f"--turn_s={plan.turn_s}"
        measured: Dict[str, Report] = {}
        with serve(self._bin, model, [*int8, *_NO_LIMITS, "--grpc_port=0"],
                   self._work / "turns.log") as server:
            grpc_port = server.next_port()

            def load(protocol: str, streams: int, *flags: str,
                     wav_scp: pathlib.Path = long,
                     texts: Optional[pathlib.Path] = None) -> Report:
                return run_load(self._bin, server.url, wav_scp, texts, f"--protocol={protocol}",
                                f"--streams={streams}", f"--ramp_s={plan.turn_s}", *flags)

            def load_riva() -> Report:
                """A few calls beside streams of Runnel's protocol; load_client has no gRPC."""
                audios = read_recordings(long)
                with ThreadPoolExecutor(1) as threads:
                    latencies = threads.submit(riva_turns, grpc_port, audios, plan.riva_calls,
                                               plan.turn_s)
                    report = load("runnel", plan.turn_streams - plan.riva_calls, turn)
                    report["latency_ms"]["end_of_speech"] = _quantiles(latencies.result())
                return report

            for protocol in TURN_ENDS:
                load_before, cpu_before = os.getloadavg()[0], server.cpu_s()
                if protocol == "riva":
                    report = load_riva()
                elif protocol in END_STREAM:
                    report = load(protocol, plan.turn_streams, f"--duration_s={plan.turns_s}",
                                  wav_scp=short, texts=expected)
                else:
                    report = load(protocol, plan.turn_streams, turn)
                measured[protocol] = {"report": report, "load_before": load_before,
                                      "server_cpu_s": server.cpu_s() - cpu_before}
        return measured

    def vanish(self) -> Report:
        """Clients that connect, speak and vanish, one by one and then together."""
        plan = self._plan
        with serve(self._bin, DIGITS, _NO_LIMITS, self._work / "vanish.log") as server:
            client = Round(Target(int(server.address.rsplit(":", 1)[1])), "127.0.0.1",
                           threading.Event())

            def run(count: int, at_once: int) -> Report:
                with ThreadPoolExecutor(at_once) as threads:
                    for _ in threads.map(disconnections, [client] * count):
                        pass  # raises what the client raised
                return _memory_alone(server)

            # A first round, so that the memory that the allocator keeps is there before the first
            # look.
            run(plan.vanish_one_by_one // 4, 1)
            return {"looks": [run(plan.vanish_at_once, plan.vanish_at_once),
                              run(plan.vanish_one_by_one, 1),
                              run(plan.vanish_at_once, plan.vanish_at_once)]}

    def killed(self) -> Report:
        """Streams behind a proxy while one of three servers is killed."""
        plan = self._plan
        wav_scp = write_recordings(self._work / "digits", 4, plan.killed_stream_s)
        expected, _ = decode(self._bin, DIGITS, wav_scp, ["--chunk_size=16"])
        with cluster(self._bin, DIGITS, _NO_LIMITS, self._work) as (url, servers):
            victim = servers[0].process
            # In the middle of the streams.
            timer = threading.Timer(plan.killed_stream_s / 2, victim.kill)
            timer.start()
            try:
                report = run_load(self._bin, url, wav_scp, expected,
                                  f"--streams={plan.killed_streams}", "--ramp_s=1", "--resume")
            finally:
                timer.cancel()
            if victim.poll() is None:
                raise ProgramError("the server was not killed before the streams ended")
        return {"report": report}

    def attacked(self) -> Report:
        """Streams of digits beside each kind of attack."""
        folder = self._work / "attacked"
        folder.mkdir(exist_ok=True)
        lines = (SAMPLES / "wav.scp").read_text(encoding="utf-8").splitlines()
        wav_scp = folder / "wav.scp"
        wav_scp.write_text("".join(f"{key} {ROOT / path}\n" for key, path in map(str.split, lines)),
                           encoding="utf-8")
        expected, _ = decode(self._bin, DIGITS, wav_scp, ["--chunk_size=16"])
        return attacked(self._bin, DIGITS, wav_scp, expected, self._plan)


def run_parts(plan: Plan, bin_folder: pathlib.Path, work: pathlib.Path,
              names: List[str]) -> Dict[str, Any]:
    """Results by the name of the part."""
    parts = Parts(plan, bin_folder, work)
    results: Dict[str, Any] = {}
    for name in names:
        print(f"soak: {name}", flush=True)
        results[name] = getattr(parts, name)()
    return results
