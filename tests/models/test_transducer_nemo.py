"""NeMo's transducers, converted, compute what NeMo computes: encoder, joint, searches."""

import pytest
import torch
from transducer_cases import (LOG_PROBS, assert_close, assert_nbest, assert_steps, assert_tokens,
                              converted, encode_chunks, encode_whole, features_of)

from models.reference.normalization import normalize_utterance
from models.reference.transducer_search import Greedy, ModifiedBeam, TimeSynchronousBeam

SETTINGS = {"rnnt_lstm1_streaming": 3, "rnnt_lstm2_offline": 1, "tdt_offline": 1,
            "tdt_streaming": 2, "hybrid_streaming": 2}
EVERY = [(case, i) for case, count in SETTINGS.items() for i in range(count)]
CHUNKED = [(case, i) for case, i in EVERY if "offline" not in case]


def setting(arrays, i):
    """(chunk_size, left_context) of the i-th recorded att_context_size."""
    left, right = arrays["att_context_sizes"][i].tolist()
    return (right + 1 if right >= 0 else -1), left


@pytest.mark.parametrize("case, i", EVERY)
def test_encoder_and_greedy_search(case, i):
    module, config, arrays, units = converted(case)
    assert len(arrays["att_context_sizes"]) == SETTINGS[case]
    rows = encode_whole(module, features_of(arrays), *setting(arrays, i))
    assert_close(rows, arrays[f"encoder_{i}"])
    greedy = Greedy(module, config.transducer)
    greedy.advance(rows)
    assert_steps(greedy, arrays, f"greedy_{i}")
    assert config.transducer.max_symbols == int(arrays["max_symbols"])
    assert list(config.transducer.durations) == arrays["durations"].tolist()
    text = "".join(units[step.label] for step in greedy.tokens()).replace("\u2581", " ").strip()
    assert text == str(arrays[f"greedy_{i}_text"])


@pytest.mark.parametrize("case, i", CHUNKED)
def test_chunk_by_chunk_equals_the_whole_utterance(case, i):
    """In every trained context, with the predictor and TDT's overshoot carried."""
    module, config, arrays, _ = converted(case)
    greedy = Greedy(module, config.transducer)
    overshoot = []
    for rows in encode_chunks(module, config, features_of(arrays), *setting(arrays, i)):
        greedy.advance(rows)
        overshoot.append(greedy.skip)
    assert_tokens(greedy, arrays, f"greedy_{i}")
    assert any(overshoot) == bool(config.transducer.durations)


@pytest.mark.parametrize("case, i", CHUNKED)
def test_state_after_each_of_nemos_steps(case, i):
    """From NeMo's own encoder frames: tokens so far, overshoot, and the LSTM's state at the end."""
    module, config, arrays, _ = converted(case)
    greedy = Greedy(module, config.transducer)
    pieces = torch.from_numpy(arrays[f"encoder_stream_{i}"]).split(
        arrays[f"stream_step_frames_{i}"].tolist())
    for step, rows in enumerate(pieces):
        greedy.advance(rows)
        assert len(greedy.tokens()) == arrays[f"stream_{i}_tokens_after_step"][step]
        if config.transducer.durations:
            assert greedy.skip == arrays[f"stream_{i}_skip_after_step"][step]
    assert_steps(greedy, arrays, f"stream_{i}")
    for part, name in enumerate("hc"):
        assert_close(greedy.prediction.state[0, part], arrays[f"stream_{i}_state_{name}"])


@pytest.mark.parametrize("case, i", [("hybrid_streaming", 0), ("hybrid_streaming", 1)])
def test_ctc_head_of_a_hybrid_model(case, i):
    module, config, arrays, _ = converted(case)
    rows = encode_whole(module, features_of(arrays), *setting(arrays, i))
    with torch.no_grad():
        log_probs = module.ctc_log_probs(rows[None])[0]
    assert_close(log_probs, arrays[f"ctc_greedy_{i}_log_probs"], LOG_PROBS)
    best = log_probs.argmax(1).tolist()
    starts = [(t, token) for t, token in enumerate(best)
              if token != config.blank_id and (t == 0 or best[t - 1] != token)]
    assert [token for _, token in starts] == arrays[f"ctc_greedy_{i}_tokens"].tolist()
    assert [t for t, _ in starts] == arrays[f"ctc_greedy_{i}_frames"].tolist()


@pytest.mark.parametrize("kind, most", [("tsd2", 2), ("tsd4", 4), ("modified", None)])
@pytest.mark.parametrize("case", ["rnnt_lstm1_streaming", "rnnt_lstm2_offline"])
def test_beams(case, kind, most):
    """The whole utterance in pieces: the beam is carried too."""
    module, config, arrays, _ = converted(case)
    beam = (ModifiedBeam(module, config.transducer, 4) if most is None
            else TimeSynchronousBeam(module, config.transducer, 4, most))
    for rows in torch.from_numpy(arrays["encoder_0"]).split(7):
        beam.advance(rows)
    assert_nbest(beam.nbest(), arrays, f"beam_{kind}_0")


def test_normalisation_is_nemos():
    _, config, arrays, _ = converted("rnnt_lstm2_offline")
    normalized = normalize_utterance(torch.from_numpy(arrays["features"]),
                                     config.encoder.normalization.epsilon)
    assert_close(normalized, arrays["features_normalized"], 1e-4)
