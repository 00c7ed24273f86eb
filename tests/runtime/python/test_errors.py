"""Wrong use, missing files and bad data raise exceptions of the right kind with one line."""

import io
import pathlib

import numpy as np
import pytest
import soundfile
from optional_parts import HAS_REFERENCE
from recordings import samples_of
from search_files import write_unigrams
from tool_runner import DIGITS, ROOT, SAMPLES

import runnel


def message(error) -> str:
    text = str(error.value)
    assert text and "\n" not in text
    return text


@pytest.mark.parametrize("samples, kind, expected", [
    (np.zeros(10), TypeError, "float64, expected float32 in [-1, 1], as samples.astype('float32')"),
    (np.zeros(10, np.int32), TypeError, "int32, expected float32"),
    (np.zeros(10, ">i2"), TypeError, ">i2, expected float32"),
    (np.zeros(10, np.complex64), TypeError, "complex64"),
    ([0.0, 0.1], TypeError, "got list"),
    (b"\0\0", TypeError, "got bytes"),
    (None, TypeError, "got NoneType"),
    (np.zeros((10, 2), np.float32), ValueError, "(10, 2), expected (n,)"),
    (np.array(0, np.float32), ValueError, "(), expected (n,)"),
    (np.array([0, np.nan], np.float32), ValueError, "nan"),
    (np.array([np.inf], np.float32), ValueError, "inf"),
    (np.array([0, 12345], np.float32), ValueError,
     "sample 1 is 12345, expected samples in [-1, 1]")])
def test_samples(model, samples, kind, expected):
    with model.stream() as stream:
        with pytest.raises(kind) as error:
            stream.accept(samples)
        assert expected in message(error)
        assert stream.num_samples == 0
        stream.accept(np.zeros(160, np.float32))  # the stream is as it was
    if isinstance(samples, np.ndarray):
        with pytest.raises(kind):
            model.transcribe(samples)


@pytest.mark.parametrize("frames, kind", [
    (np.zeros((5, 3), np.float32), ValueError), (np.zeros(5, np.float32), ValueError),
    (np.zeros((5, 80), np.float64), TypeError), ([[0.0]], TypeError)])
def test_features(model, frames, kind):
    with model.stream() as stream, pytest.raises(kind) as error:
        stream.accept_features(frames)
    assert "frames" in message(error)


@pytest.mark.parametrize("options, kind, expected", [
    ({"chunk_sise": 16}, TypeError, "'chunk_sise' is not an option"),
    ({"chunk_size": "16"}, TypeError, "chunk_size is '16', expected an integer"),
    ({"chunk_size": True}, TypeError, "chunk_size is True, expected an integer"),
    ({"chunk_size": 1.5}, TypeError, "chunk_size is 1.5, expected an integer"),
    ({"chunk_size": 2**70}, ValueError, f"chunk_size is {2**70}, expected -{2**63} to"),
    ({"chunk_size": 0}, ValueError, "chunk_size"),
    ({"left_context": -7}, ValueError, "left_context"),
    ({"endpointing": 1}, TypeError, "endpointing is 1, expected True or False"),
    ({"endpoint_silence_s": "1"}, TypeError, "expected a number"),
    ({"endpoint_silence_s": float("nan"), "endpointing": True}, ValueError, "nan"),
    ({"search": "fast"}, ValueError, "search is 'fast', expected greedy, beam or"),
    ({"search": 1}, TypeError, "search is 1, expected str"),
    ({"head": "transducer"}, ValueError, "transducer"),
    ({"beam_size": 0, "search": "beam"}, ValueError, "beam_size"),
    ({"nbest": 0}, ValueError, "nbest"),
    ({"hotwords": ["six"], "search": "greedy"}, ValueError, "hotwords needs search='beam'"),
    ({"hotwords": [6]}, TypeError, "a phrase of hotwords is 6, expected str"),
    ({"hotwords": ["six\nseven"]}, ValueError, "line break"),
    ({"hotwords": 6}, TypeError, "a path, a list of phrases or Hotwords, got int"),
    ({"hotwords": {"six"}}, TypeError, "a list of phrases or Hotwords, got set"),
    ({"nbest": 2}, ValueError, "nbest is 2, expected at most 1 with search='greedy'"),
    ({"nbest": 9, "search": "beam"}, ValueError, "nbest is 9, expected at most 8 with beam_size=8"),
    ({"beam_size": 4}, ValueError, "beam_size needs search='beam'"),
    ({"token_beam": 4, "search": "greedy"}, ValueError, "token_beam needs search='beam'"),
    ({"hotword_score": 1}, ValueError, "hotword_score needs hotwords"),
    ({"language_model_weight": 1}, ValueError, "language_model_weight needs language_model"),
    ({"reverse_weight": 0.5}, ValueError, "reverse_weight needs rescoring"),
    ({"endpoint_silence_s": 1}, ValueError, "endpoint_silence_s needs endpointing"),
    ({"skip_silence": True, "endpointing": False}, ValueError, "skip_silence needs endpointing"),
    ({"early_text_padding": 1}, ValueError, "early_text_padding needs early_text_interval"),
    ({"rescoring": True}, ValueError, "rescoring"),
    ({"language": "de"}, ValueError, "language"),
    ({"sample_rate_hz": 10}, ValueError, "sample_rate_hz")])
