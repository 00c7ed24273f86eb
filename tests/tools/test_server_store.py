"""Running stream_server whose store of snapshots hangs or is full."""

import contextlib
import socket

from server_process import LONGEST, Server, pcm16, samples_of, start
from test_server_operation import SNAPSHOTS, socket_error


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
