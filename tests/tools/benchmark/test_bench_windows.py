"""bench_encoder measures the windows of an offline model."""

import json

from offline_model import write_offline_model
from tool_runner import USAGE, error_line, run, succeed


def test_windows(tmp_path):
    model = f"--model={write_offline_model(tmp_path / 'offline.pt')}"
    for flags, sizes in (([], (16, 128, 16)),
                         (["--chunk_size=4", "--left_context=8", "--right_context=3"], (4, 8, 3))):
        output = succeed("bench_encoder", model, "--seconds=0.01", "--streams=2",
                         f"--json={tmp_path / 'b.json'}", *flags)
        result, = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["results"]
        assert (result["chunk_size"], result["left_context"], result["right_context"]) == sizes
        assert result["realtime_streams_per_core"] > 0
        assert output.splitlines()[-1].split()[2:5] == [str(size) for size in sizes]
    line = error_line(run("bench_encoder", model, "--baseline"), USAGE)
    assert "--baseline has no windows, expected --nobaseline with C=16 M=128 R=16" in line
