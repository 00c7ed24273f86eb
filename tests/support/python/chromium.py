"""Drives a headless Chromium by the DevTools protocol, over pipes, for tests of the web page."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import threading
import time
from typing import Any, Callable, Dict, List, Optional

PATIENCE_S = 120  # a guard against hanging, never a measure
POLL_S = 0.05

PROGRAM = shutil.which("chromium")


class Browser:
    """A browser with one page at a time; leaving the context ends it."""

    def __init__(self, folder: pathlib.Path, microphone: Optional[pathlib.Path] = None,
                 *flags: str):
        """`folder`: for its profile. `microphone`: a PCM16 WAV that is heard once, when a page
        opens the microphone, and silence after it; without it there is none."""
        arguments = [
            PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe",
            f"--user-data-dir={folder}", *flags]
        if microphone is not None:
            arguments += ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
                          f"--use-file-for-fake-audio-capture={microphone}%noloop"]
        from_here, self._to_browser = os.pipe()
        self._from_browser, from_there = os.pipe()
        # It listens on descriptor 3 and speaks on 4, whatever numbers ours have.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{from_here} 4>&{from_there}', "bash", *arguments],
            pass_fds=(from_here, from_there), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(from_here)
        os.close(from_there)
        self._number = 0
        self._changed = threading.Condition()
        self._answers: Dict[int, Dict[str, Any]] = {}
        self._is_gone = False
        self.events: List[Dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()
        self._session: Optional[str] = None
        self._target: Optional[str] = None
        self._context: Optional[str] = None
        self.new_page()

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: Any) -> None:
        os.close(self._to_browser)  # at which it ends
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def new_page(self) -> None:
        """Goes to a fresh page, with storage of its own, and forgets the events of the last one."""
        left, self._session = self._target, None
        self._context = self.call("Target.createBrowserContext")["browserContextId"]
        self._target = self.call("Target.createTarget", url="about:blank",
                                 browserContextId=self._context)["targetId"]
        if left is not None:
            self.call("Target.closeTarget", targetId=left)
        session = self.call("Target.attachToTarget", targetId=self._target,
                            flatten=True)["sessionId"]
        with self._changed:
            self._session = session
            self.events.clear()
        for domain in "Page", "Runtime", "Network", "Log", "DOM":
            self.call(f"{domain}.enable")

    def _read(self) -> None:
        buffered = b""
        while True:
            piece = os.read(self._from_browser, 1 << 16)
            *messages, buffered = (buffered + piece).split(b"\0")
            with self._changed:
                for message in map(json.loads, messages):
                    if "id" in message:
                        self._answers[message["id"]] = message
                    elif message.get("sessionId") == self._session:
                        self.events.append(message)
                self._is_gone = not piece
                self._changed.notify_all()
            if not piece:
                os.close(self._from_browser)
                return

    def call(self, method: str, **parameters: Any) -> Dict[str, Any]:
        """A command of the protocol; returns its result."""
        self._number += 1
        number = self._number
        message: Dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        with self._changed:
            answered = self._changed.wait_for(
                lambda: number in self._answers or self._is_gone, PATIENCE_S)
            assert answered and not self._is_gone, f"{method}: the browser does not answer"
            answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def open(self, url: str) -> None:
        """Loads a page, to the end of its load event."""
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression: str) -> Any:
        """The value of JavaScript in the page, awaited when it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Asks until the JavaScript is true; returns its value."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            value = self.evaluate(expression)
            if value:
                return value
            threading.Event().wait(POLL_S)
        raise AssertionError(f"never came: {expression}; the page says "
                             f"{self.evaluate('document.body.innerText')!r}")

    def wait_for_event(self, method: str, **expected: Any) -> Dict[str, Any]:
        """The parameters of the first event of this page with these, which may be to come."""
        def find() -> Optional[Dict[str, Any]]:
            return next((event["params"] for event in self.events if event["method"] == method
                         and expected.items() <= event["params"].items()), None)

        with self._changed:
            found = self._changed.wait_for(find, PATIENCE_S)
        assert found, f"never came: {method} with {expected}"
        return found

    def press(self, key: str) -> None:
        """A key of the keyboard: "Tab", "Enter" or " "."""
        code, text = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " ")}[key]
        for kind in "keyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=kind, key=key,
                      code="Space" if key == " " else key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def _middle(self, element: str) -> List[float]:
        """Where the middle of an element is in the window, into which it is scrolled."""
        self.evaluate(f"{element}.scrollIntoView({{block: 'center'}})")
        return self.evaluate(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
                             f"({element}.getBoundingClientRect())")

    def click(self, element: str) -> None:
        """Presses the mouse in the middle of an element, which JavaScript gives."""
        x, y = self._middle(element)
        for kind in "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drop(self, *paths: pathlib.Path, element: str = "document.querySelector('main')") -> None:
        """Drags files over an element, which JavaScript gives, and lets them go there."""
        x, y = self._middle(element)
        data = {"items": [], "files": list(map(str, paths)), "dragOperationsMask": 1}
        for kind in "dragEnter", "dragOver", "drop":
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)

    def choose_file(self, selector: str, path: pathlib.Path) -> None:
        """What the dialog of a file input does."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def choose_file_in_dialog(self, path: pathlib.Path, open_dialog: Callable[[], None]) -> None:
        """Chooses a file in the dialog that `open_dialog` makes the page open."""
        self.call("Page.setInterceptFileChooserDialog", enabled=True)
        open_dialog()
        node = self.wait_for_event("Page.fileChooserOpened")["backendNodeId"]
        self.call("DOM.setFileInputFiles", backendNodeId=node, files=[str(path)])

    def download(self, folder: pathlib.Path, save: Callable[[], None]) -> pathlib.Path:
        """The file that `save` makes the page save, in `folder`."""
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder),
                  browserContextId=self._context, eventsEnabled=True)
        with self._changed:
            self.events = [event for event in self.events
                           if not event["method"].startswith("Browser.download")]
        save()
        begun = self.wait_for_event("Browser.downloadWillBegin")
        self.wait_for_event("Browser.downloadProgress", guid=begun["guid"], state="completed")
        return folder / begun["suggestedFilename"]

    def set_window(self, width: int, height: int, scale: float = 1, is_phone: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=is_phone)

    def set_preferences(self, scheme: str = "light", motion: str = "no-preference") -> None:
        """What the system tells pages: "light" or "dark"; "no-preference" or "reduce"."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": motion}])

    def screenshot(self, path: pathlib.Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def complaints(self) -> List[str]:
        """Errors and warnings in the console, exceptions, failed requests."""
        found = []
        for event in list(self.events):
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            elif (event["method"] == "Runtime.consoleAPICalled"
                  and parameters["type"] in ("error", "warning", "assert")):
                found.append(str(parameters["args"]))
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in (
                    "error", "warning"):
                found.append(str(parameters["entry"]))
        return found

    def requested(self) -> List[str]:
        """The address of everything that the page asked for."""
        urls = {"Network.requestWillBeSent": lambda p: p["request"]["url"],
                "Network.webSocketCreated": lambda p: p["url"]}
        return [urls[event["method"]](event["params"]) for event in list(self.events)
                if event["method"] in urls]
