"""Recordings behind others: all are read, or one line says that there are more.

Kinds that libsndfile does not write need ffmpeg (Debian: ffmpeg).
"""

import pathlib
import random
import re
import shutil
import struct
import subprocess

import pytest
import soundfile

from audio_files import audio_file
from tool_runner import BIN, DIGITS, FAILURE, SAMPLES, run

MODEL = f"--model={DIGITS / 'digits.pt'}"
NAME, TEXT = "ked_year", "two zero two six"

# Libsndfile's container and encoding, or options of ffmpeg; what messages call it.
KINDS = {
    "wav": (("WAV", "PCM_16"), "a WAV file"),
    "adpcm.wav": (("WAV", "IMA_ADPCM"), "a WAV file"),
    "rf64": (("RF64", "PCM_16"), "a WAV file"),
    "w64": (("W64", "PCM_16"), "W64"),
    "flac": (("FLAC", "PCM_16"), "FLAC"),
    "aiff": (("AIFF", "PCM_16"), "AIFF"),
    "au": (("AU", "ULAW"), "AU"),
    "caf": (("CAF", "PCM_16"), "CAF"),
    "sph": (("NIST", "PCM_16"), "NIST SPHERE"),
    "voc": (("VOC", "PCM_16"), "VOC"),
    "vorbis.ogg": (["-c:a", "libvorbis"], "Ogg Vorbis"),
    "opus.ogg": (["-c:a", "libopus"], "Ogg Opus"),
    "flac.oga": (["-c:a", "flac"], "Ogg FLAC"),
    "mp3": (["-c:a", "libmp3lame"], "MP3"),
    "untagged.mp3": (["-c:a", "libmp3lame", "-write_xing", "0", "-id3v2_version", "0"], "MP3"),
    "m4a": (["-c:a", "aac"], "MP4"),
    "fragments.mp4": (["-c:a", "libopus", "-movflags", "frag_keyframe+empty_moov"], "MP4"),
    "mp3.mp4": (["-c:a", "libmp3lame"], "MP4"),
    "aac": (["-c:a", "aac"], "AAC (ADTS)"),
    "webm": (["-c:a", "libopus"], "WebM or Matroska"),
    "flac.mka": (["-c:a", "flac"], "WebM or Matroska"),
    "g722.wav": (["-c:a", "g722"], "a WAV file"),
    "mp3.avi": (["-c:a", "libmp3lame"], "AVI"),
    "mp3.flv": (["-c:a", "libmp3lame", "-ar", "44100"], "FLV"),
    "wma": (["-c:a", "wmav2", "-b:a", "96k"], "ASF (WMA)"),
}
# Also read on, but not always with the text of each: codecs go on from the end of the first.
READ_ON = [("vorbis.ogg", "vorbis.ogg"), ("opus.ogg", "opus.ogg"), ("flac.oga", "flac.oga"),
           ("aac", "aac"), ("webm", "webm"), ("flac.mka", "flac.mka"), ("mp3", "mp3"),
           ("mp3", "untagged.mp3"), ("untagged.mp3", "mp3"), ("untagged.mp3", "untagged.mp3")]


@pytest.fixture(scope="module", name="recordings")
def _recordings(tmp_path_factory):
    """The bytes of each kind that can be made here."""
    folder = tmp_path_factory.mktemp("recordings")
    samples, rate = soundfile.read(SAMPLES / f"{NAME}.flac", dtype="int16")
    made = {}
    for name, (how, _) in KINDS.items():
        if isinstance(how, tuple):
            made[name] = audio_file(samples, rate, *how)
        elif shutil.which("ffmpeg") and (BIN / "media_decoder").exists():
            done = subprocess.run(["ffmpeg", "-v", "error", "-i", SAMPLES / f"{NAME}.flac", *how,
                                   folder / f"a.{name}"], check=False, stderr=subprocess.PIPE)
            if done.returncode == 0:  # it has the encoder
                made[name] = (folder / f"a.{name}").read_bytes()
    return made


def decode(folder: pathlib.Path, files):
    """The text of each file, or the one line about it."""
    listing = folder / "wav.scp"
    with open(listing, "w", encoding="utf-8") as lines:
        for name, data in files.items():
            (folder / name).write_bytes(data)
            lines.write(f"{name} {folder / name}\n")
    done = run("decode_wav", MODEL, f"--wav_scp={listing}")
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    for line in done.stderr.splitlines():
        for name in files:
            if f"{folder / name}: " in line:
                assert name not in found
                found[name] = line.split(f"{folder / name}: ")[1]
    return found


