"""decode_wav --rescoring: the best hypotheses and the sums that WeNet's own code recorded."""

import functools
import json
import pathlib
import sys
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest

from shared_data import need_shared
from tool_runner import ROOT, USAGE, error_line, run, succeed, temporary_folder

sys.path.insert(0, str(ROOT))
from models.convert.command import main as convert  # noqa: E402

CASES = ["rescore_transformer", "rescore_bitransformer"]
SUMS = 1e-3  # tolerance of scores of a whole utterance


@functools.lru_cache(maxsize=None)
def converted(case: str) -> Tuple[pathlib.Path, Dict[str, np.ndarray]]:
    """A folder with model.pt and features.npy, and the recorded arrays."""
    source = need_shared(f"transducer_golden/{case}")
    folder = temporary_folder(f"{case}-")
    assert convert(["wenet", str(source), f"--output={folder / 'model.pt'}"]) == 0
    with np.load(source / "expected.npz") as arrays:
        recorded = dict(arrays)
    np.save(folder / "features.npy", recorded["features"].astype(np.float32))
    return folder, recorded


def decode(case: str, mode: str, *flags: str) -> List[Dict[str, Any]]:
    """The n-best list of the whole beam."""
    folder, arrays = converted(case)
    chunk_size, left_context = -1, -1
    if mode == "chunked":
        chunk_size = int(arrays["chunk_size"])
        chunks = int(arrays["num_left_chunks"])
        left_context = chunks * chunk_size if chunks >= 0 else -1
    beam = int(arrays["beam_size"])
    text = succeed("decode_wav", f"--model={folder / 'model.pt'}", "--format=json",
                   f"--features={folder / 'features.npy'}", f"--chunk_size={chunk_size}",
                   f"--left_context={left_context}", "--search=beam", f"--beam_size={beam}",
                   f"--token_beam={beam}", f"--nbest={beam}", *flags)
    return json.loads(text)["nbest"]


def recorded_lists(arrays: Dict[str, np.ndarray], mode: str) -> List[Tuple[int, ...]]:
    return [tuple(tokens[:length]) for tokens, length in zip(
        arrays[f"{mode}_nbest_tokens"].tolist(), arrays[f"{mode}_nbest_lengths"].tolist())]


def by_tokens(found: List[Dict[str, Any]]) -> Dict[Tuple[int, ...], float]:
    return {tuple(token["id"] for token in one["tokens"]): one["score"] for one in found}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mode", ["full", "chunked"])
def test_every_setting(case, mode):
    _, arrays = converted(case)
    lists = recorded_lists(arrays, mode)
    first = by_tokens(decode(case, mode))
    assert set(first) == set(lists)
    for tokens, score in zip(lists, arrays[f"{mode}_nbest_ctc_scores"].tolist()):
        assert first[tokens] == pytest.approx(score, abs=SUMS)
    settings = arrays["settings"].tolist()
    assert settings
    for k, (ctc_weight, reverse_weight) in enumerate(settings):
        found = decode(case, mode, "--rescoring", f"--first_pass_weight={ctc_weight}",
                       f"--reverse_weight={reverse_weight}")
        scores = by_tokens(found)
        assert set(scores) == set(lists)
        for tokens, score in zip(lists, arrays[f"{mode}_combined_scores"][k].tolist()):
            assert scores[tokens] == pytest.approx(score, abs=SUMS)
        best = lists[int(arrays[f"{mode}_best_index"][k])]
        assert tuple(token["id"] for token in found[0]["tokens"]) == best


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_other_precisions_stay_near(precision):
    """The sums of some twenty log probabilities."""
    exact = by_tokens(decode("rescore_bitransformer", "full", "--rescoring",
                             "--reverse_weight=0.5"))
    near = by_tokens(decode("rescore_bitransformer", "full", "--rescoring", "--reverse_weight=0.5",
                            f"--precision={precision}"))
    common = set(exact) & set(near)
    assert common
    for tokens in common:
        assert near[tokens] == pytest.approx(exact[tokens], abs=0.15 * (len(tokens) + 1))


@pytest.mark.parametrize("case, flags, message", [
    ("rescore_transformer", ["--search=greedy", "--rescoring"], "--rescoring needs --search=beam"),
    ("rescore_transformer", ["--search=beam", "--rescoring", "--reverse_weight=0.5"],
     "the model has no attention decoder from right to left"),
    ("rescore_transformer", ["--search=beam", "--reverse_weight=0.5"],
     "--reverse_weight needs --rescoring"),
    ("rescore_transformer", ["--search=beam", "--rescoring", "--reverse_weight=2"],
     "--reverse_weight is 2"),
    ("rescore_transformer", ["--search=beam", "--rescoring", "--first_pass_weight=-1"],
     "--first_pass_weight is -1"),
])
def test_wrong_flags(case, flags, message):
    folder, _ = converted(case)
    done = run("decode_wav", f"--model={folder / 'model.pt'}",
               f"--features={folder / 'features.npy'}", *flags)
    assert message in error_line(done, USAGE)


def test_a_model_without_a_decoder():
    done = run("decode_wav", f"--model={ROOT / 'models/digits/digits.pt'}", "--search=beam",
               f"--wav={ROOT / 'models/digits/samples/ked_year.flac'}", "--rescoring")
    assert "the model has no attention decoder" in error_line(done, USAGE)
