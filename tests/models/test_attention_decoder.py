"""WeNet's second pass: decoders, sums and the best hypothesis are those that WeNet computes."""

import pytest
import torch
from transducer_cases import (LOG_PROBS, SUMS, assert_close, converted, encode_whole, features_of)

from models.reference.transducer_search import attention_scores, rescored


def nbest_of(arrays, kind):
    """The recorded hypotheses of the first pass."""
    return [row[:length].tolist() for row, length in zip(
        arrays[f"{kind}_nbest_tokens"], arrays[f"{kind}_nbest_lengths"].tolist())]


def encoded(module, arrays, kind):
    """(T', d) of the whole utterance, or under the chunk mask."""
    chunk, left = int(arrays["chunk_size"]), int(arrays["num_left_chunks"])
    settings = (-1, -1) if kind == "full" else (chunk, left if left < 0 else left * chunk)
    return encode_whole(module, features_of(arrays), *settings)


@pytest.mark.parametrize("kind", ["full", "chunked"])
@pytest.mark.parametrize("case", ["rescore_transformer", "rescore_bitransformer"])
def test_rescoring(case, kind):
    module, config, arrays, _ = converted(case)
    rows = encoded(module, arrays, kind)
    assert_close(rows, arrays[f"{kind}_encoder_out"])
    with torch.no_grad():
        assert_close(module.ctc_log_probs(rows[None])[0], arrays[f"{kind}_ctc_log_probs"],
                     LOG_PROBS)
    eos = config.attention_decoder.eos_id
    assert eos == int(arrays["sos_eos"]) == config.attention_decoder.sos_id
    nbest = nbest_of(arrays, kind)
    left = attention_scores(module, rows, nbest, eos, False)
    assert_close(left, arrays[f"{kind}_l_scores"], SUMS)
    right = None
    if config.attention_decoder.right_layers:
        right = attention_scores(module, rows, nbest, eos, True)
        assert_close(right, arrays[f"{kind}_r_scores"], SUMS)
    first = torch.from_numpy(arrays[f"{kind}_nbest_ctc_scores"])
    for i, (ctc_weight, reverse_weight) in enumerate(arrays["settings"].tolist()):
        total = rescored(first, left, right, ctc_weight, reverse_weight)
        assert_close(total, arrays[f"{kind}_combined_scores"][i], SUMS)
        assert int(total.argmax()) == int(arrays[f"{kind}_best_index"][i])


@pytest.mark.parametrize("case, reverse, name", [
    ("rescore_transformer", False, "decoder_log_probs"),
    ("rescore_bitransformer", False, "decoder_log_probs"),
    ("rescore_bitransformer", True, "r_decoder_log_probs")])
def test_log_probabilities_of_every_token(case, reverse, name):
    """In one batch with more frames than the utterance has, and each hypothesis alone."""
    module, _, arrays, _ = converted(case)
    rows = encoded(module, arrays, "full")
    tokens = torch.from_numpy(arrays["full_nbest_tokens"])
    lengths = torch.from_numpy(arrays["full_nbest_lengths"])
    padded = torch.cat([rows, torch.full_like(rows[:3], 7.0)]).expand(len(tokens), -1, -1)
    frames = torch.full_like(lengths, rows.size(0))
    with torch.no_grad():
        together = module.decoder_log_probs(padded, frames, tokens, lengths, reverse)
    assert_close(together, arrays[f"full_{name}"], LOG_PROBS)
    for i, length in enumerate(lengths.tolist()):
        with torch.no_grad():
            alone = module.decoder_log_probs(rows[None], frames[:1], tokens[i:i + 1, :length],
                                             lengths[i:i + 1], reverse)[0]
        assert_close(alone, together[i, :length + 1].numpy(), LOG_PROBS)
