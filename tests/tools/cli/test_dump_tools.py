"""dump_features and dump_encoder against NumPy and the reference in PyTorch."""

import json
import os
import pathlib

import numpy as np
import pytest
import soundfile

from optional_parts import HAS_REFERENCE, needs_pytorch
from tool_runner import (FAILURE, ROOT, SAMPLES, SUCCESS, TINY_MODEL, error_line, model_text, run,
                         succeed, write_audio)

WAV = SAMPLES / "rms_phone_number.flac"
MODEL = f"--model={TINY_MODEL}"


def dump(tool: str, output: pathlib.Path, *arguments) -> np.ndarray:
    succeed(tool, *arguments, f"--output={output}")
    return np.load(output)


@pytest.fixture(name="features")
def fixture_features(tmp_path) -> np.ndarray:
    """The features of WAV for the tiny model, (T, 20) float32."""
    return dump("dump_features", tmp_path / "features.npy", MODEL, f"--wav={WAV}")


def test_features(tmp_path, features):
    assert features.dtype == np.float32 and features.shape == (311, 20)
    assert np.isfinite(features).all()
    model_options = ["--num_mel_bins=20"]
    by_flags = dump("dump_features", tmp_path / "x.npy", f"--wav={WAV}", *model_options)
    config = json.loads(model_text(TINY_MODEL, "runnel.json"))["features"]
    if config["high_freq"] == 0 and config["snip_edges"]:
        np.testing.assert_array_equal(by_flags, features)
    centred = dump("dump_features", tmp_path / "y.npy", f"--wav={WAV}", "--nosnip-edges",
                   "--use_energy", "--num-mel-bins", "30")
    assert centred.shape == (313, 31)


def test_features_from_a_pipe(tmp_path, features):
    with open(WAV, "rb") as file:
        piped = dump_from(file, tmp_path / "piped.npy")
    np.testing.assert_array_equal(piped, features)


def dump_from(file, output: pathlib.Path) -> np.ndarray:
    succeed("dump_features", MODEL, "--wav=-", f"--output={output}", stdin=file)
    return np.load(output)


