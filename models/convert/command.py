"""The command line of the importers."""

import argparse
import pathlib
import stat
import sys
import zipfile
from typing import List, Optional

from models.convert import espnet, nemo, wenet
from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.export import write_archive
from models.convert.resolved import (Resolved, choose_dynamic_chunk, choose_running_normalization)

_DESCRIPTION = """Converts a trained model to a Runnel model archive.

wenet   an experiment folder: final.pt, train.yaml, units.txt, global_cmvn
nemo    a .nemo file, or a folder with state_dict.pt and tokens.txt
espnet  an experiment folder: config.yaml, one *.pth, feats_stats.npz"""


def parse_arguments(arguments: Optional[List[str]]) -> argparse.Namespace:
    """The command line; exits with 2 when it is wrong."""
    parser = argparse.ArgumentParser(prog="convert.py", description=_DESCRIPTION,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=("wenet", "nemo", "espnet"))
    parser.add_argument("source", type=pathlib.Path, help="what to convert")
    parser.add_argument("--output", required=True, help="the archive to write")
    parser.add_argument("--name", help="name in the archive (default: that of the source)")
    parser.add_argument("--checkpoint", help="file of the weights inside an experiment folder")
    parser.add_argument("--layer_norm_eps", type=float,
                        help="epsilon of the layer norms, where the source does not tell")
    parser.add_argument("--shaw_left", type=int, choices=(8, 64),
                        help="how far back WeNet's shaw_rel_selfattn tells frames apart")
    parser.add_argument("--convolution", choices=("dynamic_chunk",),
                        help="let a symmetric convolution end with the chunk, to stream")
    parser.add_argument("--normalization", choices=("running",),
                        help="normalise by the frames so far instead of the whole utterance")
    return parser.parse_args(arguments)


def _is_archive(path: pathlib.Path) -> bool:
    """Whether a file is what an earlier conversion wrote."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/extra/runnel.json") for name in archive.namelist())


def check_output(source: pathlib.Path, output: str) -> None:
    """Before anything is computed: the output is no part of the source, and can become a file.

    Raises:
        ConversionError: says what the output is and what was expected.
    """
    path = pathlib.Path(output)
    target = path.resolve()
    within = target == source.resolve() or target.parent == source.resolve()
    if within and path.is_file() and not _is_archive(path):
        raise ConversionError(f"--output is {output}, which belongs to the source, expected a new "
                              "file")
    if path.exists() and not path.is_file():
        raise ConversionError(f"--output is {output}, which is not a file, expected one to write")
    if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
        raise ConversionError(f"--output is {output}, which is write-protected")
    if not target.parent.is_dir():
        raise ConversionError(f"{output}: there is no folder {path.parent}")


def resolve(args: argparse.Namespace) -> Resolved:
    """The model of the family's importer, with the explicit choices made."""
    if not args.source.exists():
        raise ConversionError(f"{args.source}: no such file or folder")
    name = args.name or args.source.resolve().stem
    importer = {"wenet": wenet, "nemo": nemo, "espnet": espnet}[args.family]
    resolved: Resolved = importer.read_model(
        args.source, name, Choices(args.checkpoint, args.layer_norm_eps, args.shaw_left))
    if args.convolution:
        choose_dynamic_chunk(resolved)
    if args.normalization:
        choose_running_normalization(resolved)
    return resolved


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; 0 when the archive is written, 1 with one line on stderr when not."""
    args = parse_arguments(arguments)
    try:
        check_output(args.source, args.output)
        resolved = resolve(args)
        write_archive(resolved, args.output)
    except ConversionError as error:
        print(f"convert.py: {error}", file=sys.stderr)
        return 1
    for line in resolved.lines():
        print(line)
    print(f"{args.output}: written; check it with: verify_streaming --model={args.output}")
    return 0
