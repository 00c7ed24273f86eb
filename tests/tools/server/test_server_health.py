"""The admin port, and what stream_server tells systemd."""

import contextlib
import signal
import socket as sockets

from server_process import LONGEST, TEXTS, Server, retry, speak, start
from websocket_client import PATIENCE_S, Closed, connect, read_answer, request


def test_the_admin_port_answers_when_no_connection_is_left():
    with Server("--admin_port=0", "--max_connections=2", "--max_connections_per_address=0",
                "--header_timeout_s=300") as server, contextlib.ExitStack() as stack:
        # Many more than the slots above the limit, from the address of the probes.
        for _ in range(200):
            stack.enter_context(connect(server.port))
        for _ in range(20):
            assert request(server.admin_port, "/healthz").status == 200
        # Silent connections make room: the server is not full.
        assert request(server.admin_port, "/readyz").body == b"ready\n"
        assert b"runnel_connections" in request(server.admin_port, "/metrics").body


def test_the_admin_port_has_nothing_but_health():
    with Server("--admin_port=0") as server:
        for target in "/", "/v1/recognize", "/v1/models", "/healthzz":
            assert request(server.admin_port, target).status == 404
        assert request(server.admin_port, "/healthz", "POST", b"").status == 405
        with connect(server.admin_port) as connection:  # no HTTP
            connection.sendall(b"nonsense\r\n\r\n")
            assert connection.recv(100) == b""


def test_silent_connections_do_not_keep_probes_from_the_admin_port():
    with Server("--admin_port=0") as server, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connect(server.admin_port)) for _ in range(100)]
        assert request(server.admin_port, "/healthz").status == 200
        assert silent[0].recv(100) == b""  # the oldest made room
        server.signal()
        assert server.exit_code() == 0  # and connections do not keep the server


def test_an_address_with_many_connections_keeps_no_other_from_the_admin_port():
    with Server("--admin_port=0") as server:
        def probe_beside_many():
            with contextlib.ExitStack() as stack:
                probe = stack.enter_context(connect(server.admin_port))
                many = [stack.enter_context(sockets.create_connection(
                    ("127.0.0.1", server.admin_port), PATIENCE_S, source_address=("127.0.0.2", 0)))
                        for _ in range(40)]
                assert many[0].recv(100) == b""  # made room
                probe.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                try:
                    return read_answer(probe)[0].status
                except (Closed, ConnectionError):  # a slow machine: its time was over
                    return None
        assert retry(probe_beside_many) == 200


class Notified:
    """The socket of systemd, as $NOTIFY_SOCKET names it."""

    def __init__(self, folder):
        path = str(folder / "notify")
        self.socket = sockets.socket(sockets.AF_UNIX, sockets.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.settimeout(PATIENCE_S)
        self.environment = {"NOTIFY_SOCKET": path}

    def wait_for(self, state):
        while self.socket.recv(100).decode() != state:
            pass


def test_systemd_is_told(tmp_path):
    notified = Notified(tmp_path)
    with Server(environment=notified.environment) as server:
        notified.wait_for("READY=1")
        for _ in range(2):
            notified.wait_for("WATCHDOG=1")
        with server.open() as socket:
            start(socket)
            server.signal(signal.SIGTERM)
            notified.wait_for("STOPPING=1")
            notified.wait_for("WATCHDOG=1")  # also while it drains
        assert server.exit_code() == 0


def test_no_systemd(tmp_path):
    with Server(environment={"NOTIFY_SOCKET": str(tmp_path / "nobody")}) as server:
        with server.open() as socket:
            assert speak(socket, LONGEST) == TEXTS[LONGEST]
