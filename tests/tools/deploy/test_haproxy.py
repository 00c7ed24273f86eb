"""Three servers behind HAProxy with snapshots in Redis: killed, drained, full; no text is lost."""

import concurrent.futures
import json
import pathlib
import signal
import subprocess
import urllib.request
from typing import Any, Dict, List

import numpy as np
import pytest
import soundfile

from cluster_processes import GUARD_SECONDS, Proxy, Redis, server_flags, wait_until
from server_process import Server
from tool_runner import DIGITS, ROOT, SAMPLE_LIST, command, succeed
from websocket_client import Refused, WebSocket, request

NUM_STREAMS = 12
STREAM_SECONDS = 16  # of audio, so that much can happen meanwhile
RATE = 16000


class Corpus:
    """Long recordings made of the digit samples, and what decode_wav says about them."""

    def __init__(self, folder: pathlib.Path):
        random = np.random.default_rng(5)
        samples = [self.read(line.split()[1]) for line in SAMPLE_LIST.read_text().splitlines()]
        lines = []
        for i in range(NUM_STREAMS):
            parts: List[np.ndarray] = []
            while sum(map(len, parts)) < STREAM_SECONDS * RATE:
                parts.append(samples[random.integers(len(samples))])
            path = folder / f"long{i}.wav"
            soundfile.write(path, np.concatenate(parts), RATE, subtype="PCM_16")
            lines.append(f"long{i} {path}\n")
        self.listing = folder / "wav.scp"
        self.listing.write_text("".join(lines))
        self.expected = folder / "text"
        self.expected.write_text(succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}",
                                         f"--wav_scp={self.listing}"))
        assert all(len(line.split()) > 10 for line in self.expected.read_text().splitlines())

    @staticmethod
    def read(path: str) -> np.ndarray:
        """One channel at RATE; the pitch of those of another rate does not matter here."""
        audio, _ = soundfile.read(ROOT / path, always_2d=True)
        return audio[:, 0]


@pytest.fixture(name="corpus", scope="module")
def corpus_fixture(tmp_path_factory):
    return Corpus(tmp_path_factory.mktemp("corpus"))


class Clients:
    """NUM_STREAMS streams in real time, whose texts are compared with decode_wav's."""

    def __init__(self, corpus: Corpus, port: int, *flags: str):
        self.process = subprocess.Popen(
            command("load_client", f"--server=ws://127.0.0.1:{port}/",
                    f"--wav_scp={corpus.listing}", f"--expected={corpus.expected}",
                    f"--streams={NUM_STREAMS}", "--rounds=1", "--ramp_s=0.5", "--behind_s=1000",
                    "--json", *flags),
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> "Clients":
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.kill()
        self.process.communicate()

    def report(self) -> Dict[str, Any]:
        """Waits for their end; they all were right."""
        output, errors = self.process.communicate(timeout=GUARD_SECONDS)
        assert self.process.returncode == 0, output + errors
        report = json.loads(output)
        assert report["done"] == NUM_STREAMS and report["failed"] == 0, report
        assert report["mismatched"] == 0, report
        return report


class Cluster:
    """Redis, three servers, HAProxy."""

    def __init__(self, folder: pathlib.Path, *flags: str):
        self.parts: List[Any] = []
        self.redis = self.add(Redis())
        # By the document's own line, with this test's Redis.
        line = next(line for line in (ROOT / "docs" / "deploy.md").read_text().splitlines()
                    if "--port=8001 --trusted_proxy" in line)
        assert "redis://127.0.0.1:6379" in line
        documented = server_flags(line.replace("redis://127.0.0.1:6379", self.redis.url))
        with concurrent.futures.ThreadPoolExecutor() as pool:  # they load side by side
            self.servers = list(pool.map(lambda _: Server(
                *documented, "--num_threads=1", "--snapshot_interval_s=0.5", *flags), range(3)))
        self.parts += self.servers
        self.proxy = self.add(Proxy(folder, *self.servers))
        self.port = self.proxy.port

    def add(self, part: Any) -> Any:
        self.parts.append(part)
        return part

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *details: Any) -> None:
        for part in reversed(self.parts):
            part.__exit__(*details)

    def spread(self) -> List[int]:
        return [num_streams(server) for server in self.servers]

    def wait_for_streams(self) -> List[int]:
        """All streams are there: how many on each server."""
        return wait_until(lambda: (spread := self.spread()) and sum(spread) == NUM_STREAMS
                          and spread, "all streams are there")

    def wait_until_down(self, name: str) -> None:
        wait_until(lambda: self.proxy.status(name).startswith("DOWN"), "HAProxy knows")


