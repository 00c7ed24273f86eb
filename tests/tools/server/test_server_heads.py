"""Heads, rescoring and languages of stream_server: its results are those of decode_wav."""

import json
import pathlib
import urllib.parse
from typing import Any, Dict, List

import pytest
import soundfile

from models_with_heads import model_of
from server_process import LONGEST, TEXTS, Neighbour, Server, cut, pcm16, speak, start
from tool_runner import DIGITS, USAGE, error_line, run, succeed, write_audio
from websocket_client import Answer, request

RATE = 16000
SNAPSHOTS = ("--snapshot_interval_s=0.5", "--max_speed=0")

# For each model, options of a client and the flags of decode_wav that mean the same.
SEARCHES = {
    "hybrid_streaming": [
        ({}, []),
        ({"head": "ctc"}, ["--head=ctc"]),
        ({"head": "transducer", "max_symbols": 1}, ["--head=transducer", "--max_symbols=1"]),
        ({"search": "beam", "max_symbols": 2, "nbest": 4},
         ["--search=beam", "--max_symbols=2", "--nbest=4"]),
        ({"search": "modified_beam", "nbest": 4}, ["--search=modified_beam", "--nbest=4"]),
        ({"search": "modified_beam", "ctc_weight": 0.5, "nbest": 4},
         ["--search=modified_beam", "--ctc_weight=0.5", "--nbest=4"])],
    "rescore_bitransformer": [
        ({"search": "beam", "nbest": 4}, ["--search=beam", "--nbest=4"]),
        ({"search": "beam", "nbest": 4, "rescoring": True},
         ["--search=beam", "--nbest=4", "--rescoring"]),
        ({"search": "beam", "nbest": 4, "rescoring": True, "first_pass_weight": 3,
          "reverse_weight": 0.25},
         ["--search=beam", "--nbest=4", "--rescoring", "--first_pass_weight=3",
          "--reverse_weight=0.25"])],
    "multilingual": [
        ({}, []), ({"language": "auto"}, ["--language=auto"]),
        ({"language": "en-US"}, ["--language=en-US"]),
        ({"language": "de-DE"}, ["--language=de-DE"])]}
CASES = [(model, i) for model, searches in SEARCHES.items() for i in range(len(searches))]


@pytest.fixture(scope="module", name="audio")
def _audio(tmp_path_factory) -> pathlib.Path:
    """A recording at the rate of the models."""
    path = tmp_path_factory.mktemp("audio") / "audio.wav"
    write_audio(path, seconds=4, rate=RATE)
    return path


@pytest.fixture(scope="module", name="servers")
def _servers():
    """The server of each model, which every test of the module uses."""
    started: Dict[str, Server] = {}

    def server_of(name: str) -> Server:
        if name not in started:
            started[name] = Server(model=model_of(name))
        return started[name]

    yield server_of
    for server in started.values():
        with server:
            pass


def decoded(name: str, audio: pathlib.Path, *flags: str) -> List[Any]:
    text = succeed("decode_wav", f"--model={model_of(name)}", f"--wav={audio}", "--format=json",
                   *flags)
    found = json.loads(text)["nbest"]
    assert found[0]["tokens"], "no token"
    return found


def samples_of(audio: pathlib.Path) -> bytes:
    return pcm16(soundfile.read(audio, dtype="float32")[0])


def streamed(server: Server, audio: pathlib.Path, **options: Any) -> List[Any]:
    with server.open() as socket:
        start(socket, RATE, **options)
        for piece in cut(samples_of(audio), [3200]):
            socket.send_bytes(piece)
        socket.send_json(type="finish")
        return socket.receive_until("final")["nbest"]


def in_query(options: Dict[str, Any]) -> str:
    return "/v1/recognize?" + urllib.parse.urlencode(
        {name: json.dumps(value) if isinstance(value, bool) else value
         for name, value in options.items()})


def uploaded(server: Server, audio: pathlib.Path, **options: Any) -> List[Any]:
    answer = request(server.port, in_query(options), "POST", audio.read_bytes())
    assert answer.status == 200, answer.body
    return answer.json()["nbest"]


@pytest.mark.parametrize("name, i", CASES)
def test_a_clients_options_give_the_results_of_decode_wav(name, i, servers, audio):
    options, flags = SEARCHES[name][i]
    expected = decoded(name, audio, *flags)
    assert streamed(servers(name), audio, **options) == expected
    assert uploaded(servers(name), audio, **options) == expected


@pytest.mark.parametrize("name", SEARCHES)
def test_every_option_changes_the_results(name, audio):
    """Otherwise the comparison above would show nothing. "auto" is the default language."""
    results = [decoded(name, audio, *flags) for options, flags in SEARCHES[name]
               if options.get("language") != "auto"]
    assert all(results[i] != results[j] for i in range(len(results)) for j in range(i))


def wenet_text(server: Server, audio: pathlib.Path) -> str:
    with server.open() as socket:
        socket.send_json(signal="start", nbest=1)
        socket.send_bytes(samples_of(audio))
        socket.send_json(signal="end")
        while (message := socket.receive_json())["type"] != "final_result":
            pass
        return json.loads(message["nbest"])[0]["sentence"]


