"""Recordings give the results of decode_wav, alone, in lists, as files and as arrays."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest
import soundfile
from offline_model import write_offline_model
from recordings import PATHS, as_json, decode_wav, samples_of
from tool_runner import DIGITS, SAMPLES, succeed, write_audio

import runnel

BEAM = ({"search": "beam", "nbest": 4}, ["--search=beam", "--nbest=4"])


@pytest.mark.parametrize("options, flags", [
    ({}, []), BEAM, ({"chunk_size": -1, "left_context": -1}, ["--chunk_size=-1",
                                                              "--left_context=-1"]),
    ({"chunk_size": 4, "left_context": 8}, ["--chunk_size=4", "--left_context=8"])])
def test_files_equal_decode_wav(model, options, flags):
    results = model.transcribe(PATHS, **options)
    expected = decode_wav(PATHS, *flags)
    for path, result, found in zip(PATHS, results, expected, strict=True):
        assert [as_json(hypothesis) for hypothesis in result.nbest] == found["nbest"]
        assert str(result) == result.text == result.nbest[0].text
        assert result.duration_s == pytest.approx(found["audio_seconds"], abs=1e-3)
        assert model.transcribe(path, **options) == result


@pytest.mark.parametrize("precision", ["int8", "bfloat16"])
def test_precisions_equal_decode_wav(precision):
    model = runnel.load(DIGITS / "digits.pt", precision=precision)
    assert precision in model.compute_description
    result = model.transcribe(PATHS[0])
    assert [as_json(hypothesis) for hypothesis in result.nbest] == decode_wav(
        PATHS[:1], f"--precision={precision}")[0]["nbest"]


def test_utterances_equal_decode_wav(model, tmp_path):
    silence = np.zeros(32000, np.float32)
    path = tmp_path / "talk.wav"
    soundfile.write(path, np.concatenate([samples_of("ked_year"), silence, samples_of("f4_stereo"),
                                          silence]), 16000, subtype="FLOAT")
    result = model.transcribe(path, endpointing=True)
    found = decode_wav([path], "--endpointing")[0]["segments"]
    assert len(found) == 2
    assert [utterance.text for utterance in result.utterances if utterance.text] == [
        segment["text"] for segment in found]
    assert [utterance.end for utterance in result.utterances[:2]] == ["endpoint", "endpoint"]
    assert result.text == " ".join(segment["text"] for segment in found)
    assert " ".join(word.text for word in result.words) == result.text
    assert len(result.tokens) == sum(len(segment["nbest"][0]["tokens"]) for segment in found)
    with pytest.raises(ValueError, match="utterances"):
        result.nbest  # pylint: disable=pointless-statement


def test_words_that_an_utterance_cuts_are_joined(model):
    path = SAMPLES / "rms_phone_number.flac"
    result = model.transcribe(path, endpointing=True, endpoint_max_utterance_s=1.3)
    assert len(result.utterances) > 2
    assert not all(utterance.begins_word for utterance in result.utterances)
    assert result.text == model.transcribe(path).text == runnel.join_texts(result.utterances)


@pytest.mark.parametrize("threads, batch_streams", [(1, 1), (1, 3), (3, 2), (8, 16)])
def test_lists_do_not_depend_on_batches_and_threads(model, tmp_path, threads, batch_streams):
    audio = [samples_of("ked_year"), *PATHS, np.empty(0, np.float32), *map(str, PATHS)]
    for i in range(4):
        write_audio(tmp_path / f"{i}.wav", seconds=0.3 + i, seed=i)
        audio.append(tmp_path / f"{i}.wav")
    expected = [model.transcribe(one) for one in audio]
    parallel = runnel.load(DIGITS / "digits.pt", threads=threads)
    assert parallel.transcribe(audio, batch_streams=batch_streams) == expected
    assert parallel.transcribe([]) == []


def test_arrays_of_every_kind_equal_the_file(model):
    integers, rate = soundfile.read(SAMPLES / "ked_year.flac", dtype="int16")
    expected = model.transcribe(SAMPLES / "ked_year.flac")
    floats = (integers / 32768).astype(np.float32)
    wide = np.zeros((len(integers), 3), np.int16)
    wide[:, 1] = integers
    record = np.zeros(len(integers), [("flag", "i1"), ("sample", "<f4")])  # unaligned
    record["sample"] = floats
    frozen = floats.copy()
    frozen.flags.writeable = False
    for samples in (integers, floats, wide[:, 1], floats[::-1].copy()[::-1], record["sample"],
                    frozen):
        assert model.transcribe(samples, sample_rate_hz=rate) == expected


def test_other_rates_equal_the_file(model, tmp_path):
    samples = samples_of("rms_telephone", 11025)
    soundfile.write(tmp_path / "a.wav", samples, 11025, subtype="FLOAT")
    result = model.transcribe(samples, sample_rate_hz=11025)
    assert result == model.transcribe(tmp_path / "a.wav")
    assert result.duration_s == len(samples) / 11025


def test_channels(model, tmp_path):
    left, right = samples_of("ked_year")[:20000], samples_of("f4_stereo")[:20000]
    soundfile.write(tmp_path / "a.wav", np.stack([left, right], axis=1), 16000, subtype="FLOAT")
    for channel, samples in enumerate((left, right)):
        assert model.transcribe(tmp_path / "a.wav", channel=channel) == model.transcribe(samples)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg to make files with")
def test_audio_tracks(model, tmp_path):
    speech, path = SAMPLES / "ked_year.flac", tmp_path / "two.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "anullsrc=duration=2", "-i",
                    speech, "-map", "0:a", "-map", "1:a", "-c:a", "flac", path], check=True)
    with pytest.warns(RuntimeWarning, match="has 2 audio tracks: track 0 "):
        assert str(model.transcribe(path)) == ""
    expected = str(model.transcribe(speech))
    assert str(model.transcribe(path, audio_track=1)) == expected
    assert [str(found) for _, found in model.transcribe_each([path], audio_track=1)] == [expected]
    assert len(model.features(path, audio_track=1)) == len(model.features(speech))
    with pytest.raises(runnel.DataError, match="has 2 audio tracks, expected track 2 "):
        model.transcribe(path, audio_track=2)


def test_a_list_shows_progress_with_tqdm(model, monkeypatch):
    shown = []

    class Bar:
        """Stands for tqdm.tqdm."""

        def __init__(self, **options):
            shown.append(options)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self):
            shown.append("update")

    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    model.transcribe(PATHS[:2], progress=True)
    assert shown[0]["total"] == 2 and shown[1:] == ["update", "update"]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert len(model.transcribe(PATHS[:2])) == 2
    with pytest.raises(ImportError):
        model.transcribe(PATHS[:2], progress=True)


class ByIndex:
    """A data set of the map style, as PyTorch has it."""

    def __len__(self):
        return len(PATHS)

    def __getitem__(self, index):
        return PATHS[index]


def test_every_iterable_of_recordings(model):
    expected = [model.transcribe(path) for path in PATHS]
    assert model.transcribe(iter(PATHS)) == model.transcribe(tuple(PATHS)) == expected
    assert model.transcribe(path for path in PATHS) == model.transcribe(map(str, PATHS)) == expected
    found = dict(model.transcribe_each(set(PATHS)))
    assert model.transcribe(ByIndex()) == expected
    assert [result for _, result in model.transcribe_each(ByIndex())] == expected
    assert found == dict(zip(PATHS, expected))
    assert len(model.transcribe(SAMPLES.glob("*.flac"))) == len(list(SAMPLES.glob("*.flac")))


@pytest.mark.parametrize("threads, batch_streams", [(1, 1), (1, 16), (3, 2)])
def test_an_endless_iterable_is_read_as_it_is_decoded(threads, batch_streams):
    model = runnel.load(DIGITS / "digits.pt", threads=threads)
    samples, made = samples_of("ked_year"), []

    def recordings():
        while True:
            made.append(samples[:8000 + len(made)])
            yield made[-1]

    done = model.transcribe_each(recordings(), batch_streams=batch_streams)
    for index in range(20):
        audio, result = next(done)
        assert audio is made[index]
        assert result == model.transcribe(audio)
        assert len(made) <= index + 1 + 2 * threads * batch_streams
    done.close()
    num_made = len(made)
    assert next(done, None) is None and len(made) == num_made


@pytest.mark.parametrize("threads, batch_streams", [(1, 1), (1, 16), (3, 2)])
def test_what_an_iterable_raises_comes_after_the_results_before_it(threads, batch_streams):
    model = runnel.load(DIGITS / "digits.pt", threads=threads)

    def recordings():
        yield from PATHS[:3]
        raise LookupError("no more recordings")

    done = model.transcribe_each(recordings(), batch_streams=batch_streams)
    for path in PATHS[:3]:
        assert next(done) == (path, model.transcribe(path))
    with pytest.raises(LookupError, match="no more recordings"):
        next(done)
    with pytest.raises(LookupError, match="no more recordings"):
        model.transcribe(recordings(), batch_streams=batch_streams)


def test_a_model_has_a_thread_per_core_by_default():
    assert runnel.load(DIGITS / "digits.pt").threads == len(os.sched_getaffinity(0))


def test_long_recordings_of_an_offline_model_are_decoded_in_windows(tmp_path):
    path = write_offline_model(tmp_path / "offline.pt")
    model = runnel.load(path)
    chunk, left, right = model.streaming.window
    windows = {"chunk_size": chunk, "left_context": left, "right_context": right}
    noise = np.random.default_rng(1).uniform(-0.1, 0.1, 61 * 16000).astype(np.float32)
    noise *= 1 + np.sin(np.arange(len(noise)) / 9000)
    scores = set()
    for samples, options in ((noise[:60 * 16000], {"chunk_size": -1}),
                             (noise[:60 * 16000 + 1], windows), (noise, windows)):
        expected = model.transcribe(samples, **options)
        scores.add(expected.nbest[0].score)
        assert model.transcribe(samples) == model.transcribe([samples])[0] == expected
        soundfile.write(tmp_path / "a.wav", samples, 16000, subtype="FLOAT")
        assert model.transcribe(tmp_path / "a.wav") == expected
        np.testing.assert_array_equal(model.log_probs(samples), model.log_probs(samples, **options))
        flags = [f"--model={path}", f"--wav={tmp_path / 'a.wav'}", "--format=json"]
        asked = [f"--{name}={value}" for name, value in options.items()]
        assert succeed("decode_wav", *flags) == succeed("decode_wav", *flags, *asked)
        in_windows = model.transcribe(samples, **windows).nbest
        with model.stream() as stream:
            stream.accept(samples)
            assert stream.num_encoder_frames > 0, "text comes before the end"
            assert stream.finish()[0].nbest == in_windows
        with (tmp_path / "a.wav").open("rb") as file:
            found = json.loads(succeed("decode_wav", f"--model={path}", "--wav=-", "--format=json",
                                       stdin=file))["nbest"]
        assert found == list(map(as_json, in_windows))
    assert len(scores) == 3 and model.transcribe(noise, chunk_size=-1) != model.transcribe(noise)


@pytest.mark.parametrize("threads, batch_streams", [(1, 1), (1, 16), (3, 2)])
def test_a_recording_that_fails_harms_no_other(tmp_path, threads, batch_streams):
    model = runnel.load(DIGITS / "digits.pt", threads=threads)
    (tmp_path / "bad.wav").write_text("not audio")
    flac = (SAMPLES / "ked_year.flac").read_bytes()
    (tmp_path / "cut.flac").write_bytes(flac[:len(flac) // 2])
    bad = {1: "no_such.wav", 3: tmp_path / "bad.wav", 4: tmp_path / "cut.flac", 5: 7,
           7: np.array([np.nan], np.float32), 8: np.zeros((2, 2), np.float32)}
    audio = [bad.get(i, PATHS[i % len(PATHS)]) for i in range(12)]
    kinds = {1: FileNotFoundError, 3: runnel.DataError, 4: runnel.DataError, 5: TypeError,
             7: ValueError, 8: ValueError}
    found = list(model.transcribe_each(audio, batch_streams=batch_streams))
    assert len(found) == 12
    for i, (given, outcome) in enumerate(found):
        assert given is audio[i]
        if i in bad:
            assert type(outcome) is kinds[i], outcome
        else:
            assert outcome == model.transcribe(audio[i])
    with pytest.raises(FileNotFoundError):
        model.transcribe(audio, batch_streams=batch_streams)


def test_a_recording_without_samples_is_named(model, tmp_path):
    path = tmp_path / "silent.wav"
    write_audio(path, seconds=0)
    with pytest.warns(RuntimeWarning, match=f"^{re.escape(str(path))}: has no samples$"):
        assert model.transcribe(path).duration_s == 0


def test_a_recording_that_was_cut_off_is_named(model, tmp_path):
    path = tmp_path / "cut.wav"
    write_audio(path, seconds=4.0)
    path.write_bytes(path.read_bytes()[:44 + 2 * 32000])
    expected = re.escape(f"{path}: ends after 2.00 s, its header announces 4.00 s")
    with pytest.warns(RuntimeWarning, match=f"^{expected}$"):
        assert model.transcribe(path).duration_s == 2.0
    with pytest.warns(RuntimeWarning, match=f"^{expected}$"):
        model.log_probs(path)
    source = runnel.AudioSource(path, model.sample_rate_hz)
    assert source.announced_s == 4.0
    source.read()
    assert source.seconds_read == 2.0


def test_results_come_before_the_end_of_the_list(tmp_path):
    """With one recording at a time, the result of one is there before the last is begun."""
    model = runnel.load(DIGITS / "digits.pt", threads=1)
    late = tmp_path / "late.flac"
    each = model.transcribe_each([*[PATHS[0]] * 3, late], batch_streams=1)
    expected = model.transcribe(PATHS[0])
    assert next(each) == (PATHS[0], expected)
    late.write_bytes(PATHS[0].read_bytes())
    assert [result for _, result in each] == [expected] * 3


def test_options_are_checked_before_the_first_recording(model):
    for audio in (PATHS, []):
        with pytest.raises(ValueError, match="chunk_size"):
            model.transcribe_each(audio, chunk_size=0)
    assert list(model.transcribe_each([])) == []


def test_repr_is_short(model):
    result = model.transcribe(SAMPLES / "ked_year.flac", search="beam", nbest=5)
    assert repr(result).startswith("Result('two zero two six', duration_s=1.8")
    assert repr(result.utterances[0]).startswith("Utterance('two zero two six', start_ms=")
    assert repr(result.nbest[0]).startswith("Hypothesis('two zero two six', score=")
    long = dataclasses.replace(result, utterances=result.utterances * 100)
    assert len(repr(long)) < 300 and len(repr(result.nbest)) < 500
    recognizer = runnel.Recognizer(model)
    for value, name in ((model.stream(), "Stream: digits"), (recognizer, "Recognizer: digits"),
                        (recognizer.open(), "LiveStream: digits"),
                        (runnel.Hotwords(model, ["six"]), "Hotwords: 1 phrases")):
        assert repr(value) == f"<runnel.{name}>"
