"""Heads, rescoring and languages through librunnel: its results are those of decode_wav."""

import contextlib
import ctypes
import json
import os
import pathlib
import sys
from typing import Any, List, Tuple

import pytest
import soundfile

from models_with_heads import model_of
from tool_runner import ROOT, succeed, write_audio

sys.path[:0] = [str(ROOT / "tests" / "embedding")]
import live  # noqa: E402

LIBRARY = os.environ.get("RUNNEL_LIBRARY", str(ROOT / "build" / "runtime" / "librunnel.so"))
GREEDY, PREFIX_BEAM, MODIFIED_BEAM = range(3)
DEFAULT, CTC, TRANSDUCER = range(3)
PATIENCE_MS = 120000.0  # a guard against hanging, never a measure
RATE = 16000


def item(runnel: live.Runnel, name: str, handle: ctypes.c_void_p, index: int) -> ctypes.c_void_p:
    function = runnel.function(name)
    function.restype = ctypes.c_void_p
    return ctypes.c_void_p(function(handle, ctypes.c_size_t(index)))


def count(runnel: live.Runnel, name: str, handle: ctypes.c_void_p) -> int:
    function = runnel.function(name)
    function.restype = ctypes.c_size_t
    return function(handle)


def results(runnel: live.Runnel, utterance: ctypes.c_void_p) -> List[Tuple[str, float]]:
    found = []
    for i in range(count(runnel, "utterance_num_hypotheses", utterance)):
        hypothesis = item(runnel, "utterance_hypothesis", utterance, i)
        score = runnel.function("hypothesis_score")
        score.restype = ctypes.c_double
        found.append((runnel.text("hypothesis_text", hypothesis), score(hypothesis)))
    return found


class Recognizer:
    """A model and its recognizer; its context frees both."""

    def __init__(self, path: pathlib.Path) -> None:
        self.runnel = live.Runnel(LIBRARY)
        self.model, self.recognizer = ctypes.c_void_p(), ctypes.c_void_p()
        self.runnel.call("model_load", str(path).encode(), None, ctypes.byref(self.model))
        self.runnel.call("recognizer_create", self.model, None, ctypes.byref(self.recognizer))

    def __enter__(self) -> "Recognizer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.runnel.function("recognizer_free")(self.recognizer)
        self.runnel.function("model_free")(self.model)

    def languages(self) -> List[str]:
        function = self.runnel.function("model_language")
        function.restype = ctypes.c_char_p
        number = count(self.runnel, "model_num_languages", self.model)
        assert function(self.model, ctypes.c_size_t(number)) is None
        return [function(self.model, ctypes.c_size_t(i)).decode() for i in range(number)]

    def decode(self, audio: pathlib.Path, **fields: Any) -> List[Tuple[str, float]]:
        """Texts and scores of the one utterance."""
        options = live.StreamOptions()
        self.runnel.function("stream_options_init")(ctypes.byref(options),
                                                    ctypes.c_size_t(ctypes.sizeof(options)))
        for name, value in fields.items():
            setattr(options, name, value)
        samples, rate = soundfile.read(audio, dtype="int16")
        assert rate == RATE
        stream, update = ctypes.c_void_p(), ctypes.c_void_p()
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(self.runnel.function("stream_close"), stream)
            self.runnel.call("stream_open", self.recognizer, ctypes.byref(options),
                             ctypes.byref(stream))
            accepted = ctypes.c_size_t()
            self.runnel.call("stream_accept_int16", stream, samples.tobytes(),
                             ctypes.c_size_t(len(samples)), ctypes.byref(accepted))
            assert accepted.value == len(samples)
            self.runnel.call("stream_finish", stream)
            while True:
                self.runnel.call("stream_wait", stream, ctypes.c_double(PATIENCE_MS),
                                 ctypes.byref(update))
                assert update, "no final update"
                is_final = self.runnel.function("update_is_final")(update)
                found = results(self.runnel, item(self.runnel, "update_utterance", update, 0))
                self.runnel.function("update_free")(update)
                if is_final:
                    return found


@pytest.fixture(scope="module", name="audio")
def _audio(tmp_path_factory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("audio") / "audio.wav"
    write_audio(path, seconds=4, rate=RATE)
    return path


@pytest.mark.parametrize("name, fields, flags", [
    ("hybrid_streaming", {}, []),
    ("hybrid_streaming", {"head": CTC}, ["--head=ctc"]),
    ("hybrid_streaming", {"head": TRANSDUCER, "max_symbols": 1}, ["--max_symbols=1"]),
    ("hybrid_streaming", {"search": MODIFIED_BEAM, "ctc_weight": 0.5, "nbest": 4},
     ["--search=modified_beam", "--ctc_weight=0.5", "--nbest=4"]),
    ("rescore_bitransformer",
     {"search": PREFIX_BEAM, "nbest": 4, "rescoring": 1, "first_pass_weight": 3,
      "reverse_weight": 0.25},
     ["--search=beam", "--nbest=4", "--rescoring", "--first_pass_weight=3",
      "--reverse_weight=0.25"]),
    ("multilingual", {"language": b"de-DE"}, ["--language=de-DE"])])
def test_options_give_the_results_of_decode_wav(name, fields, flags, audio):
    text = succeed("decode_wav", f"--model={model_of(name)}", f"--wav={audio}", "--format=json",
                   *flags)
    expected = [(one["text"], one["score"]) for one in json.loads(text)["nbest"]]
    assert expected[0][0]
    with Recognizer(model_of(name)) as recognizer:
        found = recognizer.decode(audio, **fields)
    assert [(text, pytest.approx(score, abs=1e-4)) for text, score in found] == expected


@pytest.mark.parametrize("name, fields, message", [
    ("hybrid_streaming", {"ctc_weight": 0.5}, "one label per frame, got greedy search"),
    ("hybrid_streaming", {"search": PREFIX_BEAM, "ctc_weight": 0.5},
     "one label per frame, got the time-synchronous beam search"),
    ("tdt_streaming", {"search": MODIFIED_BEAM}, "modified beam search has no durations")])
def test_options_without_effect_are_refused(name, fields, message, audio):
    with Recognizer(model_of(name)) as recognizer, pytest.raises(RuntimeError, match=message):
        recognizer.decode(audio, **fields)


def test_languages_of_a_model(audio):
    with Recognizer(model_of("multilingual")) as recognizer:
        assert recognizer.languages() == ["en-US", "de-DE", "auto"]
        texts = [recognizer.decode(audio, language=name.encode())
                 for name in recognizer.languages()]
        assert recognizer.decode(audio) == texts[2] and texts[0] != texts[1]
        with pytest.raises(RuntimeError, match="^language is 'fr', expected one of en-US, de-DE, "
                                               "auto$"):
            recognizer.decode(audio, language=b"fr")
    with Recognizer(model_of("hybrid_streaming")) as recognizer:
        assert recognizer.languages() == []
