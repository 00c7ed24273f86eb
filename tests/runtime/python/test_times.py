"""No time of a stream lies behind its samples: recordings cut at random, all kinds of models."""

import functools
import sys

import numpy as np
import pytest
import soundfile
from recordings import samples_of
from shared_data import need_shared
from tool_runner import DIGITS, ROOT, succeed, temporary_folder

import runnel

sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "models")]
from transducer_cases import source_of  # noqa: E402

from models.convert.command import main as convert  # noqa: E402

OF_TRANSDUCERS = ["rnnt_lstm1_streaming", "rnnt_lstm2_offline", "tdt_offline", "tdt_streaming",
                  "hybrid_streaming", "stateless_ctx2", "wenet_transducer_rnn"]
OF_FAMILIES = ["nemo_agg_ctc", "espnet_conformer_utterance_mvn", "espnet_conformer_transducer",
               "icefall_conformer_ctc"]
CASES = ["digits", *OF_TRANSDUCERS, *OF_FAMILIES]
NUM_CUTS = 12


@functools.lru_cache(maxsize=None)
def path_of(case):
    if case == "digits":
        return DIGITS / "digits.pt"
    if case in OF_TRANSDUCERS:
        family, source = source_of(case)
    else:
        family, source = case.partition("_")[0], need_shared(f"family_golden/{case}")
        if (source / "model.nemo").exists():
            source /= "model.nemo"
    path = temporary_folder(f"{case}-") / "model.pt"
    assert convert([family, str(source), f"--output={path}"]) == 0
    return path


def cuts(case):
    """Parts of a recording, with their number."""
    random = np.random.default_rng(len(case))
    samples = samples_of("rms_phone_number")
    for i in range(NUM_CUTS):
        count = int(random.integers(2000, 16000))
        begin = int(random.integers(0, len(samples) - count))
        yield i, samples[begin:begin + count]


def check_order(spoken, audio_ms):
    """Of tokens or words."""
    end_ms = 0
    for one in spoken:
        assert end_ms <= one.start_ms <= one.end_ms
        end_ms = one.end_ms
    assert end_ms <= audio_ms


def check(utterances, audio_ms):
    """Times of all results."""
    spoken_ms, searched_ms = 0, 0
    for utterance in utterances:
        assert utterance.start_ms <= utterance.end_ms <= utterance.searched_ms <= audio_ms
        assert searched_ms <= utterance.searched_ms
        searched_ms = utterance.searched_ms
        for hypothesis in utterance.nbest:
            check_order(hypothesis.tokens, searched_ms)
            check_order(hypothesis.words, searched_ms)
            for word in hypothesis.words:  # without time only where none is left before it
                assert word.start_ms < word.end_ms or word.start_ms == hypothesis.words[0].start_ms
            assert all(match.end_ms <= searched_ms for match in hypothesis.hotwords)
        if utterance.words:
            assert spoken_ms <= utterance.words[0].start_ms
            spoken_ms = utterance.words[-1].end_ms


@pytest.mark.parametrize("case", CASES)
def test_streams(case):
    model = runnel.load(path_of(case))
    num_words = 0
    for i, samples in cuts(case):
        rate_hz = 8000 if i % 3 == 0 else model.sample_rate_hz
        with model.stream(sample_rate_hz=rate_hz) as stream:
            stream.accept(samples)
            final, = stream.finish()
        check([final], 1000 * len(samples) / rate_hz)
        num_words += len(final.words)
    assert num_words > NUM_CUTS / 2


@pytest.mark.parametrize("case", CASES)
def test_utterances_within_a_stream(case):
    model = runnel.load(path_of(case))
    random = np.random.default_rng(1)
    for i, samples in cuts(case):
        rules = {"endpoint_silence_s": 0.1, "endpoint_max_utterance_s": 1, "endpointing": True}
        with model.stream(**(rules if i % 2 == 0 else {})) as stream:
            utterances = []
            for packet in np.array_split(samples, 5):
                stream.accept(packet)
                accepted_ms = 1000 * stream.num_samples / model.sample_rate_hz
                check_order(stream.nbest(1)[0].words, accepted_ms)
                if random.random() < 0.5:
                    stream.finalize_utterance()
                utterances += stream.utterances()
                check(utterances, accepted_ms)
            utterances += stream.finish()
        check(utterances, 1000 * len(samples) / model.sample_rate_hz)


@pytest.mark.parametrize("case", ["tdt_streaming", "rnnt_lstm1_streaming", "nemo_agg_ctc"])
def test_live_streams_and_formats(case):
    model = runnel.load(path_of(case))
    with runnel.Recognizer(model) as recognizer:
        for i, samples in cuts(case):
            audio_ms = 1000 * len(samples) / model.sample_rate_hz
            with recognizer.open(chunk_size=4) as stream:
                stream.accept(samples)
                stream.finish()
                for update in stream:
                    assert update.audio_ms <= audio_ms
                    check_order(update.tokens, audio_ms)
                    check(update.utterances, audio_ms)
            wav = path_of(case).with_name("cut.wav")
            soundfile.write(wav, samples, model.sample_rate_hz)
            ctm = succeed("decode_wav", f"--model={path_of(case)}", f"--wav={wav}", "--format=ctm")
            for start_s, duration_s in (line.split()[2:4] for line in ctm.splitlines()):
                assert float(duration_s) >= 0
                assert round(1000 * (float(start_s) + float(duration_s))) <= audio_ms, f"cut {i}"
            vtt = succeed("decode_wav", f"--model={path_of(case)}", f"--wav={wav}", "--format=vtt",
                          "--endpointing")
            for line in vtt.splitlines():
                if " --> " in line:
                    minutes, seconds = line.split(" --> ")[1].rsplit(":", maxsplit=1)
                    assert minutes == "00:00" and round(1000 * float(seconds)) <= audio_ms