def sherpa_text(server: Server, audio: pathlib.Path) -> str:
    with server.open() as socket:
        socket.send_bytes(soundfile.read(audio, dtype="float32")[0].astype("<f4").tobytes())
        socket.send_text("Done")
        text = ""
        while (message := socket.receive()) != "Done!":
            text = json.loads(message)["text"]
        return text


@pytest.mark.parametrize("name, flags, ready", [
    ("hybrid_streaming", ["--head=ctc"], {"search": "greedy", "head": "ctc"}),
    ("hybrid_streaming", ["--search=modified_beam", "--ctc_weight=0.5", "--max_symbols=2"],
     {"search": "modified_beam", "head": "transducer"}),
    ("rescore_bitransformer", ["--search=beam", "--rescoring", "--first_pass_weight=3",
                               "--token_beam=9",
                               "--reverse_weight=0.25"],
     {"search": "beam", "head": "ctc", "rescoring": True}),
    ("multilingual", ["--language=de-DE"], {"head": "transducer", "language": "de-DE"})])
def test_flags_are_the_default_of_every_protocol(name, flags, ready, audio):
    expected = decoded(name, audio, *flags)
    with Server("--sherpa_endpointing=false", *flags, model=model_of(name)) as server:
        with server.open() as socket:
            stated = start(socket, RATE)
            assert {field: stated[field] for field in ready} == ready
        assert streamed(server, audio) == expected
        assert uploaded(server, audio) == expected
        assert wenet_text(server, audio) == sherpa_text(server, audio) == expected[0]["text"]


def test_a_client_chooses_otherwise_than_the_server(audio):
    model = "hybrid_streaming"
    with Server("--search=modified_beam", "--ctc_weight=0.5", "--max_symbols=2",
                model=model_of(model)) as server:
        for options, flags in (({"head": "ctc"}, ["--head=ctc", "--search=beam"]),
                               ({"search": "greedy", "max_symbols": 0}, []),
                               ({"ctc_weight": 0, "max_symbols": 0}, ["--search=modified_beam"])):
            assert streamed(server, audio, **options) == decoded(model, audio, *flags)
    model = "rescore_bitransformer"
    with Server("--search=beam", "--rescoring", model=model_of(model)) as server:
        for options, flags in (({"search": "greedy"}, []),
                               ({"rescoring": False}, ["--search=beam"])):
            assert streamed(server, audio, **options) == decoded(model, audio, *flags)
    with Server("--language=de-DE", model=model_of("multilingual")) as server:
        for language in "en-US", "":
            assert streamed(server, audio, language=language) == \
                decoded("multilingual", audio, f"--language={language}")


def deepgram_texts(server: Server, audio: pathlib.Path, language: str) -> List[str]:
    """The texts of a live stream and of a recording; both have warnings about the language, or
    neither."""
    query = urllib.parse.urlencode({"encoding": "linear16", "sample_rate": RATE,
                                    "language": language})
    with server.open(f"/v1/listen?{query}") as socket:
        socket.send_bytes(samples_of(audio))
        socket.send_json(type="CloseStream")
        results = []
        while (message := socket.receive_json())["type"] != "Metadata":
            results.append(message["channel"]["alternatives"][0]["transcript"])
    reply = request(server.port, f"/v1/listen?{query}", "POST", audio.read_bytes()).json()
    for warnings in message.get("warnings", []), reply["metadata"].get("warnings", []):
        assert [warning["type"] for warning in warnings] == \
            ["unsupported_language"] * (language == "fr-FR")
    return [" ".join(text for text in results if text),
            reply["results"]["channels"][0]["alternatives"][0]["transcript"]]


def test_languages_of_deepgrams_clients(servers, audio):
    """A language that the model does not have counts as none."""
    for code, language in {"de-DE": "de-DE", "de": "de-DE", "en": "en-US", "multi": "auto",
                           "fr-FR": "auto", "": "auto"}.items():
        expected = [succeed("decode_wav", f"--model={model_of('multilingual')}", f"--wav={audio}",
                            f"--language={language}", *flags).strip().split(" ", 1)[1]
                    for flags in (["--endpointing"], [])]
        assert deepgram_texts(servers("multilingual"), audio, code) == expected


@pytest.mark.parametrize("name, i", [
    ("hybrid_streaming", 1), ("hybrid_streaming", 3), ("hybrid_streaming", 5),
    ("rescore_bitransformer", 2), ("multilingual", 3)])
