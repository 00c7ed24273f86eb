"""live_captions with a program in the place of arecord, and with audio in the place of both."""

import os
import signal
import subprocess

import pytest
import soundfile

from terminal import Terminal
from tool_runner import (DIGITS, FAILURE, SAMPLES, command, error_line, run, run_without_reader,
                         succeed)

MODEL = DIGITS / "digits.pt"
ARECORD = """#!/bin/sh
case "$*" in *'-t wav'*'-f S16_LE'*'-c 1'*'-r 16000'*) cat "$RECORDING"; exec $THEN;; esac
"""


def environment(path, **variables):
    """One in which programs are found in the folders of `path` alone."""
    return {**os.environ, "PATH": str(path), **variables}


def with_recorder(folder, then="true"):
    """An environment in which arecord gives a recording, and becomes the command `then`."""
    (folder / "a").mkdir()
    recorder = folder / "a" / "arecord"
    recorder.write_text(ARECORD, encoding="utf-8")
    recorder.chmod(0o755)
    samples, rate = soundfile.read(SAMPLES / "ked_year.flac", dtype="int16")
    soundfile.write(folder / "a.wav", samples, rate)
    header = bytearray((folder / "a.wav").read_bytes())
    header[4:8] = header[40:44] = b"\xff\xff\xff\x7f"  # as arecord, which does not know its end
    (folder / "a.wav").write_bytes(header)
    return environment(f"{folder / 'a'}:{os.environ['PATH']}", THEN=then,
                       RECORDING=str(folder / "a.wav"))


def test_microphone(tmp_path):
    terminal = Terminal()
    done = subprocess.run(command("live_captions", MODEL), stdout=subprocess.PIPE,
                          stderr=terminal.slave, check=False, text=True,
                          env=with_recorder(tmp_path))
    shown = terminal.close().decode()
    assert (done.returncode, done.stdout) == (0, "two zero two six\n"), shown
    # The text grows in one line of the terminal, which is cleared at the end.
    assert "\r\x1b[Ktwo zero" in shown and shown.endswith("\r\x1b[K")


def test_without_a_recorder(tmp_path):
    line = error_line(run("live_captions", MODEL, env=environment(tmp_path)), FAILURE)
    assert line == ("live_captions: there is no arecord and no parec, expected Debian's package "
                    "alsa-utils or pulseaudio-utils, or audio by --wav")


def test_a_recorder_that_fails(tmp_path):
    (tmp_path / "arecord").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (tmp_path / "arecord").chmod(0o755)
    line = error_line(run("live_captions", MODEL, env=environment(tmp_path)), FAILURE)
    assert line == "live_captions: the recorder ended with exit code 1 and without audio"


@pytest.mark.parametrize("then", ["cat /dev/zero", "sleep infinity"])
def test_a_failure_ends_the_recorder(tmp_path, then):
    done = run("live_captions", MODEL, "--channel=5", env=with_recorder(tmp_path, then))
    assert "channel" in error_line(done, FAILURE)


def test_nobody_reads_the_utterances(tmp_path):
    done = run_without_reader("live_captions", MODEL, env=with_recorder(tmp_path, "cat /dev/zero"))
    assert done.returncode == -signal.SIGPIPE, done.stderr


def test_utterances_of_a_recording():
    """Those of decode_wav, without ids."""
    recording = SAMPLES / "rms_telephone.wav"
    decoded = succeed("decode_wav", MODEL, recording, "--endpointing")
    assert succeed("live_captions", MODEL, recording) == "".join(
        line.partition(" ")[2] + "\n" for line in decoded.splitlines())