@pytest.mark.parametrize("first", KINDS)
def test_files(tmp_path, recordings, first):
    if first not in recordings:
        pytest.skip("it cannot be made here")
    files = {"alone": recordings[first]}
    files.update((name, recordings[first] + data) for name, data in recordings.items())
    found = decode(tmp_path, files)
    assert found.pop("alone") == TEXT
    for second, answer in found.items():
        if (first, second) in READ_ON:
            assert answer == f"{TEXT} {TEXT}", second
            continue
        name = KINDS[second][1]
        if name == "MP4" == KINDS[first][1]:
            assert answer.startswith(("is MP4 and is followed by another file after sample ",
                                      "is MP4 and cannot be opened"))
        else:
            if KINDS[first][1] == "a WAV file" and name.startswith("Ogg"):
                name = "Ogg"  # known by its first bytes, where it must begin
            assert answer.startswith(f"another recording ({name}"), second
            assert answer.endswith("expected one")
            # Where the first ends is not known when its reader goes on.
            if KINDS[first][1] in ("MP4", "W64", "NIST SPHERE"):
                assert "after sample" not in answer


@pytest.mark.parametrize("first", ["wav", "flac", "vorbis.ogg", "webm"])
@pytest.mark.parametrize("second", ["wav", "flac", "aiff", "mp3", "m4a"])
def test_pipes(tmp_path, recordings, first, second):
    if first not in recordings or second not in recordings:
        pytest.skip("it cannot be made here")
    (tmp_path / "joined").write_bytes(recordings[first] + recordings[second])
    with subprocess.Popen(["cat", tmp_path / "joined"], stdout=subprocess.PIPE) as cat:
        done = run("decode_wav", MODEL, "--wav=-", stdin=cat.stdout)
    assert done.returncode == FAILURE
    assert f"standard input: another recording ({KINDS[second][1]}) follows" in done.stderr


def chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)


@pytest.mark.parametrize("between", [bytes(3001), chunk(b"mine", b"1234"),
                                     chunk(b"LIST", b"odd") + bytes(100) + chunk(b"id3 ", b"")],
                         ids=["zeros", "unknown", "several"])
def test_what_may_stand_between_wav_files(tmp_path, recordings, between):
    wav = recordings["wav"]
    found = decode(tmp_path, {"end": wav + between, "wav": wav + between + wav,
                              "flac": wav + between + recordings["flac"],
                              "data": wav + between + chunk(b"data", wav[44:])})
    num_samples = (len(wav) - 44) // 2
    end = f"follows after sample {num_samples}, expected one"
    assert found == {"end": TEXT, "wav": f"another recording (a WAV file) {end}",
                     "flac": f"another recording (FLAC) {end}",
                     "data": f"a second chunk of samples {end}"}


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
def test_the_first_header_leaves_the_length_open(tmp_path, recordings, size):
    wav = recordings["wav"]
    wav = wav[:40] + struct.pack("<I", size) + wav[44:]
    files = {name: wav + data for name, data in recordings.items()
             if name not in ("untagged.mp3",)}
    for second, answer in decode(tmp_path, files).items():
        num_samples = (len(wav) - 44) // 2
        assert answer == (f"another recording ({KINDS[second][1]}) follows after sample "
                          f"{num_samples}, expected one")


def test_other_bytes(tmp_path, recordings):
    noise = random.Random(1).randbytes(1 << 16)
    for name in "adpcm.wav", "rf64", "g722.wav":
        if name in recordings:
            answer = decode(tmp_path, {name: recordings[name] + noise})[name]
            assert answer.startswith("65536 bytes that are no chunk follow after sample ")
    found = decode(tmp_path, {name: recordings[name] + noise for name in ("wav", "flac")})
    num_samples = (len(recordings["wav"]) - 44) // 2
    assert found == {
        "wav": f"65536 bytes that are no chunk follow after sample {num_samples}, "
               "expected the end of the WAV file",
        "flac": f"bytes that are not FLAC follow after sample {num_samples}, "
                "expected the end of the file"}


AVIF = struct.pack(">I", 28) + b"ftypavif" + bytes(16) + random.Random(2).randbytes(3000)


def id3_tag(body: bytes) -> bytes:
    size = len(body)
    return b"ID3\4\0\0" + bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0)) + body