def num_streams(server: Server) -> int:
    return int(server.metrics()["runnel_streams"])


def snapshots(server: Server, result: str) -> int:
    return int(server.metrics()[f'runnel_snapshots_total{{result="{result}"}}'])


def wait_for_snapshots(server: Server, count: int) -> None:
    wait_until(lambda: snapshots(server, "stored") >= count, "snapshots are kept")


def test_streams_survive_a_server_that_is_killed(tmp_path, corpus):
    with Cluster(tmp_path) as cluster, Clients(corpus, cluster.port, "--resume") as clients:
        # Least connections: streams that last are spread evenly.
        assert cluster.wait_for_streams() == [NUM_STREAMS // 3] * 3
        victim, *others = cluster.servers
        wait_for_snapshots(victim, 4 * NUM_STREAMS)  # each of its streams has some
        lost = num_streams(victim)
        assert lost == NUM_STREAMS // 3
        victim.signal(signal.SIGKILL)
        report = clients.report()
        assert report["resumes"] >= lost
        # They went on from their snapshots, not from the beginning.
        assert sum(snapshots(server, "resumed") for server in others) == lost
        cluster.wait_until_down("server1")
        wait_until(lambda: sum(map(num_streams, others)) == 0, "the streams have ended")


def test_draining_loses_nothing(tmp_path, corpus):
    # Without snapshots, and without a second try: nothing may be lost on the way.
    with Cluster(tmp_path) as cluster, Clients(corpus, cluster.port) as clients:
        cluster.wait_for_streams()
        leaving, *others = cluster.servers
        leaving.signal()
        wait_until(lambda: leaving.get("/readyz").status == 503, "the server drains")
        assert num_streams(leaving) == NUM_STREAMS // 3
        # At once, while HAProxy may not know yet: who comes now is served elsewhere.
        with Clients(corpus, cluster.port) as late:
            wait_until(lambda: sum(map(num_streams, others)) == NUM_STREAMS * 5 // 3,
                       "the late ones are there")
            cluster.wait_until_down("server1")
            assert clients.report()["resumes"] == 0
            assert leaving.exit_code() == 0
            assert late.report()["resumes"] == 0


def test_streams_that_outlast_the_draining_go_elsewhere(tmp_path, corpus):
    with Cluster(tmp_path, "--drain_timeout_s=0.5") as cluster, \
            Clients(corpus, cluster.port, "--resume") as clients:
        cluster.wait_for_streams()
        leaving, *others = cluster.servers
        wait_for_snapshots(leaving, NUM_STREAMS)
        leaving.signal()
        assert leaving.exit_code() == 0
        assert clients.report()["resumes"] >= NUM_STREAMS // 3
        assert sum(snapshots(server, "resumed") for server in others) == NUM_STREAMS // 3


def test_streams_go_on_without_redis(tmp_path, corpus):
    with Cluster(tmp_path) as cluster, Clients(corpus, cluster.port, "--resume") as clients:
        cluster.wait_for_streams()
        wait_for_snapshots(cluster.servers[0], 1)
        cluster.redis.process.kill()
        wait_until(lambda: all(snapshots(server, "failed") > 0 for server in cluster.servers),
                   "the servers have noticed")
        assert clients.report()["resumes"] == 0


def test_runtime_interface_takes_a_server_out(tmp_path, corpus):
    with Cluster(tmp_path) as cluster, Clients(corpus, cluster.port) as clients:
        cluster.wait_for_streams()
        assert cluster.proxy.ask("set server streams/server2 state drain") == ""
        assert cluster.proxy.status("server2").startswith("DRAIN")
        sockets = [WebSocket(cluster.port) for _ in range(4)]
        assert num_streams(cluster.servers[1]) == NUM_STREAMS // 3
        assert "server2" in cluster.proxy.ask("show servers conn streams")
        assert cluster.proxy.ask("set server streams/server2 state ready") == ""
        for websocket in sockets:
            websocket.socket.close()
        assert clients.report()["resumes"] == 0


def test_full_servers_refuse_at_once(tmp_path):
    with Cluster(tmp_path, "--max_streams=1") as cluster:
        # Together, so that HAProxy cannot know who is full: a server's 503 becomes another server.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            sockets = list(pool.map(lambda _: WebSocket(cluster.port), range(3)))
        assert cluster.spread() == [1, 1, 1]
        with pytest.raises(Refused) as refused:
            WebSocket(cluster.port)
        assert refused.value.status == 503 and refused.value.code == "full"
        assert int(refused.value.headers["retry-after"]) > 0
        for websocket in sockets:
            websocket.socket.close()
        wait_until(lambda: sum(cluster.spread()) == 0, "the streams have ended")
        wait_until(lambda: all(row["status"].startswith("UP")
                               for row in cluster.proxy.rows().values()), "HAProxy knows")
        with WebSocket(cluster.port):
            assert sum(cluster.spread()) == 1


def test_recordings_meet_full_servers(tmp_path):
    """HAProxy keeps no body that is larger than its buffer for a second server: clients repeat."""
    with Cluster(tmp_path, "--max_streams=1") as cluster:
        sockets = [WebSocket(server.port) for server in cluster.servers]
        for size in 1000, 100_000:
            answer = request(cluster.port, "/v1/recognize", "POST", bytes(size))
            assert answer.status == 503 and answer.json()["error"]["code"] == "full"
            assert int(answer.headers["retry-after"]) > 0
        for websocket in sockets:
            websocket.socket.close()


def test_limits_per_address_are_the_clients_own(tmp_path):
    """Servers believe HAProxy about addresses, and HAProxy believes nobody."""
    with Cluster(tmp_path, "--max_streams_per_address=1") as cluster:
        # One on each server: the limit is each server's own.
        sockets = [WebSocket(cluster.port) for _ in range(3)]
        for headers in {}, {"X-Forwarded-For": "192.0.2.7"}:
            with pytest.raises(Refused) as refused:
                WebSocket(cluster.port, headers=headers)
            assert refused.value.status == 503 and refused.value.code == "address_full"
        for websocket in sockets:
            websocket.socket.close()


def test_what_else_comes_through(tmp_path):
    with Cluster(tmp_path) as cluster:
        def get(target: str):
            answer = request(cluster.port, target)
            return answer.status, answer.body.decode()

        assert get("/haproxy/healthz")[0] == 200
        assert get("/metrics")[0] == 404
        assert get("/readyz") == (200, "ready\n")
        status, page = get("/")
        assert status == 200 and "<html" in page
        statistics = f"http://127.0.0.1:{cluster.proxy.statistics_port}/metrics"
        with urllib.request.urlopen(statistics, timeout=GUARD_SECONDS) as reply:
            assert ('haproxy_server_status{proxy="streams",server="server3",state="UP"} 1'
                    in reply.read().decode())
        for server in cluster.servers:
            server.signal(signal.SIGKILL)
        status, body = get("/readyz")
        assert status == 503 and json.loads(body)["error"]["code"] == "full"
