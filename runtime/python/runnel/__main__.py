"""The command line: python -m runnel transcribe|serve|verify|convert."""

import argparse
import os
import sys
import warnings
from typing import Any, Dict, List, NoReturn, Optional, Union

from runnel import converting
from runnel.errors import DataError
from runnel.model import load

_DESCRIPTION = """Streaming speech recognition.

transcribe  writes the text of recordings
serve       runs the server: the flags of stream_server
verify      compares chunked with full-utterance output of a model: the flags of verify_streaming
convert     makes a model file from a model of another toolkit: the flags of models/convert.py"""
_PROGRAMS = {"serve": "stream_server", "verify": "verify_streaming"}
# Where a package has a program that some builds lack.
_EXPECTED = {
    "serve": "a build with the packages of tools/install_packages.sh python, or Debian's package "
             "runnel-server",
    "verify": "a build with the packages of tools/install_packages.sh reference, or Debian's "
              "package runnel-reference"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m runnel", description=_DESCRIPTION,
                                     allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    transcribe = commands.add_parser("transcribe", allow_abbrev=False,
                                     help="write the text of recordings")
    transcribe.add_argument("model", help="model file")
    transcribe.add_argument("audio", nargs="+", help="audio files")
    transcribe.add_argument("--precision", default="default")
    transcribe.add_argument("--threads", type=int, default=1)
    options = transcribe.add_argument_group("options of streams (runnel.StreamOptions)")
    for name in ("chunk_size", "left_context", "beam_size"):
        options.add_argument(f"--{name}", type=int)
    for name in ("search", "head", "language", "hotwords", "language_model"):
        options.add_argument(f"--{name}")
    for name in ("endpointing", "rescoring"):
        options.add_argument(f"--{name}", action="store_true", default=None)
    for name in (*_PROGRAMS, "convert"):  # for the help only: main passes their flags on
        commands.add_parser(name, add_help=False, help="see above")
    return parser


def _transcribe(arguments: argparse.Namespace) -> int:
    def show(message: Union[Warning, str], *_: Any, **__: Any) -> None:
        _report(message)

    warnings.simplefilter("always")
    warnings.showwarning = show
    options = vars(arguments)
    del options["command"]
    audio: List[str] = options.pop("audio")
    model = load(options.pop("model"), precision=options.pop("precision"),
                 threads=options.pop("threads"))
    num_failed = 0
    for path, result in model.transcribe_each(audio, **options):
        if isinstance(result, Exception):
            num_failed += 1
            _report(result)
        else:
            print(path, result, flush=True)
    return 1 if num_failed else 0


def _report(error: Union[Exception, Warning, str]) -> None:
    print(f"runnel: {error}", file=sys.stderr)


def _become(name: str, command: List[str], environment: Dict[str, str]) -> NoReturn:
    """Replaces this process, so that signals reach the program, which calls itself by `name`."""
    sys.stdout.flush()
    os.execve(command[0], command, {**environment, "RUNNEL_COMMAND": f"python -m runnel {name}"})


def _start(name: str, arguments: List[str]) -> NoReturn:
    """Becomes the program behind a command."""
    if name == "convert":
        _become(name, converting.command(arguments), converting.environment())
    program = converting.PROGRAMS / _PROGRAMS[name]
    if not program.is_file():
        raise DataError(f"this package has no {program.name}; expected {_EXPECTED[name]}")
    _become(name, [str(program), *arguments], dict(os.environ))


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs a command; returns 0, or 1 with a line on stderr for each failure."""
    if arguments is None:
        arguments = sys.argv[1:]
    try:
        if arguments and (arguments[0] in _PROGRAMS or arguments[0] == "convert"):
            _start(arguments[0], arguments[1:])
        return _transcribe(_parser().parse_args(arguments))
    except (DataError, OSError, TypeError, ValueError, ModuleNotFoundError) as error:
        _report(error)
        return 1


if __name__ == "__main__":
    sys.exit(main())