def test_options(model, options, kind, expected):
    for use in (lambda: model.stream(**options),
                lambda: model.transcribe(np.zeros(10, np.float32), **options)):
        with pytest.raises(kind) as error:
            use()
        assert expected in message(error)
    with runnel.Recognizer(model) as recognizer, pytest.raises(kind):
        recognizer.open(**options)


def test_early_text_is_of_live_streams(model):
    for use in (lambda: model.stream(early_text_interval=4),
                lambda: model.transcribe(np.zeros(10, np.float32), early_text_interval=4)):
        with pytest.raises(ValueError) as error:
            use()
        assert message(error) == ("early_text_interval is 4, expected 0: only a live stream has "
                                  "tentative text before a chunk is complete")
    model.stream(early_text_interval=0).close()
    with runnel.Recognizer(model) as recognizer:
        recognizer.open(early_text_interval=4).cancel()


@pytest.mark.parametrize("use", [
    lambda model: runnel.load("no/such.file"),
    lambda model: model.transcribe("no/such.file"),
    lambda model: model.transcribe([SAMPLES / "ked_year.flac", "no/such.file"]),
    lambda model: model.features("no/such.file"),
    lambda model: runnel.AudioSource("no/such.file", 16000),
    lambda model: runnel.WordList(model, "no/such.file"),
    lambda model: runnel.Hotwords(model, "no/such.file"),
    lambda model: runnel.LanguageModel("no/such.file"),
    lambda model: model.stream(language_model="no/such.file"),
    lambda model: runnel.load(DIGITS / "digits.pt", units_file="no/such.file")])
def test_missing_files(model, use):
    with pytest.raises(FileNotFoundError) as error:
        use(model)
    assert error.value.filename == "no/such.file" and "no/such.file" in message(error)


def test_a_language_model_of_other_words(model, tmp_path):
    path = write_unigrams(tmp_path / "lm.arpa", {"Zero": -1, "One": -2})
    with pytest.raises(ValueError) as error:
        model.stream(language_model=path)
    assert "not 'Zero' or 'One': they have capital letters, expected lower case" in message(error)


