"""WeNet's transducers and icefall's stateless one, converted, compute what their code computes."""

import shutil

import pytest
import torch
import yaml
from convert_support import need_shared, refusal
from transducer_cases import (LOG_PROBS, assert_close, assert_nbest, assert_steps, assert_tokens,
                              converted, encode_chunks, encode_whole, features_of)

from models.reference.transducer_search import FusedBeam, Greedy, ModifiedBeam

WENET = {"wenet_transducer_conv": 3, "wenet_transducer_embedding": 2, "wenet_transducer_rnn": 3}
MODES = [(case, i) for case, count in {**WENET, "stateless_ctx2": 2}.items() for i in range(count)]


def setting(arrays, i):
    """(chunk_size, left_context) of the i-th recorded mode (chunk size, left chunks)."""
    chunk, left = arrays["modes"][i].tolist()
    return chunk, left if left < 0 else left * chunk


@pytest.mark.parametrize("case, i", MODES)
def test_encoder_and_greedy_search(case, i):
    module, config, arrays, _ = converted(case)
    rows = encode_whole(module, features_of(arrays), *setting(arrays, i))
    assert_close(rows, arrays[f"encoder_{i}"])
    greedy = Greedy(module, config.transducer)
    greedy.advance(rows)
    assert_steps(greedy, arrays, f"greedy_{i}")
    if f"ctc_log_probs_{i}" in arrays:
        assert config.transducer.max_symbols == int(arrays["n_steps"])
        with torch.no_grad():
            assert_close(module.ctc_log_probs(rows[None])[0], arrays[f"ctc_log_probs_{i}"],
                         LOG_PROBS)


@pytest.mark.parametrize("case, i", [(case, i) for case, i in MODES if i > 0])
def test_chunk_by_chunk_equals_the_whole_utterance(case, i):
    module, config, arrays, _ = converted(case)
    greedy, recorded = (Greedy(module, config.transducer) for _ in range(2))
    chunks = encode_chunks(module, config, features_of(arrays), *setting(arrays, i))
    for rows in chunks:
        greedy.advance(rows)
    assert_close(torch.cat(chunks), arrays[f"encoder_stream_{i}"])
    assert_tokens(greedy, arrays, f"greedy_{i}")
    for rows in torch.from_numpy(arrays[f"encoder_stream_{i}"]).split(5):
        recorded.advance(rows)
    assert_steps(recorded, arrays, f"stream_{i}")


@pytest.mark.parametrize("case, i", [(case, i) for case, i in MODES if case in WENET])
def test_wenets_beam(case, i):
    """With and without the CTC head's probabilities."""
    module, config, arrays, _ = converted(case)
    rows = torch.from_numpy(arrays[f"encoder_{i}"])
    ctc = torch.from_numpy(arrays[f"ctc_log_probs_{i}"])
    for name, weights in (("ctc0", (1.0, 0.0)), ("ctc3", (0.7, 0.3))):
        beam = FusedBeam(module, config.transducer, 4, *weights)
        for piece in zip(rows.split(9), ctc.split(9)):
            beam.advance_with_ctc(*piece)
        assert_nbest(beam.nbest(), arrays, f"beam_{i}_{name}")


@pytest.mark.parametrize("record, encoder", [
    ("beam_0", "encoder_0"), ("beam_1", "encoder_1"), ("beam_stream_1", "encoder_stream_1")])
def test_icefalls_beam(record, encoder):
    module, config, arrays, _ = converted("stateless_ctx2")
    beam = ModifiedBeam(module, config.transducer, int(arrays["beam"]))
    for rows in torch.from_numpy(arrays[encoder]).split(5):
        beam.advance(rows)
    nbest = beam.nbest()
    assert_nbest(nbest, arrays, record)
    for one, frames in zip(nbest, arrays[f"{record}_frames"].tolist()):
        assert list(one.frames) == [frame for frame in frames if frame >= 0]
    # icefall's answer has the best score per token, the two of the context counted.
    best = max(nbest, key=lambda one: one.score / (len(one.tokens) + 2))
    assert list(best.tokens) == arrays[f"{record}_best_tokens"].tolist()
    assert list(best.frames) == arrays[f"{record}_best_frames"].tolist()


@pytest.mark.parametrize("name, value", [
    ("context_size", 1), ("decoder_dim", 40), ("output_dim", 9), ("encoder", "zipformer")])
def test_unsupported_options_of_icefall(name, value, tmp_path, capsys):
    source, folder = need_shared("transducer_golden/stateless_ctx2"), tmp_path / "folder"
    folder.mkdir()
    for file in ("pretrained.pt", "tokens.txt", "global_cmvn"):
        shutil.copyfile(source / file, folder / file)
    config = yaml.safe_load((source / "config.yaml").read_text())
    config[name] = value
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    line = refusal(capsys, "icefall", folder, tmp_path / "m.pt")
    assert name in line or "embedding" in line or "groups" in line
    assert "--head is ctc" in refusal(capsys, "icefall", folder, tmp_path / "m.pt", "--head=ctc")
