"""The Python package as a user has it: built by pip without a network, in a virtual environment.

Importing this module installs it, once per process, and makes this process import `runnel` from
there.
"""

import os
import pathlib
import subprocess
import sys
from typing import Any

from tool_runner import BIN, ROOT, temporary_folder

BUILD = BIN.parent
# Without the checkout, and without an index of packages.
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
               "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _install() -> pathlib.Path:
    folder = temporary_folder("runnel-venv-")
    for command in (
            [sys.executable, "-m", "venv", "--system-site-packages", folder],
            [folder / "bin" / "pip", "install", "--quiet", f"--config-settings=build-dir={BUILD}",
             ROOT]):
        subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True)
    return folder


VENV = _install()
PYTHON = VENV / "bin" / "python"
PACKAGE = next(VENV.glob("lib/python*/site-packages")) / "runnel"
sys.path.insert(0, str(PACKAGE.parent))


def run_python(*arguments: Any, **options: Any) -> subprocess.CompletedProcess:
    """Runs the virtual environment's Python to its end, outside the tree if no cwd is given."""
    options.setdefault("cwd", VENV)
    options.setdefault("env", ENVIRONMENT)
    return subprocess.run([str(PYTHON), *map(str, arguments)], capture_output=True, text=True,
                          encoding="utf-8", check=False, **options)
