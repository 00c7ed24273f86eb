"""Measures the word error rate of decode_wav in streaming mode on the evaluation sets.

    python3 -m models.digits.evaluate --fsdd=DIR --work_dir=DIR [--decode_wav=build/bin/decode_wav]
        [--lists LIST ...] [--search=beam] [--word_list=models/digits/words.txt] ...

Renders the sets if they do not exist or their list has changed, prints one line per set and
setting, and writes the hypotheses beside the references in DIR/eval. Other flags are passed to
decode_wav.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from models.digits.build_eval_set import FRESH_LISTS, LEFT_OUT_LIST, UNSEEN_LIST, ensure_set
from models.digits.score import read_text, score_texts

ROOT = Path(__file__).parents[2]
LISTS = (LEFT_OUT_LIST, UNSEEN_LIST, *FRESH_LISTS)
# chunk_size, left_context in encoder frames; -1 is the whole utterance, unlimited left context.
SETTINGS = ((16, 64), (4, 64), (1, 64), (-1, -1))


def decode(args: argparse.Namespace, folder: Path, chunk_size: int, left_context: int) -> Path:
    """Runs decode_wav over one set; returns the file of hypotheses. Raises RuntimeError."""
    output = folder / f"hyp_c{chunk_size}_m{left_context}"
    command = [str(args.decode_wav), f"--model={args.model}", f"--wav_scp={folder / 'wav.scp'}",
               f"--chunk_size={chunk_size}", f"--left_context={left_context}"]
    command += args.decode_wav_flags
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed with {done.returncode}: "
                           f"{done.stderr.strip()}")
    output.write_text(done.stdout)
    return output


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fsdd", type=Path, required=True)
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--decode_wav", type=Path, default=ROOT / "build" / "bin" / "decode_wav")
    parser.add_argument("--model", type=Path, default=Path(__file__).parent / "digits.pt")
    parser.add_argument("--lists", nargs="+", choices=LISTS, default=LISTS, metavar="LIST",
                        help="names of lists; those of unseen voices need the synthesisers")
    args, args.decode_wav_flags = parser.parse_known_args()
    folder = (args.work_dir / "eval").resolve()
    try:
        for name in args.lists:
            ensure_set(name, args.fsdd, folder)
            reference = read_text(folder / name / "text")
            for chunk_size, left_context in SETTINGS:
                hypotheses = decode(args, folder / name, chunk_size, left_context)
                errors = score_texts(reference, read_text(hypotheses))
                print(f"{name:<22} C={chunk_size:<3} M={left_context:<3} {errors}", flush=True)
    except (RuntimeError, ValueError, OSError) as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
