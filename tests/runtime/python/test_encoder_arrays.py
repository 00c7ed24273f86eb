"""Features and log probabilities equal the files of dump_features and dump_encoder."""

import numpy as np
import pytest
from optional_parts import needs_reference
from recordings import samples_of
from tool_runner import DIGITS, SAMPLES, TINY_MODEL, succeed

import runnel

WAV = SAMPLES / "rms_telephone.wav"  # 8 kHz
MODEL = f"--model={DIGITS / 'digits.pt'}"
OFFLINE = TINY_MODEL.parent / "variants" / "utterance_mean.pt"


def dumped(tool, folder, *flags):
    succeed(tool, MODEL, f"--wav={WAV}", f"--output={folder / 'x.npy'}", *flags)
    return np.load(folder / "x.npy")


def test_features(model, tmp_path):
    expected = dumped("dump_features", tmp_path)
    found = model.features(WAV)
    assert found.dtype == np.float32 and found.shape[1] == model.feature_dim
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.features(samples_of("rms_telephone")), expected)
    native = samples_of("rms_telephone", 8000)
    np.testing.assert_array_equal(model.features(native, sample_rate_hz=8000), expected)
    assert model.features(np.zeros(0, np.float32)).shape == (0, model.feature_dim)


@pytest.mark.parametrize("sizes", [{}, {"chunk_size": 4, "left_context": 8},
                                   {"chunk_size": -1, "left_context": -1}])
def test_log_probs(model, tmp_path, sizes):
    flags = [f"--{name}={value}" for name, value in sizes.items()]
    expected = dumped("dump_encoder", tmp_path, "--log_probs", *flags)
    found = model.log_probs(WAV, **sizes)
    assert found.dtype == np.float32 and found.shape[1] == len(model.tokens)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.log_probs(samples_of("rms_telephone"), **sizes), expected)


def test_log_probs_of_cached_windows(tmp_path):
    sizes = {"chunk_size": 4, "left_context": 80, "right_context": 3}
    flags = [f"--{name}={value}" for name, value in sizes.items()]
    model, found = runnel.load(OFFLINE), {}
    for cached in (False, True):
        succeed("dump_encoder", f"--model={OFFLINE}", f"--wav={WAV}", "--log_probs", *flags,
                f"--cached_windows={cached}", f"--output={tmp_path / 'x.npy'}")
        found[cached] = model.log_probs(WAV, cached_windows=cached, **sizes)
        np.testing.assert_array_equal(found[cached], np.load(tmp_path / "x.npy"))
    assert found[True].shape == found[False].shape
    assert not np.array_equal(found[True], found[False])


@needs_reference
def test_log_probs_in_double_precision(tmp_path):
    model = runnel.load(TINY_MODEL, precision="float64")
    found = model.log_probs(WAV)
    assert found.dtype == np.float64
    succeed("dump_encoder", f"--model={TINY_MODEL}", f"--wav={WAV}", "--precision=float64",
            "--log_probs", f"--output={tmp_path / 'x.npy'}")
    np.testing.assert_array_equal(found, np.load(tmp_path / "x.npy"))


def test_arrays_outlive_the_model():
    log_probs = runnel.load(DIGITS / "digits.pt").log_probs(WAV)
    assert np.isfinite(log_probs).all() and log_probs.flags.writeable


def test_wrong_sizes(model):
    for sizes in ({"chunk_size": 0}, {"left_context": -9}):
        with pytest.raises(ValueError, match=next(iter(sizes))):
            model.log_probs(WAV, **sizes)
    with pytest.raises(ValueError, match="arrays only"):
        model.features(WAV, sample_rate_hz=8000)


def test_audio_source():
    source = runnel.AudioSource(WAV, 16000)
    assert source.duration_s == pytest.approx(len(samples_of("rms_telephone", 8000)) / 8000)
    blocks = []
    while len(block := source.read(1000)):
        blocks.append(block)
    assert {len(block) for block in blocks[:-1]} == {1000}
    assert source.seconds_read == source.duration_s
    np.testing.assert_array_equal(np.concatenate(blocks), samples_of("rms_telephone"))


def test_reading_to_the_end():
    expected = samples_of("rms_telephone")
    np.testing.assert_array_equal(runnel.AudioSource(WAV, 16000).read(), expected)
    # Memory is that of the samples there are.
    np.testing.assert_array_equal(runnel.AudioSource(WAV, 16000).read(10**15), expected)
    source = runnel.AudioSource(WAV, 16000)
    assert len(source.read(0)) == 0 and len(source.read(100)) == 100
    np.testing.assert_array_equal(source.read(), expected[100:])
    assert len(source.read()) == 0


def test_resampling():
    native = samples_of("rms_telephone", 8000)
    np.testing.assert_array_equal(runnel.resample(native, 8000, 16000),
                                  samples_of("rms_telephone"))
    with pytest.raises(ValueError, match="0"):
        runnel.resample(native, 0, 16000)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 101, -32768])
@pytest.mark.parametrize("rate_hz", [8000, 16000])
def test_samples_that_are_not_resampled(bad, rate_hz):
    samples = np.full(50, 100, np.float32)
    runnel.resample(samples, 8000, rate_hz)
    samples[7] = bad
    with pytest.raises(ValueError, match=r"sample 7 is .*, expected samples in \[-1, 1\]"):
        runnel.resample(samples, 8000, rate_hz)
