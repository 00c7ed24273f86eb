"""The server's web page in a real browser, with a recording for a microphone."""

import contextlib
import json
import shutil
import socket
import subprocess

import numpy as np
import pytest
import soundfile

import chromium
from cluster_processes import free_port, wait_until
from cutting_proxy import CuttingProxy
from server_process import FILES, LONGEST, TEXTS, Server, samples_of
from web_page import (CAPTION, IS_IDLE, SETTLED, UTTERANCES, check_visit, is_recognised, is_status,
                      tab_to)

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed")
needs_haproxy = pytest.mark.skipif(shutil.which("haproxy") is None,
                                   reason="HAProxy is not installed")

# Every state that the caption goes through: what is settled, in all utterances. And the loudest
# level that assistive technology was told.
WATCH = f"""
window.loudest = 0;
new MutationObserver(() => {{ loudest = Math.max(loudest, meter.getAttribute('aria-valuenow')); }})
  .observe(meter, {{attributes: true}});
window.seen = [];
new MutationObserver(() => seen.push({SETTLED}))
  .observe(caption, {{subtree: true, childList: true, characterData: true}});
"""


def test_microphone_by_keyboard(server, browser):
    browser.open(server.url)
    browser.evaluate(WATCH)
    tab_to(browser, "#microphone")
    assert browser.evaluate(
        "getComputedStyle(microphone).outlineStyle !== 'none' && "
        "parseFloat(getComputedStyle(microphone).outlineWidth) >= 2")
    browser.press("Enter")
    browser.wait_for(is_status("Listening"))
    assert browser.evaluate("microphone.textContent") == "Stop"
    browser.wait_for(f"{CAPTION} === {json.dumps(TEXTS[LONGEST])}")
    assert browser.evaluate("/^[0-9]+ ms$/.test(latency.textContent)")
    assert browser.evaluate("loudest > 0 && loudest <= 100")
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


def test_paragraphs(server, page, tmp_path):
    names = [name for name in TEXTS if samples_of(name)[1] == 16000]
    silence = np.zeros(32000, dtype=np.float32)
    samples = np.concatenate([part for name in names for part in (samples_of(name)[0], silence)])
    soundfile.write(tmp_path / "spoken.wav", samples, 16000, subtype="PCM_16")
    texts = [TEXTS[name] for name in names]
    page.open(server.url)
    page.choose_file("#file", tmp_path / "spoken.wav")
    page.wait_for(is_recognised(" ".join(texts)))
    utterances = page.evaluate(UTTERANCES)
    assert [text for _, text in utterances] == texts
    times = [time for time, _ in utterances]
    assert times[0].startswith("0:00 \u2013 0:0")
    assert len(set(times)) == len(times)
    page.evaluate("paragraphs.click(); 1")
    page.choose_file("#file", tmp_path / "spoken.wav")
    page.wait_for(f"earlier.children.length === 1 && {is_recognised(' '.join(texts))}")
    assert page.evaluate(f"{UTTERANCES}.length") == 1
    assert page.evaluate("earlier.innerText.trim()") == " ".join(texts)


def test_hotwords(server, page):
    """Commas and lines separate them; a phrase that cannot be recognised is named. The score of the
    field is that of phrases without one."""
    name = "alicia_countdown"
    page.open(server.url)

    def recognise_with(hotwords, score="0.75"):
        page.evaluate(f"hotwords.value = {json.dumps(hotwords)};"
                      f"document.getElementById('hotword-score').value = {json.dumps(score)}; 1")
        page.choose_file("#file", FILES[name])

    def check_unlikely():
        found = page.evaluate(CAPTION).split()
        assert "two" in found and "zero" in found and "three" not in found and "one" not in found

    recognise_with(" ,\n")  # none
    page.wait_for(is_recognised(TEXTS[name]))
    recognise_with("three :-50, one :-50\nzero")
    page.wait_for(f"{IS_IDLE} && earlier.children.length === 1 && {CAPTION} !== ''")
    check_unlikely()
    recognise_with("three, one", "-50")
    page.wait_for(f"{IS_IDLE} && earlier.children.length === 2 && {CAPTION} !== ''")
    check_unlikely()
    recognise_with("three", "1000")
    page.wait_for("!error.hidden")
    assert "hotword_score" in page.evaluate("error.textContent")
    recognise_with("two\uff0c\u00c5ngstr\u00f6m")
    page.wait_for("error.textContent.includes('hotwords')")
    assert page.evaluate("error.textContent").startswith(
        "The server refused the stream: hotwords:2: '\u00c5ngstr\u00f6m' needs tokens that spell")
    # The browser notes that the server did not take the phrase.
    assert all("400" in complaint for complaint in page.complaints())


def test_a_link_shows_the_same_page(server, page):
    """For a recording that is dropped on it: with the settings of the page that has the link."""
    link = "document.getElementById('link')"
    settings = ("[aloud.checked, paragraphs.checked, hotwords.value,"
                " document.getElementById('hotword-score').value]")
    chosen = [True, False, "three,\none :-49.5", "-50"]
    page.open(server.url)
    usual = page.evaluate(settings)
    assert usual == [False, True, "", "0.75"]
    for selector in "#aloud", "#paragraphs":
        tab_to(page, selector)
        page.press(" ")
    for selector, text in ("#hotwords", chosen[2]), ("#hotword-score", chosen[3]):
        tab_to(page, selector)  # which selects what a number field holds
        page.call("Input.insertText", text=text)
    assert page.evaluate(settings) == chosen
    tab_to(page, "#link")
    page.press("Enter")
    address = page.wait_for(f"{link}.href === location.href && location.href")

    page.new_page()
    page.open(address)
    assert page.evaluate(settings) == chosen
    page.drop(FILES["alicia_countdown"], element=link)
    page.wait_for(f"{IS_IDLE} && {UTTERANCES}.length === 1")
    found = page.evaluate(CAPTION).split()
    assert "zero" in found and "three" not in found and "one" not in found
    page.evaluate("location.hash = '#hotwords=seven'; 1")  # another link, in the page that is open
    page.wait_for("hotwords.value === 'seven'")
    assert page.evaluate(settings) == [*chosen[:2], "seven", chosen[3]]
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


