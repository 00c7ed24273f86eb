"""How many streams a machine serves in time, and with which settings."""

import dataclasses
import itertools
import math
from typing import Callable, Iterator, Tuple

import numpy as np
import numpy.typing as npt

from tools.benchmark.simulation.queueing import BatchQueue, live_chunks, serve
from tools.benchmark.simulation.step_times import StepTimes

# A load that the machine cannot bear is told by latencies that have grown since the start.
_WARM_UP_MS, _MEASURED_MS = 10_000, 5000
_NORMAL_P95 = 1.645
_STEP = 0.02  # of a number of streams: the search ends there


@dataclasses.dataclass(frozen=True)
class Machine:
    """Cores in all and NUMA nodes, which share them equally."""

    cores: int
    nodes: int


@dataclasses.dataclass(frozen=True)
class Setting:
    """Settings of a server. `threads` per copy of the model; a copy has a queue of its
    own. Copies do not span nodes unless there is only one."""

    window_ms: float
    max_batch: int
    threads: int


@dataclasses.dataclass(frozen=True)
class Load:
    """Assumptions of the simulation beside the measured steps.

    packet_ms: audio of a packet.
    other_ms: computing time of a chunk outside the step (features, search, messages).
    remote: time of a step on a node that does not hold the model, divided by that on its own.
    """

    packet_ms: float = 100
    other_ms: float = 0.8
    remote: float = 1.2


# RecognizerOptions and stream_server: one copy for the machine, a thread per core.
def present_defaults(machine: Machine) -> Setting:
    """What stream_server does without flags."""
    return Setting(window_ms=10, max_batch=16, threads=machine.cores)


def candidates(machine: Machine) -> Iterator[Setting]:
    """The settings among which the best is searched, fewest copies of the model first."""
    per_node = machine.cores // machine.nodes
    threads = {machine.cores, per_node} | {count for count in (4, 16) if per_node % count == 0}
    for count in sorted(threads, reverse=True):
        for max_batch in (8, 16, 32):
            for window_ms in (0.0, 10.0, 40.0):
                yield Setting(window_ms, max_batch, count)


def latencies(machine: Machine, setting: Setting, steps: StepTimes, load: Load, num_streams: int,
              seed: int) -> npt.NDArray[np.float64]:
    """Latencies in ms of the chunks after a warm-up: from the arrival of the last sample."""
    times, streams = live_chunks(num_streams, steps.chunk_ms, load.packet_ms,
                                 _WARM_UP_MS + _MEASURED_MS, seed)
    # A copy's workers are neighbours, so copies of a node's size or less lie on one node.
    queues = [BatchQueue(range(first, first + setting.threads), setting.max_batch,
                         setting.window_ms)
              for first in range(0, machine.cores, setting.threads)]
    node_of_worker = [worker * machine.nodes // machine.cores for worker in range(machine.cores)]
    spans_nodes = setting.threads > machine.cores // machine.nodes
    # Half of the steps of a copy that two nodes share run away from the model.
    remote = 1 + (load.remote - 1) * (1 - 1 / machine.nodes) if spans_nodes else 1
    table = steps.table(setting.max_batch)
    deviation = math.log(steps.spread) / _NORMAL_P95
    noise = itertools.cycle(np.exp(
        np.random.default_rng([seed, 1]).normal(0, deviation, 10007)).tolist())

    def step_time(batch: int, busy: int) -> float:
        contention = 1 + (steps.contention - 1) * (busy - 1)
        return (table[batch] * contention * remote + batch * load.other_ms) * next(noise)

    found = serve(times, streams, queues, node_of_worker, step_time)
    measured: npt.NDArray[np.float64] = found[np.asarray(times) >= _WARM_UP_MS]
    return measured


def p95_ms(machine: Machine, setting: Setting, steps: StepTimes, load: Load, num_streams: int,
           seed: int = 1) -> float:
    """The 95th percentile of the latencies."""
    found = latencies(machine, setting, steps, load, num_streams, seed)
    return float(np.quantile(found, 0.95))


def most(is_enough: Callable[[int], bool], lower: int, upper: int) -> int:
    """The largest number up to `upper` for which `is_enough`, within _STEP.

    `is_enough` holds for `lower`, and for all numbers below one for which it holds.
    """
    low, high = lower, max(lower, upper) + 1
    while high - low > max(1, int(_STEP * low)):
        middle = (low + high) // 2
        if is_enough(middle):
            low = middle
        else:
            high = middle
    return low


def capacity(machine: Machine, setting: Setting, steps: StepTimes, load: Load, limit_ms: float,
             lower: int = 0) -> int:
    """Streams at once whose p95 is at most `limit_ms`, which is known of `lower` streams."""
    fastest = min(step / size for size, step in zip(steps.batch_sizes, steps.step_ms))
    upper = int(machine.cores * steps.chunk_ms / (fastest + load.other_ms)) + 1
    return most(lambda count: p95_ms(machine, setting, steps, load, count) <= limit_ms, lower,
                upper)


def best(machine: Machine, steps: StepTimes, load: Load, limit_ms: float
         ) -> Tuple[int, int, Setting]:
    """The streams with the defaults, the most streams, and a setting that reaches them: the
    defaults, unless another serves more by at least the precision of the search."""
    setting = present_defaults(machine)
    with_defaults = streams = capacity(machine, setting, steps, load, limit_ms)
    for candidate in candidates(machine):
        more = streams + max(1, int(_STEP * streams))
        if p95_ms(machine, candidate, steps, load, more) <= limit_ms:
            streams = capacity(machine, candidate, steps, load, limit_ms, more)
            setting = candidate
    return with_defaults, streams, setting
