"""Runs the blocks of code of a page in docs/ as they are, but for the ports."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Iterable, List, Mapping, NamedTuple

import pytest

from real_clients import npm_folder
from tool_runner import BIN, ROOT
from websocket_client import PATIENCE_S


class Block(NamedTuple):
    """A block of code, and the heading above it."""

    heading: str
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.heading} ({self.language})"


def blocks_of(page: str) -> List[Block]:
    found, heading = [], ""
    for title, language, code in re.findall(r"^#+ (.*)$|^```(.*)\n((?:.*\n)*?)^```$", page,
                                            flags=re.MULTILINE):
        if title:
            heading = title
        else:
            found.append(Block(heading, language, code))
    return found


def command_of(block: Block, code: str, folder: pathlib.Path) -> List[str]:
    """How to run a block; fails for a language that nobody runs."""
    if block.language == "sh":
        return ["bash", "-e", "-c", code]
    if block.language == "python":
        return [python_for(code), "-c", code]
    assert block.language == "js", f"{block} has a language that no test runs"
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(npm_folder() / "node_modules")
    (folder / "program.mjs").write_text(code, encoding="utf-8")
    return ["node", "program.mjs"]


def python_for(code: str) -> str:
    """The Python that has what the program imports."""
    if "import runnel\n" not in code:
        return sys.executable
    if not (BIN.parent / "python_package.txt").exists():
        pytest.skip("this build has no Python package")
    import installed_runnel  # pylint: disable=import-outside-toplevel
    return str(installed_runnel.PYTHON)


def printed_by(command: List[str], folder: pathlib.Path) -> str:
    """What a program prints, which must succeed. `python3` is the Python of the tests."""
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, text=True,
                          capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_checkout(folder: pathlib.Path, preparations: Iterable[Block]) -> None:
    """Makes the folder look like a checkout, and runs in it what a page does once before its
    programs."""
    (folder / "models").symlink_to(ROOT / "models")
    (folder / "build").mkdir()
    (folder / "build" / "bin").symlink_to(BIN)
    (folder / "tools").symlink_to(ROOT / "tools")
    for block in preparations:
        assert printed_by(command_of(block, block.code, folder), folder) == ""
    assert (folder / "recording.wav").is_file()


def run_block(block: Block, addresses: Mapping[str, str], folder: pathlib.Path) -> str:
    """What the program prints, with real addresses in place of those of the page."""
    code = block.code
    for address, real in addresses.items():
        code = code.replace(address, real)
    assert code != block.code or "import runnel\n" in code, "no address of a server"
    return printed_by(command_of(block, code, folder), folder)


def start_server(block: Block, folder: pathlib.Path) -> None:
    """Checks that the command starts a server, here on free ports and for this machine alone."""
    code = re.sub(r"port=\d+", "port=0", block.code).replace("0.0.0.0", "127.0.0.1")
    with subprocess.Popen(shlex.split(code), cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        lines = [process.stdout.readline() for _ in re.findall("port=", code)]
        process.kill()
    assert all(line.startswith("stream_server: listening on ") for line in lines), lines
