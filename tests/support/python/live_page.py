"""The engine for web browsers and its page, which `make wasm` builds."""

import contextlib
import functools
import http.server
import os
import pathlib
import threading
from typing import Iterator

from tool_runner import ROOT

FOLDER = pathlib.Path(os.environ.get("RUNNEL_LIVE_DIR", ROOT / "build" / "wasm" / "live"))
IS_BUILT = (FOLDER / "runnel.wasm").is_file()
WHY_NOT = f"{FOLDER} is not built (make wasm)"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def static_server(folder: pathlib.Path = FOLDER) -> Iterator[int]:
    """A web server that has nothing but the files of a folder; gives its port."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
