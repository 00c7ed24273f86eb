"""Every subsampling: against torch's own padded convolutions, and chunk by chunk = whole."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from reference_models import subsampling_configs
from torch import nn

from models.reference.subsampling import (REWORKED_TYPES, Subsampling, SubsamplingConfig,
                                          geometry_of)

BINS, DIM = 19, 8
KINDS = subsampling_configs()


def make(config):
    """Seeded, in float64."""
    torch.manual_seed(2)
    return Subsampling(config, BINS, DIM, 1e-5).double().eval()


def whole(module, features):
    """(T, BINS) -> (T', DIM)."""
    with torch.no_grad():
        x, lengths = module(features[None], torch.tensor([features.size(0)]), 0, True)
    assert int(lengths[0]) == x.size(1)
    return x[0]


def torch_convolutions(module, config, features):
    """The same by torch's padding on time and bins at once; (T, BINS) that are enough frames."""
    if config.type == "conv1d2":
        x = features.T[None]
        for layer in (module.conv[0], module.conv[2]):
            x = torch.relu(F.conv1d(x, layer.weight.squeeze(3), layer.bias, layer.stride[0]))
        return module.out(x.transpose(1, 2))[0]
    x = features[None, None]
    pad = {None: [0] * 4, False: [1] * 4, True: [2, 1, 2, 1]}[config.causal]
    for layer in module.conv:
        if isinstance(layer, nn.Conv2d):
            if config.type in REWORKED_TYPES:
                pad = [1] * 4 if layer is module.conv[0] else [0] * 4
            if layer.kernel_size[0] > 1:
                x = F.pad(x, pad)
            x = F.conv2d(x, layer.weight, layer.bias, layer.stride, groups=layer.groups)
        elif config.type in REWORKED_TYPES:
            x = x / (1 + torch.exp(1 - x))
        else:
            x = torch.relu(x)
    return module.out(x.transpose(1, 2).flatten(2))[0]


@pytest.mark.parametrize("kind, rate, left_overlap, right_context", [
    ("conv1d2", 2, 0, 4), ("conv2d2", 2, 0, 6), ("conv2d4", 4, 0, 6),
    ("conv2d6", 6, 0, 10), ("conv2d8", 8, 0, 14),
    ("linear", 1, 0, 0),
    ("conv2d_1_2_1", 2, 1, 7), ("conv2d_1_2_2", 4, 1, 7),
    ("striding4-centred", 4, 3, 3), ("striding4-causal", 4, 6, 0),
    ("dw_striding8-centred", 8, 7, 7), ("dw_striding8-causal", 8, 14, 0)])
def test_frames_read(kind, rate, left_overlap, right_context):
    """The numbers, and that a change of any frame outside of them changes nothing."""
    config = KINDS[kind]
    assert geometry_of(config).frames_read() == (rate, left_overlap, right_context)
    module = make(config)
    features = torch.randn(70, BINS, dtype=torch.float64)
    plain = whole(module, features)
    middle = 3
    changed = []
    for t in range(70):
        other = features.clone()
        other[t] += 1
        if not torch.equal(whole(module, other)[middle], plain[middle]):
            changed.append(t)
    first, last = rate * middle - left_overlap, rate * middle + right_context
    assert changed == list(range(first, last + 1))


@pytest.mark.parametrize("kind", KINDS)
def test_equals_torch(kind):
    config = KINDS[kind]
    module, geometry = make(config), geometry_of(config)
    for frames in range(1, 41):
        features = torch.randn(frames, BINS, dtype=torch.float64)
        x = whole(module, features)
        assert x.shape == (geometry.num_encoder_frames(frames), DIM)
        if x.size(0) > 0:
            with torch.no_grad():
                expected = torch_convolutions(module, config, features)
            torch.testing.assert_close(x, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind, expected", [
    ("conv2d4", {0: 0, 6: 0, 7: 1, 10: 1, 11: 2, 67: 16}),
    ("conv2d6", {10: 0, 11: 1, 16: 1, 17: 2}), ("conv2d8", {14: 0, 15: 1, 22: 1, 23: 2}),
    ("linear", {0: 0, 1: 1, 9: 9}), ("striding4-centred", {0: 0, 1: 1, 4: 1, 5: 2, 8: 2}),
    ("striding4-causal", {0: 0, 1: 1, 2: 2, 4: 2, 5: 2, 6: 3}),
    ("dw_striding8-centred", {0: 0, 1: 1, 8: 1, 9: 2}),
    ("dw_striding8-causal", {0: 0, 1: 1, 2: 2, 9: 2, 10: 3})])
def test_number_of_encoder_frames(kind, expected):
    geometry = geometry_of(KINDS[kind])
    assert {frames: geometry.num_encoder_frames(frames) for frames in expected} == expected


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_last_encoder_frame_can_need_the_end(kind):
    """So that a chunk before the last one never waits for more than its own feature_range."""
    geometry = geometry_of(KINDS[kind])
    for frames in range(1, 400):
        total = geometry.num_encoder_frames(frames)
        assert total < 2 or geometry.feature_range(total - 2, 1)[1] <= frames


@pytest.mark.parametrize("kind", KINDS)
def test_chunked_equals_whole(kind):
    config = KINDS[kind]
    module, geometry = make(config), geometry_of(config)
    for frames, chunk_size in itertools.product(range(1, 60), [1, 2, 3, 5]):
        features = torch.randn(frames, BINS, dtype=torch.float64)
        expected = whole(module, features)
        outputs = [features.new_zeros(0, DIM)]
        for offset in range(0, expected.size(0), chunk_size):
            begin, end = geometry.feature_range(offset, chunk_size)
            last = offset + chunk_size >= expected.size(0)
            chunk = features[begin:] if last else features[begin:end]
            with torch.no_grad():
                x, _ = module(chunk[None], torch.tensor([chunk.size(0)]), offset, last)
            outputs.append(x[0])
        torch.testing.assert_close(torch.cat(outputs), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_frames_give_none(kind):
    """In the middle of a stream, where right padding is no help."""
    config = KINDS[kind]
    module, geometry = make(config), geometry_of(config)
    begin, end = geometry.feature_range(5, 1)
    for count in range(end - begin + 1):
        x, _ = module(torch.randn(1, count, BINS).double(), torch.tensor([count]), 5, False)
        assert x.size(1) == (1 if count == end - begin else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_of_a_batch_counts_as_zeros(kind):
    config = KINDS[kind]
    module, geometry = make(config), geometry_of(config)
    batch = torch.randn(41, 40, BINS, dtype=torch.float64)
    lengths = torch.arange(41)
    with torch.no_grad():
        x, out_lengths = module(batch, lengths, 0, True)
    for i in range(1, 41):
        count = geometry.num_encoder_frames(i)
        assert int(out_lengths[i]) == count
        torch.testing.assert_close(x[i, :count], whole(module, batch[i, :i]), rtol=0, atol=1e-12)
    assert int(out_lengths[0]) == 0


def test_options_that_do_not_belong():
    for fields in [{"type": "conv2d4", "channels": 4}, {"type": "striding4", "channels": 4},
                   {"type": "striding4", "causal": True}, {"type": "linear", "causal": False}]:
        with pytest.raises(ValueError, match="channels and causal belong to"):
            SubsamplingConfig(**fields)
    with pytest.raises(ValueError, match="type is 'vgg', expected one of conv1d2"):
        SubsamplingConfig("vgg")
    with pytest.raises(ValueError, match="channels is 0, expected at least 1"):
        SubsamplingConfig("striding4", 0, True)
