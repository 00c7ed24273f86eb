"""pack_model: what a packed file decodes, on this CPU and on others; damaged files."""

import ctypes
import json
import os
import pathlib
import struct
import wave
from typing import Any, Callable, Dict, List

import numpy as np
import pytest

from optional_parts import needs_reference
from tool_runner import DIGITS, FAILURE, SAMPLE_LIST, USAGE, error_line, run, succeed

MODEL = DIGITS / "digits.pt"
AVX2 = {**os.environ, "RUNNEL_INSTRUCTION_SET": "avx2"}


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_digits(precision, tmp_path):
    """Equal to the bit: scores, times and confidences are printed with all their digits."""
    packed = tmp_path / "digits.packed"
    succeed("pack_model", f"--model={MODEL}", f"--precision={precision}", f"--output={packed}")
    flags = [f"--wav_scp={SAMPLE_LIST}", "--format=json", "--search=beam", "--nbest=3"]
    assert (succeed("decode_wav", f"--model={packed}", *flags)
            == succeed("decode_wav", f"--model={MODEL}", f"--precision={precision}", *flags))


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_a_file_serves_every_cpu(precision, tmp_path):
    """Packed with all instructions of this CPU, computed with those of AVX2, and the reverse."""
    flags = [f"--wav_scp={SAMPLE_LIST}", "--format=json"]
    for packing, computing in (os.environ, AVX2), (AVX2, os.environ):
        packed = tmp_path / "digits.packed"
        succeed("pack_model", f"--model={MODEL}", f"--precision={precision}", f"--output={packed}",
                env=packing)
        assert (succeed("decode_wav", f"--model={packed}", *flags, env=computing)
                == succeed("decode_wav", f"--model={MODEL}", f"--precision={precision}", *flags,
                           env=computing))


def test_four_bits(tmp_path):
    """All layers in four bits, all in eight by the error allowed, and some: each is what its name
    says, and every CPU packs and decodes alike."""
    flags = [f"--wav_scp={SAMPLE_LIST}", "--format=json", "--search=beam", "--nbest=3"]
    speech = f"--wav_scp={SAMPLE_LIST}"

    def pack(name: str, precision: str, *more: str, env: Any = None) -> pathlib.Path:
        path = tmp_path / name
        done = run("pack_model", f"--model={MODEL}", f"--precision={precision}",
                   f"--output={path}", *more, env=env)
        assert done.returncode == 0, done.stderr
        lines[name] = done.stderr
        return path

    lines: Dict[str, str] = {}
    plain, eight_bits = pack("all.int4", "int4"), pack("int8", "int8")
    everything = pack("everything.int4", "int4", speech, "--max_error=1")
    some = pack("some.int4", "int4", speech, "--max_error=0.02")
    nothing = pack("nothing.int4", "int4", speech, "--max_error=0")
    assert plain.stat().st_size == everything.stat().st_size
    assert plain.read_bytes() != everything.read_bytes()
    assert plain.read_bytes() == pack("avx2.int4", "int4", env=AVX2).read_bytes()
    assert (plain.stat().st_size < some.stat().st_size < nothing.stat().st_size
            < eight_bits.stat().st_size)
    assert "layers of eight bits: none" in lines["everything.int4"]
    assert "layer 0: four bits change the output by " in lines["some.int4"]
    decoded = succeed("decode_wav", f"--model={some}", *flags)
    assert decoded == succeed("decode_wav", f"--model={some}", "--num_threads=2", *flags)
    assert decoded != succeed("decode_wav", f"--model={nothing}", *flags)


