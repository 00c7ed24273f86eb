"""The reference model: chunk by chunk equals the whole utterance under the chunk mask."""

import itertools

import pytest
import torch
from reference_models import (CONFIG, make_model, model_configs, position_configs, run_chunked,
                              run_whole, with_)

from models.reference.attention import chunk_mask
from models.reference.convolution import ConvolutionConfig

MODELS = model_configs()
STREAMING = {name: config for name, config in MODELS.items() if not config.needs_whole_utterance()}
WHOLE_ONLY = {name: config for name, config in MODELS.items() if config.needs_whole_utterance()}
FULL = 1000


def left_contexts(chunk_size):
    return sorted({0, 1, chunk_size, 3 * chunk_size + 1, -1})


@pytest.mark.parametrize("name", [name for name in position_configs() if name in STREAMING])
def test_chunked_equals_full_under_mask_for_every_position(name):
    config = STREAMING[name]
    model = make_model(config)
    for chunk_size, frames in itertools.product([1, 2, 3, 4, 8, FULL], [11, 59]):
        features = torch.randn(frames, config.input_dim, dtype=torch.float64)
        for left_context in left_contexts(chunk_size):
            full = run_whole(model, features, chunk_size, left_context)
            chunked = run_chunked(model, config, features, chunk_size, left_context)
            torch.testing.assert_close(chunked, full, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in STREAMING if name not in position_configs()])
