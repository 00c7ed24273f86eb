"""OpenAI's requests about recordings and models: forms, formats, event streams, limits, the end."""

import json
import socket as sockets

import pytest
import soundfile

from server_process import FILES, LONGEST, SLOW, TEXTS, Server, cut, long_recording
from tool_runner import DIGITS, succeed
from websocket_client import connect, read_answer, request

TARGET = "/v1/audio/transcriptions"
TYPE = {"Content-Type": "multipart/form-data; boundary=frontier"}


@pytest.fixture(scope="module", name="server")
def _server():
    with Server() as server:
        yield server


def form(*fields):
    """The body of a form: (name, value) in order; the recording is bytes."""
    parts = []
    for name, value in fields:
        is_file = isinstance(value, bytes)
        extra = '; filename="a.bin"\r\nContent-Type: application/octet-stream' if is_file else ""
        parts.append(b'--frontier\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n' % (
            name.encode(), extra.encode(), value if is_file else value.encode()))
    return b"".join(parts) + b"--frontier--\r\n"


def post(server, *fields, **headers):
    return request(server.port, TARGET, "POST", form(*fields), {**TYPE, **headers})


def recording(name=LONGEST):
    return FILES[name].read_bytes()


def data_of(answer):
    """The JSON of the events in a stream."""
    assert answer.headers["content-type"] == "text/event-stream"
    blocks = answer.body.decode().split("\n\n")
    assert blocks.pop() == ""
    assert all(block.startswith("data: ") and "\n" not in block for block in blocks)
    return [json.loads(block[6:]) for block in blocks]


def decoded(name, *flags):
    """What decode_wav writes about a recording."""
    return succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={FILES[name]}", *flags)


@pytest.mark.parametrize("name", TEXTS)
def test_texts(server, name):
    answer = post(server, ("model", "whisper-1"), ("file", recording(name)))
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    assert answer.json()["text"] == TEXTS[name]
    assert answer.json()["usage"]["type"] == "duration"
    plain = post(server, ("file", recording(name)), ("response_format", "text"))
    assert plain.body.decode() == TEXTS[name] + "\n"
    assert plain.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("form_name", ["srt", "vtt"])
def test_captions_are_those_of_decode_wav(server, form_name):
    for name in TEXTS:
        answer = post(server, ("file", recording(name)), ("response_format", form_name))
        assert not answer.headers["content-type"].startswith("application/json")
        assert answer.body.decode() == decoded(name, "--endpointing", f"--format={form_name}")


def test_verbose_json(server):
    answer = post(server, ("response_format", "verbose_json"), ("file", recording()),
                  ("timestamp_granularities[]", "segment"), ("timestamp_granularities[]", "word"))
    result = answer.json()
    expected = json.loads(decoded(LONGEST, "--endpointing", "--format=json"))
    assert [segment["text"] for segment in result["segments"]] == [
        segment["text"] for segment in expected["segments"]]
    assert [segment["start"] * 1000 for segment in result["segments"]] == pytest.approx(
        [segment["start_ms"] for segment in expected["segments"]])
    assert " ".join(word["word"] for word in result["words"]) == result["text"] == TEXTS[LONGEST]
    assert result["duration"] == pytest.approx(expected["audio_seconds"], abs=0.001)
    assert set(result["segments"][0]) == {
        "id", "seek", "start", "end", "text", "tokens", "temperature", "avg_logprob",
        "compression_ratio", "no_speech_prob"}


