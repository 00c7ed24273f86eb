"""The committed encoder goldens are what their generator makes from today's reference."""

import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/golden/encoder"
sys.path[:0] = [str(ROOT), str(ROOT / "tests/golden")]
import make_encoder_goldens as generator  # noqa: E402
from models.reference.archive import fbank_section, model_config, read_archive  # noqa: E402


def test_archive_holds_the_generators_model():
    """The same weights bit for bit, the same configuration and units."""
    module, config, units = read_archive(str(FOLDER / "tiny.pt"))
    expected = generator.make_model().state_dict()
    assert dict(module.state_dict()).keys() == expected.keys()
    for name, value in module.state_dict().items():
        assert torch.equal(value, expected[name]), name
    assert units == generator.UNITS
    assert config == model_config("tiny", generator.CONFIG, fbank_section(num_mel_bins=20),
                                  generator.STREAMING)


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
