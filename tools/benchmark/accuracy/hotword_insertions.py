"""How many words hotwords insert and change where they were not said. A table in Markdown.

    python3 -m tools.benchmark.accuracy.hotword_insertions --digits=DIR [--scores=0.75,2,3.75]
        [--programs=build/bin] [decode_wav's flags ...]

DIR is the Free Spoken Digit Dataset: `text`, and `recordings` of single digits. They are joined to
60 strings of three to six digits of one speaker, with pauses of 50 to 200 ms. A third of the
strings says its first digit three times. Each cell lists inserted words, other errors (words of the
references that are not right), for the lists of hotwords six, nine and two, and all ten digits.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import wave
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from tools.benchmark.accuracy.hotwords import misreading
from tools.benchmark.pages.markdown import table

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
LISTS = {"six": ["six"], "nine, two": ["nine", "two"], "all ten": WORDS}
NUM_STRINGS, SEED = 60, 37


def _samples(path: Path) -> bytes:
    with wave.open(str(path)) as file:
        assert file.getparams()[:3] == (1, 2, 8000), path
        return file.readframes(file.getnframes())


def write_strings(digits: Path, folder: Path) -> Dict[str, List[str]]:
    """Writes the strings and their list, wav.scp; returns the words of each."""
    recordings: Dict[tuple, List[str]] = {}
    for line in (digits / "text").read_text(encoding="utf-8").splitlines():
        name, word = line.split()
        recordings.setdefault((name.split("_")[1], word), []).append(name)
    speakers = sorted({speaker for speaker, _ in recordings})
    generator = random.Random(SEED)
    references = {}
    for i in range(NUM_STRINGS):
        speaker = generator.choice(speakers)
        words = [generator.choice(WORDS) for _ in range(generator.randint(3, 6))]
        if i % 3 == 0:
            words[1:3] = [words[0]] * 2
        pause = bytes(2 * int(8000 * generator.choice([0.05, 0.1, 0.2])))
        names = [generator.choice(recordings[speaker, word]) for word in words]
        said = [_samples(digits / "recordings" / f"{name}.wav") for name in names]
        with wave.open(str(folder / f"{i}.wav"), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(bytes(3200) + pause.join(said) + bytes(6400))
        references[str(i)] = words
    (folder / "wav.scp").write_text("".join(f"{i} {folder}/{i}.wav\n" for i in references))
    return references


def cell(command: Sequence[str], references: Dict[str, List[str]]) -> str:
    """Insertions and other errors of a command."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [misreading(references[name], words)
             for name, *words in map(str.split, done.stdout.splitlines())]
    return (f"{sum(reading.insertions for reading in found)}, "
            f"{sum(len(reading.positions) for reading in found)}")


def main(arguments: Optional[List[str]] = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--digits", type=Path, required=True)
    parser.add_argument("--scores", default="0.75,1.5,2,3,3.75,5")
    parser.add_argument("--model", default="models/digits/digits_transducer.pt")
    parser.add_argument("--programs", type=Path, default=Path("build/bin"))
    args, flags = parser.parse_known_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        references = write_strings(args.digits, folder)
        command = [str(args.programs / "decode_wav"), f"--model={args.model}",
                   f"--wav_scp={folder}/wav.scp", *flags]
        rows = [["no hotwords", *[cell([*command, "--search=beam"], references)] * len(LISTS)]]
        for score in args.scores.split(","):
            row = [score]
            for words in LISTS.values():
                (folder / "words").write_text("".join(f"{word} :{score}\n" for word in words))
                row.append(cell([*command, f"--hotwords={folder}/words"], references))
            rows.append(row)
    words = sum(map(len, references.values()))
    print(table([f"score ({words} words)", *LISTS], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
