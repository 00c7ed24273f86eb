"""Recognition over gRPC, as a Python client of NVIDIA Riva that was generated from our protos."""

import io

import grpc
import numpy as np
import pytest
import soundfile

from audio_files import g711
from riva_client import Client, final_text, refusal, riva_stubs
from server_process import FILES, LONGEST, TEXTS, Server, cut, pcm16, samples_of
from tool_runner import DIGITS, SAMPLE_LIST, succeed
from websocket_client import PATIENCE_S

assert riva_stubs  # the fixture "riva"


@pytest.fixture(scope="module", name="server")
def _server():
    with Server("--grpc_port=0", "--max_speed=0") as server:
        yield server


@pytest.fixture(scope="module", name="client")
def _client(server, riva):
    with Client(server, riva) as client:
        yield client


def file_of(name: str, file_format: str, subtype: str, channels: int = 1) -> bytes:
    """A sample recording in another format."""
    samples, rate = samples_of(name)
    file = io.BytesIO()
    soundfile.write(file, np.stack([samples] * channels, axis=1), rate, format=file_format,
                    subtype=subtype)
    return file.getvalue()


def test_final_results_equal_those_of_decode_wav(client, riva):
    lines = succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav_scp={SAMPLE_LIST}")
    texts = dict(line.split(" ", 1) for line in lines.splitlines())
    assert texts.keys() == TEXTS.keys()
    for name, text in texts.items():
        assert client.text(riva.of_sample(name)) == text + " "


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ["MULAW", "ALAW"])
def test_telephone_audio(client, riva, name, encoding):
    samples, rate = samples_of(name)
    requests = riva.requests(riva.config(rate, encoding), g711(samples, encoding.lower()), [801])
    assert client.text(requests) == TEXTS[name] + " "


@pytest.mark.parametrize("encoding", ["ENCODING_UNSPECIFIED", "LINEAR_PCM"])
@pytest.mark.parametrize("file_format, subtype, channels", [
    ("WAV", "PCM_16", 1), ("WAV", "PCM_16", 2), ("WAV", "FLOAT", 1), ("OGG", "OPUS", 1)])
@pytest.mark.parametrize("sizes", [[3200], [1, 2, 1000], [10 ** 5]])
def test_header_in_front_of_the_audio(client, riva, encoding, file_format, subtype, channels,
                                      sizes):
    """Clients send the header, whatever the config says; its rate counts."""
    audio = file_of(LONGEST, file_format, subtype, channels)
    requests = riva.requests(riva.config(0, encoding), audio, sizes)
    assert client.text(requests) == TEXTS[LONGEST] + " "


def test_channels_without_a_header(client, riva):
    samples, rate = samples_of(LONGEST)
    audio = pcm16(np.stack([samples, samples], axis=1).reshape(-1))
    config = riva.config(rate, audio_channel_count=2)
    assert client.text(riva.requests(config, audio, [3201])) == TEXTS[LONGEST] + " "


def test_partial_results_come_while_audio_is_sent(client, riva):
    """The second half is sent after text of the first half has come."""
    requests = riva.of_sample(LONGEST, interim=True)
    half = len(requests) // 2
    call = client.call()
    call.send(*requests[:half])
    early = call.until_text()
    assert not early.results[0].is_final
    assert TEXTS[LONGEST].startswith(early.results[0].alternatives[0].transcript.split()[0])
    call.send(*requests[half:])
    call.half_close()
    assert final_text(call.responses) == TEXTS[LONGEST] + " "
    assert call.responses.code() == grpc.StatusCode.OK


@pytest.mark.parametrize("alternatives", [1, 3], ids=["greedy", "beam"])
def test_interim_results(client, riva, alternatives):
    samples, rate = samples_of(LONGEST)
    config = riva.config(rate, max_alternatives=alternatives)
    requests = riva.requests(config, pcm16(samples), interim=True)
    requests[3].id.value = "mine"
    stable, audio = "", 0.0
    half = len(requests) // 2
    call = client.call()
    call.send(*requests[:half])
    responses = [call.until_text()]  # the rest may all be heard before the next one
    call.send(*requests[half:])
    call.half_close()
    responses += call.responses
    for response in responses[:-1]:
        assert response.results and response.id.value == "mine"
        assert not any(result.is_final for result in response.results)
        assert [result.stability for result in response.results] in (
            [pytest.approx(0.9)], [pytest.approx(0.1)], [pytest.approx(0.9), pytest.approx(0.1)])
        parts = {round(result.stability, 1): result.alternatives[0].transcript
                 for result in response.results}
        assert parts.get(0.9, "").startswith(stable)
        stable = parts.get(0.9, "")
        assert response.results[0].audio_processed > audio
        audio = response.results[0].audio_processed
    assert TEXTS[LONGEST].startswith(stable)
    (result,) = responses[-1].results
    assert result.is_final and result.stability == 0 and result.channel_tag == 1
    assert result.audio_processed == pytest.approx(len(samples) / rate, abs=0.1)


