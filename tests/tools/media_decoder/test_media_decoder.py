"""The program media_decoder, against the samples that the program ffmpeg decodes, and its limits.

Without ffmpeg (Debian: ffmpeg) the files cannot be made, and the tests are skipped.
"""

import os
import pathlib
import random
import re
import shutil
import struct
import subprocess

import numpy as np
import pytest

from media_program import END, ERROR, HUNGRY, MediaProgram, decode_file, decode_pieces
from tool_runner import SAMPLES

PROGRAM = pathlib.Path(os.environ["RUNNEL_BIN_DIR"]) / "media_decoder"
RECORDINGS = sorted(SAMPLES.glob("*.flac"))

pytestmark = pytest.mark.skipif(not PROGRAM.exists() or shutil.which("ffmpeg") is None,
                                reason="no media_decoder, or no ffmpeg to make files with")

# Name, FFmpeg's container, options of the program ffmpeg.
FILES = [
    ("aac.m4a", "mov", ["-c:a", "aac"]),
    ("stereo_48k.m4a", "mov", ["-ar", "48000", "-ac", "2", "-c:a", "aac"]),
    ("alac.m4a", "mov", ["-c:a", "alac"]),
    ("index_in_front.m4a", "mov", ["-c:a", "aac", "-movflags", "+faststart"]),
    ("fragments.mp4", "mov", ["-c:a", "libopus", "-movflags", "frag_keyframe+empty_moov"]),
    ("pcm.mov", "mov", ["-c:a", "pcm_s16le"]),
    ("opus.webm", "matroska", ["-c:a", "libopus"]),
    ("pcm.mka", "matroska", ["-c:a", "pcm_f32le"]),
    ("live.webm", "matroska", ["-c:a", "libopus", "-live", "1"]),
    ("vorbis.ogg", "ogg", ["-ar", "44100", "-c:a", "libvorbis"]),
    ("opus.ogg", "ogg", ["-c:a", "libopus"]),
    ("flac.oga", "ogg", ["-c:a", "flac", "-f", "ogg"]),
    ("adts.aac", "aac", ["-c:a", "aac"]),
    ("info.mp3", "mp3", ["-ar", "44100", "-c:a", "libmp3lame"]),
    ("no_info.mp3", "mp3", ["-c:a", "libmp3lame", "-write_xing", "0"]),
    ("plain.flac", "flac", ["-c:a", "flac"]),
    ("g722.wav", "wav", ["-c:a", "g722"]),
    ("g726.wav", "wav", ["-ar", "8000", "-c:a", "g726"]),
    ("g723.wav", "wav", ["-ar", "8000", "-b:a", "6300", "-c:a", "g723_1"]),
    ("mp3.wav", "wav", ["-c:a", "libmp3lame"]),
]
INDEX_BEHIND = ("aac.m4a", "stereo_48k.m4a", "alac.m4a", "pcm.mov")


def make(path, options, recording=None):
    """Encodes a recording; skips when this machine's FFmpeg lacks the encoder."""
    made = subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", recording or RECORDINGS[0],
                           *options, str(path)], check=False, stderr=subprocess.PIPE)
    if made.returncode != 0:
        pytest.skip(made.stderr.decode())


def ffmpeg_samples(path):
    """What the program ffmpeg decodes: the mean of the channels."""
    channels = int(subprocess.check_output(
        ["ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "stream=channels",
         "-of", "default=nw=1:nk=1", str(path)]).split()[0])
    raw = subprocess.check_output(["ffmpeg", "-v", "fatal", "-i", str(path), "-map", "a:0",
                                   "-f", "f32le", "-"])
    values = np.frombuffer(raw, np.float32).reshape(-1, channels)
    return values.astype(np.float64).mean(axis=1).astype(np.float32)


