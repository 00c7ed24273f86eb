"""stream_server as clients see it: three protocols, recordings over HTTP, health and metrics."""

import json
import re

import numpy as np
import pytest
import soundfile

from audio_files import COMMON_FORMATS, FORMATS, audio_file, g711, opus_packets
from server_process import (FILES, LONGEST, TEXTS, Server, cut, pcm16, samples_of, speak, start)
from tool_runner import USAGE, FAILURE, DIGITS, SAMPLES, error_line, run, succeed
from websocket_client import CONTINUATION, BINARY, PING, PONG, connect, read_answer, request


@pytest.fixture(scope="module", name="server")
def _server():
    with Server() as server:
        yield server


@pytest.fixture(scope="module", name="at_16k")
def _at_16k():
    """A recording at the model's rate, for the protocols that leave the rate implicit."""
    name = next(name for name in TEXTS if samples_of(name)[1] == 16000)
    return name, samples_of(name)[0]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ["pcm16", "float32"])
def test_our_protocol(server, name, encoding):
    with server.open() as socket:
        assert speak(socket, name, encoding=encoding) == TEXTS[name]
        assert socket.close_code() == 1000


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_tokens_have_the_same_fields_everywhere(server, search):
    """The output of decode_wav, the reply of /v1/recognize and the messages of the WebSocket."""
    path, = SAMPLES.glob(f"{LONGEST}.*")
    expected = json.loads(succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}",
                                  f"--wav={path}", "--format=json", f"--search={search}"))
    answer = request(server.port, f"/v1/recognize?search={search}", "POST", path.read_bytes())
    samples, rate = samples_of(LONGEST)
    with server.open() as socket:
        start(socket, rate, search=search)
        socket.send_bytes(pcm16(samples))
        partial = socket.receive_until("partial")
        socket.send_json(type="finish")
        final = socket.receive_until("final")
    tokens = expected["nbest"][0]["tokens"]
    assert len(tokens) > 10 and tokens[-1]["frame"] > tokens[0]["frame"] > 0
    for token in tokens + partial["tokens"]:
        assert list(token) == ["text", "id", "frame", "start_ms", "end_ms", "confidence"]
    for result in answer.json(), final:
        assert json.dumps(result["nbest"]) == json.dumps(expected["nbest"])


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ["mulaw", "alaw"])
def test_telephone_audio(server, name, encoding):
    samples, rate = samples_of(name)
    with server.open() as socket:
        ready = start(socket, rate, encoding=encoding)
        assert ready["encoding"] == encoding and ready["sample_rate"] == rate
        for piece in cut(g711(samples, encoding), [1601]):
            socket.send_bytes(piece)
        socket.send_json(type="finish")
        assert socket.receive_until("final")["text"] == TEXTS[name]
        assert socket.close_code() == 1000


@pytest.mark.parametrize("options", [{}, {"sample_rate": 48000}, {"sample_rate": 8000}],
                         ids=["", "48000", "8000"])
def test_opus_packets(server, at_16k, options):
    name, samples = at_16k
    packets, _ = opus_packets(samples, 16000)
    with server.open() as socket:
        ready = start(socket, encoding="opus", **options)
        assert ready["encoding"] == "opus"
        assert ready["sample_rate"] == options.get("sample_rate", 16000)
        for packet in packets:
            socket.send_bytes(packet)
        socket.send_json(type="finish")
        final = socket.receive_until("final")
        assert final["text"] == TEXTS[name]
        assert final["audio_ms"] == pytest.approx(len(samples) / 16, abs=100)


def test_lost_opus_packets_take_their_time(server, at_16k):
    """Nothing is missing behind a loss, and the text before and after it is right."""
    name, samples = at_16k
    packets, _ = opus_packets(np.concatenate([samples, samples]), 16000)
    middle = len(packets) // 2
    packets[middle - 1] = packets[middle] = b""
    with server.open() as socket:
        start(socket, encoding="opus")
        for packet in packets:
            socket.send_bytes(packet)
        socket.send_json(type="finish")
        final = socket.receive_until("final")
        assert final["text"] == f"{TEXTS[name]} {TEXTS[name]}"
        assert final["audio_ms"] == pytest.approx(2 * len(samples) / 16, abs=100)


@pytest.mark.parametrize("sizes", [[1], [3201], [7, 1, 4000, 2], [10 ** 6], [0, 3200]])
def test_any_packets(server, sizes):
    name = "diogo_one_word" if sizes == [1] else LONGEST
    with server.open() as socket:
        assert speak(socket, name, sizes) == TEXTS[name]