@needs_pytorch
@pytest.mark.parametrize("chunk_size, left_context", [(4, 8), (1, 0), (3, -1), (-1, -1)])
def test_encoder_equals_reference(tmp_path, features, chunk_size, left_context, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    import torch
    from models.reference.archive import read_archive
    module, _, _ = read_archive(str(TINY_MODEL))
    sizes = [f"--chunk_size={chunk_size}", f"--left_context={left_context}"]
    source = f"--features={tmp_path / 'features.npy'}"
    precisions = [("float32", torch.float32, 1e-5)]
    if HAS_REFERENCE:
        precisions.append(("float64", torch.float64, 1e-10))
    for precision, dtype, tolerance in precisions:
        module.to(dtype)
        inputs = torch.from_numpy(features).to(dtype).unsqueeze(0)
        lengths = torch.tensor([features.shape[0]])
        with torch.no_grad():
            expected = {"": module.encode(inputs, lengths, chunk_size, left_context)[0][0],
                        "--log_probs": module(inputs, lengths, chunk_size, left_context)[0][0]}
        for option, values in expected.items():
            options = [option] if option else []
            found = dump("dump_encoder", tmp_path / "y.npy", MODEL, source, *sizes, *options,
                         f"--precision={precision}")
            assert found.dtype == values.numpy().dtype
            assert found.shape == tuple(values.shape)
            scale = max(1.0, values.abs().max().item())
            assert np.abs(found - values.numpy()).max() <= tolerance * scale


def test_encoder_from_audio_equals_from_features(tmp_path, features):
    from_audio = dump("dump_encoder", tmp_path / "a.npy", MODEL, f"--wav={WAV}")
    from_features = dump("dump_encoder", tmp_path / "b.npy", MODEL,
                         f"--features={tmp_path / 'features.npy'}")
    np.testing.assert_array_equal(from_audio, from_features)
    assert from_audio.shape == (((features.shape[0] - 1) // 2 - 1) // 2, 16)
    np.save(tmp_path / "double.npy", features.astype(np.float64))
    np.testing.assert_array_equal(dump("dump_encoder", tmp_path / "c.npy", MODEL,
                                       f"--features={tmp_path / 'double.npy'}"), from_audio)


def test_too_short_for_a_frame(tmp_path):
    write_audio(tmp_path / "short.wav", seconds=0.05)
    frames = dump("dump_encoder", tmp_path / "y.npy", MODEL, f"--wav={tmp_path / 'short.wav'}")
    assert frames.shape == (0, 16)


def test_cut_off_audio_is_named(tmp_path):
    recording = tmp_path / "cut.wav"
    write_audio(recording, seconds=4.0)
    recording.write_bytes(recording.read_bytes()[:44 + 2 * 32000])
    for tool in "dump_features", "dump_encoder":
        done = run(tool, f"--model={TINY_MODEL}", f"--wav={recording}",
                   f"--output={tmp_path / 'rows.npy'}")
        assert done.returncode == SUCCESS
        assert (f"{tool}: {recording}: ends after 2.00 s, its header announces 4.00 s"
                in done.stderr.splitlines())


def test_bad_features(tmp_path, features):
    output = tmp_path / "y.npy"
    path = tmp_path / "x.npy"

    def message() -> str:
        line = error_line(run("dump_encoder", MODEL, f"--features={path}", f"--output={output}"),
                          FAILURE)
        assert not output.exists(), "an unfinished file is left behind"
        return line

    np.save(path, features[:, :19])
    assert f"{path}: 19 columns, expected 20" in message()
    np.save(path, features[0])
    assert "expected a matrix" in message()
    np.save(path, features.astype(np.int16))
    assert "'<i2'" in message()
    for bad, said in ((np.nan, "nan"), (np.inf, "inf"), (-1e300, "-inf")):
        for dtype in (np.float32, np.float64):
            values = features.astype(dtype)
            with np.errstate(over="ignore"):
                values[300, 7] = bad
            np.save(path, values)
            assert f"{path}: row 300, column 7 (from 0) is {said}, expected" in message()
    np.save(path, features)
    path.write_bytes(path.read_bytes()[:-1])
    assert f"{path}: ends before row" in message()
    path.write_bytes(b"RIFF")
    assert f"{path}: is not a NumPy .npy file" in message()


@pytest.mark.parametrize("tool", ["dump_features", "dump_encoder"])
def test_output_that_cannot_be_written(tmp_path, tool):
    missing = tmp_path / "missing" / "x.npy"
    assert (f"{missing}: cannot create: No such file or directory"
            in error_line(run(tool, MODEL, f"--wav={WAV}", f"--output={missing}"), FAILURE))
    assert ("/dev/full: cannot write: No space left on device"
            in error_line(run(tool, MODEL, f"--wav={WAV}", "--output=/dev/full"), FAILURE))
    assert os.path.exists("/dev/full")
    assert (f"{tmp_path}: cannot create: Is a directory"
            in error_line(run(tool, MODEL, f"--wav={WAV}", f"--output={tmp_path}"), FAILURE))
    for output in "/dev/stdout", "-":  # a pipe
        line = error_line(run(tool, MODEL, f"--wav={WAV}", f"--output={output}"), FAILURE)
        assert f"{output}: is a pipe or a terminal, expected a file" in line
    assert not (ROOT / "-").exists()


def test_output_is_checked_before_anything_is_computed(tmp_path):
    # Neither the model nor the audio exists.
    line = error_line(run("dump_encoder", "--model=m.pt", "--wav=a.wav",
                          f"--output={tmp_path / 'missing' / 'x.npy'}"), FAILURE)
    assert "cannot create: No such file or directory" in line


def test_caches(tmp_path, features):
    np.save(tmp_path / "x.npy", features)
    source = f"--features={tmp_path / 'x.npy'}"
    caches = tmp_path / "c.npy"
    dump("dump_encoder", tmp_path / "y.npy", MODEL, source, "--chunk_size=4", "--left_context=7",
         f"--caches={caches}")
    # Two layers: 7 keys, 7 values and the 4 frames that a kernel of 5 reads before the next one.
    assert np.load(caches).shape == (2 * (7 + 7 + 4), 16)
    for path in (tmp_path / "y.npy", tmp_path / "x.npy", tmp_path / "missing" / "c.npy"):
        done = run("dump_encoder", MODEL, source, f"--output={tmp_path / 'y.npy'}",
                   f"--caches={path}")
        assert path.name in error_line(done, done.returncode or 1)
    model = ROOT / "tests/golden/encoder/variants/e_branchformer.pt"
    np.save(tmp_path / "z.npy", features[:, :15])
    done = run("dump_encoder", f"--model={model}", f"--features={tmp_path / 'z.npy'}",
               f"--output={tmp_path / 'y.npy'}", f"--caches={caches}")
    assert "rows of several sizes; expected a Conformer" in error_line(done, done.returncode)
    model = ROOT / "tests/golden/encoder/variants/utterance_mean.pt"
    done = run("dump_encoder", f"--model={model}", f"--features={tmp_path / 'z.npy'}",
               f"--output={tmp_path / 'y.npy'}", "--chunk_size=4", "--right_context=2",
               f"--caches={caches}")
    assert ("--caches is set with --right_context=2, but windows have no caches"
            in error_line(done, done.returncode))


@pytest.mark.parametrize("tool", ["dump_features", "dump_encoder"])
def test_output_redirected_to_a_file(tmp_path, tool):
    with open(tmp_path / "x.npy", "w", encoding="utf-8") as file:
        succeed(tool, MODEL, f"--wav={WAV}", "--output=/dev/stdout", stdout=file)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"),
                                  dump(tool, tmp_path / "y.npy", MODEL, f"--wav={WAV}"))


def test_bad_audio(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"no audio")
    # The samples are finite, but their power would not be.
    soundfile.write(tmp_path / "loud.wav", np.full(20000, 1e20), 16000, subtype="FLOAT")
    output = tmp_path / "x.npy"
    for tool in "dump_features", "dump_encoder":
        for name in "a.wav", "loud.wav":
            line = error_line(run(tool, MODEL, f"--wav={tmp_path / name}", f"--output={output}"),
                              FAILURE)
            assert name in line and not output.exists()
