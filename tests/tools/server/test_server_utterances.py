"""Utterances as the server's clients see them: every protocol, flushes, lost connections."""

import io
import json
import random
import threading

import numpy as np
import pytest
import soundfile

from cutting_proxy import CuttingProxy
from resuming_client import ResumingClient
from server_process import (LONGEST, TEXTS, Neighbour, Server, cut, pcm16, samples_of, start)
from websocket_client import request

RATE = 16000
SPOKEN = [name for name in TEXTS if samples_of(name)[1] == RATE]
WENET_RULES = {"silence_s": 1, "initial_silence_s": 5, "max_utterance_s": 20,
               "blank_probability": 0.8}


def joined(names, silence_s):
    """Recordings with silence after each."""
    silence = np.zeros(int(silence_s * RATE), dtype=np.float32)
    return np.concatenate([part for name in names for part in (samples_of(name)[0], silence)])


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory):
    store = tmp_path_factory.mktemp("snapshots")
    with Server(f"--snapshot_store={store}", "--snapshot_interval_s=0.5", "--max_speed=0",
                "--max_nbest=20") as server:
        yield server


@pytest.fixture(scope="module", name="audio")
def _audio():
    return joined(SPOKEN, 2)


def without_time(message):
    return {name: value for name, value in message.items() if name not in ("type", "latency_ms")}


def utterances_of(server, samples, flushes=(), **options):
    """Our own protocol: the "utterance" messages and the final one."""
    return ResumingClient([server.port], samples, RATE, flushes, **options).run()


def texts_of(utterances):
    return [one["text"] for one in utterances if one["text"]]


def test_endpoints(server, audio):
    before = server.metrics()
    found = utterances_of(server, audio, endpointing=True)
    assert texts_of(found) == [TEXTS[name] for name in SPOKEN]
    assert [one["index"] for one in found] == list(range(len(found)))
    assert [one["end"] for one in found] == ["endpoint"] * (len(found) - 1) + ["finish"]
    begin = 0
    for one in found:
        assert begin <= one["start_ms"] <= one["end_ms"] <= one["audio_ms"]
        for word in one["nbest"][0]["words"]:
            assert one["start_ms"] <= word["start_ms"] < word["end_ms"] <= one["end_ms"]
        if one["end"] == "endpoint":  # 1.2 s after the last frame of a token of one character
            assert 1080 <= one["audio_ms"] - one["end_ms"] <= 1400
        begin = one["audio_ms"]
    after = server.metrics()
    series = "runnel_utterances_total{{end=\"{}\"}}".format
    assert after[series("endpoint")] == before[series("endpoint")] + len(found) - 1
    assert after[series("finish")] == before[series("finish")] + 1
    name = "runnel_endpoint_delay_seconds_{}".format
    assert after[name("count")] == before[name("count")] + len(found) - 1
    assert after[name("sum")] - before[name("sum")] >= 1.2 * (len(found) - 1)


def test_partials_are_of_their_utterance(server, audio):
    with server.open() as socket:
        start(socket, RATE, endpointing=True, search="beam", chunk_size=4)
        for piece in cut(pcm16(audio), [3200]):
            socket.send_bytes(piece)
        socket.send_json(type="finish")
        stable, running, num_ended = "", 0, 0
        while (message := socket.receive_json())["type"] != "final":
            if message["type"] == "utterance":
                assert message["index"] == num_ended
                assert not message["text"] or message["index"] != running or \
                    message["text"].startswith(stable)
                num_ended += 1
                continue
            assert message["utterance"] == num_ended
            if message["utterance"] != running:
                assert message["stable_offset"] == 0
                stable, running = "", message["utterance"]
            stable = stable[:message["stable_offset"]] + message["stable_text"]
            assert len(stable) == message["stable_length"]
        assert message["index"] == num_ended == len(SPOKEN)


def test_wenet_protocol(server, audio):
    expected = utterances_of(server, audio, endpointing=WENET_RULES)
    with server.open("/") as socket:
        socket.send_json(signal="start", nbest=1, continuous_decoding=True)
        for piece in cut(pcm16(audio), [6400]):
            socket.send_bytes(piece)
        socket.send_json(signal="end")
        finals, kinds = [], []
        while not kinds or kinds[-1] != "speech_end":
            message = socket.receive_json()
            kinds.append(message["type"])
            if kinds[-1] == "final_result":
                finals.append(json.loads(message["nbest"])[0])
            elif kinds[-1] == "partial_result":  # of the present utterance
                sentence = json.loads(message["nbest"])[0]["sentence"]
                assert len(sentence) <= max(map(len, TEXTS.values()))
        assert socket.close_code() == 1000
    assert [final["sentence"] for final in finals] == [one["text"] for one in expected]
    for final, one in zip(finals, expected):
        pieces = [(piece["word"], piece["start"]) for piece in final["word_pieces"]]
        tokens = one["nbest"][0]["tokens"]
        assert pieces == [(token["text"], token["start_ms"]) for token in tokens]
    assert kinds[-2:] == ["final_result", "speech_end"]


