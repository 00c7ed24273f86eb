"""A TCP proxy that cuts connections, for tests of clients that resume their streams."""

import socket
import threading


class CuttingProxy:
    """Forwards connections to a server on `port`.

    `cuts`: the number of bytes from the client after which each of the first connections is cut;
    `answer_cuts`: the same of bytes from the server, which are lost with what comes after them.
    """

    def __init__(self, port, cuts, answer_cuts=()):
        self.cuts, self.answer_cuts, self.target = list(cuts), list(answer_cuts), port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            limit = self.cuts.pop(0) if self.cuts else None
            answer_limit = self.answer_cuts.pop(0) if self.answer_cuts else None
            for pair in (client, server, limit), (server, client, answer_limit):
                threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    @staticmethod
    def _pass_on(source, sink, limit):
        try:
            while limit is None or limit > 0:
                piece = source.recv(4096 if limit is None else min(4096, limit))
                if not piece:
                    break
                sink.sendall(piece)
                limit = None if limit is None else limit - len(piece)
        except OSError:
            pass
        for end in source, sink:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