def test_without_interim_results_only_finals_come(client, riva):
    responses = list(client.stub.StreamingRecognize(iter(riva.of_sample(LONGEST))))
    assert len(responses) == 1 and responses[0].results[0].is_final


def test_words_and_alternatives(client, riva):
    samples, rate = samples_of(LONGEST)
    config = riva.config(rate, max_alternatives=3, enable_word_time_offsets=True)
    (response,) = client.stub.StreamingRecognize(iter(riva.requests(config, pcm16(samples))))
    alternatives = response.results[0].alternatives
    assert len(alternatives) == 3 and len({one.transcript for one in alternatives}) == 3
    best = alternatives[0]
    assert best.transcript == TEXTS[LONGEST] + " " and 0 < best.confidence <= 1
    assert " ".join(word.word for word in best.words) == TEXTS[LONGEST]
    for one, other in zip(best.words, best.words[1:]):
        assert one.start_time < one.end_time <= other.start_time <= len(samples) / rate * 1000
        assert 0 < one.confidence <= 1


def test_more_alternatives_than_the_server_permits(client, riva):
    """NVIDIA: the server may return fewer than max_alternatives. The server permits 10."""
    samples, rate = samples_of(LONGEST)
    config = riva.config(rate, max_alternatives=20)
    (response,) = client.stub.StreamingRecognize(iter(riva.requests(config, pcm16(samples))))
    assert len(response.results[0].alternatives) == 10
    whole = client.stub.Recognize(riva.asr.RecognizeRequest(config=config, audio=pcm16(samples)),
                                  timeout=PATIENCE_S)
    assert len(whole.results[0].alternatives) == 10
    assert whole.results[0].alternatives[0].transcript == TEXTS[LONGEST] + " "


def test_speech_contexts(client, riva):
    """A phrase with a large boost is found where it is not spoken."""
    samples, rate = samples_of("diogo_one_word")
    audio = pcm16(samples)
    assert TEXTS["diogo_one_word"] == "seven"
    context = riva.asr.SpeechContext(phrases=["nine", "", "# word that no token spells: 东"],
                                     boost=100)
    config = riva.config(rate, speech_contexts=[context, riva.asr.SpeechContext(boost=10)])
    assert "nine" in client.text(riva.requests(config, audio)).split()
    config.speech_contexts[0].boost = -100
    assert client.text(riva.requests(config, audio)) == "seven "


def test_endpoints(client, riva):
    """Silence ends an utterance, after stop_history milliseconds."""
    samples, rate = samples_of(LONGEST)
    twice = np.concatenate([samples, np.zeros(2 * rate, np.float32), samples,
                            np.zeros(rate, np.float32)])

    def finals(**fields):
        config = riva.config(rate, enable_word_time_offsets=True, **fields)
        responses = client.stub.StreamingRecognize(iter(riva.requests(config, pcm16(twice))))
        return [result for response in responses for result in response.results]

    first, second = finals()
    assert first.alternatives[0].transcript == TEXTS[LONGEST] + " "
    assert second.alternatives[0].transcript == TEXTS[LONGEST] + " "
    assert second.alternatives[0].words[0].start_time > first.audio_processed * 1000
    patient = riva.asr.EndpointingConfig(stop_history=5000)
    (only,) = finals(endpointing_config=patient)
    assert only.alternatives[0].transcript == f"{TEXTS[LONGEST]} {TEXTS[LONGEST]} "


def test_an_utterance_that_the_client_ends(client, riva):
    """runtime_config["force_eou"] of NVIDIA's protos of 2026, where silence is to end nothing."""
    samples, rate = samples_of(LONGEST)
    patient = riva.asr.EndpointingConfig(stop_history=60000)
    config = riva.config(rate, endpointing_config=patient)
    call = client.call()
    call.send(*riva.requests(config, pcm16(samples)),
              riva.asr.StreamingRecognizeRequest(audio_content=bytes(3200),
                                                 runtime_config={"force_eou": "true"}))
    response = next(call.responses)  # while the call is open
    assert [(result.is_final, result.alternatives[0].transcript)
            for result in response.results] == [(True, TEXTS[LONGEST] + " ")]
    call.send(*map(riva.audio_request, cut(pcm16(samples), [3200])), None)
    assert final_text(call.responses) == TEXTS[LONGEST] + " "
    assert call.status()[0] == "OK"


