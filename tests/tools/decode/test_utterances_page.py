"""docs/utterances.md shows what its commands print."""

import json
import re
import subprocess
import sys
from typing import List

import pytest

from tool_runner import DIGITS, ROOT, SUCCESS, run

PAGE = (ROOT / "docs" / "utterances.md").read_text(encoding="utf-8")


def blocks(heading: str, language: str) -> List[str]:
    """The fenced blocks of one language below a heading."""
    section = re.split(r"^##+ ", PAGE.split(f"## {heading}\n")[1], flags=re.MULTILINE)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module", name="talk")
def _talk(tmp_path_factory):
    """The recording that the page makes."""
    folder = tmp_path_factory.mktemp("talk")
    (folder / "models").symlink_to(ROOT / "models")
    subprocess.run([sys.executable, "-c", blocks("decode_wav", "python")[0]], cwd=folder,
                   check=True)
    return folder / "talk.flac"


def decode(talk, *flags: str) -> subprocess.CompletedProcess:
    done = run("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={talk}", "--endpointing",
               *flags)
    assert done.returncode == SUCCESS, done.stderr
    return done


def test_text(talk):
    plain, nbest, joined, partial = blocks("Text", "text")
    assert decode(talk).stdout == plain
    assert decode(talk, "--search=beam", "--nbest=2").stdout == nbest
    assert decode(talk, "--join_segments").stdout == joined
    printed = decode(talk, "--partial").stderr.splitlines()
    assert set(partial.splitlines()) <= set(printed)


def test_json(talk):
    shown = json.loads(blocks("JSON", "json")[0])
    result = json.loads(decode(talk, "--format=json").stdout)
    for segment in result["segments"]:
        segment["nbest"] = []
    assert result == shown


def test_ctm(talk):
    assert decode(talk, "--format=ctm").stdout.startswith(blocks("CTM", "text")[0])


def test_captions(talk):
    assert decode(talk, "--format=vtt").stdout.strip() == blocks("Captions", "text")[0].strip()
