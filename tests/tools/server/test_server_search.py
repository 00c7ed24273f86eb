"""Hotwords and a language model of stream_server: for every protocol, and for resumed streams."""

import json
import urllib.parse

import pytest

from search_files import write_digits, write_hotwords, write_unigrams
from server_process import FILES, LONGEST, TEXTS, Server, cut, pcm16, samples_of, speak, start
from tool_runner import DIGITS, FAILURE, USAGE, error_line, run, succeed
from websocket_client import request

MODEL = f"--model={DIGITS / 'digits.pt'}"
SPOKEN = TEXTS[LONGEST].split()
SNAPSHOTS = ("--snapshot_interval_s=0.5", "--max_speed=0")


class Lists:
    """What the server is given: the hotwords avoid `zero`, the language model avoids `two`."""

    def __init__(self, folder):
        self.hotwords = write_hotwords(folder, "zero :-50\n")
        arpa = write_digits(folder / "lm.arpa", two=-60)
        succeed("compile_lm", f"--arpa={arpa}", f"--output={folder / 'lm.bin'}")
        self.lm = (f"--language_model={folder / 'lm.bin'}", "--language_model_weight=1",
                   "--language_model_bonus=0.5")
        self.flags = (self.hotwords, *self.lm)


def decoded(*flags):
    """The text that decode_wav gives the recording."""
    return succeed("decode_wav", MODEL, f"--wav={FILES[LONGEST]}", *flags).split(" ", 1)[1].strip()


@pytest.fixture(scope="module", name="lists")
def _lists(tmp_path_factory):
    return Lists(tmp_path_factory.mktemp("lists"))


@pytest.fixture(scope="module", name="server")
def _server(lists):
    with Server(*lists.flags) as server:
        yield server


@pytest.fixture(scope="module", name="expected")
def _expected(lists):
    """The text with both."""
    text = decoded(*lists.flags)
    assert {"zero", "two"} <= set(SPOKEN) and not {"zero", "two"} & set(text.split())
    return text


@pytest.fixture(scope="module", name="expected_of_own")
def _expected_of_own(lists, tmp_path_factory):
    """The text with a client's own list, which has no `zero`, and the server's language model."""
    own = write_hotwords(tmp_path_factory.mktemp("own"), "five :-50\n")
    text = decoded(own, *lists.lm)
    assert "zero" in text.split() and not {"five", "two"} & set(text.split())
    return text


def wenet_text(server, nbest):
    with server.open() as socket:
        socket.send_json(signal="start", nbest=nbest)
        socket.send_bytes(pcm16(samples_of(LONGEST)[0]))
        socket.send_json(signal="end")
        while (message := socket.receive_json())["type"] != "final_result":
            pass
        return json.loads(message["nbest"])[0]["sentence"]


def sherpa_text(server):
    with server.open() as socket:
        socket.send_bytes(samples_of(LONGEST)[0].astype("<f4").tobytes())
        socket.send_text("Done")
        text = ""
        while (message := socket.receive()) != "Done!":
            text = json.loads(message)["text"]
        return text


def recording_text(server, **options):
    answer = request(server.port, "/v1/recognize?" + urllib.parse.urlencode(options), "POST",
                     FILES[LONGEST].read_bytes())
    assert answer.status == 200, answer.body
    return answer.json()["text"]


def test_every_protocol_has_the_servers_search(server, expected):
    with server.open() as socket:
        assert speak(socket, LONGEST) == expected
    with server.open() as socket:
        assert speak(socket, LONGEST, search="beam") == expected
    assert recording_text(server) == expected
    assert sherpa_text(server) == expected
    for nbest in 1, 3:
        assert wenet_text(server, nbest) == expected


def test_greedy_search_has_neither(server):
    with server.open() as socket:
        assert start(socket, search="greedy")["search"] == "greedy"
    with server.open() as socket:
        assert start(socket)["search"] == "beam"
    with server.open() as socket:
        assert speak(socket, LONGEST, search="greedy") == TEXTS[LONGEST]
    assert recording_text(server, search="greedy") == TEXTS[LONGEST]


def test_a_clients_hotwords_replace_those_of_the_server(server, expected_of_own):
    with server.open() as socket:
        assert speak(socket, LONGEST, hotwords="five :-50") == expected_of_own
    assert recording_text(server, hotwords="# own\nfive", hotword_score=-50) == expected_of_own


@pytest.mark.parametrize("options, message", [
    ({"hotwords": "one\nÅngström"}, "hotwords:2: 'Ångström' needs tokens that spell 'ångström'"),
    ({"hotwords": "one :101"}, "hotwords:1: "),
    ({"hotwords": ""}, "hotwords: lists no phrase"),
    ({"hotwords": "one", "search": "greedy"}, "hotwords needs search=beam"),
    ({"hotwords": "one", "hotword_score": 101}, "hotword_score is 101, expected"),
    ({"hotword_score": 1}, "hotword_score needs hotwords"),
])
def test_wrong_hotwords(server, options, message):
    answer = request(server.port, "/v1/recognize?" + urllib.parse.urlencode(options), "POST", b"")
    assert answer.status == 400 and answer.json()["error"]["code"] == "bad_option"
    assert message in answer.json()["error"]["message"]
    with server.open() as socket:
        socket.send_json(type="start", version=1, **options)
        error = socket.receive_json()
        assert error["code"] == "bad_option" and message in error["message"]
        assert "\n" not in error["message"] and socket.close_code() == 1008


