"""Errors of the times of words of decode_wav, as a table in Markdown.

    python3 -m tools.benchmark.accuracy.word_times --model=M.pt --manifest=DIR/manifest.tsv
        [--truth=words.ctm] [--save_truth=words.ctm] [decode_wav's flags ...]

The manifest is as for evaluate.py. The truth is a forced alignment by another kind of recogniser,
PocketSphinx: hidden Markov models of the phones of a dictionary, in frames of 10 ms. It needs the
Debian packages python3-pocketsphinx and pocketsphinx-en-us. Recordings with a word that the
dictionary lacks are left out. --truth reads the times from a CTM file instead, --save_truth writes
them to one. Words are paired by edit distance; only words that are equal count. Unknown flags go to
decode_wav.

An error is the time of decode_wav minus the true one, in milliseconds. The table has its median,
and of its magnitude the mean, the median and the 90th percentile.
"""

import difflib
import importlib
import re
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

import numpy as np
import soundfile
from scipy.signal import resample_poly

from tools.benchmark.accuracy.evaluate import Evaluation, Recording, make_parser, run, words_of
from tools.benchmark.pages.markdown import table
from tools.benchmark.pages.programs import run_program

_MODEL = Path("/usr/share/pocketsphinx/model/en-us")
_RATE_HZ = 16000
_FRAME_MS = 10


class TimedWord(NamedTuple):
    text: str
    start_ms: float
    end_ms: float


def read_ctm(text: str) -> Dict[str, List[TimedWord]]:
    """The words of each recording. Raises ValueError."""
    words: Dict[str, List[TimedWord]] = {}
    for line in text.splitlines():
        key, _, start, duration, word = line.split()[:5]
        start_ms = 1000 * float(start)
        words.setdefault(key, []).append(
            TimedWord(" ".join(words_of(word)), start_ms, start_ms + 1000 * float(duration)))
    return words


def write_ctm(words: Dict[str, List[TimedWord]]) -> str:
    return "".join(f"{key} 1 {word.start_ms / 1000:.3f} {(word.end_ms - word.start_ms) / 1000:.3f} "
                   f"{word.text}\n" for key, of_recording in words.items() for word in of_recording)


class Aligner:
    """PocketSphinx. Raises ValueError where it is not installed."""

    def __init__(self) -> None:
        try:
            sphinx = importlib.import_module("pocketsphinx")
        except ImportError as error:
            raise ValueError(f"{error}; expected the packages python3-pocketsphinx and "
                             "pocketsphinx-en-us, or --truth") from None
        config = sphinx.Decoder.default_config()
        for name, value in (("-hmm", _MODEL / "en-us"), ("-dict", _MODEL / "cmudict-en-us.dict"),
                            ("-logfn", "/dev/null")):
            config.set_string(name, str(value))
        for name in ("-beam", "-wbeam", "-pbeam"):
            config.set_float(name, 1e-200)
        for name in ("-bestpath", "-remove_silence", "-remove_noise"):
            config.set_boolean(name, False)
        self._decoder = sphinx.Decoder(config)

    def align(self, recording: Recording) -> Optional[List[TimedWord]]:
        """None if the dictionary lacks a word, or no alignment is found."""
        if any(self._decoder.lookup_word(word) is None for word in recording.words):
            return None
        samples, rate_hz = soundfile.read(recording.path, always_2d=True)
        mono = resample_poly(samples.mean(axis=1), _RATE_HZ, rate_hz)
        self._decoder.set_jsgf_string(
            "text", f"#JSGF V1.0; grammar text; public <text> = {' '.join(recording.words)};")
        self._decoder.set_search("text")
        self._decoder.start_utt()
        self._decoder.process_raw((np.clip(mono, -1, 1) * 32767).astype("<i2").tobytes(),
                                  False, True)
        self._decoder.end_utt()
        if self._decoder.hyp() is None:
            return None
        words = [TimedWord(re.sub(r"\(\d+\)$", "", segment.word), _FRAME_MS * segment.start_frame,
                           _FRAME_MS * (segment.end_frame + 1))
                 for segment in self._decoder.seg() if re.match("[a-z']", segment.word)]
        return words if [word.text for word in words] == recording.words else None


def errors_of(found: Sequence[TimedWord], truth: Sequence[TimedWord]) -> List[List[float]]:
    """Of the start, the end and the duration of each word that both have."""
    matcher = difflib.SequenceMatcher(None, [word.text for word in found],
                                      [word.text for word in truth], autojunk=False)
    pairs = [(found[block.a + i], truth[block.b + i])
             for block in matcher.get_matching_blocks() for i in range(block.size)]
    return [[a.start_ms - b.start_ms, a.end_ms - b.end_ms,
             (a.end_ms - a.start_ms) - (b.end_ms - b.start_ms)] for a, b in pairs]


def word_times(evaluation: Evaluation, flags: Sequence[str]) -> None:
    """Prints the table. Raises ProgramError, ValueError."""
    args = evaluation.args
    if args.truth:
        truth = read_ctm(args.truth.read_text(encoding="utf-8"))
    else:
        aligner = Aligner()
        aligned = {row.key: aligner.align(row) for row in evaluation.recordings}
        truth = {key: words for key, words in aligned.items() if words}
    if args.save_truth:
        args.save_truth.write_text(write_ctm(truth), encoding="utf-8")
    scp = evaluation.folder / "wav.scp"
    scp.write_text("".join(f"{row.key} {row.path.resolve()}\n" for row in evaluation.recordings
                           if row.key in truth), encoding="utf-8")
    found = read_ctm(run_program([str(args.decode_wav), f"--model={args.model}",
                                  f"--wav_scp={scp}", "--format=ctm", *flags]))
    errors = np.array([row for key, words in truth.items()
                       for row in errors_of(found.get(key, []), words)])
    if not len(errors):
        raise ValueError("no word of the truth was recognised")
    print(f"{len(errors)} of {sum(map(len, truth.values()))} words, {len(truth)} of "
          f"{len(evaluation.recordings)} recordings\n")
    print(table(["of", "median error", "mean", "median", "90 %"],
                [[name, f"{np.median(column):+.0f} ms",
                  *(f"{value:.0f} ms" for value in (abs(column).mean(), np.median(abs(column)),
                                                    np.quantile(abs(column), 0.9)))]
                 for name, column in zip(["start", "end", "duration"], errors.T)]), end="")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--truth", type=Path, help="CTM file of the true times")
    parser.add_argument("--save_truth", type=Path, help="CTM file to write them to")
    args, flags = parser.parse_known_args(arguments)
    return run("word_times", args, flags, lambda evaluation: word_times(evaluation, flags))


if __name__ == "__main__":
    sys.exit(main())
