"""Recordings on the web page in a real browser: their text, their player, and what is saved."""

import functools
import json

import numpy as np
import pytest
import soundfile

import chromium
from server_process import FILES, LONGEST, SLOW, TEXTS, Server, long_recording, samples_of
from tool_runner import DIGITS, succeed
from web_page import IS_IDLE, UTTERANCES, check_visit, is_recognised

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed")

MODEL = f"--model={DIGITS / 'digits.pt'}"
RATE = 16000
NAMES = [name for name in TEXTS if samples_of(name)[1] == RATE]
WORDS = "Array.from(ended.querySelectorAll('.word'))"
MARKED = f"{WORDS}.findIndex((word) => word.matches('.marked'))"


@functools.lru_cache(maxsize=None)
def decoded(path, form):
    """What decode_wav writes about a recording, with the page's search."""
    return succeed("decode_wav", MODEL, f"--wav={path}", "--endpointing", "--search=beam",
                   f"--format={form}")


def decoded_words(path):
    segments = json.loads(decoded(path, "json"))["segments"]
    return [word for segment in segments for word in segment["nbest"][0]["words"]]


@pytest.fixture(scope="module", name="talk")
def _talk(tmp_path_factory):
    """A recording of a long utterance and a short one, of which some words are hard to hear."""
    parts = [samples_of(name)[0] for name in [*NAMES, *NAMES]]
    parts += [np.zeros(2 * RATE, dtype=np.float32), samples_of("ked_year")[0]]
    samples = np.concatenate(parts)
    noise = np.random.default_rng(5).standard_normal(len(samples))
    is_noisy = np.arange(len(samples)) // (2 * RATE) % 3 == 1
    path = tmp_path_factory.mktemp("talk") / "talk.wav"
    soundfile.write(path, (samples + 0.04 * noise * is_noisy).clip(-1, 1), RATE, subtype="PCM_16")
    return path


def clock(milliseconds):
    return f"{int(milliseconds) // 60000}:{int(milliseconds) // 1000 % 60:02}"


def open_talk(server, page, talk):
    """Recognises the recording; returns the words of decode_wav."""
    page.open(server.url)
    page.choose_file("#file", talk)
    page.wait_for(f"{IS_IDLE} && {UTTERANCES}.length > 1 && player.readyState >= 1")
    return decoded_words(talk)


# Notes when more audio was sent than was played.
EARLY = """
window.early = 0;
window.numBytes = 0;
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function(data) {
  if (typeof data !== 'string') {
    numBytes += data.byteLength;
    if (!player.ended && numBytes / 32000 > player.currentTime) ++early;
  }
  send.call(this, data);
};
"""


@pytest.mark.parametrize("is_played", [True, False], ids=["played", "at once"])
def test_recordings(server, page, is_played):
    page.open(server.url)
    page.evaluate(EARLY)
    page.evaluate(f"aloud.checked = {json.dumps(is_played)}; 1")
    page.press("Tab")  # browsers play nothing on a page that nobody has touched
    page.choose_file("#file", FILES["alicia_countdown"])
    page.wait_for(is_recognised(TEXTS["alicia_countdown"]))
    # A recording that is not played is posted, and has no pace.
    assert (page.evaluate("numBytes") > 0) == is_played
    assert page.evaluate("early") == 0
    posts = [url for url in page.requested() if url.endswith("/v1/recognize")]
    assert posts == ([] if is_played else [f"{server.url}/v1/recognize"])
    assert page.evaluate("document.getElementById('recording-name').textContent") == (
        FILES["alicia_countdown"].name)
    page.evaluate("aloud.checked = false; 1")
    page.drop(FILES["f4_stereo"])
    page.wait_for(is_recognised(TEXTS["f4_stereo"]))
    assert page.evaluate("earlier.innerText.trim()") == TEXTS["alicia_countdown"]
    assert page.evaluate("document.getElementById('drop').hidden")
    check_visit(page, server.port)


def test_a_drop_is_recognised_where_the_browser_plays_nothing(server, page):
    page.open(server.url)
    page.evaluate("aloud.checked = true; 1")
    assert not page.evaluate("navigator.userActivation.hasBeenActive")
    page.drop(FILES["ked_year"])
    page.wait_for(is_recognised(TEXTS["ked_year"]))
    check_visit(page, server.port)


# Formats that Chromium does not decode.
@pytest.mark.parametrize("name, form, subtype", [("a.caf", "CAF", "ALAC_16"),
                                                 ("a.aiff", "AIFF", "PCM_16"),
                                                 ("a.au", "AU", "ULAW")])
def test_recordings_that_only_the_server_reads(server, page, tmp_path, name, form, subtype):
    soundfile.write(tmp_path / name, *samples_of("ked_year"), format=form, subtype=subtype)
    page.open(server.url)
    page.choose_file("#file", tmp_path / name)
    page.wait_for(is_recognised(TEXTS["ked_year"]))
    check_visit(page, server.port)


