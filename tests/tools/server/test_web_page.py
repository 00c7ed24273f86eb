"""The server's web page in a real browser, with a recording for a microphone."""

import json
import urllib.parse

import numpy as np
import pytest
import soundfile

import chromium
from cutting_proxy import CuttingProxy
from server_process import FILES, LONGEST, TEXTS, Server, samples_of

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed")

# Every state that the caption goes through: what is settled, in all paragraphs.
WATCH = """
window.seen = [];
new MutationObserver(() => seen.push(Array.from(
    caption.querySelectorAll('.text:not(#tentative)'), (span) => span.textContent).join(' ')))
  .observe(caption, {subtree: true, childList: true, characterData: true});
"""
CAPTION = ("Array.from(caption.querySelectorAll('p'), (paragraph) => Array.from("
           "paragraph.querySelectorAll('.text'), (span) => span.textContent).join(''))"
           ".join(' ').trim()")
SETTLED = "Array.from(caption.querySelectorAll('.text:not(#tentative)'), (span) => " \
          "span.textContent).join(' ').trim()"
IS_IDLE = "document.getElementById('status').dataset.state === 'idle'"


def is_status(text):
    return f"document.getElementById('status').textContent === {json.dumps(text)}"


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory):
    store = tmp_path_factory.mktemp("snapshots")
    with Server(f"--snapshot_store={store}", "--snapshot_interval_s=0.5") as server:
        yield server


@pytest.fixture(scope="module", name="recording")
def _recording(tmp_path_factory):
    """The longest sample as PCM16, which the browser's fake microphone reads."""
    samples, rate = samples_of(LONGEST)
    path = tmp_path_factory.mktemp("audio") / f"{LONGEST}.wav"
    soundfile.write(path, samples, rate, subtype="PCM_16")
    return path


@pytest.fixture(name="browser")
def _browser(tmp_path, recording):
    with chromium.Browser(tmp_path / "profile", recording) as browser:
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


def check_visit(browser, port):
    """Nothing went wrong, and nobody else was asked for anything."""
    assert browser.complaints() == []
    hosts = {urllib.parse.urlsplit(url).netloc for url in browser.requested()
             if not url.startswith(("data:", "blob:"))}
    assert hosts == {f"127.0.0.1:{port}"}


def tab_to(browser, name):
    """Reaches an element by the keyboard; where the keyboard is can be seen."""
    for _ in range(20):
        browser.press("Tab")
        if browser.evaluate("document.activeElement.id") == name:
            break
    assert browser.evaluate("document.activeElement.id") == name
    assert browser.evaluate("document.activeElement.matches(':focus-visible')")


def test_microphone_by_keyboard(server, browser):
    browser.open(server.url)
    browser.evaluate(WATCH)
    tab_to(browser, "microphone")
    assert browser.evaluate(
        "getComputedStyle(microphone).outlineStyle !== 'none' && "
        "parseFloat(getComputedStyle(microphone).outlineWidth) >= 2")
    browser.press("Enter")
    browser.wait_for(is_status("Listening"))
    assert browser.evaluate("microphone.textContent") == "Stop"
    browser.wait_for("Number(meter.getAttribute('aria-valuenow')) > 0")
    browser.wait_for(f"{CAPTION} === {json.dumps(TEXTS[LONGEST])}")
    assert browser.evaluate("/^[0-9]+ ms$/.test(latency.textContent)")
    assert browser.evaluate("chunk.textContent") == "640 ms"
    assert browser.evaluate("model.textContent") == "digits"
    browser.press(" ")
    browser.wait_for(IS_IDLE)
    assert browser.evaluate("error.textContent") == ""
    assert browser.evaluate(SETTLED) == browser.evaluate(CAPTION) == TEXTS[LONGEST]

    seen = browser.evaluate("seen")
    for before, after in zip(seen, seen[1:]):
        assert after.startswith(before.rstrip()), "what was settled has changed"
    check_visit(browser, server.port)


