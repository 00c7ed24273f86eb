"""decode_wav on a corpus: shards by flag, Slurm and GNU parallel, and resumed runs."""

import os
import pathlib
import subprocess
import time
from typing import Dict, List

import pytest

from tool_runner import (FAILURE, ROOT, TINY_MODEL, USAGE, command, error_line, run, write_audio,
                         write_list)

MODEL = f"--model={TINY_MODEL}"
GUARD_SECONDS = 120  # against hanging
FORMATS = ["text", "json", "ctm"]


def decode(listing: pathlib.Path, output: pathlib.Path, *options: str, code: int = 0,
           environment: Dict[str, str] = {}) -> List[str]:
    """Decodes into a file; returns the lines of standard error."""
    done = run("decode_wav", MODEL, f"--wav_scp={listing}", f"--output={output}", *options,
               env={**os.environ, **environment}, timeout=GUARD_SECONDS)
    assert done.returncode == code, done.stderr
    return done.stderr.splitlines()


def slurm(task: int, first: int, last: int) -> Dict[str, str]:
    """The environment variables of a task of Slurm's --array=first-last."""
    return {"SLURM_ARRAY_JOB_ID": "4711", "SLURM_ARRAY_TASK_ID": str(task),
            "SLURM_ARRAY_TASK_MIN": str(first), "SLURM_ARRAY_TASK_MAX": str(last),
            "SLURM_ARRAY_TASK_STEP": "1", "SLURM_ARRAY_TASK_COUNT": str(last - first + 1)}


@pytest.fixture(name="corpus", scope="module")
def corpus_fixture(tmp_path_factory):
    """A list of recordings and the output of one run on it, by format."""
    folder = tmp_path_factory.mktemp("corpus")
    listing, _ = write_list(folder, 7)
    whole = {}
    for name in FORMATS:
        decode(listing, folder / name, f"--format={name}")
        whole[name] = (folder / name).read_bytes()
        assert whole[name].count(b"\n") >= 7
    return listing, whole


def lines_of(content: bytes) -> Dict[bytes, bytes]:
    """Text lines by id."""
    return {line.split()[0]: line for line in content.splitlines()}


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_shards_are_the_whole(tmp_path, corpus, count):
    listing, whole = corpus
    ids = list(lines_of(whole["text"]))
    found = {}
    for i in range(1, count + 1):
        decode(listing, tmp_path / "{shard}.txt", f"--shard={i}/{count}")
        part = lines_of((tmp_path / f"{i}-of-{count}.txt").read_bytes())
        assert list(part) == ids[i - 1::count]
        found.update(part)
    assert found == lines_of(whole["text"])


@pytest.mark.parametrize("first", [0, 1])
def test_slurm_array(tmp_path, corpus, first):
    listing, whole = corpus
    found = {}
    for task in range(3):
        said = decode(listing, tmp_path / "{shard}",
                      environment=slurm(first + task, first, first + 2))
        assert said[0] == (f"decode_wav: shard {task + 1}-of-3 by this Slurm array "
                           "(--shard=1/1 decodes all)")
        found.update(lines_of((tmp_path / f"{task + 1}-of-3").read_bytes()))
    assert found == lines_of(whole["text"])


def test_slurm_does_not_surprise(tmp_path, corpus):
    listing, whole = corpus
    environment = slurm(2, 1, 3)
    decode(listing, tmp_path / "all", "--shard=1/1", environment=environment)
    assert (tmp_path / "all").read_bytes() == whole["text"]
    # Files of --wav are decoded as they are, without shards.
    path = listing.read_text().split()[1]
    done = run("decode_wav", MODEL, f"--wav={path}", env={**os.environ, **environment})
    assert done.returncode == 0 and done.stdout
    # Tasks refuse to overwrite each other's results and to guess their shard.
    for variables, message in [(environment, "expected {shard} in it"),
                               (slurm(7, 7, 7), "expected --shard=i/n")]:
        done = run("decode_wav", MODEL, f"--wav_scp={listing}", f"--output={tmp_path / 'x'}",
                   env={**os.environ, **variables})
        assert message in error_line(done, USAGE)
        assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", FORMATS)
