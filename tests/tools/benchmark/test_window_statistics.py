"""The errors of windows by their statistics, against decode_wav, which has those of the window."""

import sys

import numpy as np
import soundfile

from offline_model import write_offline_model
from tool_runner import BIN, ROOT, TINY_MODEL, succeed

sys.path.insert(0, str(ROOT))
from tools.benchmark.accuracy import window_statistics  # noqa: E402
from tools.benchmark.accuracy.evaluate import words_of  # noqa: E402

SIZES = ["--chunk_size=8", "--left_context=20"]


def run(tmp_path, model, *flags):
    return window_statistics.main([
        f"--model={model}", f"--manifest={tmp_path / 'manifest.tsv'}",
        f"--dump_features={BIN / 'dump_features'}", *SIZES, *flags])


def test_texts_of_windows_are_those_of_decode_wav(tmp_path, capsys):
    model = write_offline_model(tmp_path / "offline.pt")
    (tmp_path / "wav").mkdir()
    random, rows = np.random.default_rng(1), ["id\tset\ttext"]
    for name in ("one", "two"):
        path = tmp_path / "wav" / f"{name}.wav"
        levels = 0.1 + 0.1 * np.sin(np.arange(64000) / 5000)
        soundfile.write(path, levels * random.standard_normal(64000), 16000)
        text = succeed("decode_wav", f"--model={model}", f"--wav={path}", *SIZES,
                       "--right_context=4").partition(" ")[2]
        assert words_of(text)
        rows.append(f"{name}\tnoise\t{text.strip()}")
    (tmp_path / "manifest.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert run(tmp_path, model, "--right_context=4,0") == 0
    table = [[cell.strip() for cell in line.split("|")[1:-1]]
             for line in capsys.readouterr().out.splitlines()]
    assert table[0] == ["statistics", "R = 4", "R = 0"]
    assert [row[0] for row in table[2:]] == list(window_statistics.STATISTICS)
    rates = {row[0]: row[1] for row in table[2:]}
    assert rates.pop("of the window") == "0.00 %"
    assert set(rates.values()) != {"0.00 %"}
    assert run(tmp_path, model, "--right_context=4", "--joined") == 0


def test_other_models_are_refused(tmp_path, capsys):
    (tmp_path / "manifest.tsv").write_text("id\tset\ttext\n", encoding="utf-8")
    assert run(tmp_path, TINY_MODEL) == 1
    error = capsys.readouterr().err
    assert "expected a CTC model that normalises features over the utterance" in error
    assert error.count("\n") == 1