# A device that runs at 96 kHz: so does every context that asks for no other rate.
FAST_DEVICE = """
window.started = [];
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function(data) {
  if (typeof data === 'string') started.push(JSON.parse(data));
  send.call(this, data);
};
window.AudioContext = class extends AudioContext {
  constructor(options) { super(options ?? {sampleRate: 96000}); }
};
"""


def test_microphone_of_a_fast_device(server, browser):
    browser.open(server.url)
    browser.evaluate(FAST_DEVICE)
    browser.evaluate("microphone.click()")
    browser.wait_for(f"{CAPTION} === {json.dumps(TEXTS[LONGEST])}")
    assert browser.evaluate("started[0].sample_rate") == 48000
    browser.evaluate("microphone.click()")
    browser.wait_for(IS_IDLE)
    assert browser.evaluate("error.textContent") == ""
    check_visit(browser, server.port)


# A server that says what it is told, and nothing is sent to.
SCRIPTED = """
window.WebSocket = class {
  constructor() { window.server = this; setTimeout(() => this.onopen()); }
  send(data) { (this.sent ??= []).push(data); }
  close() {}
};
window.captions = [];
import('/session.js').then(({Session}) => {
  window.session = new Session('ws://nowhere/', '', 16000);
  session.addEventListener('caption', ({detail}) =>
    captions.push([detail.stable, detail.tentative]));
})
"""


def test_text_so_far(server, browser):
    """Offsets count characters, also where JavaScript needs two units; resent audio is exact."""
    browser.open(server.url)
    browser.evaluate(SCRIPTED)
    browser.wait_for("window.server?.sent?.length === 1")

    def say(**message):
        browser.evaluate(f"server.onmessage({{data: {json.dumps(json.dumps(message))}}}); 1")

    def partial(stable, tentative, offset):
        say(type="partial", stable_text=stable, tentative_text=tentative, stable_offset=offset,
            latency_ms=1, audio_ms=640)

    say(type="ready", chunk_size=16, frame_ms=40, model="m")
    partial("a \U0001F600", " b", 0)
    partial(" b", " c", 3)
    partial("d", "", 2)
    assert browser.evaluate("captions") == [
        ["a \U0001F600", " b"], ["a \U0001F600 b", " c"], ["a d", ""]]

    browser.evaluate("for (let i = 0; i < 10; ++i)"
                     "  session.send(new Float32Array(100).fill(i / 100));"
                     "session.finish(); session.send(new Float32Array(100)); 1")
    assert browser.evaluate("server.sent.at(-1)") == '{"type":"finish"}'
    say(type="snapshot", token="t", samples=250)
    browser.evaluate("session.wasReady = true; server.sent = []; session.connect(); 1")
    browser.wait_for("server.sent?.length === 1")
    assert json.loads(browser.evaluate("server.sent[0]"))["token"] == "t"
    say(type="resumed", samples=250, chunk_size=16, frame_ms=40, model="m")
    sent = browser.evaluate("server.sent.slice(1, -1).map((packet) => Array.from(packet))")
    expected = [round(i / 100 * 32768) for i in range(10) for _ in range(100)][250:]
    assert [sample for packet in sent for sample in packet] == expected
    assert json.loads(browser.evaluate("server.sent.at(-1)")) == {"type": "finish"}


