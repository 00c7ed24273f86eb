"""decode_wav as a user runs it: results, formats, order, pipes, and errors."""

import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import threading

import numpy as np
import pytest
import soundfile

from audio_files import FORMATS, audio_file
from tool_runner import (DIGITS, FAILURE, ROOT, SAMPLE_LIST, SAMPLES, TINY_MODEL, USAGE, command,
                         error_file_line, error_line, peak_kilobytes, run, succeed, write_audio)

MODEL = f"--model={TINY_MODEL}"
BEAM = ("--search=beam", "--beam_size=4")


def test_right_digits():
    model = DIGITS / "digits.pt"
    expected = (SAMPLES / "text").read_text(encoding="utf-8")
    for options in [], ["--search=beam"], ["--batch_streams=3", "--num_threads=2"]:
        assert succeed("decode_wav", f"--model={model}", f"--wav_scp={SAMPLE_LIST}",
                       *options) == expected


def test_word_list():
    model, listing = f"--model={DIGITS / 'digits.pt'}", f"--wav_scp={SAMPLE_LIST}"
    words = f"--word_list={DIGITS / 'words.txt'}"
    expected = (SAMPLES / "text").read_text(encoding="utf-8")
    for options in [], ["--search=beam"], ["--batch_streams=3", "--num_threads=2"]:
        assert succeed("decode_wav", model, listing, words, *options) == expected


@pytest.mark.parametrize("options", [[], ["--batch_streams=4", "--chunk_size=1"]])
def test_nothing_but_the_listed_words_comes_out(tmp_path, options):
    words = tmp_path / "words.txt"
    words.write_text("# two digits and a word that the model never saw\n\none\ntwo\r\nten\n")
    lines = succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav_scp={SAMPLE_LIST}",
                    f"--word_list={words}", "--nbest=5", *options).splitlines()
    assert len(lines) > 6
    found = {word for line in lines for word in line.split()[1:]}
    assert found and found <= {"one", "two", "ten"}


@pytest.mark.parametrize("content, message", [
    ("one\nTwo\n", "words.txt:2: 'Two' needs the token 'T', which the model does not have"),
    ("one \u2581o n e\n", "words.txt:1: 'one' needs the token '\u2581o', which the model"),
    ("# none\n", "words.txt: lists no words"),
    (None, "words.txt: cannot open: No such file or directory"),
])
def test_bad_word_lists(tmp_path, content, message):
    if content is not None:
        (tmp_path / "words.txt").write_text(content, encoding="utf-8")
    done = run("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav_scp={SAMPLE_LIST}",
               f"--word_list={tmp_path / 'words.txt'}")
    assert message in error_line(done, FAILURE)


def test_formats_agree():
    text = succeed("decode_wav", MODEL, f"--wav_scp={SAMPLE_LIST}")
    lines = [line.split(" ", 1) for line in text.splitlines()]
    listed = [line.split()[0] for line in SAMPLE_LIST.read_text().splitlines()]
    assert [line[0] for line in lines] == listed

    objects = [json.loads(line) for line in
               succeed("decode_wav", MODEL, f"--wav_scp={SAMPLE_LIST}",
                       "--format=json").splitlines()]
    assert [[o["id"], o["text"]] for o in objects] == lines
    for found in objects:
        assert found["audio_seconds"] > 1
        assert len(found["nbest"]) == 1
        best = found["nbest"][0]
        assert best["text"] == found["text"] and best["score"] < 0
        assert " ".join(word["text"] for word in best["words"]) == found["text"]
        joined = "".join(token["text"] for token in best["tokens"])
        assert joined.replace("\u2581", " ").split() == found["text"].split()
        for part in best["tokens"] + best["words"]:
            assert 0 <= part["start_ms"] < part["end_ms"] <= 1000 * found["audio_seconds"]
            assert 0 <= part["confidence"] <= 1

    ctm = succeed("decode_wav", MODEL, f"--wav_scp={SAMPLE_LIST}", "--format=ctm").splitlines()
    words = [(o["id"], word) for o in objects for word in o["nbest"][0]["words"]]
    assert len(ctm) == len(words)
    for line, (name, word) in zip(ctm, words):
        fields = line.split(" ")
        assert fields[:2] == [name, "1"] and fields[4] == word["text"]
        assert float(fields[2]) == pytest.approx(word["start_ms"] / 1000, abs=1e-3)
        assert float(fields[3]) == pytest.approx((word["end_ms"] - word["start_ms"]) / 1000,
                                                 abs=1e-3)
        assert float(fields[5]) == pytest.approx(word["confidence"], abs=1e-3)