@contextlib.contextmanager
def prefix_proxy(folder, server, paths):
    """HAProxy in front of an application of which the server has the path /asr/, or some `paths` of
    it (a condition of HAProxy). The URL of its page."""
    port = free_port()
    config = folder / "haproxy.cfg"
    config.write_text(f"""
defaults
    mode http
    timeout connect 5s
    timeout client 1m
    timeout server 1m
    timeout tunnel 1m
frontend application
    bind 127.0.0.1:{port}
    http-request return status 404 content-type text/plain string "another application" \
        unless {paths}
    http-request replace-path /asr/(.*) /\\1
    default_backend server
backend server
    server server 127.0.0.1:{server.port}
""", encoding="utf-8")
    process = subprocess.Popen(["haproxy", "-f", str(config)])
    try:
        wait_until(lambda: is_listening(port), "HAProxy listens")
        yield f"http://127.0.0.1:{port}/asr/"
    finally:
        process.kill()
        process.wait()


def is_listening(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@needs_haproxy
def test_a_path_prefix(server, page, tmp_path):
    with prefix_proxy(tmp_path, server, "{ path_beg /asr/ }") as url:
        page.open(url + "?from=elsewhere")
        page.choose_file("#file", FILES["diogo_one_word"])
        page.wait_for(is_recognised("seven"))
        posts = [one for one in page.requested() if one.endswith("/v1/recognize")]
        assert posts == [url + "v1/recognize"]
        page.evaluate("aloud.checked = true; 1")
        page.choose_file("#file", FILES["diogo_one_word"])
        page.wait_for(f"earlier.children.length === 1 && {is_recognised('seven')}")
        sockets = [one for one in page.requested() if one.startswith("ws:")]
        assert sockets == [url.replace("http:", "ws:")]
        assert page.complaints() == []
        # A refusal is asked for at the same place.
        with Server("--max_streams=1") as full, full.open():
            with prefix_proxy(tmp_path, full, "{ path_beg /asr/ }") as other:
                page.open(other)
                page.choose_file("#file", FILES["diogo_one_word"])
                page.wait_for("error.textContent === "
                              "'The server is full. Try again in a moment.'")


@needs_haproxy
def test_a_proxy_that_passes_on_the_page_only(server, page, tmp_path):
    with prefix_proxy(tmp_path, server, "{ path_reg ^/asr/([a-z_]+[.].*)?$ } "
                                        "!{ req.hdr(Upgrade) -m found }") as url:
        page.open(url)
        page.choose_file("#file", FILES["diogo_one_word"])
        page.wait_for("error.textContent.startsWith("
                      "'There is no server at the address of this page.')")


def test_access_token(page, tmp_path):
    (tmp_path / "token").write_text("open sesame\n", encoding="utf-8")
    with Server(f"--bearer_token_file={tmp_path}/token") as server:
        page.open(server.url)
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
        page.wait_for(is_recognised("seven"))


# The outcome of requests of HTTP: a status, or the name of an error.
ASK = """(async () => {
  const outcome = (answer) => answer.then((reply) => reply.status, (error) => error.name);
  const form = new FormData();
  form.append('file', new Blob(['no audio']), 'a.wav');
  const headers = {Authorization: 'Bearer open sesame'};
  return await Promise.all([
    outcome(fetch(URL_OF_SERVER + '/v1/audio/transcriptions',
                  {method: 'POST', headers, body: form})),
    outcome(fetch(URL_OF_SERVER + '/v1/models', {headers})),
    outcome(fetch(URL_OF_SERVER + '/v1/models')),
  ]);
})()"""


def test_an_application_of_another_origin(server, page, tmp_path):
    """A browser lets a page read replies of HTTP if --allow_origin lists its origin."""
    (tmp_path / "token").write_text("open sesame\n", encoding="utf-8")
    page.open(server.url + "/healthz")  # a page without the policy of ours, on another port
    origin = page.evaluate("location.origin")
    for flags, expected in [((), ["TypeError"] * 3),
                            ((f"--allow_origin=https://x.example,{origin}",), [400, 200, 401])]:
        with Server(f"--bearer_token_file={tmp_path}/token", *flags) as other:
            found = page.evaluate(ASK.replace("URL_OF_SERVER", json.dumps(other.url)))
            assert found == expected


def test_a_name_that_the_server_does_not_know(server, microphone, tmp_path):
    """The page tells the flag that allows its address."""
    with chromium.Browser(tmp_path / "profile", microphone,
                          "--host-resolver-rules=MAP captions.example 127.0.0.1",
                          f"--unsafely-treat-insecure-origin-as-secure=http://captions.example:"
                          f"{server.port}") as browser:
        browser.open(f"http://captions.example:{server.port}/")
        browser.evaluate("microphone.click()")
        browser.wait_for("error.textContent.includes('--allow_origin')")
        browser.wait_for(IS_IDLE)


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
