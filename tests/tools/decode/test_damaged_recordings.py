"""Damaged recordings: the healthy parts are decoded with one warning, or refused if asked for.

Recordings that only media_decoder reads need ffmpeg (Debian: ffmpeg).
"""

import random
import re
import shutil
import subprocess

import pytest

from tool_runner import BIN, DIGITS, FAILURE, SAMPLES, run

MODEL = f"--model={DIGITS / 'digits.pt'}"
NAME, TEXT = "ked_year", "two zero two six"
JUNK = bytes(byte & 0x7F for byte in random.Random(4).randbytes(3000))


def frames_of(mp3: bytes):
    """Where the frames of MPEG-2 layer III at 24 kbit/s and 16 kHz begin."""
    begins = [match.start() for match in re.finditer(rb"\xff\xf3", mp3)]
    return [at for at in begins if mp3[at + 108:at + 110] == b"\xff\xf3"]


@pytest.fixture(scope="module", name="recordings")
def _recordings(tmp_path_factory):
    if shutil.which("ffmpeg") is None or not (BIN / "media_decoder").exists():
        pytest.skip("they cannot be made here")
    folder = tmp_path_factory.mktemp("recordings")
    made = {}
    for name, options in (("a.mp3", ["-c:a", "libmp3lame", "-b:a", "24k", "-write_xing", "0",
                                     "-id3v2_version", "0"]), ("a.aac", ["-c:a", "aac"])):
        subprocess.run(["ffmpeg", "-v", "error", "-i", SAMPLES / f"{NAME}.flac", *options,
                        folder / name], check=True)
        made[name] = (folder / name).read_bytes()
    return made


def ape_tag(body: bytes) -> bytes:
    def head(flags):
        return (b"APETAGEX" + (2000).to_bytes(4, "little") + (len(body) + 32).to_bytes(4, "little")
                + (1).to_bytes(4, "little") + flags.to_bytes(4, "little") + bytes(8))
    return head(0xA0000000) + body + head(0x80000000)


def id3_tag(size: int) -> bytes:
    return b"ID3\4\0\0" + bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0)) + bytes(size)


def damaged(recordings):
    """Name, bytes, the bytes that are skipped and where; None: nothing is."""
    mp3, aac = recordings["a.mp3"], recordings["a.aac"]
    middle = frames_of(mp3)[12]
    yield "zero_behind_tag.mp3", id3_tag(13) + bytes(1) + mp3, 1, 23
    yield "zeros_first.mp3", bytes(1000) + mp3, 1000, 0
    yield "junk_first.mp3", JUNK + mp3, 3000, 0
    yield "most_junk_first.mp3", JUNK * 20 + mp3, 60000, 0
    yield "zeros_first.aac", bytes(50) + aac, 50, 0
    yield "mid_frame.aac", JUNK[:300] + aac, 300, 0
    yield "mid_frame.mp3", mp3[40:], 68, 0
    yield "ape_first.mp3", ape_tag(b"x" * 500) + mp3, None, 0
    yield "junk_between.mp3", mp3[:middle] + JUNK[:10] + mp3[middle:], 10, middle
    yield "zeros_between.mp3", mp3[:middle] + bytes(700) + mp3[middle:], 700, middle
    yield "tag_between.mp3", mp3[:middle] + id3_tag(300) + mp3[middle:], None, 0
    yield "junk_between.aac", aac + JUNK + aac, 3000, len(aac)
    # The frame before takes the place of what is missing from the next one.
    yield "cut_frame.mp3", mp3[:middle - 30] + mp3[middle:] + mp3, r"\d+", middle


def test_damage_is_skipped_or_refused(tmp_path, recordings):
    for name, data, num_skipped, at in damaged(recordings):
        path = tmp_path / name
        path.write_bytes(data)
        done = run("decode_wav", MODEL, f"--wav={path}")
        assert done.returncode == 0, (name, done.stderr)
        text = done.stdout.split(" ", 1)[1].strip()
        if name == "cut_frame.mp3":  # which sounds odd
            assert text.endswith(f"zero two six {TEXT}")
        else:
            assert text == (f"{TEXT} {TEXT}" if name == "junk_between.aac" else TEXT)
        warnings = [line for line in done.stderr.splitlines() if f"{path}: " in line]
        if num_skipped is not None:
            place = rf"{path}: is damaged: skipped {num_skipped} bytes at byte {at} \(after "
            assert len(warnings) == 1 and re.search(place, warnings[0]), (name, warnings)
        else:
            assert not warnings, name
        strict = run("decode_wav", MODEL, "--strict_recordings", f"--wav={path}")
        assert (strict.returncode == 0) == (not warnings), name
        with open(path, "rb") as file, subprocess.Popen(["cat"], stdin=file,
                                                        stdout=subprocess.PIPE) as cat:
            piped = run("decode_wav", MODEL, "--wav=-", stdin=cat.stdout)
        assert piped.stdout.split(" ", 1)[1] == done.stdout.split(" ", 1)[1], (name, piped.stderr)


def test_what_is_no_audio_is_refused(tmp_path, recordings):
    for name, data in {"zeros": bytes(100000), "text": b"no audio " * 20000,
                       "noise": random.Random(5).randbytes(200000),
                       "too_much_junk": JUNK * 24 + recordings["a.mp3"]}.items():
        path = tmp_path / name
        path.write_bytes(data)
        done = run("decode_wav", MODEL, f"--wav={path}")
        assert done.returncode == FAILURE
        assert f"{path}: cannot be read as audio (Format not recognised)" in done.stderr, name