def test_chunked_equals_full_under_mask_for_every_architecture(name):
    config = STREAMING[name]
    model = make_model(config)
    multiple = config.chunk_multiple()
    for frames, size in itertools.product([1, 7, 24, 61, 90], [1, 3, 8]):
        chunk_size, left_context = size * multiple, 5 * multiple
        features = torch.randn(frames, config.input_dim, dtype=torch.float64)
        full = run_whole(model, features, chunk_size, left_context)
        assert full.size(0) == config.geometry().num_encoder_frames(frames)
        chunked = run_chunked(model, config, features, chunk_size, left_context)
        torch.testing.assert_close(chunked, full, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", WHOLE_ONLY)
def test_models_of_whole_utterances_say_so(name):
    """In the scripted module too, which is what others run."""
    model = make_model(WHOLE_ONLY[name])
    features = torch.randn(80, 20, dtype=torch.float64)
    whole = run_whole(model, features, -1, -1)
    one_chunk = run_chunked(model, WHOLE_ONLY[name], features, FULL, -1)
    torch.testing.assert_close(one_chunk, whole, rtol=0, atol=1e-10)
    scripted = torch.jit.script(model)
    with pytest.raises(ValueError, match="needs the whole utterance"):
        run_whole(model, features, 1, -1)
    with pytest.raises(torch.jit.Error, match="needs the whole utterance"):
        run_whole(scripted, features, 1, -1)
    for either, error in [(model, ValueError), (scripted, torch.jit.Error)]:
        with pytest.raises(error, match="needs the whole utterance"):
            run_chunked(either, WHOLE_ONLY[name], features, 1, -1)


@pytest.mark.parametrize("name", MODELS)
def test_scripted_equals_python(name):
    config = MODELS[name]
    model = make_model(config)
    scripted = torch.jit.script(model)
    features = torch.randn(43, config.input_dim, dtype=torch.float64)
    with torch.jit.optimized_execution(False):
        torch.testing.assert_close(run_whole(scripted, features, -1, -1),
                                   run_whole(model, features, -1, -1), rtol=0, atol=1e-12)
        if name in STREAMING:
            setting = (3 * config.chunk_multiple(), 4 * config.chunk_multiple())
            torch.testing.assert_close(run_chunked(scripted, config, features, *setting),
                                       run_whole(model, features, *setting), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", [n for n in MODELS if not n.startswith("legacy_rel_pos")])
def test_padding_changes_nothing(name):
    """An utterance in a padded batch equals the same utterance alone. (legacy_rel_pos depends on
    the padded length, as in ESPnet.)"""
    config = MODELS[name]
    model = make_model(config)
    batch = torch.randn(4, 70, config.input_dim, dtype=torch.float64)
    lengths = torch.tensor([70, 51, 16, 2])
    chunk_size = -1 if name in WHOLE_ONLY else 4 * config.chunk_multiple()
    left_context = 8 * config.chunk_multiple()
    with torch.no_grad():
        together, out_lengths = model(batch, lengths, chunk_size, left_context)
    for i, frames in enumerate(lengths.tolist()):
        alone = run_whole(model, batch[i, :frames], chunk_size, left_context)
        assert alone.size(0) == int(out_lengths[i])
        torch.testing.assert_close(together[i, :alone.size(0)], alone, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_reach_every_parameter(name):
    """Training leaves no parameter out and gives no NaN, also of an utterance without frames."""
    config = MODELS[name]
    model = make_model(config).train()
    log_probs, lengths = model(torch.randn(2, 60, 20).double(), torch.tensor([60, 2]),
                               -1 if name in WHOLE_ONLY else 2 * config.chunk_multiple(),
                               4 * config.chunk_multiple())
    (torch.randn_like(log_probs[0]) * log_probs[0]).sum().backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert torch.isfinite(parameter.grad).all(), parameter_name


def test_left_context_and_chunk_size_matter():
    """What is the same for every chunking would prove nothing above."""
    model = make_model(CONFIG)
    features = torch.randn(90, 20, dtype=torch.float64)
    outputs = [run_whole(model, features, c, m) for c, m in [(1, 0), (1, 4), (4, 4), (4, -1)]]
    for first, second in itertools.combinations(outputs, 2):
        assert (first - second).abs().max() > 1e-4


def test_last_call_without_frames_left():
    """The end of a stream that becomes known only after its last encoder frame."""
    for name in ("conv2d4", "striding4-causal", "dw_striding8-centred", "linear"):
        config = MODELS[name]
        model, geometry = make_model(config), config.geometry()
        features = torch.randn(1, geometry.feature_range(0, 2)[1], 20).double()
        att, cnn = model.initial_caches()
        out, att, cnn = model.encode_chunk(features, 0, False, -1, att, cnn)
        assert out.size(1) == 2
        rest = features[:, geometry.feature_range(2, 1)[0]:]
        more, att_after, cnn_after = model.encode_chunk(rest, 2, True, -1, att, cnn)
        assert more.size(1) == geometry.num_encoder_frames(features.size(1)) - 2
        if more.size(1) == 0:
            assert torch.equal(att, att_after) and torch.equal(cnn, cnn_after)


def test_chunk_mask_follows_its_definition():
    """Checked against the sentence that defines it, pair by pair."""
    for size, left in itertools.product([1, 2, 3, 5, -1], [0, 1, 4, -1]):
        mask = chunk_mask(11, size, left, torch.zeros(1))
        for i, j in itertools.product(range(11), range(11)):
            start = 0 if size < 0 else i // size * size
            end = 11 if size < 0 else start + size
            assert mask[i, j] == ((left < 0 or start - left <= j) and j < end)


def test_post_norm_and_pre_norm_by_hand():
    """One layer written out, from its own modules."""
    everything = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    x = torch.randn(1, 6, 16, dtype=torch.float64)
    for norm_first in (True, False):
        model = make_model(with_(norm_first=norm_first, convolution=ConvolutionConfig(3)))
        layer = model.encoder.encoders[0]
        tables = model.encoder.position_tables(6, 6, 0, x)
        keys, silence = x.new_zeros(1, 2, 0, 16), layer.initial_cnn_cache(1)
        modules = [(layer.norm_ff_macaron, lambda y: 0.5 * layer.feed_forward_macaron(y)),
                   (layer.norm_mha, lambda y: layer.self_attn(y, tables, everything, keys)[0]),
                   (layer.norm_conv,
                    lambda y: layer.conv_module(y, silence, everything[0, 0], -1)[0]),
                   (layer.norm_ff, lambda y: 0.5 * layer.feed_forward(y))]
        expected = x
        for norm, module in modules:
            expected = (expected + module(norm(expected)) if norm_first
                        else norm(expected + module(expected)))
        expected = layer.norm_final(expected)
        y, _, _ = layer(x, tables, everything, everything[0, 0], -1, keys, silence)
        torch.testing.assert_close(y, expected, rtol=0, atol=1e-12)
