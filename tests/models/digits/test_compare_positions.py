"""The comparison of position schemes: its strings, its table, its figure, its one line of error."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

pytest.importorskip("matplotlib")
ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))
from models.digits import compare_positions  # noqa: E402
from models.digits.recordings import LEFT_OUT_SPEAKER  # noqa: E402
from models.digits.units import WORDS  # noqa: E402

# Writes what was said, but for the model of one scheme, which hears nothing.
FAKE_DECODER = """#!/bin/sh
for flag in "$@"; do case "$flag" in
  --model=*) model=${flag#*=};; --wav_scp=*) scp=${flag#*=};; --output=*) out=${flag#*=};;
esac; done
[ -e "$model" ] || { echo "decode_wav: $model: no such file" >&2; exit 1; }
case "$model" in
  *position_absolute*) sed 's/ .*//' "${scp%/*}/text" > "$out";;
  *) cp "${scp%/*}/text" "$out";;
esac
"""


@pytest.fixture(name="setup")
def fixture_setup(tmp_path, monkeypatch):
    """Arguments of the program, for recordings of noise and a stand-in of decode_wav."""
    fsdd = tmp_path / "fsdd"
    (fsdd / "recordings").mkdir(parents=True)
    rng = np.random.default_rng(1)
    labels = []
    for digit, word in enumerate(WORDS):
        name = f"{digit}_{LEFT_OUT_SPEAKER}_0"
        labels.append(f"{name} {word}\n")
        soundfile.write(str(fsdd / "recordings" / f"{name}.wav"), rng.normal(0, 0.1, 800), 8000,
                        subtype="PCM_16")
    (fsdd / "text").write_text("".join(labels))
    decoder = tmp_path / "decode_wav"
    decoder.write_text(FAKE_DECODER)
    decoder.chmod(0o755)
    for scheme in compare_positions.SCHEMES:
        folder = tmp_path / "work" / "runs" / f"position_{scheme}"
        folder.mkdir(parents=True)
        (folder / "digits.pt").write_bytes(b"")
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(compare_positions, "WORDS_PER_LENGTH", 40)
    monkeypatch.setattr(sys, "argv", [
        "compare_positions", f"--fsdd={fsdd}", f"--work_dir={tmp_path / 'work'}",
        f"--decode_wav={decoder}", f"--output_dir={tmp_path / 'docs'}"])
    return tmp_path


def test_table_and_figure(setup):
    assert compare_positions.main() == 0
    with (setup / "docs" / "position_schemes.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == (len(compare_positions.SCHEMES) * len(compare_positions.LENGTHS)
                         * len(compare_positions.SETTINGS))
    for row in rows:
        expected = "100.00" if row["scheme"] == "absolute" else "0.00"
        assert row["word_error_rate"] == expected
    figure = (setup / "docs" / "position_schemes.svg").read_text()
    assert figure.startswith("<?xml") and "</svg>" in figure
    texts = (setup / "work" / "lengths" / "40" / "text").read_text().splitlines()
    assert [len(line.split()) for line in texts] == [41]


def test_a_missing_model_is_one_line(setup, capsys):
    (setup / "work" / "runs" / "position_unshifted" / "digits.pt").unlink()
    assert compare_positions.main() == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("compare_positions: decode_wav: ") and "no such file" in error
    assert not (setup / "docs" / "position_schemes.csv").exists()