def test_fragmented_message(server):
    samples, rate = samples_of(LONGEST)
    pieces = cut(pcm16(samples), [999])
    with server.open() as socket:
        start(socket, rate)
        for i, piece in enumerate(pieces):
            socket.send_frame(CONTINUATION if i else BINARY, piece, final=i == len(pieces) - 1)
            if i % 10 == 0:
                socket.send_frame(PING, b"between")
        socket.send_json(type="finish")
        pongs = 0
        while True:
            opcode, payload = socket.receive_frame()
            pongs += opcode == PONG
            if b'"final"' in payload:
                break
        assert json.loads(payload)["text"] == TEXTS[LONGEST] and pongs > 0


@pytest.mark.parametrize("search", [{}, {"search": "beam", "beam_size": 4}],
                         ids=["greedy", "beam"])
def test_partials_build_the_final_text(server, search):
    samples, rate = samples_of(LONGEST)
    with server.open() as socket:
        ready = start(socket, rate, chunk_size=4, **search)
        assert ready["chunk_size"] == 4 and ready["model"] == "digits"
        stable, num_stable = "", 0
        for part in np.array_split(samples, 6):
            socket.send_bytes(pcm16(part))
            message = socket.receive_json()  # of this part or of one before
            assert message["type"] == "partial"
            stable = stable[:message["stable_offset"]] + message["stable_text"]
            assert len(stable) == message["stable_length"]
            num_stable += bool(stable)
            assert 0 <= message["audio_ms"] <= len(samples) / rate * 1000 + 100
        socket.send_json(type="finish")
        while (message := socket.receive_json())["type"] != "final":
            stable = stable[:message["stable_offset"]] + message["stable_text"]
        assert message["text"].startswith(stable)
        assert num_stable or search  # all text of greedy search is stable
        assert message["nbest"][0]["words"][0]["text"] == TEXTS[LONGEST].split()[0]


def test_wenet_protocol(server, at_16k):
    name, samples = at_16k
    with server.open("/") as socket:
        socket.send_text(json.dumps({"signal": "start", "nbest": 1, "continuous_decoding": False}))
        assert socket.receive_json() == {"status": "ok", "type": "server_ready"}
        middle = len(samples) // 2
        for piece in cut(pcm16(samples[:middle]), [6400]):
            socket.send_bytes(piece)
        assert socket.receive_json()["type"] == "partial_result"
        for piece in cut(pcm16(samples[middle:]), [6400]):
            socket.send_bytes(piece)
        socket.send_text(json.dumps({"signal": "end"}))
        kinds = []
        while not kinds or kinds[-1] != "speech_end":
            message = socket.receive_json()
            assert message["status"] == "ok"
            kinds.append(message["type"])
            if message["type"] == "final_result":
                assert json.loads(message["nbest"])[0]["sentence"] == TEXTS[name]
        assert kinds[-2:] == ["final_result", "speech_end"]
        assert set(kinds[:-2]) <= {"partial_result"}
        assert socket.close_code() == 1000


def test_sherpa_protocol(server, at_16k):
    name, samples = at_16k
    with server.open("/any/path") as socket:
        for piece in cut(samples.astype("<f4").tobytes(), [6400]):
            socket.send_bytes(piece)
        socket.send_text("Done")
        last, text = None, socket.receive()
        while text != "Done!":
            last, text = json.loads(text), socket.receive()
        assert last["text"] == TEXTS[name] and last["is_eof"]
        assert socket.close_code() == 1000


def test_many_at_once(server):
    sockets = []
    for i in range(24):
        name = list(TEXTS)[i % len(TEXTS)]
        socket = server.open()
        samples, rate = samples_of(name)
        start(socket, rate)
        sockets.append((socket, name, cut(pcm16(samples), [3200])))
    for step in range(max(len(pieces) for _, _, pieces in sockets)):
        for socket, _, pieces in sockets:
            if step < len(pieces):
                socket.send_bytes(pieces[step])
    for socket, name, _ in sockets:
        socket.send_json(type="finish")
        assert socket.receive_until("final")["text"] == TEXTS[name]
        socket.socket.close()


@pytest.mark.parametrize("name", TEXTS)
def test_recordings(server, name):
    answer = request(server.port, "/v1/recognize", "POST", FILES[name].read_bytes())
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    assert answer.json()["text"] == TEXTS[name]


@pytest.mark.parametrize("form, subtype", FORMATS)
def test_recordings_of_every_format(server, form, subtype):
    samples, rate = samples_of("ked_year")
    body = audio_file(samples, rate, form, subtype)
    answer = request(server.port, "/v1/recognize", "POST", body)
    if (form, subtype) not in COMMON_FORMATS:
        assert answer.status == 400 and answer.json()["error"] == {
            "code": "bad_message", "type": "invalid_request_error", "param": None,
            "message": "the recording: is in a format that is not accepted here, expected WAV, "
                       "FLAC, MP3, MP4 or M4A, WebM, Ogg, AAC, AMR, MPEG-TS, AVI, FLV, WMA, AIFF, "
                       "AU, CAF, W64, VOC or NIST SPHERE"}
        return
    assert answer.status == 200 and answer.json()["text"] == TEXTS["ked_year"]
    assert answer.json()["audio_ms"] == pytest.approx(len(samples) / rate * 1000, abs=130)


