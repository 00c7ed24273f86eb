"""stream_server as clients of Vosk's WebSocket server see it."""

import json
import random
from typing import Any, Dict, List, Sequence

import numpy as np
import pytest

from audio_files import audio_file
from server_process import TEXTS, Server, cut, pcm16, samples_of
from websocket_client import Refused, WebSocket

NAME = "ked_year"  # at 16 kHz, the model's rate
SAMPLES = samples_of(NAME)[0]
EOF, RESET = '{"eof" : 1}', '{"reset" : 1}'


@pytest.fixture(scope="module", name="server")
def _server():
    with Server() as server:
        yield server


def configure(socket: WebSocket, **config: Any) -> None:
    socket.send_text(json.dumps({"config": {"sample_rate": 16000, **config}}))


def ask(socket: WebSocket, message: Any) -> Dict[str, Any]:
    """Sends a message and waits for its one answer, as Vosk's clients do."""
    if isinstance(message, bytes):
        socket.send_bytes(message)
    else:
        socket.send_text(message)
    return socket.receive_json()


def converse(socket: WebSocket, pieces: Sequence[bytes]) -> List[Dict[str, Any]]:
    """The answers to the pieces and to eof, after which nothing comes."""
    answers = [ask(socket, piece) for piece in pieces]
    answers.append(ask(socket, EOF))
    closed = socket.closed()
    assert closed.code == 1000
    return answers


