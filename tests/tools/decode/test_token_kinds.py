"""decode_wav with tokens that are not the text of their names, and vocabularies of languages."""

import collections
import functools
import json
import pathlib
from typing import Any, Dict, List, Set

import numpy as np
import pytest
import soundfile
import torch

from shared_data import need_shared
from tool_runner import run, succeed, temporary_folder

from models.convert.command import main as convert
from models.reference.archive import read_archive

# As other models of whole utterances: on request.
IN_CHUNKS = ("--dynamic_chunk_convolution", "--running_normalization")
TOLERANCE = 2e-5  # float32 sums in another order, in other people's code


@functools.lru_cache(maxsize=None)
def agg_case() -> Dict[str, np.ndarray]:
    with np.load(need_shared("family_golden/nemo_agg_ctc") / "expected.npz") as arrays:
        return dict(arrays)


@functools.lru_cache(maxsize=None)
def agg_folder() -> pathlib.Path:
    """model.pt of the recorded model with two vocabularies, and speech.wav."""
    folder = temporary_folder("agg-")
    source = need_shared("family_golden/nemo_agg_ctc") / "model.nemo"
    assert convert(["nemo", str(source), f"--output={folder / 'model.pt'}"]) == 0
    soundfile.write(folder / "speech.wav", agg_case()["samples"], int(agg_case()["sample_rate"]),
                    subtype="PCM_16")
    return folder


def decode(model: pathlib.Path, *flags: str) -> Dict[str, Any]:
    return json.loads(succeed("decode_wav", f"--model={model}", "--format=json",
                              f"--wav={agg_folder() / 'speech.wav'}", *flags))


def ids(result: Dict[str, Any]) -> List[int]:
    return [token["id"] for token in result["nbest"][0]["tokens"]]


def renamed(path: pathlib.Path, names: Dict[int, str], kinds: Dict[int, Any],
            **changed: Any) -> pathlib.Path:
    """The recorded model with other tokens."""
    module, config, units = read_archive(str(agg_folder() / "model.pt"))
    units = [names.get(i, f"{unit}{i}" if unit == "<unk>" else unit)
             for i, unit in enumerate(units)]
    config["special_tokens"] = [{"id": i, **kind} for i, kind in kinds.items()]
    config.update(changed)
    if not config["vocabularies"]:  # no token twice then
        units = [unit if unit in units[i:] and unit not in units[:i] else f"{unit}{i}"
                 for i, unit in enumerate(units)]
    texts = {"runnel.json": json.dumps(config),
             "units.txt": "".join(f"{unit} {i}\n" for i, unit in enumerate(units))}
    torch.jit.save(module, str(path), _extra_files=texts)
    return path


def test_agg_tokenizer():
    """The values, tokens and text that NeMo computes from the samples."""
    folder, expected = agg_folder(), agg_case()
    np.save(folder / "x.npy", np.ascontiguousarray(expected["features"]))
    for name, option in (("encoder_full", []), ("ctc_log_probs_full", ["--log_probs"])):
        succeed("dump_encoder", f"--model={folder / 'model.pt'}", f"--features={folder / 'x.npy'}",
                *option, f"--output={folder / 'y.npy'}")
        found = np.load(folder / "y.npy")
        assert np.abs(found - expected[name].reshape(found.shape)).max() <= TOLERANCE
    found = decode(folder / "model.pt")
    assert ids(found) == expected["ctc_greedy_tokens"].tolist()
    assert found["text"] == " ".join(str(expected["text"]).split())
    names = [token["text"] for token in found["nbest"][0]["tokens"]]
    assert names == [expected["vocabulary"][i] for i in ids(found)]


