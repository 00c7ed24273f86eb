"""Word errors, latency and throughput of an offline model in windows, as a table in Markdown.

    python3 -m tools.benchmark.accuracy.windows --model=M.pt --manifest=DIR/manifest.tsv
        [--chunk_size=8,16,32] [--right_context=4,8,16,32] [--left_context=64,128]
        [--frame_ms=40] [--repeats=3] [decode_wav's flags ...]

The table has a row for each chunk size and right context. The latency is the audio of both: a word
is heard so long before its text comes, at most. For each left context a row has the word error rate
in float32 and in int8, and how many live streams one core serves with int8: the duration of the
audio divided by the time of decode_wav with one thread and one recording at a time, the shortest of
--repeats. Unknown flags go to decode_wav. The first row is the whole utterance.
"""

import argparse
import itertools
import sys
from typing import List, Optional

from models.digits.score import align
from tools.benchmark.accuracy.evaluate import Evaluation, make_parser, run, total
from tools.benchmark.pages.markdown import table


def _sizes(text: str) -> List[int]:
    sizes = [int(size) for size in text.split(",")]
    if min(sizes) < 0:
        raise argparse.ArgumentTypeError(f"'{text}', expected numbers of encoder frames")
    return sizes


def _cells(evaluation: Evaluation, flags: List[str], repeats: int) -> List[str]:
    """Word error rates of both precisions, and streams of one core."""
    cells = []
    for precision in ("float32", "int8"):
        measured = [evaluation.decode([f"--precision={precision}", "--num_threads=1",
                                       "--batch_streams=1", *flags])
                    for _ in range(repeats if precision == "int8" else 1)]
        errors = total([align(row.words, measured[0][0][row.key])
                        for row in evaluation.recordings])
        cells.append(f"{errors.rate():.2f} %")
        if precision == "int8":
            cells.append(f"{max(speed for _, speed in measured):.0f}")
    return cells


def windows(evaluation: Evaluation) -> None:
    """Prints the table."""
    args = evaluation.args
    header = ["C", "R", "latency"]
    for left in args.left_context:
        header += [f"M = {left}: float32", "int8", "int8 streams"]
    whole = _cells(evaluation, ["--chunk_size=-1"], args.repeats)
    rows = [["whole utterance", "", "", *whole * len(args.left_context)]]
    for chunk, right in itertools.product(args.chunk_size, args.right_context):
        row = [str(chunk), str(right), f"{(chunk + right) * args.frame_ms / 1000:.2f} s"]
        for left in args.left_context:
            row += _cells(evaluation, [f"--chunk_size={chunk}", f"--right_context={right}",
                                       f"--left_context={left}"], args.repeats)
        rows.append(row)
    print(table(header, rows), end="")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--chunk_size", type=_sizes, default=[8, 16, 32])
    parser.add_argument("--right_context", type=_sizes, default=[4, 8, 16, 32])
    parser.add_argument("--left_context", type=_sizes, default=[64, 128])
    parser.add_argument("--frame_ms", type=float, default=40, help="of an encoder frame")
    parser.add_argument("--repeats", type=int, default=1, help="of each row, for its time")
    args, flags = parser.parse_known_args(arguments)
    if args.repeats < 1:
        parser.error(f"--repeats is {args.repeats}, expected at least 1")
    return run("windows", args, flags, windows)


if __name__ == "__main__":
    sys.exit(main())
