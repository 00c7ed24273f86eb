"""The web page's session in a real browser, with servers that the tests play."""

import json

import pytest

import chromium

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed")

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


def test_text_so_far(server, page):
    """Offsets count characters, also where JavaScript needs two units; resent audio is exact."""
    page.open(server.url)
    page.evaluate(SCRIPTED)
    page.wait_for("window.server?.sent?.length === 1")

    def say(**message):
        page.evaluate(f"server.onmessage({{data: {json.dumps(json.dumps(message))}}}); 1")

    def partial(stable, tentative, offset):
        say(type="partial", stable_text=stable, tentative_text=tentative, stable_offset=offset,
            latency_ms=1, audio_ms=640)

    say(type="ready", chunk_size=16, right_context=-1, frame_ms=40, model="m")
    partial("a \U0001F600", " b", 0)
    partial(" b", " c", 3)
    partial("d", "", 2)
    assert page.evaluate("captions") == [
        ["a \U0001F600", " b"], ["a \U0001F600 b", " c"], ["a d", ""]]

    page.evaluate("for (let i = 0; i < 10; ++i)"
                  "  session.send(new Float32Array(100).fill(i / 100));"
                  "session.finish(); session.send(new Float32Array(100)); 1")
    assert page.evaluate("server.sent.at(-1)") == '{"type":"finish"}'
    say(type="snapshot", token="t", samples=250)
    page.evaluate("session.wasReady = true; server.sent = []; session.connect(); 1")
    page.wait_for("server.sent?.length === 1")
    assert json.loads(page.evaluate("server.sent[0]"))["token"] == "t"
    say(type="resumed", samples=250, chunk_size=16, frame_ms=40, model="m")
    sent = page.evaluate("server.sent.slice(1, -1).map((packet) => Array.from(packet))")
    expected = [round(i / 100 * 32768) for i in range(10) for _ in range(100)][250:]
    assert [sample for packet in sent for sample in packet] == expected
    assert json.loads(page.evaluate("server.sent.at(-1)")) == {"type": "finish"}


def test_utterances_come_once(server, page):
    """A stream that goes on in another connection, or begins anew."""
    page.open(server.url)
    page.evaluate(SCRIPTED)
    page.wait_for("window.server?.sent?.length === 1")
    page.evaluate("window.ended = []; session.addEventListener('utterance', ({detail}) =>"
                  "  ended.push([detail.text, detail.startMs, detail.endMs])); 1")

    def say(**message):
        page.evaluate(f"server.onmessage({{data: {json.dumps(json.dumps(message))}}}); 1")

    def utterance(index):
        say(type="utterance", index=index, text=f"text {index}", start_ms=index, end_ms=index + 1,
            nbest=[])

    def partial(index):
        say(type="partial", utterance=index, stable_text="t", tentative_text="", stable_offset=0,
            latency_ms=1, audio_ms=640)

    say(type="ready", chunk_size=16, right_context=-1, frame_ms=40, model="m")
    for index in 0, 1:
        partial(index)
        utterance(index)
    say(type="snapshot", token="t", samples=250)
    page.evaluate("session.wasReady = true; server.sent = []; session.connect(); 1")
    page.wait_for("server.sent?.length === 1")
    assert json.loads(page.evaluate("server.sent[0]"))["utterances"] == 2
    say(type="resumed", samples=250, utterances=2, chunk_size=16, frame_ms=40, model="m")
    utterance(2)
    say(type="error", code="snapshot_unknown", message="")
    page.evaluate("server.sent = []; session.connect(); 1")
    page.wait_for("server.sent?.length === 1")
    assert json.loads(page.evaluate("server.sent[0]"))["type"] == "start"
    page.evaluate("captions.length = 0; 1")
    for index in range(4):
        partial(index)
        utterance(index)
    assert page.evaluate("ended") == [[f"text {i}", i, i + 1] for i in range(4)]
    assert len(page.evaluate("captions")) == 1


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