def test_speech_that_tells_nothing(tmp_path):
    """Digital silence, a constant, and too little of anything."""
    speech, output = tmp_path / "speech.wav", tmp_path / "m.int4"
    noise = np.random.default_rng(37).integers(-3000, 3000, 16000)
    said = "digital silence or too short, expected some minutes of speech"
    for samples, message in ((np.zeros(32000), said), (np.full(32000, 1000), said),
                             (noise[:480], said), (noise, "warning: only 0.9")):
        with wave.open(str(speech), "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            file.writeframes(samples.astype("<i2").tobytes())
        done = run("pack_model", f"--model={MODEL}", "--precision=int4", f"--wav={speech}",
                   f"--output={output}")
        assert message in done.stderr, done.stderr
        assert done.returncode == (FAILURE if message is said else 0)
        assert output.exists() == (message is not said)
    done = run("pack_model", f"--model={MODEL}", "--precision=int4", f"--wav_scp={SAMPLE_LIST}",
               f"--output={output}")
    assert "warning" not in done.stderr


def test_the_speech_is_not_overwritten(tmp_path):
    speech = tmp_path / "speech.wav"
    speech.write_bytes((DIGITS / "samples" / "rms_telephone.wav").read_bytes())
    before = speech.read_bytes()
    listed = tmp_path / "wav.scp"
    listed.write_text(f"a {speech}\n")
    for flag in f"--wav={speech}", f"--wav_scp={listed}":
        done = run("pack_model", f"--model={MODEL}", "--precision=int4", flag,
                   f"--output={speech}")
        assert "speech.wav" in error_line(done, USAGE)
        assert speech.read_bytes() == before


@needs_reference
@pytest.mark.parametrize("name", ["digits", "digits_transducer"])
@pytest.mark.parametrize("precision", ["float32", "int8", "int4"])
def test_packed_weights_are_verified(name, precision, tmp_path):
    packed = tmp_path / "digits.packed"
    succeed("pack_model", f"--model={DIGITS / name}.pt", f"--precision={precision}",
            f"--output={packed}")
    printed = succeed("verify_streaming", f"--model={packed}", "--seconds=3")
    assert f"{precision}: " in printed and printed.endswith("passed\n")
    assert "whole under chunk mask = LibTorch, with the same weights" in printed
    succeed("decode_wav", f"--model={packed}", f"--wav_scp={SAMPLE_LIST}", "--backend=libtorch")


def test_four_bits_are_of_packed_files():
    done = run("decode_wav", f"--model={MODEL}", f"--wav_scp={SAMPLE_LIST}", "--precision=int4")
    assert ("got precision int4, which a file has from pack_model, expected such a file"
            in error_line(done, USAGE))


def test_an_unknown_instruction_set_is_named():
    wrong = {**os.environ, "RUNNEL_INSTRUCTION_SET": "avx3"}
    done = run("decode_wav", f"--model={MODEL}", f"--wav_scp={SAMPLE_LIST}", env=wrong)
    assert "RUNNEL_INSTRUCTION_SET is 'avx3', expected one of " in error_line(done, FAILURE)


# magic, checksum of all bytes after it, size of the file, size of the index
HEADER = struct.Struct("<8s16sQQ")
ALIGNMENT = 64


def checksum(data: bytes) -> bytes:
    """XXH3 128, big-endian."""
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.XXH3_128bits.restype = type("Hash", (ctypes.Structure,), {
        "_fields_": [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]})
    found = library.XXH3_128bits(data, len(data))
    return struct.pack(">QQ", found.high, found.low)


def aligned(text: bytes) -> bytes:
    return text + bytes(-(HEADER.size + len(text)) % ALIGNMENT)


def index_of(path: pathlib.Path) -> Dict[str, Any]:
    data = path.read_bytes()
    size = HEADER.unpack_from(data)[3]
    return json.loads(data[HEADER.size:HEADER.size + size])


def with_index(path: pathlib.Path, index: Dict[str, Any], output: pathlib.Path) -> pathlib.Path:
    """A packed file with another index, the same sections, and a checksum that fits."""
    data = path.read_bytes()
    magic, _, _, size = HEADER.unpack_from(data)
    sections = data[HEADER.size + len(aligned(data[HEADER.size:HEADER.size + size])):]
    text = json.dumps(index).encode()
    body = aligned(text) + sections
    checked = struct.pack("<QQ", HEADER.size + len(body), len(text)) + body
    output.write_bytes(magic + checksum(checked) + checked)
    return output


def reorder(matrices: List[Dict[str, Any]]) -> None:
    matrices.reverse()


def rename(matrices: List[Dict[str, Any]]) -> None:
    matrices[-1]["name"] += "s"


def double(matrices: List[Dict[str, Any]]) -> None:
    matrices.append(matrices[-1])


def omit(matrices: List[Dict[str, Any]]) -> None:
    del matrices[-1]


def add(matrices: List[Dict[str, Any]]) -> None:
    matrices.append({**matrices[-1], "name": "another.weight"})


def test_matrices_are_found_by_name(tmp_path):
    packed = tmp_path / "digits.int8"
    succeed("pack_model", f"--model={MODEL}", "--precision=int8", f"--output={packed}")
    index = index_of(packed)
    names = [matrix["name"] for matrix in index["matrices"]]
    attention = "encoder.encoders.0.self_attn.linear_"
    assert "+".join(f"{attention}{part}.weight" for part in ("q", "k", "v")) in names
    assert names[-1] == "ctc.ctc_lo.weight"

    def changed(change: Callable[[List[Dict[str, Any]]], None]) -> pathlib.Path:
        index = index_of(packed)
        change(index["matrices"])
        return with_index(packed, index, tmp_path / "changed.int8")

    flags = [f"--wav_scp={SAMPLE_LIST}", "--format=json"]
    assert (succeed("decode_wav", f"--model={changed(reorder)}", *flags)
            == succeed("decode_wav", f"--model={packed}", *flags))
    shape = tuple(index["matrices"][-1]["shape"])
    missing = f"packed matrix {names[-1]} is missing, expected shape {shape}"
    for change, message in [
            (rename, missing), (omit, missing),
            (double, f"packed matrix {names[-1]} is there twice, expected once"),
            (add, "packed matrices that the configuration does not call for: another.weight")]:
        path = changed(change)
        assert (error_line(run("decode_wav", f"--model={path}", *flags), FAILURE)
                == f"decode_wav: {path}: {message}")


def test_a_file_of_another_kind_is_to_be_packed_again(tmp_path):
    packed = tmp_path / "digits.int8"
    succeed("pack_model", f"--model={MODEL}", "--precision=int8", f"--output={packed}")
    index = index_of(packed)
    kind = index["kind"]
    assert kind.startswith("named ")
    index["kind"] = kind[len("named "):]
    for matrix in index["matrices"]:
        del matrix["name"]
    path = with_index(packed, index, tmp_path / "former.int8")
    done = run("decode_wav", f"--model={path}", f"--wav_scp={SAMPLE_LIST}")
    assert (error_line(done, FAILURE)
            == f"decode_wav: {path}: holds matrices in {index['kind']}, expected {kind}: pack the "
               "model again with this version")


def test_wrong_use(tmp_path):
    output = tmp_path / "m.int8"
    for flags, message in [
            (["--precision=int8"], "--model is missing, expected a model file"),
            ([f"--model={MODEL}"],
             "--precision is missing, expected float32, bfloat16, int8 or int4"),
            ([f"--model={MODEL}", "--precision=float64"],
             "--precision is 'float64', expected float32, bfloat16, int8 or int4"),
            ([f"--model={MODEL}", "--precision=int8", "--step_threads=2"],
             "unknown flag --step_threads"),
            ([f"--model={MODEL}", "--precision=int8", "--dynamic_chunk_convolution"],
             "unknown flag --dynamic_chunk_convolution"),
            ([f"--model={MODEL}", "--precision=int8", "--wav=a.wav"],
             "--wav is set, expected --precision=int4"),
            ([f"--model={MODEL}", "--precision=int4", "--max_error=0.1"],
             "--max_error is set, expected --wav or --wav_scp with it"),
            ([f"--model={MODEL}", "--precision=int4", "--wav=a.wav", "--max_error=-1"],
             "--max_error is -1"),
            ([f"--model={MODEL}", "--precision=int4", "--wav=a.wav", "--wav_scp=b.scp"],
             "--wav and --wav_scp are both set, expected one of them")]:
        done = run("pack_model", *flags, f"--output={output}")
        assert message in error_line(done, USAGE)
        assert not output.exists()
    succeed("pack_model", f"--model={MODEL}", "--precision=int8", f"--output={output}")
    whole = output.read_bytes()
    output.write_bytes(whole[:len(whole) // 2])
    line = error_line(run("decode_wav", f"--model={output}", f"--wav_scp={SAMPLE_LIST}"), FAILURE)
    assert line.startswith(f"decode_wav: {output}: is truncated or damaged")
