"""Data that is too large for the repository, in ../shared/data."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHARED = pathlib.Path(os.environ.get("RUNNEL_SHARED_DATA_DIR", ROOT.parent / "shared" / "data"))


def need_shared(name: str) -> pathlib.Path:
    """A folder of the shared data; skips without it, fails where it must be."""
    path = SHARED / name
    if not path.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{path} is missing")
        pytest.skip(f"{path} is missing")
    return path
