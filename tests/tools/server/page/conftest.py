"""A server and browsers for the tests of the web page."""

import pytest
import soundfile

import chromium
from server_process import LONGEST, Server, samples_of


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory):
    store = tmp_path_factory.mktemp("snapshots")
    with Server(f"--snapshot_store={store}", "--snapshot_interval_s=0.5") as server:
        yield server


@pytest.fixture(scope="module", name="microphone")
def _microphone(tmp_path_factory):
    """The longest sample as PCM16, which the browser's fake microphone reads."""
    samples, rate = samples_of(LONGEST)
    path = tmp_path_factory.mktemp("audio") / f"{LONGEST}.wav"
    soundfile.write(path, samples, rate, subtype="PCM_16")
    return path


@pytest.fixture(name="browser")
def _browser(tmp_path, microphone):
    """A browser with a microphone."""
    with chromium.Browser(tmp_path / "profile", microphone) as browser:
        yield browser


@pytest.fixture(scope="module", name="shared_browser")
def _shared_browser(tmp_path_factory):
    with chromium.Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(name="page")
def _page(shared_browser):
    """A browser with a fresh page and no microphone, for tests that need none."""
    shared_browser.new_page()
    return shared_browser