def test_utterances_come_once(server, browser):
    """A stream that goes on in another connection, or begins anew."""
    browser.open(server.url)
    browser.evaluate(SCRIPTED)
    browser.wait_for("window.server?.sent?.length === 1")
    browser.evaluate("window.ended = []; session.addEventListener('utterance', ({detail}) =>"
                     "  ended.push([detail.text, detail.startMs, detail.endMs])); 1")

    def say(**message):
        browser.evaluate(f"server.onmessage({{data: {json.dumps(json.dumps(message))}}}); 1")

    def utterance(index):
        say(type="utterance", index=index, text=f"text {index}", start_ms=index, end_ms=index + 1)

    def partial(index):
        say(type="partial", utterance=index, stable_text="t", tentative_text="", stable_offset=0,
            latency_ms=1, audio_ms=640)

    say(type="ready", chunk_size=16, frame_ms=40, model="m")
    for index in 0, 1:
        partial(index)
        utterance(index)
    say(type="snapshot", token="t", samples=250)
    browser.evaluate("session.wasReady = true; server.sent = []; session.connect(); 1")
    browser.wait_for("server.sent?.length === 1")
    assert json.loads(browser.evaluate("server.sent[0]"))["utterances"] == 2
    say(type="resumed", samples=250, utterances=2, chunk_size=16, frame_ms=40, model="m")
    utterance(2)
    say(type="error", code="snapshot_unknown", message="")
    browser.evaluate("server.sent = []; session.connect(); 1")
    browser.wait_for("server.sent?.length === 1")
    assert json.loads(browser.evaluate("server.sent[0]"))["type"] == "start"
    browser.evaluate("captions.length = 0; 1")
    for index in range(4):
        partial(index)
        utterance(index)
    assert browser.evaluate("ended") == [[f"text {i}", i, i + 1] for i in range(4)]
    assert len(browser.evaluate("captions")) == 1


def test_paragraphs(server, page, tmp_path):
    names = [name for name in TEXTS if samples_of(name)[1] == 16000]
    silence = np.zeros(32000, dtype=np.float32)
    samples = np.concatenate([part for name in names for part in (samples_of(name)[0], silence)])
    soundfile.write(tmp_path / "spoken.wav", samples, 16000, subtype="PCM_16")
    texts = [TEXTS[name] for name in names]
    page.open(server.url)
    page.evaluate("aloud.checked = false; 1")
    page.choose_file("#file", tmp_path / "spoken.wav")
    page.wait_for(f"{IS_IDLE} && {CAPTION} === {json.dumps(' '.join(texts))}")
    paragraphs = page.evaluate("Array.from(caption.querySelectorAll('p'), (p) => [p.querySelector("
                               "'time')?.textContent ?? '', p.querySelector('.text').textContent])")
    assert [text for _, text in paragraphs] == [*texts, ""]
    times = [time for time, _ in paragraphs]
    assert times[0].startswith("0:00 \u2013 0:0") and times[-1] == ""
    assert len(set(times)) == len(times)
    page.evaluate("paragraphs.click(); 1")
    page.choose_file("#file", tmp_path / "spoken.wav")
    page.wait_for(f"earlier.children.length === 1 && {IS_IDLE} && "
                  f"{CAPTION} === {json.dumps(' '.join(texts))}")
    assert page.evaluate("caption.querySelectorAll('time').length") == 0
    assert page.evaluate("earlier.innerText.trim()") == " ".join(texts)


def test_hotwords(server, page):
    """Commas and lines separate them; a phrase that cannot be recognised is named."""
    name = "alicia_countdown"
    page.open(server.url)
    page.evaluate("aloud.checked = false; 1")

    def recognised_with(hotwords):
        page.evaluate(f"hotwords.value = {json.dumps(hotwords)}; 1")
        page.choose_file("#file", FILES[name])

    recognised_with(" ,\n")  # none
    page.wait_for(f"{IS_IDLE} && {CAPTION} === {json.dumps(TEXTS[name])}")
    recognised_with("three :-50, one :-50\nzero")
    page.wait_for(f"{IS_IDLE} && earlier.children.length === 1 && {CAPTION} !== ''")
    found = page.evaluate(CAPTION).split()
    assert "two" in found and "zero" in found and "three" not in found and "one" not in found
    recognised_with("two\uff0c\u00c5ngstr\u00f6m")
    page.wait_for("!error.hidden")
    assert page.evaluate("error.textContent").startswith(
        "The server ended the stream: hotwords:2: '\u00c5ngstr\u00f6m' needs tokens that spell")
    check_visit(page, server.port)


