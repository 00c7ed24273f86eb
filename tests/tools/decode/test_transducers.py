"""decode_wav with transducers: what it finds is what the families' own code recorded.

The models are converted from the recorded cases of ../shared/data/transducer_golden, whose README
says what was recorded.
"""

import functools
import json
import pathlib
import sys
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import pytest
import torch

from shared_data import need_shared
from tool_runner import ROOT, USAGE, error_file_line, error_line, run, succeed, temporary_folder

sys.path[:0] = [str(ROOT / "tests" / "models")]
from transducer_cases import source_of  # noqa: E402

from models.convert.command import main as convert  # noqa: E402
from models.reference.archive import read_archive  # noqa: E402

NEMO = {"rnnt_lstm1_streaming": 3, "rnnt_lstm2_offline": 1, "tdt_offline": 1, "tdt_streaming": 2,
        "hybrid_streaming": 2}
ONE_LABEL = {"stateless_ctx2": 2, "wenet_transducer_rnn": 3, "wenet_transducer_conv": 3,
             "wenet_transducer_embedding": 2}
SUMS = 1e-3  # tolerance of scores of a whole utterance
EVERY = [(case, i) for case, count in {**NEMO, **ONE_LABEL}.items() for i in range(count)]
OF_TDT = [(case, i) for case, count in NEMO.items() for i in range(count) if "tdt" in case]
# Beams are recorded of these.
OF_NEMO = [(case, i) for case, count in NEMO.items() for i in range(count) if "rnnt" in case]
OF_WENET = [(case, i) for case, count in ONE_LABEL.items() for i in range(count)
            if "wenet" in case]


@functools.lru_cache(maxsize=None)
def converted(case: str) -> Tuple[pathlib.Path, Dict[str, np.ndarray]]:
    """A folder with model.pt and features.npy, and the recorded arrays."""
    family, source = source_of(case)
    folder = temporary_folder(f"{case}-")
    assert convert([family, str(source), f"--output={folder / 'model.pt'}"]) == 0
    with np.load(need_shared(f"transducer_golden/{case}") / "expected.npz") as arrays:
        recorded = dict(arrays)
    np.save(folder / "features.npy", recorded["features"].astype(np.float32))
    return folder, recorded


def setting(arrays: Dict[str, np.ndarray], i: int) -> List[str]:
    """Flags of the i-th recorded context."""
    if "modes" in arrays:
        chunk_size, left_context = arrays["modes"][i].tolist()
        if chunk_size > 0 and left_context > 0:
            left_context *= chunk_size  # WeNet counts chunks
    else:
        left_context, right = arrays["att_context_sizes"][i].tolist()
        chunk_size = right + 1 if right >= 0 else -1
    return [f"--chunk_size={chunk_size}", f"--left_context={left_context}"]


def decode(case: str, i: int, *flags: str) -> List[Dict[str, Any]]:
    """The n-best list."""
    folder, arrays = converted(case)
    text = succeed("decode_wav", f"--model={folder / 'model.pt'}", "--format=json",
                   f"--features={folder / 'features.npy'}", *setting(arrays, i), *flags)
    return json.loads(text)["nbest"]


def ids(hypothesis: Dict[str, Any]) -> List[int]:
    return [token["id"] for token in hypothesis["tokens"]]


def frames(hypothesis: Dict[str, Any]) -> List[int]:
    return [token["frame"] for token in hypothesis["tokens"]]


@pytest.mark.parametrize("case, i", EVERY)
def test_greedy_search(case, i):
    """Chunk by chunk, as the model's own code decodes the whole utterance under the mask."""
    _, arrays = converted(case)
    found = decode(case, i, "--head=transducer")[0]
    assert ids(found) == arrays[f"greedy_{i}_tokens"].tolist()
    assert frames(found) == arrays[f"greedy_{i}_frames"].tolist()
    if f"greedy_{i}_text" in arrays:
        assert found["text"] == str(arrays[f"greedy_{i}_text"])


@pytest.mark.parametrize("case, i", OF_TDT)
def test_tokens_last_for_their_durations(case, i):
    """One encoder frame at least, and to the next token or the end of the audio at most. Of several
    tokens on one frame, those before the last one last 10 ms before it."""
    _, arrays = converted(case)
    tokens = decode(case, i)[0]["tokens"]
    frame_ms = 80 if case == "tdt_streaming" else 40
    starts = frame_ms * arrays[f"greedy_{i}_frames"]
    ends = starts + frame_ms * np.maximum(arrays[f"greedy_{i}_durations"], 1)
    latest = min(frame_ms * len(arrays[f"encoder_{i}"]), 10 * len(arrays["features"]))
    for k in reversed(range(len(ends))):
        ends[k] = min(ends[k], latest)
        latest = starts[k] = min(starts[k], ends[k] - 10)
    assert [token["start_ms"] for token in tokens] == starts.tolist()
    assert [token["end_ms"] for token in tokens] == ends.tolist()


