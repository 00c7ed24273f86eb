"""What the tests of the Python package share."""

import signal

import re
import zipfile

import installed_runnel  # noqa: F401  before the tests import runnel
import pytest
from tool_runner import DIGITS

import runnel

# A shell's background jobs start with SIGINT ignored, as do their programs. Some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", name="model")
def fixture_model() -> runnel.Model:
    """The digit model."""
    return runnel.load(DIGITS / "digits.pt", threads=2)


@pytest.fixture(name="recognizer")
def fixture_recognizer(model):
    """Two workers with the digit model."""
    with runnel.Recognizer(model, num_threads=2, max_batch_wait_ms=1) as recognizer:
        yield recognizer


@pytest.fixture(scope="session", name="greek")
def fixture_greek(tmp_path_factory) -> runnel.Model:
    """The digit model with Greek letters, of two bytes each."""
    path = tmp_path_factory.mktemp("greek") / "greek.pt"
    with zipfile.ZipFile(DIGITS / "digits.pt") as model, zipfile.ZipFile(path, "w") as copy:
        for entry in model.infolist():
            content = model.read(entry)
            if entry.filename.endswith("/units.txt"):
                lines = content.decode().splitlines()
                content = "".join(re.sub("^[a-z]", lambda letter: chr(ord(letter[0]) + 0x350), line)
                                  + "\n" for line in lines).encode()
            copy.writestr(entry.filename, content)
    return runnel.load(path)
