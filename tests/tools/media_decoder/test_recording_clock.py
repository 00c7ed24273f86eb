"""The times of a recording's samples in media_decoder are those of the program ffmpeg.

Reference: `ffmpeg -i FILE -af aresample=async=1:first_pts=0`. Bursts of a tone stand at known times
of a recording, which is encoded in many containers and codecs, with gaps, later tracks, covers and
bytes behind it. Where a burst begins must agree within 40 ms.
"""

import os
import pathlib
import shutil
import struct
import subprocess
import wave

import numpy as np
import pytest

from media_program import decode_file, decode_pieces

PROGRAM = pathlib.Path(os.environ["RUNNEL_BIN_DIR"]) / "media_decoder"
pytestmark = pytest.mark.skipif(not PROGRAM.exists() or shutil.which("ffmpeg") is None,
                                reason="no media_decoder, or no ffmpeg to make files with")

RATE_HZ = 16000
LENGTH_S = 4.0
BURSTS_S = (0.4, 1.1, 3.1, 3.6)
GAP = "aselect='not(between(t,1.4,2.9))'"
TOLERANCE_S = 0.04

# File name, FFmpeg's container, options of the encoder.
FILES = [
    ("aac.mp4", "mov", "-c:a aac -movflags +faststart"),
    ("fragments.mp4", "mov", "-c:a aac -movflags frag_keyframe+empty_moov"),
    ("opus.mp4", "mov", "-c:a libopus -movflags +faststart"),
    ("alac.m4a", "mov", "-c:a alac -movflags +faststart"),
    ("mp3.mp4", "mov", "-c:a libmp3lame -movflags +faststart"),
    ("flac.mp4", "mov", "-c:a flac -movflags +faststart"),
    ("ac3.mp4", "mov", "-c:a ac3 -ar 48000 -movflags +faststart"),
    ("pcm.mov", "mov", "-c:a pcm_s16le -movflags +faststart"),
    ("opus.webm", "matroska", "-c:a libopus"),
    ("live.webm", "matroska", "-c:a libopus -live 1"),
    ("vorbis.webm", "matroska", "-c:a libvorbis"),
    ("aac.mkv", "matroska", "-c:a aac"),
    ("mp3.mkv", "matroska", "-c:a libmp3lame"),
    ("mp2.mkv", "matroska", "-c:a mp2"),
    ("flac.mkv", "matroska", "-c:a flac"),
    ("pcm.mkv", "matroska", "-c:a pcm_s16le"),
    ("ac3.mkv", "matroska", "-c:a ac3 -ar 48000"),
    ("eac3.mkv", "matroska", "-c:a eac3 -ar 48000"),
    ("dts.mkv", "matroska", "-c:a dca -ar 48000"),
    ("opus.ogg", "ogg", "-c:a libopus"),
    ("vorbis.ogg", "ogg", "-c:a libvorbis"),
    ("flac.ogg", "ogg", "-c:a flac"),
    ("speex.ogg", "ogg", "-c:a libspeex"),
    ("aac.ts", "mpegts", "-c:a aac"),
    ("mp2.ts", "mpegts", "-c:a mp2"),
    ("mp3.ts", "mpegts", "-c:a libmp3lame"),
    ("ac3.ts", "mpegts", "-c:a ac3 -ar 48000"),
    ("opus.ts", "mpegts", "-c:a libopus -ar 48000"),
    ("mp3.avi", "avi", "-c:a libmp3lame"),
    ("pcm.avi", "avi", "-c:a pcm_s16le"),
    ("ac3.avi", "avi", "-c:a ac3 -ar 48000"),
    ("adpcm.avi", "avi", "-c:a adpcm_ms"),
    ("aac.flv", "flv", "-c:a aac"),
    ("mp3.flv", "flv", "-c:a libmp3lame -ar 44100"),
    ("speex.flv", "flv", "-c:a libspeex"),
    ("wmav2.wma", "asf", "-c:a wmav2 -ar 44100"),
    ("wmav1.wma", "asf", "-c:a wmav1 -ar 44100"),
    ("mp3.asf", "asf", "-c:a libmp3lame"),
    ("opus.caf", "caf", "-c:a libopus"),
    ("alac.caf", "caf", "-c:a alac"),
    ("pcm.caf", "caf", "-c:a pcm_s16be"),
    ("adts.aac", "aac", "-c:a aac"),
    ("mpeg.mp3", "mp3", "-c:a libmp3lame"),
    ("plain.flac", "flac", "-c:a flac"),
]
CONTAINER_OF = {name: container for name, container, _ in FILES}
# They have one track, and no place for a video.
AUDIO_ONLY = ("caf", "aac", "mp3", "flac")
# Encoders of the video beside a later track of audio.
VIDEO_CODECS = {"ogg": "libtheora", "flv": "flv1"}
# Covers of MP4 and Matroska.
WITH_COVER = ("alac.m4a", "aac.mp4", "mp3.mp4", "mpeg.mp3", "plain.flac")
# Where the index of packets is behind them, only a file can be read.
INDEX_BEHIND = ("opus.caf", "alac.caf")