@pytest.mark.parametrize("search", ["greedy", "beam"])
@pytest.mark.parametrize("case, i", [(case, 0) for case in {**NEMO, **ONE_LABEL}])
def test_times_do_not_overlap(case, i, search):
    hypothesis = decode(case, i, f"--search={search}", "--head=transducer")[0]
    for timed in (hypothesis["tokens"], hypothesis["words"]):
        for one, following in zip(timed, timed[1:]):
            assert one["start_ms"] <= one["end_ms"] <= following["start_ms"]


def renamed(case: str, names: Dict[str, str], path: pathlib.Path,
            special_tokens: Optional[List[str]] = None) -> pathlib.Path:
    """The model of a case with other tokens. Without special_tokens, a file of version 3."""
    module, config, units = read_archive(str(converted(case)[0] / "model.pt"))
    units = [names.get(unit, unit) for unit in units]
    config["special_tokens"] = [{"id": units.index(unit), "kind": "hidden"}
                                for unit in special_tokens or []]
    if special_tokens is None:
        config["format_version"] = 3
        del config["special_tokens"], config["vocabularies"]
    texts = {"runnel.json": json.dumps(config),
             "units.txt": "".join(f"{unit} {i}\n" for i, unit in enumerate(units))}
    torch.jit.save(module, str(path), _extra_files=texts)
    return path


def test_punctuation_ends_with_the_word_before_it(tmp_path):
    """With durations, as NeMo's _refine_timestamps_tdt."""
    model = renamed("tdt_offline", {"d": ".", "f": ",", "er": "!"}, tmp_path / "m.pt")
    flags = [f"--features={converted('tdt_offline')[0] / 'features.npy'}", "--format=json"]
    before = decode("tdt_offline", 0)[0]
    found = json.loads(succeed("decode_wav", f"--model={model}", *flags))["nbest"][0]
    assert ids(found) == ids(before) and frames(found) == frames(before)
    end_ms = 0
    for token, same in zip(found["tokens"], before["tokens"]):
        if token["text"] in (".", ",", "!"):
            assert token["start_ms"] == token["end_ms"] == end_ms
        else:
            assert token["start_ms"] == same["start_ms"] and token["end_ms"] >= same["end_ms"]
        end_ms = token["end_ms"]
    assert "shking.," in [word["text"] for word in found["words"]]
    for word in found["words"]:
        if word["text"] == "shking.,":
            assert (word["start_ms"], word["end_ms"]) == (680, 1200)
    # The utterance does not reach into the pause before the mark either.
    assert found["tokens"][-1]["text"] == "!"
    ends_ms = [json.loads(succeed("decode_wav", f"--model={name}", "--endpointing", *flags))[
        "segments"][-1]["end_ms"] for name in (model, converted("tdt_offline")[0] / "model.pt")]
    assert ends_ms[0] < ends_ms[1]


@pytest.mark.parametrize("search", ["greedy", "beam"])
@pytest.mark.parametrize("listed", [["<en-US>", "[spk]"], None])
def test_special_tokens_are_no_text(listed, search, tmp_path):
    """Listed in the file, or known by their form in an older one."""
    case = "rnnt_lstm1_streaming"
    before = decode(case, 0, f"--search={search}")[0]
    tags = {before["tokens"][3]["text"]: "<en-US>", before["tokens"][6]["text"]: "[spk]"}
    model = renamed(case, tags, tmp_path / "m.pt", listed)
    hidden = listed or ["<en-US>"]
    _, arrays = converted(case)
    flags = [f"--model={model}", f"--search={search}", *setting(arrays, 0),
             f"--features={converted(case)[0] / 'features.npy'}"]
    found = json.loads(succeed("decode_wav", *flags, "--format=json"))["nbest"][0]
    assert ids(found) == ids(before) and found["score"] == before["score"]
    spelled = "".join(token["text"] for token in found["tokens"] if token["text"] not in hidden)
    assert found["text"] == " ".join(spelled.replace("\u2581", " ").split())
    assert "<" not in found["text"] and ("[spk]" in found["text"]) == (listed is None)
    assert [word["text"] for word in found["words"]] == found["text"].split()
    assert [line.split()[4] for line in succeed("decode_wav", *flags, "--format=ctm").splitlines()
            ] == found["text"].split()
    partial = run("decode_wav", *flags, "--partial").stderr
    assert "partial: " in partial and "<en-US>" not in partial


@pytest.mark.parametrize("i", [0, 1])
def test_ctc_head_of_a_hybrid_model(i):
    _, arrays = converted("hybrid_streaming")
    found = decode("hybrid_streaming", i, "--head=ctc")[0]
    assert ids(found) == arrays[f"ctc_greedy_{i}_tokens"].tolist()
    assert frames(found) == arrays[f"ctc_greedy_{i}_frames"].tolist()


