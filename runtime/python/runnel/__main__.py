"""The command line: the program runnel of this package, whose process this one becomes."""

import os
import sys
from typing import NoReturn

from runnel.converting import command, environment


def main() -> NoReturn:
    """Runs runnel with the arguments of this process. Signals reach it."""
    program, *arguments = command(sys.argv[1:])
    os.execve(program, [program, *arguments], environment())


if __name__ == "__main__":
    main()