def results(answers: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return [answer for answer in answers if "partial" not in answer]


def text_of(answers: List[Dict[str, Any]]) -> str:
    return " ".join(answer["text"] for answer in results(answers) if answer["text"])


def words_of(answers: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return [word for answer in results(answers) for word in answer.get("result", [])]


def silence(seconds: float) -> np.ndarray:
    return np.zeros(int(16000 * seconds), dtype="float32")


@pytest.mark.parametrize("sizes", [[6400], [0, 3201], [7, 1, 4000, 2], [10 ** 6]])
def test_one_answer_to_each_message(server, sizes):
    with server.open("/") as socket:
        configure(socket)
        answers = converse(socket, cut(pcm16(SAMPLES), sizes))
        assert text_of(answers) == TEXTS[NAME]
        words = words_of(answers)
        assert [word["word"] for word in words] == TEXTS[NAME].split()
        for word in words:
            assert 0 <= word["start"] < word["end"] and 0 < word["conf"] <= 1


def test_any_cut_gives_the_same_results(server):
    payload = pcm16(np.concatenate([SAMPLES, silence(2), SAMPLES]))
    seed = random.randrange(2 ** 32)
    found = []
    for largest in len(payload), 5000, 500:
        generator = random.Random(seed)
        sizes = [generator.randint(1, largest) for _ in range(100)]
        with server.open("/vosk") as socket:
            configure(socket)
            found.append(words_of(converse(socket, cut(payload, sizes))))
    assert found[0] == found[1] == found[2], f"seed {seed}"
    assert " ".join(word["word"] for word in found[0]) == f"{TEXTS[NAME]} {TEXTS[NAME]}"


def test_partials_come_while_audio_is_sent(server):
    with server.open("/") as socket:
        configure(socket)
        answer = ask(socket, pcm16(SAMPLES[:len(SAMPLES) // 2]))
        while not answer["partial"]:
            answer = ask(socket, b"")
        assert TEXTS[NAME].startswith(answer["partial"][:3])
        assert text_of(converse(socket, [pcm16(SAMPLES[len(SAMPLES) // 2:])])) == TEXTS[NAME]


def test_a_result_at_an_endpoint(server):
    with server.open("/") as socket:
        configure(socket)
        answer = ask(socket, pcm16(np.concatenate([SAMPLES, silence(3)])))
        while "partial" in answer:
            answer = ask(socket, b"")
        assert answer["text"] == TEXTS[NAME]
        answers = converse(socket, [pcm16(SAMPLES)])
        assert text_of(answers) == TEXTS[NAME]
        assert answers[-1]["result"][0]["start"] > len(SAMPLES) / 16000 + 3


@pytest.mark.parametrize("target, headers", [
    ("/vosk", {}), ("/", {"Sec-WebSocket-Protocol": "ws"}), ("/x", {"Sec-WebSocket-Protocol": "ws"})
])
def test_a_wav_file_without_a_config(server, target, headers):
    """As the samples in node, PHP, Go and C# send it; that in Go fills the last message."""
    payload = audio_file(SAMPLES, 16000, "WAV", "PCM_16")
    with server.open(target, headers=headers) as socket:
        assert socket.headers.get("sec-websocket-protocol") == headers.get("Sec-WebSocket-Protocol")
        pieces = cut(payload, [8000])
        pieces[-1] += bytes(8000 - len(pieces[-1]))
        assert text_of(converse(socket, pieces + [b""])) == TEXTS[NAME]


def test_telephone_audio_is_expected(server):
    samples, rate = samples_of("rms_telephone")
    assert rate == 8000
    with server.open("/vosk") as socket:
        assert text_of(converse(socket, cut(pcm16(samples), [3200]))) == TEXTS["rms_telephone"]


def test_reset(server):
    with server.open("/vosk") as socket:
        configure(socket)
        assert ask(socket, RESET) == {"text": ""}
        ask(socket, pcm16(SAMPLES))
        assert ask(socket, RESET)["text"] == TEXTS[NAME]
        assert ask(socket, RESET) == {"text": ""}
        assert text_of(converse(socket, [pcm16(SAMPLES)])) == TEXTS[NAME]


def test_options(server):
    payload = pcm16(SAMPLES)
    with server.open("/") as socket:
        configure(socket, words=0)
        assert converse(socket, [payload])[-1] == {"text": TEXTS[NAME]}
    with server.open("/") as socket:
        configure(socket, max_alternatives=3, phrase_list=["two zero", "sixteen", "[unk]"])
        alternatives = converse(socket, [payload])[-1]["alternatives"]
        assert 1 < len(alternatives) <= 3
        assert alternatives[0]["text"] == TEXTS[NAME]
        assert alternatives[0]["confidence"] >= alternatives[1]["confidence"]
        assert sorted(alternatives[0]["result"][0]) == ["end", "start", "word"]


def test_options_as_strings(server):
    """Vosk's server converts them with float(), int() and bool()."""
    payload = pcm16(SAMPLES)
    for words in "1", "true":
        with server.open("/") as socket:
            socket.send_text(json.dumps({"config": {"sample_rate": "16000.0", "words": words}}))
            assert [one["word"] for one in words_of(converse(socket, [payload]))] == (
                TEXTS[NAME].split())
    with server.open("/") as socket:
        configure(socket, max_alternatives="3", words="0")
        alternatives = converse(socket, [payload])[-1]["alternatives"]
        assert 1 < len(alternatives) <= 3 and list(alternatives[0]) == ["confidence", "text"]


def test_more_alternatives_than_the_server_permits():
    """Vosk's own sample asks for 20. The number is the most that the client takes."""
    with Server("--max_nbest=2") as server, server.open("/vosk") as socket:
        configure(socket, max_alternatives=20)
        alternatives = converse(socket, [pcm16(SAMPLES)])[-1]["alternatives"]
        assert len(alternatives) == 2 and alternatives[0]["text"] == TEXTS[NAME]


def test_no_audio(server):
    with server.open("/vosk") as socket:
        assert converse(socket, []) == [{"text": ""}]


@pytest.mark.parametrize("text, reason", [
    ("hello", "bad_json: "),
    ("{}", "bad_message: a text message without config, eof or reset"),
    ('{"config": {"sample_rate": "fast"}}',
     'bad_option: text: config.sample_rate is "fast", expected a number'),
    ('{"config": {"sample_rate": "16000x"}}', "bad_option: text: config.sample_rate"),
    ('{"config": {"sample_rate": "nan"}}', "bad_option: text: config.sample_rate"),
    ('{"config": {"max_alternatives": 1.5}}',
     "bad_option: text: config.max_alternatives is 1.5, expected an integer from 0"),
    ('{"config": {"max_alternatives": null}}',
     "bad_option: text: config.max_alternatives is null, expected an integer from 0"),
    ('{"config": {"words": []}}', "bad_option: text: config.words is [], expected true or false"),
    ('{"config": {"max_alternatives": "-1"}}', "bad_option: text: config.max_alternatives"),
    ('{"config": {"words": "no"}}',
     'bad_option: text: config.words is "no", expected true or false'),
])
def test_mistakes(server, text, reason):
    with server.open("/vosk") as socket:
        socket.send_text(text)
        closed = socket.closed()
        assert closed.code == 1008 and closed.reason.startswith(reason), closed


def test_limits():
    with Server("--max_streams=1", "--max_message_bytes=5000",
                "--max_sample_rate=8000") as server:
        with server.open("/vosk") as socket:
            with pytest.raises(Refused) as refused:
                server.open("/vosk")
            assert refused.value.status == 503
            socket.send_bytes(bytes(5001))
            assert socket.closed().code == 1009
        server.wait_for(lambda now: now["runnel_streams"] == 0)
        with server.open("/vosk") as socket:
            configure(socket)
            socket.send_bytes(bytes(100))
            closed = socket.closed()
            assert closed.code == 1008
            assert closed.reason == ("bad_option: sample_rate is 16000, expected at most 8000 on "
                                     "this server (--max_sample_rate)")


def test_drain():
    with Server("--drain_timeout_s=0") as server, server.open("/vosk") as socket:
        ask(socket, bytes(100))
        server.signal()
        closed = socket.closed()
        assert closed.code == 1013 and closed.reason == "draining: the server is shutting down"
        assert server.exit_code() == 0


def test_streams_are_counted(server):
    series = 'runnel_streams_total{protocol="vosk"}'
    before = server.metrics().get(series, 0)
    with server.open("/vosk") as socket:
        converse(socket, [bytes(100)])
    assert server.metrics()[series] == before + 1