def assert_nbest(found: List[Dict[str, Any]], arrays: Dict[str, np.ndarray], name: str) -> None:
    """The recorded sequences with their scores, in any order."""
    lengths = arrays[f"{name}_lengths"].tolist()
    expected = {tuple(tokens[:length]): score for tokens, length, score in zip(
        arrays[f"{name}_tokens"].tolist(), lengths, arrays[f"{name}_scores"].tolist())}
    actual = {tuple(ids(one)): one["score"] for one in found}
    assert set(actual) == set(expected)
    for tokens, score in expected.items():
        assert actual[tokens] == pytest.approx(score, abs=SUMS)


@pytest.mark.parametrize("case, i", OF_NEMO)
@pytest.mark.parametrize("symbols", [2, 4])
def test_time_synchronous_beam(case, i, symbols):
    _, arrays = converted(case)
    found = decode(case, i, "--head=transducer", "--search=beam", "--beam_size=4", "--nbest=4",
                   f"--max_symbols={symbols}")
    assert_nbest(found, arrays, f"beam_tsd{symbols}_{i}")


@pytest.mark.parametrize("case, i", OF_NEMO)
def test_modified_beam_of_lstm_models(case, i):
    _, arrays = converted(case)
    found = decode(case, i, "--head=transducer", "--search=modified_beam", "--beam_size=4",
                   "--nbest=4")
    assert_nbest(found, arrays, f"beam_modified_{i}")


@pytest.mark.parametrize("i", [0, 1])
def test_modified_beam_of_icefall(i):
    _, arrays = converted("stateless_ctx2")
    found = decode("stateless_ctx2", i, "--search=beam", "--beam_size=4", "--nbest=4")
    assert_nbest(found, arrays, f"beam_{i}")
    assert ids(found[0]) == arrays[f"beam_{i}_best_tokens"].tolist()
    assert frames(found[0]) == arrays[f"beam_{i}_best_frames"].tolist()


@pytest.mark.parametrize("case, i", OF_WENET)
@pytest.mark.parametrize("weight", [0, 3])
def test_prefix_beam_of_wenet(case, i, weight):
    """Alone, and with 0.3 of the CTC head's probability."""
    _, arrays = converted(case)
    found = decode(case, i, "--head=transducer", "--search=beam", "--beam_size=4", "--nbest=4",
                   f"--ctc_weight=0.{weight}")
    assert_nbest(found, arrays, f"beam_{i}_ctc{weight}")


@pytest.mark.parametrize("case, flags, message", [
    ("hybrid_streaming", ["--head=rnnt"], "--head is 'rnnt', expected ctc or transducer"),
    ("hybrid_streaming", ["--max_symbols=-1"], "--max_symbols is -1, expected 0 to 1000"),
    ("hybrid_streaming", ["--ctc_weight=2"], "--ctc_weight is 2"),
    ("hybrid_streaming", ["--head=ctc", "--search=modified_beam"],
     "is of transducers, got the CTC head"),
    ("hybrid_streaming", ["--ctc_weight=0.5"],
     "--ctc_weight needs a beam search with one label per frame, got greedy search"),
    ("hybrid_streaming", ["--ctc_weight=0.5", "--search=beam"],
     "one label per frame, got the time-synchronous beam search"),
    ("tdt_streaming", ["--search=modified_beam"],
     "modified beam search has no durations, got a TDT model"),
])
def test_wrong_flags(case, flags, message):
    folder, _ = converted(case)
    done = run("decode_wav", f"--model={folder / 'model.pt'}",
               f"--features={folder / 'features.npy'}", *flags)
    assert message in error_line(done, USAGE)


def test_wrong_features(tmp_path):
    folder, _ = converted("hybrid_streaming")
    narrow = tmp_path / "narrow.npy"
    np.save(narrow, np.zeros((10, 3), dtype=np.float32))
    done = run("decode_wav", f"--model={folder / 'model.pt'}", f"--features={narrow}")
    assert f"{narrow}: 3 columns, expected 80" in error_file_line(done, "narrow.npy")


@pytest.mark.parametrize("flags, message", [
    (["--max_symbols=3"], "--max_symbols is of transducers, got the CTC head"),
    (["--search=beam", "--ctc_weight=0.5"], "--ctc_weight is of transducers"),
    (["--head=transducer"], "--head is transducer, but the model has only a CTC head"),
    (["--language=en"], "--language is 'en', expected none: the model has no language prompt"),
])
def test_a_model_without_a_transducer(flags, message):
    done = run("decode_wav", f"--model={ROOT / 'models/digits/digits.pt'}",
               f"--wav={ROOT / 'models/digits/samples/ked_year.flac'}", *flags)
    assert message in error_line(done, USAGE)
