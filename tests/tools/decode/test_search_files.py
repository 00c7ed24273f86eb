"""decode_wav with hotwords and language models: their effect, and files that cannot be used."""

import pytest

from search_files import WORDS, write_digits, write_hotwords, write_unigrams
from tool_runner import (DIGITS, FAILURE, SAMPLE_LIST, SAMPLES, USAGE, error_line, run,
                         succeed)

MODEL = f"--model={DIGITS / 'digits.pt'}"
LISTING = f"--wav_scp={SAMPLE_LIST}"
EXPECTED = (SAMPLES / "text").read_text(encoding="utf-8")


def decode(*flags: str) -> str:
    return succeed("decode_wav", MODEL, LISTING, *flags)


def test_hotwords(tmp_path):
    plain = write_hotwords(tmp_path, "# digits\nzero two\n\nfour\n")
    assert decode(plain) == EXPECTED
    assert decode(plain, "--search=beam", "--batch_streams=3", "--num_threads=2") == EXPECTED
    # A phrase avoided is not found, and words that begin like it are not disturbed. One that is far
    # preferred is found everywhere.
    for text, flags in [("six :-50\n", []), ("six\n", ["--hotword_score=-50"])]:
        words = decode(write_hotwords(tmp_path, text), *flags).split()
        assert "six" in EXPECTED and "six" not in words
        assert words.count("seven") == EXPECTED.count("seven")
    found = decode(write_hotwords(tmp_path, "nine :50\n"), "--hotword_score=-1")
    assert all("nine" in line for line in found.splitlines())


@pytest.mark.parametrize("words", [["six"], ["nine"], WORDS])
@pytest.mark.parametrize("score", [0.75, 2, 3, 3.75, 5])
def test_transducers_write_no_hotword_that_is_not_said(words, score, tmp_path):
    """The scores are those of Deepgram's `six:4` (3) and Riva's boost of 20 (3.75), and others."""
    hotwords = write_hotwords(tmp_path, "".join(f"{word} :{score}\n" for word in words))
    for flags in ([], ["--chunk_size=-1", "--left_context=-1"]):
        text = succeed("decode_wav", f"--model={DIGITS / 'digits_transducer.pt'}", LISTING,
                       hotwords, *flags)
        for line, expected in zip(text.splitlines(), EXPECTED.splitlines()):
            assert len(line.split()) <= len(expected.split()) + 1, text
        if score <= 3:
            assert text == EXPECTED


def test_a_hotword_that_begins_like_what_is_said_costs_no_words(tmp_path):
    phrase = write_hotwords(tmp_path, "five five five zero one four nine\n")
    assert decode(phrase) == EXPECTED
    assert decode(phrase, "--chunk_size=-1", "--left_context=-1") == EXPECTED


def test_hotwords_leave_the_search_as_it_is_given(tmp_path):
    """The search modified_beam, which is of transducers, does not become beam."""
    done = run("decode_wav", MODEL, LISTING, write_hotwords(tmp_path, "six\n"),
               "--search=modified_beam")
    assert "modified beam search is of transducers, got the CTC head" in error_line(done, USAGE)


def test_hotwords_and_word_list(tmp_path):
    found = decode(write_hotwords(tmp_path, "nine :100\n"), f"--word_list={DIGITS / 'words.txt'}")
    assert {word for line in found.splitlines() for word in line.split()[1:]} <= set(WORDS)
    assert found.count("nine") > EXPECTED.count("nine")


def test_language_model(tmp_path):
    arpa, image = write_digits(tmp_path / "lm.arpa"), tmp_path / "lm.bin"
    assert decode(f"--language_model={arpa}") == EXPECTED
    write_digits(arpa, six=-60)
    succeed("compile_lm", f"--arpa={arpa}", f"--output={image}")
    without = decode(f"--language_model={arpa}", "--language_model_weight=1")
    assert "six" in EXPECTED and "six" not in without
    assert decode(f"--language_model={image}", "--language_model_weight=1") == without
    model = f"--language_model={image}"
    assert decode(model, "--language_model_weight=0", "--language_model_bonus=0") == EXPECTED
    assert len(decode(model, "--language_model_bonus=40").split()) > len(EXPECTED.split())


def test_token_level(tmp_path):
    letters = {letter: -1.5 for word in WORDS for letter in word}
    arpa = write_unigrams(tmp_path / "lm.arpa", {**letters, "\u2581": -1, "</s>": -1, "<s>": -99,
                                                 "x": -60})
    found = decode(f"--language_model={arpa}", "--language_model_level=token",
                   "--language_model_weight=1", "--language_model_bonus=3")
    assert "x" not in "".join(line.split(" ", 1)[1] for line in found.splitlines())