# A server that says the same in every connection, and then closes. Nobody waits.
RELENTLESS = """
const later = window.setTimeout.bind(window);
window.setTimeout = (call) => later(call, 0);
window.numConnections = 0;
window.WebSocket = class {
  constructor() {
    ++numConnections;
    later(() => {
      this.onopen();
      for (const message of %s) this.onmessage({data: JSON.stringify(message)});
      this.onclose();
    });
  }
  send() {}
  close() {}
};
import('/session.js').then(({Session}) => {
  const session = new Session('ws://nowhere/', '', 16000);
  session.addEventListener('failed', ({detail}) => { window.failure = detail; });
})
"""


@pytest.mark.parametrize("code, expected", [("stream_failed", 2), ("internal", 9)])
def test_failures_that_stay_are_not_tried_for_ever(server, page, code, expected):
    heard = [{"type": "ready", "chunk_size": 16, "frame_ms": 40, "model": "m"},
             {"type": "partial", "stable_text": "one", "tentative_text": "", "stable_offset": 0,
              "latency_ms": 1, "audio_ms": 640},
             {"type": "snapshot", "token": "t", "samples": 0},
             {"type": "error", "code": code, "message": "so it is"}]
    page.open(server.url)
    page.evaluate(RELENTLESS % json.dumps(heard))
    page.wait_for("window.failure")
    assert page.evaluate("[failure.code, failure.message, numConnections]") == [
        code, "The server ended the stream: so it is.", expected]


def test_settled_and_tentative_text_differ_not_only_in_colour(server, page):
    page.open(server.url)
    page.evaluate("stable.textContent = 'one '; tentative.textContent = 'tw'; 1")
    style = "getComputedStyle({}).{}"
    for field, expected in ("fontStyle", ("normal", "italic")), \
            ("textDecorationLine", ("none", "underline")):
        assert tuple(page.evaluate(style.format(name, field))
                     for name in ("stable", "tentative")) == expected
    assert page.evaluate("stable.getAttribute('aria-live')") == "polite"


@pytest.mark.parametrize("is_played", [True, False], ids=["played", "at once"])
def test_recordings(server, page, is_played):
    page.open(server.url)
    page.evaluate(f"aloud.checked = {json.dumps(is_played)}; 1")
    if is_played:
        page.press("Tab")  # browsers play nothing on a page that nobody has touched
    assert page.evaluate("navigator.userActivation.hasBeenActive") == is_played
    page.choose_file("#file", FILES["alicia_countdown"])
    page.wait_for(f"{IS_IDLE} && {CAPTION} === {json.dumps(TEXTS['alicia_countdown'])}")
    page.drop(FILES["f4_stereo"], 100, 100)
    page.wait_for(f"{IS_IDLE} && {CAPTION} === {json.dumps(TEXTS['f4_stereo'])}")
    assert page.evaluate("earlier.innerText.trim()") == TEXTS["alicia_countdown"]
    assert page.evaluate("document.getElementById('drop').hidden")
    check_visit(page, server.port)


def test_what_is_no_recording(server, page, tmp_path):
    (tmp_path / "notes.txt").write_text("no audio\n", encoding="utf-8")
    page.open(server.url)
    for is_played in "true", "false":
        page.evaluate(f"aloud.checked = {is_played}; error.hidden = true; 1")
        page.choose_file("#file", tmp_path / "notes.txt")
        page.wait_for("!error.hidden")
        assert page.evaluate("error.textContent") == (
            "notes.txt is no recording that this browser can read.")
        page.wait_for(IS_IDLE)
    check_visit(page, server.port)


