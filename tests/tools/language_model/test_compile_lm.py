"""compile_lm and models/convert.py arpa: files, messages, mistakes."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Dict, List, Tuple

import pytest

from search_files import WORDS
from tool_runner import (BIN, DIGITS, FAILURE, ROOT, SUCCESS, USAGE, error_line, model_text, run,
                         succeed, without_sanitizers)

MODEL = DIGITS / "digits.pt"

ARPA = """\\data\\
ngram 1=3
ngram 2=1

\\1-grams:
-0.5\ta\t-0.25
-0.25\tb
-99\t<s>\t-0.5

\\2-grams:
-0.125\ta b

\\end\\
"""


@pytest.fixture(name="arpa")
def fixture_arpa(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "lm.arpa"
    path.write_text(ARPA, encoding="utf-8")
    return path


def probs(model: pathlib.Path) -> str:
    done = subprocess.run([BIN / "print_log10_probs", model], input="a b c\n", text=True,
                          stdout=subprocess.PIPE, check=True)
    return done.stdout


def test_compiles(arpa, tmp_path):
    output = tmp_path / "lm.bin"
    done = run("compile_lm", f"--arpa={arpa}", f"--output={output}")
    assert done.returncode == SUCCESS and done.stdout == ""
    assert done.stderr == (f"compile_lm: {output}: order 2, 3 1-grams, 1 2-grams, "
                           f"{output.stat().st_size} bytes\n")
    assert probs(output) == probs(arpa) == "-1 -0.125 0 \n"
    # From a pipe, and from the compiled model itself: the same bytes.
    for source in "/dev/stdin", output:
        again = tmp_path / "again.bin"
        succeed("compile_lm", f"--arpa={source}", f"--output={again}", input=ARPA)
        assert again.read_bytes() == output.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.bin", "lm.arpa", "lm.bin"]


def test_an_error_leaves_the_output(arpa, tmp_path):
    output = tmp_path / "lm.bin"
    output.write_bytes(b"before")
    arpa.write_text(ARPA.replace("a b", "a c"), encoding="utf-8")
    assert error_line(run("compile_lm", f"--arpa={arpa}", f"--output={output}"), FAILURE) == (
        f"compile_lm: {arpa}:11: 'c' is not among the 1-grams; expected words that are")
    assert output.read_bytes() == b"before"


def test_files_that_cannot_be_used(arpa, tmp_path):
    def error(source: object, output: object, code: int) -> str:
        return error_line(run("compile_lm", f"--arpa={source}", f"--output={output}"), code)

    assert "which is also read" in error(arpa, arpa, USAGE)
    assert "cannot open: No such file" in error(tmp_path / "none", tmp_path / "lm.bin", FAILURE)
    assert "cannot create: Is a directory" in error(arpa, tmp_path, FAILURE)
    assert "cannot create: No such file" in error(arpa, tmp_path / "no" / "lm.bin", FAILURE)
    arpa.write_text("no model\n", encoding="utf-8")  # which is not read
    for output in ("-", "/dev/null"):
        assert f"{output}: is not a regular file" in error(arpa, output, FAILURE)


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="there is no /dev/full")
def test_output_that_does_not_fit(arpa, tmp_path):
    output = tmp_path / "lm.bin"
    done = subprocess.run(["bash", "-c", f"ulimit -f 0; '{BIN / 'compile_lm'}' --arpa={arpa} "
                           f"--output={output}"], text=True, capture_output=True, check=False)
    assert done.returncode == FAILURE
    assert done.stderr == f"compile_lm: {output}: cannot write: File too large\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lm.arpa"]


def units() -> List[str]:
    """The tokens of the digit model, in the order of their ids."""
    return [line.rsplit(" ", 1)[0] for line in model_text(MODEL, "units.txt").splitlines()]


def write_bigrams(path: pathlib.Path, words: List[str], pairs: Dict[Tuple[str, str], float],
                  end: str = "") -> pathlib.Path:
    """A model of `words`, of which those in `pairs` follow each other; `end` is a last 1-gram."""
    unigrams = ["-99\t<s>\t-0.5", "-1\t</s>", "-4\t<unk>", *(f"-2\t{word}\t-1" for word in words)]
    if end:
        unigrams.append(f"-2\t{end}")
    bigrams = [f"{value}\t{first} {second}" for (first, second), value in pairs.items()]
    path.write_text(f"\\data\\\nngram 1={len(unigrams)}\nngram 2={len(bigrams)}\n\n\\1-grams:\n"
                    + "\n".join(unigrams) + "\n\n\\2-grams:\n" + "\n".join(bigrams)
                    + "\n\n\\end\\\n", encoding="utf-8")
    return path


@pytest.fixture(name="nemo_pair")
def fixture_nemo_pair(tmp_path: pathlib.Path) -> Tuple[pathlib.Path, pathlib.Path]:
    """A model of the digit model's tokens, and the same as NeMo's train_kenlm.py writes it."""
    tokens = units()
    ids = [i for i, token in enumerate(tokens) if not token.startswith("<")]
    spoken = ["\u2581" + "\u2581".join(WORDS)] * 2
    pairs = {(a, b): -0.3 for a, b in zip("".join(spoken), "".join(spoken)[1:])}
    pairs[("<s>", "\u2581")] = -0.1
    plain = write_bigrams(tmp_path / "plain.arpa", [tokens[i] for i in ids], pairs)
    code = {token: chr(i + 100) for i, token in enumerate(tokens)}
    encoded = write_bigrams(
        tmp_path / "nemo.arpa", [code[tokens[i]] for i in ids],
        {tuple(code.get(word, word) for word in pair): value for pair, value in pairs.items()})
    return plain, encoded


def test_tokens_as_nemo_writes_them(nemo_pair, tmp_path):
    """The file is that of the same text in tokens, byte for byte."""
    plain, encoded = nemo_pair
    succeed("compile_lm", f"--arpa={plain}", f"--output={tmp_path / 'plain.bin'}")
    nemo = tmp_path / "nemo.bin"
    succeed("compile_lm", f"--arpa={encoded}", f"--nemo_model={MODEL}", f"--output={nemo}")
    assert nemo.read_bytes() == (tmp_path / "plain.bin").read_bytes()
    flags = (f"--model={MODEL}", f"--wav={DIGITS / 'samples' / 'ked_year.flac'}")
    for path in nemo, plain:
        assert succeed("decode_wav", *flags, f"--language_model={path}",
                       "--language_model_level=token") == "ked_year two zero two six\n"


def test_special_tokens_of_nemo(tmp_path):
    """NeMo's token <unk> is not the <unk> of the language model, and no other token."""
    tokens = units()
    special = [i for i, token in enumerate(tokens) if token.startswith("<")]
    assert special, "the model has a token in angle brackets"
    arpa = write_bigrams(tmp_path / "nemo.arpa", [chr(i + 100) for i in range(len(tokens))],
                         {(chr(special[0] + 100), "<unk>"): -0.5})
    done = run("compile_lm", f"--arpa={arpa}", f"--nemo_model={MODEL}",
               f"--output={tmp_path / 'nemo.bin'}")
    assert done.returncode == SUCCESS
    assert f", {len(tokens) + 3} 1-grams, 1 2-grams, " in done.stderr


