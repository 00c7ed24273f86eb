"""The output of decode_wav to a terminal, without control characters from file names."""

import re
import struct
import subprocess
import threading

from terminal import Terminal
from tool_runner import FAILURE, TINY_MODEL, command, run, write_audio

MODEL = f"--model={TINY_MODEL}"
CLEAR = b"\r\x1b[K"  # written by the console: go to the beginning of the line and clear it


def feed_until_bar(options, terminal, stderr, num_bytes=0xffffffff, bar=b" s of audio"):
    """Feeds a recording until the terminal shows `bar`; what came out.

    Where none is to come, `terminal` is None: the recording has ten seconds. `num_bytes`: as the
    header announces them; by default, no length.
    """
    header = (b"RIFF\xff\xff\xff\xffWAVEfmt "
              + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)
              + b"data" + struct.pack("<I", num_bytes))
    process = subprocess.Popen(command("decode_wav", MODEL, "--wav=-", *options),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
    watchdog = threading.Timer(120, process.kill)  # a hang becomes a failure
    watchdog.start()
    try:
        process.stdin.write(header)
        second = bytes(32000)
        if terminal is None:
            process.stdin.write(10 * second)
        else:
            while process.poll() is None and not terminal.shows(bar, 0.01):
                process.stdin.write(second)
                process.stdin.flush()
        output, errors = process.communicate()
    finally:
        watchdog.cancel()
        process.kill()
    assert process.returncode == 0
    return output, errors


def test_progress_bar_only_on_a_terminal():
    terminal = Terminal()
    output, _ = feed_until_bar([], terminal, terminal.slave)
    shown = terminal.close()
    assert output.startswith(b"stdin")
    assert b"[........................] 0/1 files, " in shown
    # The bar is removed at the end, and log lines have their own lines.
    last_bar = shown.rindex(b" s of audio") + len(b" s of audio")
    assert shown[last_bar:].startswith(CLEAR)
    rest = shown[last_bar + len(CLEAR):].decode().split("\r\n")
    assert [line.split(" ", 2)[:2] for line in rest] == [
        ["decode_wav:", "files"], ["decode_wav:", "chunk"], [""]]

    for options in [], ["--partial"]:
        _, errors = feed_until_bar(options, None, subprocess.PIPE)
        assert b" s of audio" not in errors and b"\x1b" not in errors


def test_progress_within_a_recording():
    """That announces a hundred minutes; a half of them is more than is fed until a bar comes."""
    terminal = Terminal()
    feed_until_bar([], terminal, terminal.slave, 6000 * 32000, b" %, ")
    shown = terminal.close().decode()
    percent, seconds = map(float, re.search(r"0/1 files, (\d+) %, (\d+\.\d) s of audio",
                                            shown).groups())
    assert abs(percent - seconds / 60) < 0.51  # both are rounded

    terminal = Terminal()
    feed_until_bar(["--quiet"], None, terminal.slave, 10 * 32000)
    assert terminal.close() == b""


def test_names_do_not_control_the_terminal(tmp_path):
    # Window title, clear screen, backspace, DEL, the CSI of C1; letters are kept.
    name = "x\x1b]0;title\x07\x1b[2J\b\x7f\u009b2J\ty\u00e9\u4e00.wav"
    write_audio(tmp_path / "a.wav")
    harmless = "x?]0;title??[2J???2J y\u00e9\u4e00.wav: cannot open"
    done = run("decode_wav", MODEL, f"--wav={tmp_path / name}")
    assert done.returncode == FAILURE
    assert harmless in done.stderr
    done = run("decode_wav", f"--model={tmp_path / name}", f"--wav={tmp_path / 'a.wav'}")
    assert done.returncode == FAILURE and "x?]0;title??[2J???2J y\u00e9\u4e00.wav" in done.stderr
    assert not set(done.stderr) & {"\x1b", "\x07", "\b", "\x7f", "\u009b", "\t"}

    write_audio(tmp_path / name)
    done = run("decode_wav", MODEL, f"--wav={tmp_path / name}", "--partial")
    assert " partial: " in done.stderr and "\x1b" not in done.stderr
