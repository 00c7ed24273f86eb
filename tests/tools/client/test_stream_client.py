"""stream_client as a user runs it: protocols, pace, lost connections, and errors."""

import base64
import contextlib
import hashlib
import json
import re
import socket
import struct
import subprocess
import threading

import numpy as np
import pytest
import soundfile

from audio_files import audio_file
from cutting_proxy import CuttingProxy
from server_process import FILES, LONGEST, TEXTS, Server, samples_of, start
from tool_runner import (FAILURE, ROOT, SAMPLE_LIST, SAMPLES, SUCCESS, USAGE, command, error_line,
                         run, succeed)

LIST = f"--wav_scp={SAMPLE_LIST}"
ALL_TEXTS = (SAMPLES / "text").read_text(encoding="utf-8")
FAST = "--speed=0"


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory):
    store = tmp_path_factory.mktemp("snapshots")
    with Server(f"--snapshot_store={store}", "--snapshot_interval_s=0.5") as server:
        yield server


def address(server, scheme="ws"):
    return f"--server={scheme}://127.0.0.1:{server.port}/"


@pytest.mark.parametrize("options", [
    [], ["--packet_ms=7"], ["--packet_ms=5000"], ["--encoding=float32"], ["--sample_rate=16000"],
    ["--encoding=mulaw"], ["--encoding=alaw", "--sample_rate=8000"], ["--encoding=opus"],
    ["--encoding=opus", "--sample_rate=8000", "--packet_ms=20"],
    ['--options={"search":"beam","beam_size":4,"nbest":2}'],
    ["--protocol=wenet"], ["--protocol=sherpa"], ["--protocol=deepgram"],
    ["--protocol=openai"]], ids=lambda options: " ".join(options))
def test_texts_in_order(server, options):
    assert succeed("stream_client", address(server), LIST, FAST, *options) == ALL_TEXTS


def test_partials_grow_into_the_text(server):
    """Text comes while the pipe is open: of each quarter before the next is written."""
    wav = audio_file(*samples_of(LONGEST), "WAV", "PCM_16")
    quarter = len(wav) // 4
    with subprocess.Popen(
            command("stream_client", address(server), "--wav=-", FAST, "--partial",
                    "--chunk_size=8", "--left_context=64"),
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE) as client:
        lines = []
        for number in range(3):
            client.stdin.write(wav[number * quarter:(number + 1) * quarter])
            client.stdin.flush()
            while not lines or len(lines[-1].split()[2:]) < 2 * number + 1:  # words of the text
                lines.append(client.stderr.readline().decode())
                assert lines[-1], "stream_client ended early"
        client.stdin.write(wav[3 * quarter:])
        client.stdin.close()
        lines += client.stderr.read().decode().splitlines()
        out = client.stdout.read().decode()
    assert client.returncode == SUCCESS and out == f"stdin {TEXTS[LONGEST]}\n"
    partials = [re.fullmatch(r"stdin partial: (.*)\n?", line)[1] for line in lines]
    assert len(set(partials)) == len(partials)
    assert all(TEXTS[LONGEST].startswith(partial.strip()) for partial in partials)


@pytest.mark.parametrize("options", [[], ["--encoding=mulaw"], ["--encoding=opus"]],
                         ids=lambda options: " ".join(options))
def test_standard_input_as_it_comes(server, options):
    """Partial text comes while the pipe is still open."""
    wav = FILES["rms_telephone"].read_bytes()
    with subprocess.Popen(
            command("stream_client", address(server), "--wav=-", FAST, "--partial", *options),
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE) as client:
        client.stdin.write(wav[:-4000])
        client.stdin.flush()
        assert client.stderr.readline().startswith(b"stdin partial: ")
        out, _ = client.communicate(wav[-4000:])
    assert out.decode() == f"stdin {TEXTS['rms_telephone']}\n"


@pytest.mark.parametrize("cuts", [[200], [60000], [60000, 300, 0, 20000, 20000]],
                         ids=["before audio", "once", "again and again"])
