"""The programs for Windows, run by wine, against those of this build."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import time

import pytest
import soundfile

from audio_files import audio_file
from terminal import Terminal
from tool_runner import DIGITS, FAILURE, SAMPLE_LIST, SAMPLES, SUCCESS, USAGE, succeed
from wine import FOLDER, WindowsProgram, run_windows, start_windows, succeed_windows
from wine import wine  # noqa: F401  a fixture

MODEL = DIGITS / "digits.pt"
# Names that no code page of Windows has all characters of.
ODD_NAMES = ("Zürich Ärger", "Ελλάδα", "日本 語")

pytestmark = [
    pytest.mark.skipif(not (FOLDER / "decode_wav.exe").is_file(),
                       reason=f"{FOLDER} is not built (make windows)"),
    pytest.mark.skipif(not pathlib.Path("/usr/lib/wine/wine64").is_file(),
                       reason="wine is not installed"),
    pytest.mark.usefixtures("wine")]


def with_set(name):
    return {**os.environ, "RUNNEL_INSTRUCTION_SET": name}


def test_the_programs_need_only_dlls_of_windows():
    for program in FOLDER.glob("*.exe"):
        listing = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", program], check=True,
                                 capture_output=True, text=True).stdout
        dlls = {line.split()[-1].lower() for line in listing.splitlines() if "DLL Name:" in line}
        assert dlls <= {"advapi32.dll", "bcrypt.dll", "dbghelp.dll", "kernel32.dll", "msvcrt.dll",
                        "psapi.dll", "shell32.dll", "shlwapi.dll", "user32.dll", "ws2_32.dll"}


def test_version_and_help():
    assert succeed_windows("decode_wav", "--version") == succeed("decode_wav", "--version")
    assert "\r" not in succeed_windows("decode_wav", "--help")


# With the same instructions, sums are added in the same order.
@pytest.mark.parametrize("instruction_set", ("portable", "sse4", "avx2", "amx"))
@pytest.mark.parametrize("precision", ("float32", "bfloat16", "int8"))
def test_samples_have_the_same_texts_and_log_probabilities(instruction_set, precision):
    arguments = ("decode_wav", f"--model={MODEL}", f"--wav_scp={SAMPLE_LIST}", "--format=json",
                 "--nbest=3", "--search=beam", f"--precision={precision}")
    expected = succeed(*arguments, env=with_set(instruction_set))
    assert succeed_windows(*arguments, env=with_set(instruction_set)) == expected
    assert all(json.loads(line)["nbest"] for line in expected.splitlines())


def test_threads_and_batches_give_the_same():
    arguments = ("decode_wav", f"--model={MODEL}", f"--wav_scp={SAMPLE_LIST}")
    expected = succeed(*arguments)
    assert succeed_windows(*arguments, "--num_threads=3", "--batch_streams=2") == expected
    assert succeed_windows(*arguments, "--step_threads=2") == expected


@pytest.mark.parametrize("name", ODD_NAMES)
def test_paths_are_utf8(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    model, sample = folder / f"{name}.pt", folder / f"{name}.flac"
    shutil.copy(MODEL, model)
    shutil.copy(SAMPLES / "rms_phone_number.flac", sample)
    text = succeed("decode_wav", f"--model={MODEL}", f"--wav={SAMPLES}/rms_phone_number.flac")
    expected = text.replace("rms_phone_number", name.replace(" ", "_"))
    assert succeed_windows("decode_wav", f"--model={model}", f"--wav={sample}") == expected

    listing, output = folder / f"{name}.scp", folder / f"{name}.txt"
    listing.write_text(f"{name[:2]} {sample}\r\n", encoding="utf-8", newline="")
    succeed_windows("decode_wav", f"--model={model}", f"--wav_scp={listing}", f"--output={output}")
    assert output.read_bytes().decode() == text.replace("rms_phone_number", name[:2])


def test_a_packed_file_has_the_same_bytes_and_is_mapped(tmp_path):
    theirs, ours = tmp_path / "Größe 1", tmp_path / "ours"
    pack = (f"--model={MODEL}", "--precision=int8")
    succeed_windows("pack_model", *pack, f"--output={theirs}")
    succeed("pack_model", *pack, f"--output={ours}")
    assert theirs.read_bytes() == ours.read_bytes()
    succeed_windows("pack_model", *pack, f"--output={theirs}")  # replaces it

    arguments = ("decode_wav", f"--model={theirs}", f"--wav_scp={SAMPLE_LIST}", "--format=json")
    assert succeed_windows(*arguments) == succeed(*arguments)

    program = start_windows("decode_wav", f"--model={theirs}", "--wav=-", stdin=subprocess.PIPE)
    maps = pathlib.Path(f"/proc/{program.process.pid}/maps")
    while str(theirs) not in maps.read_text(encoding="utf-8"):
        assert program.process.poll() is None, "the file is not mapped"
        time.sleep(0.1)
    samples, rate = soundfile.read(SAMPLES / "rms_telephone.wav", dtype="int16")
    done = program.end(audio_file(samples, rate, "WAV", "PCM_16"))
    assert done.returncode == SUCCESS
    expected = succeed("decode_wav", f"--model={ours}", f"--wav={SAMPLES}/rms_telephone.wav")
    assert done.stdout == expected.replace("rms_telephone", "stdin")


def test_other_formats(tmp_path):
    samples, rate = soundfile.read(SAMPLES / "rms_telephone.wav", dtype="int16")
    for form, subtype in (("AIFF", "PCM_16"), ("W64", "PCM_16"), ("WAV", "MS_ADPCM"),
                          ("FLAC", "PCM_16"), ("CAF", "ALAC_16")):
        path = tmp_path / f"{form}.audio"
        path.write_bytes(audio_file(samples, rate, form, subtype))
        arguments = ("decode_wav", f"--model={MODEL}", f"--wav={path}")
        assert succeed_windows(*arguments) == succeed(*arguments)


def complaint(code, *arguments):
    """The last line of standard error."""
    done = run_windows("decode_wav", *arguments)
    assert done.returncode == code and "\r" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_what_is_wrong_is_said_in_one_line(tmp_path):
    broken = tmp_path / "Brüche.pt"
    broken.write_bytes(MODEL.read_bytes()[:5000])
    for path in (tmp_path / "no such file.pt", broken, SAMPLE_LIST):
        line = complaint(FAILURE, f"--model={path}", f"--wav={SAMPLES}/ked_year.flac")
        assert line.startswith(f"decode_wav: {path}: ")
    assert "unknown flag --modell" in complaint(USAGE, "--modell=x")


def test_media_files_are_refused_in_one_line(tmp_path):
    mp3 = tmp_path / "a.mp3"
    samples, rate = soundfile.read(SAMPLES / "rms_telephone.wav", dtype="int16")
    mp3.write_bytes(audio_file(samples, rate, "MP3", "MPEG_LAYER_III"))
    done = run_windows("decode_wav", f"--model={MODEL}", f"--wav={mp3}")
    assert done.returncode == FAILURE
    line, = [line for line in done.stderr.splitlines() if str(mp3) in line]
    assert line.endswith("is MP3 and cannot be decoded, because there is no media_decoder for this "
                         "system; expected WAV, FLAC or another format of libsndfile")


def test_libtorch_is_refused_in_one_line():
    line = complaint(FAILURE, f"--model={MODEL}", f"--wav={SAMPLES}/ked_year.flac",
                     "--backend=libtorch")
    assert "needs the reference" in line and "librunnel_reference" in line


# A file that is no library. ERROR_BAD_EXE_FORMAT: it was found. ERROR_MOD_NOT_FOUND: it was not.
@pytest.mark.parametrize("place, error", (("program", 193), ("current folder", 126)))
def test_libraries_are_those_beside_the_program(tmp_path, place, error):
    program = tmp_path / "program"
    program.mkdir()
    shutil.copy(FOLDER / "decode_wav.exe", program)
    current = tmp_path / "current folder"
    current.mkdir()
    version = succeed("decode_wav", "--version").split()[-1]
    (tmp_path / place / f"librunnel_reference-{version}.dll").write_bytes(b"no library")
    done = WindowsProgram([program / "decode_wav.exe", f"--model={MODEL}", "--backend=libtorch",
                           f"--wav={SAMPLES}/ked_year.flac"], cwd=current).end()
    assert done.returncode == FAILURE
    assert f", error {error}); expected" in done.stderr.splitlines()[-1]


def test_a_console_shows_the_progress():
    """The bar is written where standard error is a console that obeys escape sequences."""
    def is_shown(shown):
        return b"0/1files," in re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).replace(b" ", b"")

    header = (b"RIFF\xff\xff\xff\xffWAVEfmt "
              + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)
              + b"data\xff\xff\xff\xff")
    terminal = Terminal()
    program = start_windows("decode_wav", f"--model={MODEL}", "--wav=-", stdin=subprocess.PIPE,
                            stderr=terminal.slave)
    program.feed(header)
    for _ in range(1000):  # seconds of audio
        if terminal.becomes(is_shown, 0.01):
            break
        program.feed(bytes(32000))
    done = program.end()
    assert is_shown(terminal.close())
    assert done.returncode == SUCCESS and done.stdout.startswith("stdin")


def test_threads():
    """Objects of threads, and threads that end, in the libraries of Windows."""
    assert "[  PASSED  ]" in succeed_windows("threads_test")