# Notes what the page says of its progress.
PROGRESS = """
window.told = [];
new MutationObserver(() => told.push(document.getElementById('progress-text').textContent))
  .observe(document.getElementById('progress-text'), {childList: true});
"""


def test_the_progress_of_a_recording(server, page, talk):
    page.open(server.url)
    page.evaluate(PROGRESS)
    page.choose_file("#file", talk)
    page.wait_for(f"{IS_IDLE} && {UTTERANCES}.length > 1")
    told = [text for text in page.evaluate("told") if text.startswith("Read: ")]
    shares = [int(text.split()[1]) for text in told]
    assert shares and shares == sorted(shares) and 0 < shares[-1] <= 100
    assert all(text.endswith(" left") for text, share in zip(told, shares) if share > 2)
    assert page.evaluate("document.getElementById('progress').hidden")


def test_a_recording_that_is_stopped(page, tmp_path):
    (tmp_path / "long.flac").write_bytes(long_recording(tmp_path))
    with Server(*SLOW) as server:
        page.open(server.url)
        page.choose_file("#file", tmp_path / "long.flac")
        page.wait_for(f"{UTTERANCES}.length > 0")
        page.evaluate("microphone.click(); 1")
        page.wait_for(IS_IDLE)
        assert page.evaluate("error.hidden")
        server.wait_for(lambda now: now["runnel_streams"] == 0)


def test_a_file_that_is_too_large_for_the_server_is_decoded_by_the_browser(page, tmp_path):
    samples, rate = samples_of("ked_year")
    soundfile.write(tmp_path / "large.wav", np.concatenate([samples, np.zeros(40 * rate)]), rate)
    with Server("--max_body_mb=1") as server:
        page.open(server.url)
        page.choose_file("#file", tmp_path / "large.wav")
        page.wait_for(is_recognised(TEXTS["ked_year"]))


def test_a_recording_that_a_full_server_refuses_is_not_decoded_by_the_browser(page):
    with Server("--max_uploads=0") as server:
        page.open(server.url)
        page.evaluate(EARLY)
        page.choose_file("#file", FILES["ked_year"])
        page.wait_for(f"error.textContent.startsWith('The server is full.') && {IS_IDLE}")
        assert page.evaluate("numBytes") == 0


def test_what_cannot_be_dropped(server, page, tmp_path):
    """One line says why, and the text before stays."""
    notes = tmp_path / "notes.txt"
    notes.write_text("no audio\n", encoding="utf-8")
    page.open(server.url)
    page.choose_file("#file", FILES["ked_year"])
    page.wait_for(is_recognised(TEXTS["ked_year"]))
    page.press("Tab")
    for dropped, message in (
            ([notes], "notes.txt: not a recording that this browser can read; expected WAV, FLAC, "
                      "MP3, Ogg or another audio format."),
            ([notes, FILES["ked_year"]], "2 files were dropped; expected one recording.")):
        page.drop(*dropped)
        page.wait_for(f"error.textContent === {json.dumps(message)} && {IS_IDLE}")
        assert page.evaluate("error.checkVisibility() && error.getAttribute('role') === 'alert'")
        assert page.evaluate(is_recognised(TEXTS["ked_year"]))
        assert not page.evaluate("document.getElementById('recording').hidden")
    # A stream that waits for its player.
    page.evaluate("""
        aloud.checked = true;
        player.addEventListener('playing', () => { player.pause(); window.isHeld = true; },
                                {once: true}); 1""")
    page.choose_file("#file", FILES[LONGEST])
    page.wait_for("window.isHeld")
    page.drop(FILES["ked_year"])
    assert page.evaluate("error.textContent") == (
        "A stream is running. Stop it, then drop the recording again.")
    page.evaluate("player.play()")
    page.wait_for(is_recognised(TEXTS[LONGEST]))
    # The browser notes that the server did not take the file.
    assert all("400" in complaint for complaint in page.complaints())


def test_saved_files_are_those_of_decode_wav(server, page, talk, tmp_path):
    open_talk(server, page, talk)
    for form in "srt", "vtt", "txt":
        path = page.download(tmp_path, lambda button=f"[data-format={form}]": page.evaluate(
            f"exports.querySelector('{button}').click()"))
        assert path.name == f"talk.{form}"
        saved = path.read_text(encoding="utf-8")
        if form == "txt":
            lines = decoded(talk, "text").splitlines()
            assert saved.splitlines() == [line.split(" ", 1)[1] for line in lines]
        else:
            assert saved == decoded(talk, form)
            assert saved.count(" --> ") > 2  # the long utterance has several cues
    check_visit(page, server.port)


# Words and tokens last from i * 100 to i * 100 + 60 ms, as in captions_test.cc.
CUES = """
import('/cues.js').then(({makeCues}) => {
  const timed = (texts) => texts.map((text, i) =>
    ({text, hasSpace: %s && i > 0, startMs: i * 100, endMs: i * 100 + 60}));
  return makeCues({words: timed(%s), tokens: timed(%s), startMs: 0, endMs: 9000})
    .map(({lines}) => lines);
})
"""
CJK = [chr(0x4E00 + i) for i in range(30)]


