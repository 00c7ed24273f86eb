"""report/evaluate.py with scripts as decode_wav: rates, flags passed on, errors of one line."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
from tools.benchmark.report.evaluate import main  # noqa: E402

ID = "caf\u00e9"


def evaluate(tmp_path: pathlib.Path, script: str, *flags: str,
             manifest: str = f"id\tset\ttext\n{ID}\ttest\tOne two.\n") -> int:
    """Runs the command on one recording; `script` is the shell program that decodes."""
    (tmp_path / "wav").mkdir()
    (tmp_path / "wav" / f"{ID}.wav").touch()
    (tmp_path / "manifest.tsv").write_text(manifest, encoding="utf-8")
    program = tmp_path / "decode_wav"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return main(["--model=m.pt", f"--manifest={tmp_path}/manifest.tsv", f"--decode_wav={program}",
                 *flags])


def test_rates_and_flags(tmp_path, capsys):
    script = f'echo "$@" >> {tmp_path}/flags; echo "{ID} one too"'
    assert evaluate(tmp_path, script, "--chunk_sizes=-1,16", "--left_contexts=32",
                    "--beam_size=4", "--chunk=8") == 0
    out = capsys.readouterr().out.splitlines()
    assert [line[:line.index(" test")].split() for line in out] == [
        ["C=-1", "M=-1"], ["C=16", "M=32"]]
    assert all(line.endswith("test 1/2; all 1/2 = 50.00 %") for line in out)
    passed = (tmp_path / "flags").read_text(encoding="utf-8").splitlines()
    assert all(line.endswith("--beam_size=4 --chunk=8") for line in passed)


@pytest.mark.parametrize("flag", ["--chunk_size=8", "--left_context=64", "-chunk_size=8"])
def test_flags_that_contradict_the_rows(flag, tmp_path, capsys):
    """decode_wav's own flag would contradict the sizes that a row names."""
    with pytest.raises(SystemExit, match="2"):
        evaluate(tmp_path, f'echo "{ID} one two"', flag)
    name = flag.strip("-").split("=")[0]
    assert f"--{name} is set by --{name}s" in capsys.readouterr().err


def test_the_list_of_recordings_is_utf8(tmp_path):
    script = f'for f; do case $f in --wav_scp=*) cp "${{f#*=}}" {tmp_path}/scp;; esac; done\n'
    assert evaluate(tmp_path, script + f'echo "{ID} one two"') == 0
    assert (tmp_path / "scp").read_bytes().startswith(f"{ID} {tmp_path}".encode())


@pytest.mark.parametrize("script, message", [
    ("exit 3", "decode_wav ended with status 3, no message"),
    ("kill -9 $$", "decode_wav ended with status -9, no message"),
    ("echo first >&2; echo last >&2; exit 1", "evaluate: last"),
    ("echo other one", f"decode_wav printed no text for {ID}"),
])
def test_decoding_that_fails(script, message, tmp_path, capsys):
    assert evaluate(tmp_path, script) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.endswith(f"{message}\n")
    assert captured.err.startswith("evaluate: ") and captured.err.count("\n") == 1


def test_manifest_without_a_column(tmp_path, capsys):
    assert evaluate(tmp_path, "exit 0", manifest=f"id\ttext\n{ID}\tone\n") == 1
    assert capsys.readouterr().err.endswith("manifest.tsv: a row has no set\n")