def test_lost_connections(server, cuts):
    with CuttingProxy(server.port, cuts) as proxy:
        done = run("stream_client", address(proxy), f"--wav={FILES[LONGEST]}", "--speed=8",
                   "--packet_ms=20", "--resume")
    assert done.returncode == SUCCESS, done.stderr
    assert done.stdout == f"{LONGEST} {TEXTS[LONGEST]}\n"
    assert done.stderr.count(f"stream_client: {LONGEST}: trying again: ") == len(cuts)


@pytest.mark.parametrize("encoding, cuts", [("mulaw", [25000, 300, 10000]),
                                            ("opus", [7000]), ("opus", [5000, 300, 0, 1200])])
def test_lost_connections_of_compressed_audio(server, encoding, cuts):
    """The audio is encoded again from the sample where the server goes on."""
    with CuttingProxy(server.port, cuts) as proxy:
        done = run("stream_client", address(proxy), f"--wav={FILES[LONGEST]}", "--speed=8",
                   "--packet_ms=20", "--resume", f"--encoding={encoding}")
    assert done.returncode == SUCCESS, done.stderr
    assert done.stdout == f"{LONGEST} {TEXTS[LONGEST]}\n"
    assert done.stderr.count(f"stream_client: {LONGEST}: trying again: ") == len(cuts)


@pytest.fixture(scope="module", name="spoken")
def _spoken(tmp_path_factory):
    """Recordings with two seconds of silence after each, and their texts."""
    names = [name for name in TEXTS if samples_of(name)[1] == 16000]
    silence = np.zeros(32000, dtype=np.float32)
    samples = np.concatenate([part for name in names for part in (samples_of(name)[0], silence)])
    path = tmp_path_factory.mktemp("audio") / "spoken.wav"
    soundfile.write(path, samples, 16000, subtype="PCM_16")
    return path, [TEXTS[name] for name in names]


@pytest.mark.parametrize("protocol", ["runnel", "deepgram", "wenet", "sherpa"])
def test_utterances(server, spoken, protocol):
    path, texts = spoken
    flags = [address(server), f"--wav={path}", FAST, f"--protocol={protocol}"]
    assert succeed("stream_client", *flags, "--endpointing") == "".join(
        f"spoken-{i:04d} {text}\n" for i, text in enumerate(texts, 1))
    assert succeed("stream_client", *flags) == f"spoken {' '.join(texts)}\n"


