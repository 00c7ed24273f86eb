"""The command line of the importers."""

import argparse
import ctypes
import pathlib
import stat
import subprocess
import sys
import tempfile
import zipfile
from typing import List, Optional

from models.convert import espnet, icefall, nemo, wenet
from models.convert.choices import HEADS, Choices
from models.convert.errors import ConversionError
from models.convert.export import write_archive
from models.convert.programs import COMMAND, decode_command, find_program
from models.convert.resolved import (Resolved, choose_dynamic_chunk, choose_running_normalization,
                                     recommend_chunks)

_DESCRIPTION = f"""Converts a trained model to a Runnel model file.

wenet    an experiment folder: final.pt, train.yaml, units.txt, global_cmvn
nemo     a .nemo file, or a folder with state_dict.pt and tokens.txt
espnet   an experiment folder: config.yaml, one *.pth, feats_stats.npz
icefall  a folder: pretrained.pt, tokens.txt, of a model with one of icefall's Conformers; with
         config.yaml, too: of a model with WeNet's Conformer layers

{COMMAND} arpa LM.arpa --output=LM.bin compiles a language model instead."""
STORES = ("float32", "bfloat16", "int8", "int4")
_IMPORTERS = {"wenet": wenet, "nemo": nemo, "espnet": espnet, "icefall": icefall}


def parse_arguments(arguments: Optional[List[str]]) -> argparse.Namespace:
    """Parses the command line; exits with status 2 if it is wrong."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=_DESCRIPTION, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=tuple(_IMPORTERS))
    parser.add_argument("source", type=pathlib.Path, help="file or folder to convert")
    parser.add_argument("--output", required=True, help="model file to write")
    parser.add_argument("--name", help="name in the model file (default: that of the source)")
    parser.add_argument("--checkpoint", help="file of the weights inside an experiment folder")
    parser.add_argument("--layer_norm_eps", type=float,
                        help="epsilon of the layer norms, if the source does not state it")
    parser.add_argument("--shaw_left", type=int, choices=(8, 64),
                        help="largest distance to the left in WeNet's shaw_rel_selfattn")
    parser.add_argument("--causal", action="store_true", default=None,
                        help="the convolutions of an icefall model are causal "
                             "(--causal-convolution of its training)")
    parser.add_argument("--num_mel_bins", type=int,
                        help="filters of an icefall model's features, if not 80")
    parser.add_argument("--feature_scale", type=float,
                        help="what an icefall model multiplies its features by, if its recipe's "
                             "use_feat_batchnorm is a number")
    parser.add_argument("--head", choices=HEADS,
                        help="of a model with a CTC and a transducer head, the one to keep "
                             "(default: all)")
    parser.add_argument("--convolution", choices=("dynamic_chunk",),
                        help="end a symmetric convolution at the chunk, to permit streaming")
    parser.add_argument("--normalization", choices=("running",),
                        help="normalise by the frames so far instead of the whole utterance")
    parser.add_argument("--store", choices=STORES,
                        help="write packed weights in this precision (by pack_model), which load "
                             "at once and take less memory; plain weights if not given")
    parser.add_argument("--verbose", action="store_true",
                        help="print every field of the model file, and why it was assumed")
    return parser.parse_args(arguments)


def _is_archive(path: pathlib.Path) -> bool:
    """Whether a file was written by an earlier conversion."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/extra/runnel.json") for name in archive.namelist())


def check_output(source: pathlib.Path, output: str) -> None:
    """Checks, before anything is computed, that the output can be written and is not the source.

    Raises:
        ConversionError: names the output and the expected kind of file.
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
    """The model from the importer of the family, with the user's choices applied."""
    if not args.source.exists():
        raise ConversionError(f"{args.source}: no such file or folder")
    name = args.name or args.source.resolve().stem
    choices = Choices(vars(args))
    resolved: Resolved = _IMPORTERS[args.family].read_model(args.source, name, choices)
    for unread in choices.unread():
        raise ConversionError(f"{args.source}: --{unread} is given ({getattr(args, unread)}), but "
                              f"nothing of this {args.family} model depends on it; expected no "
                              f"--{unread}")
    if args.convolution:
        choose_dynamic_chunk(resolved)
    if args.normalization:
        choose_running_normalization(resolved)
    if args.convolution or args.normalization:
        recommend_chunks(resolved)
    return resolved


def write_packed(resolved: Resolved, program: str, store: str, output: str) -> None:
    """Writes a model file with packed weights, by way of one with plain weights.

    Args:
        resolved: its weights are released. program: the path of pack_model.

    Raises:
        ConversionError: pack_model failed, which it has reported.
    """
    with tempfile.TemporaryDirectory(dir=pathlib.Path(output).resolve().parent) as folder:
        plain = pathlib.Path(folder) / "model.pt"
        write_archive(resolved, str(plain))
        resolved.weights.tensors.clear()  # pack_model needs memory of its own
        done = subprocess.run([program, f"--model={plain}", f"--precision={store}",
                               f"--output={output}"], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise ConversionError(done.stderr.strip().removeprefix("pack_model: "))


def _return_freed_memory() -> None:
    """Makes glibc give large blocks memory of their own, which goes back when they are freed."""
    threshold, megabyte = -3, 1 << 20  # M_MMAP_THRESHOLD of <malloc.h>
    ctypes.CDLL(None).mallopt(threshold, megabyte)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; returns 0, or 1 with one line on stderr."""
    args = parse_arguments(arguments)
    _return_freed_memory()
    try:
        check_output(args.source, args.output)
        program = find_program("pack_model") if args.store else ""
        resolved = resolve(args)
        lines = list(resolved.lines())  # before its weights are released
        if args.store:
            write_packed(resolved, program, args.store, args.output)
        else:
            write_archive(resolved, args.output)
    except ConversionError as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)
        return 1
    if args.verbose:
        for line in resolved.fields():
            print(line)
    for line in lines:
        print(line)
    megabytes = pathlib.Path(args.output).stat().st_size / 1e6
    print(f"{args.output}: written, {megabytes:.1f} MB" +
          (f", with weights packed as {args.store}" if args.store else ""))
    print(f"decode with: {decode_command(args.output)}")
    return 0