def test_killed_and_resumed(tmp_path, corpus, name):
    """A run killed while it waits for a pipe, then resumed with the real recording."""
    listing, whole = corpus
    output, late = tmp_path / "out", tmp_path / "late.wav"
    lines = listing.read_text().splitlines()
    real = lines[4].split()[1]
    lines[4] = f"id4 {late}"
    late_list = tmp_path / "wav.scp"
    late_list.write_text("\n".join(lines) + "\n")
    os.mkfifo(late)
    kept = b"".join(line for line in whole[name].splitlines(True)
                    if not any(f"id{i}".encode() in line for i in (4, 5, 6)))
    assert 0 < len(kept) < len(whole[name])

    options = [f"--format={name}", "--resume"]
    process = subprocess.Popen(command("decode_wav", MODEL, f"--wav_scp={late_list}",
                                       f"--output={output}", *options),
                               cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + GUARD_SECONDS
        while not output.exists() or output.read_bytes() != kept:
            assert process.poll() is None and time.monotonic() < deadline, output.read_bytes()
    finally:
        process.kill()
        process.wait()
    late.unlink()
    late.symlink_to(real)
    for cut in (0, 7):  # as if it had been killed in the middle of a line
        output.write_bytes(kept[:len(kept) - cut])
        said = decode(late_list, output, *options)
        assert output.read_bytes() == whole[name]
        assert " of 7 recordings are finished" in said[0]
    # Resuming a complete run decodes nothing.
    said = decode(late_list, output, *options)
    assert output.read_bytes() == whole[name]
    if name != "ctm":
        assert any(line.startswith("decode_wav: files 0, failures 0") for line in said), said


def test_what_failed_is_tried_again_in_its_place(tmp_path, corpus):
    listing, whole = corpus
    output, missing = tmp_path / "out", tmp_path / "missing.wav"
    lines = listing.read_text().splitlines()
    real = lines[2].split()[1]
    lines[2] = f"id2 {missing}"
    other_list = tmp_path / "wav.scp"
    other_list.write_text("\n".join(lines) + "\n")
    for _ in range(2):
        said = decode(other_list, output, "--resume", code=FAILURE)
        assert any("missing.wav" in line for line in said)
        assert b"id2" not in output.read_bytes()
        assert list(lines_of(output.read_bytes())) == [
            f"id{i}".encode() for i in (0, 1, 3, 4, 5, 6)]
    missing.symlink_to(real)
    decode(other_list, output, "--resume")
    assert output.read_bytes() == whole["text"]


def test_resuming_with_threads_and_batches(tmp_path, corpus):
    listing, whole = corpus
    output = tmp_path / "out"
    for size in range(0, len(whole["json"]), len(whole["json"]) // 4):
        output.write_bytes(whole["json"][:size])
        decode(listing, output, "--format=json", "--resume", "--batch_streams=3",
               "--num_threads=2")
        assert output.read_bytes() == whole["json"]


def test_refuses_results_of_something_else(tmp_path, corpus):
    listing, whole = corpus
    output = tmp_path / "out"
    for content, options in [(whole["text"], ["--shard=1/2"]), (whole["text"], ["--format=json"]),
                             (whole["json"], []), (b"id9 one\n", []), (b"id1 a\nid0 b\n", [])]:
        output.write_bytes(content)
        done = run("decode_wav", MODEL, f"--wav_scp={listing}", f"--output={output}", "--resume",
                   *options)
        assert f"{output}:" in error_line(done, FAILURE)
        assert output.read_bytes() == content


def test_gnu_parallel(tmp_path, corpus):
    """The documented command, with runs that are killed."""
    listing, whole = corpus
    (tmp_path / "2-of-3.txt").write_bytes(b"id1 cut in the mid")
    done = subprocess.run(
        ["parallel", "--will-cite", "--halt", "now,fail=1", "-j", "2",
         *command("decode_wav", MODEL, f"--wav_scp={listing}", "--shard={}/3",
                  f"--output={tmp_path}/{{shard}}.txt", "--resume"),
         ":::", "1", "2", "3"], cwd=ROOT, capture_output=True, text=True, check=False,
        timeout=GUARD_SECONDS, env={**os.environ, "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    found = {}
    for i in range(1, 4):
        found.update(lines_of((tmp_path / f"{i}-of-3.txt").read_bytes()))
    assert found == lines_of(whole["text"])


def test_output_to_a_pipe_cannot_be_resumed(tmp_path, corpus):
    listing, _ = corpus
    os.mkfifo(tmp_path / "pipe")
    done = run("decode_wav", MODEL, f"--wav_scp={listing}", f"--output={tmp_path / 'pipe'}",
               "--resume", timeout=GUARD_SECONDS)
    assert "expected a regular file" in error_line(done, FAILURE)


def test_an_empty_shard_is_no_error(tmp_path):
    write_audio(tmp_path / "a.wav", 0.5)
    (tmp_path / "wav.scp").write_text(f"a {tmp_path / 'a.wav'}\n")
    decode(tmp_path / "wav.scp", tmp_path / "out", "--shard=2/2")
    assert (tmp_path / "out").read_bytes() == b""