def test_chunked_bodies_of_any_order(server):
    body = form(("file", recording()), ("model", "m"), ("response_format", "json"))
    with connect(server.port) as connection:
        connection.sendall(f"POST {TARGET} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                           f"Content-Type: {TYPE['Content-Type']}\r\n\r\n".encode())
        for piece in cut(body, [7777, 1, 30000]):
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.sendall(b"0\r\n\r\n")
        assert read_answer(connection)[0].json()["text"] == TEXTS[LONGEST]


def test_event_streams(server):
    for options in [], [("chunking_strategy", "auto")]:
        answer = post(server, ("stream", "true"), ("file", recording()), *options)
        assert answer.status == 200
        *deltas, done = data_of(answer)
        assert {event["type"] for event in deltas} == {"transcript.text.delta"}
        assert "".join(event["delta"] for event in deltas) == done["text"] == TEXTS[LONGEST]
        assert done["type"] == "transcript.text.done"


def read_some(connection, end):
    """Reads until the bytes are there."""
    read = b""
    while end not in read:
        piece = connection.recv(65536)
        assert piece, read
        read += piece
    return read


def test_events_come_while_the_recording_is_decoded(tmp_path):
    body = form(("stream", "true"), ("chunking_strategy", "auto"),
                ("file", long_recording(tmp_path)))
    head = (f"POST {TARGET} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
            f"Content-Type: {TYPE['Content-Type']}\r\n\r\n").encode()
    with Server(*SLOW, "--max_batch_streams=9", "--drain_timeout_s=0.2") as server:
        with connect(server.port) as connection:
            connection.sendall(head + body)
            first = read_some(connection, b"transcript.text.delta")
            assert b"Transfer-Encoding: chunked" in first and b"text.done" not in first
            server.wait_for(lambda now: now["runnel_streams"] == 1)
            # A client that goes ends the recognition.
            connection.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        with connect(server.port) as connection:  # half-closed clients are answered
            connection.sendall(head + body)
            connection.shutdown(sockets.SHUT_WR)
            read_some(connection, b"transcript.text.delta")
            server.signal()
            last = read_some(connection, b"\r\n0\r\nRetry-After: ")  # a trailer
            assert b'"code":"draining"' in last and b'data: {"error":{' in last
            last += b"" if last.endswith(b"\r\n\r\n") else read_some(connection, b"\r\n\r\n")
            assert connection.recv(1) == b""
        assert server.exit_code() == 0


def test_a_recording_that_was_cut_off(server, tmp_path):
    """Every reply says how long the header of the file announces it to be."""
    soundfile.write(tmp_path / "a.wav", *soundfile.read(FILES[LONGEST]), subtype="PCM_16")
    whole = (tmp_path / "a.wav").read_bytes()
    samples, rate = soundfile.read(tmp_path / "a.wav")
    duration_ms = len(samples) / rate * 1000
    for response_format in "json", "text", "verbose_json", "srt", "vtt":
        cut_off = post(server, ("file", whole[:len(whole) // 2]),
                       ("response_format", response_format))
        assert float(cut_off.headers["x-announced-ms"]) == pytest.approx(duration_ms, abs=1)
        assert "x-announced-ms" not in post(server, ("file", whole)).headers
    *_, done = data_of(post(server, ("file", whole[:len(whole) // 2]), ("stream", "true")))
    assert done["announced_ms"] == pytest.approx(duration_ms, abs=1)
    *_, done = data_of(post(server, ("file", whole), ("stream", "true")))
    assert list(done) == ["type", "text"]


def test_names_of_files(server):
    """As Node's form-data and others write them: only the name of the field matters."""
    for name in 'filename="say "hi".wav"', 'filename="trailing\\"', "filename=my file.wav":
        body = (b'--frontier\r\nContent-Disposition: form-data; name="file"; ' + name.encode() +
                b"\r\n\r\n" + recording() + b"\r\n--frontier--\r\n")
        answer = request(server.port, TARGET, "POST", body, TYPE)
        assert answer.status == 200 and answer.json()["text"] == TEXTS[LONGEST], name


@pytest.mark.parametrize("fields, param, code", [
    ([("model", "m")], "file", "bad_option"),
    ([("file", b"no audio")], None, "bad_message"),
    ([("file", b"")], "file", "bad_option"),
    ([("file", b"no audio"), ("stream", "true")], None, "bad_message"),
    ([("file", b"x"), ("response_format", "xml")], "response_format", "bad_option"),
    ([("file", b"x"), ("response_format", "diarized_json")], "response_format", "bad_option"),
    ([("file", b"x"), ("stream", "perhaps")], "stream", "bad_option"),
])
def test_wrong_requests(server, fields, param, code):
    answer = post(server, *fields)
    assert answer.status == 400 and answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert (error["param"], error["code"]) == (param, code)
    assert answer.headers["x-request-id"]


def test_wrong_forms(server):
    for body, headers in [(recording(), {"Content-Type": "audio/flac"}), (recording(), {}),
                          (form(("file", recording()))[:-20], TYPE),
                          (form(("file", recording())), {"Content-Type": "multipart/form-data"})]:
        answer = request(server.port, TARGET, "POST", body, headers)
        assert answer.status == 400 and answer.json()["error"]["code"] == "bad_message"


def test_keywords(server):
    answer = post(server, ("file", recording()), ("keywords[]", "five"), ("prompt", "zero, one"),
                  ("keywords[]", "Ünspellable"), ("language", "xx"))
    assert answer.json()["text"] == TEXTS[LONGEST]


def test_limits():
    with Server("--max_body_mb=1", "--max_recording_s=2") as server:
        answer = post(server, ("file", bytes(1 << 20)))
        assert answer.status == 413 and answer.json()["error"]["code"] == "body_too_large"
        answer = post(server, ("file", recording()))
        assert answer.status == 413 and answer.json()["error"]["code"] == "recording_too_long"
    with Server("--max_uploads=0") as server:
        answer = post(server, ("file", b"x"))
        assert answer.status == 503 and answer.json()["error"]["type"] == "server_error"
        assert int(answer.headers["retry-after"]) > 0


def test_models(server):
    answer = server.get("/v1/models")
    [model] = answer.json()["data"]
    assert answer.json()["object"] == "list"
    assert model["id"] == "digits" and model["object"] == "model"
    assert model["created"] > 1e9 and model["owned_by"] == "runnel"
    assert server.get("/v1/models/digits").json() == model
    assert server.get("/v1/models/%64igits").json() == model
    answer = server.get("/v1/models/whisper-1")
    assert answer.status == 404 and answer.json()["error"]["code"] == "model_not_found"
    assert answer.json()["error"]["param"] == "model"
    assert server.get("/v1/models", method="POST").status == 405
    assert server.get(TARGET).status == 405


def test_models_and_recordings_need_the_token(tmp_path):
    (tmp_path / "token").write_text("s3cret")
    with Server(f"--bearer_token_file={tmp_path / 'token'}") as server:
        for target in "/v1/models", "/v1/models/digits", TARGET:
            method = "POST" if target == TARGET else "GET"
            answer = request(server.port, target, method, b"" if method == "POST" else None)
            assert answer.status == 401 and answer.json()["error"]["code"] == "invalid_api_key"
        key = {"Authorization": "Bearer s3cret"}
        assert server.get("/v1/models", headers=key).status == 200
        assert post(server, ("file", recording()), **key).json()["text"] == TEXTS[LONGEST]


def test_every_reply_has_a_request_id(server):
    seen = set()
    with connect(server.port) as connection:
        rest = b""
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            answer, rest = read_answer(connection, rest)
            seen.add(answer.headers["x-request-id"])
    seen.add(server.get("/nowhere").headers["x-request-id"])
    assert len(seen) == 4
