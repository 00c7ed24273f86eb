"""docs/live in a real browser: digits by microphone and from files, without a server."""

import json
import re
import shutil

import numpy as np
import pytest
import soundfile

import chromium
import live_page
from server_process import FILES, LONGEST, TEXTS, samples_of
from tool_runner import DIGITS, ROOT, succeed
from web_page import (CAPTION, IS_IDLE, SETTLED, UTTERANCES, check_visit, is_recognised, is_status,
                      named_controls, tab_to)

pytestmark = [
    pytest.mark.skipif(not live_page.IS_BUILT, reason=live_page.WHY_NOT),
    pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed")]


@pytest.fixture(scope="module", name="port")
def _port():
    with live_page.static_server() as port:
        yield port


@pytest.fixture(name="microphone")
def _microphone(tmp_path):
    samples, rate = samples_of(LONGEST)
    path = tmp_path / "microphone.wav"
    soundfile.write(path, samples, rate, subtype="PCM_16")
    return path


@pytest.fixture(scope="module", name="shared_browser")
def _shared_browser(tmp_path_factory):
    with chromium.Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(name="page")
def _page(shared_browser):
    shared_browser.new_page()
    return shared_browser


def url_of(port, query=""):
    return f"http://127.0.0.1:{port}/{query}"


def times_real_time(page):
    text = page.evaluate("document.getElementById('speed').textContent")
    found = re.fullmatch(r"([0-9.]+) \u00d7 real time", text)
    assert found, text
    return float(found[1])


def test_microphone(port, tmp_path, microphone):
    with chromium.Browser(tmp_path / "profile", microphone) as browser:
        browser.open(url_of(port))
        tab_to(browser, "#microphone")
        browser.press("Enter")
        browser.wait_for(is_status("Listening"))
        browser.wait_for(f"{CAPTION} === {json.dumps(TEXTS[LONGEST])}")
        assert browser.evaluate("/^[0-9]+ ms$/.test(latency.textContent)")
        assert browser.evaluate("chunk.textContent") == "640 ms"
        assert browser.evaluate("model.textContent") == "digits"
        browser.press(" ")
        browser.wait_for(IS_IDLE)
        assert browser.evaluate("error.textContent") == ""
        assert browser.evaluate(SETTLED) == TEXTS[LONGEST]
        check_visit(browser, port)


def test_every_sample(port, page, capsys):
    """As files; the browser decodes and resamples them."""
    page.open(url_of(port))
    for number, (name, path) in enumerate(FILES.items()):
        page.choose_file("#file", path)
        page.wait_for(f"earlier.children.length === {number} && {is_recognised(TEXTS[name])}")
    speed = times_real_time(page)
    with capsys.disabled():
        print(f"\nthe page in Chromium: {speed:.0f} times real time")
    assert speed > 5
    check_visit(page, port)


def test_a_recording_of_many_utterances(port, page, tmp_path):
    """The words and times of decode_wav."""
    silence = np.zeros(32000, dtype=np.float32)
    names = [name for name in TEXTS if samples_of(name)[1] == 16000]
    samples = np.concatenate([part for name in names for part in (samples_of(name)[0], silence)])
    path = tmp_path / "spoken.wav"
    soundfile.write(path, samples, 16000, subtype="PCM_16")
    page.open(url_of(port))
    page.drop(path)
    page.wait_for(is_recognised(" ".join(TEXTS[name] for name in names)))
    assert [text for _, text in page.evaluate(UTTERANCES)] == [TEXTS[name] for name in names]
    decoded = json.loads(succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={path}",
                                 "--search=beam", "--endpointing", "--format=json"))
    expected = [[word["text"], word["start_ms"]] for segment in decoded["segments"]
                for word in segment["nbest"][0]["words"]]
    assert page.evaluate("Array.from(ended.querySelectorAll('.word'), (word) => "
                         "[word.firstChild.textContent, Number(word.dataset.startMs)])") == expected
    check_visit(page, port)


def test_hotwords_and_mistakes(port, page):
    page.open(url_of(port))
    page.evaluate("hotwords.value = 'three :-50, one :-50'; 1")
    page.choose_file("#file", FILES["alicia_countdown"])
    page.wait_for(f"{IS_IDLE} && {CAPTION} !== ''")
    found = page.evaluate(CAPTION).split()
    assert "zero" in found and "three" not in found and "one" not in found
    page.evaluate("hotwords.value = '\u00c5ngstr\u00f6m'; 1")
    page.choose_file("#file", FILES["alicia_countdown"])
    page.wait_for("error.textContent.startsWith("
                  "\"The stream has ended: hotwords:1: '\u00c5ngstr\u00f6m' needs tokens\")")
    page.evaluate("hotwords.value = ''; 1")
    page.choose_file("#file", FILES["diogo_one_word"])
    page.wait_for(is_recognised(TEXTS["diogo_one_word"]))
    check_visit(page, port)


def test_another_model(port, page, tmp_path):
    shutil.copytree(live_page.FOLDER, tmp_path / "live")
    shutil.copy(DIGITS / "digits_transducer.pt", tmp_path / "live" / "other.pt")
    with live_page.static_server(tmp_path / "live") as own_port:
        page.open(url_of(own_port, "?model=other.pt"))
        page.choose_file("#file", FILES["ked_year"])
        page.wait_for(is_recognised(TEXTS["ked_year"]))
    page.open(url_of(port, "?model=absent.pt"))
    page.choose_file("#file", FILES["ked_year"])
    page.wait_for("error.textContent === 'The stream has ended: ' + "
                  f"'{url_of(port)}absent.pt: the answer is 404, expected the file.'")


def test_the_example_of_the_page(port, page):
    """The program of docs/browser.md, with a recording of 48 kHz."""
    text = (ROOT / "docs" / "browser.md").read_text(encoding="utf-8")
    program, = re.findall(r"```js\n(.*?)```", text, re.DOTALL)
    samples, rate = samples_of("ked_year")
    times = np.arange(3 * len(samples)) / (3 * rate)
    samples = np.interp(times, np.arange(len(samples)) / rate, samples)
    assert rate * 3 == 48000
    page.open(url_of(port))
    page.evaluate(f"""
        window.seen = [];
        const show = (message) => seen.push(message);
        const samples = Float32Array.from({json.dumps(samples.round(5).tolist())});
        {program}""")
    last = page.wait_for("seen.at(-1)?.type === 'final' && seen.at(-1)")
    assert last["text"] == TEXTS["ked_year"]
    check_visit(page, port)


def test_every_control_has_a_name(port, page):
    page.open(url_of(port))
    page.call("Accessibility.enable")
    assert all(control["name"] for control in named_controls(page))