@pytest.mark.parametrize("words, tokens, has_spaces, expected", [
    (["a" * 20, "a" * 21], [], True, [["a" * 20 + " " + "a" * 21]]),
    (["a" * 21, "a" * 21], [], True, [["a" * 21, "a" * 21]]),
    ([c * 10 for c in "abcdefg"], [], True, [["aaaaaaaaaa bbbbbbbbbb cccccccccc",
                                              "dddddddddd eeeeeeeeee ffffffffff"], ["g" * 10]]),
    (CJK, [], False, [["".join(CJK[:15]), "".join(CJK[15:])]]),
    (["x" * 60], ["x" * 60], True, [["x" * 60]]),
    ([], [], True, [])])
def test_lines_break_as_those_of_decode_wav(server, page, words, tokens, has_spaces, expected):
    page.open(server.url)
    assert page.evaluate(CUES % (json.dumps(has_spaces), json.dumps(words), json.dumps(tokens))
                         ) == expected


def test_a_long_word_breaks_between_its_tokens(server, page):
    page.open(server.url)
    lines = page.evaluate("""
        import('/cues.js').then(({makeCues}) => makeCues({
          words: [{text: 'x'.repeat(30) + 'y'.repeat(30), hasSpace: false, startMs: 0, endMs: 160}],
          tokens: [{text: '', startMs: 0, endMs: 20}, {text: 'x'.repeat(30), startMs: 0, endMs: 60},
                   {text: 'y'.repeat(30), startMs: 100, endMs: 160}],
          startMs: 0, endMs: 160})[0].lines)""")
    assert lines == ["x" * 30, "y" * 30]


def test_utterances_have_their_times(server, page, talk):
    open_talk(server, page, talk)
    segments = json.loads(decoded(talk, "json"))["segments"]
    assert page.evaluate(UTTERANCES) == [
        [f"{clock(segment['start_ms'])} \u2013 {clock(segment['end_ms'])}", segment["text"]]
        for segment in segments]


def test_words_are_as_faint_as_the_model_is_unsure(server, page, talk):
    expected = open_talk(server, page, talk)
    found = page.evaluate(f"""{WORDS}.map((word) => ({{
        text: word.firstChild.textContent, title: word.title,
        isUnderlined: getComputedStyle(word).textDecorationLine === 'underline',
        readOut: word.textContent, doubt: word.computedStyleMap().get('--doubt').toString()}}))""")
    assert [word["text"] for word in found] == [word["text"] for word in expected]
    confidences = [word["confidence"] for word in expected]
    assert min(confidences) < 0.7 < 0.99 < max(confidences)
    for word, confidence in zip(found, confidences):
        percent = float(word["title"].removeprefix("Confidence ").removesuffix(" %"))
        assert percent == pytest.approx(100 * confidence, abs=0.51)
        assert float(word["doubt"]) == pytest.approx(1 - confidence, abs=1e-3)
        assert word["isUnderlined"] == (confidence < 0.7)
        assert word["readOut"] == word["text"] + (" (unsure)" if confidence < 0.7 else "")


def test_the_player_marks_the_word_that_is_spoken(server, page, talk):
    starts = [word["start_ms"] for word in open_talk(server, page, talk)]
    assert page.evaluate("player.paused && player.checkVisibility()")
    for index in 3, 0, len(starts) - 1:
        page.evaluate(f"player.currentTime = {starts[index] / 1000}; 1")
        page.wait_for(f"!player.seeking && {MARKED} === {index}")
    page.evaluate(f"player.currentTime = {(starts[0] - 10) / 1000}; 1")
    page.wait_for(f"!player.seeking && {MARKED} === -1")


def test_the_player_tells_whole_milliseconds(server, page):
    """8.04 * 1000 is less than 8040, where a word may begin."""
    page.open(server.url)
    assert page.evaluate("""
        import('/player.js').then(({Player}) => {
          const told = [];
          const audio = Object.assign(new EventTarget(), {src: 'x', currentTime: 8.04});
          new Player(audio, (milliseconds) => told.push(milliseconds));
          audio.dispatchEvent(new Event('seeked'));
          return [8.04 * 1000 < 8040, ...told];
        })""") == [True, 8040]


def test_a_click_plays_from_a_word(server, page, talk):
    starts = [word["start_ms"] for word in open_talk(server, page, talk)]
    page.evaluate("window.sought = [];"
                  "player.addEventListener('seeking', () => sought.push(player.currentTime)); 1")
    page.click(f"{WORDS}[2]")
    page.wait_for(f"!player.paused && player.currentTime > {starts[2] / 1000}")
    assert page.evaluate("sought") == [pytest.approx(starts[2] / 1000)]
    assert page.evaluate(MARKED) >= 2
    page.evaluate(f"player.currentTime = {(starts[-1] - 10) / 1000}; 1")
    page.wait_for("player.ended")
    assert page.evaluate(MARKED) == len(starts) - 1
    check_visit(page, server.port)
