"""The simulation of servers: queues with known answers, and its command."""

import json

import numpy as np
import pytest

from tools.benchmark.simulation.__main__ import main
from tools.benchmark.simulation.capacity import (Load, Machine, Setting, capacity, most, p95_ms,
                                                 present_defaults)
from tools.benchmark.simulation.queueing import BatchQueue, live_chunks, serve
from tools.benchmark.simulation.step_times import BATCH_SIZES, StepTimes, step_ms_of

STEPS = StepTimes(list(BATCH_SIZES), [10.0 + 5 * size for size in BATCH_SIZES], contention=1.0,
                  spread=1.0, chunk_ms=640.0, machine="a machine")
QUIET = Load(packet_ms=640, other_ms=0, remote=1)


def one_worker(times, service, max_batch=1, window=0.0, streams=None):
    queue = BatchQueue([0], max_batch, window)
    return serve(times, range(len(times)) if streams is None else streams, [queue], [0],
                 lambda batch, busy: service).tolist()


def test_constant_arrivals():
    """D/D/1: nobody waits below the capacity; above it, each waits longer than the last."""
    times = [10.0 * i for i in range(100)]
    assert one_worker(times, 5.0) == [5.0] * 100
    assert one_worker(times, 12.0) == [12.0 + 2 * i for i in range(100)]


@pytest.mark.parametrize("load", [0.3, 0.5, 0.8])
def test_random_arrivals(load):
    """M/D/1: the mean wait is load / (2 (1 - load)) service times."""
    times = np.cumsum(np.random.default_rng(1).exponential(1 / load, 100_000)).tolist()
    assert np.mean(one_worker(times, 1.0)) == pytest.approx(1 + load / (2 * (1 - load)), rel=0.05)


def test_batches_wait_for_others():
    assert one_worker([0.0], 5.0, max_batch=2, window=10.0) == [15.0]
    assert one_worker([0.0, 4.0], 5.0, max_batch=2, window=10.0) == [9.0, 5.0]
    # Full at 1, done at 6; the third waits for its own deadline.
    assert one_worker([0.0, 1.0, 2.0], 5.0, max_batch=2, window=10.0) == [6.0, 5.0, 15.0]
    # Overdue when the worker is free again: at once.
    assert one_worker([0.0, 1.0, 2.0], 50.0, max_batch=2, window=10.0) == [51.0, 50.0, 99.0]


def test_a_stream_is_in_one_batch_at_a_time():
    """Its later chunks join the end of the queue, as in the server."""
    assert one_worker([0.0, 0.0, 1.0], 5.0, streams=[0, 0, 1]) == [5.0, 15.0, 9.0]


def test_workers_slow_each_other_down_on_their_node_only():
    seen = []

    def step_time(batch, busy):
        seen.append((batch, busy))
        return 10.0

    queues = [BatchQueue([0, 1], 1, 0.0), BatchQueue([2, 3], 1, 0.0)]
    serve([0.0, 0.0, 0.0, 0.0], range(4), queues, [0, 0, 1, 1], step_time)
    assert seen == [(1, 1), (1, 1), (1, 2), (1, 2)]


def test_live_chunks():
    """A chunk arrives with the packet of its last sample: 640 ms with the seventh of 100 ms."""
    times, streams = live_chunks(1, 640, 100, 2000, seed=3)
    assert np.diff(times).tolist() == pytest.approx([600, 700]) and streams == [0, 0, 0]
    assert live_chunks(5, 640, 100, 2000, seed=3) == live_chunks(5, 640, 100, 2000, seed=3)
    times, _ = live_chunks(50, 640, 640, 2000, seed=3)
    assert times == sorted(times) and len(times) == 150


def test_step_times(tmp_path):
    table = STEPS.table(64)
    assert table[1] == 15 and table[3] == 25 and table[64] == 2 * table[32]
    STEPS.save(tmp_path / "times.json")
    assert StepTimes.load(tmp_path / "times.json") == STEPS
    assert step_ms_of({"results": [{"ms_per_stream_chunk_median": 2.5}]}, 4) == 10


def test_search():
    assert most(lambda count: count <= 37, 0, 100) == 37
    assert most(lambda count: True, 0, 10) == 10 and most(lambda count: False, 0, 10) == 0
    assert most(lambda count: False, 20, 10) == 20


def test_capacity():
    """One stream at a time on one core: a chunk of 640 ms per 15 ms."""
    alone = Setting(window_ms=0, max_batch=1, threads=1)
    assert p95_ms(Machine(1, 1), alone, STEPS, QUIET, 1) == pytest.approx(15)
    # 640 / 15 is 42.7. A load that is too high by a hundredth does not show within seconds.
    assert 40 <= capacity(Machine(1, 1), alone, STEPS, QUIET, 250) <= 43
    batches = present_defaults(Machine(1, 1))
    one = capacity(Machine(1, 1), batches, STEPS, QUIET, 500)
    assert one > 80  # batches of 16 take 90 ms
    four = Machine(4, 1)
    assert capacity(four, present_defaults(four), STEPS, QUIET, 500) > 3.5 * one


def test_model_that_is_far_away():
    """One copy of the model for two nodes is slower than a copy on each."""
    machine, load = Machine(4, 2), Load(packet_ms=640, other_ms=0, remote=2)
    shared = capacity(machine, Setting(10, 16, 4), STEPS, load, 500)
    assert capacity(machine, Setting(10, 16, 2), STEPS, load, 500) > 1.3 * shared


def test_command(tmp_path, capsys):
    path = tmp_path / "times.json"
    assert main([f"--step_times={path}"]) == 1
    assert "times.json" in capsys.readouterr().err
    STEPS.save(path)
    assert main([f"--step_times={path}", "--cores=1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("a machine; ") and lines[-1].startswith("| 1 | 1 | ")
    with pytest.raises(SystemExit):
        main(["--cores=none"])
    with pytest.raises(SystemExit):
        main(["--measure"])
    path.write_text(json.dumps({"batch_sizes": []}), encoding="utf-8")
    assert main([f"--step_times={path}"]) == 1
