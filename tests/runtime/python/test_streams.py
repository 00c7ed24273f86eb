"""Streams: every cut of the input gives the results of decode_wav; snapshots and forks too."""

import gc
import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from installed_runnel import ENVIRONMENT, PYTHON
from recordings import as_json, decode_wav, pieces, samples_of
from tool_runner import DIGITS, SAMPLES, TINY_MODEL, succeed

import runnel

CUTS = [[1600], [1], [7, 4001, 160], [10**7], [0, 333]]
BEAM = {"search": "beam", "nbest": 3, "beam_size": 4}
BEAM_FLAGS = ["--search=beam", "--nbest=3", "--beam_size=4"]


@pytest.mark.parametrize("options, flags", [({}, []), (BEAM, BEAM_FLAGS)])
@pytest.mark.parametrize("sizes", CUTS, ids=str)
def test_every_cut_gives_the_result_of_decode_wav(model, sizes, options, flags):
    samples = samples_of("ked_year")
    if sizes == [1]:
        samples = samples[:20000]  # a call per sample takes its time
    with model.stream(**options) as whole:
        whole.accept(samples)
        expected = whole.finish()
    with model.stream(**options) as stream:
        for packet in pieces(samples, sizes):
            stream.accept(packet)
        assert stream.finish() == expected
    if sizes != [1]:
        assert [as_json(hypothesis) for hypothesis in expected[0].nbest] == decode_wav(
            [SAMPLES / "ked_year.flac"], *flags)[0]["nbest"]


def test_cached_windows_are_those_of_decode_wav():
    path = TINY_MODEL.parent / "variants" / "utterance_mean.pt"
    offline, scores = runnel.load(path), set()
    for cached in (False, True):
        output = succeed("decode_wav", f"--model={path}", "--format=json",
                         f"--wav={SAMPLES / 'rms_phone_number.flac'}", "--chunk_size=4",
                         "--left_context=80", "--right_context=3", f"--cached_windows={cached}")
        with offline.stream(chunk_size=4, left_context=80, right_context=3,
                            cached_windows=cached) as stream:
            assert stream.cached_windows == cached
            for packet in pieces(samples_of("rms_phone_number"), [4001, 160]):
                stream.accept(packet)
            final, = stream.finish()
        assert [as_json(hypothesis) for hypothesis in final.nbest] == json.loads(output)["nbest"]
        scores.add(final.nbest[0].score)
    assert len(scores) == 2


def test_partial_texts_grow_to_the_final_one(model):
    with model.stream(chunk_size=8) as stream:
        partials = []
        for packet in pieces(samples_of("ked_year"), [1600]):
            stream.accept(packet)
            partials.append(stream.partial)
            assert stream.stable_partial == stream.partial  # greedy
        final, = stream.finish()
    assert all(later.startswith(former) for former, later in zip(partials, partials[1:]))
    assert final.text.startswith(partials[-1]) and len(set(partials)) > 3
    assert final.end == "finish" and final.tokens[0].name in model.tokens


def test_beam_search_has_a_stable_beginning(model):
    stable = ""
    with model.stream(search="beam", chunk_size=4) as stream:
        for packet in pieces(samples_of("rms_phone_number"), [1600]):
            stream.accept(packet)
            assert stream.partial.startswith(stream.stable_partial)
            assert stream.stable_partial.startswith(stable)
            stable = stream.stable_partial
            assert stream.nbest(2)[0].text == stream.partial
        final, = stream.finish()
    assert stable and final.text.startswith(stable)


def test_state_of_a_stream(model):
    with model.stream(chunk_size=8, left_context=32) as stream:
        assert (stream.chunk_size, stream.left_context, stream.sample_rate_hz) == (8, 32, 16000)
        assert (stream.right_context, stream.cached_windows) == (-1, False)
        stream.accept_samples(np.zeros(16000, np.float32))
        assert stream.num_samples == 16000 and stream.num_encoder_frames == 0
        assert stream.chunk_ready and not stream.finished and not stream.is_final
        stream.decode()
        assert stream.num_encoder_frames >= 8 and not stream.chunk_ready
        stream.end_samples()
        assert stream.finished and not stream.is_final
        stream.decode()
        assert stream.is_final and stream.failure == ""
        stream.reset()
        assert stream.num_samples == 0 and not stream.finished


def test_int16_equals_float(model):
    samples = (samples_of("ked_year") * 32768).astype(np.int16)
    with model.stream() as integers, model.stream() as floats:
        integers.accept(samples)
        floats.accept(samples.astype(np.float32) / 32768)
        assert integers.finish() == floats.finish()


def test_arrays_of_any_layout(model):
    samples = samples_of("ked_year")
    unaligned = np.frombuffer(bytearray(samples.nbytes + 1), np.float32, offset=1)
    unaligned[:] = samples
    constant = samples.copy()
    constant.flags.writeable = False
    expected = model.features(samples)
    for array in (unaligned, constant, np.repeat(samples, 3)[::3], samples[::-1].copy()[::-1],
                  samples.view(np.recarray)):
        np.testing.assert_array_equal(model.features(array), expected)
    wide = np.zeros((2 * len(expected), 3 * model.feature_dim), np.float32)[::-2, 1::3]
    wide[:] = expected
    results = []
    for frames in (expected, wide):
        with model.stream() as stream:
            stream.accept_features(frames)
            results.append(stream.finish())
    assert results[0] == results[1] and results[0][0].text


