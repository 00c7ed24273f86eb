"""N-gram language models: ARPA text to the file that Runnel maps, by the program compile_lm.

Needs no PyTorch, unlike the importers of models.
"""

import argparse
import subprocess
import sys
from typing import List, Optional

from models.convert.errors import ConversionError
from models.convert.programs import COMMAND, find_program


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; returns the exit code of compile_lm, which reports result or error."""
    parser = argparse.ArgumentParser(
        prog=COMMAND, description="Compiles an n-gram language model from ARPA text.",
        allow_abbrev=False)
    parser.add_argument("family", choices=("arpa",))
    parser.add_argument("source", help="ARPA text")
    parser.add_argument("--output", required=True, help="compiled language model to write")
    parser.add_argument("--nemo_model", metavar="MODEL",
                        help="for ARPA text of NeMo's train_kenlm.py: the converted acoustic model")
    args = parser.parse_args(arguments)
    try:
        program = find_program("compile_lm")
    except ConversionError as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)
        return 1
    command = [program, f"--arpa={args.source}", f"--output={args.output}"]
    if args.nemo_model is not None:
        command.append(f"--nemo_model={args.nemo_model}")
    return subprocess.run(command, check=False).returncode