def test_nbest():
    lines = succeed("decode_wav", MODEL, f"--wav={SAMPLES / 'ked_year.flac'}", "--nbest=3",
                    *BEAM).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["ked_year-1", "ked_year-2", "ked_year-3"]
    found = json.loads(succeed("decode_wav", MODEL, f"--wav={SAMPLES / 'ked_year.flac'}",
                               "--nbest=3", "--format=json", *BEAM))
    assert [f"ked_year-{i + 1} {h['text']}".strip() for i, h in enumerate(found["nbest"])] == lines
    scores = [hypothesis["score"] for hypothesis in found["nbest"]]
    assert scores == sorted(scores, reverse=True)


def test_chunk_size_and_context_matter():
    wav = f"--wav={SAMPLES / 'rms_phone_number.flac'}"
    texts = {options: succeed("decode_wav", MODEL, wav, "--format=json", *options)
             for options in [(), ("--chunk_size=4", "--left_context=8"),
                             ("--chunk_size=-1",), ("--chunk_size", "1", "--left_context", "-1")]}
    # The tiny model recommends chunks of 4 with 8 before them.
    assert texts[()] == texts[("--chunk_size=4", "--left_context=8")]
    assert len(set(texts.values())) == 3


def test_output_file_and_summary(tmp_path):
    output = tmp_path / "text"
    done = run("decode_wav", MODEL, f"--wav_scp={SAMPLE_LIST}", f"--output={output}")
    assert done.returncode == 0 and done.stdout == ""
    assert output.read_text() == succeed("decode_wav", MODEL, f"--wav_scp={SAMPLE_LIST}")
    lines = done.stderr.splitlines()
    assert len(lines) == 3, lines
    assert re.match(r"decode_wav: model tiny, chunks of 4 encoder frames", lines[0])
    paths = [line.split(" ", 1)[1] for line in SAMPLE_LIST.read_text().splitlines()]
    seconds = sum(soundfile.info(str(ROOT / path)).duration for path in paths)
    assert re.match(rf"decode_wav: files {len(paths)}, failures 0, audio {seconds:.2f} s, "
                    r"wall \d+\.\d+ s, real-time factor \d+\.\d+$", lines[1])
    assert re.match(r"decode_wav: chunk latency p50 \S+ ms, p95 \S+ ms, p99 \S+ ms "
                    r"\(\d+ chunks\)$", lines[2])


def test_partial_results_go_to_stderr():
    wav = f"--wav={SAMPLES / 'ked_year.flac'}"
    done = run("decode_wav", MODEL, wav, "--partial")
    assert done.stdout == succeed("decode_wav", MODEL, wav)
    partials = [line for line in done.stderr.splitlines() if line.startswith("ked_year partial: ")]
    texts = [line.split(": ", 1)[1] for line in partials]
    assert len(texts) > 3 and len(set(texts)) == len(texts)
    assert done.stdout == f"ked_year {texts[-1]}\n"


