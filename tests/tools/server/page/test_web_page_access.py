"""The web page in a real browser for people who use it without a mouse, without seeing it, on a
phone or in the dark."""

import json

import pytest

import chromium
from server_process import FILES, TEXTS
from web_page import check_visit, is_recognised, named_controls, tab_to

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed")

# Shows everything that the page can show, with words of every confidence.
EVERYTHING = """
import('/caption.js').then(({Caption}) => {
  const shown = new Caption({scroller: caption, ended, stable, tentative});
  const words = [0, 0.3, 0.69, 0.7, 1].map((confidence, i) =>
    ({text: `word${i}`, hasSpace: i > 0, startMs: i * 1000, endMs: i * 1000 + 500, confidence}));
  shown.begin(() => {});
  for (let i = 0; i < 2; ++i) shown.endUtterance({text: 'x', startMs: 0, endMs: 5000, words});
  shown.mark(1000);
  shown.show('Donaudampfschifffahrtsgesellschaft '.repeat(9), 'tentative');
  for (const id of ['error', 'token-form', 'recording', 'exports', 'history', 'drop']) {
    document.getElementById(id).hidden = false;
  }
  error.textContent = 'x'.repeat(99);
  document.getElementById('status').dataset.state = 'live';
  document.getElementById('recording-name').textContent = 'recording.wav';
  earlier.append(Object.assign(document.createElement('li'), {textContent: 'earlier text'}));
})
"""

# contrastOf(colour, colour) and groundOf(element), the colour behind what it contains.
COLOURS = """
(() => {
  const pen = Object.assign(document.createElement('canvas'), {width: 1, height: 1})
    .getContext('2d', {willReadFrequently: true});
  const bytes = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (colour) => { // WCAG 2.2, relative luminance
    const [r, g, b] = bytes(colour).map((value) => value / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  window.contrastOf = (...colours) => {
    const [dark, light] = colours.map(luminance).sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  window.groundOf = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return bytes(colour)[3] > 0 ? colour : groundOf(element.parentElement);
  };
})()
"""
# [text, contrast with what is behind it] of every piece of text that can be seen.
CONTRASTS = """
(() => {
  const hasText = (element) => element.matches('input[type=number], textarea') ||
    [...element.childNodes].some(({nodeType, data}) => nodeType === Node.TEXT_NODE && data.trim());
  return [...document.querySelectorAll('body *')]
    .filter((element) => hasText(element) && element.checkVisibility() &&
      !element.matches('noscript, script, .read-out'))
    .map((element) => [element.textContent.trim() || element.id,
                       contrastOf(getComputedStyle(element).color, groundOf(element))]);
})()
"""
# [id, contrast with what is around it] of what is seen without text: outlines of fields, the level.
SHAPES = """
[...document.querySelectorAll('input[type=number], input[type=password], textarea, .meter')]
  .map((element) => [element, getComputedStyle(element)])
  .map(([element, {color, borderTopColor}]) => [element.id, contrastOf(
    groundOf(element.parentElement), element.id === 'meter' ? color : borderTopColor)])
"""
GROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(247, 246, 243)", "rgb(20, 23, 26)"
THEME = "document.getElementById('theme')"

CONTROLS = ["#theme", "#skip", "#caption", "#microphone", "#file", "#aloud", "#paragraphs",
            "#hotwords", "#hotword-score", "#link"]


def focus_order(page, most=60):
    """What Tab comes to, from one visit of the theme's button to the next."""
    found = []
    tab_to(page, "#theme")
    for _ in range(most):
        found.append(page.evaluate(
            "document.activeElement === document.body ? '' : document.activeElement.id ? "
            "'#' + document.activeElement.id : document.activeElement.dataset.format ?? "
            "document.activeElement.className"))
        page.press("Tab")
        if page.evaluate(f"document.activeElement === {THEME}"):
            break
    # The player has several places, and the browser's own come after the page.
    return [name for i, name in enumerate(found) if name and name not in found[:i]]


