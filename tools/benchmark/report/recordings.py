"""The recordings of a manifest, their references, and what decode_wav makes of them.

The manifest has the columns id, set and text; the recordings are wav/ID.* beside it. Texts are
compared in lower case without punctuation. Shared by the evaluate_*.py commands of this folder.
"""

import argparse
import csv
import re
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional

from tools.benchmark.pages.command import ROOT
from tools.benchmark.pages.programs import ProgramError, run_program

BIN = ROOT / "build" / "bin"


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


class Evaluation:
    """One run of an evaluate command: its options, the recordings, a temporary folder."""

    def __init__(self, args: argparse.Namespace, flags: List[str], folder: Path) -> None:
        """flags: further ones of decode_wav. Raises ValueError as read_manifest."""
        self.args, self.flags, self.folder = args, flags, folder
        self.recordings = read_manifest(args.manifest)
        self.references = {row.key: row.words for row in self.recordings}
        self._scp = folder / "wav.scp"
        self._scp.write_text("".join(f"{row.key} {row.path.resolve()}\n"
                                     for row in self.recordings), encoding="utf-8")

    def decode(self, flags: List[str]) -> Dict[str, List[str]]:
        """The recognised words of every recording. Raises ProgramError with decode_wav's message,
        ValueError when one is missing."""
        command = [str(self.args.decode_wav), f"--model={self.args.model}",
                   f"--wav_scp={self._scp}", *flags, *self.flags]
        texts = {}
        for line in run_program(command, timeout_s=None).splitlines():
            key, _, text = line.partition(" ")
            texts[key] = words_of(text)
        for key in self.references:
            if key not in texts:
                raise ValueError(f"decode_wav printed no text for {key}")
        return texts


def chunk_flags(chunk_size: int, left_context: int) -> List[str]:
    """Of decode_wav, both in encoder frames."""
    return [f"--chunk_size={chunk_size}", f"--left_context={left_context}"]


def make_parser(description: Optional[str]) -> argparse.ArgumentParser:
    """With the options that all commands have."""
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--decode_wav", type=Path, default=BIN / "decode_wav")
    return parser


def add_search_options(parser: argparse.ArgumentParser, beam_sizes: str) -> None:
    """For a command that varies a beam search with knowledge from --text."""
    parser.add_argument("--text", required=True, help="files, separated by commas")
    parser.add_argument("--beam_sizes", default=beam_sizes)
    parser.add_argument("--chunk_size", type=int, default=-1)
    parser.add_argument("--left_context", type=int, default=-1)


def run(name: str, args: argparse.Namespace, flags: List[str],
        evaluate: Callable[[Evaluation], None]) -> int:
    """Runs a command; 1, with one line on standard error, when something is wrong."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            evaluate(Evaluation(args, flags, Path(folder)))
    except (ProgramError, ValueError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0
