"""python -m runnel: transcription, and the programs and converters in the package."""

import importlib.util
import signal
import subprocess

import numpy as np
import pytest
from audio_files import audio_file
from installed_runnel import ENVIRONMENT, PACKAGE, PYTHON, VENV, run_python
from tool_runner import DIGITS, SAMPLES, TINY_MODEL, succeed

import runnel

MODEL = DIGITS / "digits.pt"


def test_transcribe():
    paths = [SAMPLES / "ked_year.flac", SAMPLES / "f4_stereo.flac"]
    done = run_python("-m", "runnel", "transcribe", MODEL, *paths, "--precision=int8",
                      "--threads=2", "--search=beam", "--beam_size=4")
    assert done.returncode == 0, done.stderr
    texts = succeed("decode_wav", f"--model={MODEL}", f"--wav={paths[0]},{paths[1]}",
                    "--precision=int8", "--search=beam", "--beam_size=4").splitlines()
    assert done.stdout.splitlines() == [f"{path} {line.split(' ', 1)[1]}"
                                        for path, line in zip(paths, texts)]
    script = subprocess.run([VENV / "bin" / "runnel", "transcribe", MODEL, *paths],
                            env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert script.stdout.startswith(f"{paths[0]} two zero two six\n")


def test_a_file_that_fails_harms_no_other(tmp_path):
    (tmp_path / "bad.wav").write_text("not audio")
    paths = [tmp_path / "bad.wav", SAMPLES / "ked_year.flac", "no_such.wav",
             SAMPLES / "f4_stereo.flac"]
    done = run_python("-m", "runnel", "transcribe", MODEL, *paths)
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines()] == [str(paths[1]), str(paths[3])]
    errors = done.stderr.splitlines()
    assert len(errors) == 2 and "bad.wav" in errors[0] and "no_such.wav" in errors[1]
    assert all(line.startswith("runnel: ") for line in errors)


def test_a_recording_that_was_cut_off_is_named(tmp_path):
    path = tmp_path / "cut.wav"
    content = audio_file(np.zeros(4 * 16000), 16000, "WAV", "PCM_16")
    path.write_bytes(content[:44 + 2 * 32000])
    done = run_python("-m", "runnel", "transcribe", MODEL, path)
    assert done.returncode == 0
    assert done.stderr == f"runnel: {path}: ends after 2.00 s, its header announces 4.00 s\n"


@pytest.mark.parametrize("arguments, status, expected", [
    (["transcribe", "no_such_model", "a.wav"], 1, "no_such_model"),
    (["transcribe", str(MODEL), "no_such.wav"], 1, "no_such.wav"),
    (["transcribe", str(MODEL), "a.wav", "--precision=int3"], 1, "int3"),
    (["transcribe"], 2, "usage"), ([], 2, "usage"), (["fly"], 2, "fly")])
def test_messages(arguments, status, expected):
    done = run_python("-m", "runnel", *arguments)
    assert done.returncode == status and expected in done.stderr and not done.stdout
    assert status == 2 or (len(done.stderr.splitlines()) == 1
                           and done.stderr.startswith("runnel: "))


def test_verify():
    done = run_python("-m", "runnel", "verify", f"--model={TINY_MODEL}", "--seconds=1",
                      "--precision=float32")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--tolerance" in run_python("-m", "runnel", "verify", "--help").stdout
    assert run_python("-m", "runnel", "verify").returncode == 2


def test_serve():
    if not (PACKAGE / "bin" / "stream_server").is_file():
        pytest.skip("built without stream_server")
    with subprocess.Popen([PYTHON, "-m", "runnel", "serve", f"--model={MODEL}", "--port=0",
                           "--snapshot_store=none"], env=ENVIRONMENT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout.readline().startswith("stream_server: listening on http://")
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0


def test_a_package_without_the_server_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(runnel.converting, "PROGRAMS", tmp_path)
    assert importlib.import_module("runnel.__main__").main(["serve"]) == 1
    assert "has no stream_server" in capsys.readouterr().err
