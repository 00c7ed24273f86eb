"""Recordings of browsers, phones and applications, whole and live, and files where samples are
expected. Files of other programs than libsndfile need ffmpeg."""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

from audio_files import audio_file
from server_process import TEXTS, Server, cut, retry, samples_of
from tools.benchmark.soak.attack_client import BINARY, Target, frame, web_socket
from tool_runner import SAMPLES
from websocket_client import Closed, request

NAME = "ked_year"
PROGRAM = pathlib.Path(os.environ["RUNNEL_BIN_DIR"]) / "media_decoder"
# Names and options of ffmpeg; whether a stream can be decoded as it comes.
RECORDINGS = [
    ("browser.webm", ["-c:a", "libopus", "-live", "1"], True),
    ("browser.mp4", ["-c:a", "libopus", "-movflags", "frag_keyframe+empty_moov"], True),
    ("phone.m4a", ["-c:a", "aac", "-b:a", "96k"], False),
    ("phone.aac", ["-c:a", "aac", "-b:a", "96k"], True),
    ("a.mp3", ["-c:a", "libmp3lame"], True),
    ("flac.oga", ["-c:a", "flac", "-f", "ogg"], True),
    ("vorbis.ogg", ["-c:a", "libvorbis", "-ar", "44100"], True),
    ("high.wav", ["-ar", "96000"], True),
    ("higher.flac", ["-ar", "192000"], True),
    ("broadcast.ts", ["-c:a", "mp2"], True),
    ("film.avi", ["-c:a", "pcm_s16le"], True),
    ("stream.flv", ["-c:a", "aac", "-b:a", "96k"], True),
    ("windows.wma", ["-c:a", "wmav2", "-b:a", "96k"], True),
]


@pytest.fixture(scope="module", name="server")
def _server():
    with Server() as server:
        yield server


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    if not PROGRAM.exists() or shutil.which("ffmpeg") is None:
        pytest.skip("no media_decoder, or no ffmpeg to make files with")
    folder = tmp_path_factory.mktemp("recordings")
    for name, options, _ in RECORDINGS:
        subprocess.run(["ffmpeg", "-v", "error", "-i", SAMPLES / f"{NAME}.flac", *options,
                        folder / name], check=True)
    return folder


def listen(server, data, size=701):
    """Sends a stream of Deepgram's clients; its text, or why it was closed."""
    with server.open("/v1/listen") as socket:
        for piece in cut(data, [size]):
            socket.send_bytes(piece)
        socket.send_json(type="CloseStream")
        texts = []
        try:
            while True:
                message = socket.receive_json()
                if message["type"] == "Results":
                    texts.append(message["channel"]["alternatives"][0]["transcript"])
        except Closed as closed:
            return closed.reason or " ".join(text for text in texts if text)


def vosk(server, data):
    """The same of Vosk's clients."""
    with server.open("/vosk") as socket:
        socket.send_json(config={"sample_rate": 16000})
        for piece in cut(data, [701]):
            socket.send_bytes(piece)
        socket.send_json(eof=1)
        texts = []
        try:
            while True:
                texts.append(socket.receive_json().get("text"))
        except Closed as closed:
            return closed.reason or " ".join(text for text in texts if text)


@pytest.mark.parametrize("name, streams", [(name, streams) for name, _, streams in RECORDINGS])
def test_recordings(server, folder, name, streams):
    data = (folder / name).read_bytes()
    answer = request(server.port, "/v1/recognize", "POST", data)
    assert (answer.status, answer.json()["text"]) == (200, TEXTS[NAME])
    for send in listen, vosk:
        got = send(server, data)
        if streams:
            assert got == TEXTS[NAME]
        else:
            assert "the audio is MP4 and has its index at its end, expected at its beginning" in got


@pytest.mark.parametrize("name, options", [
    ("pause.webm", ["-c:a", "libopus", "-live", "1"]), ("pause.ogg", ["-c:a", "libopus"]),
    ("pause.oga", ["-c:a", "flac", "-f", "ogg"]), ("pause.ts", ["-c:a", "mp2"]),
    ("pause.mp4", ["-c:a", "aac", "-movflags", "frag_keyframe+empty_moov"])])
def test_a_pause_of_the_recorder_is_silence(server, folder, name, options):
    """The second half of a stream comes 5 s later, as its packets say, and pieces are small."""
    recording = str(SAMPLES / f"{NAME}.flac")
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", recording, "-i", recording,
                    "-filter_complex", "[0][1]concat=v=0:a=1,asetpts=PTS+gte(T\\,1.88)*5/TB",
                    *options, folder / name], check=True)
    words = []
    with server.open("/v1/listen") as socket:
        for piece in cut((folder / name).read_bytes(), [113]):
            socket.send_bytes(piece)
        socket.send_json(type="CloseStream")
        while (message := socket.receive_json())["type"] == "Results":
            words += message["channel"]["alternatives"][0]["words"]
    starts = [word["start"] for word in words]
    assert len(starts) >= 8
    gaps = np.diff(starts)
    assert 5 < gaps.max() < 7.5 and sorted(gaps)[-2] < 2
    answer = request(server.port, "/v1/recognize", "POST", (folder / name).read_bytes()).json()
    assert answer["audio_ms"] == pytest.approx(message["duration"] * 1000, abs=120)


