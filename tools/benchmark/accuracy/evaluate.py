"""Word errors of decode_wav on the recordings of a manifest, as a table in Markdown.

    python3 -m tools.benchmark.accuracy.evaluate --model=M.pt --manifest=DIR/manifest.tsv
        [--vary=FLAG=VALUE,VALUE ...] [--half_silent_s=30 | --join_s=60] [--repeats=3]
        [decode_wav's flags ...]

The manifest has the columns id, set and text; the recordings are wav/ID.* beside it. Texts are
compared in lower case without punctuation. Unknown flags go to decode_wav:
--dynamic_chunk_convolution --running_normalization, for example, stream a model that was trained
offline. The table has a row for each combination of the values of all --vary. Its cells are the
word errors of each set, the word error rate, and the duration of the audio divided by the time of
decoding: the shortest of --repeats, in which the rows take turns.

The line below the table has the rate of a row that is not chosen on the recordings that it counts:
each half of the recordings (every second one) with the row that is best for the other half.

--half_silent_s joins all recordings to one: stretches of speech of at least so many seconds, each
followed by a pause as long as the stretch. Pauses are noise of 1e-4 of full scale (-80 dB).
--join_s joins them to recordings of at least so many seconds, without pauses.
"""

import argparse
import csv
import itertools
import re
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import soundfile
from scipy.signal import resample_poly

from models.digits.score import Errors, align
from tools.benchmark.pages.command import ROOT
from tools.benchmark.pages.markdown import table
from tools.benchmark.pages.programs import ProgramError, run_decoder

_RATE_HZ = 16000
_NOISE = 1e-4


def words_of(text: str) -> List[str]:
    """Lower-case words without punctuation; apostrophes inside words stay."""
    text = text.lower().replace("\u2019", "'")
    return re.sub(r"[^a-z' ]+", " ", text.replace("-", " ")).split()


class Recording(NamedTuple):
    """A row of the manifest."""

    key: str
    set_name: str
    words: List[str]
    path: Path


def read_manifest(path: Path) -> List[Recording]:
    """Its rows. Raises ValueError."""
    rows = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            missing = [name for name in ("id", "set", "text") if row.get(name) is None]
            if missing:
                raise ValueError(f"{path}: a row has no {missing[0]}")
            found = sorted((path.parent / "wav").glob(f"{row['id']}.*"))
            if len(found) != 1:
                raise ValueError(f"{path}: {row['id']} has {len(found)} recordings, expected one")
            rows.append(Recording(row["id"], row["set"], words_of(row["text"]), found[0]))
    return rows


def stretches(recordings: List[Recording], stretch_s: float
              ) -> Iterator[Tuple[List[str], np.ndarray]]:
    """Words and samples of the recordings, joined until they have so many seconds."""
    words: List[str] = []
    parts: List[np.ndarray] = []
    for recording in recordings:
        samples, rate = soundfile.read(recording.path, dtype="float32", always_2d=True)
        parts.append(resample_poly(samples.mean(axis=1), _RATE_HZ, rate))
        words += recording.words
        if sum(map(len, parts)) >= stretch_s * _RATE_HZ or recording is recordings[-1]:
            yield words, np.concatenate(parts)
            words, parts = [], []


def joined(recordings: List[Recording], stretch_s: float, folder: Path) -> List[Recording]:
    """A recording of each stretch."""
    result = []
    for index, (words, samples) in enumerate(stretches(recordings, stretch_s)):
        path = folder / f"joined{index}.wav"
        soundfile.write(str(path), samples, _RATE_HZ)
        result.append(Recording(f"joined{index}", "joined", words, path))
    return result


def half_silent(recordings: List[Recording], stretch_s: float, folder: Path) -> Recording:
    """All of them in one file, with pauses."""
    random = np.random.default_rng(1)
    parts: List[np.ndarray] = []
    for _, samples in stretches(recordings, stretch_s):
        parts += [samples, _NOISE * random.standard_normal(len(samples), dtype=np.float32)]
    path = folder / "joined.wav"
    soundfile.write(str(path), np.concatenate(parts), _RATE_HZ)
    return Recording("joined", "joined", [word for row in recordings for word in row.words], path)


