"""Three servers behind HAProxy with snapshots in Redis: killed, drained, full; no text is lost."""

import json
import pathlib
import subprocess
from typing import Any, Dict, List

import numpy as np
import pytest
import soundfile

from server_processes import (GUARD_SECONDS, Process, Proxy, Redis, Server, get, open_stream,
                              reply_of, wait_until)
from tool_runner import DIGITS, ROOT, SAMPLE_LIST, command, succeed

NUM_STREAMS = 12
STREAM_SECONDS = 24  # of audio, so that much can happen meanwhile
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

    def __init__(self, corpus: Corpus, address: str, *flags: str):
        self.process = subprocess.Popen(
            command("load_client", f"--server=ws://{address}/", f"--wav_scp={corpus.listing}",
                    f"--expected={corpus.expected}", f"--streams={NUM_STREAMS}", "--rounds=1",
                    "--ramp_s=0.5", "--json", *flags),
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
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
        self.parts: List[Process] = []
        self.redis = self.add(Redis(folder))
        # By the document's own line, with this test's Redis.
        line = next(line for line in (ROOT / "docs" / "deploy.md").read_text().splitlines()
                    if "--port=8001 --trusted_proxy" in line)
        assert "redis://127.0.0.1:6379" in line
        line = line.replace("redis://127.0.0.1:6379", self.redis.url)
        self.servers = [self.add(Server(folder, "--num_threads=1", "--snapshot_interval_s=0.5",
                                        *flags, command_line=line)) for _ in range(3)]
        self.proxy = self.add(Proxy(folder, *self.servers))

    def add(self, part):
        self.parts.append(part)
        return part

    def __enter__(self):
        return self

    def __exit__(self, *details):
        for part in reversed(self.parts):
            part.__exit__(*details)

    def spread(self) -> List[int]:
        return [server.num_streams() for server in self.servers]

    def wait_for_streams(self) -> List[int]:
        """All streams are there: how many on each server."""
        return wait_until(lambda: (spread := self.spread()) and sum(spread) == NUM_STREAMS
                          and spread, "all streams are there")

    def wait_for_snapshots(self, server: Server, count: int):
        wait_until(lambda: snapshots(server, "stored") >= count, "snapshots are kept")


def snapshots(server: Server, result: str) -> int:
    return int(server.metrics().get(f'runnel_snapshots_total{{result="{result}"}}', 0))


def test_streams_survive_a_server_that_is_killed(tmp_path, corpus):
    with Cluster(tmp_path) as cluster, Clients(corpus, cluster.proxy.address,
                                               "--resume") as clients:
        # Least connections: streams that last are spread evenly.
        assert cluster.wait_for_streams() == [NUM_STREAMS // 3] * 3
        victim, *others = cluster.servers
        # Each of its streams has some snapshots.
        cluster.wait_for_snapshots(victim, 4 * NUM_STREAMS)
        lost = victim.num_streams()
        assert lost == NUM_STREAMS // 3
        victim.kill()
        report = clients.report()
        assert report["resumes"] >= lost
        # They went on from their snapshots, not from the beginning.
        assert sum(snapshots(server, "resumed") for server in others) == lost
        wait_until(lambda: cluster.proxy.rows()["server1"]["status"].startswith("DOWN"),
                   "HAProxy knows")
        assert all(server.num_streams() == 0 for server in others)


def test_draining_loses_nothing(tmp_path, corpus):
    with Cluster(tmp_path) as cluster:
        # Without snapshots, and without a second try: nothing may be lost on the way.
        with Clients(corpus, cluster.proxy.address) as clients:
            cluster.wait_for_streams()
            leaving, *others = cluster.servers
            leaving.terminate()
            wait_until(lambda: leaving.ready() == 503, "the server drains")
            assert leaving.num_streams() == NUM_STREAMS // 3
            # At once, while HAProxy may not know yet: who comes now is served elsewhere.
            with Clients(corpus, cluster.proxy.address) as late:
                wait_until(lambda: sum(s.num_streams() for s in others) == NUM_STREAMS * 5 // 3,
                           "the late ones are there")
                wait_until(lambda: cluster.proxy.rows()["server1"]["status"].startswith("DOWN"),
                           "HAProxy knows")
                assert clients.report()["resumes"] == 0
                assert leaving.end() == 0
                assert late.report()["resumes"] == 0


def test_streams_that_outlast_the_draining_go_elsewhere(tmp_path, corpus):
    with Cluster(tmp_path, "--drain_timeout_s=0.5") as cluster, \
            Clients(corpus, cluster.proxy.address, "--resume") as clients:
        cluster.wait_for_streams()
        leaving, *others = cluster.servers
        cluster.wait_for_snapshots(leaving, NUM_STREAMS)
        leaving.terminate()
        assert leaving.end() == 0
        assert clients.report()["resumes"] >= NUM_STREAMS // 3
        assert sum(snapshots(server, "resumed") for server in others) == NUM_STREAMS // 3


def test_runtime_interface_takes_a_server_out(tmp_path, corpus):
    with Cluster(tmp_path) as cluster, Clients(corpus, cluster.proxy.address) as clients:
        cluster.wait_for_streams()
        assert cluster.proxy.ask("set server streams/server2 state drain").strip() == ""
        assert cluster.proxy.rows()["server2"]["status"].startswith("DRAIN")
        connections = [open_stream(cluster.proxy.address) for _ in range(4)]
        assert all("101 Switching" in reply_of(connection) for connection in connections)
        assert cluster.spread()[1] == NUM_STREAMS // 3
        assert "server2" in cluster.proxy.ask("show servers conn streams")
        assert cluster.proxy.ask("set server streams/server2 state ready").strip() == ""
        for connection in connections:
            connection.close()
        assert clients.report()["resumes"] == 0


def test_full_servers_refuse_at_once(tmp_path):
    with Cluster(tmp_path, "--max_streams=1") as cluster:
        # Together, so that HAProxy cannot know who is full: a server's 503 becomes another server.
        connections = [open_stream(cluster.proxy.address) for _ in range(3)]
        assert all("101 Switching" in reply_of(connection) for connection in connections)
        assert cluster.spread() == [1, 1, 1]
        refused = open_stream(cluster.proxy.address)
        reply = reply_of(refused)
        assert reply.startswith("HTTP/1.1 503 ") and "retry-after: " in reply.lower()
        assert json.loads(reply.split("\r\n\r\n")[1])["error"]["code"] == "full"
        for connection in [*connections, refused]:
            connection.close()
        wait_until(lambda: sum(cluster.spread()) == 0, "the streams have ended")
        wait_until(lambda: all(row["status"].startswith("UP")
                               for row in cluster.proxy.rows().values()), "HAProxy knows")
        again = open_stream(cluster.proxy.address)
        assert "101 Switching" in reply_of(again)
        again.close()


def test_what_else_comes_through(tmp_path):
    with Cluster(tmp_path) as cluster:
        base = f"http://{cluster.proxy.address}"
        assert get(f"{base}/haproxy/healthz")[0] == 200
        assert get(f"{base}/metrics")[0] == 404
        assert get(f"{base}/readyz") == (200, "ready\n")
        page = get(base + "/")
        assert page[0] == 200 and "<html" in page[1]
        statistics = get(f"http://127.0.0.1:{cluster.proxy.statistics_port}/metrics")[1]
        assert 'haproxy_server_status{proxy="streams",server="server3",state="UP"} 1' in statistics
        for server in cluster.servers:
            server.kill()
        status, body = get(base + "/readyz")
        assert status == 503 and json.loads(body)["error"]["code"] == "full"


def test_limits_per_address_are_the_clients_own(tmp_path):
    """Servers believe HAProxy about addresses, and HAProxy believes nobody."""
    with Cluster(tmp_path, "--max_streams_per_address=1") as cluster:
        connections = []
        for _ in range(3):  # one on each server: the limit is each server's own
            connections.append(open_stream(cluster.proxy.address))
            assert "101 Switching" in reply_of(connections[-1])
        connection = open_stream(cluster.proxy.address, "X-Forwarded-For: 192.0.2.7\r\n")
        assert reply_of(connection).startswith("HTTP/1.1 503 ")
        for other in [*connections, connection]:
            other.close()


def test_streams_go_on_without_redis(tmp_path, corpus):
    with Cluster(tmp_path) as cluster, Clients(corpus, cluster.proxy.address,
                                               "--resume") as clients:
        cluster.wait_for_streams()
        cluster.wait_for_snapshots(cluster.servers[0], 1)
        cluster.redis.kill()
        wait_until(lambda: all(snapshots(server, "failed") > 0 for server in cluster.servers),
                   "the servers have noticed")
        assert clients.report()["resumes"] == 0