@pytest.mark.parametrize("fields, message", [
    ({"max_alternatives": -1}, "config.max_alternatives is -1, expected 0 or more"),
    ({"sample_rate_hertz": 384000},
     "sample_rate is 384000, expected at most 192000 on this server (--max_sample_rate)"),
    ({"sample_rate_hertz": -5},
     "config.sample_rate_hertz is -5, expected 0 (that of the model) or 1000 to 768000"),
    ({"audio_channel_count": 99}, "config.audio_channel_count is 99, expected 0 to 32"),
    ({"model": "parakeet"}, "config.model is 'parakeet', expected 'digits' or nothing"),
    ({"profanity_filter": True},
     "config.profanity_filter is true, expected false on this server"),
    ({"enable_separate_recognition_per_channel": True},
     "config.enable_separate_recognition_per_channel is true, expected false on this server"),
    ({"diarization_config": {"enable_speaker_diarization": True}},
     "config.diarization_config.enable_speaker_diarization is true, expected false on this server"),
    ({"endpointing_config": {"stop_history": 5}},
     "config.endpointing_config.stop_history is 5, expected 100 to 86400000 ms"),
    ({"speech_contexts": [{"phrases": ["one"], "boost": float("nan")}]},
     "config.speech_contexts.boost is nan, expected -100 to 100"),
    ({"speech_contexts": [{"phrases": ["one " * 20000]}]},
     "config.speech_contexts is 1 phrases of 80000 bytes, expected at most 10000 phrases of 65536 "
     "bytes")])
def test_options_that_are_refused(client, riva, fields, message):
    samples, rate = samples_of("diogo_one_word")
    config = riva.config(rate)
    config.MergeFrom(riva.asr.RecognitionConfig(**fields))
    expected = "INVALID_ARGUMENT", message
    assert refusal(lambda: client.text(riva.requests(config, pcm16(samples)))) == expected
    assert refusal(lambda: client.stub.Recognize(riva.asr.RecognizeRequest(
        config=config, audio=pcm16(samples)), timeout=PATIENCE_S)) == expected


def test_options_that_change_nothing(client, riva):
    samples, rate = samples_of(LONGEST)
    config = riva.config(rate, language_code="en-US", enable_automatic_punctuation=True,
                         verbatim_transcripts=True, model="digits",
                         custom_configuration={"key": "value"})
    assert client.text(riva.requests(config, pcm16(samples))) == TEXTS[LONGEST] + " "


def test_messages_in_the_wrong_order(client, riva):
    first, *audio = riva.of_sample("diogo_one_word")
    for requests, message in [
            (audio, "the first message has no streaming_config, which must come before audio"),
            ([first, audio[0], first], "a second streaming_config in one call"),
            ([], "the call ended before a streaming_config")]:
        call = client.call()
        call.send(*requests, None)
        assert call.status() == ("INVALID_ARGUMENT", message)
    garbage = client.channel.stream_stream(
        "/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize")
    assert refusal(lambda: list(garbage(iter([b"\xff" * 100]), timeout=PATIENCE_S))) == (
        "INVALID_ARGUMENT", "a message is not a StreamingRecognizeRequest")
    unknown = client.channel.unary_unary("/nvidia.riva.asr.RivaSpeechRecognition/Other")
    assert refusal(lambda: unknown(b"", timeout=PATIENCE_S))[0] == "UNIMPLEMENTED"


def test_audio_that_cannot_be_decoded(client, riva):
    for audio, encoding, message in [
            (bytes(100), "FLAC", "config.encoding is FLAC, expected LINEAR_PCM, MULAW or ALAW in a "
             "stream that is no file, such as WAV or Ogg Opus"),
            (b"FORM" + bytes(4) + b"AIFFCOMM" + bytes(100), "LINEAR_PCM",
             "the audio is AIFF, expected WAV, Ogg Opus, "),
            (pcm16(samples_of(LONGEST)[0]), "ENCODING_UNSPECIFIED",
             "config.encoding is ENCODING_UNSPECIFIED, expected LINEAR_PCM"),
            (b"RIFF1234WAVEfmt \x05\x00\x00\x00", "LINEAR_PCM", "the WAV header: ")]:
        status, details = refusal(lambda audio=audio, encoding=encoding: client.text(
            riva.requests(riva.config(0, encoding), audio)))
        assert status == "INVALID_ARGUMENT" and details.startswith(message), details