def ape_tag(body: bytes) -> bytes:
    def head(flags):
        return b"APETAGEX" + struct.pack("<IIII", 2000, len(body) + 32, 1, flags) + bytes(8)
    return head(0xA0000000) + body + head(0x80000000)


def with_chunk(wav: bytes, body: bytes) -> bytes:
    """A WAV file with one more chunk before its samples."""
    at = wav.index(b"data")
    return wav[:at] + chunk(b"id3 ", body) + wav[at:]


def with_picture(flac: bytes, body: bytes) -> bytes:
    """A FLAC file whose second block is a picture."""
    mime = b"image/avif"
    block = (struct.pack(">II", 3, len(mime)) + mime + struct.pack(">6I", 0, 8, 8, 24, 0, len(body))
             + body)
    return flac[:42] + b"\x06" + struct.pack(">I", len(block))[1:] + block + flac[42:]


def mp3_in_wav(mp3: bytes) -> bytes:
    """All frames, also the first one of the encoder, which says how long the recording is."""
    tag_bytes = 10 + (mp3[8] << 7 | mp3[9])
    form = struct.pack("<HHIIHHHHIHHH", 0x55, 1, 16000, 4000, 1, 0, 12, 1, 2, 144, 1, 1393)
    body = b"WAVE" + chunk(b"fmt ", form) + chunk(b"data", mp3[tag_bytes:])
    return b"RIFF" + struct.pack("<I", len(body)) + body


def with_info_frame(container: bytes) -> bytes:
    """Its first frame of MP3, of one channel, becomes that of the encoder."""
    at = re.search(rb"\xff[\xf3\xfb][\x10-\xe0]", container).start()
    at += 21 if container[at + 1] & 8 else 13  # behind the side information of MPEG 1 and 2
    return container[:at] + b"Info" + container[at + 4:]


def test_what_a_recording_holds_is_not_another(tmp_path, recordings):
    """Covers, attached files and the first frame of MP3's encoder are parts of the recording."""
    if "mp3" not in recordings:
        pytest.skip("they cannot be made here")
    files = {}
    held = {name: recordings[name] for name in ("wav", "mp3", "m4a", "webm", "opus.ogg", "flac")}
    for name, data in {"avif": AVIF, **held}.items():
        files[f"{name}.adpcm.wav"] = with_chunk(recordings["adpcm.wav"], data)
        files[f"{name}.wav"] = with_chunk(recordings["wav"], data)
        files[f"{name}.flac"] = with_picture(recordings["flac"], data)
        files[f"{name}.mp3"] = id3_tag(data) + recordings["mp3"]
        files[f"{name}.aac"] = recordings["aac"] + id3_tag(data)
        files[f"{name}.ape.mp3"] = recordings["mp3"] + ape_tag(data)
        files[f"{name}.m4a"] = recordings["m4a"] + struct.pack(">I", 8 + len(data)) + b"free" + data
    files["mp3_in.wav"] = mp3_in_wav(recordings["mp3"])
    for kind in "avi", "flv", "asf", "ts", "mov", "mka":
        made = tmp_path / f"info.{kind}"
        subprocess.run(["ffmpeg", "-v", "error", "-i", SAMPLES / f"{NAME}.flac", "-c:a",
                        "libmp3lame", "-ar", "44100", made], check=True)
        files[made.name] = with_info_frame(made.read_bytes())
    (tmp_path / "cover.avif").write_bytes(AVIF)
    (tmp_path / "cover.mp3").write_bytes(recordings["mp3"])
    for held_file in "cover.avif", "cover.mp3":
        made = tmp_path / f"{held_file}.mkv"
        subprocess.run(["ffmpeg", "-v", "error", "-i", SAMPLES / f"{NAME}.flac", "-c:a", "libopus",
                        "-attach", tmp_path / held_file, "-metadata:s:t", "mimetype=image/avif",
                        made], check=True)
        files[made.name] = made.read_bytes()
    if shutil.which("mkvmerge"):  # it puts several frames into a block
        for mp3 in "mp3", "untagged.mp3":
            source, made = tmp_path / f"source.{mp3}", tmp_path / f"{mp3}.mka"
            source.write_bytes(recordings[mp3])
            subprocess.run(["mkvmerge", "-q", "-o", made, source], check=True)
            files[made.name] = made.read_bytes()
    assert {name: text for name, text in decode(tmp_path, files).items() if text != TEXT} == {}