@pytest.mark.parametrize("name, container, options", FILES, ids=[file[0] for file in FILES])
def test_samples_are_those_of_ffmpeg(tmp_path, name, container, options):
    path = tmp_path / name
    make(path, options)
    whole = decode_file(PROGRAM, path, container)
    assert (whole.error, whole.missing) == ("", 0)
    np.testing.assert_array_equal(whole.samples, ffmpeg_samples(path))

    # However a stream is cut, its samples are the same.
    data = path.read_bytes()
    streams = []
    rng = random.Random(name)
    for most in (60000, 3000, 40):
        cuts = [0]
        while cuts[-1] < len(data):
            cuts.append(cuts[-1] + rng.randint(1, most))
        streams.append(decode_pieces(PROGRAM, [data[a:b] for a, b in zip(cuts, cuts[1:])],
                                     container))
    if name in INDEX_BEHIND:
        assert {stream.error for stream in streams} == {
            "has its index at its end, expected at its beginning (ffmpeg -movflags +faststart)"}
        return
    assert {stream.error for stream in streams} == {""}
    for stream in streams[1:]:
        np.testing.assert_array_equal(stream.samples, streams[0].samples)
    # An end that only a whole file tells may add a frame of MP3.
    extra = len(streams[0].samples) - len(whole.samples)
    assert extra == 0 or name == "info.mp3" and 0 < extra < 1152
    np.testing.assert_array_equal(streams[0].samples[:len(whole.samples)], whole.samples)


def test_a_stream_is_decoded_as_it_comes(tmp_path):
    path = tmp_path / "live.webm"
    make(path, ["-c:a", "libopus", "-b:a", "24k", "-live", "1", "-cluster_time_limit", "200"])
    data = path.read_bytes()
    seconds = len(decode_file(PROGRAM, path, "matroska").samples) / 48000
    with MediaProgram(PROGRAM, "stream", "matroska") as media:
        for begin in range(0, len(data), 100):
            assert media.read() == HUNGRY
            if begin > 2000:
                decoded_s = len(media.decoded.samples) / 48000
                assert decoded_s > seconds * begin / len(data) - 0.5
            media.give(data[begin:begin + 100])


def test_joined_recordings_are_read_to_the_end(tmp_path):
    for name, container, options in (("a.ogg", "ogg", ["-c:a", "libopus"]),
                                     ("a.mp3", "mp3", ["-c:a", "libmp3lame"]),
                                     ("a.aac", "aac", ["-c:a", "aac"])):
        pieces = []
        for i, recording in enumerate(RECORDINGS[:2]):
            make(tmp_path / name, options + (["-serial_offset", str(i)] if name == "a.ogg" else []),
                 recording)
            pieces.append((tmp_path / name).read_bytes())
        (tmp_path / name).write_bytes(b"".join(pieces))
        lengths = []
        for piece in pieces:
            (tmp_path / "piece").write_bytes(piece)
            lengths.append(len(decode_file(PROGRAM, tmp_path / "piece", container).samples))
        joined = decode_file(PROGRAM, tmp_path / name, container)
        assert joined.error == ""
        assert abs(len(joined.samples) - sum(lengths)) < 3000, name


@pytest.mark.parametrize("flags", ["+faststart", "frag_keyframe+empty_moov"])
def test_joined_mp4_is_read_or_refused(tmp_path, flags):
    path = tmp_path / "a.mp4"
    make(path, ["-c:a", "aac", "-movflags", flags])
    data = path.read_bytes()
    alone = decode_file(PROGRAM, path, "mov")
    path.write_bytes(data + data)
    for joined in (decode_file(PROGRAM, path, "mov"),
                   decode_pieces(PROGRAM, [data, data], "mov"),
                   decode_pieces(PROGRAM, [data + data], "mov")):
        assert len(joined.samples) > 1.9 * len(alone.samples) or joined.error.startswith(
            ("is followed by another file after sample ", "is damaged after sample "))


