"""Converted models of other projects give the values and word errors recorded for them."""

import pathlib
import subprocess
import sys
from typing import Dict, List

import numpy as np
import pytest
import soundfile

from optional_parts import HAS_REFERENCE
from shared_data import need_shared
from tool_runner import BIN, ROOT, SAMPLES, USAGE, error_line, run, succeed, without_sanitizers

sys.path[:0] = [str(ROOT / "tests" / "models"), str(ROOT / "tests" / "golden")]
from make_mel_goldens import compute as mel_spectrogram  # noqa: E402
from convert_support import TOLERANCE  # noqa: E402
from nemo_files import NemoFile, load_case, recorded_caches, settings_of  # noqa: E402

from models.reference.archive import mel_spectrogram_section  # noqa: E402
from tools.benchmark.accuracy.hotwords import changes, unfinished_phrases  # noqa: E402

# Word errors of an independent float32 implementation, whole utterances (the data's README).
KNOWN_ERRORS = {"librispeech": (1, 107), "ljspeech": (7, 279), "commonvoice100": (74, 463),
                "jfk": (2, 22)}
ALLOWED_DIFFERENCE = 3  # word errors per set


def convert(family: str, source: pathlib.Path, output: pathlib.Path) -> str:
    subprocess.run([sys.executable, "models/convert.py", family, str(source),
                    f"--output={output}"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return f"--model={output}"


def verify(model: str, *flags: str) -> None:
    """Compares with the file's TorchScript, where this build has the reference."""
    if HAS_REFERENCE:
        assert "passed" in succeed("verify_streaming", model, "--seconds=2", "--precision=float64",
                                   *flags)


@pytest.mark.parametrize("name", ["wenet_golden/conformer_layernorm_k8",
                                  "wenet_golden/conformer_batchnorm_k15_conv2d6",
                                  "family_golden/wenet_e_branchformer_causal",
                                  "family_golden/wenet_rope_conformer"])
def test_wenet_experiment(name, tmp_path):
    folder = need_shared(name)
    model = convert("wenet", folder, tmp_path / "model.pt")
    with np.load(folder / "expected.npz") as arrays:
        case = dict(arrays)
    np.save(tmp_path / "x.npy", case["features"].astype(np.float32))
    chunk = int(case["chunk_size"])
    left = int(case["left"]) if "left" in case else chunk * int(case["num_left_chunks"])
    for kind, chunk_size, left_context in (("full", -1, -1), ("chunked", chunk, max(left, -1))):
        for what, option in (("encoder", []), ("ctc_log_probs", ["--log_probs"])):
            succeed("dump_encoder", model, f"--features={tmp_path / 'x.npy'}", *option,
                    f"--chunk_size={chunk_size}", f"--left_context={left_context}",
                    f"--output={tmp_path / 'y.npy'}")
            found = np.load(tmp_path / "y.npy")
            assert np.abs(found - case[f"{what}_{kind}"].reshape(found.shape)).max() <= TOLERANCE
    verify(model)


@pytest.mark.parametrize("name", ["fastconformer_streaming", "conformer_streaming_striding",
                                  "fastconformer_multitalker"])
def test_cache_aware_nemo_model(name, tmp_path):
    """Every latency, chunk by chunk, gives NeMo's output and, where recorded, NeMo's caches."""
    arrays = load_case(name)
    features = np.ascontiguousarray(arrays["features"])
    nemo = NemoFile(name)
    model = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "model.pt")
    rate = nemo.config["encoder"]["subsampling_factor"]
    x, y, caches = (tmp_path / f"{what}.npy" for what in ("x", "y", "caches"))
    compared = 0
    for i, (chunk_size, left_context) in enumerate(settings_of(nemo.config["encoder"])):
        sizes = [f"--chunk_size={chunk_size}", f"--left_context={left_context}"]
        np.save(x, features)
        succeed("dump_encoder", model, f"--features={x}", *sizes, f"--output={y}")
        np.testing.assert_allclose(np.load(y), arrays[f"encoder_{i}"], rtol=0, atol=TOLERANCE)
        recorded = recorded_caches(arrays, i)
        if recorded is None:
            continue
        frames, layers = recorded
        np.save(x, features[:rate * (frames - 1) + 1])  # what that many frames read
        succeed("dump_encoder", model, f"--features={x}", *sizes, f"--output={y}",
                f"--caches={caches}")
        np.testing.assert_allclose(np.load(y), arrays[f"encoder_{i}"][:frames], rtol=0,
                                   atol=TOLERANCE)
        np.testing.assert_allclose(np.load(caches), np.concatenate(sum(layers, ())), rtol=0,
                                   atol=TOLERANCE)
        compared += 1
    assert compared == {"fastconformer_streaming": 3, "conformer_streaming_striding": 1,
                        "fastconformer_multitalker": 2}[name]
    verify(model)


def test_nemo_features(tmp_path):
    """dump_features with a converted model gives the features of NeMo's front end."""
    nemo = NemoFile("fastconformer_streaming")
    model = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "model.pt")
    samples, _ = soundfile.read(SAMPLES / "rms_phone_number.flac")
    audio = tmp_path / "a.wav"  # the sample values of the file, declared as 16 kHz
    soundfile.write(audio, samples, 16000, subtype="PCM_16")
    succeed("dump_features", model, f"--wav={audio}", f"--output={tmp_path / 'x.npy'}")
    section = mel_spectrogram_section(num_mel_bins=40)
    options = {field: section[field] for field in section
               if field not in ("type", "sample_scale")}
    expected = mel_spectrogram(samples, options)
    assert len(expected) == len(samples) // 160
    np.testing.assert_allclose(np.load(tmp_path / "x.npy"), expected, rtol=0, atol=1e-3)


