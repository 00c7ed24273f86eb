"""docs/python.md and the examples run as they are."""

import contextlib
import io
import json
import os
import re
import signal
import socket
import struct
import subprocess

import numpy as np
import pytest
from installed_runnel import ENVIRONMENT, PYTHON, run_python
from recordings import samples_of
from tool_runner import DIGITS, ROOT, SAMPLES, succeed

import runnel

EXAMPLES = ROOT / "runtime" / "python" / "examples"
MODEL = DIGITS / "digits.pt"
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def blocks(language: str, page: str = PAGE) -> list[str]:
    """Contents of the fenced blocks of one language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)


def execute(sources: list[str]) -> str:
    """Runs sources one after another in one namespace, in the checkout; returns what they print."""
    output = io.StringIO()
    names: dict[str, object] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(output), contextlib.chdir(ROOT):
        for source in sources:
            exec(compile(source, "example", "exec"), names)  # pylint: disable=exec-used
    return output.getvalue()


def test_page():
    printed = execute(blocks("python")).splitlines()
    assert printed[0] == "two zero two six"
    assert "eight six three" in printed and "so far: two zero two" in printed
    assert "ked_year two zero two six" in printed
    assert "failed: no_such_file.wav" in printed and any(
        line.startswith("done: ") for line in printed)
    for way in "iteration", "coroutine":
        assert f"{way}: two zero two six" in printed


def test_readme():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert execute(blocks("python", page)) == "two zero two six\n"
    assert blocks("sh")[0] in blocks("sh", page)


def test_three_commands_of_the_page():
    packages, install, transcribe = blocks("sh")[0].splitlines()
    assert packages == "tools/install_packages.sh python"
    assert install.endswith("/bin/pip install .") and "--system-site-packages" in install
    program, *words = transcribe.split()
    assert program == "~/runnel-python/bin/runnel"
    done = run_python("-m", "runnel", *words, cwd=ROOT)
    assert done.stdout == blocks("text")[0]
    done = subprocess.run([ROOT / "tools" / "install_packages.sh", "nothing"], capture_output=True,
                          text=True, check=False)
    assert "python" in done.stderr


def test_page_shows_every_file_of_the_examples():
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == set(
        re.findall(r"^\| `(\w+\.\w+)` \|", PAGE.partition("## Examples")[2], flags=re.MULTILINE))


def test_notebook():
    notebook = json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))
    cells = notebook["cells"]
    assert notebook["nbformat"] == 4 and {cell["cell_type"] for cell in cells} == {
        "code", "markdown"}
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code")
    printed = execute(code)
    assert "final:  two zero two six" in printed and "t w o" in printed


def test_subtitles(tmp_path):
    recording = tmp_path / "talk.flac"
    recording.write_bytes((SAMPLES / "ked_year.flac").read_bytes())
    done = run_python(EXAMPLES / "subtitles.py", MODEL, recording)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "talk.srt").read_text(encoding="utf-8")
    number, times, caption = text.splitlines()
    assert (number, caption) == ("1", "two zero two six")
    found = json.loads(succeed("decode_wav", f"--model={MODEL}", f"--wav={recording}",
                               "--endpointing", "--format=json"))["segments"][0]
    begin, end = (sum(float(part) * unit for part, unit in zip(
        time.replace(",", ".").split(":"), (3.6e6, 6e4, 1e3))) for time in times.split(" --> "))
    assert abs(begin - found["start_ms"]) <= 0.5 and abs(end - found["end_ms"]) <= 0.5


# Stands for the package sounddevice: plays a recording, then Ctrl-C.
SOUNDDEVICE = """
import numpy
class InputStream:
    def __init__(self, samplerate, channels, dtype):
        assert (samplerate, channels, dtype) == (16000, 1, "int16")
        self.left = numpy.fromfile("pcm", "<i2").reshape(-1, 1)
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
    def read(self, count):
        if not len(self.left):
            raise KeyboardInterrupt
        packet, self.left = self.left[:count], self.left[count:]
        return packet, False
"""
ARECORD = """#!/bin/sh
case "$*" in *'-f S16_LE'*'-r 16000'*) cat pcm;; esac
"""


@pytest.mark.parametrize("sounddevice", [SOUNDDEVICE, "raise ImportError\n"])
def test_microphone(tmp_path, sounddevice):
    """With a module in the place of sounddevice, or a program in the place of arecord."""
    (tmp_path / "pcm").write_bytes((samples_of("ked_year") * 32768).astype("<i2").tobytes())
    (tmp_path / "arecord").write_text(ARECORD)
    (tmp_path / "arecord").chmod(0o755)
    (tmp_path / "sounddevice.py").write_text(sounddevice)
    done = run_python(EXAMPLES / "microphone.py", MODEL, cwd=tmp_path,
                      env={**ENVIRONMENT, "PATH": f"{tmp_path}:{os.environ['PATH']}",
                           "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("two zero two six\n") and "\x1b[Ktwo zero" in done.stdout


def test_microphone_without_a_recorder(tmp_path):
    (tmp_path / "sounddevice.py").write_text("raise ImportError\n")
    done = run_python(EXAMPLES / "microphone.py", MODEL,
                      env={**ENVIRONMENT, "PATH": "/nowhere", "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1 and "alsa-utils" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def ask(port: int, samples: np.ndarray) -> list[dict]:
    """Sends samples to the example server; returns its answers."""
    with socket.create_connection(("localhost", port)) as client:
        client.sendall((samples * 32768).astype("<i2").tobytes())
        client.shutdown(socket.SHUT_WR)
        with client.makefile() as lines:
            return list(map(json.loads, lines))


def test_server():
    with subprocess.Popen([PYTHON, EXAMPLES / "server.py", MODEL, "0"], env=ENVIRONMENT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        port = int(server.stdout.readline().split()[-1])
        for name in "ked_year", "f4_stereo":
            answers = ask(port, samples_of(name))
            assert [answer["text"] for answer in answers if answer["is_final"]] == [
                str(utterance) for utterance in runnel.load(MODEL).transcribe(
                    samples_of(name), endpointing=True).utterances]
            with socket.create_connection(("localhost", port)) as rude:
                rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                rude.sendall(bytes(100000))  # closing resets the connection
        server.send_signal(signal.SIGINT)
        assert server.wait() == 0 and server.stderr.read() == ""


def test_examples_say_how_to_call_them():
    for script in EXAMPLES.glob("*.py"):
        done = run_python(script)
        assert done.returncode == 1 and done.stderr.startswith(f"usage: {script.name} MODEL")