class Evaluation:
    """One run of a command: its options, the recordings, a temporary folder."""

    def __init__(self, args: argparse.Namespace, flags: List[str], folder: Path) -> None:
        """flags: further ones of decode_wav. Raises ValueError as read_manifest."""
        self.args, self.folder, self._flags = args, folder, flags
        self.recordings = read_manifest(args.manifest)

    def decode(self, flags: Sequence[str]) -> Tuple[Dict[str, List[str]], float]:
        """The recognised words of every recording, and seconds of audio per second. Raises
        ProgramError with decode_wav's message, ValueError when a recording has no text."""
        scp = self.folder / "wav.scp"
        scp.write_text("".join(f"{row.key} {row.path.resolve()}\n" for row in self.recordings),
                       encoding="utf-8")
        output, audio_s, wall_s = run_decoder(
            [str(self.args.decode_wav), f"--model={self.args.model}", f"--wav_scp={scp}",
             *self._flags, *flags])
        keys = {row.key for row in self.recordings}
        texts: Dict[str, List[str]] = {}
        for line in output.splitlines():
            key, _, text = line.partition(" ")
            if key not in keys:
                key = re.sub(r"-\d+$", "", key)  # the number of an utterance
            texts.setdefault(key, []).extend(words_of(text))
        for key in keys - texts.keys():
            raise ValueError(f"decode_wav printed no text for {key}")
        return texts, audio_s / wall_s


def total(errors: Sequence[Errors]) -> Errors:
    result = Errors()
    for part in errors:
        result.add(part)
    return result


def chosen_on_the_other_half(rows: Sequence[List[Errors]]) -> Errors:
    """Errors of rows that have those of each recording."""
    return total([total(min(rows, key=lambda row: total(row[1 - half::2]).total())[half::2])
                  for half in (0, 1)])


def evaluate(evaluation: Evaluation) -> None:
    """Prints the table."""
    args = evaluation.args
    if args.half_silent_s is not None:
        evaluation.recordings = [half_silent(evaluation.recordings, args.half_silent_s,
                                             evaluation.folder)]
    elif args.join_s is not None:
        evaluation.recordings = joined(evaluation.recordings, args.join_s, evaluation.folder)
    names = [name for name, _ in args.vary]
    combinations = list(itertools.product(*(values for _, values in args.vary)))
    rounds = [[evaluation.decode([f"--{name}={value}" for name, value in zip(names, values)])
               for values in combinations] for _ in range(args.repeats)]
    errors = [[align(row.words, texts[row.key]) for row in evaluation.recordings]
              for texts, _ in rounds[0]]
    speeds = [max(speed for _, speed in row) for row in zip(*rounds)]
    sets = [row.set_name for row in evaluation.recordings]

    def of_set(row: List[Errors], name: str) -> Errors:
        return total([part for part, set_name in zip(row, sets) if set_name == name])

    def cells(row: List[Errors], speed: float) -> List[str]:
        return [*(str(of_set(row, name).total()) for name in sorted(set(sets))),
                f"{total(row).rate():.2f} %", f"{speed:.0f}"]

    print(table([*names, *(f"{name} ({of_set(errors[0], name).words} words)"
                           for name in sorted(set(sets))), "all", "times real time"],
                [[*values, *cells(row, speed)]
                 for values, row, speed in zip(combinations, errors, speeds)]), end="")
    if len(errors) > 1 and len(sets) > 1:
        print(f"\nchosen on the other half: {chosen_on_the_other_half(errors).rate():.2f} %")


def make_parser(description: Optional[str]) -> argparse.ArgumentParser:
    """With the options that the commands of this folder have."""
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--decode_wav", type=Path, default=ROOT / "build" / "bin" / "decode_wav")
    return parser


def run(name: str, args: argparse.Namespace, flags: List[str],
        command: Callable[[Evaluation], None]) -> int:
    """Runs a command; 1, with one line on standard error, when something is wrong."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            command(Evaluation(args, flags, Path(folder)))
    except (ProgramError, ValueError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0


def varied(text: str) -> Tuple[str, List[str]]:
    """FLAG=VALUE,VALUE -> the flag and its values."""
    name, equals, values = text.partition("=")
    if not name or not equals or name.startswith("-"):
        raise argparse.ArgumentTypeError(f"'{text}', expected FLAG=VALUE,VALUE")
    return name, values.split(",")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--vary", type=varied, action="append", default=[],
                        help="a flag of decode_wav and its values")
    joining = parser.add_mutually_exclusive_group()
    joining.add_argument("--half_silent_s", type=float, help="join the recordings, with pauses")
    joining.add_argument("--join_s", type=float, help="join the recordings, without pauses")
    parser.add_argument("--repeats", type=int, default=1, help="of each row, for its time")
    args, flags = parser.parse_known_args(arguments)
    for name, _ in args.vary:
        if any(flag.split("=")[0].lstrip("-") == name for flag in flags):
            parser.error(f"--{name} is set by --vary")
    if args.repeats < 1:
        parser.error(f"--repeats is {args.repeats}, expected at least 1")
    return run("evaluate", args, flags, evaluate)


if __name__ == "__main__":
    sys.exit(main())