def test_a_visit_by_keyboard_alone(server, page, tmp_path):
    """Hotwords, a recording, a place in it, and a file of its captions."""
    page.open(server.url)
    assert focus_order(page) == CONTROLS
    tab_to(page, "#hotwords")
    page.call("Input.insertText", text="seven :2")
    tab_to(page, "#file")
    page.choose_file_in_dialog(FILES["diogo_one_word"], lambda: page.press("Enter"))
    page.wait_for(is_recognised(TEXTS["diogo_one_word"]))
    assert page.evaluate("document.activeElement.id") == "microphone", (
        "the keyboard stays where a stream is stopped, not in a control that was disabled")
    assert focus_order(page) == [*CONTROLS[:3], "time", "#player", "txt", "srt", "vtt",
                                 *CONTROLS[3:]]
    tab_to(page, ".time")
    page.evaluate("window.numPlayed = 0; player.addEventListener('play', () => ++numPlayed); 1")
    page.press("Enter")
    page.wait_for("numPlayed === 1")
    tab_to(page, "[data-format=srt]")
    saved = page.download(tmp_path, lambda: page.press("Enter"))
    assert saved.name == "diogo_one_word.srt"
    assert TEXTS["diogo_one_word"] in saved.read_text(encoding="utf-8")
    tab_to(page, "#theme")
    page.press(" ")
    assert page.evaluate(GROUND) == DARK
    check_visit(page, server.port)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_where_the_keyboard_is_can_be_seen(server, page, scheme):
    page.set_preferences(scheme)
    page.open(server.url)
    page.evaluate(COLOURS)
    page.evaluate(EVERYTHING)
    for selector in [*CONTROLS, ".time", "[data-format=txt]", "#token"]:
        tab_to(page, selector)
        outlined = "#file + label" if selector == "#file" else ":focus"
        style, width, contrast, clip, top, bottom, height = page.evaluate(f"""
            (() => {{
              const element = document.querySelector('{outlined}');
              const style = getComputedStyle(element);
              const {{top, bottom}} = element.getBoundingClientRect();
              return [style.outlineStyle, parseFloat(style.outlineWidth),
                      contrastOf(style.outlineColor, groundOf(element.parentElement)),
                      style.clipPath, top, bottom, innerHeight];
            }})()""")
        assert style == "solid" and width >= 2 and contrast >= 3, selector
        assert clip == "none" and 0 <= top < bottom <= height, f"{selector} is out of sight"


def test_the_text_can_be_skipped(server, page):
    """A long recording has a place for the keyboard in every utterance."""
    page.open(server.url)
    assert page.evaluate("getComputedStyle(skip).clipPath") != "none", "shown without the keyboard"
    tab_to(page, "#skip")
    page.press("Enter")
    page.wait_for("document.activeElement === microphone")


def test_everything_that_takes_the_keyboard_has_a_name(server, page):
    page.open(server.url)
    page.choose_file("#file", FILES["diogo_one_word"])
    page.wait_for(is_recognised(TEXTS["diogo_one_word"]))
    page.evaluate(EVERYTHING)
    found = named_controls(page)
    unnamed = [control for control in found if not control["name"].strip()
               and control["role"] != "RootWebArea"]
    assert not unnamed
    named = {(control["role"], control["name"]) for control in found}
    for role, name in (
            ("button", "Dark"), ("button", "Start microphone"), ("button", "Save text"),
            ("button", "Save SRT"), ("button", "Save WebVTT"), ("button", "Use it"),
            ("button", "0:00 \u2013 0:05 (play from here)"), ("Audio", "recording.wav"),
            ("checkbox", "Play it while it is recognised"),
            ("checkbox", "New paragraph after a pause"),
            ("textbox", "Names and terms to prefer, separated by commas or lines"),
            ("spinbutton", "Score per character"), ("link", "Skip the text"),
            ("link", "Link to this page with these settings"),
            ("textbox", "This server asks for an access token")):
        assert (role, name) in named
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {node["role"]["value"] for node in tree if not node["ignored"]}
    assert {"banner", "main", "region", "status", "alert", "log", "meter", "heading"} <= roles


def test_screen_readers_read_utterances_once_they_are_final(server, page):
    page.open(server.url)
    live = "closest('[aria-live], [role=log], [role=status], [role=alert]')"
    assert page.evaluate("ended.getAttribute('aria-live')") == "polite"
    for name in "stable", "tentative":
        assert page.evaluate(f"{name}.{live}") is None
    page.evaluate("""
        window.numChanges = [];
        new MutationObserver((changes) => numChanges.push(...changes.map(
          ({addedNodes, removedNodes}) => [addedNodes.length, removedNodes.length])))
          .observe(ended, {subtree: true, childList: true, characterData: true});""")
    page.choose_file("#file", FILES["ked_year"])
    page.wait_for(is_recognised(TEXTS["ked_year"]))
    assert page.evaluate("numChanges") == [[1, 0]]