def test_standard_input_is_decoded_while_it_arrives(tmp_path):
    samples = write_audio(tmp_path / "a.wav", seconds=4.0)
    expected = succeed("decode_wav", MODEL, f"--wav={tmp_path / 'a.wav'}").split(" ", 1)[1]
    pcm, _ = soundfile.read(tmp_path / "a.wav", dtype="int16")
    # As a recorder writes into a pipe, without a length.
    header = (b"RIFF\xff\xff\xff\xffWAVEfmt "
              + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)
              + b"data\xff\xff\xff\xff")
    process = subprocess.Popen(command("decode_wav", MODEL, "--wav=-", "--partial"),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    watchdog = threading.Timer(120, process.kill)  # a hang becomes a failure
    watchdog.start()
    try:
        process.stdin.write(header + pcm[:len(samples) // 2].tobytes())
        process.stdin.flush()
        for line in process.stderr:  # ends when a partial result comes while the pipe is open
            if line.startswith(b"stdin partial: "):
                break
        else:
            pytest.fail("no partial result before the end of the audio")
        output, _ = process.communicate(pcm[len(samples) // 2:].tobytes())
    finally:
        watchdog.cancel()
        process.kill()
    assert process.returncode == 0
    assert output.decode() == "stdin " + expected


def test_an_interrupt_ends_the_input_and_not_the_program(tmp_path):
    # Ctrl-C in a pipe ends the recorder; the text of its audio is still printed.
    samples = write_audio(tmp_path / "a.wav", seconds=4.0)
    expected = succeed("decode_wav", MODEL, f"--wav={tmp_path / 'a.wav'}").split(" ", 1)[1]
    audio = (tmp_path / "a.wav").read_bytes()
    process = subprocess.Popen(command("decode_wav", MODEL, "--wav=-", "--partial"),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    watchdog = threading.Timer(120, process.kill)  # a hang becomes a failure
    watchdog.start()
    try:
        process.stdin.write(audio[:len(samples)])
        process.stdin.flush()
        assert any(line.startswith(b"stdin partial: ") for line in process.stderr)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(audio[len(samples):])
    finally:
        watchdog.cancel()
        process.kill()
    assert process.returncode == 0
    assert output.decode() == "stdin " + expected


def test_channels(tmp_path):
    stereo = write_audio(tmp_path / "stereo.wav", channels=2)
    soundfile.write(tmp_path / "left.wav", stereo[:, 0], 16000, subtype="PCM_16")
    soundfile.write(tmp_path / "right.wav", stereo[:, 1], 16000, subtype="PCM_16")

    def text(name, *options):
        return succeed("decode_wav", MODEL, f"--wav={tmp_path / name}",
                       *options).split(" ", 1)[1]

    assert text("stereo.wav", "--channel=0") == text("left.wav")
    assert text("stereo.wav", "--channel=1") == text("right.wav") != text("left.wav")
    assert "channel" in error_file_line(run("decode_wav", MODEL, "--channel=2",
                                            f"--wav={tmp_path / 'stereo.wav'}"), "stereo.wav")


def test_truncated_wav_is_decoded_as_far_as_it_goes_and_named(tmp_path):
    write_audio(tmp_path / "whole.wav", seconds=4.0)
    content = (tmp_path / "whole.wav").read_bytes()
    (tmp_path / "cut.wav").write_bytes(content[:44 + 2 * 32000])
    samples, _ = soundfile.read(tmp_path / "whole.wav", dtype="int16")
    soundfile.write(tmp_path / "half.wav", samples[:32000], 16000)
    # A file of a recorder that did not write the length.
    for name, size in ("open.wav", 0), ("endless.wav", 0xffffffff), ("2gib.wav", 0x7fffffff):
        riff_size = struct.pack("<I", min(size + 36, 0xffffffff))
        (tmp_path / name).write_bytes(content[:4] + riff_size + content[8:40]
                                      + struct.pack("<I", size) + content[44:44 + 2 * 32000])
    names = ["half.wav", "cut.wav", "open.wav", "endless.wav", "2gib.wav"]
    done = run("decode_wav", MODEL, "--wav=" + ",".join(str(tmp_path / name) for name in names))
    assert done.returncode == 0
    assert len({line.split(" ", 1)[1] for line in done.stdout.splitlines()}) == 1
    assert [line for line in done.stderr.splitlines() if ".wav: " in line] == [
        f"decode_wav: {tmp_path / 'cut.wav'}: ends after 2.00 s, its header announces 4.00 s"]
    piped = subprocess.run(command("decode_wav", MODEL, "--wav=-"), check=True,
                           input=(tmp_path / "cut.wav").read_bytes(), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    assert b"standard input: ends after 2.00 s, its header announces 4.00 s" in piped.stderr
    assert piped.stdout.decode() == done.stdout.splitlines(True)[0].replace("half", "stdin")


def test_two_lists_are_refused():
    path = f"--wav_scp={SAMPLES / 'wav.scp'}"
    assert error_line(run("decode_wav", MODEL, path, path), USAGE).startswith(
        "decode_wav: --wav_scp is given twice, expected once")


def test_recordings_without_flags(tmp_path):
    """Names may have commas; flags may be given again, and stand anywhere."""
    for name in ("one,two.wav", "a.wav", "b.wav", "c.wav"):
        write_audio(tmp_path / name, seconds=0.5)
    model = MODEL.partition("=")[2]
    for arguments, ids in (([model, "one,two.wav", "a.wav"], ["one,two", "a"]),
                           (["a.wav", MODEL, "--wav=b.wav,c.wav"], ["b", "c", "a"]),
                           ([MODEL, "--wav=b.wav", "--wav", "a.wav"], ["b", "a"]),
                           ([model, "--quiet", "--", "c.wav"], ["c"])):
        done = subprocess.run(command("decode_wav", *arguments), cwd=tmp_path, check=True,
                              capture_output=True, text=True)
        assert [line.split()[0] for line in done.stdout.splitlines()] == ids, arguments


def test_quiet(tmp_path):
    """No line but results, warnings and errors."""
    listing = f"--wav_scp={SAMPLE_LIST}"
    loud = run("decode_wav", MODEL, listing)
    assert [line.split()[1] for line in loud.stderr.splitlines()] == ["model", "files", "chunk"]
    quiet = run("decode_wav", MODEL, listing, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, loud.stdout, "")
    silent = tmp_path / "silent.wav"
    soundfile.write(silent, np.zeros(0), 16000, subtype="PCM_16")
    done = run("decode_wav", MODEL, silent, "missing.wav", "--quiet")
    assert done.returncode == FAILURE and sorted(done.stderr.splitlines()) == [
        f"decode_wav: {silent}: has no samples",
        "decode_wav: missing.wav: cannot open: No such file or directory"]


def test_no_statistics_when_nothing_was_decoded():
    line = error_line(run("decode_wav", MODEL, "missing.wav"), FAILURE)
    assert line == "decode_wav: missing.wav: cannot open: No such file or directory"


def test_recordings_without_samples_are_named(tmp_path):
    """They give an empty text; a user wonders why."""
    path = tmp_path / "silent.wav"
    soundfile.write(path, np.zeros(0), 16000, subtype="PCM_16")
    done = run("decode_wav", MODEL, f"--wav={path}")
    assert (done.returncode, done.stdout) == (0, "silent\n")
    assert f"decode_wav: {path}: has no samples" in done.stderr.splitlines()
    piped = subprocess.run(command("decode_wav", MODEL, "--wav=-"), check=True,
                           input=path.read_bytes(), stderr=subprocess.PIPE)
    assert b"decode_wav: standard input: has no samples" in piped.stderr.splitlines()


def test_truncated_files_of_other_formats_are_named(tmp_path):
    names = []
    for kind in "AIFF", "AU", "W64", "VOC", "NIST":
        names.append(f"{tmp_path / kind.lower()}")
        content = audio_file(np.zeros(4 * 16000), 16000, kind, "PCM_16")
        pathlib.Path(names[-1]).write_bytes(content[:len(content) // 2])
    done = run("decode_wav", MODEL, "--wav=" + ",".join(names))
    assert done.returncode == 0
    lines = sorted(line for line in done.stderr.splitlines() if ": ends after " in line)
    assert [re.sub(r"after (1\.9[3-9]|2\.00) s", "after 2.00 s", line) for line in lines] == [
        f"decode_wav: {name}: ends after 2.00 s, its header announces 4.00 s"
        for name in sorted(names)]


def test_a_header_that_announces_a_little_more(tmp_path):
    """As one whose size of the data counts the header, too."""
    content = bytearray(audio_file(np.zeros(16000), 16000, "WAV", "PCM_16"))
    content[40:44] = struct.pack("<I", 32044)
    (tmp_path / "a.wav").write_bytes(content)
    output = run("decode_wav", MODEL, f"--wav={tmp_path / 'a.wav'}")
    assert ("a.wav: ends after 1.000000 s, its header announces 1.001375 s" in
            output.stderr)


def test_every_format_gives_the_same_text(tmp_path):
    text = "two zero two six"
    samples, rate = soundfile.read(SAMPLES / "ked_year.flac", dtype="float32")
    for form, subtype in FORMATS:
        (tmp_path / f"{form}_{subtype}").write_bytes(audio_file(samples, rate, form, subtype))
    files = ",".join(str(tmp_path / f"{form}_{subtype}") for form, subtype in FORMATS)
    model = f"--model={DIGITS / 'digits.pt'}"
    assert succeed("decode_wav", model, f"--wav={files}", "--batch_streams=8") == "".join(
        f"{form}_{subtype} {text}\n" for form, subtype in FORMATS)
    for name in "OGG_OPUS", "OGG_VORBIS", "MP3_MPEG_LAYER_III", "AU_ULAW", "WAV_IMA_ADPCM":
        if not (tmp_path / name).exists():
            continue
        with subprocess.Popen(["cat", tmp_path / name], stdout=subprocess.PIPE) as cat:
            assert succeed("decode_wav", model, "--wav=-", stdin=cat.stdout) == f"stdin {text}\n"


def test_samples_in_the_range_of_16_bit_integers(tmp_path):
    """A float file without the scale of float files is refused; one that is too loud is not."""
    samples, rate = soundfile.read(SAMPLES / "ked_year.flac", dtype="float32")
    model = f"--model={DIGITS / 'digits.pt'}"
    for factor in 16, 32768:
        soundfile.write(tmp_path / f"{factor}.wav", samples * factor, rate, "FLOAT")
    assert succeed("decode_wav", model, f"--wav={tmp_path / '16.wav'}") == "16 two zero two six\n"
    done = run("decode_wav", model, f"--wav={tmp_path / '32768.wav'}")
    assert done.returncode == FAILURE and not done.stdout
    assert re.search(r": .*32768.wav: sample \d+ is -?\d+, expected samples in \[-1, 1\]\n",
                     done.stderr)


def test_cut_off_files_of_every_format(tmp_path):
    """The text so far, or one line that says what is wrong; no format gives nothing silently."""
    announce_their_size = ("WAV", "RF64", "W64", "MP3", "AIFF", "AU", "NIST", "VOC")
    samples, rate = soundfile.read(SAMPLES / "ked_year.flac", dtype="float32")
    samples = np.tile(samples, 8)
    whole = 8 * ["two", "zero", "two", "six"]
    names = [f"{form}_{subtype}" for form, subtype in FORMATS]
    for name, (form, subtype) in zip(names, FORMATS):
        file = audio_file(samples, rate, form, subtype)
        (tmp_path / name).write_bytes(file[:len(file) // 2])
    done = run("decode_wav", f"--model={DIGITS / 'digits.pt'}", "--batch_streams=8",
               "--wav=" + ",".join(str(tmp_path / name) for name in names))
    texts = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    for name in names:
        complaints = [line for line in done.stderr.splitlines()
                      if line.startswith(f"decode_wav: {tmp_path / name}: ")]
        if name in texts:
            words = texts[name].split()
            assert 10 <= len(words) <= 20 and words[:10] == whole[:10], name
            assert len(complaints) == name.startswith(announce_their_size), name
        else:
            assert len(complaints) == 1 and name.startswith(("FLAC", "CAF", "HTK")), name


def test_audio_too_short_for_a_frame_gives_empty_text(tmp_path):
    for name, count in ("one.wav", 1), ("short.wav", 1000):
        soundfile.write(tmp_path / name, np.zeros(count), 16000, subtype="PCM_16")
    output = succeed("decode_wav", MODEL,
                     "--wav=" + ",".join(str(tmp_path / n) for n in ("one.wav", "short.wav")))
    assert output == "one\nshort\n"
    # With --nbest above 1 lines are numbered, whatever their number.
    assert succeed("decode_wav", MODEL, f"--wav={tmp_path / 'short.wav'}", "--nbest=3",
                   *BEAM) == "short-1\n"


@pytest.mark.parametrize("content, message", [
    ("", "lists no recordings"),
    ("a a.wav\na b.wav\n", "wav.scp:2: id 'a' is already used in line 1"),
    ("a\n", "wav.scp:1: 'a' has no path"),
    ("a sox x.mp3 -t wav - |\n", "is a command"),
])
def test_bad_lists(tmp_path, content, message):
    listing = tmp_path / "wav.scp"
    listing.write_text(content)
    assert message in error_line(run("decode_wav", MODEL, f"--wav_scp={listing}"), FAILURE)


def test_missing_list():
    assert "no/such/list: cannot open" in error_line(
        run("decode_wav", MODEL, "--wav_scp=no/such/list"), FAILURE)


def test_lists_of_other_systems_and_ids_of_paths(tmp_path):
    shutil.copy(SAMPLES / "ked_year.flac", tmp_path / "my talk.flac")
    (tmp_path / "list").write_bytes(f"x {tmp_path / 'my talk.flac'}\r\n".encode())
    from_list = succeed("decode_wav", MODEL, f"--wav_scp={tmp_path / 'list'}")
    from_path = succeed("decode_wav", MODEL, f"--wav={tmp_path / 'my talk.flac'}")
    assert from_list.split(" ", 1)[0] == "x" and from_path.split(" ", 1)[0] == "my_talk"
    assert from_list.split(" ", 1)[1] == from_path.split(" ", 1)[1]


def test_bad_models(tmp_path):
    wav = f"--wav={SAMPLES / 'ked_year.flac'}"
    content = TINY_MODEL.read_bytes()
    for name, bad in ("empty.pt", b""), ("garbage.pt", b"no model"), ("cut.pt", content[:5000]):
        (tmp_path / name).write_bytes(bad)
    for name in "empty.pt", "garbage.pt", "cut.pt", "missing.pt", "":
        path = tmp_path / name
        assert str(path) in error_line(run("decode_wav", f"--model={path}", wav), FAILURE)


def test_output_never_replaces_an_input(tmp_path):
    write_audio(tmp_path / "a.wav")
    content = (tmp_path / "a.wav").read_bytes()
    (tmp_path / "list").write_text(f"a {tmp_path / 'a.wav'}\n")
    (tmp_path / "link").hardlink_to(tmp_path / "a.wav")
    wav, listing = f"--wav={tmp_path / 'a.wav'}", f"--wav_scp={tmp_path / 'list'}"
    for arguments, output in [(["decode_wav", MODEL, wav], "a.wav"),
                              (["decode_wav", MODEL, listing], "link"),
                              (["decode_wav", MODEL, listing], "list"),
                              (["dump_encoder", MODEL, wav], "a.wav"),
                              (["dump_features", wav], "../" + tmp_path.name + "/a.wav")]:
        line = error_line(run(*arguments, f"--output={tmp_path / output}"), USAGE)
        assert "which is also read" in line
    assert (tmp_path / "a.wav").read_bytes() == content
    assert len((tmp_path / "list").read_text().splitlines()) == 1


def test_output_that_cannot_be_written(tmp_path):
    arguments = ["decode_wav", MODEL, f"--wav={SAMPLES / 'ked_year.flac'}"]
    assert succeed(*arguments, "--output=-") == succeed(*arguments)
    missing = tmp_path / "missing" / "text"
    no_model = ["decode_wav", "--model=m.pt", "--wav=a.wav"]  # the output is checked first
    assert (f"{missing}: cannot create: No such file or directory"
            in error_line(run(*no_model, f"--output={missing}"), FAILURE))
    assert (f"{missing}: cannot create: No such file or directory"
            in error_line(run(*arguments, f"--output={missing}"), FAILURE))
    assert ("/dev/full: cannot write: No space left on device"
            in error_line(run(*arguments, "--output=/dev/full"), FAILURE))
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert ("standard output: cannot write: No space left on device"
                in error_line(run(*arguments, stdout=full), FAILURE))


def test_closed_standard_streams(tmp_path):
    write_audio(tmp_path / "a.wav")
    output = tmp_path / "text"
    words = command("decode_wav", MODEL, f"--wav={tmp_path / 'a.wav'}")
    expected = succeed("decode_wav", MODEL, f"--wav={tmp_path / 'a.wav'}")

    def shell(redirections: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(["/bin/sh", "-c", f'"$@" {redirections}', "sh", *words, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              text=True, encoding="utf-8")

    # Whichever stream is closed, no message ends up in the results.
    for redirections in "2>&-", ">&- 2>&-", "<&- >&- 2>&-":
        done = shell(redirections, f"--output={output}")
        assert done.returncode == 0 and done.stdout == done.stderr == ""
        assert output.read_text(encoding="utf-8") == expected
        output.unlink()
    done = shell(">&-")
    assert done.returncode == FAILURE
    assert done.stderr.endswith("standard output: cannot write: Bad file descriptor\n")
    done = subprocess.run(["/bin/sh", "-c", '"$@" <&-', "sh",
                           *command("decode_wav", MODEL, "--wav=-")],
                          stderr=subprocess.PIPE, check=False, text=True)
    assert done.returncode == FAILURE
    assert "standard input: cannot read: Bad file descriptor" in done.stderr


def test_standard_input_without_an_end():
    with open("/dev/zero", "rb") as endless:
        line = error_file_line(run("decode_wav", MODEL, "--wav=-", stdin=endless),
                               "standard input")
    assert "cannot be read as audio (Format not recognised)" in line


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="freed memory is kept by the sanitizer")
def test_memory_does_not_grow_with_the_recording(tmp_path):
    def peak(path: pathlib.Path) -> int:
        return peak_kilobytes("decode_wav", MODEL, f"--wav={path}")

    write_audio(tmp_path / "short.wav", seconds=20)
    write_audio(tmp_path / "long.wav", seconds=400)
    # 380 s more are 24 MB of samples, 3 MB of features; tokens and the allocator take under 1 MB.
    assert peak(tmp_path / "long.wav") < peak(tmp_path / "short.wav") + 2500
