"""Several threads give the same results and failures as one; for the thread sanitizer too."""

import signal

import numpy as np
import pytest
import soundfile

from optional_parts import needs_reference
from tool_runner import (DIGITS, SAMPLE_LIST, TINY_MODEL, USAGE, error_file_line,
                         error_line, run, run_without_reader, succeed, write_audio, write_list)

MODEL = f"--model={TINY_MODEL}"
BEAM = ("--search=beam", "--beam_size=4")
# Several utterances per recording.
ENDPOINTS = ("--endpointing", "--endpoint_max_utterance_s=1", "--join_segments")


@pytest.mark.parametrize("search", [["--search=greedy"], BEAM, ENDPOINTS])
def test_order_and_results_do_not_depend_on_batches_and_threads(tmp_path, search):
    listing, ids = write_list(tmp_path, 17)
    alone = succeed("decode_wav", MODEL, f"--wav_scp={listing}", *search)
    assert [line.split(" ")[0] for line in alone.splitlines()] == ids
    for options in (["--batch_streams=5"], ["--num_threads=3"],
                    ["--batch_streams=5", "--num_threads=2"],
                    ["--batch_streams=64", "--num_threads=9"]):
        assert succeed("decode_wav", MODEL, f"--wav_scp={listing}", *search, *options) == alone


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_threads_of_a_step_change_nothing(precision):
    """The digit model is large enough for its matrix multiplications to be split."""
    flags = [f"--model={DIGITS / 'digits.pt'}", f"--wav_scp={SAMPLE_LIST}", "--format=json",
             f"--precision={precision}"]
    alone = succeed("decode_wav", *flags)
    for options in (["--step_threads=2"], ["--step_threads=3", "--num_threads=2"]):
        assert succeed("decode_wav", *flags, *options) == alone


@pytest.mark.parametrize("value", ["0", "65", "-1"])
def test_wrong_number_of_step_threads(value):
    done = run("decode_wav", MODEL, f"--wav_scp={SAMPLE_LIST}", f"--step_threads={value}")
    assert f"--step_threads is {value}, expected 1 to 64 threads" in error_line(done, USAGE)


@pytest.mark.parametrize("options", [[], ["--batch_streams=3", "--num_threads=2"]])
def test_bad_files_do_not_stop_the_others(tmp_path, options):
    write_audio(tmp_path / "good.wav")
    write_audio(tmp_path / "whole.flac", seconds=5.0)
    flac = (tmp_path / "whole.flac").read_bytes()
    bad = {"empty.wav": b"", "garbage.wav": bytes(range(256)) * 40,
           "cut.flac": flac[:len(flac) // 2],
           "header.wav": (tmp_path / "good.wav").read_bytes()[:20]}
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    soundfile.write(tmp_path / "loud.wav", np.full(20000, 1e20, np.float32), 16000,
                    subtype="FLOAT")
    bad["loud.wav"] = b""
    (tmp_path / "folder.wav").mkdir()
    names = ["good.wav", *bad, "missing.wav", "folder.wav", "whole.flac"]
    listing = tmp_path / "wav.scp"
    listing.write_text("".join(f"{name[:-4]} {tmp_path / name}\n" for name in names))
    done = run("decode_wav", MODEL, f"--wav_scp={listing}", *options)
    assert [line.split(" ")[0] for line in done.stdout.splitlines()] == ["good", "whole."]
    for name in [*bad, "missing.wav", "folder.wav"]:
        error_file_line(done, name)
    assert "files 9, failures 7," in done.stderr


@pytest.mark.parametrize("options", [[], ["--batch_streams=3", "--num_threads=3"]])
def test_closed_output_pipe(options):
    done = run_without_reader("decode_wav", MODEL, f"--wav_scp={SAMPLE_LIST}", *options)
    assert done.returncode == -signal.SIGPIPE
    assert len(done.stderr.splitlines()) == 1 and ": model tiny" in done.stderr


@needs_reference
def test_verification_does_not_depend_on_threads():
    alone, together = (succeed("verify_streaming", MODEL, "--seconds=1", "--precision=float64",
                               f"--num_threads={threads}") for threads in (1, 4))
    assert alone == together and alone.endswith("passed\n")
