"""python -m runnel and the command runnel of pip: one program, that of the tools."""

import signal
import subprocess

import pytest
from installed_runnel import ENVIRONMENT, PACKAGE, PYTHON, VENV, run_python
from tool_runner import DIGITS, ROOT, SAMPLES, TINY_MODEL, run

MODEL = DIGITS / "digits.pt"


def outcome(done):
    """What a user sees of a process that has ended."""
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments, status", [
    ([], 0), (["--version"], 0), (["help", "transcribe"], 0), (["models", MODEL], 0), (["fly"], 2),
    (["transcribe", MODEL, SAMPLES / "ked_year.flac", SAMPLES / "f4_stereo.flac", "--quiet",
      "--search=beam", "--beam_size=4", "--format=json", "--partial", "--right_context=-1",
      "--num_threads=1"], 0),  # more of them print partial results in any order
    (["transcribe", "no_such_model", "a.wav"], 1), (["transcribe", MODEL, "no_such.wav"], 1),
    (["transcribe", MODEL, "a.wav", "--precission=int8"], 2), (["transcribe"], 2)])
def test_the_same_as_the_program_of_the_build(arguments, status):
    expected = outcome(run("runnel", *arguments))
    assert expected[0] == status
    assert outcome(run_python("-m", "runnel", *arguments, cwd=ROOT)) == expected
    script = subprocess.run([VENV / "bin" / "runnel", *arguments], env=ENVIRONMENT, cwd=ROOT,
                            capture_output=True, text=True, encoding="utf-8", check=False)
    assert outcome(script) == expected


@pytest.mark.parametrize("program, reason", [("/no/such", "No such file or directory"),
                                             (MODEL, "Permission denied")])
def test_a_program_that_cannot_be_run(program, reason):
    done = run_python("-c", "import pathlib, runnel.__main__, runnel.converting\n"
                      f"runnel.converting._PROGRAM = pathlib.Path({str(program)!r})\n"
                      "runnel.__main__.main()")
    assert outcome(done) == (1, "", f"runnel: {program}: cannot be run ({reason}); "
                             "expected the program of this package\n")


def test_verify():
    done = run_python("-m", "runnel", "verify", TINY_MODEL, "--seconds=1", "--precision=float32")
    assert done.returncode == 0, done.stdout + done.stderr


def test_serve():
    if not (PACKAGE / "bin" / "stream_server").is_file():
        pytest.skip("built without stream_server")
    with subprocess.Popen([PYTHON, "-m", "runnel", "serve", MODEL, "--port=0",
                           "--snapshot_store=none"], env=ENVIRONMENT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout.readline().startswith("stream_server: listening on http://")
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0