def test_a_chain_keeps_the_rate_of_its_first_stream(tmp_path):
    pieces = []
    for rate in "44100", "22050":
        make(tmp_path / "a.ogg", ["-c:a", "libvorbis", "-ar", rate])
        pieces.append((tmp_path / "a.ogg").read_bytes())
    first = len(decode_file(PROGRAM, tmp_path / "a.ogg", "ogg").samples) * 2
    (tmp_path / "chain.ogg").write_bytes(b"".join(pieces))
    chain = decode_file(PROGRAM, tmp_path / "chain.ogg", "ogg")
    assert (chain.error, chain.rate_hz) == ("", 44100)
    assert abs(len(chain.samples) - 2 * first) < 3000


def test_channels(tmp_path):
    path = tmp_path / "stereo.mka"
    make(path, ["-filter_complex", "[0:a]aeval=val(0)|val(0)/2", "-c:a", "pcm_f32le"])
    left, right, mean = (decode_file(PROGRAM, path, "matroska", channel) for channel in (0, 1, -1))
    assert left.channels == 2
    np.testing.assert_array_equal(right.samples, left.samples / 2)
    np.testing.assert_array_equal(mean.samples, left.samples * np.float32(0.75))
    assert decode_file(PROGRAM, path, "matroska", 2).error.startswith("has 2 channels")