def test_an_audio_track_is_chosen(server, folder):
    path = folder / "two.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", SAMPLES / f"{NAME}.flac", "-f", "lavfi",
                    "-i", "anullsrc=duration=2", "-map", "0:a", "-map", "1:a", path], check=True)
    data = path.read_bytes()
    for query, text, warns in (("", TEXTS[NAME], True), ("?audio_track=0", TEXTS[NAME], False),
                               ("?audio_track=1", "", False)):
        answer = request(server.port, f"/v1/recognize{query}", "POST", data).json()
        assert (answer["text"], "warnings" in answer) == (text, warns)
    for config in {}, {"max_alternatives": 1}:
        with server.open("/vosk") as socket:
            socket.send_json(config=config)
            socket.send_bytes(data)
            assert "warnings" not in socket.receive_json()
            socket.send_json(eof=1)
            warning, = socket.receive_json()["warnings"]
            assert warning.startswith("the audio: has 2 audio tracks")
    for query, message in (("2", "the recording: is WebM or Matroska and has 2 audio tracks, "
                                 "expected track 2 (counted from 0)"),
                           ("x", "query: audio_track is 'x', expected a track counted from 0")):
        answer = request(server.port, f"/v1/recognize?audio_track={query}", "POST", data)
        assert (answer.status, answer.json()["error"]["message"]) == (400, message)


@pytest.mark.parametrize("send", [listen, vosk])
def test_wav_files_after_each_other(server, send):
    samples, rate = samples_of(NAME)
    wav = audio_file(samples, rate, "WAV", "PCM_16")
    text = TEXTS[NAME]
    assert send(server, wav + wav) == f"{text} {text}"
    other = audio_file(samples, 8000, "WAV", "PCM_16")
    assert ("the WAV audio: another file of 8000 Hz, 1 channels, pcm16, expected 16000 Hz" in
            send(server, wav + other))
    assert "behind the samples" in send(server, wav + b"something else")


@pytest.mark.parametrize("first, second, name", [
    ("browser.webm", "high.wav", "a WAV file"), ("browser.webm", "higher.flac", "FLAC"),
    ("browser.webm", "a.mp3", "MP3"), ("browser.mp4", "browser.webm", "WebM or Matroska"),
    ("phone.aac", "high.wav", "a WAV file"), ("a.mp3", "browser.webm", "WebM or Matroska"),
    ("a.mp3", "phone.aac", "AAC (ADTS)"), ("vorbis.ogg", "flac.oga", "Ogg FLAC"),
    ("high.wav", "browser.webm", "WebM or Matroska"), ("high.wav", "browser.mp4", "MP4"),
    ("high.wav", "vorbis.ogg", "Ogg"), ("high.wav", "phone.aac", "AAC (ADTS)"),
    ("higher.flac", "high.wav", "a WAV file")])
def test_recordings_behind_others(server, folder, first, second, name):
    """Whole and live, one message says what follows."""
    data = (folder / first).read_bytes() + (folder / second).read_bytes()
    answer = request(server.port, "/v1/recognize", "POST", data)
    assert answer.status == 400
    assert f"another recording ({name}" in answer.json()["error"]["message"]
    for send in listen, vosk:
        assert f"another recording ({name}" in send(server, data)


@pytest.mark.parametrize("first, second", [("browser.webm", "high.wav"), ("flac.oga", "high.wav"),
                                           ("higher.flac", "browser.mp4")])
def test_any_cut_gives_the_same_answer(server, folder, first, second):
    data = (folder / first).read_bytes() + (folder / second).read_bytes()
    answers = {listen(server, data, size) for size in (61, 512, 4099, 60000)}
    assert len(answers) == 1 and "is followed by another recording (" in answers.pop()


def children(server):
    pids = pathlib.Path(f"/proc/{server.process.pid}/task").glob("*/children")
    found = []
    for path in pids:
        with contextlib.suppress(OSError):  # the thread has ended
            found += path.read_text(encoding="ascii").split()
    return found