def test_results_own_their_memory_without_a_copy(model):
    frames = model.features(samples_of("ked_year"))
    assert not frames.flags.owndata and frames.flags.writeable and frames.flags.c_contiguous
    rest, expected = frames[5:], frames[5:].copy()
    del frames
    gc.collect()
    model.features(samples_of("ked_year"))
    np.testing.assert_array_equal(rest, expected)


def test_features_in_place_of_samples(model):
    samples = samples_of("ked_year")
    with model.stream() as stream:
        stream.accept(samples)
        expected = stream.finish()[0]
    features = model.features(samples)
    with model.stream() as stream:
        stream.accept_features(features[:100])
        stream.accept_features(np.asfortranarray(features[100:]))
        found, = stream.finish()
    assert (found.text, found.tokens) == (expected.text, expected.tokens)


def test_finalize_utterance(model):
    samples = samples_of("ked_year")
    with model.stream() as stream:
        stream.accept(samples)
        stream.finalize_utterance()
        first, = stream.utterances()
        assert stream.utterance_index == 1 and stream.utterances() == []
        stream.accept(samples)
        second, = stream.finish()
    assert (first.end, second.end) == ("flush", "finish")
    assert first.text == str(model.transcribe(samples))


@pytest.mark.parametrize("search", ["greedy", "beam"])
@pytest.mark.parametrize("name", ["digits.pt", "digits_transducer.pt"])
def test_a_flush_loses_no_token(name, search):
    """Cut at any place, both utterances have the tokens of the recording without a cut, and times
    that do not overlap."""
    model = runnel.load(DIGITS / name)
    for recording in "ked_year", "rms_phone_number":
        samples = samples_of(recording)
        with model.stream(search=search) as stream:
            stream.accept(samples)
            expected = [token.id for token in stream.finish()[0].tokens]
        for end in range(320, len(samples), 320):
            with model.stream(search=search) as stream:
                stream.accept(samples[:end])
                stream.finalize_utterance()
                stream.accept(samples[end:])
                utterances = stream.finish()
            tokens = [token.id for one in utterances for token in one.tokens]
            assert tokens == expected, f"{recording}, cut after {end} samples"
            for first, second in zip(utterances, utterances[1:]):
                assert not first.tokens or first.end_ms <= second.start_ms


def test_batches_equal_single_streams(model):
    names = ["ked_year", "f4_stereo", "rms_phone_number"]
    options = [{"chunk_size": 4}, {}, BEAM]
    alone, together = [], []
    for name, choice in zip(names, options):
        alone.append(model.stream(**choice))
        alone[-1].accept(samples_of(name))
        together.append(model.stream(**choice))
        together[-1].accept_samples(samples_of(name))
        together[-1].end_samples()
    while runnel.decode_chunks(together):
        pass
    assert [stream.utterances() for stream in together] == [stream.finish() for stream in alone]


@pytest.mark.parametrize("options", [{}, BEAM])
def test_snapshot_continues_in_another_process(model, tmp_path, options):
    samples = samples_of("rms_phone_number")
    with model.stream(**options) as stream:
        stream.accept(samples[:21000])
        (tmp_path / "snapshot").write_bytes(stream.snapshot())
        stream.accept(samples[21000:])
        expected = stream.finish()
    np.save(tmp_path / "rest.npy", samples[21000:])
    program = """import sys, numpy, runnel
model = runnel.load(sys.argv[1])
stream = model.restore(open("snapshot", "rb").read())
assert stream.num_samples == 21000
stream.accept(numpy.load("rest.npy"))
print([utterance.nbest[0].tokens for utterance in stream.finish()])"""
    done = subprocess.run([PYTHON, "-c", program, DIGITS / "digits.pt"], cwd=tmp_path,
                          env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout == f"{[utterance.nbest[0].tokens for utterance in expected]}\n"


def test_forks_are_independent(model):
    samples = samples_of("ked_year")
    with model.stream() as stream:
        stream.accept(samples[:20000])
        early = stream.fork()
        other = stream.fork()
        assert len(early.finish()) == 1 and early.is_final and not stream.is_final
        stream.accept(samples[20000:])
        other.accept(samples[20000:])
        assert other.finish() == stream.finish()


def test_threads_that_share_a_stream_take_turns(model):
    """Each call is whole, so the sum of the samples is right whatever the order."""
    stream = model.stream()
    failures = []

    def feed():
        try:
            for packet in pieces(samples_of("ked_year"), [1600]):
                stream.accept(packet)
                assert isinstance(stream.partial, str)
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    threads = [threading.Thread(target=feed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert stream.num_samples == 4 * len(samples_of("ked_year"))
    stream.finish()


def test_many_threads_with_a_stream_each(model):
    expected = model.transcribe(samples_of("ked_year")).utterances
    found = []

    def decode(size):
        with model.stream() as stream:
            for packet in pieces(samples_of("ked_year"), [size]):
                stream.accept(packet)
            found.append(tuple(stream.finish()))

    threads = [threading.Thread(target=decode, args=[700 * (i + 1)]) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_other_python_threads_run_while_a_stream_decodes(model):
    """The GIL is free during a call."""
    samples = np.tile(samples_of("ked_year"), 10)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # nobody gives the GIL up unless a call releases it
    steps = []
    begin = threading.Event()

    def count():
        begin.wait()
        steps.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        begin.set()
        with model.stream(chunk_size=-1) as stream:
            stream.accept(samples)
            stream.finish()
        moved = bool(steps)
    finally:
        sys.setswitchinterval(switch)
        thread.join()
    assert moved
