"""Event simulation of streams whose chunks wait for worker threads, as in runtime/live."""

import collections
import heapq
from typing import Callable, Deque, Dict, List, Sequence, Tuple

import numpy as np
import numpy.typing as npt

_DONE, _DEADLINE = 0, 1


class BatchQueue:
    """The streams with a chunk to decode, first in, first out, and the workers that take them."""

    def __init__(self, workers: Sequence[int], max_batch: int, window: float):
        self.idle = list(workers)
        self.max_batch, self.window = max_batch, window
        self.waiting: Deque[Tuple[float, int]] = collections.deque()  # deadline, stream

    def is_due(self, now: float) -> bool:
        """The rule of runtime/live/batch_queue.h: full, or the oldest deadline has come."""
        return len(self.waiting) >= self.max_batch or (
            bool(self.waiting) and self.waiting[0][0] <= now)

    def take(self) -> List[int]:
        """The streams of a batch."""
        count = min(self.max_batch, len(self.waiting))
        return [self.waiting.popleft()[1] for _ in range(count)]


def serve(times: Sequence[float], streams: Sequence[int], queues: Sequence[BatchQueue],
          node_of_worker: Sequence[int], step_time: Callable[[int, int], float]
          ) -> npt.NDArray[np.float64]:
    """Serves all chunks; deterministic.

    Args:
        times: when each chunk's last sample arrives, ascending.
        streams: the stream of each chunk, from 0. Stream s belongs to queue s modulo the number of
            queues. A stream has one chunk at a time in a queue or a batch; later ones wait for it.
        node_of_worker: the NUMA node of each worker.
        step_time: of a batch of so many streams, while so many workers of the node compute.

    Returns:
        The latency of each chunk, in the order of `times` and in their unit.
    """
    latencies = np.zeros(len(times))
    backlog: Dict[int, Deque[int]] = collections.defaultdict(collections.deque)
    busy = [0] * (max(node_of_worker) + 1)
    events: List[Tuple[float, int, int, int, List[int]]] = []
    num_events = 0

    def add(time: float, kind: int, which: int, batch: List[int]) -> None:
        nonlocal num_events
        num_events += 1
        heapq.heappush(events, (time, num_events, kind, which, batch))

    def start(queue: BatchQueue, index: int, now: float) -> None:
        while queue.idle and queue.is_due(now):
            batch, worker = queue.take(), queue.idle.pop()
            node = node_of_worker[worker]
            busy[node] += 1
            add(now + step_time(len(batch), busy[node]), _DONE, worker, batch)
        if queue.idle and queue.waiting:
            add(queue.waiting[0][0], _DEADLINE, index, [])

    def push(stream: int, now: float) -> int:
        index = stream % len(queues)
        queue = queues[index]
        queue.waiting.append((now + queue.window, stream))
        return index

    next_chunk = 0
    while next_chunk < len(times) or events:
        if next_chunk < len(times) and (not events or times[next_chunk] <= events[0][0]):
            now, stream = times[next_chunk], streams[next_chunk]
            backlog[stream].append(next_chunk)
            next_chunk += 1
            if len(backlog[stream]) > 1:
                continue
            index = push(stream, now)
            queue = queues[index]
            if queue.is_due(now) or len(queue.waiting) == 1:
                start(queue, index, now)
            continue
        now, _, kind, which, batch = heapq.heappop(events)
        if kind == _DEADLINE:
            start(queues[which], which, now)
            continue
        busy[node_of_worker[which]] -= 1
        index = batch[0] % len(queues)
        queues[index].idle.append(which)
        for stream in batch:
            chunk = backlog[stream].popleft()
            latencies[chunk] = now - times[chunk]
            if backlog[stream]:
                push(stream, now)
        start(queues[index], index, now)
    return latencies


def live_chunks(num_streams: int, chunk_ms: float, packet_ms: float, end_ms: float, seed: int
                ) -> Tuple[List[float], List[int]]:
    """Arrival times of the chunks of streams that send in real time, with random phases, in ms.

    A chunk arrives with the packet that has its last sample.
    """
    random = np.random.default_rng(seed)
    phases = random.uniform(0, chunk_ms, num_streams)
    chunks = np.arange(1, int(end_ms / chunk_ms) + 1)
    spoken = np.ceil(chunks * chunk_ms / packet_ms - 1e-9) * packet_ms
    times = (phases[:, None] + spoken[None, :]).ravel()
    owners = np.repeat(np.arange(num_streams), len(chunks))
    order = np.argsort(times, kind="stable")
    return times[order].tolist(), owners[order].tolist()
