"""Word error rates of decode_wav on the recordings of a manifest, for each set and for all.

    python3 -m tools.benchmark.report.evaluate --model=M.pt --manifest=DIR/manifest.tsv
        [--chunk_sizes=-1,16,32] [--left_contexts=-1,64] [decode_wav's flags ...]

For the manifest see report/recordings.py. A chunk size of -1 (the whole utterance) is decoded
once, with unlimited left context. Unknown flags go to decode_wav: --dynamic_chunk_convolution
--running_normalization, for example, stream a model that was trained offline.
"""

import sys
from typing import Dict, List, Optional

from models.digits.score import Errors, align
from tools.benchmark.report.recordings import (Evaluation, Recording, chunk_flags, make_parser,
                                               run)


def score(recordings: List[Recording], found: Dict[str, List[str]]) -> str:
    """Rates of each set, then of all."""
    sets: Dict[str, Errors] = {}
    everything = Errors()
    for recording in recordings:
        errors = align(recording.words, found[recording.key])
        sets.setdefault(recording.set_name, Errors()).add(errors)
        everything.add(errors)
    parts = [f"{name} {errors.total()}/{errors.words}" for name, errors in sorted(sets.items())]
    return (f"{', '.join(parts)}; all {everything.total()}/{everything.words} = "
            f"{everything.rate():.2f} %")


def evaluate(evaluation: Evaluation) -> None:
    """Prints a row for each chunk size and left context."""
    for chunk_size in map(int, evaluation.args.chunk_sizes.split(",")):
        for left_context in map(int, evaluation.args.left_contexts.split(",")):
            if chunk_size == -1:
                left_context = -1
            found = evaluation.decode(chunk_flags(chunk_size, left_context))
            print(f"C={chunk_size:<3} M={left_context:<3} "
                  f"{score(evaluation.recordings, found)}", flush=True)
            if chunk_size == -1:
                break


def main(arguments: Optional[List[str]] = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--chunk_sizes", default="-1", help="encoder frames, separated by commas")
    parser.add_argument("--left_contexts", default="-1", help="encoder frames, separated by commas")
    args, flags = parser.parse_known_args(arguments)
    for name in ("chunk_size", "left_context"):
        if any(flag.split("=")[0] in (f"-{name}", f"--{name}") for flag in flags):
            parser.error(f"--{name} is set by --{name}s")
    return run("evaluate", args, flags, evaluate)


if __name__ == "__main__":
    sys.exit(main())