@pytest.mark.parametrize("audio", [b"", b"RI", bytes(2 * 1600)], ids=["none", "two bytes", "zeros"])
def test_streams_without_speech(client, riva, audio):
    requests = [riva.first(riva.config(16000), interim=True), riva.audio_request(audio)]
    assert not list(client.stub.StreamingRecognize(iter(requests), timeout=PATIENCE_S))


class TestRecognize:
    """Whole recordings."""

    @staticmethod
    def recognize(client, riva, audio, config=None, **fields):
        return client.stub.Recognize(riva.asr.RecognizeRequest(
            config=config or riva.config(0, "ENCODING_UNSPECIFIED", **fields), audio=audio,
            id={"value": "mine"}), timeout=PATIENCE_S)

    @pytest.mark.parametrize("name", TEXTS)
    def test_files(self, client, riva, name):
        response = self.recognize(client, riva, FILES[name].read_bytes(),
                                  enable_word_time_offsets=True)
        assert response.id.value == "mine"
        (result,) = response.results
        assert result.alternatives[0].transcript == TEXTS[name] + " "
        assert " ".join(word.word for word in result.alternatives[0].words) == TEXTS[name]
        samples, rate = samples_of(name)
        assert result.audio_processed == pytest.approx(len(samples) / rate, abs=0.1)

    @pytest.mark.parametrize("encoding", ["LINEAR_PCM", "MULAW", "ALAW"])
    def test_samples_without_a_header(self, client, riva, encoding):
        samples, rate = samples_of(LONGEST)
        audio = pcm16(samples) if encoding == "LINEAR_PCM" else g711(samples, encoding.lower())
        response = self.recognize(client, riva, audio, riva.config(rate, encoding))
        assert response.results[0].alternatives[0].transcript == TEXTS[LONGEST] + " "

    def test_alternatives(self, client, riva):
        response = self.recognize(client, riva, FILES[LONGEST].read_bytes(), max_alternatives=2)
        assert len(response.results[0].alternatives) == 2

    def test_utterances(self, client, riva):
        samples, rate = samples_of(LONGEST)
        silence = np.zeros(2 * rate, np.float32)
        audio = pcm16(np.concatenate([samples, silence, samples, silence]))
        response = self.recognize(client, riva, audio, riva.config(rate))
        assert [result.alternatives[0].transcript for result in response.results] == (
            [TEXTS[LONGEST] + " "] * 2)

    def test_a_recording_that_was_cut_off(self, client, riva):
        samples, rate = samples_of(LONGEST)
        whole = file_of(LONGEST, "WAV", "PCM_16")
        for audio, announced in (whole, None), (whole[:len(whole) // 2], len(samples) / rate):
            response, call = client.stub.Recognize.with_call(riva.asr.RecognizeRequest(
                config=riva.config(0, "ENCODING_UNSPECIFIED"), audio=audio), timeout=PATIENCE_S)
            assert response.results
            trailers = dict(call.trailing_metadata())
            assert trailers.get("x-announced-ms") == (announced and f"{announced * 1000:.0f}")

    def test_errors(self, client, riva):
        status, details = refusal(lambda: self.recognize(client, riva, b"no audio" * 10))
        assert status == "INVALID_ARGUMENT" and details.startswith("the recording: ")
        recognize = client.channel.unary_unary("/nvidia.riva.asr.RivaSpeechRecognition/Recognize")
        assert refusal(lambda: recognize(b"\xff" * 100, timeout=PATIENCE_S)) == (
            "INVALID_ARGUMENT", "the message is not a RecognizeRequest")


def test_models(client, riva):
    request = riva.asr.RivaSpeechRecognitionConfigRequest
    for name in "", "digits":
        configs = client.stub.GetRivaSpeechRecognitionConfig(request(model_name=name)).model_config
        assert {config.model_name for config in configs} == {"digits"}
        assert {config.parameters["type"] for config in configs} == {"online", "offline"}
        assert all("language_code" in config.parameters for config in configs)
    assert refusal(lambda: client.stub.GetRivaSpeechRecognitionConfig(
        request(model_name="other"), timeout=PATIENCE_S)) == (
            "INVALID_ARGUMENT", "model_name is 'other', expected 'digits' or nothing")


def test_packets_of_any_size(client, riva):
    samples, rate = samples_of("diogo_one_word")
    for sizes in [1], [3201], [7, 1, 4000, 2], [0, 3200], [10 ** 6]:
        requests = [riva.first(riva.config(rate)),
                    *map(riva.audio_request, cut(pcm16(samples), sizes))]
        assert client.text(requests) == "seven ", sizes
