"""Makes a wheel that runs on other systems: portable_wheel.py FOLDER.

It holds the shared libraries that it needs (bundled_libraries.py), and is linked for an older
libstdc++ than that of this machine (the preset `wheel`). It has no media_decoder and no
stream_server, whose libraries take more than the rest, no clients of the server, and no
verify_streaming. Needs the packages
of tools/install_packages.sh wheel.
"""

import pathlib
import platform
import sys
import tempfile

from bundled_libraries import libraries_of, licences, with_libraries
from elf_file import is_elf
from runnel_build import all_files, build, write
from wheel_check import PLATFORM, check


def main() -> int:
    """Writes the wheel and prints its path; returns 1 when it would not run everywhere."""
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    files = all_files(build(None, "wheel"))
    libraries = libraries_of(path for path in files.values() if is_elf(path.read_bytes()))
    with tempfile.TemporaryDirectory() as copies:
        name = write(folder, with_libraries(files, pathlib.Path(copies)),
                     f"{PLATFORM}_{platform.machine()}", licences(libraries.values()))
    problems, _ = check(folder / name)
    for problem in problems:
        print(f"portable_wheel: {problem}", file=sys.stderr)
    print(folder / name)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