def test_lost_connection(server, browser):
    """The third connection of the visit is the stream; it is cut in the middle of the words."""
    samples, rate = samples_of(LONGEST)
    half = int(len(samples) / rate * 48000)  # bytes: half of the samples of 16 bits
    with CuttingProxy(server.port, []) as proxy:
        browser.open(f"http://127.0.0.1:{proxy.port}/")
        proxy.cuts.append(half)
        browser.evaluate("microphone.click()")
        browser.wait_for(f"{CAPTION} === {json.dumps(TEXTS[LONGEST])}")
        browser.evaluate("microphone.click()")
        browser.wait_for(IS_IDLE)
        assert browser.evaluate(SETTLED) == TEXTS[LONGEST]
        assert browser.evaluate("error.hidden")
        assert not proxy.cuts
        sockets = [url for url in browser.requested() if url.startswith("ws:")]
        assert len(sockets) == 2


def test_access_token(page, tmp_path):
    (tmp_path / "token").write_text("open sesame\n", encoding="utf-8")
    with Server(f"--bearer_token_file={tmp_path}/token") as server:
        page.open(server.url)
        page.evaluate("aloud.checked = false; 1")
        form = "document.getElementById('token-form')"
        page.choose_file("#file", FILES["diogo_one_word"])
        page.wait_for(f"!{form}.hidden && {IS_IDLE}")
        assert page.evaluate("document.activeElement.id") == "token"
        page.call("Input.insertText", text="wrong")
        page.press("Enter")
        page.wait_for(f"{form}.hidden")
        page.choose_file("#file", FILES["diogo_one_word"])
        page.wait_for("error.textContent === 'The server does not know this access token.'")
        page.evaluate("token.value = ''; 1")
        page.call("Input.insertText", text="open sesame")
        page.press("Enter")
        page.wait_for(f"{form}.hidden")
        page.choose_file("#file", FILES["diogo_one_word"])
        page.wait_for(f"{IS_IDLE} && {CAPTION} === 'seven'")


def test_full_server(browser):
    with Server("--max_streams=1") as server, server.open():
        browser.open(server.url)
        browser.evaluate("microphone.click()")
        browser.wait_for("error.textContent === 'The server is full. Try again in a moment.'")
        browser.wait_for(IS_IDLE)


def test_server_that_goes_away(browser):
    with Server() as server:
        browser.open(server.url)
    browser.evaluate("microphone.click()")
    browser.wait_for("error.textContent === 'The server cannot be reached.'")
    browser.wait_for(IS_IDLE)


def test_refused_microphone(server, tmp_path):
    with chromium.Browser(tmp_path / "profile") as browser:  # none, and nobody who says yes
        browser.open(server.url)
        browser.evaluate("microphone.click()")
        browser.wait_for("!error.hidden")
        assert "icrophone" in browser.evaluate("error.textContent")
        browser.wait_for(IS_IDLE)


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_widths(server, page, width):
    """No scrolling to the side, and everything to press is large enough for a finger."""
    page.set_window(width, 720, is_phone=width < 500)
    page.open(server.url)
    page.evaluate("stable.textContent = 'Donaudampfschifffahrtsgesellschaft '.repeat(9);"
                  "document.getElementById('token-form').hidden = false;"
                  "error.hidden = false; error.textContent = 'x'.repeat(99); 1")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heights = page.evaluate("Array.from(document.querySelectorAll('button, .file label'))"
                            ".map((element) => element.getBoundingClientRect().height)")
    assert len(heights) == 3 and min(heights) >= 44
    check_visit(page, server.port)


def test_everything_to_press_has_a_name(server, page):
    page.open(server.url)
    page.evaluate("document.getElementById('token-form').hidden = false; 1")
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "checkbox", "textbox", "meter", "status"}
    found = [node for node in tree if node.get("role", {}).get("value") in roles]
    assert len(found) >= 7
    for node in found:
        assert node.get("name", {}).get("value") or node["role"]["value"] == "status", node