@pytest.mark.parametrize("name", ["index_in_front.m4a", "opus.webm", "info.mp3", "mp3.wav"])
def test_what_is_missing_is_reported(tmp_path, name):
    container, options = next(file[1:] for file in FILES if file[0] == name)
    path = tmp_path / name
    make(path, options)
    whole = decode_file(PROGRAM, path, container)
    data = path.read_bytes()
    path.write_bytes(data[:len(data) * 2 // 3])
    cut = decode_file(PROGRAM, path, container)
    assert cut.error == "" and cut.missing > 0
    assert abs(len(cut.samples) + cut.missing - len(whole.samples)) < 0.1 * whole.rate_hz


def test_errors_are_one_line(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\x1a\x45\xdf\xa3 and no Matroska at all" * 10)
    assert decode_file(PROGRAM, path, "matroska").error.startswith("cannot be opened (")
    assert decode_file(PROGRAM, path, "nut").error == (
        "is in a container that media_decoder lacks: nut")
    make(tmp_path / "video.mkv", ["-f", "lavfi", "-i", "color=size=16x16:duration=1", "-map", "1:v",
                                  "-c:v", "rawvideo"])
    assert decode_file(PROGRAM, tmp_path / "video.mkv", "matroska").error == "has no track of audio"
    make(tmp_path / "other.mka", ["-c:a", "tta"])
    assert decode_file(PROGRAM, tmp_path / "other.mka", "matroska").error == (
        "holds audio of the codec tta, expected AAC, Opus, MP3, Vorbis, FLAC, ALAC, AC-3, E-AC-3, "
        "DTS, WMA, Speex, AMR, G.722, G.723.1, G.726, ADPCM or PCM")


@pytest.fixture(scope="module", name="long_recording")
def _long_recording(tmp_path_factory):
    """Ten seconds, which are several pages, clusters or fragments."""
    path = tmp_path_factory.mktemp("long") / "long.wav"
    subprocess.run(["ffmpeg", "-v", "error", "-stream_loop", "-1", "-i", RECORDINGS[0], "-t", "10",
                    "-ac", "1", str(path)], check=True)
    return path


def zeroed(data, begin):
    size = 4096 if len(data) < 100000 else 16384
    return data[:begin] + bytes(size) + data[begin + size:]


def shortened(data, begin):
    return data[:begin] + data[begin + len(data) // 11:]


def flipped(data, begin):
    return data[:begin] + bytes([data[begin] ^ 1]) + data[begin + 1:]


# Zeros are samples.
WITHOUT_SIGNS = ("pcm.mov", "pcm.mka", "g722.wav", "g726.wav", "g723.wav")
DAMAGED_FILES = FILES + [
    ("opus_in_front.mp4", "mov", ["-c:a", "libopus", "-movflags", "+faststart"]),
    ("aac_fragments.mp4", "mov", ["-c:a", "aac", "-movflags", "frag_keyframe+empty_moov",
                                  "-frag_duration", "1000000"]),
    ("vorbis.webm", "matroska", ["-c:a", "libvorbis"]),
    ("flac.mka", "matroska", ["-c:a", "flac"]),
]


@pytest.mark.parametrize("name, container, options", DAMAGED_FILES,
                         ids=[file[0] for file in DAMAGED_FILES])
def test_strict_decoders_refuse_damage(tmp_path, long_recording, name, container, options):
    path = tmp_path / name
    make(path, options, long_recording)
    data = path.read_bytes()
    num_samples = len(decode_file(PROGRAM, path, container).samples)
    kinds = [shortened]
    if name not in WITHOUT_SIGNS:
        kinds.append(zeroed)
    if container in ("ogg", "flac"):
        kinds.append(flipped)
    for damage in kinds:
        for tenths in (2, 5, 7):
            bad = damage(data, len(data) * tenths // 10)
            path.write_bytes(bad)
            whole = decode_file(PROGRAM, path, container, strict=True)
            where = f"{damage.__name__} at {tenths} tenths: {len(whole.samples)} samples"
            # MP3 with frames removed looks like two joined files, one of them cut off. The header
            # tells how much is missing.
            if damage is shortened and (container == "wav" or name == "info.mp3"):
                assert whole.error or whole.missing > 0, where
                continue
            assert whole.error.startswith(("is damaged", "cannot be opened", "is followed")), where
            assert len(whole.samples) < num_samples * (tenths + 2) / 10, where
            if name not in INDEX_BEHIND:
                stream = decode_pieces(PROGRAM, [bad[i:i + 3000] for i in range(0, len(bad), 3000)],
                                       container, strict=True)
                assert stream.error and len(stream.samples) < num_samples * (tenths + 2) / 10


@pytest.mark.parametrize("name, container, options", DAMAGED_FILES,
                         ids=[file[0] for file in DAMAGED_FILES])
def test_the_healthy_parts_are_decoded(tmp_path, long_recording, name, container, options):
    path = tmp_path / name
    make(path, options, long_recording)
    data = path.read_bytes()
    whole = decode_file(PROGRAM, path, container)
    if name in WITHOUT_SIGNS + INDEX_BEHIND or container == "wav":
        return
    bad = zeroed(data, len(data) // 2)
    path.write_bytes(bad)
    decoded = decode_file(PROGRAM, path, container)
    assert decoded.error == ""
    # FFmpeg does not find the next fragment.
    least = 0.4 if name == "aac_fragments.mp4" else 0.6
    assert len(decoded.samples) > least * len(whole.samples), decoded.warnings
    assert decoded.warnings[0].startswith("is damaged: skipped "), decoded.warnings
    place = int(re.search(r"at byte (\d+) ", decoded.warnings[0])[1])
    assert abs(place - len(data) // 2) < 70000
    # The samples before the damage are those of the whole recording.
    begin = len(whole.samples) // 4
    np.testing.assert_array_equal(decoded.samples[:begin], whole.samples[:begin])
    stream = decode_pieces(PROGRAM, [bad[i:i + 3000] for i in range(0, len(bad), 3000)], container)
    assert stream.error == "" and stream.warnings[0].startswith("is damaged: skipped ")
    assert len(stream.samples) > least * len(whole.samples)


def test_missing_fragments(tmp_path, long_recording):
    path = tmp_path / "a.mp4"
    make(path, ["-c:a", "aac", "-movflags", "frag_keyframe+empty_moov+default_base_moof",
                "-frag_duration", "1000000"], long_recording)
    data = path.read_bytes()
    num_samples = len(decode_file(PROGRAM, path, "mov").samples)
    fragments, at = [], data.index(b"moof") - 4
    while data[at + 4:at + 8] == b"moof":
        fragments.append(at)
        for _ in ("moof", "mdat"):
            at += struct.unpack(">I", data[at:at + 4])[0]
    bad = data[:fragments[4]] + data[fragments[5]:]
    path.write_bytes(bad)
    whole = decode_file(PROGRAM, path, "mov", strict=True)
    assert whole.error.startswith("is damaged after sample ")
    assert 0.3 * num_samples < len(whole.samples) < 0.5 * num_samples
    assert decode_pieces(PROGRAM, [bad[i:i + 3000] for i in range(0, len(bad), 3000)],
                         "mov", strict=True).error == whole.error
    lenient = decode_file(PROGRAM, path, "mov")
    assert lenient.error == "" and abs(len(lenient.samples) - num_samples) < 5000
    assert len(lenient.warnings) == 1 and lenient.warnings[0].startswith(
        "is damaged: packets are missing at byte ")
    # Other numbers are none of its signs.
    numbered = bytearray(data)
    for i, begin in enumerate(fragments):
        numbered[begin + 20:begin + 24] = struct.pack(">I", 7 * i)
    path.write_bytes(numbered)
    whole = decode_file(PROGRAM, path, "mov")
    assert (whole.error, len(whole.samples)) == ("", num_samples)


def test_damage_of_amr(tmp_path):
    rng = random.Random(1)
    data = b"#!AMR\n" + b"".join(b"\x3c" + rng.randbytes(31) for _ in range(500))
    path = tmp_path / "a.amr"
    path.write_bytes(data)
    assert len(decode_file(PROGRAM, path, "amr").samples) == 500 * 160
    for bad in (zeroed(data, 6006), data[:6006] + data[7015:]):
        path.write_bytes(bad)
        # Its frames have no mark by which the next one is found.
        assert decode_file(PROGRAM, path, "amr").error.startswith("is damaged after sample ")


@pytest.mark.parametrize("head, speech, pauses", [
    (b"#!AMR\n", b"\x3c" + bytes(31), [b"\x44" + bytes(5), b"\x7c"]),
    (b"#!AMR-WB\n", b"\x44" + bytes(60), [b"\x4c" + bytes(5), b"\x7c"])])
def test_pauses_of_amr_are_silence(tmp_path, head, speech, pauses):
    """A phone sends no speech while nobody speaks (DTX), which FFmpeg does not decode."""
    rng = random.Random(1)
    frames = [rng.choice([speech, *pauses]) for _ in range(300)]
    frames = [frame[:1] + rng.randbytes(len(frame) - 1) for frame in frames]
    path = tmp_path / "a.amr"
    path.write_bytes(head + b"".join(frames))
    found = decode_file(PROGRAM, path, "amr")
    assert (found.error, len(found.samples)) == ("", 300 * (160 if head == b"#!AMR\n" else 320))


@pytest.mark.parametrize("name, container, options", [
    file for file in DAMAGED_FILES if file[0] in ("opus.webm", "opus.ogg", "fragments.mp4")])
def test_pauses_are_silence(tmp_path, long_recording, name, container, options):
    """A recorder that pauses leaves a gap between the times of two packets."""
    path = tmp_path / name
    make(path, ["-af", "aselect='not(between(t,3,6))'", *options], long_recording)
    decoded = decode_file(PROGRAM, path, container)
    assert decoded.error == "" and abs(len(decoded.samples) / 48000 - 10) < 0.1
    assert np.abs(decoded.samples[int(3.2 * 48000):int(5.8 * 48000)]).max() < 1e-3


def test_what_stands_behind_a_recording_is_no_damage(tmp_path):
    tag = b"TAG" + bytes(125)
    for name, container, junk in (("adts.aac", "aac", tag), ("no_info.mp3", "mp3", tag),
                                  ("opus.ogg", "ogg", tag), ("index_in_front.m4a", "mov", tag),
                                  ("adts.aac", "aac", b"ID3\4" + bytes(6))):
        path = tmp_path / name
        make(path, next(file[2] for file in FILES if file[0] == name))
        num_samples = len(decode_file(PROGRAM, path, container).samples)
        path.write_bytes(path.read_bytes() + junk)
        decoded = decode_file(PROGRAM, path, container)
        assert (decoded.error, len(decoded.samples)) == ("", num_samples), name


def test_mpeg_audio_of_layer_2(tmp_path):
    path = tmp_path / "a.mp2"
    make(path, ["-c:a", "mp2"])
    decoded = decode_file(PROGRAM, path, "mp3")
    assert decoded.error == ""
    np.testing.assert_allclose(decoded.samples, ffmpeg_samples(path), atol=1e-4)


def ape_tag(size, kind, is_text=False):
    """A tag of APE version 2 with a header, of one with a footer alone, or of version 1."""
    body = struct.pack("<II", size, 2) + b"Cover Art (Front)\0" + random.Random(3).randbytes(size)
    if is_text:
        body = bytes(byte & 0x7F for byte in body)

    def head(flags):
        version = 1000 if kind == "version 1" else 2000
        return b"APETAGEX" + struct.pack("<IIII", version, len(body) + 32, 1, flags) + bytes(8)

    if kind in ("footer", "version 1"):
        return body + head(0)
    return head(0xA0000000) + body + head(0x80000000)


def lyrics(size):
    body = b"LYRICSBEGININD0000200LYR%05d" % size + b"la " * (size // 3)
    return body + b"%06dLYRICS200" % len(body)


ID3V1 = b"TAG" + bytes(125)
TAGS = {
    "small APE": ape_tag(100, "header"), "APE": ape_tag(10000, "header") + ID3V1,
    "large APE": ape_tag(60000, "header"), "footer": ape_tag(10000, "footer"),
    "large footer": ape_tag(60000, "footer") + ID3V1, "version 1": ape_tag(100, "version 1"),
    "Lyrics3": lyrics(3000) + ID3V1, "several": ape_tag(3000, "header") + lyrics(90) + ID3V1}
TAGS_BETWEEN = {
    "APE": ape_tag(10000, "header", True), "two": ape_tag(300, "header", True) + ID3V1,
    "footer": ape_tag(3000, "footer", True), "Lyrics3": lyrics(3000) + ID3V1,
    "several": ape_tag(300, "header", True) + lyrics(90) + ID3V1}


@pytest.mark.parametrize("name, container, tag", [
    (name, container, tag) for name, container in (("info.mp3", "mp3"), ("no_info.mp3", "mp3"),
                                                   ("adts.aac", "aac")) for tag in TAGS])
def test_tags_behind_a_recording(tmp_path, name, container, tag):
    path = tmp_path / name
    make(path, next(file[2] for file in FILES if file[0] == name))
    data = path.read_bytes()
    whole = decode_file(PROGRAM, path, container)
    path.write_bytes(data + TAGS[tag])
    tagged = decode_file(PROGRAM, path, container)
    assert (tagged.error, tagged.missing) == ("", 0)
    np.testing.assert_array_equal(tagged.samples, whole.samples)


@pytest.mark.parametrize("name, container, tag", [
    (name, container, tag)
    for name, container in (("info.mp3", "mp3"), ("no_info.mp3", "mp3"), ("adts.aac", "aac"))
    for tag in TAGS_BETWEEN])
def test_tags_between_recordings(tmp_path, name, container, tag):
    path = tmp_path / name
    make(path, next(file[2] for file in FILES if file[0] == name))
    data = path.read_bytes()
    num_samples = len(decode_file(PROGRAM, path, container).samples)
    path.write_bytes(data + TAGS_BETWEEN[tag] + data)
    joined = decode_file(PROGRAM, path, container)
    assert joined.error == "" and abs(len(joined.samples) - 2 * num_samples) < 3000


@pytest.mark.parametrize("name, container", [("no_info.mp3", "mp3"), ("adts.aac", "aac")])
def test_tags_of_streams_at_any_place_of_a_block(tmp_path, name, container):
    path = tmp_path / name
    make(path, next(file[2] for file in FILES if file[0] == name) + ["-t", "0.5"])
    data = path.read_bytes()
    whole = decode_pieces(PROGRAM, [data], container)
    for tag in (ape_tag(100, "header", True), ape_tag(60000, "header", True),
                lyrics(400) + ID3V1, bytes(30), bytes(5000), b"\r\n"):
        for size in (1, 31, 100) if len(tag) < 1000 else (511, 512, 1000):
            for lead in (0, 500, 511):
                # Blocks of 512 bytes end within the head of a tag of ID3, which stands before it.
                filler = b"ID3\4" + bytes(4) + bytes([lead // 128, lead % 128]) + bytes(lead)
                rest = filler + tag
                pieces = [data] + [rest[i:i + size] for i in range(0, len(rest), size)]
                stream = decode_pieces(PROGRAM, pieces, container)
                assert stream.error == ""
                np.testing.assert_array_equal(stream.samples, whole.samples)


@pytest.mark.parametrize("name, container", [
    ("info.mp3", "mp3"), ("no_info.mp3", "mp3"), ("adts.aac", "aac"), ("opus.webm", "matroska"),
    ("live.webm", "matroska"), ("opus.ogg", "ogg")])
def test_zeros_are_a_hole_only_before_audio(tmp_path, name, container):
    path = tmp_path / name
    make(path, next(file[2] for file in FILES if file[0] == name))
    data = path.read_bytes()
    whole = decode_file(PROGRAM, path, container)
    for count in 1, 30, 1000, 60000:
        path.write_bytes(data + bytes(count))
        decoded = decode_file(PROGRAM, path, container)
        assert (decoded.error, decoded.missing) == ("", 0), count
        extra = len(decoded.samples) - len(whole.samples)
        assert extra == 0 or name == "info.mp3" and 0 < extra < 1152
        np.testing.assert_array_equal(decoded.samples[:len(whole.samples)], whole.samples)
        stream = decode_pieces(PROGRAM, [data, bytes(count)], container)
        assert stream.error == "", count
    for count in 300, 70000:
        path.write_bytes(data[:len(data) // 2] + bytes(count) + data[len(data) // 2:])
        assert decode_file(PROGRAM, path, container, strict=True).error.startswith(
            "is damaged"), count
        holed = decode_file(PROGRAM, path, container)
        # Packets come again with the next page or cluster: here there may be none.
        least = 0.4 if container in ("ogg", "matroska") else 0.95
        assert holed.error == "" and least * len(whole.samples) < len(holed.samples)
        assert holed.warnings[0].startswith("is damaged: skipped "), count


@pytest.mark.parametrize("name, options", [
    ("aac.mka", ["-c:a", "aac"]), ("opus.webm", ["-c:a", "libopus", "-frame_duration", "2.5"]),
    ("alac.mka", ["-c:a", "alac"]), ("pcm.mkv", ["-c:a", "pcm_s16le"]),
    ("vorbis.mkv", ["-ar", "44100", "-c:a", "libvorbis"])])
def test_whole_matroska_misses_nothing(tmp_path, long_recording, name, options):
    path = tmp_path / name
    make(path, options, long_recording)
    whole = decode_file(PROGRAM, path, "matroska")
    assert (whole.error, whole.missing) == ("", 0)
    data = path.read_bytes()
    path.write_bytes(data[:len(data) // 2])
    cut = decode_file(PROGRAM, path, "matroska")
    assert cut.error == ""
    assert abs(len(cut.samples) + cut.missing - len(whole.samples)) < 0.3 * whole.rate_hz


def test_a_longer_video_is_no_missing_audio(tmp_path):
    path = tmp_path / "film.mkv"
    make(path, ["-f", "lavfi", "-i", "color=size=16x16:duration=20", "-c:v", "rawvideo",
                "-c:a", "libopus"])
    decoded = decode_file(PROGRAM, path, "matroska")
    assert (decoded.error, decoded.missing) == ("", 0)


def test_headers_in_a_chain_are_no_audio(tmp_path):
    """As of the program flac, whose streams of Ogg have headers of several packets."""
    if shutil.which("flac") is None:
        pytest.skip("no program flac")
    pieces = []
    for serial in "1", "2":
        pieces.append(subprocess.check_output(
            ["flac", "-s", "--ogg", f"--serial-number={serial}", "--padding=4000", "-c",
             RECORDINGS[0]]))
    path = tmp_path / "a.oga"
    path.write_bytes(pieces[0])
    alone = decode_file(PROGRAM, path, "ogg").samples
    for joined in (pieces[0] + pieces[1], pieces[0] + pieces[0]):
        path.write_bytes(joined)
        chain = decode_file(PROGRAM, path, "ogg")
        assert chain.error == ""
        np.testing.assert_array_equal(chain.samples, np.concatenate([alone, alone]))


def test_damaged_files_never_hang_or_crash(tmp_path):
    """Changed bytes give samples or one error. The process itself must not end by a signal."""
    rng = random.Random(1)
    for name, container, options in FILES:
        path = tmp_path / name
        make(path, options + ["-t", "0.5"])
        good = path.read_bytes()
        for _ in range(6):
            data = bytearray(good[:rng.randint(len(good) // 2, len(good))])
            for _ in range(rng.randint(1, 20)):
                begin = min(int(rng.expovariate(6) * len(data)), len(data) - 1)
                data[begin] = rng.randrange(256)
            path.write_bytes(data)
            decoded = decode_file(PROGRAM, path, container)  # EOFError: it ended without a reply
            assert "\n" not in decoded.error
            assert np.isfinite(decoded.samples).all() or container in ("mov", "matroska")


def test_it_ends_with_the_program_that_started_it():
    """Also when it is not reading: the other end of its socket is closed."""
    with MediaProgram(PROGRAM, "stream", "mp3") as media:
        assert media.read() == HUNGRY
        media.socket.close()
        assert media.process.wait(timeout=60) != 0


def may_end_first() -> bool:
    """Whether the system lets a process offer its memory; some containers do not."""
    return subprocess.run(["sh", "-c", "echo 1000 >/proc/self/oom_score_adj"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def test_the_process_is_limited(tmp_path):
    with MediaProgram(PROGRAM, "stream", "mp3") as media:
        assert media.read() == HUNGRY
        proc = pathlib.Path(f"/proc/{media.process.pid}")
        limits = {line[:25].strip(): line[26:].split()[0]
                  for line in (proc / "limits").read_text(encoding="ascii").splitlines()[1:]}
        assert limits["Max core file size"] == limits["Max file size"] == "0"
        if "RUNNEL_SANITIZE" not in os.environ:
            assert limits["Max open files"] == "3"
            assert limits["Max data size"] == str(128 << 20)
        assert limits["Max cpu time"] == "3600"
        if may_end_first():
            assert (proc / "oom_score_adj").read_text(encoding="ascii") == "1000\n"
        assert "NoNewPrivs:\t1" in (proc / "status").read_text(encoding="ascii")
        assert sorted(os.listdir(proc / "fd")) == ["0", "1", "2"]


@pytest.mark.parametrize("name, options", [
    ("a.m4a", ["-c:a", "alac", "-ar", "192000"]), ("b.m4a", ["-c:a", "aac", "-ar", "96000"]),
    ("a.oga", ["-c:a", "flac", "-ar", "192000"]), ("a.ogg", ["-c:a", "libvorbis", "-ar", "192000"]),
    ("a.webm", ["-c:a", "libopus"]), ("a.mka", ["-c:a", "pcm_f32le", "-ar", "192000"])])
def test_the_largest_formats_have_enough_memory(tmp_path, name, options):
    make(tmp_path / name, ["-ac", "8", *options])
    container = {"m4a": "mov", "oga": "ogg", "ogg": "ogg"}.get(name[2:], "matroska")
    decoded = decode_file(PROGRAM, tmp_path / name, container)
    assert (decoded.error, decoded.channels) == ("", 8) and len(decoded.samples) > 10000


def test_replies_are_all_that_is_written(tmp_path):
    """Nothing of FFmpeg's complaints."""
    path = tmp_path / "file"
    path.write_bytes(b"ID3\4" + bytes(range(256)) * 50)
    with open(path, "rb") as file, MediaProgram(PROGRAM, "file", "mp3", file=file) as media:
        assert media.read() in (ERROR, END)