def test_words_that_nemo_does_not_write(nemo_pair, tmp_path):
    def error(arpa: pathlib.Path, code: int = FAILURE) -> str:
        done = run("compile_lm", f"--arpa={arpa}", f"--nemo_model={MODEL}",
                   f"--output={tmp_path / 'out.bin'}")
        return error_line(done, code)

    expected = f"expected a character from U+0064 to U+{99 + len(units()):04X}, as NeMo writes"
    for word in ("the", "c", chr(100 + len(units())), "\u2581"):
        path = write_bigrams(tmp_path / "wrong.arpa", [], {}, end=word)
        assert f"{path}:9: the word is '{word}'; {expected}" in error(path)
    compiled = tmp_path / "compiled.bin"
    succeed("compile_lm", f"--arpa={nemo_pair[0]}", f"--output={compiled}")
    assert "compiled.bin: is a compiled model; expected the ARPA text of NeMo" in error(compiled)
    assert not (tmp_path / "out.bin").exists()


def convert(*arguments: object) -> subprocess.CompletedProcess:
    path = f"{BIN}:{os.environ['PATH']}"
    return subprocess.run([sys.executable, ROOT / "models" / "convert.py", "arpa",
                           *map(str, arguments)], env={**os.environ, "PATH": path}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


@without_sanitizers
def test_the_python_command(arpa, tmp_path):
    succeed("compile_lm", f"--arpa={arpa}", f"--output={tmp_path / 'lm.bin'}")
    done = convert(arpa, f"--output={tmp_path / 'python.bin'}")
    assert done.returncode == SUCCESS and done.stdout == ""
    assert re.fullmatch(r"compile_lm: .*python.bin: order 2, .* bytes\n", done.stderr)
    assert (tmp_path / "python.bin").read_bytes() == (tmp_path / "lm.bin").read_bytes()

    nemo = write_bigrams(tmp_path / "nemo.arpa", [chr(100), chr(101)], {})
    done = convert(nemo, f"--nemo_model={MODEL}", f"--output={tmp_path / 'nemo.bin'}")
    assert done.returncode == SUCCESS and ": order 2, 5 1-grams, " in done.stderr

    arpa.write_text("hello\n", encoding="utf-8")
    done = convert(arpa, f"--output={tmp_path / 'python.bin'}")
    assert done.returncode == FAILURE
    assert re.fullmatch(r"compile_lm: .*lm.arpa: has no line .data. .*\n", done.stderr)
    done = convert(arpa, f"--output={arpa}")
    assert done.returncode == USAGE and "which is also read" in done.stderr
    done = convert(arpa, "--output=x", "--name=y")
    assert done.returncode == USAGE and "unrecognized arguments: --name=y" in done.stderr


@without_sanitizers
def test_the_python_command_without_the_program(arpa, tmp_path, monkeypatch, capsys):
    from models.convert import arpa as importer, programs
    monkeypatch.setattr(programs, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert importer.main(["arpa", str(arpa), f"--output={tmp_path / 'lm.bin'}"]) == 1
    assert capsys.readouterr().err == (
        f"convert.py: there is no program compile_lm: expected {tmp_path}/build/bin/compile_lm "
        "(make build) or one on the PATH\n")
    # One on the PATH is found, one of the build is preferred.
    on_path = shutil.copy(BIN / "compile_lm", tmp_path / "compile_lm")
    assert programs.find_program("compile_lm") == str(on_path)
    built = tmp_path / "build" / "bin" / "compile_lm"
    built.parent.mkdir(parents=True)
    shutil.copy(BIN / "compile_lm", built)
    assert programs.find_program("compile_lm") == str(built)


@without_sanitizers
def test_the_measurement():
    """bench_language_model prints its table; times are not checked."""
    folder = pathlib.Path(os.environ.get("TMPDIR", "/tmp"))
    before = sorted(folder.glob("bench_language_model*"))
    table = succeed("bench_language_model", f"--folder={folder}", "--words=1000", "--ngrams=20000")
    for name in ("ARPA text", "compile", "peak memory", "3-grams", "compiled model", "open, median",
                 "p(word | words before)", "Extend within a word", "Extend at the end of a word",
                 "a frame, beam 8, with hotwords", "a frame, beam 8, with the model"):
        assert re.search(rf"^ *{re.escape(name)}.* \d", table, re.MULTILINE), table
    assert sorted(folder.glob("bench_language_model*")) == before