def test_agg_tokenizer_in_chunks():
    found = decode(agg_folder() / "model.pt", *IN_CHUNKS, "--chunk_size=8", "--left_context=32")
    names = [agg_case()["vocabulary"][i] for i in ids(found)]
    assert found["text"] == " ".join("".join(names).replace("\u2581", " ").split())


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_bytes_are_characters(search, tmp_path):
    """Three bytes that the model emits in a row become one character, which is never cut."""
    sequence = ids(decode(agg_folder() / "model.pt", f"--search={search}"))
    at = next(i for i in range(len(sequence) - 3) if len(set(sequence[i:i + 3])) == 3)
    names = dict(zip(sequence[at:at + 3], ["<0xE4>", "<0xBD>", "<0xA0>"]))
    model = renamed(tmp_path / "m.pt", names, {i: {"kind": "byte"} for i in names})
    found = decode(model, f"--search={search}")
    assert ids(found) == sequence
    text, pending = "", b""
    vocabulary = agg_case()["vocabulary"].tolist()
    for i in [*sequence, None]:
        if i in names:
            pending += bytes([int(names[i][3:5], 16)])
            continue
        text += decoded(pending)
        pending = b""
        if i is not None:
            text += f"<unk>{i}" if vocabulary[i] == "<unk>" else vocabulary[i]
    assert found["text"] == " ".join(text.replace("\u2581", " ").split())
    assert "\u4f60" in found["text"] and "0xE4" not in found["text"]
    words = found["nbest"][0]["words"]
    assert "".join(word["text"] for word in words) == found["text"].replace(" ", "")
    partial = run("decode_wav", f"--model={model}", f"--wav={agg_folder() / 'speech.wav'}",
                  f"--search={search}", *IN_CHUNKS, "--chunk_size=1", "--partial")
    assert partial.returncode == 0 and "0xE4" not in partial.stderr + partial.stdout


def likely(counts: Dict[str, int]) -> Set[str]:
    return {name for name, count in counts.items() if count == max(counts.values())}


def test_languages_of_agg_tokens():
    """The language of most tokens, as NeMo's."""
    found = decode(agg_folder() / "model.pt")
    languages = collections.Counter(agg_case()["token_languages"].tolist())
    assert found["language"] in likely(languages)
    assert found["nbest"][0]["language"] == found["language"]
    only = [i for i, name in enumerate(agg_case()["vocabulary_languages"]) if name == "es"]
    assert {agg_case()["vocabulary_languages"][i] for i in only} == {"es"}


def test_languages_of_tags(tmp_path):
    """Of several tags that of most; the tags are not in the text."""
    sequence = ids(decode(agg_folder() / "model.pt"))
    counts = collections.Counter(sequence)
    assert counts[10] > counts[9] > 0
    names = {10: "<de>", 9: "<en-US>"}
    kinds = {10: {"kind": "language", "language": "de"},
             9: {"kind": "language", "language": "en-US"}}
    found = decode(renamed(tmp_path / "m.pt", names, kinds, vocabularies=[]))
    assert ids(found) == sequence and found["language"] == "de" and "<" not in found["text"]
    shown = decode(tmp_path / "m.pt", "--show_special_tokens")
    assert shown["text"].split().count("<de>") == counts[10]
    assert shown["language"] == "de" and ids(shown) == sequence
    assert [word["text"] for word in shown["nbest"][0]["words"]] == shown["text"].split()
    plain = decode(renamed(tmp_path / "m.pt", {}, {}, vocabularies=[]))
    assert "language" not in plain and "language" not in plain["nbest"][0]


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_end_tokens(search, tmp_path):
    """With endpointing each ends an utterance; without it is only no text."""
    model = renamed(tmp_path / "m.pt", {10: "<EOU>"}, {10: {"kind": "end"}})
    flags = [*IN_CHUNKS, "--chunk_size=4", "--left_context=16", f"--search={search}"]
    whole = decode(model, *flags)
    assert ids(whole).count(10) > 1 and "<EOU>" not in whole["text"]
    segments = decode(model, *flags, "--endpointing")["segments"]
    assert {segment["end"] for segment in segments} == {"end_token", "finish"}
    for segment in segments:
        tokens = [token["id"] for token in segment["nbest"][0]["tokens"]]
        assert (10 in tokens) == (segment["end"] == "end_token")
        assert 10 not in tokens[:-1] and segment["text"]
    if search == "greedy":  # of CTC, which remembers nothing
        texts = [token["id"] for segment in segments for token in segment["nbest"][0]["tokens"]]
        assert [i for i in texts if i != 10] == [i for i in ids(whole) if i != 10]
    shown = decode(model, *flags, "--endpointing", "--show_special_tokens")["segments"]
    assert all(segment["text"].endswith("<EOU>") for segment in shown[:-1])


def decoded(data: bytes) -> str:
    """As SentencePiece: U+FFFD for each byte that is of no character."""
    text = ""
    while data:
        size = next((n for n in (1, 2, 3, 4) if is_character(data[:n])), 0)
        text += data[:size].decode() if size else "\ufffd"
        data = data[size or 1:]
    return text


def is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False
