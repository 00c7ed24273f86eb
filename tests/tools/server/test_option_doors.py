"""Options of streams have one law: a command line, a start message and a query accept and refuse
the same, in the same words."""

import re
from typing import Any, Dict, List

import pytest

from server_process import Server
from tool_runner import DIGITS, USAGE, error_line, run, succeed
from websocket_client import request

SAMPLE = DIGITS / "samples" / "ked_year.flac"
NO_ROOM = "nbest is 2, expected at most 1 with "
REFUSED = [
    ({"search": "beam", "beam_size": 1, "nbest": 2}, NO_ROOM + "beam_size=1"),
    ({"nbest": 2}, NO_ROOM + "search=greedy"),
    ({"beam_size": 4}, "beam_size needs search=beam"),
    ({"beam_size": 0}, "beam_size is 0, expected 1 to 10000"),
    ({"ctc_weight": 0.3}, "ctc_weight is of transducers, got the CTC head"),
    ({"max_symbols": 3}, "max_symbols is of transducers, got the CTC head"),
    ({"max_symbols": -1}, "max_symbols is -1, expected 0 to 1000"),
    ({"rescoring": True}, "rescoring is on, but the model has no attention decoder"),
    ({"rescoring": True, "search": "greedy"}, "rescoring needs search=beam"),
    ({"first_pass_weight": 1}, "first_pass_weight needs rescoring"),
    ({"reverse_weight": 2, "rescoring": True}, "reverse_weight is 2, expected 0 to 1"),
    ({"head": "transducer"}, "head is transducer, but the model has only a CTC head"),
    ({"language": "en"}, "language is 'en', expected none: the model has no language prompt"),
    ({"chunk_size": 0}, "chunk_size is 0, expected 1 to 1000000 encoder frames, -1 (the whole "
                        "utterance) or -2 (the model's)"),
    ({"endpoint_silence_s": 1, "endpointing": False}, "endpoint_silence_s needs endpointing")]
FORMER_FLAGS = [
    ["--endpointing", "--endpoint_silence=0.5", "--endpoint_initial_silence=2",
     "--endpoint_max_utterance=10", "--endpoint_blank=0.9"],
    ["--endpointing", "--endpoint_silence_s=0.5", "--endpoint_initial_silence_s=2",
     "--endpoint_max_utterance_s=10", "--endpoint_blank_probability=0.9"]]


@pytest.fixture(scope="module", name="server")
def _server():
    with Server() as server:
        yield server


def written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def flags_of(options: Dict[str, Any]) -> List[str]:
    return [f"--{name}={written(value)}" for name, value in options.items()]


def plain(message: str) -> str:
    """A message without the spelling of its place."""
    message = message.replace("--", "").replace("=true", "")
    return re.sub(r"^(start|query): ", "", message)


def message_of_flags(*flags: str) -> str:
    done = run("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={SAMPLE}", *flags)
    line = error_line(done, USAGE)
    return line.removeprefix("decode_wav: ").removesuffix(" (see decode_wav --help)")


def start_message(options: Dict[str, Any]) -> Dict[str, Any]:
    """The rules of endpoints stand in an object there."""
    return {"type": "start", "version": 1, **options}


@pytest.mark.parametrize("options, message", REFUSED)
def test_every_place_refuses_in_the_same_words(server, options, message):
    assert plain(message_of_flags(*flags_of(options))) == message
    query = "&".join(f"{name}={written(value)}" for name, value in options.items())
    answer = request(server.port, f"/v1/recognize?{query}", "POST", SAMPLE.read_bytes())
    assert answer.status == 400
    assert plain(answer.json()["error"]["message"]) == message
    if "endpoint_silence_s" in options:
        return  # a start message cannot say it: the rules stand in the object that switches them on
    with server.open() as socket:
        socket.send_json(**start_message(options))
        assert plain(socket.receive_json()["message"]) == message


@pytest.mark.parametrize("options", [
    {"search": "beam", "beam_size": 2, "nbest": 2}, {"chunk_size": 8, "left_context": 32},
    {"endpointing": True, "skip_silence": True, "endpoint_silence_s": 0.5,
     "skip_silence_lead_s": 1.5}])
def test_every_place_accepts_the_same(server, options):
    succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={SAMPLE}", *flags_of(options))
    query = "&".join(f"{name}={written(value)}" for name, value in options.items())
    assert request(server.port, f"/v1/recognize?{query}", "POST", SAMPLE.read_bytes()).status == 200


def test_flags_of_earlier_releases():
    former, present = (succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={SAMPLE}",
                               "--format=json", *flags) for flags in FORMER_FLAGS)
    assert former == present
    assert message_of_flags("--lm_weight=1") == "--language_model_weight needs --language_model"


def test_flags_of_the_server_are_of_clients_that_choose_what_they_need():
    with Server("--beam_size=3", "--endpoint_silence_s=0.3", "--reverse_weight=0") as server:
        for options, search, rules in (({}, "greedy", None), ({"search": "beam"}, "beam", None),
                                       ({"endpointing": True}, "greedy", 0.3)):
            with server.open() as socket:
                socket.send_json(type="start", version=1, **options)
                ready = socket.receive_json()
                found = ready["endpointing"] and ready["endpointing"]["silence_s"]
                assert (ready["search"], found or None) == (search, rules)
        with server.open() as socket:
            socket.send_json(type="start", version=1, search="beam", nbest=4)
            assert "at most 3 with beam_size=3" in socket.receive_json()["message"]


def test_flags_of_the_server_are_the_defaults_of_its_clients():
    with Server("--search=beam", "--beam_size=3", "--endpointing", "--endpoint_silence_s=0.3",
                "--skip_silence") as server:
        with server.open() as socket:
            socket.send_json(type="start", version=1, nbest=3)
            ready = socket.receive_json()
            assert (ready["type"], ready["search"]) == ("ready", "beam")
            assert ready["endpointing"]["silence_s"] == 0.3 and ready["endpointing"]["skip_silence"]
        with server.open() as socket:
            socket.send_json(type="start", version=1, endpointing={"silence_s": 0.7})
            rules = socket.receive_json()["endpointing"]
            assert rules["silence_s"] == 0.7 and rules["skip_silence"]
        with server.open() as socket:
            socket.send_json(type="start", version=1, endpointing=False)
            assert socket.receive_json()["endpointing"] is False
        with server.open() as socket:
            socket.send_json(type="start", version=1, nbest=4)
            assert socket.receive_json()["message"] == (
                "nbest is 4, expected at most 3 with beam_size=3")
