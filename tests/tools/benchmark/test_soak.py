"""The quick soak: every part runs, and the page has its results."""

import json

import pytest

from tools.benchmark.soak.run import main


def test_every_part_runs(tmp_path):
    assert main(["--quick", f"--output={tmp_path}", f"--work_dir={tmp_path / 'work'}"]) == 0
    results = json.loads((tmp_path / "work" / "results.json").read_text(encoding="utf-8"))
    for part in ("load", "killed"):
        report = results[part]["report"]
        assert report["done"] == report["started"] > 0, (part, report)
        assert report["mismatched"] == 0, (part, report)
    assert results["killed"]["report"]["resumes"] > 0
    assert set(results["turns"]) == {"runnel", "deepgram", "openai", "riva", "wenet", "sherpa"}
    for protocol, measured in results["turns"].items():
        report = measured["report"]
        assert report["done"] == report["started"] > 0, (protocol, report)
        assert report["mismatched"] == 0, (protocol, report)
        ends = "final" if protocol in ("wenet", "sherpa") else "end_of_speech"
        assert report["latency_ms"][ends]["count"] > 0, (protocol, report)
    looks = results["vanish"]["looks"]
    assert looks[-1]["streams"] == 0
    assert looks[-1]["descriptors"] <= looks[0]["descriptors"]
    page = (tmp_path / "soak.md").read_text(encoding="utf-8")
    assert "quick run" in page and (tmp_path / "soak_memory.svg").exists()
    assert main(["--quick", "--page_only", f"--output={tmp_path}",
                 f"--work_dir={tmp_path / 'work'}"]) == 0
    assert (tmp_path / "soak.md").read_text(encoding="utf-8") == page


def test_wrong_command_lines(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--parts=none"])
    with pytest.raises(SystemExit):
        main(["--streams=0"])
    assert "--streams is 0, expected at least 1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--stream_s=20"])  # ends before all streams have started
    assert "--stream_s is 20, expected at least 40" in capsys.readouterr().err
    assert main(["--page_only", f"--output={tmp_path}", f"--work_dir={tmp_path}"]) == 1
    assert "no results" in capsys.readouterr().err
    assert main(["--quick", f"--bin={tmp_path}", f"--output={tmp_path}",
                 f"--work_dir={tmp_path}"]) == 1
    message, = capsys.readouterr().err.splitlines()
    assert message.startswith("soak: decode_wav: ")
