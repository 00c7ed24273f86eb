"""Statistics of feature frames: of the whole utterance, and running with the stream."""

import pytest
import torch
from reference_models import subsampling_configs

from models.reference.normalization import (NormalizationConfig, Statistics, normalize_running,
                                            normalize_utterance)
from models.reference.subsampling import geometry_of

GEOMETRIES = {name: geometry_of(config) for name, config in subsampling_configs().items()}


def noise(frames):
    """(frames, 5) float64, the bins of different level and spread."""
    torch.manual_seed(4)
    return torch.randn(frames, 5, dtype=torch.float64) * torch.tensor([1., 2, 3, 4, .1]) + 15


def by_hand(part, seen, epsilon):
    """`part` by torch's statistics of all frames `seen`."""
    std = seen.std(0, unbiased=True) if seen.size(0) > 1 else torch.zeros(5)
    return (part - seen.mean(0)) / (std + epsilon)


@pytest.mark.parametrize("frames", [1, 2, 3, 100])
def test_utterance(frames):
    x = noise(frames)
    torch.testing.assert_close(normalize_utterance(x, 1e-5), by_hand(x, x, 1e-5), rtol=0,
                               atol=1e-9)


@pytest.mark.parametrize("frames", [1, 2, 100])
def test_biased_deviations_and_means_alone(frames):
    """ESPnet's utterance_mvn."""
    x = noise(frames)
    x[:, 2] = 3.0  # a bin without deviation
    centred = x - x.mean(0)
    torch.testing.assert_close(normalize_utterance(x, None, "mean"), centred, rtol=0, atol=1e-9)
    std = x.std(0, unbiased=False).clamp_min(0.5)
    torch.testing.assert_close(normalize_utterance(x, 0.5, "biased"), centred / std, rtol=0,
                               atol=1e-9)


def test_single_frame_has_no_deviation():
    assert torch.equal(normalize_utterance(noise(1), 1e-5), torch.zeros(1, 5).double())


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("chunk_size", [1, 3, 16])
def test_running_follows_the_chunks(name, chunk_size):
    """Each frame once, by all frames that the chunk it came with reads."""
    geometry = GEOMETRIES[name]
    for frames in (1, geometry.right_context + 1, 77):
        x = noise(frames)
        expected, done, chunk = [], 0, 1
        while done < frames:
            # The last encoder frame of this chunk is chunk * chunk_size - 1.
            end = min(frames, geometry.rate * (chunk * chunk_size - 1) + geometry.right_context + 1)
            expected.append(by_hand(x[done:end], x[:end], 1e-5))
            done, chunk = end, chunk + 1
        actual = normalize_running(x, 1e-5, chunk_size, geometry)
        torch.testing.assert_close(actual, torch.cat(expected), rtol=0, atol=1e-9)


@pytest.mark.parametrize("chunk_size", [-1, 1000])
def test_running_in_one_chunk_is_that_of_the_utterance(chunk_size):
    x = noise(50)
    assert torch.equal(normalize_running(x, 1e-5, chunk_size, GEOMETRIES["striding4-causal"]),
                       normalize_utterance(x, 1e-5))


def test_nothing_in_nothing_out():
    assert normalize_running(noise(0), 1e-5, 4, GEOMETRIES["conv2d4"]).shape == (0, 5)


def test_statistics_of_long_streams_keep_their_digits():
    """A small deviation about a large mean, where a sum of squares has no digit left."""
    torch.manual_seed(5)
    x = 1e8 + torch.randn(20000, 3, dtype=torch.float64)
    statistics = Statistics(3)
    for start in range(0, 20000, 7):
        statistics.add(x[start:start + 7])
    statistics.add(x[:0])
    assert statistics.count == 20000
    torch.testing.assert_close(statistics.mean, x.mean(0), rtol=1e-14, atol=0)
    torch.testing.assert_close(statistics.std(), x.std(0), rtol=1e-8, atol=0)


def test_float32_frames_are_rounded_once():
    x = noise(30).float()
    assert torch.equal(normalize_utterance(x, 1e-5),
                       normalize_utterance(x.double(), 1e-5).float())


@pytest.mark.parametrize("fields", [{"type": "utterance"}, {"type": "running"},
                                    {"type": "none", "epsilon": 1e-5},
                                    {"type": "global_cmvn", "epsilon": 1e-5},
                                    {"type": "utterance_biased"},
                                    {"type": "running_mean", "epsilon": 1e-5}])
def test_epsilon_belongs_to_some_types(fields):
    with pytest.raises(ValueError, match="epsilon belongs to utterance, utterance_biased, running"):
        NormalizationConfig(**fields)


def test_wrong_options():
    with pytest.raises(ValueError, match="type is 'batch', expected one of none, global_cmvn"):
        NormalizationConfig("batch")
    with pytest.raises(ValueError, match="epsilon is 0.0, expected more than 0"):
        NormalizationConfig("running", 0.0)
