"""Models of ../shared/data/family_golden, converted, give what their toolkits' own code recorded.

The README of that folder says what was recorded and how.
"""

import functools
import json
import pathlib
import sys
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import soundfile

from optional_parts import HAS_REFERENCE
from shared_data import need_shared
from tool_runner import ROOT, succeed, temporary_folder

sys.path[:0] = [str(ROOT / "tests" / "models")]
from convert_support import TOLERANCE  # noqa: E402

from models.convert.command import main as convert  # noqa: E402

OF_SAMPLES = ["espnet_conformer_utterance_mvn", "espnet_conformer_transducer",
              "icefall_conformer_ctc", "icefall_transducer_stateless"]
CASES = [*OF_SAMPLES, "icefall_reworked_conformer_transducer"]


@functools.lru_cache(maxsize=None)
def converted(case: str, *options: str) -> Tuple[pathlib.Path, Dict[str, np.ndarray]]:
    """A folder with model.pt, x.npy and, where samples were recorded, x.wav; the arrays."""
    source = need_shared(f"family_golden/{case}")
    folder = temporary_folder(f"{case}-")
    family = case.split("_", maxsplit=1)[0]
    assert convert([family, str(source), f"--output={folder / 'model.pt'}", *options]) == 0
    with np.load(source / "expected.npz") as arrays:
        recorded = dict(arrays)
    np.save(folder / "x.npy", recorded["features"].astype(np.float32))
    if "samples" in recorded:
        soundfile.write(folder / "x.wav", recorded["samples"], int(recorded["sample_rate"]),
                        subtype="PCM_16")
    return folder, recorded


def settings(arrays: Dict[str, np.ndarray]) -> List[Tuple[str, List[str]]]:
    """The suffix of the arrays, and the flags, of the whole utterance and of chunks."""
    found = [("_full", ["--chunk_size=-1", "--left_context=-1"])]
    if "encoder_chunked" in arrays:
        found.append(("_chunked", [f"--chunk_size={arrays['chunk_size']}",
                                   f"--left_context={arrays['left']}"]))
    return found


def assert_encoder(case: str, audio: str, tolerance: float, *options: str) -> None:
    """Encoder frames and, where the model has CTC, log probabilities."""
    folder, arrays = converted(case, *options)
    for suffix, flags in settings(arrays):
        for what, option in (("encoder", []), ("ctc_log_probs", ["--log_probs"])):
            # A linear layer behind the encoder is a part of the joint network here.
            name = f"{what}_before_output_layer{suffix}"
            name = name if name in arrays else f"{what}{suffix}"
            if name not in arrays:
                continue
            succeed("dump_encoder", f"--model={folder / 'model.pt'}", audio, *flags, *option,
                    f"--output={folder / 'y.npy'}")
            found = np.load(folder / "y.npy")
            difference = np.abs(found - arrays[name].reshape(found.shape)).max()
            assert difference <= tolerance, f"{name}: {difference}"


def greedy(case: str, audio: str, *flags: str) -> Tuple[List[int], List[int]]:
    """Tokens and their encoder frames."""
    folder = converted_folder(case)
    text = succeed("decode_wav", f"--model={folder / 'model.pt'}", "--format=json",
                   "--head=transducer", audio, *flags)
    tokens: List[Dict[str, Any]] = json.loads(text)["nbest"][0]["tokens"]
    return [token["id"] for token in tokens], [token["frame"] for token in tokens]


def converted_folder(case: str) -> pathlib.Path:
    return converted(case, *OPTIONS.get(case, []))[0]


# What a user must say of a model.
OPTIONS: Dict[str, List[str]] = {
    "icefall_reworked_conformer_transducer": ["--causal", "--num_mel_bins=24"]}


@pytest.mark.parametrize("case", CASES)
def test_encoder(case):
    folder = converted_folder(case)
    assert_encoder(case, f"--features={folder / 'x.npy'}", TOLERANCE, *OPTIONS.get(case, []))


@pytest.mark.parametrize("case", OF_SAMPLES)
def test_encoder_from_the_recording(case):
    """The features too are those of the toolkit."""
    folder = converted_folder(case)
    assert_encoder(case, f"--wav={folder / 'x.wav'}", 1e-4, *OPTIONS.get(case, []))


@pytest.mark.parametrize("case", [case for case in CASES if "transducer" in case])
def test_greedy_search(case):
    folder = converted_folder(case)
    _, arrays = converted(case, *OPTIONS.get(case, []))
    for suffix, flags in settings(arrays):
        suffix = suffix.replace("_full", "")
        tokens, frames = greedy(case, f"--features={folder / 'x.npy'}", *flags)
        assert tokens == arrays[f"greedy_tokens{suffix}"].tolist()
        assert frames == arrays[f"greedy_frames{suffix}"].tolist()


@pytest.mark.skipif(not HAS_REFERENCE, reason="this build has no reference")
@pytest.mark.parametrize("case", CASES)
def test_verify_streaming(case):
    assert "passed" in succeed("verify_streaming", f"--model={converted_folder(case) / 'model.pt'}",
                               "--seconds=2", "--precision=float64")
