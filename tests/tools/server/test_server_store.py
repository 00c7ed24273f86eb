"""Running stream_server whose store of snapshots hangs or is full."""

import contextlib
import socket

from server_process import LONGEST, TEXTS, Server, pcm16, samples_of, speak, start
from test_server_operation import SNAPSHOTS, socket_error
from tool_runner import USAGE, error_line, run

DROPPED = 'runnel_snapshots_total{result="dropped"}'
LARGE = {"chunk_size": 1, "left_context": 512}  # makes the largest snapshots
ONE_SNAPSHOT = ("--snapshot_interval_s=2", "--max_speed=0")  # of a recording of at most 4 s


def test_store_that_hangs():
    """A Redis that accepts and never answers: resumes and draining come to an end all the same."""
    samples, rate = samples_of(LONGEST)
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as silent:
        flags = (f"--snapshot_store=redis://127.0.0.1:{silent.getsockname()[1]}",
                 "--drain_timeout_s=0", *SNAPSHOTS)
        with Server(*flags) as server, contextlib.ExitStack() as stack:
            streams = [stack.enter_context(server.open()) for _ in range(20)]
            for stream in streams:
                start(stream, rate, resume=True)
                stream.send_bytes(pcm16(samples))
            server.wait_for(lambda now: now['runnel_snapshots_total{result="failed"}'] > 0)
            with server.open() as late:
                late.send_json(type="resume", version=1, token="0" * 32)
                assert late.receive_json()["code"] == "store_unavailable"
                assert late.close_code() == 1013
            server.signal()
            for stream in streams:
                assert socket_error(stream) == ([], "draining", 1013)
            assert server.exit_code() == 0


def stored(folder):
    """Bytes of all snapshots; some may vanish meanwhile."""
    sizes = []
    for path in folder.iterdir():
        if path.suffix == ".unfinished":
            continue
        with contextlib.suppress(FileNotFoundError):
            sizes.append(path.stat().st_size)
    return sum(sizes)


def fill(server):
    """Streams that vanish, until the oldest snapshots are dropped; the tokens of the others."""
    samples, rate = samples_of(LONGEST)
    tokens = []
    while server.metrics()[DROPPED] == 0:
        with server.open() as stream:
            start(stream, rate, resume=True, **LARGE)
            stream.send_bytes(pcm16(samples))
            tokens.append(stream.receive_until("snapshot")["token"])
    return tokens[int(server.metrics()[DROPPED]):]


def test_clients_that_vanish_leave_no_more_than_the_bound(tmp_path):
    """Of every stream there is one snapshot: what live streams grow is not bounded."""
    folder = tmp_path / "snapshots"
    with Server(f"--snapshot_store={folder}", "--max_snapshot_mb=3", *ONE_SNAPSHOT) as server:
        kept = fill(server)
        assert {path.name for path in folder.iterdir()} == set(kept)
        assert 0 < stored(folder) <= 3 << 20
        server.wait_for(lambda now: now["runnel_snapshot_bytes"] == stored(folder))
        with server.open() as stream:
            assert speak(stream, LONGEST, resume=True) == TEXTS[LONGEST]
        samples, rate = samples_of(LONGEST)
        for step in range(60):
            with server.open() as stream:
                start(stream, rate, resume=True, **LARGE)
                stream.send_bytes(pcm16(samples))
                if step % 2:
                    stream.receive_until("snapshot")
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        assert stored(folder) <= 3 << 20


def test_resumed_stream_has_snapshots_in_a_full_folder(tmp_path):
    folder = tmp_path / "snapshots"
    samples, rate = samples_of(LONGEST)
    with Server(f"--snapshot_store={folder}", "--max_snapshot_mb=3", *ONE_SNAPSHOT) as server:
        old = fill(server)[0]
        new = []
        with server.open() as stream:
            stream.send_json(type="resume", version=1, token=old)
            stream.receive_until("resumed")
            for _ in range(2):
                assert not new or (folder / old).exists()
                stream.send_bytes(pcm16(samples))
                new.append(stream.receive_until("snapshot")["token"])
            assert new[0] == new[1] != old
            server.wait_for(lambda _: not (folder / old).exists())
            assert (folder / new[0]).exists()
            stream.send_json(type="cancel")
            assert stream.close_code() == 1000
        server.wait_for(lambda _: not (folder / new[0]).exists())


def test_snapshots_expire_on_a_server_that_does_nothing(tmp_path):
    folder = tmp_path / "snapshots"
    samples, rate = samples_of(LONGEST)
    with Server(f"--snapshot_store={folder}", "--snapshot_ttl_s=1", *SNAPSHOTS) as server:
        with server.open() as stream:
            start(stream, rate, resume=True)
            stream.send_bytes(pcm16(samples))
            stream.receive_until("snapshot")
        server.wait_for(lambda now: now["runnel_streams"] == now["runnel_snapshot_bytes"] == 0)
        assert not list(folder.iterdir())


def test_snapshots_live_a_year_at_most(tmp_path):
    line = error_line(run("stream_server", "--model=models/digits/digits.pt",
                          f"--snapshot_store={tmp_path}", "--snapshot_ttl_s=10000000000"), USAGE)
    assert "--snapshot_ttl_s is 10000000000, expected" in line and "31536000" in line
