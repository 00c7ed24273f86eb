"""Every convolution module against sums written out, and its caches."""

import pytest
import torch
import torch.nn.functional as F
from reference_models import convolution_configs

from models.reference.convolution import Convolution, ConvolutionConfig

DIM = 6
KINDS = convolution_configs()
PRESENT = torch.ones(1, 1, dtype=torch.bool)


def make(config):
    """Seeded, in float64."""
    torch.manual_seed(3)
    module = Convolution(DIM, config).double().eval()
    with torch.no_grad():
        for tensor in list(module.parameters()) + list(module.buffers()):
            tensor.add_(torch.rand_like(tensor))
    return module


def by_hand(module, config, x, chunk_size):
    """(T, d) -> (T, d), frame by frame and tap by tap; chunk_size: T for the whole."""
    kernel = config.kernel_size
    left = kernel - 1 if config.type == "causal" else (kernel - 1) // 2

    def gate(frames):
        return F.glu(module.pointwise_conv1(frames.t()[None]), dim=1)[0].t()

    gated, rows = gate(x), []
    before = gate(torch.zeros(1, DIM, dtype=x.dtype))[0]
    for t in range(x.size(0)):
        row = torch.zeros(DIM, dtype=x.dtype)
        for tap in range(kernel):
            source = t - left + tap
            weight = module.depthwise_conv.weight[:, 0, tap]
            if 0 <= source < min(x.size(0), (t // chunk_size + 1) * chunk_size):
                row = row + weight * gated[source]
            elif source < 0 and config.left_padding == "gated_zero":
                row = row + weight * before
        rows.append(row if module.depthwise_conv.bias is None else row + module.depthwise_conv.bias)
    y, norm = torch.stack(rows), module.norm
    if config.norm == "batch_norm":
        y = (y - norm.running_mean) / torch.sqrt(norm.running_var + config.norm_epsilon)
    else:
        y = y - y.mean(1, keepdim=True)
        y = y / torch.sqrt((y ** 2).mean(1, keepdim=True) + config.norm_epsilon)
    y = y * norm.weight + norm.bias
    y = torch.relu(y) if config.activation == "relu" else (
        0.5 * y * (1 + torch.erf(y / 2 ** 0.5)) if config.activation == "gelu"
        else y * torch.sigmoid(y))
    return module.pointwise_conv2(y.t()[None])[0].t()


@pytest.mark.parametrize("name", KINDS)
def test_equals_the_sums(name):
    config = KINDS[name]
    module = make(config)
    x = torch.randn(1, 11, DIM, dtype=torch.float64)
    with torch.no_grad():
        for chunk_size in ([-1, 1, 2, 4] if config.type == "dynamic_chunk" else [-1]):
            y, _ = module(x, module.initial_cache(1), PRESENT, chunk_size)
            expected = by_hand(module, config, x[0], 11 if chunk_size < 0 else chunk_size)
            torch.testing.assert_close(y[0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("activation", ["swish", "relu", "gelu"])
def test_activations(activation):
    config = ConvolutionConfig(3, activation=activation)
    module = make(config)
    x = torch.randn(1, 5, DIM, dtype=torch.float64)
    with torch.no_grad():
        y, _ = module(x, module.initial_cache(1), PRESENT, -1)
        torch.testing.assert_close(y[0], by_hand(module, config, x[0], 5), rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("kernel", [1, 2, 5, 8])
def test_symmetric_is_torchs_same_padding(kernel):
    module = make(ConvolutionConfig(kernel, "symmetric"))
    gated = torch.randn(1, DIM, 9, dtype=torch.float64)
    expected = F.conv1d(gated, module.depthwise_conv.weight, module.depthwise_conv.bias,
                        padding="same", groups=DIM)
    filtered, _ = module.depthwise_conv(gated, module.initial_cache(1), PRESENT, -1)
    torch.testing.assert_close(filtered, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [n for n, c in KINDS.items() if c.type != "symmetric"])
@pytest.mark.parametrize("chunk_size", [1, 3, 4])
def test_cache_continues_the_stream(name, chunk_size):
    config = KINDS[name]
    module = make(config)
    x = torch.randn(1, 14, DIM, dtype=torch.float64)
    with torch.no_grad():
        cache = module.initial_cache(1)
        assert cache.shape == (1, DIM, config.left_frames)
        expected, _ = module(x, cache, PRESENT, chunk_size)
        outputs = []
        for start in range(0, 14, chunk_size):
            y, cache = module(x[:, start:start + chunk_size], cache, PRESENT, -1)
            assert cache.shape == (1, DIM, config.left_frames)
            outputs.append(y)
    torch.testing.assert_close(torch.cat(outputs, 1), expected, rtol=0, atol=1e-12)


def test_gated_zero_is_zeros_before_the_first_convolution():
    """WeNet keeps the frames before pointwise_conv1 and starts with zeros there."""
    module = make(ConvolutionConfig(5, left_padding="gated_zero"))
    x = torch.randn(1, 7, DIM, dtype=torch.float64)
    with torch.no_grad():
        y, _ = module(x, module.initial_cache(1), PRESENT, -1)
        longer = torch.cat([torch.zeros(1, 4, DIM, dtype=x.dtype), x], 1)
        nothing = torch.zeros(1, DIM, 4, dtype=x.dtype)
        expected, _ = module(longer, nothing, PRESENT, -1)
        zero, _ = make(ConvolutionConfig(5))(x, nothing, PRESENT, -1)
    torch.testing.assert_close(y, expected[:, 4:], rtol=0, atol=1e-12)
    assert (y[:, 0] - zero[:, 0]).abs().max() > 1e-3
    torch.testing.assert_close(y[:, 4:], zero[:, 4:], rtol=0, atol=1e-12)


def test_batch_norm_can_be_folded_into_the_depthwise_convolution():
    config = ConvolutionConfig(5, "symmetric", "batch_norm", norm_epsilon=1e-3)
    module = make(config)
    x = torch.randn(1, 9, DIM, dtype=torch.float64)
    with torch.no_grad():
        expected, _ = module(x, module.initial_cache(1), PRESENT, -1)
        norm, depthwise = module.norm, module.depthwise_conv
        scale = norm.weight / torch.sqrt(norm.running_var + 1e-3)
        depthwise.weight.mul_(scale[:, None, None])
        depthwise.bias.copy_((depthwise.bias - norm.running_mean) * scale + norm.bias)
        for tensor, value in [(norm.running_mean, 0), (norm.running_var, 1 - 1e-3),
                              (norm.weight, 1), (norm.bias, 0)]:
            tensor.fill_(value)
        folded, _ = module(x, module.initial_cache(1), PRESENT, -1)
    torch.testing.assert_close(folded, expected, rtol=0, atol=1e-12)


def test_batch_norm_learns_its_statistics_in_training():
    module = Convolution(DIM, ConvolutionConfig(3, norm="batch_norm")).train()
    assert "norm.num_batches_tracked" not in module.state_dict()
    before = module.norm.running_mean.clone()
    module(torch.randn(2, 9, DIM), module.initial_cache(2), PRESENT, -1)
    assert not torch.equal(module.norm.running_mean, before)
    module.eval()
    before = module.norm.running_mean.clone()
    module(torch.randn(2, 9, DIM), module.initial_cache(2), PRESENT, -1)
    assert torch.equal(module.norm.running_mean, before)


@pytest.mark.parametrize("fields, message", [
    ({"type": "both"}, "type is 'both', expected one of causal, symmetric, dynamic_chunk"),
    ({"kernel_size": 0}, "kernel_size is 0, expected at least 1"),
    ({"norm": "rms"}, "norm is 'rms', expected one of none, layer_norm, batch_norm"),
    ({"norm": "none"}, "norm_epsilon is 1e-05, the norm none; expected a number with a norm"),
    ({"activation": "tanh"}, "activation is 'tanh', expected one of swish, relu, gelu"),
    ({"norm_epsilon": 0.0}, "norm_epsilon is 0.0, expected more than 0"),
    ({"left_padding": "gated_zero", "type": "symmetric"}, "gated_zero, which needs type causal")])
def test_wrong_options(fields, message):
    with pytest.raises(ValueError, match=message):
        ConvolutionConfig(**{"kernel_size": 3, **fields})
