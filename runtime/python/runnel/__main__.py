"""The command line: the program runnel of this package, whose process this one becomes."""

import os
import sys
from typing import NoReturn

from runnel.converting import command, environment


def main() -> NoReturn:
    """Runs runnel with the arguments of this process. Signals reach it."""
    program, *arguments = command(sys.argv[1:])
    try:
        os.execve(program, [program, *arguments], environment())
    except OSError as error:
        sys.exit(f"runnel: {program}: cannot be run ({error.strerror}); "
                 "expected the program of this package")


if __name__ == "__main__":
    main()