def test_mp3_that_was_cut_off(server):
    samples, rate = samples_of(LONGEST)
    body = audio_file(samples, rate, "MP3", "MPEG_LAYER_III")
    part = request(server.port, "/v1/recognize", "POST", body[:len(body) // 2]).json()
    # Within a packet, of which a half may have been decoded.
    assert part["announced_ms"] == pytest.approx(len(samples) / rate * 1000, abs=100)
    assert part["audio_ms"] < 0.6 * part["announced_ms"]
    assert TEXTS[LONGEST].startswith(part["text"][:3])


def test_recording_that_was_cut_off(server, tmp_path):
    soundfile.write(tmp_path / "a.wav", *soundfile.read(FILES[LONGEST]), subtype="PCM_16")
    body = (tmp_path / "a.wav").read_bytes()
    whole = request(server.port, "/v1/recognize", "POST", body).json()
    assert whole["text"] == TEXTS[LONGEST] and "announced_ms" not in whole
    part = request(server.port, "/v1/recognize", "POST", body[:len(body) // 2]).json()
    assert part["audio_ms"] < 0.6 * whole["audio_ms"] < whole["audio_ms"] <= part["announced_ms"]
    assert TEXTS[LONGEST].startswith(part["text"][:3])


def test_recording_options_and_chunked_body(server):
    body = FILES[LONGEST].read_bytes()
    answer = request(server.port, "/v1/recognize?search=beam&nbest=3&chunk_size=4", "POST", body)
    assert answer.status == 200 and len(answer.json()["nbest"]) == 3
    with connect(server.port) as connection:
        connection.sendall(b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\n"
                           b"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 100 Continue")
        for piece in cut(body, [30000]):
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.sendall(b"0\r\n\r\n")
        assert read_answer(connection)[0].json()["text"] == TEXTS[LONGEST]


@pytest.mark.parametrize("target, body, code, message", [
    ("/v1/recognize", b"", "bad_message", "the recording"),
    ("/v1/recognize", b"no audio at all" * 99, "bad_message", "the recording"),
    ("/v1/recognize", FILES[LONGEST].read_bytes()[:20000], "bad_message", "the recording"),
    ("/v1/recognize?chunk_size=0", b"", "bad_option", "chunk_size"),
    ("/v1/recognize?chunk_size=%22", b"", "bad_option", "chunk_size"),
    ("/v1/recognize?search=guess", b"", "bad_option", "search"),
    ("/v1/recognize?left_context=-1", b"", "bad_option", "left_context"),
    ("/v1/recognize?nbest=2&nbest=2", b"", "bad_option", "'nbest' cannot be given twice"),
] + [
    (f"/v1/recognize?{field}={value}", FILES[LONGEST].read_bytes(), "bad_option",
     f"'{field}' is no option of a recording, expected chunk_size, left_context")
    for field, value in [("sample_rate", "8000"), ("encoding", "float32"), ("resume", "true"),
                         ("tokens", "false"), ("type", "start"), ("version", "1"), ("x", ""),
                         ("Nbest", "2")]
])
def test_wrong_recordings(server, target, body, code, message):
    answer = request(server.port, target, "POST", body)
    assert answer.status == 400
    assert answer.json()["error"]["code"] == code
    assert message in answer.json()["error"]["message"]


@pytest.mark.parametrize("field", ["chunk_size=4", "left_context=32", "search=greedy",
                                   "search=beam&beam_size=4", "search=beam&nbest=2", "token=x"])
def test_options_of_recordings(server, field):
    answer = request(server.port, f"/v1/recognize?{field}", "POST", FILES[LONGEST].read_bytes())
    assert answer.status == 200 and answer.json()["text"]


def test_recordings_are_counted_when_they_start(server):
    series = 'runnel_streams_total{protocol="http"}'
    before = server.metrics().get(series, 0)
    for target, is_started in ("/v1/recognize", 1), ("/v1/recognize?chunk_size=0", 0):
        assert request(server.port, target, "POST", b"no audio").status == 400
        assert server.metrics().get(series, 0) == before + is_started
        before += is_started


def test_routes(server):
    assert server.get("/healthz").body == b"alive\n"
    assert server.get("/readyz").status == 200
    page = server.get("/")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    assert "content-security-policy" in page.headers
    for target, method, status, code in [
            ("/nowhere", "GET", 404, "not_found"), ("/", "DELETE", 405, "method_not_allowed"),
            ("/v1/recognize", "GET", 405, "method_not_allowed"),
            ("/metrics", "POST", 405, "method_not_allowed")]:
        answer = server.get(target, method=method)
        assert answer.status == status and answer.json()["error"]["code"] == code
        assert (status == 405) == ("allow" in answer.headers)


def test_keep_alive_and_head(server):
    with connect(server.port) as connection:
        rest = b""
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            answer, rest = read_answer(connection, rest)
            assert answer.body == b"alive\n"
        connection.sendall(b"HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head = b""
        while piece := connection.recv(4096):
            head += piece
        assert b"Content-Length: 6" in head and head.endswith(b"\r\n\r\n")


def test_metrics(server):
    before = server.metrics()
    with server.open() as socket:
        start(socket)
        assert server.metrics()["runnel_streams"] == before["runnel_streams"] + 1
        with server.open() as second:
            assert speak(second, LONGEST) == TEXTS[LONGEST]
            assert second.close_code() == 1000
    server.wait_for(lambda now: now["runnel_streams"] == before["runnel_streams"])
    after = server.metrics()
    for name in ["runnel_audio_seconds_total", "runnel_compute_seconds_total",
                 "runnel_batch_streams_count", "runnel_queue_seconds_count",
                 "runnel_chunk_latency_seconds_count", "runnel_first_partial_latency_seconds_count",
                 "runnel_final_latency_seconds_count", 'runnel_streams_total{protocol="runnel"}']:
        assert after[name] > before.get(name, 0), name
    assert 0 < after["runnel_real_time_factor"] < 100
    assert after["process_resident_memory_bytes"] > 1e6 and after["process_open_fds"] > 5
    for name in after:
        assert re.fullmatch(r'[a-z_]+(\{([a-z_]+="[^"]*",?)+\})?', name), name


def test_random_audio_equals_decode_wav(server, tmp_path):
    # What is loud, clipped and no speech gives the same as offline too.
    random = np.random.default_rng(7)
    samples = (random.standard_normal(48000) * 0.5).clip(-1, 1).astype("float32")
    import soundfile
    soundfile.write(tmp_path / "noise.wav", samples, 16000, subtype="PCM_16")
    done = run("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={tmp_path / 'noise.wav'}")
    expected = done.stdout.split(" ", 1)[1].strip() if " " in done.stdout else ""
    exact, _ = soundfile.read(tmp_path / "noise.wav", dtype="float32")
    with server.open() as socket:
        start(socket)
        for piece in cut(pcm16(exact), [5000]):
            socket.send_bytes(piece)
        socket.send_json(type="finish")
        assert socket.receive_until("final")["text"] == expected


@pytest.mark.parametrize("flags, code, message", [
    ([], USAGE, "--model is missing"),
    ([f"--model={DIGITS / 'digits.pt'}", "--port=70000"], USAGE, "--port is 70000"),
    ([f"--model={DIGITS / 'digits.pt'}", "--listen=nowhere"], USAGE, "--listen is 'nowhere'"),
    ([f"--model={DIGITS / 'digits.pt'}", "--tls_key=x"], USAGE, "go together"),
    ([f"--model={DIGITS / 'digits.pt'}", "--tls_key=/no/k", "--tls_certificate=/no/c"], FAILURE,
     "/no/c"),
    ([f"--model={DIGITS / 'digits.pt'}", "--bearer_token_file=/no/t"], FAILURE, "/no/t"),
    ([f"--model={DIGITS / 'digits.pt'}", "--max_streams=0"], USAGE, "--max_streams is 0"),
    (["--model=not_read", "--port=8100", "--admin_port=8100"], USAGE,
     "--admin_port is 8100, expected another port than that of --port"),
    (["--model=not_read", "--grpc_port=8100", "--wyoming_port=8100"], USAGE,
     "--wyoming_port is 8100, expected another port than that of --grpc_port"),
    (["--model=not_read", "--max_batch_streams=0"], USAGE, "--max_batch_streams is 0"),
    (["--model=not_read", "--max_batch_wait_ms=-1"], USAGE, "--max_batch_wait_ms is -1"),
    (["--model=not_read", "--max_buffered_s=0"], USAGE, "--max_buffered_s is 0"),
    ([f"--model={DIGITS / 'digits.pt'}", "--trusted_proxy=me"], USAGE, "--trusted_proxy has 'me'"),
    ([f"--model={DIGITS / 'digits.pt'}", "--chunk_size=100000"], USAGE, "max_buffered_s"),
])
def test_wrong_flags(flags, code, message):
    assert message in error_line(run("stream_server", *flags), code)


def test_port_in_use(server):
    done = run("stream_server", f"--model={DIGITS / 'digits.pt'}", f"--port={server.port}",
               "--snapshot_store=none")
    assert f"port {server.port}" in error_line(done, FAILURE)
