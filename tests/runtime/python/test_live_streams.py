"""Recognizer: callbacks, polling, many streams and threads give the results of Stream."""

import sys
import threading

import numpy as np
import pytest
from recordings import PATHS, expected_of, pieces, samples_of, without_latency

import runnel

NAMES = [path.stem for path in PATHS]


@pytest.mark.parametrize("size", [480, 1600, 10**7])
def test_callbacks(model, recognizer, size):
    finals = {}
    is_over = {name: threading.Event() for name in NAMES}

    def listener(name):
        texts = []

        def on_update(update):
            assert update.text.endswith(update.tentative_text)
            texts.append(update.text)
            if update.is_final:
                finals[name] = (update.utterances, update.error, texts)
                is_over[name].set()
        return on_update

    streams = {name: recognizer.open(listener(name)) for name in NAMES}
    for name, stream in streams.items():
        for packet in pieces(samples_of(name), [size]):
            assert stream.accept(packet)
        stream.finish()
    for name in NAMES:
        is_over[name].wait()
        utterances, error, texts = finals[name]
        assert error == "" and without_latency(utterances) == expected_of(model, name)
        assert texts[-1] == utterances[-1].text
    assert all(stream.is_over for stream in streams.values())


def test_polling_and_iteration(model, recognizer):
    samples = samples_of("ked_year")
    with recognizer.open(chunk_size=8) as stream:
        assert stream.poll() is None
        stream.accept(samples[:30000])
        update = stream.poll(timeout_s=60)
        assert update.audio_ms > 0 and update.latency_ms >= 0 and not update.is_final
        stream.accept(samples[30000:])
        stream.finish()
        updates = list(stream)
        assert updates[-1].is_final and not any(update.is_final for update in updates[:-1])
        utterances = [utterance for update in updates for utterance in update.utterances]
        assert without_latency(utterances) == expected_of(model, "ked_year", chunk_size=8)
        assert updates[-1].text == utterances[-1].text
        assert stream.is_over and stream.poll(timeout_s=60) is None
        assert stream.num_samples == len(samples)


def test_utterances_of_a_long_stream(model, recognizer):
    silence = np.zeros(32000, np.float32)
    samples = np.concatenate([samples_of("ked_year"), silence, samples_of("f4_stereo"), silence])
    options = {"endpointing": True, "nbest": 2, "search": "beam"}
    stream = recognizer.open(**options)
    for packet in pieces(samples, [1600]):
        stream.accept(packet)
    stream.finish()
    utterances = [utterance for update in stream for utterance in update.utterances]
    assert without_latency(utterances) == without_latency(
        model.transcribe(samples, **options).utterances)


def test_finalize_utterance(recognizer):
    stream = recognizer.open()
    stream.accept(samples_of("ked_year"))
    stream.finalize_utterance()
    while not (update := stream.poll(timeout_s=60)).utterances:
        pass
    assert [utterance.end for utterance in update.utterances] == ["flush"]
    stream.finish()
    assert list(stream)[-1].is_final


def test_back_pressure(model):
    """A stream that holds a second takes a minute, and accept waits for room."""
    samples = np.tile(samples_of("ked_year"), 12)
    with runnel.Recognizer(model, max_buffered_s=1) as recognizer:
        stream = recognizer.open()
        assert stream.room == 16000
        assert stream.accept_now(samples) == 16000 and stream.accept(samples[16000:])
        stream.finish()
        utterances = list(stream)[-1].utterances
    assert without_latency(utterances) == without_latency(model.transcribe(samples).utterances)


def test_room_is_announced(recognizer):
    stream = recognizer.open()
    has_room = threading.Event()
    stream.notify_room(has_room.set)
    assert has_room.is_set()
    stream.accept_now(np.zeros(10**6, np.float32))
    again = threading.Event()
    stream.notify_room(again.set)
    again.wait()


def test_snapshot_and_fork(model, recognizer):
    samples = samples_of("rms_phone_number")
    stream = recognizer.open()
    stream.accept(samples[:21000])
    snapshot = stream.snapshot()
    fork = stream.fork()
    stream.cancel()
    with pytest.raises(ValueError, match="cancelled"):
        stream.snapshot()
    restored = recognizer.restore(snapshot)
    assert restored.num_samples == fork.num_samples == 21000
    for continued in (restored, fork):
        continued.accept(samples[21000:])
        continued.finish()
        utterances = list(continued)[-1].utterances
        assert without_latency(utterances) == expected_of(model, "rms_phone_number")
    # A snapshot of a live stream continues as a Stream.
    with model.restore(snapshot) as continued:
        continued.accept(samples[21000:])
        assert without_latency(continued.finish()) == expected_of(model, "rms_phone_number")