@pytest.fixture(name="nemo", scope="module")
def fixture_nemo(tmp_path_factory) -> str:
    folder = need_shared("nemo_conformer_ctc_small")
    return convert("nemo", folder, tmp_path_factory.mktemp("nemo") / "model.pt")


def evaluate(model: str, *arguments: str) -> str:
    manifest = need_shared("speech_en") / "manifest.tsv"
    return subprocess.run(
        [sys.executable, "-m", "tools.benchmark.accuracy.evaluate", model, f"--manifest={manifest}",
         f"--decode_wav={BIN / 'decode_wav'}", *arguments],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


@without_sanitizers
def test_nemo_word_errors_are_the_known_ones(nemo):
    header, _, row = evaluate(nemo).splitlines()
    found = dict(zip(header.strip("| ").split(" | "), row.strip("| ").split(" | ")))
    for name, (errors, words) in KNOWN_ERRORS.items():
        assert abs(int(found[f"{name} ({words} words)"]) - errors) <= ALLOWED_DIFFERENCE, found


@without_sanitizers
@pytest.mark.parametrize("flags", [
    [], ["--chunk_size=64", "--left_context=64", "--dynamic_chunk_convolution",
         "--running_normalization"]], ids=["whole", "streaming"])
def test_hotwords_that_go_on_differently_cost_no_words(nemo, flags, tmp_path):
    """Each recording has a hotword of three words that are said and one that nobody says."""
    folder = need_shared("speech_en") / "wav"
    wavs = ",".join(str(wav) for wav in sorted(folder.iterdir())[:40])

    def decode(flag: str) -> Dict[str, List[str]]:
        lines = succeed("decode_wav", nemo, f"--wav={wavs}", flag, *flags).splitlines()
        return {line.split()[0]: line.split()[1:] for line in lines}

    before = decode("--search=beam")
    phrases = unfinished_phrases(before, "elephants")
    assert len(phrases) >= 25
    listing = tmp_path / "hotwords.txt"
    listing.write_text("\n".join(phrases.values()) + "\n", encoding="utf-8")
    changed = changes(before, decode(f"--hotwords={listing}"), phrases)
    assert max(changed) <= 1, dict(zip(phrases, changed))


def test_an_offline_model_streams_in_windows(nemo):
    wav = f"--wav={need_shared('speech_en') / 'wav' / 'jfk-jfk.wav'}"
    text = succeed("decode_wav", nemo, wav, "--chunk_size=16")
    assert text == succeed("decode_wav", nemo, wav, "--chunk_size=16", "--left_context=128",
                           "--right_context=16")
    assert "ask what you can do for your country" in text


def test_an_offline_model_streams_in_chunks_only_when_asked(nemo):
    wav = f"--wav={need_shared('speech_en') / 'wav' / 'jfk-jfk.wav'}"
    chunks = ["--chunk_size=16", "--left_context=64", "--right_context=-1"]
    said = error_line(run("decode_wav", nemo, wav, *chunks), USAGE)
    assert ("chunk_size is 16, expected -1, or a --right_context of 0 or more: this model needs "
            "the whole utterance") in said
    said = error_line(run("decode_wav", nemo, wav, *chunks, "--dynamic_chunk_convolution"), USAGE)
    assert "running, when chosen" in said
    said = error_line(run("decode_wav", nemo, wav, "--dynamic_chunk_convolution"), USAGE)
    assert "dynamic chunk convolution was asked for, but the model still needs the whole" in said
    substitutes = ["--dynamic_chunk_convolution", "--running_normalization"]
    succeed("decode_wav", nemo, wav, "--chunk_size=16", "--left_context=64", *substitutes)
    verify(nemo, *substitutes)


def test_substitutes_for_a_model_that_needs_none(tmp_path):
    model = "--model=models/digits/digits.pt"
    for flag, expected in (("--dynamic_chunk_convolution", "convolution is symmetric"),
                           ("--running_normalization", "normalised over the utterance")):
        said = error_line(run("dump_encoder", model, flag, "--wav=none.wav",
                              f"--output={tmp_path / 'y.npy'}"), USAGE)
        assert expected in said
