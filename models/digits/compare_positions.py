"""Word error rate against the length of the test strings and the chunk size, by position scheme.

    for scheme in absolute chunk_rpe relative_key_value unshifted; do
      python3 -m models.digits.train --fsdd=DIR --work_dir=DIR --position=$scheme \
          --run=position_$scheme --steps=N
    done
    python3 -m models.digits.compare_positions --fsdd=DIR --work_dir=DIR

Decodes strings of 1 to 40 digits of the left-out speaker with decode_wav and the models of those
training runs, whose utterances have at most 12 words. Writes docs/position_schemes.csv and
the figure docs/position_schemes.svg.
"""

import argparse
import csv
import random
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Tuple

import soundfile

from models.digits.build_eval_set import join_recordings
from models.digits.recordings import LEFT_OUT_SPEAKER, recordings_of
from models.digits.score import read_text, score_texts
from models.digits.store import STORE_RATE

ROOT = Path(__file__).parents[2]
SCHEMES = ("absolute", "chunk_rpe", "relative_key_value", "unshifted")
LENGTHS = (1, 2, 5, 10, 20, 40)  # words
WORDS_PER_LENGTH = 400
SETTINGS = ((1, 64), (4, 64), (16, 64), (-1, -1))  # chunk_size, left_context, encoder frames
SEED = 40


def write_strings(fsdd: Path, folder: Path, length: int) -> Path:
    """Strings of `length` words with pauses of 0.1 to 0.3 s, as files under `folder`."""
    target = folder / str(length)
    target.mkdir(parents=True, exist_ok=True)
    rng = random.Random(SEED + length)
    recordings = recordings_of(fsdd, (LEFT_OUT_SPEAKER,))
    scp, text = [], []
    for index in range(WORDS_PER_LENGTH // length):
        chosen = [rng.choice(recordings) for _ in range(length)]
        pauses = [rng.uniform(0.1, 0.3) for _ in range(length + 1)]
        path = target / f"{length}-{index:03d}.wav"
        soundfile.write(str(path), join_recordings(fsdd, [one for one, _ in chosen], pauses),
                        STORE_RATE, subtype="PCM_16")
        scp.append(f"{path.stem} {path.resolve()}\n")
        text.append(f"{path.stem} {' '.join(word for _, word in chosen)}\n")
    (target / "wav.scp").write_text("".join(scp))
    (target / "text").write_text("".join(text))
    return target


def measure(decode_wav: Path, model: Path, strings: Path, chunk_size: int,
            left_context: int) -> float:
    """Word error rate in percent. Raises RuntimeError with decode_wav's message."""
    done = subprocess.run([str(decode_wav), f"--model={model}", f"--wav_scp={strings / 'wav.scp'}",
                           f"--chunk_size={chunk_size}", f"--left_context={left_context}",
                           f"--output={strings / 'hyp'}"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return score_texts(read_text(strings / "text"), read_text(strings / "hyp")).rate()


def draw(rates: Dict[Tuple[str, int, int], float], path: Path) -> None:
    """One panel per chunk size: rate against the number of words, a line per scheme."""
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    figure, panels = plt.subplots(1, len(SETTINGS), figsize=(13, 3.6), sharey=True)
    for panel, (chunk_size, _) in zip(panels, SETTINGS):
        for scheme in SCHEMES:
            panel.plot(LENGTHS, [rates[scheme, chunk_size, length] for length in LENGTHS],
                       marker="o", label=scheme)
        panel.set_title("whole utterance" if chunk_size < 0 else f"chunks of {chunk_size}")
        panel.set_xscale("log")
        panel.set_xticks(LENGTHS, [str(length) for length in LENGTHS])
        panel.set_xticks([], minor=True)
        panel.set_xlabel("words in the string")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("word error rate, %")
    panels[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fsdd", type=Path, required=True)
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--decode_wav", type=Path, default=ROOT / "build" / "bin" / "decode_wav")
    parser.add_argument("--output_dir", type=Path, default=ROOT / "docs")
    args = parser.parse_args()
    rates: Dict[Tuple[str, int, int], float] = {}
    rows: List[List[str]] = []
    try:
        for length in LENGTHS:
            strings = write_strings(args.fsdd, args.work_dir / "lengths", length)
            for scheme in SCHEMES:
                model = args.work_dir / "runs" / f"position_{scheme}" / "digits.pt"
                for chunk_size, left_context in SETTINGS:
                    rate = measure(args.decode_wav, model, strings, chunk_size, left_context)
                    rates[scheme, chunk_size, length] = rate
                    rows.append([scheme, str(chunk_size), str(left_context), str(length),
                                 f"{rate:.2f}"])
                    print(*rows[-1], flush=True)
        with (args.output_dir / "position_schemes.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["scheme", "chunk_size", "left_context", "words", "word_error_rate"])
            writer.writerows(rows)
        draw(rates, args.output_dir / "position_schemes.svg")
    except (RuntimeError, ValueError, OSError) as error:
        print(f"compare_positions: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
