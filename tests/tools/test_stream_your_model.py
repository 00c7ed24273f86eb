"""The commands of docs/stream_your_model.md convert a model, check it and decode with it."""

import functools
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Dict, List, Tuple

import pytest

from optional_parts import needs_reference
from shared_data import need_shared
from tool_runner import ROOT, SAMPLES, succeed, temporary_folder

sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "models")]
from nemo_files import NemoFile  # noqa: E402

from models.convert.command import main as convert  # noqa: E402

# Of each toolkit of the page, a model, and flags for what is special in the small model.
RECORDED: Dict[str, Tuple[str, List[str]]] = {
    "WeNet": ("wenet_e_branchformer_causal", []), "NeMo": ("", []),
    "ESPnet": ("espnet_conformer_utterance_mvn", ["--checkpoint=valid.acc.ave_10best.pth"]),
    "icefall": ("icefall_reworked_conformer_transducer", ["--num_mel_bins=24"])}


@functools.lru_cache(maxsize=None)
def commands(toolkit: str) -> List[List[str]]:
    """The four commands of a section, as words."""
    page = (ROOT / "docs/stream_your_model.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {toolkit}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    return [shlex.split(line) for line in blocks[0].splitlines()]


@functools.lru_cache(maxsize=None)
def converted(toolkit: str) -> pathlib.Path:
    """The model file that the first command makes of a small model."""
    case, flags = RECORDED[toolkit]
    folder = temporary_folder("stream-your-model-")
    source = (need_shared(f"family_golden/{case}") if case
              else NemoFile("conformer_offline").write(folder / "tiny.nemo"))
    program, word, family, _, *options = commands(toolkit)[0]
    assert (program, word) == ("build/bin/runnel", "convert")
    assert options[-1] == "--output=model.pt"
    model = folder / "model.pt"
    assert convert([family, str(source), *options[:-1], *flags, f"--output={model}"]) == 0
    return model


@pytest.mark.parametrize("toolkit", RECORDED)
def test_decodes(toolkit: str) -> None:
    program, *words, recording, chunk, context, partial = commands(toolkit)[2]
    assert (program, *words) == ("build/bin/runnel", "transcribe", "model.pt")
    assert (recording, partial) == ("recording.wav", "--partial")
    lines = succeed("runnel", "transcribe", converted(toolkit), SAMPLES / "ked_year.flac", chunk,
                    context).splitlines()
    assert len(lines) == 1 and lines[0].startswith("ked_year")


def test_the_last_line_of_a_conversion_works_as_printed(tmp_path) -> None:
    source = NemoFile("conformer_offline").write(tmp_path / "a model.nemo")
    for script, folder in (("models/convert.py", ROOT), (ROOT / "models" / "convert.py", tmp_path)):
        done = subprocess.run([sys.executable, script, "nemo", source, "--output=a model.pt"
                               if folder is tmp_path else f"--output={tmp_path / 'b.pt'}"],
                              cwd=folder, capture_output=True, text=True, check=True)
        lines = done.stdout.splitlines()
        assert len(lines) <= 10 and max(map(len, lines)) <= 320, done.stdout
        before, _, command = lines[-1].partition(": ")
        assert before == "decode with"
        decoded = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True,
                                 check=False)
        assert decoded.returncode == 0, decoded.stderr
        assert decoded.stdout.startswith("ked_year")


@needs_reference
@pytest.mark.parametrize("toolkit", RECORDED)
def test_is_checked(toolkit: str) -> None:
    assert commands(toolkit)[1] == ["build/bin/runnel", "verify", "model.pt", "--seconds=30"]
    report = succeed("runnel", "verify", converted(toolkit), "--seconds=2", "--precision=float32")
    assert report.splitlines()[-1] == "passed"
