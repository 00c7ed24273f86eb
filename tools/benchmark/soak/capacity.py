"""Finds how many live streams a server holds, with and without chunks that grow under load.

    python3 -m tools.benchmark.soak.capacity [--chunk_sizes=4,16] [--factors=1,4]
        [--targets_ms=250,500] [--streams=60] [--step=1.1] [--stream_s=60]
        [--work_dir=build/capacity] [--bin=build/bin] [--quick]

For each chunk size and each --adaptive_chunks, servers get more and more real-time streams of the
large model, each time --step times as many, until the largest target is missed. Streams are held
at a target when 95 % of the chunks are sent in time while all are open. Prints a table, and keeps
the trials in results.json in the work folder. The targets are bounds of the buckets of
runnel_chunk_latency_seconds. Takes about a minute per trial. --quick is for tests, with a tiny
model and meaningless numbers.
"""

import argparse
import pathlib
import sys
from typing import Dict, List, Optional

from tools.benchmark.pages.command import make_measuring_parser, store_results
from tools.benchmark.pages.markdown import table
from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.pages.random_model import AISHELL, SMALL, write_model
from tools.benchmark.soak.parts import BATCH_WAIT_MS, NO_LIMITS, PACKET_MS
from tools.benchmark.soak.programs import Report, Sampler, run_load, serve
from tools.benchmark.soak.recordings import write_recordings

_SEED = 1
_IN_TIME = 0.95  # share of the chunks
_SAMPLE_S = 1.0
_MOST_STREAMS = 5000
_CHUNKS = "runnel_chunk_latency_seconds_count"
_AUDIO = "runnel_audio_seconds_total"
_COMPUTE = "runnel_compute_seconds_total"
_STREAMS = "runnel_streams"
_FACTOR = "runnel_streams_by_chunk_factor"


def _bucket(target_ms: float) -> str:
    return f'runnel_chunk_latency_seconds_bucket{{le="{target_ms / 1000:g}"}}'


def summarise(samples: List[Dict[str, float]], streams: int, settle_s: float,
              targets_ms: List[float]) -> Report:
    """What the metrics say of the time in which all streams were open, without its beginning."""
    opened = [sample for sample in samples if sample[_STREAMS] == streams]
    steady = [sample for sample in opened if sample["time_s"] >= opened[0]["time_s"] + settle_s]
    if len(steady) < 2:
        raise ProgramError(f"{streams} streams were not open long enough to be measured; "
                           "expected a longer --stream_s")

    def growth(key: str) -> float:
        return steady[-1][key] - steady[0][key]

    chunks = growth(_CHUNKS)
    if chunks == 0:
        raise ProgramError(f"{streams} streams got no result; expected a longer --stream_s")
    missing = [target for target in targets_ms if _bucket(target) not in steady[0]]
    if missing:
        raise ProgramError(f"--targets_ms has {missing[0]:g}, expected bounds of the buckets of "
                           "runnel_chunk_latency_seconds")
    prefix = f'{_FACTOR}{{factor="'
    return {"streams": streams,
            "in_time": {f"{target:g}": growth(_bucket(target)) / chunks for target in targets_ms},
            "chunk_ms": 1000 * growth(_AUDIO) / chunks,
            "busy_cores": growth(_COMPUTE) / (steady[-1]["time_s"] - steady[0]["time_s"]),
            "factors": {key[len(prefix):-2]: value for key, value in steady[-1].items()
                        if key.startswith(prefix)}}


