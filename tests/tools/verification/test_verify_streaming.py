"""verify_streaming passes a correct model and fails one whose TorchScript differs."""

import re
import sys

import pytest
import torch

from offline_model import write_offline_model
from tool_runner import (FAILURE, ROOT, SAMPLES, TINY_MODEL, USAGE, error_line, run, succeed,
                         write_audio)

sys.path.insert(0, str(ROOT))
from models.reference.archive import export_archive, read_archive  # noqa: E402
from models.reference.model import ModelConfig, SpeechModel  # noqa: E402

MODEL = f"--model={TINY_MODEL}"
CHECKS = ["chunk by chunk = whole under chunk mask", "packets of random size = all samples at once",
          "copied midway = not copied", "in a batch of all settings = alone",
          "whole under chunk mask = TorchScript forward",
          "chunk by chunk = TorchScript forward_chunk"]
ERROR = r"\d\.\de[-+]\d+"


def table(output: str) -> list[tuple[str, float, float, str]]:
    """(check, absolute, relative error, verdict) of every row."""
    rows = re.findall(rf"^  (\S.*?) +({ERROR}) +({ERROR}) +{ERROR}  .*?(ok|FAILED)$", output,
                      re.MULTILINE)
    return [(name, float(absolute), float(relative), verdict)
            for name, absolute, relative, verdict in rows]


def test_noise_in_both_precisions():
    output = succeed("verify_streaming", MODEL, "--seconds=3")
    assert output.endswith("passed\n")
    rows = table(output)
    assert [row[0] for row in rows] == CHECKS * 2
    assert all(row[3] == "ok" for row in rows)
    float32, float64 = rows[:6], rows[6:]
    assert max(row[2] for row in float64) < 1e-10
    # The CPU backend agrees bit for bit with itself, and to rounding with TorchScript.
    assert [row[2] for row in float32[:4]] == [0.0] * 4
    assert 0 < float64[0][2] < float32[4][2]
    assert re.search(r"^float32: 32 settings, 7\d encoder frames$", output, re.MULTILINE)


@pytest.mark.parametrize("flag, tolerance", [
    ("--backend=cpu", "1.0e-04"), ("--step_threads=2", "1.0e-04"),
    ("--cache_precision=bfloat16", "2.5e-01")])
def test_options_of_the_cpu_backend(flag, tolerance):
    output = succeed("verify_streaming", MODEL, "--seconds=1", flag)
    assert output.startswith("float64 is left out: the CPU backend, which the flags ask for, "
                             "has none\nfloat32: ")
    assert [row[0] for row in table(output)] == CHECKS
    assert len(re.findall(f"TorchScript .* {tolerance} .* ok$", output, re.MULTILINE)) == 2


@pytest.mark.parametrize("flags, message", [
    (["--precision=float64", "--backend=cpu"], "--precision=float64 needs --backend=libtorch"),
    (["--precision=float64", "--step_threads=2"],
     "--step_threads is 2, expected 1 with --precision=float64"),
    (["--precision=float64", "--cache_precision=bfloat16"],
     "--cache_precision=bfloat16 cannot be given with --precision=float64"),
    (["--backend=libtorch", "--cache_precision=bfloat16"],
     "--cache_precision=bfloat16 cannot be given with --backend=libtorch"),
    (["--backend=libtorch", "--step_threads=2"],
     "--step_threads is 2, expected 1 with --backend=libtorch"),
    (["--backend=libtorch", "--precision=int8"],
     "--backend=libtorch computes no int8, expected float32 or float64")])
def test_options_that_exclude_each_other(flags, message):
    line = error_line(run("verify_streaming", MODEL, "--seconds=1", *flags), USAGE)
    assert line.startswith(f"verify_streaming: {message} (see ")


def test_seed_changes_the_noise():
    first, same, other = (succeed("verify_streaming", MODEL, "--seconds=1", f"--seed={seed}",
                                  "--precision=float64") for seed in (1, 1, 2))
    assert first == same != other


def test_table_that_cannot_be_written():
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run("verify_streaming", MODEL, "--seconds=1", "--precision=float32", stdout=full)
    assert "standard output: cannot write" in error_line(done, FAILURE)


def test_layer_by_layer():
    output = succeed("verify_streaming", MODEL, f"--wav={SAMPLES / 'ked_year.flac'}",
                     "--precision=float32", "--verbose")
    layers = re.findall(rf"^  chunk by chunk, (\S.*?) +{ERROR} +{ERROR}$", output, re.MULTILINE)
    assert layers == ["subsampling", "layer 0", "layer 1", "after_norm"]
    assert len(re.findall(r"^  C=\S+ M=\S+: chunked ", output, re.MULTILINE)) == 32


def test_beyond_the_tolerance():
    done = run("verify_streaming", MODEL, "--seconds=2", "--precision=float32",
               "--tolerance=1e-9")
    assert done.returncode == FAILURE
    assert "FAILED" in done.stdout and "passed" not in done.stdout
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert re.match(r"verify_streaming: float32: check '.*' failed at C=\S+ M=\S+: "
                    r"relative error \S+, tolerance 1.0e-09$", lines[0])


def test_windows_of_an_offline_model(tmp_path):
    model = write_offline_model(tmp_path / "offline.pt")
    output = succeed("verify_streaming", f"--model={model}", "--seconds=3")
    assert output.endswith("passed\n")
    rows = {name: relative for name, _, relative, _ in table(output.partition("float64")[0])}
    assert rows["windows = whole utterances of their frames"] == 0
    assert 0 < rows["windows = TorchScript forward of their frames"] < 1e-5
    assert "float32: 9 settings" in output


class ShiftedCtc(SpeechModel):
    """A model whose chunks give other results than the whole utterance."""

    @torch.jit.export
    def forward_chunk(self, features, offset: int, last: bool, left_context: int, att_cache,
                      cnn_cache):
        x, att_cache, cnn_cache = self.encode_chunk(features, offset, last, left_context,
                                                    att_cache, cnn_cache)
        return self.ctc(x + 0.01), att_cache, cnn_cache


def test_archive_whose_code_disagrees(tmp_path):
    module, config, units = read_archive(str(TINY_MODEL))
    wrong = ShiftedCtc(ModelConfig.from_json(config))
    wrong.load_state_dict(module.state_dict())
    export_archive(wrong, config, units, str(tmp_path / "wrong.pt"))
    done = run("verify_streaming", f"--model={tmp_path / 'wrong.pt'}", "--seconds=1")
    assert done.returncode == FAILURE
    verdicts = [row[3] for row in table(done.stdout)]
    assert verdicts == ["ok"] * 5 + ["FAILED"] + ["ok"] * 5 + ["FAILED"]
    assert "check 'chunk by chunk = TorchScript forward_chunk' failed" in done.stderr


@pytest.mark.parametrize("seconds", [0.01, 0.08])
def test_too_short(tmp_path, seconds):
    write_audio(tmp_path / "short.wav", seconds=seconds)
    for source in f"--wav={tmp_path / 'short.wav'}", f"--seconds={seconds}":
        done = run("verify_streaming", MODEL, source)
        assert done.returncode == FAILURE
        assert "too short for one encoder frame" in done.stderr
        assert len(done.stderr.splitlines()) == 1