def sherpa_results(server, samples):
    with server.open() as socket:
        for piece in cut(samples.astype("<f4").tobytes(), [6400]):
            socket.send_bytes(piece)
        socket.send_text("Done")
        results = []
        while (text := socket.receive()) != "Done!":
            results.append(json.loads(text))
        assert socket.close_code() == 1000
    return results


def test_sherpa_protocol(server, audio):
    expected = utterances_of(server, audio, endpointing=True)
    results = sherpa_results(server, audio)
    finals = [result for result in results if result["is_final"]]
    assert [final["text"] for final in finals] == [one["text"] for one in expected]
    assert [final["segment"] for final in finals] == list(range(len(expected)))
    segment = 0
    for result in results:
        assert result["segment"] == segment
        segment += result["is_final"]
    begin = 0
    for final, one in zip(finals, expected):
        assert final["start_time"] == pytest.approx(begin / 1000)
        times = [token["start_ms"] / 1000 for token in one["nbest"][0]["tokens"]]
        assert [final["start_time"] + time for time in final["timestamps"]] == \
            pytest.approx(times, abs=1e-3)
        begin = one["audio_ms"]
    assert [result["is_eof"] for result in results] == [False] * (len(results) - 1) + [True]


def test_sherpa_endpointing_may_be_off(audio):
    with Server("--sherpa_endpointing=false", "--max_speed=0") as server:
        results = sherpa_results(server, audio)
        assert {result["segment"] for result in results} == {0}
        assert [result["is_final"] for result in results].count(True) == 1
        assert results[-1]["text"] == " ".join(TEXTS[name] for name in SPOKEN)


def recognised(server, samples, query):
    body = io.BytesIO()
    soundfile.write(body, samples, RATE, format="WAV", subtype="PCM_16")
    answer = request(server.port, "/v1/recognize" + query, "POST", body.getvalue())
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.mark.parametrize("query, options", [
    ("?endpointing=true", True),
    ("?endpointing=true&endpoint_silence_s=0.8&endpoint_reset_encoder=true",
     {"silence_s": 0.8, "reset_encoder": True})])
def test_recordings(server, audio, query, options):
    expected = [without_time(one) for one in utterances_of(server, audio, endpointing=options)]
    reply = recognised(server, audio, query)
    assert reply["segments"] == [one for one in expected if one["text"]]
    assert reply["text"] == " ".join(TEXTS[name] for name in SPOKEN)
    assert "nbest" not in reply
    whole = recognised(server, audio, "")
    assert "segments" not in whole and whole["nbest"][0]["text"] == whole["text"]


def test_flush_is_the_end_of_the_audio_so_far(server):
    """The same text as of a stream that ends there; the stream goes on."""
    samples, rate = samples_of(LONGEST)
    half = len(samples) // 2
    expected = ResumingClient([server.port], samples[:half], rate).run()
    before = server.metrics()
    found = ResumingClient([server.port], samples, rate, [half]).run()
    assert len(found) == 2 and [one["end"] for one in found] == ["flush", "finish"]
    assert found[0]["text"] == expected[0]["text"] and found[0]["nbest"] == expected[0]["nbest"]
    assert found[1]["text"] and found[1]["start_ms"] >= found[0]["audio_ms"]
    name = "runnel_flush_latency_seconds_count"
    assert server.metrics()[name] == before[name] + 1


def test_flush_answers_while_the_client_waits(server):
    samples, rate = samples_of(LONGEST)
    with server.open() as socket:
        start(socket, rate)
        num_utterances = 0
        for i in range(3):
            socket.send_bytes(pcm16(samples))
            socket.send_json(type="flush")
            assert socket.receive_until("utterance")["text"] == TEXTS[LONGEST]
            socket.send_json(type="flush")  # nothing to end
            assert socket.receive_until("flushed") == {"type": "flushed"}
            socket.send_bytes(pcm16(samples[:100]))  # usually less than an encoder frame
            socket.send_json(type="flush")
            while (answer := socket.receive_json())["type"] == "partial":
                pass
            num_utterances += 1 + (answer["type"] == "utterance")
            assert answer["type"] in ("utterance", "flushed")
        socket.send_json(type="ping", id=i)
        socket.send_json(type="finish")
        final = socket.receive_until("final")
        assert final["index"] == num_utterances and final["text"] == ""


