"""Word errors, latency and throughput of an offline model in windows, as a table in Markdown.

    python3 -m tools.benchmark.accuracy.windows --model=M.pt --manifest=DIR/manifest.tsv
        [--chunk_size=8,16,32] [--right_context=4,8,16,32] [--left_context=64,128]
        [--cached_windows] [--frame_ms=40] [--repeats=3] [decode_wav's flags ...]

The table has a row for each chunk size and right context. The latency is the audio of both: a word
is heard so long before its text comes, at most. For each left context a row has the word error rate
in float32 and in int8, and how many live streams one core serves with int8: the duration of the
audio divided by the time of decode_wav with one thread and one recording at a time, the shortest of
--repeats. Unknown flags go to decode_wav. The first row is the whole utterance.

With --cached_windows, the word error rates are those of cached windows. In place of the streams the
row has how many times as fast as other windows they are, with int8. Both take turns.
"""

import argparse
import itertools
import sys
from typing import List, Optional, Sequence, Tuple

from models.digits.score import align
from tools.benchmark.accuracy.evaluate import Evaluation, make_parser, run, total
from tools.benchmark.pages.markdown import table


def sizes(text: str) -> List[int]:
    """Numbers of encoder frames, separated by commas."""
    numbers = [int(size) for size in text.split(",")]
    if min(numbers) < 0:
        raise argparse.ArgumentTypeError(f"'{text}', expected numbers of encoder frames")
    return numbers


def _decode(evaluation: Evaluation, precision: str, flags: Sequence[str]) -> Tuple[str, float]:
    """The word error rate, and seconds of audio per second."""
    texts, speed = evaluation.decode([f"--precision={precision}", "--num_threads=1",
                                      "--batch_streams=1", *flags])
    errors = total([align(row.words, texts[row.key]) for row in evaluation.recordings])
    return f"{errors.rate():.2f} %", speed


def _cells(evaluation: Evaluation, flags: Sequence[str], repeats: int) -> List[str]:
    """Word error rates of both precisions, and streams of one core."""
    runs = [_decode(evaluation, "int8", flags) for _ in range(repeats)]
    return [_decode(evaluation, "float32", flags)[0], runs[0][0],
            f"{max(speed for _, speed in runs):.0f}"]


def _cached_cells(evaluation: Evaluation, flags: Sequence[str], repeats: int) -> List[str]:
    """Word error rates of both precisions, and how many times as fast they are."""
    cached = [*flags, "--cached_windows"]
    turns = [(_decode(evaluation, "int8", cached), _decode(evaluation, "int8", flags))
             for _ in range(repeats)]
    speed, usual = (max(run[1] for run in runs) for runs in zip(*turns))
    return [_decode(evaluation, "float32", cached)[0], turns[0][0][0], f"{speed / usual:.1f}"]


def windows(evaluation: Evaluation) -> None:
    """Prints the table."""
    args = evaluation.args
    cells = _cached_cells if args.cached_windows else _cells
    header = ["C", "R", "latency"]
    for left in args.left_context:
        header += [f"M = {left}: float32", "int8",
                   "times as fast" if args.cached_windows else "int8 streams"]
    whole = _cells(evaluation, ["--chunk_size=-1"], args.repeats)
    if args.cached_windows:
        whole[-1] = ""
    rows = [["whole utterance", "", "", *whole * len(args.left_context)]]
    for chunk, right in itertools.product(args.chunk_size, args.right_context):
        row = [str(chunk), str(right), f"{(chunk + right) * args.frame_ms / 1000:.2f} s"]
        for left in args.left_context:
            row += cells(evaluation, [f"--chunk_size={chunk}", f"--right_context={right}",
                                      f"--left_context={left}"], args.repeats)
        rows.append(row)
    print(table(header, rows), end="")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--chunk_size", type=sizes, default=[8, 16, 32])
    parser.add_argument("--right_context", type=sizes, default=[4, 8, 16, 32])
    parser.add_argument("--left_context", type=sizes, default=[64, 128])
    parser.add_argument("--cached_windows", action="store_true")
    parser.add_argument("--frame_ms", type=float, default=40, help="of an encoder frame")
    parser.add_argument("--repeats", type=int, default=1, help="of each row, for its time")
    args, flags = parser.parse_known_args(arguments)
    if args.repeats < 1:
        parser.error(f"--repeats is {args.repeats}, expected at least 1")
    return run("windows", args, flags, windows)


if __name__ == "__main__":
    sys.exit(main())