def test_cancel_in_a_callback_and_after(recognizer):
    seen = []
    is_over = threading.Event()

    def on_update(update):
        seen.append(update)
        stream.cancel()
        is_over.set()

    stream = recognizer.open(on_update)
    stream.accept(samples_of("ked_year"))
    is_over.wait()
    stream.cancel()
    assert len(seen) == 1 and stream.is_over
    assert not stream.accept(np.zeros(100, np.float32))


def test_an_exception_in_a_callback_is_reported_and_harms_nothing(model, recognizer, monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: reported.append(info.exc_value))
    error = RuntimeError("from the callback")
    is_over = threading.Event()

    def on_update(update):
        if update.is_final:
            is_over.set()
        raise error

    stream = recognizer.open(on_update)
    stream.accept(samples_of("ked_year"))
    stream.finish()
    is_over.wait()
    stream.cancel()  # returns after the last callback
    assert reported and all(value is error for value in reported)
    other = recognizer.open()
    other.accept(samples_of("ked_year"))
    other.finish()
    assert without_latency(list(other)[-1].utterances) == expected_of(model, "ked_year")


@pytest.mark.parametrize("sample, text", [(np.nan, "nan"), (12345, "12345")])
def test_audio_that_cannot_be_decoded(recognizer, sample, text):
    stream = recognizer.open()
    stream.accept(np.full(16000, sample, np.float32))
    stream.finish()
    final = list(stream)[-1]
    assert final.is_final and not final.utterances
    assert final.error == f"sample 0 is {text}, expected samples in [-1, 1]"


def test_closing_cancels_streams(model):
    recognizer = runnel.Recognizer(model)
    stream = recognizer.open()
    refused = []

    def on_update(_):
        try:
            recognizer.close()
        except ValueError as error:
            refused.append(str(error))
        done.set()

    done = threading.Event()
    other = recognizer.open(on_update)
    other.accept(samples_of("ked_year"))
    done.wait()
    assert "callback" in refused[0]
    recognizer.close()
    recognizer.close()
    assert stream.is_over and list(stream) == []
    for use in (recognizer.open, recognizer.status):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_status(model, recognizer):
    assert recognizer.model is model
    stream = recognizer.open()
    stream.accept(samples_of("ked_year"))
    stream.finish()
    assert list(stream)
    status = recognizer.status()
    assert status.num_chunks > 0 and status.num_batches > 0
    assert status.audio_s == pytest.approx(len(samples_of("ked_year")) / 16000, abs=0.1)


def test_many_threads_feed_many_streams(model, recognizer):
    found = {}

    def serve(index):
        name = NAMES[index % len(NAMES)]
        with recognizer.open() as stream:
            for packet in pieces(samples_of(name), [400 + 100 * index]):
                assert stream.accept(packet)
            stream.finish()
            found[index] = (name, list(stream)[-1].utterances)

    threads = [threading.Thread(target=serve, args=[i]) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    for name, utterances in found.values():
        assert without_latency(utterances) == expected_of(model, name)


def in_a_callback(recognizer, use):
    """The message of the ValueError that `use` raises in a callback."""
    refused = []
    done = threading.Event()

    def on_update(_):
        try:
            use()
        except ValueError as error:
            refused.append(str(error))
        done.set()

    with recognizer.open(on_update) as stream:
        stream.accept(samples_of("ked_year"))
        done.wait()
    return refused[0]


def test_a_callback_may_not_wait_for_the_recognizer(recognizer):
    other = recognizer.open()
    samples = samples_of("ked_year")
    assert "expected accept_now" in in_a_callback(recognizer, lambda: other.accept(samples))
    for wait in (lambda: other.poll(1), lambda: next(other)):
        assert "expected another thread" in in_a_callback(recognizer, wait)
    assert other.num_samples == 0
    assert other.accept(samples) and other.poll(timeout_s=60).text


def test_a_stream_with_a_callback_is_not_polled(recognizer):
    with recognizer.open(lambda update: None) as stream:
        for read in (stream.poll, lambda: stream.poll(60), lambda: list(stream)):
            with pytest.raises(ValueError, match="has a callback"):
                read()


def test_stable_text_is_counted_in_characters(greek):
    """Stable text, as a callback adds it up, is the beginning of the text of the update."""
    updates = []
    is_over = threading.Event()

    def on_update(update):
        updates.append(update)
        if update.is_final:
            is_over.set()

    with runnel.Recognizer(greek) as recognizer:
        stream = recognizer.open(on_update, chunk_size=4)
        stream.accept(samples_of("ked_year"))
        stream.finish()
        is_over.wait()
    stable = ""
    for update in updates:
        stable = stable[:update.stable_size_before] + update.stable_text
        assert stable + update.tentative_text == update.text
    assert updates[-1].stable_size_before > 0 and len(stable.encode()) > len(stable)
