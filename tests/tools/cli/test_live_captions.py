"""live_captions with a program in the place of arecord, and with audio in the place of both."""

import os
import subprocess

import soundfile

from terminal import Terminal
from tool_runner import DIGITS, FAILURE, SAMPLES, command, error_line, run, succeed

MODEL = DIGITS / "digits.pt"
ARECORD = """#!/bin/sh
case "$*" in *'-t wav'*'-f S16_LE'*'-c 1'*'-r 16000'*) exec cat "$RECORDING";; esac
"""


def environment(folder, **variables):
    """One in which programs are found in `folder` alone."""
    return {**os.environ, "PATH": str(folder), **variables}


def test_microphone(tmp_path):
    (tmp_path / "a").mkdir()
    recorder = tmp_path / "a" / "arecord"
    recorder.write_text(ARECORD, encoding="utf-8")
    recorder.chmod(0o755)
    samples, rate = soundfile.read(SAMPLES / "ked_year.flac", dtype="int16")
    soundfile.write(tmp_path / "a.wav", samples, rate)
    terminal = Terminal()
    done = subprocess.run(command("live_captions", MODEL), stdout=subprocess.PIPE,
                          stderr=terminal.slave, check=False, text=True,
                          env={**os.environ, "RECORDING": str(tmp_path / "a.wav"),
                               "PATH": f"{tmp_path / 'a'}:{os.environ['PATH']}"})
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


def test_utterances_of_a_recording():
    """Those of decode_wav, without ids."""
    recording = SAMPLES / "rms_telephone.wav"
    decoded = succeed("decode_wav", MODEL, recording, "--endpointing")
    assert succeed("live_captions", MODEL, recording) == "".join(
        line.partition(" ")[2] + "\n" for line in decoded.splitlines())
