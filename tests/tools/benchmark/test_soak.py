"""The quick soak: every part runs, and the page has its results. The search for the capacity."""

import json

import pytest

from tools.benchmark.soak import capacity
from tools.benchmark.soak.run import main


def test_every_part_runs(tmp_path):
    assert main(["--quick", f"--output={tmp_path}", f"--work_dir={tmp_path / 'work'}"]) == 0
    results = json.loads((tmp_path / "work" / "results.json").read_text(encoding="utf-8"))
    for part in ("load", "neighbours", "killed"):
        report = results[part]["report"]
        assert report["done"] == report["started"] > 0, (part, report)
        assert report["mismatched"] == 0, (part, report)
    assert results["killed"]["report"]["resumes"] > 0
    assert results["neighbours"]["report"]["attacks"] > 0
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


def test_capacity_is_searched(tmp_path, capsys):
    assert capacity.main(["--quick", f"--work_dir={tmp_path}"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].startswith("| C |") and len(rows) == 2 + 4  # two factors, two targets
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["results"]
    assert [result["factor"] for result in results] == [1, 4]
    for result in results:
        for trial in result["trials"]:
            assert trial["done"] == trial["streams"], trial
            assert sum(trial["factors"].values()) == trial["streams"], trial
            assert trial["chunk_ms"] > 0 and trial["busy_cores"] > 0


def _samples(chunks, in_time):
    """Metrics of ten streams, once a second; `chunks` and `in_time` are of each second."""
    sums = [{"time_s": i, "runnel_streams": 10 if i > 0 else 9,
             "runnel_chunk_latency_seconds_count": sum(chunks[:i]),
             'runnel_chunk_latency_seconds_bucket{le="0.25"}': sum(in_time[:i]),
             "runnel_audio_seconds_total": 10 * i, "runnel_compute_seconds_total": 0.5 * i,
             'runnel_streams_by_chunk_factor{factor="1"}': 3,
             'runnel_streams_by_chunk_factor{factor="2"}': 7} for i in range(len(chunks) + 1)]
    return sums


def test_capacity_counts_the_time_with_all_streams():
    trial = capacity.summarise(_samples([99, 99, 99, 10, 10], [0, 0, 0, 10, 8]), 10, 2, [250])
    assert trial == {"streams": 10, "in_time": {"250": 0.9}, "chunk_ms": 1000.0,
                     "busy_cores": 0.5, "factors": {"1": 3, "2": 7}}
    with pytest.raises(capacity.ProgramError, match="11 streams were not open long enough"):
        capacity.summarise(_samples([1] * 5, [1] * 5), 11, 2, [250])
    with pytest.raises(capacity.ProgramError, match="--targets_ms has 300"):
        capacity.summarise(_samples([1] * 5, [1] * 5), 10, 2, [300])


def test_capacity_is_the_last_trial_in_time():
    trials = [{"streams": n, "in_time": {"250": share}, "chunk_ms": 160.0, "busy_cores": 1.0}
              for n, share in ((60, 1.0), (66, 0.95), (72, 0.94), (79, 0.96), (86, 0.5))]
    assert capacity.held(trials, 250)["streams"] == 66
    assert capacity.held(trials[2:], 250) is None
    text = capacity.capacity_table(
        [{"chunk_size": 4, "factor": 1, "trials": trials},
         {"chunk_size": 4, "factor": 2, "trials": trials[2:]}], [250.0])
    assert text.splitlines()[2:] == ["| 4 | 1 | 250 | 66 | 160 | 1.00 |",
                                     "| 4 | 2 | 250 | fewer than 72 |  |  |"]


@pytest.mark.parametrize("flags, message", [
    (["--streams=0"], "--streams is 0, expected at least 1"),
    (["--step=1"], "--step is 1, expected more than 1"),
    (["--stream_s=5"], "--stream_s is 5, expected at least 12"),
    (["--factors=two"], "--factors: invalid")])
def test_wrong_command_lines_of_capacity(flags, message, capsys):
    with pytest.raises(SystemExit):
        capacity.main(flags)
    assert message in capsys.readouterr().err
