"""decode_wav with limits on the number of open files and on the size of files."""

import resource

from tool_runner import (FAILURE, SAMPLE_LIST, TINY_MODEL, USAGE, error_line, run, succeed,
                         write_audio)

MODEL = f"--model={TINY_MODEL}"


def limit(kind: int, soft: int, hard: int):
    """Returns a function that the child process calls before it becomes the tool."""
    return lambda: resource.setrlimit(kind, (soft, hard))


def test_batches_are_limited_by_the_number_of_open_files(tmp_path):
    write_audio(tmp_path / "a.wav", seconds=1)
    listing = tmp_path / "list"
    listing.write_text("".join(f"id{i} {tmp_path / 'a.wav'}\n" for i in range(100)))
    arguments = ["decode_wav", MODEL, f"--wav_scp={listing}"]
    few = {"preexec_fn": limit(resource.RLIMIT_NOFILE, 64, 64)}
    for options in ["--batch_streams=100"], ["--batch_streams=10", "--num_threads=5"]:
        line = error_line(run("decode_wav", "--model=not_read", f"--wav_scp={listing}", *options,
                              **few), USAGE)
        assert "expected at most 48: this process may have 64 files open (ulimit -n)" in line
    expected = succeed(*arguments)
    assert succeed(*arguments, "--batch_streams=48", **few) == expected
    # The soft limit is raised, and no more files are open than there are recordings.
    raised = {"preexec_fn": limit(resource.RLIMIT_NOFILE, 64, 116)}
    assert succeed(*arguments, "--batch_streams=1000", "--num_threads=2", **raised) == expected


def test_output_beyond_the_limit_of_file_size(tmp_path):
    output = tmp_path / "results"
    done = run("decode_wav", MODEL, f"--wav_scp={SAMPLE_LIST}", "--format=json",
               f"--output={output}", preexec_fn=limit(resource.RLIMIT_FSIZE, 4096, 4096))
    assert f"{output}: cannot write: File too large" in error_line(done, FAILURE)
    assert output.stat().st_size == 4096