class Capacity:
    """Runs trials on one model."""

    def __init__(self, args: argparse.Namespace, model: pathlib.Path) -> None:
        self._args = args
        self._model = model
        self._wav_scp = write_recordings(args.work_dir / "recordings", 8, args.stream_s)

    def _trial(self, chunk_size: int, factor: int, streams: int) -> Report:
        args = self._args
        ramp_s = args.stream_s / 6
        flags = [*NO_LIMITS, f"--max_batch_wait_ms={BATCH_WAIT_MS}", "--precision=int8",
                 f"--chunk_size={chunk_size}", f"--adaptive_chunks={factor}",
                 "--snapshot_store=none"]
        with serve(args.bin, self._model, flags, args.work_dir / "server.log") as server:
            with Sampler(server, _SAMPLE_S) as sampler:
                report = run_load(args.bin, [
                    f"--server={server.url}", f"--wav_scp={self._wav_scp}",
                    f"--streams={streams}", f"--ramp_s={ramp_s}", f"--packet_ms={PACKET_MS}"])
        summary = summarise(sampler.samples, streams, args.stream_s / 6, args.targets_ms)
        return {**summary, "done": report["done"]}

    def trials(self, chunk_size: int, factor: int) -> List[Report]:
        """Trials with more and more streams; the last one misses the largest target."""
        results: List[Report] = []
        streams = self._args.streams
        while True:
            results.append(self._trial(chunk_size, factor, streams))
            share = results[-1]["in_time"][f"{max(self._args.targets_ms):g}"]
            print(f"capacity: C={chunk_size} --adaptive_chunks={factor}: {streams} streams, "
                  f"{share:.1%} in time", file=sys.stderr, flush=True)
            if share < _IN_TIME or streams >= self._args.most_streams:
                return results
            streams = max(streams + 1, int(streams * self._args.step))


def held(trials: List[Report], target_ms: float) -> Optional[Report]:
    """The last trial before the first one that misses the target; None if that is the first one."""
    best = None
    for trial in trials:
        if trial["in_time"][f"{target_ms:g}"] < _IN_TIME:
            break
        best = trial
    return best


def capacity_table(results: List[Report], targets_ms: List[float]) -> str:
    """A row for each chunk size, factor and target."""
    rows = []
    for result in results:
        for target in targets_ms:
            best = held(result["trials"], target)
            rows.append((str(result["chunk_size"]), str(result["factor"]), f"{target:g}",
                         "fewer than " + str(result["trials"][0]["streams"]) if best is None
                         else str(best["streams"]),
                         "" if best is None else f"{best['chunk_ms']:.0f}",
                         "" if best is None else f"{best['busy_cores']:.2f}"))
    return table(["C", "`--adaptive_chunks`", "p95 at most, ms", "streams", "mean chunk, ms",
                  "cores for workers"], rows)


def _numbers(text: str) -> List[float]:
    return [float(number) for number in text.split(",")]


def _sizes(text: str) -> List[int]:
    return [int(number) for number in text.split(",")]


def parse_arguments(arguments: Optional[List[str]]) -> argparse.Namespace:
    """The command line; exits with 2 when it is wrong."""
    parser = make_measuring_parser(str(__doc__), "capacity")
    parser.add_argument("--chunk_sizes", type=_sizes, default=[4, 16],
                        help="encoder frames per chunk, separated by commas")
    parser.add_argument("--factors", type=_sizes, default=[1, 4],
                        help="values of --adaptive_chunks, separated by commas")
    parser.add_argument("--targets_ms", type=_numbers, default=[250.0, 500.0],
                        help="bounds of p95 of the chunk latency, separated by commas")
    parser.add_argument("--streams", type=int, default=60, help="of the first trial (%(default)s)")
    parser.add_argument("--step", type=float, default=1.1,
                        help="from one trial to the next (%(default)s)")
    parser.add_argument("--stream_s", type=float, default=60,
                        help="seconds that each stream lasts (%(default)s)")
    args = parser.parse_args(arguments)
    args.most_streams = _MOST_STREAMS
    if args.quick:
        args.chunk_sizes, args.streams, args.stream_s, args.most_streams = [4], 2, 12, 3
    if args.streams < 1:
        parser.error(f"--streams is {args.streams}, expected at least 1")
    if not args.step > 1:
        parser.error(f"--step is {args.step:g}, expected more than 1")
    if args.stream_s < 12:
        parser.error(f"--stream_s is {args.stream_s:g}, expected at least 12")
    return args


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; 1 when a program cannot be run."""
    args = parse_arguments(arguments)
    try:
        args.work_dir.mkdir(parents=True, exist_ok=True)
        model = args.work_dir / "model.pt"
        write_model(SMALL if args.quick else AISHELL, _SEED, str(model))
        capacity = Capacity(args, model)
        results = []
        for chunk_size in args.chunk_sizes:
            for factor in args.factors:
                results.append({"chunk_size": chunk_size, "factor": factor,
                                "trials": capacity.trials(chunk_size, factor)})
                store_results(args, {"quick": args.quick, "results": results})
        print(capacity_table(results, args.targets_ms), end="")
    except (OSError, ProgramError, ValueError, KeyError) as error:
        print(f"capacity: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
