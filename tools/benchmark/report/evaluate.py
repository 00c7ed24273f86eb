"""Word error rates of decode_wav on the recordings of a manifest, for each set and for all.

    python3 -m tools.benchmark.report.evaluate --model=M.pt --manifest=DIR/manifest.tsv
        [--chunk_sizes=-1,16,32] [--left_contexts=-1,64] [decode_wav's flags ...]

The manifest has the columns id, set and text; the recordings are DIR/wav/ID.* beside it. Texts are
compared in lower case without punctuation. A chunk size of -1 (the whole utterance) is decoded
once, with unlimited left context. Unknown flags go to decode_wav: --dynamic_chunk_convolution
--running_normalization, for example, stream a model that was trained offline.
"""

import argparse
import csv
import re
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from models.digits.score import Errors, align
from tools.benchmark.pages.command import ROOT
from tools.benchmark.pages.programs import ProgramError, run_program


def words_of(text: str) -> List[str]:
    """Lower-case words without punctuation; apostrophes inside words stay."""
    text = text.lower().replace("\u2019", "'")
    return re.sub(r"[^a-z' ]+", " ", text.replace("-", " ")).split()


def read_manifest(path: Path) -> List[Tuple[str, str, List[str], Path]]:
    """(id, set, words, recording) of every row. Raises ValueError."""
    rows = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            missing = [name for name in ("id", "set", "text") if row.get(name) is None]
            if missing:
                raise ValueError(f"{path}: a row has no {missing[0]}")
            found = sorted((path.parent / "wav").glob(f"{row['id']}.*"))
            if len(found) != 1:
                raise ValueError(f"{path}: {row['id']} has {len(found)} recordings, expected one")
            rows.append((row["id"], row["set"], words_of(row["text"]), found[0]))
    return rows


def decode(args: argparse.Namespace, flags: List[str], scp: Path, chunk_size: int,
           left_context: int) -> Dict[str, List[str]]:
    """The recognised words by id. Raises ProgramError with decode_wav's message."""
    command = [str(args.decode_wav), f"--model={args.model}", f"--wav_scp={scp}",
               f"--chunk_size={chunk_size}", f"--left_context={left_context}", *flags]
    texts = {}
    for line in run_program(command, timeout_s=None).splitlines():
        key, _, text = line.partition(" ")
        texts[key] = words_of(text)
    return texts


def score(rows: List[Tuple[str, str, List[str], Path]], found: Dict[str, List[str]]) -> str:
    """Rates of each set, then of all. Raises ValueError for a recording that was not decoded."""
    sets: Dict[str, Errors] = {}
    everything = Errors()
    for key, name, words, _ in rows:
        if key not in found:
            raise ValueError(f"decode_wav printed no text for {key}")
        errors = align(words, found[key])
        sets.setdefault(name, Errors()).add(errors)
        everything.add(errors)
    parts = [f"{name} {errors.total()}/{errors.words}" for name, errors in sorted(sets.items())]
    return (f"{', '.join(parts)}; all {everything.total()}/{everything.words} = "
            f"{everything.rate():.2f} %")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--decode_wav", type=Path, default=ROOT / "build" / "bin" / "decode_wav")
    parser.add_argument("--chunk_sizes", default="-1", help="encoder frames, separated by commas")
    parser.add_argument("--left_contexts", default="-1", help="encoder frames, separated by commas")
    args, flags = parser.parse_known_args(arguments)
    for name in ("chunk_size", "left_context"):
        if any(flag.split("=")[0] in (f"-{name}", f"--{name}") for flag in flags):
            parser.error(f"--{name} is set by --{name}s")
    try:
        rows = read_manifest(args.manifest)
        with tempfile.TemporaryDirectory() as folder:
            scp = Path(folder) / "wav.scp"
            scp.write_text("".join(f"{row[0]} {row[3].resolve()}\n" for row in rows),
                           encoding="utf-8")
            for chunk_size in map(int, args.chunk_sizes.split(",")):
                for left_context in map(int, args.left_contexts.split(",")):
                    if chunk_size == -1:
                        left_context = -1
                    found = decode(args, flags, scp, chunk_size, left_context)
                    print(f"C={chunk_size:<3} M={left_context:<3} {score(rows, found)}", flush=True)
                    if chunk_size == -1:
                        break
    except (ProgramError, ValueError, OSError) as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
