"""Options of streams: each changes what its flag of decode_wav changes."""

import typing

import pytest
from optional_parts import needs_pytorch
from recordings import as_json, decode_wav
from search_files import write_digits
from tool_runner import DIGITS, SAMPLES, succeed

import runnel

RECORDING = SAMPLES / "f4_stereo.flac"


def test_hotwords_equal_decode_wav(model, tmp_path):
    path = tmp_path / "hotwords.txt"
    path.write_text("six :10\n")
    expected = decode_wav([RECORDING], f"--hotwords={path}")[0]["nbest"]
    assert expected[0]["text"] == "six nine six"
    for hotwords in (path, str(path), ["six :10"], ("six :10",), runnel.Hotwords(model, path),
                     runnel.Hotwords(model, ["six"], score=10)):
        result = model.transcribe(RECORDING, hotwords=hotwords)
        assert [as_json(hypothesis) for hypothesis in result.nbest] == expected
        assert result.nbest[0].hotwords[0].phrase == "six"
    assert str(model.transcribe(RECORDING, hotwords=["six"], hotword_score=10)) == "six nine six"
    assert runnel.Hotwords(model, ["two six", "nine"]).phrases == ("two six", "nine")


def test_word_list_equals_decode_wav(model, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("one\nsix\nnine\n")
    expected = decode_wav([RECORDING], f"--word_list={path}")[0]["nbest"]
    for word_list in (path, runnel.WordList(model, path)):
        result = model.transcribe(RECORDING, word_list=word_list)
        assert [as_json(hypothesis) for hypothesis in result.nbest] == expected
        assert set(str(result).split()) <= {"one", "six", "nine"}


def test_language_model_equals_decode_wav(model, tmp_path):
    path = write_digits(tmp_path / "lm.arpa", two=-9.0)
    compiled = tmp_path / "lm.bin"
    succeed("compile_lm", f"--arpa={path}", f"--output={compiled}")
    found, = decode_wav([RECORDING], f"--language_model={path}", "--language_model_weight=2",
                        "--language_model_bonus=0.5")
    expected = found["nbest"]
    settings = {"language_model_weight": 2, "language_model_bonus": 0.5}
    for language_model in (path, compiled, runnel.LanguageModel(compiled)):
        result = model.transcribe(RECORDING, language_model=language_model, **settings)
        assert [as_json(hypothesis) for hypothesis in result.nbest] == expected
    loaded = runnel.LanguageModel(path)
    assert (loaded.order, loaded.num_ngrams) == (1, 12)
    assert loaded.fingerprint == runnel.LanguageModel(compiled).fingerprint


def test_restored_streams_take_their_files_again(model, tmp_path):
    path = write_digits(tmp_path / "lm.arpa", two=-9.0)
    (tmp_path / "words.txt").write_text("one\nsix\nnine\n")
    files = {"language_model": path, "word_list": tmp_path / "words.txt"}
    samples = runnel.AudioSource(RECORDING, 16000).read(10**7)
    with model.stream(**files) as stream:
        stream.accept(samples[:20000])
        snapshot = stream.snapshot()
        stream.accept(samples[20000:])
        expected = stream.finish()
    with pytest.raises(runnel.SnapshotError):
        model.restore(snapshot)
    with model.restore(snapshot, nbest=2, **files) as stream:
        stream.accept(samples[20000:])
        found = stream.finish()
    assert found[0].nbest[:1] == expected[0].nbest and len(found[0].nbest) == 2


@needs_pytorch
@pytest.mark.parametrize("options, flags", [
    ({"head": "ctc"}, ["--head=ctc"]), ({"head": "transducer"}, ["--head=transducer"]),
    ({"search": "beam", "beam_size": 3, "nbest": 3}, ["--search=beam", "--beam_size=3",
                                                      "--nbest=3"]),
    ({"language": "de-DE", "max_symbols": 2}, ["--language=de-DE", "--max_symbols=2"])])
def test_heads_and_languages_equal_decode_wav(options, flags):
    from models_with_heads import multilingual
    model = runnel.load(multilingual())
    assert "de-DE" in model.languages
    result = model.transcribe(SAMPLES / "ked_year.flac", **options)
    found, = decode_wav([SAMPLES / "ked_year.flac"], f"--model={multilingual()}", *flags)
    assert [as_json(hypothesis) for hypothesis in result.nbest] == found["nbest"]


def test_every_documented_option_exists(model):
    """Each name of StreamOptions reaches C++; a wrong name would be a TypeError about the name."""
    for name in typing.get_type_hints(runnel.StreamOptions):
        with pytest.raises((TypeError, ValueError)) as error:
            model.stream(**{name: object()})
        assert "is not an option" not in str(error.value)


def test_none_is_the_default(model):
    options = {name: None for name in typing.get_type_hints(runnel.StreamOptions)}
    assert model.transcribe(RECORDING, **options) == model.transcribe(RECORDING)


def test_description_of_a_model(model):
    assert model.name == "digits" and "digits" in repr(model)
    assert model.tokens[model.blank_id].startswith("<") and len(set(model.tokens)) > 10
    assert model.has_word_boundaries and model.languages == []
    assert (model.sample_rate_hz, model.feature_frame_ms, model.encoder_frame_ms) == (16000, 10, 40)
    assert model.streaming.chunk_size == 16 and model.streaming.left_context == 64
    assert model.is_bit_reproducible and "float32" in model.compute_description
    assert model.fingerprint == runnel.load(DIGITS / "digits.pt").fingerprint
    assert model.fingerprint != runnel.load(DIGITS / "digits.pt", precision="int8").fingerprint