def test_one_process_for_each_stream(server, folder):
    """It is gone when the stream is."""
    data = (folder / "browser.webm").read_bytes()
    server.wait_for(lambda _: not children(server))
    with server.open("/v1/listen") as socket:
        socket.send_bytes(data[:len(data) // 2])
        server.wait_for(lambda _: len(children(server)) == 1)
    server.wait_for(lambda _: not children(server))


@pytest.fixture(scope="module", name="sleeper")
def _sleeper(tmp_path_factory):
    """A program that stands for a media_decoder that hangs."""
    path = tmp_path_factory.mktemp("sleeper") / "sleeper"
    path.write_text(f"#!{sys.executable}\nimport select\nsocket = select.poll()\n"
                    "socket.register(1, 0)\nsocket.poll()  # until the server has closed it\n",
                    encoding="utf-8")
    path.chmod(0o755)
    return path


FLAC = b"fLaC" + bytes(3000)  # only media_decoder reads it in a stream
MP4 = b"\0\0\0\x1cftypmp42" + bytes(3000)  # and of recordings this


def test_a_decoder_that_hangs_keeps_nobody_else(sleeper):
    environment = {"RUNNEL_MEDIA_DECODER": str(sleeper), "RUNNEL_MEDIA_PATIENCE_S": "3600"}
    samples, rate = samples_of(NAME)
    wav = audio_file(samples, rate, "WAV", "PCM_16")
    with Server("--max_streams_per_address=0", environment=environment) as server:
        hung = [server.open("/v1/listen") for _ in range(4)]
        for socket in hung:
            socket.send_bytes(FLAC)
        uploads = [threading.Thread(target=refused_upload, args=(server.port,), daemon=True)
                   for _ in range(4)]
        for upload in uploads:
            upload.start()
        server.wait_for(lambda _: len(children(server)) == 8)
        assert request(server.port, "/v1/recognize", "POST", wav).json()["text"] == TEXTS[NAME]
        assert listen(server, wav) == TEXTS[NAME]
        assert len(children(server)) == 8


def refused_upload(port):
    with contextlib.suppress(OSError, Closed):  # the server ends
        request(port, "/v1/recognize", "POST", MP4)


def test_a_decoder_that_hangs_is_one_error(sleeper):
    environment = {"RUNNEL_MEDIA_DECODER": str(sleeper), "RUNNEL_MEDIA_PATIENCE_S": "0.1"}
    expected = "and cannot be decoded (media_decoder made no progress for 0.1 s)"
    with Server(environment=environment) as server:
        assert listen(server, FLAC) == f"DATA-0000: the audio is FLAC {expected}"
        answer = request(server.port, "/v1/recognize", "POST", MP4)
        assert (answer.status, answer.json()["error"]["message"]) == (
            400, f"the recording: is MP4 {expected}")
        server.wait_for(lambda _: not children(server))


def test_places_of_processes(folder):
    data = (folder / "browser.webm").read_bytes()
    with Server("--max_media_streams=1") as server:
        with server.open("/v1/listen") as socket:
            socket.send_bytes(data[:len(data) // 2])
            server.wait_for(lambda _: len(children(server)) == 1)
            for send in listen, vosk:
                assert ("too many streams in a compressed format from this address; Ogg Opus has "
                        "room" in send(server, data))
            server.expect_rejections("media_streams_full", 2)
        server.wait_for(lambda _: not children(server))
        assert listen(server, data) == TEXTS[NAME]


def test_places_of_processes_are_shared(folder):
    """Those of streams that send no audio go to an address that has none."""
    data = (folder / "browser.webm").read_bytes()
    with Server("--max_media_streams=4") as server, contextlib.ExitStack() as stack:
        for source in ("127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3"):
            socket = stack.enter_context(web_socket(Target(server.port), source, "/v1/listen"))
            socket.send(frame(BINARY, data[:len(data) // 2]))
        server.wait_for(lambda _: len(children(server)) == 4)
        assert retry(lambda: listen(server, data) == TEXTS[NAME] or None)


def test_what_only_the_end_completes_has_no_bound(folder):
    """A minute of silence is a kilobyte of FLAC, which FFmpeg decodes at the end."""
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "anullsrc=r=48000", "-t", "60",
                    "-c:a", "flac", "-frame_size", "65535", folder / "silent.flac"], check=True)
    data = (folder / "silent.flac").read_bytes()
    with Server("--max_speed=0") as server:
        assert listen(server, data) == vosk(server, data) == ""


def complaint(socket):
    """The error message, or why the server closed."""
    try:
        while True:
            message = socket.receive_json()
            if message.get("type") == "error" or message.get("status") == "failed":
                return json.dumps(message)
    except Closed as closed:
        return closed.reason


@pytest.mark.parametrize("wav_rate, begin", [(8000, b""), (0, b"fLaC"), (0, b"OggS"),
                                             (0, b"\x1a\x45\xdf\xa3")])
def test_files_where_samples_are_expected(server, wav_rate, begin):
    file = begin + bytes(6400)
    name = {b"fLaC": "FLAC", b"OggS": "Ogg", b"": "a WAV file of 8000 Hz"}.get(
        begin, "WebM or Matroska")
    if wav_rate:
        file = audio_file(samples_of(NAME)[0], wav_rate, "WAV", "PCM_16")
    expected = f"the audio is {name}, expected pcm16 without a header"
    with server.open() as socket:  # Runnel's
        socket.send_json(type="start", version=1)
        assert socket.receive_json()["type"] == "ready"
        socket.send_bytes(file[:3200])
        assert expected in complaint(socket)
    with server.open() as socket:  # WeNet's
        socket.send_json(signal="start", nbest=1)
        socket.send_bytes(file[:3200])
        assert expected in complaint(socket)
    with server.open("/v1/realtime?model=digits") as socket:  # OpenAI's
        assert socket.receive_json()["type"] == "session.created"
        socket.send_json(type="input_audio_buffer.append",
                         audio=base64.b64encode(file[:3200]).decode())
        assert expected in complaint(socket)