def test_settled_tentative_and_unsure_text_differ_not_only_in_colour(server, page):
    page.open(server.url)
    page.evaluate(EVERYTHING)
    looks = page.evaluate("""
        [stable, tentative, ended.querySelector('.unsure'), ended.querySelector('.word:last-child')]
          .map((element) => getComputedStyle(element)).map((style) =>
            [style.fontStyle, style.textDecorationLine, style.textDecorationStyle])""")
    assert looks == [["normal", "none", "solid"], ["italic", "underline", "dotted"],
                     ["normal", "underline", "dashed"], ["normal", "none", "solid"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(server, page, scheme):
    page.set_preferences(scheme)
    page.open(server.url)
    page.evaluate(COLOURS)
    page.evaluate(EVERYTHING)
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 30
    shapes = page.evaluate(SHAPES)
    assert {name for name, _ in shapes} == {"token", "hotwords", "hotword-score", "meter"}
    weak = [(name, round(contrast, 2)) for found, least in ((contrasts, 4.5), (shapes, 3))
            for name, contrast in found if contrast < least]
    assert not weak
    words = [contrast for text, contrast in contrasts if text.startswith("word")]
    assert words[0] < words[2] < words[4], "a word is fainter the less the model is sure of it"


def test_themes(server, page):
    """That of the system, until the button chooses one, which the browser keeps."""
    page.set_preferences("dark")
    page.open(server.url)

    def check(ground, is_pressed):
        assert page.evaluate(GROUND) == ground
        assert page.evaluate(f"{THEME}.getAttribute('aria-pressed')") == is_pressed
        assert page.evaluate("""(() => {
            const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
            pen.drawImage(levels, 5 - levels.width, -levels.height / 2);
            const [r, g, b] = pen.getImageData(0, 0, 1, 1).data;
            return getComputedStyle(levels).color === `rgb(${r}, ${g}, ${b})`;
        })()"""), "the level meter has the colours of another theme"

    check(DARK, "true")
    page.set_preferences("light")
    page.wait_for(f"{GROUND} === {json.dumps(LIGHT)} && "
                  f"{THEME}.getAttribute('aria-pressed') === 'false'")
    check(LIGHT, "false")
    page.click(THEME)
    check(DARK, "true")
    page.open(server.url + "/?again")
    check(DARK, "true")
    page.click(THEME)
    page.set_preferences("dark")
    page.open(server.url)
    check(LIGHT, "false")
    check_visit(page, server.port)


# Pictures of a level meter: of a loud level, of more of them, and of a soft one.
METER = """
import('/level_meter.js').then(async ({LevelMeter}) => {
  const shown = new LevelMeter(meter, levels);
  const pictures = [];
  for (let i = 0; i < 13; ++i) {
    shown.add(i < 12 ? 1 : 0.1);
    await new Promise((resolve) => { requestAnimationFrame(resolve); });
    pictures.push(levels.toDataURL());
  }
  return pictures;
})
"""


def test_reduced_motion(server, page):
    moving = "document.getAnimations().length"
    page.open(server.url)
    page.evaluate("document.getElementById('status').dataset.state = 'live'; 1")
    assert page.evaluate(moving) == 1
    assert len(set(page.evaluate(METER))) == 13, "the level moves along"
    page.set_preferences(motion="reduce")
    assert page.evaluate(moving) == 0
    *loud, soft = page.evaluate(METER)
    assert len(set(loud)) == 1 and soft not in loud, "the level changes twice a second"


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_widths(server, page, width):
    """No scrolling to the side, and everything to press is large enough for a finger."""
    page.set_window(width, 720, is_phone=width < 500)
    page.open(server.url)
    page.evaluate(EVERYTHING)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heights = page.evaluate(
        "Array.from(document.querySelectorAll('button:not(.time), .file label'))"
        ".map((element) => element.getBoundingClientRect().height)")
    assert len(heights) == 7 and min(heights) >= 44
    # Targets in text: WCAG 2.2, 2.5.8.
    assert page.evaluate("document.querySelector('.time').getBoundingClientRect().height") >= 24
    check_visit(page, server.port)


def test_the_page_runs_only_its_own_scripts(server, page):
    page.open(server.url)
    assert page.evaluate("""
        document.body.append(Object.assign(document.createElement('script'),
          {textContent: 'window.isHacked = true'}));
        window.isHacked === undefined""")
    assert any("Content Security Policy" in complaint for complaint in page.complaints())
    policy = server.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy and "*" not in policy
