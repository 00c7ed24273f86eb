"""list_models against the digit model and files that are no models."""

import signal

from tool_runner import DIGITS, FAILURE, SUCCESS, TINY_MODEL, run, run_without_reader


def test_models_and_what_is_none(tmp_path):
    wrong = tmp_path / "wrong.pt"
    wrong.write_bytes(b"no model")
    model = DIGITS / "digits.pt"
    done = run("list_models", model, wrong, TINY_MODEL)
    assert done.returncode == FAILURE
    assert len(done.stderr.splitlines()) == 1 and f"list_models: {wrong}: " in done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    assert lines[0] == f"{model}: digits, {model.stat().st_size / 1e6:.1f} MB"
    assert lines[1] == "  4 layers of dimension 96, CTC, 17 tokens, audio of 16000 Hz"
    assert lines[2].startswith("  streams: chunks of 0.64 s, left context 2.56 s; float32 matmuls")
    assert lines[3].startswith(f"{TINY_MODEL}: tiny, ")
    assert run("list_models", model).returncode == SUCCESS


def test_nobody_reads_the_descriptions():
    """The first one ends the tool: the file behind it is not tried."""
    done = run_without_reader("list_models", TINY_MODEL, "no_such.pt")
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")
