"""What the tests of the web page ask of it: JavaScript expressions, and steps of a visit."""

import json
import urllib.parse
from typing import Dict, List

from chromium import Browser

IS_IDLE = "document.getElementById('status').dataset.state === 'idle'"
# Utterances that have ended: [time, text].
UTTERANCES = ("Array.from(ended.querySelectorAll('p'), (paragraph) => ["
              "paragraph.querySelector('.time').firstChild.textContent,"
              "Array.from(paragraph.querySelectorAll('.word'), (word) => "
              "word.firstChild.textContent).join(' ')])")
SETTLED = f"[...{UTTERANCES}.map(([, text]) => text), stable.textContent].join(' ').trim()"
CAPTION = (f"[...{UTTERANCES}.map(([, text]) => text), "
           "stable.textContent + tentative.textContent].join(' ').trim()")


def is_status(text: str) -> str:
    return f"document.getElementById('status').textContent === {json.dumps(text)}"


def is_recognised(text: str) -> str:
    """The stream has ended, with this text."""
    return f"{IS_IDLE} && {CAPTION} === {json.dumps(text)}"


def check_visit(browser: Browser, port: int) -> None:
    """Nothing went wrong, and nobody else was asked for anything."""
    assert browser.complaints() == []
    hosts = {urllib.parse.urlsplit(url).netloc for url in browser.requested()
             if not url.startswith(("blob:", "data:"))}  # data: of the browser
    assert hosts == {f"127.0.0.1:{port}"}


def tab_to(browser: Browser, selector: str, most: int = 40) -> None:
    """Reaches an element by the keyboard; where the keyboard is can be seen."""
    is_there = f"document.activeElement.matches({json.dumps(selector)})"
    for _ in range(most):
        browser.press("Tab")
        if browser.evaluate(is_there):
            break
    assert browser.evaluate(is_there), f"Tab never came to {selector}"
    assert browser.evaluate("document.activeElement.matches(':focus-visible')")


def named_controls(browser: Browser) -> List[Dict[str, str]]:
    """Role and name of everything that takes the keyboard, as assistive technology is told."""
    found = []
    for node in browser.call("Accessibility.getFullAXTree")["nodes"]:
        properties = {entry["name"]: entry["value"].get("value")
                      for entry in node.get("properties", [])}
        if properties.get("focusable") and not node["ignored"]:
            found.append({"role": node["role"]["value"],
                          "name": node.get("name", {}).get("value", "")})
    return found