@pytest.mark.parametrize("options, flushes", [
    ({"endpointing": True}, []),
    ({"endpointing": {"silence_s": 0.3}, "search": "beam", "nbest": 3, "chunk_size": 4}, []),
    ({}, [9000, 20000, 20000, 50001, 90000]),
    ({"endpointing": True, "search": "beam", "chunk_size": 4}, [30000, 64000]),
    ({"endpointing": True, "hotwords": "two zero\nfive five\none", "nbest": 2}, [])],
    ids=["endpoints", "beam", "flushes", "both", "hotwords"])
def test_lost_connections_lose_no_utterance(server, audio, options, flushes):
    uncut = ResumingClient([server.port], audio, RATE, flushes, **options)
    expected = uncut.run()
    assert len(expected) > 3
    assert ("hotwords" in options) == any("hotwords" in result for one in expected
                                          for result in one["nbest"])
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    num_resumed = 0
    while num_resumed < 6:
        # The first cut is within what the client sends. A cut of the answers may lie behind their
        # end: how many partial results there are depends on the server's speed.
        cuts = [(chance.randrange(300, 2 * len(audio)), None) if i == 0 or chance.random() < 0.4
                else (None, chance.randrange(200, uncut.num_characters)) for i in range(8)]
        with CuttingProxy(server.port, *zip(*cuts)) as proxy:
            client = ResumingClient([proxy.port], audio, RATE, flushes, **options)
            assert client.run() == expected
            assert client.num_connections > 1
        num_resumed += client.num_resumed


def test_no_stream_has_so_many_utterances(server, audio):
    """Such a client would be sent no utterance any more."""
    with server.open() as socket:
        start(socket, RATE, resume=True)
        socket.send_bytes(pcm16(audio))
        token = socket.receive_until("snapshot")["token"]
    with server.open() as socket:
        socket.send_json(type="resume", version=1, token=token, utterances=10**15)
        error = socket.receive_json()
        assert error["code"] == "bad_option"
        assert "resume: utterances is 1000000000000000, expected at most " in error["message"]
    with server.open() as socket:
        socket.send_json(type="resume", version=1, token=token, utterances=0)
        assert socket.receive_json()["type"] == "resumed"


def test_draining_servers_lose_no_utterance(tmp_path, audio):
    """Each server ends when some of the audio is decoded; the last one does not."""
    options = {"endpointing": True, "search": "beam", "chunk_size": 4}
    flushes = [30000, 64000]
    flags = (f"--snapshot_store={tmp_path / 'snapshots'}", "--drain_timeout_s=0")
    with Server("--max_speed=0") as server:
        expected = utterances_of(server, audio, flushes, **options)
    with Server(*flags, "--snapshot_interval_s=1000") as first, \
            Server(*flags, "--snapshot_interval_s=0.3") as second, Server(*flags) as third:
        def drain():
            for server in first, second:
                server.wait_for(lambda now: now["runnel_audio_seconds_total"] > 2)
                server.signal()
        drainer = threading.Thread(target=drain)
        drainer.start()
        # The first two connections have audio left when their servers end.
        client = ResumingClient([first.port, second.port, third.port], audio, RATE, flushes,
                                stops=[3 * RATE, 6 * RATE], **options)
        assert client.run() == expected
        assert client.num_connections == 3
        drainer.join()
        for server in first, second:
            assert server.exit_code() == 0


def test_clients_that_vanish(server, audio):
    """With utterances that nobody reads, and with flushes under way."""
    neighbour = Neighbour(server)
    chance = random.Random(20261122)
    for i in range(12):
        with server.open(receive_buffer=4096) as socket:
            start(socket, RATE, endpointing={"silence_s": 0.1}, resume=i % 2 == 0, nbest=20,
                  search="beam", beam_size=20)
            for piece in cut(pcm16(audio), [16000])[:chance.randrange(1, 14)]:
                socket.send_bytes(piece)
                socket.send_json(type="flush")
        neighbour.go_on(0.05)
    server.wait_for(lambda now: now["runnel_streams"] == 1)
    neighbour.finish()


def test_a_flood_of_flushes(server):
    neighbour = Neighbour(server)
    with server.open() as socket:
        start(socket, RATE)
        socket.send_bytes(pcm16(samples_of(LONGEST)[0]))
        for _ in range(2000):
            socket.send_json(type="flush")
        neighbour.go_on(0.5)
        socket.send_json(type="finish")
        kinds = []
        while not kinds or kinds[-1] != "final":
            kinds.append(socket.receive_json()["type"])
        assert kinds.count("utterance") == 1 and kinds.count("flushed") == 1999
    neighbour.finish()