def test_bad_files(model, tmp_path):
    bad = tmp_path / "bad.file"
    bad.write_text("not what it should be")
    for use in (runnel.load, model.transcribe, runnel.LanguageModel,
                lambda path: runnel.AudioSource(path, 16000),
                lambda path: model.stream(word_list=path)):
        with pytest.raises(runnel.DataError, match="bad.file") as error:
            use(bad)
        assert isinstance(error.value, RuntimeError) and message(error)
    flac = (SAMPLES / "ked_year.flac").read_bytes()
    (tmp_path / "cut.flac").write_bytes(flac[:len(flac) // 2])
    with pytest.raises(runnel.DataError, match="cut.flac"):
        model.transcribe([SAMPLES / "ked_year.flac", tmp_path / "cut.flac"])


def test_audio_that_cannot_be_decoded_names_the_file(model, tmp_path):
    soundfile.write(tmp_path / "loud.wav", np.full(20000, 1e20, np.float32), 16000, "FLOAT")
    with pytest.raises(runnel.DataError, match="loud.wav: .*samples in .-1, 1.") as error:
        model.transcribe(tmp_path / "loud.wav")
    assert message(error)


def test_models(model):
    for options, expected in (({"precision": "int3"}, "precision is 'int3', expected float32, "),
                              ({"precision": "int4"}, "int4, which a file has from pack_model"),
                              ({"step_threads": 0}, "step_threads is 0, expected 1 to 64 threads"),
                              ({"backend": "gpu"}, "backend is 'gpu'"), ({"threads": 0}, "threads"),
                              ({"precision": "int8", "backend": "libtorch"},
                               "backend='libtorch' computes no int8, expected float32 or"),
                              ({"dynamic_chunk_convolution": True}, "dynamic chunk")):
        with pytest.raises(ValueError, match=expected) as error:
            runnel.load(DIGITS / "digits.pt", **options)
        assert message(error)
    with pytest.raises(TypeError):
        runnel.load(7)
    with pytest.raises(TypeError):
        model.transcribe(7)
    with pytest.raises(ValueError, match="arrays only"):
        model.transcribe(SAMPLES / "ked_year.flac", sample_rate_hz=16000)
    with pytest.raises(ValueError, match="batch_streams"):
        model.transcribe([], batch_streams=0)


@pytest.mark.skipif(HAS_REFERENCE, reason="this build has the reference")
def test_models_without_the_reference():
    for options in {"precision": "float64"}, {"backend": "libtorch"}:
        with pytest.raises(RuntimeError, match="LibTorch.* needs the reference, ") as error:
            runnel.load(DIGITS / "digits.pt", **options)
        assert message(error)


def test_order_of_calls(model):
    stream = model.stream()
    stream.finish()
    for use in (lambda: stream.accept(np.zeros(10, np.float32)),
                lambda: runnel.decode_chunks([stream, stream])):
        with pytest.raises(ValueError):
            use()
    stream.close()
    stream.close()
    for use in (stream.finish, stream.snapshot, lambda: stream.partial,
                lambda: runnel.decode_chunks([stream])):
        with pytest.raises(ValueError, match="the stream is closed"):
            use()
    with pytest.raises(ValueError, match="nbest|NBest|expected"):
        model.stream().nbest(0)


def test_arguments(model):
    stream = model.stream()
    recognizer = runnel.Recognizer(model)
    path = SAMPLES / "ked_year.flac"
    for use, expected in (
            (lambda: runnel.Recognizer("path"), "model is 'path', expected a Model"),
            (lambda: runnel.Recognizer(model, num_threads="2"), "num_threads is '2'"),
            (lambda: runnel.load(DIGITS / "digits.pt", precision=8), "precision is 8, expected"),
            (lambda: runnel.load(DIGITS / "digits.pt", threads="2"), "threads is '2'"),
            (lambda: runnel.load(DIGITS / "digits.pt", threads=1.5), "threads is 1.5"),
            (lambda: stream.nbest("a"), "n is 'a', expected an integer"),
            (lambda: model.restore("x"), "snapshot: expected bytes, got str"),
            (lambda: recognizer.restore(7), "snapshot: expected bytes, got int"),
            (lambda: recognizer.open().poll("a"), "timeout_s is 'a', expected a number"),
            (lambda: recognizer.open().notify_room(7), "on_room is 7, expected a callable"),
            (lambda: runnel.AudioSource(path, "16000"), "rate_hz is '16000', expected an integer"),
            (lambda: runnel.AudioSource(path, 16000).read("a"), "max_samples is 'a'"),
            (lambda: runnel.decode_chunks([None]), "expected a list of Stream"),
            (lambda: runnel.decode_chunks([stream, None]), "expected a list of Stream"),
            (lambda: runnel.decode_chunks(7), "streams is 7, expected a list of Stream"),
            (lambda: model.features(b"\0\0"), "numpy.frombuffer), got bytes"),
            (lambda: model.transcribe(b"\0\0"), "numpy.frombuffer) or a list of these, got bytes"),
            (lambda: model.transcribe(io.BytesIO()), "or a list of these, got BytesIO"),
            (lambda: model.transcribe([0.5]), "numpy.frombuffer), got float")):
        with pytest.raises(TypeError) as error:
            use()
        assert expected in message(error)
    for use, expected in (
            (lambda: runnel.AudioSource(path, 16000).read(-1), "max_samples is -1, expected at"),
            (lambda: model.transcribe(np.zeros(9, np.float32), channel=0), "for files only"),
            (lambda: model.transcribe(np.zeros(9, np.float32), audio_track=0), "audio_track is")):
        with pytest.raises(ValueError) as error:
            use()
        assert expected in message(error)
    assert model.stream(endpointing=np.True_).partial == ""


def test_a_path_with_a_null_character(model):
    path = f"{SAMPLES / 'ked_year.flac'}\0.wav"
    for use in (lambda: runnel.load(f"{DIGITS / 'digits.pt'}\0"),
                lambda: runnel.load(DIGITS / "digits.pt", units_file="units.txt\0"),
                lambda: runnel.AudioSource(path, 16000), lambda: model.transcribe(path),
                lambda: model.transcribe(pathlib.Path(path)), lambda: model.features(path),
                lambda: runnel.WordList(model, f"{DIGITS / 'words.txt'}\0"),
                lambda: runnel.Hotwords(model, f"{DIGITS / 'words.txt'}\0"),
                lambda: runnel.LanguageModel("a.bin\0"),
                lambda: model.stream(hotwords=f"{DIGITS / 'words.txt'}\0"),
                lambda: model.stream(word_list=f"{DIGITS / 'words.txt'}\0"),
                lambda: model.stream(search="beam", language_model="a.bin\0")):
        with pytest.raises(ValueError, match="expected a path without a null character") as error:
            use()
        assert message(error)
    (_, outcome), = model.transcribe_each([path])
    assert isinstance(outcome, ValueError)


def test_snapshots(model):
    with model.stream() as stream:
        stream.accept(samples_of("ked_year"))
        snapshot = stream.snapshot()
    damaged = bytearray(snapshot)
    damaged[len(damaged) // 2] ^= 1
    tiny = runnel.load(ROOT / "tests/golden/encoder/tiny.pt")
    with runnel.Recognizer(model) as recognizer:
        for bad in (b"", b"junk", snapshot[:-1], bytes(damaged)):
            for restore in (model.restore, recognizer.restore):
                with pytest.raises(runnel.SnapshotError) as error:
                    restore(bad)
                assert isinstance(error.value, runnel.DataError) and message(error)
        with pytest.raises(runnel.SnapshotError, match="model"):
            tiny.restore(snapshot)
        with pytest.raises(TypeError):
            recognizer.restore("text")
        with pytest.raises(TypeError):
            recognizer.open(on_update=7)
        for options in ({"num_threads": 0}, {"max_batch_streams": 0}, {"max_buffered_s": 0}):
            with pytest.raises(ValueError, match=next(iter(options))):
                runnel.Recognizer(model, **options)
