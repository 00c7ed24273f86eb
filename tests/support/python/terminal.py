"""A terminal for what a program writes."""

import os
import pty
import threading
from typing import Callable

_CLOSE_S = 60  # much longer than a program takes that has ended


class Terminal:
    """Hand `slave` to a program as a standard stream. Keeps everything that is written to it."""

    def __init__(self) -> None:
        self._master, self.slave = pty.openpty()
        self._shown = b""
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                block = os.read(self._master, 4096)
            except OSError:  # the last process that had it open has ended
                return
            with self._changed:
                self._shown += block
                self._changed.notify_all()

    def shows(self, part: bytes, seconds: float) -> bool:
        """Waits for `part` to be written, at most `seconds`. Returns whether it was."""
        return self.becomes(lambda shown: part in shown, seconds)

    def becomes(self, condition: Callable[[bytes], bool], seconds: float) -> bool:
        """The same for a condition of everything that was written."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self._shown), seconds)

    def close(self) -> bytes:
        """Everything written, after the tool has ended."""
        os.close(self.slave)
        self._reader.join(_CLOSE_S)
        assert not self._reader.is_alive(), "a process still has the terminal open"
        os.close(self._master)
        return self._shown
