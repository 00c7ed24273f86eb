"""Writes docs/web_page.png and docs/web_page_phone.png: the web page with a recording half heard.

    PYTHONPATH=tests/support/python python3 tests/tools/server/web_page_screenshots.py [folder]

Needs build/bin/stream_server and chromium.
"""

import json
import pathlib
import sys
import tempfile

import numpy as np
import soundfile

from chromium import Browser
from server_process import FILES, LONGEST, TEXTS, Server, samples_of
from tool_runner import ROOT

EARLIER = "alicia_countdown"


def take(server: Server, microphone: pathlib.Path, path: pathlib.Path, **window) -> None:
    """Recognises one recording, and another by microphone as far as a word that may change."""
    with tempfile.TemporaryDirectory() as profile, Browser(pathlib.Path(profile),
                                                           microphone) as browser:
        browser.set_window(**window)
        browser.open(server.url)
        browser.choose_file("#file", FILES[EARLIER])
        browser.wait_for("caption.querySelector('.text').textContent === "
                         f"{json.dumps(TEXTS[EARLIER])}")
        browser.evaluate("microphone.click()")
        browser.wait_for("caption.querySelector('time') && "
                         "stable.textContent.trim().split(' ').length > 2 && "
                         "tentative.textContent.trim()")
        browser.screenshot(path)


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    samples, rate = samples_of(LONGEST)
    # Again and again after a pause, a little later in the chunk each time: some chunk ends within a
    # word.
    spoken = np.concatenate([np.append(samples, np.zeros((15 + i) * rate // 9)) for i in range(5)])
    with tempfile.TemporaryDirectory() as audio, Server() as server:
        microphone = pathlib.Path(audio) / "microphone.wav"
        soundfile.write(microphone, spoken, rate, subtype="PCM_16")
        take(server, microphone, folder / "web_page.png", width=1000, height=900)
        take(server, microphone, folder / "web_page_phone.png", width=360, height=840, scale=2,
             is_phone=True, scheme="dark")


if __name__ == "__main__":
    main()
