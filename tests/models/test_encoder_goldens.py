"""The committed encoder goldens are what their generator makes from today's reference."""

import itertools
import pathlib
import sys

import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/golden/encoder"
sys.path[:0] = [str(ROOT), str(ROOT / "tests/golden")]
import make_encoder_goldens as generator  # noqa: E402
from models.reference.archive import fbank_section, model_config, read_archive  # noqa: E402
from models.reference.convolution import LEFT_PADDINGS, NORMS  # noqa: E402
from models.reference.convolution import TYPES as CONVOLUTIONS  # noqa: E402
from models.reference.feed_forward import ACTIVATIONS  # noqa: E402
from models.reference.normalization import TYPES as NORMALIZATIONS  # noqa: E402
from models.reference.positions import SCHEMES  # noqa: E402
from models.reference.positions.chunk_rpe import TABLE_ORDERS  # noqa: E402
from models.reference.positions.sinusoids import QUERY_SCALINGS  # noqa: E402
from models.reference.subsampling import TYPES as SUBSAMPLINGS  # noqa: E402


def test_archive_holds_the_generators_model():
    """The same weights bit for bit, the same configuration and units."""
    module, config, units = read_archive(str(FOLDER / "tiny.pt"))
    expected = generator.make_model().state_dict()
    assert dict(module.state_dict()).keys() == expected.keys()
    for name, value in module.state_dict().items():
        assert torch.equal(value, expected[name]), name
    assert units == generator.UNITS
    assert config == model_config("tiny", generator.with_ctc(generator.CONFIG),
                                  fbank_section(num_mel_bins=20), generator.STREAMING)


def test_goldens_are_the_generators_values():
    """The inputs bit for bit; the outputs but for the rounding of another CPU's float64 sums."""
    recorded = dict(torch.jit.load(str(FOLDER / "tiny_goldens.pt")).named_buffers())
    made = generator.make_goldens(generator.make_model())
    assert recorded.keys() == made.keys()
    for name, value in made.items():
        if name == "features" or name.startswith("module_"):
            assert torch.equal(recorded[name], value), name
        else:
            torch.testing.assert_close(recorded[name], value, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", generator.VARIANTS)
def test_variants_are_the_generators(name):
    """Archive and goldens of each architecture, as for the tiny model above."""
    config = generator.VARIANTS[name]
    module, sections, units = read_archive(str(FOLDER / "variants" / f"{name}.pt"))
    expected = generator.make_model(config).state_dict()
    assert dict(module.state_dict()).keys() == expected.keys()
    for tensor, value in module.state_dict().items():
        assert torch.equal(value, expected[tensor]), tensor
    assert units == generator.UNITS
    assert sections == model_config(name, generator.with_ctc(config),
                                    fbank_section(num_mel_bins=config.input_dim),
                                    generator.variant_streaming(config))
    recorded = dict(torch.jit.load(
        str(FOLDER / "variants" / f"{name}_goldens.pt")).named_buffers())
    made = generator.make_variant_goldens(name)
    assert recorded.keys() == made.keys()
    for tensor, value in made.items():
        torch.testing.assert_close(recorded[tensor], value, rtol=0, atol=1e-11)
    encoded = [value for tensor, value in recorded.items() if tensor.startswith("encode_")]
    for first, second in itertools.combinations(encoded, 2):
        assert (first - second).abs().max() > 1e-3


def test_every_option_has_a_variant():
    """Each value of each enumerated or boolean option of the encoder section, somewhere."""
    seen = {}

    def collect(section, path=()):
        for name, value in section.items():
            if isinstance(value, dict):
                collect(value, path + (name,))
            else:
                for one in value if isinstance(value, list) else [value]:
                    seen.setdefault(path + (name,), set()).add(one)

    for config in [generator.CONFIG, *generator.VARIANTS.values()]:
        collect(config.to_json())
    for path, values in seen.items():
        if any(isinstance(value, bool) for value in values):
            assert values == {False, True}, path
    assert seen["position", "scheme"] == set(SCHEMES)
    assert seen["subsampling", "type"] == set(SUBSAMPLINGS)
    assert seen["normalization", "type"] == set(NORMALIZATIONS)
    assert seen["convolution", "type"] == set(CONVOLUTIONS)
    assert seen["convolution", "norm"] == set(NORMS)
    assert seen["convolution", "left_padding"] == set(LEFT_PADDINGS)
    assert seen["position", "query_scaling"] == set(QUERY_SCALINGS)
    assert seen["position", "table_order"] == set(TABLE_ORDERS)
    for module in ("feed_forward", "convolution"):
        assert seen[module, "activation"] == set(ACTIVATIONS)
    assert seen[("convolution",)] == {None}


def test_goldens_tell_the_masks_apart():
    """Values that were the same for every chunk size and left context would prove nothing."""
    recorded = dict(torch.jit.load(str(FOLDER / "tiny_goldens.pt")).named_buffers())
    masked = [recorded[name] for name in sorted(recorded) if name.startswith("encode_c")
              and not name.startswith("encode_chunk")]
    for i, first in enumerate(masked):
        for second in masked[i + 1:]:
            assert (first - second).abs().max() > 1e-3


def test_chunked_goldens_equal_those_under_the_mask():
    """The one size that is recorded both ways."""
    recorded = dict(torch.jit.load(str(FOLDER / "tiny_goldens.pt")).named_buffers())
    torch.testing.assert_close(recorded["encode_chunk_c4_m8"], recorded["encode_c4_m8"],
                               rtol=0, atol=1e-12)
