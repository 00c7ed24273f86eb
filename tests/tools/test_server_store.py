"""Running stream_server whose store of snapshots hangs or is full."""

import contextlib
import socket

from server_process import LONGEST, TEXTS, Server, pcm16, samples_of, speak, start
from test_server_operation import SNAPSHOTS, socket_error
from tool_runner import SAMPLE_LIST, USAGE, error_line, run


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
    """Bytes of all files; some may vanish meanwhile."""
    sizes = []
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            sizes.append(path.stat().st_size)
    return sum(sizes)


def test_clients_that_vanish_leave_no_more_than_the_bound(tmp_path):
    folder = tmp_path / "snapshots"
    samples, rate = samples_of(LONGEST)
    skipped = 'runnel_snapshots_total{result="skipped"}'
    with Server(f"--snapshot_store={folder}", "--max_snapshot_mb=3", *SNAPSHOTS) as server:
        while (before := server.metrics())[skipped] == 0:
            with server.open() as stream:
                start(stream, rate, resume=True, chunk_size=1, left_context=512)
                stream.send_bytes(pcm16(samples))
                server.wait_for(lambda now, old=before: any(
                    now[name] > old[name] for name in now if name.startswith("runnel_snapshots")))
            assert 0 < stored(folder) <= 3 << 20
        server.wait_for(lambda now: now["runnel_snapshot_bytes"] == stored(folder))
        with server.open() as stream:  # served as ever, only not kept
            assert speak(stream, LONGEST, resume=True) == TEXTS[LONGEST]
        done = run("load_client", f"--server=ws://127.0.0.1:{server.port}/",
                   f"--wav_scp={SAMPLE_LIST}", "--streams=0", "--vanish=60", "--vanish_at_once=4",
                   "--resume", "--chunk_size=1", "--left_context=512")
        assert done.returncode == 0, done.stderr
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        assert stored(folder) <= 3 << 20


def test_snapshots_live_a_year_at_most(tmp_path):
    line = error_line(run("stream_server", "--model=models/digits/digits.pt",
                          f"--snapshot_store={tmp_path}", "--snapshot_ttl_s=10000000000"), USAGE)
    assert "--snapshot_ttl_s is 10000000000, expected" in line and "31536000" in line