def test_a_list_beyond_the_header(server):
    hotwords = urllib.parse.urlencode({"hotwords": "one two\n" * 4000})
    answer = request(server.port, "/v1/recognize?" + hotwords, "POST", b"")
    assert answer.status == 431 and answer.json()["error"]["code"] == "header_too_large"


def begun(server, **options):
    """Most of the recording, on a server that is then killed; the last snapshot's token."""
    samples, rate = samples_of(LONGEST)
    with server.open() as socket:
        start(socket, rate, resume=True, chunk_size=4, **options)
        for piece in cut(pcm16(samples)[:len(samples) * 3 // 2], [3200]):
            socket.send_bytes(piece)
        token = socket.receive_until("snapshot")["token"]
        server.process.kill()
    return token


def resumed_text(server, token):
    samples, _ = samples_of(LONGEST)
    with server.open() as socket:
        socket.send_json(type="resume", version=1, token=token)
        begin = socket.receive_until("resumed")["samples"]
        assert 0 < begin < len(samples)
        socket.send_bytes(pcm16(samples)[2 * begin:])
        socket.send_json(type="finish")
        return socket.receive_until("final")["text"]


@pytest.mark.parametrize("options", [{}, {"search": "greedy"}, {"hotwords": "five :-50"}],
                         ids=["server's", "greedy", "own"])
def test_resume_after_a_restart(lists, tmp_path, options):
    """The stream keeps its hotwords, its weight and its bonus, whatever the new server has."""
    store = (f"--snapshot_store={tmp_path / 'snapshots'}", *SNAPSHOTS)
    other = (write_hotwords(tmp_path, "nine :50\n"), lists.lm[0], "--language_model_weight=0")
    with Server(*lists.flags) as server, server.open() as socket:
        expected = speak(socket, LONGEST, chunk_size=4, **options)
    for flags in lists.flags, other:
        with Server(*store, *lists.flags) as first:
            token = begun(first, **options)
        with Server(*store, *flags) as second:
            assert resumed_text(second, token) == expected


@pytest.mark.parametrize("has_other", [True, False], ids=["another", "none"])
def test_resume_needs_the_language_model_of_the_stream(lists, tmp_path, has_other):
    store = (f"--snapshot_store={tmp_path / 'snapshots'}", *SNAPSHOTS)
    other = write_digits(tmp_path / "other.arpa", nine=-5)
    flags = (f"--language_model={other}",) if has_other else ()
    with Server(*store, *lists.flags) as first:
        token = begun(first)
    with Server(*store, *flags) as second, second.open() as socket:
        socket.send_json(type="resume", version=1, token=token)
        error = socket.receive_json()
        assert error["code"] == "snapshot_invalid" and socket.close_code() == 1008
        assert error["message"].startswith("snapshot is of another language model: ")


@pytest.mark.parametrize("flags, code, message", [
    (["--hotwords=/no/list"], FAILURE, "/no/list: cannot open"),
    (["--language_model=/no/lm"], FAILURE, "/no/lm: cannot open"),
    (["--hotword_score=1"], USAGE, "--hotword_score needs --hotwords"),
    (["--language_model_weight=1"], USAGE, "--language_model_weight needs --language_model"),
    (["--language_model=lm", "--language_model_bonus=1e9"], USAGE,
     "--language_model_bonus is 1000000000, expected -100 to 100"),
    (["--language_model=lm", "--language_model_level=letter"], USAGE,
     "--language_model_level is 'letter', expected word or token"),
])
def test_wrong_flags(flags, code, message):
    assert message in error_line(run("stream_server", MODEL, "--port=0", *flags), code)


def test_a_language_model_of_other_words(tmp_path):
    arpa = write_unigrams(tmp_path / "lm", {"Zero": -1, "One": -2})
    done = run("stream_server", MODEL, "--port=0", f"--language_model={arpa}")
    assert "not 'Zero' or 'One': they have capital letters, expected lower case" in error_line(
        done, USAGE)


def test_damaged_files(tmp_path):
    (tmp_path / "lm").write_bytes(b"zero one two\n")
    for flag, message in ((f"--language_model={tmp_path / 'lm'}", "lm: has no line \\data\\"),
                          (write_hotwords(tmp_path, "one\nnine :x\n"), "hotwords.txt:2: ")):
        assert message in error_line(run("stream_server", MODEL, "--port=0", flag), FAILURE)
