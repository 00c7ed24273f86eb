"""Writes docs/web_page.png, docs/web_page_phone.png and docs/web_page_recording.png: the web page
with live text, the same on a phone in the dark, and with a recording.

    PYTHONPATH=tests/support/python python3 tests/tools/server/page/web_page_screenshots.py [folder]

Needs build/bin/stream_server, chromium and Pillow.
"""

import pathlib
import sys
import tempfile

import numpy as np
import soundfile
from PIL import Image

from chromium import Browser
from server_process import FILES, LONGEST, TEXTS, Server, samples_of
from tool_runner import ROOT
from web_page import IS_IDLE, UTTERANCES, is_recognised

EARLIER = "alicia_countdown"
RATE = 16000


def take(browser: Browser, path: pathlib.Path) -> None:
    """With a palette, for a third of the bytes."""
    browser.screenshot(path)
    Image.open(path).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


def take_live(server: Server, microphone: pathlib.Path, path: pathlib.Path, scheme: str,
              **window) -> None:
    """Recognises one recording, and another by microphone as far as a word that may change."""
    with tempfile.TemporaryDirectory() as profile, Browser(pathlib.Path(profile),
                                                           microphone) as browser:
        browser.set_window(**window)
        browser.set_preferences(scheme)
        browser.open(server.url)
        browser.choose_file("#file", FILES[EARLIER])
        browser.wait_for(is_recognised(TEXTS[EARLIER]))
        browser.evaluate("microphone.click()")
        browser.wait_for(f"{UTTERANCES}.length === 1 && "
                         "stable.textContent.trim().split(' ').length > 2 && "
                         "tentative.textContent.trim()")
        take(browser, path)


def take_recording(server: Server, folder: pathlib.Path, path: pathlib.Path) -> None:
    """Recognises a recording of two utterances, one of them with noise, and goes to a word."""
    noise = np.random.default_rng(5).standard_normal(len(samples_of(LONGEST)[0]))
    spoken = np.concatenate([samples_of("ked_year")[0], np.zeros(2 * RATE),
                             samples_of(LONGEST)[0] + 0.05 * noise, np.zeros(RATE)])
    soundfile.write(folder / "recording.wav", spoken.clip(-1, 1), RATE, subtype="PCM_16")
    with tempfile.TemporaryDirectory() as profile, Browser(pathlib.Path(profile)) as browser:
        browser.set_window(width=1000, height=1190)
        browser.set_preferences("light")
        browser.open(server.url)
        browser.choose_file("#file", folder / "recording.wav")
        browser.wait_for(f"{IS_IDLE} && {UTTERANCES}.length === 2 && player.readyState >= 1")
        browser.evaluate("player.currentTime = Number("
                         "ended.querySelectorAll('.word')[1].dataset.startMs) / 1000; 1")
        browser.wait_for("!player.seeking && ended.querySelector('.marked') !== null")
        take(browser, path)


def main() -> None:
    docs = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    samples, rate = samples_of(LONGEST)
    # Again and again after a pause, a little later in the chunk each time: some chunk ends within a
    # word.
    spoken = np.concatenate([np.append(samples, np.zeros((15 + i) * rate // 9)) for i in range(5)])
    with tempfile.TemporaryDirectory() as audio, Server() as server:
        folder = pathlib.Path(audio)
        microphone = folder / "microphone.wav"
        soundfile.write(microphone, spoken, rate, subtype="PCM_16")
        take_live(server, microphone, docs / "web_page.png", "light", width=1000, height=1055)
        take_live(server, microphone, docs / "web_page_phone.png", "dark", width=360, height=840,
                  scale=2, is_phone=True)
        take_recording(server, folder, docs / "web_page_recording.png")


if __name__ == "__main__":
    main()