@pytest.mark.parametrize("content, message", [
    (None, "hotwords.txt: cannot open: No such file or directory"),
    (b"", "hotwords.txt: lists no"),
    (b"# none\n\n", "hotwords.txt: lists no"),
    (b"one\nnine :x\n", "hotwords.txt:2: "),
    (b"one :101\n", "hotwords.txt:1: "),
    ("Ångström\n".encode(), "hotwords.txt:1: 'Ångström' needs tokens that spell 'ångström'"),
    (b"one\n\xff\xfe\n", "hotwords.txt:2: "),
])
def test_bad_hotwords(tmp_path, content, message):
    if content is not None:
        (tmp_path / "hotwords.txt").write_bytes(content)
    done = run("decode_wav", MODEL, LISTING, f"--hotwords={tmp_path / 'hotwords.txt'}")
    assert message in error_line(done, FAILURE)


def test_huge_hotwords(tmp_path):
    for text, message in [("o" * 70000, ":1: "), ("one\n" * (2 << 20) + "\n", ": ")]:
        done = run("decode_wav", MODEL, LISTING, write_hotwords(tmp_path, text))
        assert f"hotwords.txt{message}" in error_line(done, FAILURE)


@pytest.mark.parametrize("content, message", [
    (None, "lm: cannot open: No such file or directory"),
    (b"", "lm: "),
    (b"zero one two\n", "lm: has no line \\data\\"),
    (b"\\data\\\nngram 1=99999999999999\n\n\\1-grams:\n", "lm:2: "),
    (b"\\data\\\nngram 1=2\n\n\\1-grams:\n-1\tone\n\n\\end\\\n", "lm:"),
    (b"\\data\\\nngram 1=1\n\n\\1-grams:\nnan\tone\n\n\\end\\\n", "lm:5: "),
])
def test_bad_language_models(tmp_path, content, message):
    if content is not None:
        (tmp_path / "lm").write_bytes(content)
    done = run("decode_wav", MODEL, LISTING, f"--language_model={tmp_path / 'lm'}")
    assert message in error_line(done, FAILURE)


@pytest.mark.parametrize("words, level, reason", [
    ([word.capitalize() for word in WORDS], "word", "capital letters, expected lower case"),
    (["1", "2", "20"], "word", "they have digits, expected numbers in words"),
    (["\u4e2d", "\u56fd"], "word", "not '\u4e2d' or '\u56fd': no tokens spell '\u4e2d'"),
    (WORDS, "token", "they are words, expected level word"),
    (["\u2581", "o", "n", "e"], "word", "the words are its tokens, expected level token")])
def test_language_models_of_other_words(tmp_path, words, level, reason):
    """A model that cannot match the acoustic model is refused, as text and compiled."""
    log10_probs = {word: -1 - i / 9 for i, word in enumerate(words)}
    arpa = write_unigrams(tmp_path / "lm.arpa", {"<s>": -99, "</s>": -1, **log10_probs})
    succeed("compile_lm", f"--arpa={arpa}", f"--output={tmp_path / 'lm.bin'}")
    for path in arpa, tmp_path / "lm.bin":
        done = run("decode_wav", MODEL, LISTING, f"--language_model={path}",
                   f"--language_model_level={level}")
        assert reason in error_line(done, USAGE)


def test_damaged_compiled_models(tmp_path):
    image = tmp_path / "lm"
    succeed("compile_lm", f"--arpa={write_digits(tmp_path / 'arpa')}", f"--output={image}")
    data = image.read_bytes()
    for damaged in (data[:-1], data[:40], data + b"\0", data[:100] + b"\x55\xaa" + data[102:]):
        image.write_bytes(damaged)
        done = run("decode_wav", MODEL, LISTING, f"--language_model={image}")
        assert f"{image}: " in error_line(done, FAILURE)


def test_folders_are_no_files(tmp_path):
    for flag in "hotwords", "lm":
        done = run("decode_wav", MODEL, LISTING, f"--{flag}={tmp_path}")
        assert f"{tmp_path}: " in error_line(done, FAILURE)


def test_the_output_is_no_input(tmp_path):
    for flag in "hotwords", "lm":
        path = tmp_path / flag
        path.write_text("one\n", encoding="utf-8")
        done = run("decode_wav", MODEL, LISTING, f"--{flag}={path}", f"--output={path}")
        assert "which is also read" in error_line(done, USAGE)
        assert path.read_text(encoding="utf-8") == "one\n"