def test_resumed_streams_keep_their_options(name, i, audio, tmp_path):
    """On another server, whose default they are not."""
    options, flags = SEARCHES[name][i]
    options = {**options, "chunk_size": 4, "left_context": 16} if name.startswith("resc") \
        else options
    flags = [*flags, "--chunk_size=4", "--left_context=16"] if name.startswith("resc") else flags
    store = (f"--snapshot_store={tmp_path / 'snapshots'}", *SNAPSHOTS)
    samples = samples_of(audio)
    with Server(*store, model=model_of(name)) as first, first.open() as socket:
        ready = start(socket, RATE, resume=True, **options)
        for piece in cut(samples[:len(samples) * 3 // 4], [3200]):
            socket.send_bytes(piece)
        token = socket.receive_until("snapshot")["token"]
        first.process.kill()
    with Server(*store, model=model_of(name)) as second, second.open() as socket:
        socket.send_json(type="resume", version=1, token=token)
        resumed = socket.receive_until("resumed")
        for field in ("search", "head", "rescoring", "language"):
            assert resumed[field] == ready[field]
        assert 0 < resumed["samples"] < len(samples) // 2
        socket.send_bytes(samples[2 * resumed["samples"]:])
        socket.send_json(type="finish")
        assert socket.receive_until("final")["nbest"] == decoded(name, audio, *flags)


def refusals(server: Server, **options: Any) -> List[str]:
    """The messages of the WebSocket and of HTTP, each one line with the code bad_option."""
    with server.open() as socket:
        socket.send_json(type="start", version=1, **options)
        error = socket.receive_json()
        assert error["type"] == "error" and error["code"] == "bad_option"
        assert socket.close_code() == 1008
    answer: Answer = request(server.port, in_query(options), "POST", b"")
    assert answer.status == 400 and answer.json()["error"]["code"] == "bad_option"
    messages = [error["message"], answer.json()["error"]["message"]]
    assert not any("\n" in message for message in messages)
    return messages


WRONG_VALUES = [
    ({"head": "rnnt"}, 'head is "rnnt", expected ctc or transducer'),
    ({"max_symbols": -1}, "max_symbols is -1, expected 0 to 1000"),
    ({"max_symbols": 11},
     "max_symbols is 11, expected at most 10 on this server (--max_frame_tokens)"),
    ({"ctc_weight": 1.5}, "ctc_weight is 1.5, expected 0 to 1"),
    ({"rescoring": 1}, "rescoring is 1, expected true or false"),
    ({"reverse_weight": 0.5}, "reverse_weight needs rescoring=true"),
    ({"search": "modified"}, "expected greedy, beam or modified_beam")]
# The digit model has CTC only, no attention decoder and no language prompt.
NOT_OF_THE_MODEL = [
    ({"head": "transducer"}, "head is transducer, but the model has only a CTC head"),
    ({"max_symbols": 3}, "max_symbols is of transducers, got the CTC head"),
    ({"search": "beam", "ctc_weight": 0.5},
     "ctc_weight is of transducers, got the CTC head"),
    ({"search": "modified_beam"}, "modified beam search is of transducers, got the CTC head"),
    ({"rescoring": True, "search": "greedy"}, "rescoring needs search=beam"),
    ({"rescoring": True}, "the model has no attention decoder"),
    ({"language": "en"}, "language is 'en', expected none: the model has no language prompt")]


def test_options_that_are_refused_leave_the_server_as_it_is():
    with Server() as server:
        neighbour = Neighbour(server)
        for options, message in WRONG_VALUES + NOT_OF_THE_MODEL:
            neighbour.go_on(0.04)
            for found in refusals(server, **options):
                assert message in found, found
        neighbour.finish()
        with server.open() as socket:
            assert speak(socket, LONGEST, head="ctc") == TEXTS[LONGEST]


def test_options_that_other_models_refuse(servers, audio):
    for name, options, message in (
            ("multilingual", {"language": "fr"},
             "language is 'fr', expected one of en-US, de-DE, auto"),
            ("multilingual", {"head": "ctc", "max_symbols": 2}, "is of transducers"),
            ("multilingual", {"ctc_weight": 0.5},
             "ctc_weight needs a beam search with one label per frame, got greedy search"),
            ("multilingual", {"ctc_weight": 0.5, "search": "beam"},
             "got the time-synchronous beam search"),
            ("rescore_bitransformer", {"rescoring": True, "search": "greedy"},
             "rescoring needs search=beam"),
            ("rescore_transformer",
             {"rescoring": True, "search": "beam", "reverse_weight": 0.5},
             "the model has no attention decoder from right to left")):
        for found in refusals(servers(name), **options):
            assert message in found, found
        assert streamed(servers(name), audio, search="beam") == \
            decoded(name, audio, "--search=beam")


@pytest.mark.parametrize("flags, message", [
    (["--head=rnnt"], "--head is 'rnnt', expected ctc or transducer"),
    (["--search=best"], "--search is 'best', expected greedy, beam or modified_beam"),
    (["--rescoring", "--search=greedy"], "--rescoring needs --search=beam"),
    (["--hotword_score=1"], "--hotword_score needs --hotwords"),
    (["--hotwords=h", "--search=greedy"], "--hotwords needs --search=beam"),
    (["--head=transducer"], "--head is transducer, but the model has only a CTC head"),
    (["--search=modified_beam"], "is of transducers, got the CTC head"),
    (["--search=beam", "--rescoring"], "the model has no attention decoder"),
    (["--language=en"], "language is 'en', expected none: the model has no language prompt")])
def test_wrong_flags(flags, message):
    done = run("stream_server", f"--model={DIGITS / 'digits.pt'}", "--port=0",
               "--snapshot_store=none", *flags)
    assert message in error_line(done, USAGE)