def test_an_utterance_is_printed_when_it_ends(server, spoken):
    path, texts = spoken
    wav = path.read_bytes()
    with subprocess.Popen(
            command("stream_client", address(server), "--wav=-", FAST, "--endpointing"), cwd=ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
        client.stdin.write(wav[:-4000])
        client.stdin.flush()
        for i, text in enumerate(texts[:-1], 1):
            assert client.stdout.readline().decode() == f"stdin-{i:04d} {text}\n"
        out, _ = client.communicate(wav[-4000:])
    assert out.decode() == f"stdin-{len(texts):04d} {texts[-1]}\n"


def test_silence_is_a_line_without_text(server, tmp_path):
    soundfile.write(tmp_path / "silence.wav", np.zeros(48000), 16000, subtype="PCM_16")
    assert succeed("stream_client", address(server), f"--wav={tmp_path}/silence.wav", FAST,
                   "--endpointing") == "silence\n"


@pytest.mark.parametrize("store", [True, False], ids=["resumed", "begun anew"])
def test_lost_connections_lose_no_utterance(server, spoken, store):
    path, texts = spoken
    with contextlib.ExitStack() as stack:
        if not store:
            server = stack.enter_context(Server("--snapshot_store=none"))
        cuts = [150000, 200000, None, 100000] if store else [150000, None]
        answers = [None, None, 1500] if store else [None, 2500]
        proxy = stack.enter_context(CuttingProxy(server.port, cuts, answers))
        done = run("stream_client", address(proxy), f"--wav={path}", "--speed=8", "--endpointing",
                   "--resume")
    assert done.returncode == SUCCESS, done.stderr
    assert done.stdout == "".join(f"spoken-{i:04d} {text}\n" for i, text in enumerate(texts, 1))
    assert done.stderr.count("stream_client: spoken: trying again: ") >= 2


def test_lost_connection_to_a_server_without_snapshots():
    """The recording is sent again from its beginning."""
    with Server("--snapshot_store=none") as server, CuttingProxy(server.port, [60000]) as proxy:
        done = run("stream_client", address(proxy), f"--wav={FILES[LONGEST]}", FAST, "--resume")
    assert done.returncode == SUCCESS, done.stderr
    assert done.stdout == f"{LONGEST} {TEXTS[LONGEST]}\n"
    assert done.stderr.count(f"stream_client: {LONGEST}: trying again: ") == 1


def test_next_server(server):
    """A list of servers, the first of which does not exist."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    flag = f"--server=ws://127.0.0.1:{port}/,ws://127.0.0.1:{server.port}/"
    wav = f"--wav={FILES['diogo_one_word']}"
    done = run("stream_client", flag, wav, FAST, "--resume")
    assert done.stdout == "diogo_one_word seven\n" and "connection refused" in done.stderr
    assert "connection refused" in error_line(run("stream_client", flag, wav, FAST), FAILURE)
    assert "connection refused" in run(
        "stream_client", f"--server=ws://127.0.0.1:{port}/", wav, "--resume",
        "--retry_s=0.3").stderr.splitlines()[-1]


READY = {"type": "ready", "version": 1, "session": "s", "sample_rate": 16000, "encoding": "pcm16",
         "chunk_size": 16, "left_context": 64, "frame_ms": 40.0, "model": "m", "resume": True}


class Script:
    """A server that sends the same messages to every client and then closes."""

    def __init__(self, *messages):
        self.messages, self.count = messages, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def _serve(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            # The client may have disconnected.
            with client, client.makefile("rb") as lines, contextlib.suppress(OSError):
                head = dict(line.split(b": ") for line in iter(lines.readline, b"\r\n")
                            if b": " in line)
                key = head[b"Sec-WebSocket-Key"].strip() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
                accept = base64.b64encode(hashlib.sha1(key).digest())
                client.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                               b"Connection: Upgrade\r\nSec-WebSocket-Accept: " + accept
                               + b"\r\n\r\n")
                self.count += 1
                for message in self.messages:
                    text = json.dumps(message).encode()
                    size = (struct.pack("!B", len(text)) if len(text) < 126
                            else struct.pack("!BH", 126, len(text)))
                    client.sendall(b"\x81" + size + text)
                client.sendall(struct.pack("!BBH", 0x88, 2, 1011))
                client.shutdown(socket.SHUT_WR)
                while lines.read1():  # the messages of the client
                    pass


def partial(audio_ms):
    return {"type": "partial", "stable_text": "one", "tentative_text": "", "stable_offset": 0,
            "stable_length": 3, "audio_ms": audio_ms, "latency_ms": 1.0}


@pytest.mark.parametrize("before", [[], [partial(640.0)],
                                    [partial(640.0), {"type": "snapshot", "token": "t",
                                                      "samples": 10000}]],
                         ids=["at once", "after a partial", "after a snapshot"])
@pytest.mark.parametrize("code", ["stream_failed", "internal"])
def test_failures_that_stay_are_not_tried_for_ever(code, before):
    error = {"type": "error", "code": code, "message": "so it is"}
    with Script(READY, *before, error) as script:
        done = run("stream_client", address(script), f"--wav={FILES['diogo_one_word']}", FAST,
                   "--resume", "--retry_s=1")
    assert done.returncode == FAILURE and not done.stdout
    assert f"the server's error {code}: so it is" in done.stderr.splitlines()[-1]
    if code == "stream_failed":
        assert script.count == 2
    else:  # delays from 0.1 s, doubled each time, for a second
        assert 2 <= script.count <= 4


def test_lost_connection_without_resume(server):
    with CuttingProxy(server.port, [60000]) as proxy:
        line = error_line(run("stream_client", address(proxy), f"--wav={FILES[LONGEST]}", FAST),
                          FAILURE)
    assert f"{LONGEST}: ws://127.0.0.1:{proxy.port}/: " in line


def test_what_cannot_be_read_is_left_out(server, tmp_path):
    (tmp_path / "broken.flac").write_bytes(b"fLaC" + bytes(100))
    flac = FILES["ked_year"].read_bytes()
    (tmp_path / "cut.flac").write_bytes(flac[:len(flac) // 2])
    listing = tmp_path / "wav.scp"
    listing.write_text(f"broken {tmp_path}/broken.flac\ngood {FILES['diogo_one_word']}\n"
                       f"missing {tmp_path}/none.wav\ncut {tmp_path}/cut.flac\n", encoding="utf-8")
    done = run("stream_client", address(server), f"--wav_scp={listing}", FAST)
    assert done.returncode == FAILURE and done.stdout == "good seven\n"
    lines = done.stderr.splitlines()
    assert len(lines) == 3
    for line, name in zip(lines, ["broken.flac", "none.wav", "cut.flac"]):
        assert line.startswith("stream_client: ") and name in line


def test_what_was_cut_off_is_named(server, tmp_path):
    recording = tmp_path / "cut.wav"
    soundfile.write(recording, np.zeros(4 * 16000), 16000, "PCM_16")
    recording.write_bytes(recording.read_bytes()[:44 + 2 * 32000])
    done = run("stream_client", address(server), f"--wav={recording}")
    assert done.returncode == SUCCESS
    assert (f"stream_client: {recording}: ends after 2.00 s, its header announces 4.00 s"
            in done.stderr.splitlines())


def test_refusals(server, tmp_path):
    wav = f"--wav={FILES['diogo_one_word']}"
    (tmp_path / "token").write_text("secret\n", encoding="utf-8")
    with Server(f"--bearer_token_file={tmp_path}/token", "--max_streams=1") as closed:
        flags = [address(closed), wav, FAST]
        assert "HTTP status 401: unauthorized: " in error_line(run("stream_client", *flags),
                                                               FAILURE)
        assert succeed("stream_client", *flags, "--bearer_token=secret") == "diogo_one_word seven\n"
        with_token = [*flags, f"--bearer_token_file={tmp_path}/token"]
        assert succeed("stream_client", *with_token) == "diogo_one_word seven\n"
        (tmp_path / "empty").write_text("", encoding="utf-8")
        for name, reason in {"empty": "expected a token",
                             "missing": "cannot open: No such file"}.items():
            assert f"{tmp_path}/{name}: {reason}" in error_line(
                run("stream_client", *flags, f"--bearer_token_file={tmp_path}/{name}"), FAILURE)
        with closed.open(headers={"Authorization": "Bearer secret"}) as other:
            start(other)
            assert "HTTP status 503: full: " in error_line(run("stream_client", *with_token),
                                                           FAILURE)
    line = error_line(run("stream_client", address(server), wav, "--chunk_size=0"), FAILURE)
    assert "the server's error bad_option: " in line and "chunk_size" in line
    for options, word in (('{"head":"transducer"}', "head"), ('{"haed":"ctc"}', "haed"),
                          ('{"chunk_size":0}', "chunk_size")):  # which replaces the flag's
        line = error_line(run("stream_client", address(server), wav, "--chunk_size=8",
                              f"--options={options}"), FAILURE)
        assert "the server's error bad_option: " in line and word in line


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
                                    b"SSH-2.0-OpenSSH_9.2\r\n\r\n"], ids=["silent", "http", "ssh"])
@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_what_is_no_server_of_ours(answer, scheme):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held = []

        def accept():
            connection = listener.accept()[0]
            held.append(connection)
            connection.sendall(answer)

        thread = threading.Thread(target=accept)
        thread.start()
        port = listener.getsockname()[1]
        line = error_line(run("stream_client", f"--server={scheme}://127.0.0.1:{port}/",
                              f"--wav={FILES['diogo_one_word']}", "--timeout_s=0.3"), FAILURE)
        thread.join()
        held[0].close()
    assert f"{scheme}://127.0.0.1:{port}/: " in line
    if not answer:
        assert line.endswith("no answer for 0.3 s")


def make_certificate(folder, name="localhost"):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName=DNS:{name}", "-keyout", folder / "key.pem", "-out",
                    folder / "certificate.pem"], check=True, stderr=subprocess.DEVNULL)


def test_tls(tmp_path):
    make_certificate(tmp_path)
    wav = f"--wav={FILES['diogo_one_word']}"
    trust = f"--ca_file={tmp_path}/certificate.pem"
    with Server(f"--tls_certificate={tmp_path}/certificate.pem",
                f"--tls_key={tmp_path}/key.pem") as server:
        flags = [f"--server=wss://localhost:{server.port}/", wav, FAST]
        for protocol in "runnel", "deepgram", "openai", "wenet", "sherpa":
            assert succeed("stream_client", *flags, trust,
                           f"--protocol={protocol}") == "diogo_one_word seven\n"
        assert succeed("stream_client", *flags, "--insecure") == "diogo_one_word seven\n"
        for wrong in [flags, [address(server, "wss"), wav, trust]]:  # authority; name
            assert "certificate verify failed" in error_line(run("stream_client", *wrong), FAILURE)
        plain = error_line(run("stream_client", address(server), wav), FAILURE)
        assert f"ws://127.0.0.1:{server.port}/: " in plain
    assert "cannot read certificates" in error_line(
        run("stream_client", "--server=wss://localhost/", wav, f"--ca_file={tmp_path}/none.pem"),
        FAILURE)


@pytest.mark.parametrize("flags, message", [
    ([], "--server is missing"),
    (["--server=ws://h/"], "--wav and --wav_scp are both missing"),
    (["--server=h:1", "--wav=a"], "server URL 'h:1' has no scheme"),
    (["--server=ws://h/,", "--wav=a"], "server URL '' has no scheme"),
    (["--server=ws://h/", "--wav=a", "--protocol=kaldi"], "--protocol is 'kaldi', expected"),
    (["--server=ws://h/", "--wav=a", "--speed=-1"], "--speed is -1, expected at least 0"),
    (["--server=ws://h/", "--wav=a", "--packet_ms=0"], "--packet_ms is 0, expected at least"),
    (["--server=ws://h/", "--wav=a", "--timeout_s=0"],
     "--timeout_s is 0, expected at least 0.01 s"),
    (["--server=ws://h/", "--wav=a", "--protocol=wenet", "--resume"], "--resume needs --protocol"),
    (["--server=ws://h/", "--wav=a", "--protocol=openai", "--endpointing"],
     "--endpointing needs another protocol than openai"),
    (["--server=ws://h/", "--wav=a", "--protocol=wenet", "--chunk_size=4"], "--chunk_size needs"),
    (["--server=ws://h/", "--wav=a", "--protocol=wenet", "--options={}"], "--options needs"),
    (["--server=ws://h/", "--wav=a", '--options={"head":'], "expected a JSON object such as"),
    (["--server=ws://h/", "--wav=a", '--options=["head"]'], "expected a JSON object such as"),
    (["--server=ws://h/", "--wav=a", '--options={"encoding":"opus"}'],
     "--options has the field 'encoding', which"),
    (["--server=ws://h/", "--wav=a", "--protocol=sherpa", "--encoding=pcm16"], "--encoding=pcm16"),
    (["--server=ws://h/", "--wav=a", "--encoding=mp3"], "--encoding is 'mp3', expected"),
    (["--server=ws://h/", "--wav=a", "--encoding=opus", "--packet_ms=100"],
     "--packet_ms is 100.000, expected 20 with --encoding=opus"),
    (["--server=ws://h/", "--wav=a", "--encoding=opus", "--sample_rate=44100"],
     "--sample_rate is 44100, expected 8000, 12000, 16000, 24000 or 48000 with --encoding=opus"),
    (["--server=ws://h/", "--wav=a", "--protocol=wenet", "--encoding=opus"], "--encoding=opus"),
    (["--server=ws://h/", "--wav=a", "--insecure", "--ca_file=c"], "--insecure and --ca_file"),
    (["--server=ws://h/", "--wav=a", "--bearer_token=a", "--bearer_token_file=b"],
     "--bearer_token and --bearer_token_file"),
])
def test_wrong_flags(flags, message):
    assert message in error_line(run("stream_client", *flags), USAGE)