def burst_times(samples, rate_hz):
    """Where the sound begins after silence, in seconds."""
    block = rate_hz // 200
    loud = np.abs(samples[:len(samples) // block * block]).reshape(-1, block).max(axis=1) > 0.05
    times = np.flatnonzero(loud) * block / rate_hz
    return [time for before, time in zip([-1, *times], times) if time - before > 0.2]


def assert_same_times(times, expected, name):
    assert len(times) == len(expected), (name, times, expected)
    assert np.abs(np.subtract(times, expected)).max() <= TOLERANCE_S, (name, times, expected)


def run_ffmpeg(arguments):
    made = subprocess.run(["ffmpeg", "-v", "error", "-y", *arguments], check=False,
                          stderr=subprocess.PIPE)
    return made.stderr.decode() if made.returncode != 0 else ""


def reference_times(folder, names):
    """Burst times by FFmpeg. All tracks are read, because they count for its zero."""
    arguments = []
    for name in names:
        arguments += ["-i", str(folder / name)]
    for index, name in enumerate(names):
        arguments += ["-map", f"{index}:a:0", "-af", "aresample=async=1:first_pts=0", "-ac", "1",
                      "-ar", str(RATE_HZ), "-f", "f32le", str(folder / f"{name}.raw")]
        arguments += ["-map", f"{index}:v?", "-c", "copy", "-f", "null", "-"]
    assert run_ffmpeg(arguments) == ""
    return {name: burst_times(np.fromfile(folder / f"{name}.raw", np.float32), RATE_HZ)
            for name in names}


def usable(files):
    """Those whose encoder this machine's FFmpeg has."""
    encoders = subprocess.check_output(["ffmpeg", "-v", "error", "-encoders"]).decode().split()
    return [file for file in files if file[2].split()[1] in encoders]


@pytest.fixture(scope="module", name="source")
def _source(tmp_path_factory):
    samples = np.random.default_rng(1).normal(0, 3e-4, int(LENGTH_S * RATE_HZ))
    for begin_s in BURSTS_S:
        tone = np.arange(int(0.15 * RATE_HZ))
        begin = int(begin_s * RATE_HZ)
        samples[begin:begin + len(tone)] += 0.5 * np.sin(2 * np.pi * 700 / RATE_HZ * tone)
    path = tmp_path_factory.mktemp("source") / "source.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE_HZ, 0, "NONE", ""))
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return path


def check(folder, names, streams=True):
    """Compares files, and streams of the same bytes, with FFmpeg."""
    references = reference_times(folder, names)
    for name in names:
        assert len(references[name]) == len(BURSTS_S), name
        container = CONTAINER_OF[name]
        decoded = decode_file(PROGRAM, folder / name, container)
        assert (decoded.error, decoded.warnings, decoded.missing) == ("", [], 0), name
        assert_same_times(burst_times(decoded.samples, decoded.rate_hz), references[name], name)
        if not streams:
            continue
        data = (folder / name).read_bytes()
        stream = decode_pieces(PROGRAM, [data[i:i + 4999] for i in range(0, len(data), 4999)],
                               container)
        if name in INDEX_BEHIND:
            assert stream.error == "has its index at its end, expected at its beginning"
            continue
        assert (stream.error, stream.warnings) == ("", []), name
        assert_same_times(burst_times(stream.samples, stream.rate_hz), references[name], name)
    return references


def test_plain_recordings_and_bytes_behind_them(tmp_path, source):
    files = usable(FILES)
    arguments = ["-i", str(source)]
    for name, _, options in files:
        arguments += ["-map", "0:a", *options.split(), "-strict", "-2", str(tmp_path / name)]
    assert run_ffmpeg(arguments) == ""
    names = [name for name, _, _ in files]
    references = check(tmp_path, names, streams=False)
    for name in names:
        data = (tmp_path / name).read_bytes()
        for tail in (bytes(5000), b"8 bytes." * 2):
            (tmp_path / name).write_bytes(data + tail)
            decoded = decode_file(PROGRAM, tmp_path / name, CONTAINER_OF[name])
            assert decoded.error == "", name
            assert_same_times(burst_times(decoded.samples, decoded.rate_hz), references[name], name)


def test_gaps(tmp_path, source):
    """A pause of the recorder, of 1.5 s."""
    files = usable(FILES)
    arguments = ["-i", str(source)]
    for name, _, options in files:
        arguments += ["-map", "0:a", "-af", GAP, *options.split(), "-strict", "-2",
                      str(tmp_path / name)]
    assert run_ffmpeg(arguments) == ""
    references = check(tmp_path, [name for name, _, _ in files])
    with_gap = [name for name, times in references.items() if times[2] - times[1] > 1.9]
    assert len(with_gap) > 0.7 * len(files)


def test_tracks_that_begin_later(tmp_path, source):
    """Audio that begins 1.3 s after the video."""
    files = [file for file in usable(FILES) if file[1] not in AUDIO_ONLY]
    arguments = ["-f", "lavfi", "-i", "testsrc=size=32x32:rate=10:duration=6",
                 "-itsoffset", "1.3", "-i", str(source)]
    for name, container, options in files:
        video = "libvpx" if name.endswith(".webm") else VIDEO_CODECS.get(container, "mpeg4")
        arguments += ["-map", "0:v", "-map", "1:a", "-c:v", video, *options.split(), "-strict",
                      "-2", str(tmp_path / name)]
    assert run_ffmpeg(arguments) == ""
    references = check(tmp_path, [name for name, _, _ in files])
    late = [name for name, times in references.items() if times[0] > 1.6]
    assert len(late) > 0.8 * len(files)


def test_covers(tmp_path, source):
    """A picture is no track that counts."""
    cover = tmp_path / "cover.png"
    assert run_ffmpeg(["-f", "lavfi", "-i", "color=size=32x32", "-frames:v", "1", str(cover)]) == ""
    files = [file for file in usable(FILES) if file[0] in WITH_COVER]
    arguments = ["-i", str(source), "-i", str(cover)]
    for name, _, options in files:
        arguments += ["-map", "0:a", "-map", "1:v", "-c:v", "copy", "-disposition:v",
                      "attached_pic", "-af", GAP, *options.split(), str(tmp_path / name)]
    assert run_ffmpeg(arguments) == ""
    check(tmp_path, [name for name, _, _ in files], streams=False)


def pcm_matroska(times_ms):
    """A Matroska file of PCM with 8 kHz, a packet of 100 ms of a tone for each time."""
    def element(name, body):
        return bytes.fromhex(name) + struct.pack(">Q", len(body) | 1 << 56) + body

    def number(value):
        return value.to_bytes(8, "big")

    header = element("1A45DFA3", element("4282", b"matroska"))
    audio = element("E1", element("B5", struct.pack(">d", 8000)) + element("9F", number(1)) +
                    element("6264", number(16)))
    track = element("AE", element("D7", number(1)) + element("73C5", number(1)) +
                    element("83", number(2)) + element("86", b"A_PCM/INT/LIT") + audio)
    tone = (8000 * np.sin(2 * np.pi * 500 / 8000 * np.arange(800))).astype("<i2").tobytes()
    clusters = [element("1F43B675", element("E7", number(time)) +
                        element("A3", b"\x81\0\0\x80" + tone)) for time in times_ms]
    info = element("1549A966", element("2AD7B1", number(1000000)))
    return header + element("18538067", info + element("1654AE6B", track) + b"".join(clusters))


def decode_matroska(tmp_path, times_ms):
    path = tmp_path / "times.mka"
    path.write_bytes(pcm_matroska(times_ms))
    return decode_file(PROGRAM, path, "matroska")


@pytest.mark.parametrize("times_ms, seconds, warnings", [
    ([0, 100, 200], 0.3, []),
    ([5000, 5100, 5200], 0.3, []),  # a segment of a stream: its first packet is the zero
    ([0, 100, 290, 390], 0.4, []),  # jitter
    ([0, 100, 310, 410], 0.51, []),  # a gap of 110 ms
    ([0, 3600000], 3600.1, []),
    ([0, 100, 200, 300, 400, 60, 160, 260, 360, 460, 560], 0.66,
     ["has packets with the times of others: 0.44 s are left out, after 0.50 s"]),
    ([20000, 20100, 1000, 1100, 0, 100], 0.4,
     ["has packets with the times of others: 0.20 s are left out, after 0.40 s",
      "has times that begin anew after 0.20 s, so a gap there is not known"]),
])
def test_times_of_packets(tmp_path, times_ms, seconds, warnings):
    decoded = decode_matroska(tmp_path, times_ms)
    assert (decoded.error, decoded.warnings) == ("", warnings)
    assert abs(len(decoded.samples) / 8000 - seconds) < 0.002


def test_the_program_ffmpeg_keeps_the_same_overlaps(tmp_path):
    path = tmp_path / "overlap.mka"
    path.write_bytes(pcm_matroska([0, 100, 200, 300, 400, 60, 160, 260, 360, 460, 560, 2000]))
    raw = tmp_path / "overlap.raw"
    assert run_ffmpeg(["-i", str(path), "-af", "aresample=async=1:first_pts=0", "-f", "f32le",
                       str(raw)]) == ""
    decoded = decode_file(PROGRAM, path, "matroska")
    assert abs(len(decoded.samples) - len(np.fromfile(raw, np.float32))) < 0.002 * 8000


def test_forged_times_are_refused(tmp_path):
    """Silence for a thousand years is none."""
    for times_ms in ([0, 10**15], [0, 80000000, 160000000], [0, 2**63 // 10**6]):
        decoded = decode_matroska(tmp_path, times_ms)
        assert decoded.error.startswith("has a gap of "), times_ms
        assert decoded.error.endswith("expected gaps of at most 86400 s in all")
    decoded = decode_matroska(tmp_path, [0, 10**15])
    assert len(decoded.samples) == 800


def test_joined_recordings_follow_each_other(tmp_path, source):
    """Each begins anew: its times are its own."""
    for name, container in (("opus.ogg", "ogg"), ("vorbis.ogg", "ogg"), ("flac.ogg", "ogg"),
                            ("opus.webm", "matroska"), ("aac.mkv", "matroska")):
        options = next(file[2] for file in FILES if file[0] == name).split()
        serial = ["-serial_offset", "7"] if container == "ogg" else []
        assert run_ffmpeg(["-i", str(source), *options, str(tmp_path / name)]) == ""
        assert run_ffmpeg(["-i", str(source), *options, *serial, str(tmp_path / f"b_{name}")]) == ""
        data = (tmp_path / name).read_bytes() + (tmp_path / f"b_{name}").read_bytes()
        (tmp_path / name).write_bytes(data)
        for joined in (decode_file(PROGRAM, tmp_path / name, container),
                       decode_pieces(PROGRAM, [data[i:i + 3000] for i in range(0, len(data), 3000)],
                                     container)):
            assert (joined.error, joined.warnings) == ("", []), name
            times = burst_times(joined.samples, joined.rate_hz)
            first, second = times[:len(BURSTS_S)], times[len(BURSTS_S):]
            assert_same_times(np.subtract(second, second[0]), np.subtract(first, first[0]), name)
            assert abs(second[0] - first[0] - LENGTH_S) < 0.15, name


def test_an_audio_track_is_chosen(tmp_path, source):
    path = tmp_path / "two.mkv"
    assert run_ffmpeg(["-i", str(source), "-itsoffset", "0.5", "-i", str(source), "-map", "0:a",
                       "-map", "1:a", "-c:a", "pcm_s16le", str(path)]) == ""
    times = []
    for track in (-1, 0, 1):
        decoded = decode_file(PROGRAM, path, "matroska", track=track)
        assert decoded.error == ""
        assert decoded.warnings == ([] if track >= 0 else [
            "has 2 audio tracks: track 0 (counted from 0) is decoded, audio_track chooses another"])
        times.append(burst_times(decoded.samples, decoded.rate_hz))
    assert_same_times(times[0], times[1], "the main one")
    assert_same_times(np.subtract(times[2], 0.5), times[1], "the later one")
    assert decode_file(PROGRAM, path, "matroska", track=2).error == (
        "has 2 audio tracks, expected track 2 (counted from 0)")


def ogg_pages(data):
    pages, at = [], 0
    while at < len(data):
        end = at + 27 + data[at + 26] + sum(data[at + 27:at + 27 + data[at + 26]])
        pages.append(data[at:end])
        at = end
    return pages


@pytest.mark.parametrize("name", ["opus.ogg", "vorbis.ogg", "flac.ogg"])
def test_lost_pages_are_silence(tmp_path, source, name):
    options = next(file[2] for file in FILES if file[0] == name).split()
    assert run_ffmpeg(["-i", str(source), *options, "-page_duration", "200000",
                       str(tmp_path / name)]) == ""
    pages = ogg_pages((tmp_path / name).read_bytes())
    lost = len(pages) // 2
    (tmp_path / name).write_bytes(b"".join(pages[:lost] + pages[lost + 3:]))
    decoded = decode_file(PROGRAM, tmp_path / name, "ogg")
    assert (decoded.error, decoded.warnings) == ("", ["lacks 3 pages of Ogg"])
    expected = reference_times(tmp_path, [name])[name]
    assert_same_times(burst_times(decoded.samples, decoded.rate_hz), expected, name)
    assert abs(len(decoded.samples) / decoded.rate_hz - LENGTH_S) < 0.05
    (tmp_path / name).write_bytes(b"".join(pages[:lost] + [pages[lost]] + pages[lost:]))
    strict = decode_file(PROGRAM, tmp_path / name, "ogg", strict=True)
    assert strict.error.startswith("is damaged after sample ")
    lenient = decode_file(PROGRAM, tmp_path / name, "ogg")
    assert lenient.error == ""
    assert lenient.warnings[0].startswith(f"is damaged: skipped {len(pages[lost])} bytes at byte ")
