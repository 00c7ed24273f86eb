"""The reference Conformer: chunk by chunk equals the whole utterance under the chunk mask."""

import itertools
import pathlib
import sys
import zipfile

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from models.reference.archive import (export_archive, fbank_section, model_config,  # noqa: E402
                                      read_archive)
from models.reference.config import ConformerConfig  # noqa: E402
from models.reference.conformer import ConformerCtc  # noqa: E402
from models.reference.positions import chunk_mask, distance_sinusoids, rel_shift  # noqa: E402

CONFIG = ConformerConfig(input_dim=20, model_dim=16, num_layers=2, num_heads=2,
                         feed_forward_dim=24, conv_kernel_size=5, vocab_size=7)


def make_model() -> ConformerCtc:
    """A small model with seeded random weights, in float64."""
    torch.manual_seed(1)
    model = ConformerCtc(CONFIG).double().eval()
    for name, buffer in model.named_buffers():
        buffer.copy_(torch.rand_like(buffer) + 0.5)
    return model


def run_chunked(model, features, chunk_size, left_context):
    """Feeds (T, input_dim) frames chunk by chunk, the tail included; returns (T', vocab)."""
    att = features.new_zeros(CONFIG.num_layers, CONFIG.num_heads, 0,
                             2 * CONFIG.model_dim // CONFIG.num_heads)
    cnn = features.new_zeros(CONFIG.num_layers, 1, CONFIG.model_dim, CONFIG.conv_kernel_size - 1)
    outputs, start, offset = [], 0, 0
    while features.size(0) - start >= 7:
        chunk = features[start:start + 4 * chunk_size + 3].unsqueeze(0)
        out, att, cnn = model.forward_chunk(chunk, offset, left_context, att, cnn)
        outputs.append(out[0])
        start += 4 * out.size(1)
        offset += out.size(1)
    return torch.cat(outputs, 0)


def test_shift_of_the_note():
    """C=3, L=4: rows 1..7 / 8..14 / 15..21 become 3 4 5 6 / 9 10 11 12 / 15 16 17 18."""
    shifted = rel_shift(torch.arange(1, 19).reshape(1, 1, 3, 6), 4)
    assert shifted[0, 0].tolist() == [[3, 4, 5, 6], [8, 9, 10, 11], [13, 14, 15, 16]]
    table = torch.arange(1, 22).reshape(1, 1, 3, 7)[:, :, :, :6]
    assert rel_shift(table, 4)[0, 0].tolist() == [[3, 4, 5, 6], [9, 10, 11, 12],
                                                  [15, 16, 17, 18]]


def test_shift_picks_the_distance_of_each_pair():
    """Column k of the table holds distance L-1-k; after the shift (i, j) holds M'+i-j."""
    for rows, cached in itertools.product([1, 2, 5], [0, 1, 7]):
        keys = cached + rows
        table = (keys - 1 - torch.arange(keys + rows - 1)).expand(1, 1, rows, -1)
        expected = cached + torch.arange(rows)[:, None] - torch.arange(keys)[None, :]
        assert torch.equal(rel_shift(table, keys)[0, 0], expected)


def test_chunk_mask_follows_its_definition():
    """Checked against the sentence that defines it, pair by pair."""
    for size, left in itertools.product([1, 2, 3, 5, -1], [0, 1, 4, -1]):
        mask = chunk_mask(11, size, left, torch.zeros(1))
        for i, j in itertools.product(range(11), range(11)):
            start = 0 if size < 0 else i // size * size
            end = 11 if size < 0 else start + size
            assert mask[i, j] == ((left < 0 or start - left <= j) and j < end)


def test_sinusoids_of_far_distances_keep_full_precision():
    """A row depends on its distance alone, not on where the table starts."""
    like = torch.zeros(1, dtype=torch.float64)
    far = distance_sinusoids(1_000_003, 1_000_000, 16, like)
    assert torch.equal(far[3:], distance_sinusoids(1_000_000, 1_000_000, 16, like))


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 4, 8, 16, 1000])
@pytest.mark.parametrize("left_context", [0, 1, 4, 13, -1])
def test_chunked_equals_full_under_mask(chunk_size, left_context):
    """Odd tails, too short ones and all."""
    model = make_model()
    for frames in [7, 10, 11, 43, 90]:
        features = torch.randn(frames, CONFIG.input_dim, dtype=torch.float64)
        with torch.no_grad():
            full, lengths = model(features.unsqueeze(0), torch.tensor([frames]), chunk_size,
                                  left_context)
            chunked = run_chunked(model, features, chunk_size, left_context)
        assert int(lengths[0]) == full.size(1) == chunked.size(0) == ((frames - 1) // 2 - 1) // 2
        assert torch.allclose(full[0], chunked, rtol=0, atol=1e-10)


def test_too_short_gives_no_frames():
    """Six frames are one short of the first encoder frame."""
    model = make_model()
    full, lengths = model(torch.randn(1, 6, CONFIG.input_dim).double(), torch.tensor([6]), 4, 8)
    assert full.shape == (1, 0, CONFIG.vocab_size) and int(lengths[0]) == 0


def test_padding_changes_nothing():
    """An utterance in a padded batch equals the same utterance alone."""
    model = make_model()
    batch = torch.randn(3, 80, CONFIG.input_dim, dtype=torch.float64)
    lengths = torch.tensor([80, 51, 7])
    with torch.no_grad():
        together, out_lengths = model(batch, lengths, 4, 8)
        for i, frames in enumerate(lengths.tolist()):
            alone, _ = model(batch[i:i + 1, :frames], lengths[i:i + 1], 4, 8)
            assert torch.allclose(together[i, :out_lengths[i]], alone[0], rtol=0, atol=1e-10)


def test_gradients_reach_every_parameter():
    """Training under the chunk mask leaves no parameter out and gives no NaN."""
    model = make_model().train()
    log_probs, lengths = model(torch.randn(2, 60, 20).double(), torch.tensor([60, 7]), 2, 4)
    torch.nn.functional.ctc_loss(log_probs.transpose(0, 1), torch.tensor([[1, 2], [3, 0]]),
                                 lengths, torch.tensor([2, 1])).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), name


def test_archive_round_trip(tmp_path):
    """The archive's own methods give the model's numbers; config and units come back."""
    model = make_model().float()
    config = model_config("tiny", CONFIG, fbank_section(num_mel_bins=20), {"max_chunk_size": 32})
    units = ["<blank>", "\u2581", "a", "b", "c", "d", "\u00e9"]
    path = str(tmp_path / "tiny.pt")
    export_archive(model, config, units, path)
    module, read_config, read_units = read_archive(path)
    assert read_config == config and read_units == units
    features = torch.randn(1, 50, 20)
    with torch.no_grad():
        expected, _ = model(features, torch.tensor([50]), 3, 6)
        scripted, _ = module(features, torch.tensor([50]), 3, 6)
        chunked = run_chunked(module, features[0], 3, 6)
    assert torch.equal(expected, scripted)
    assert torch.allclose(chunked, expected[0], atol=1e-5)


def test_archive_names_no_path_of_this_machine(tmp_path):
    """Archives are published; where the Python files lay on someone's disk is not."""
    path = str(tmp_path / "tiny.pt")
    config = model_config("tiny", CONFIG, fbank_section(num_mel_bins=20), {})
    export_archive(make_model(), config, list("abcdefg"), path)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            assert str(pathlib.Path(__file__).parents[2]).encode() not in archive.read(name), name


def test_archive_refuses_what_is_wrong(tmp_path):
    """Nothing is written when units or weights are not right."""
    model = make_model()
    config = model_config("tiny", CONFIG, fbank_section(num_mel_bins=20), {})
    path = tmp_path / "tiny.pt"
    with pytest.raises(ValueError, match="3 units given, vocab_size is 7"):
        export_archive(model, config, ["a", "b", "c"], str(path))
    with torch.no_grad():
        model.ctc.ctc_lo.bias[0] = float("nan")
    with pytest.raises(ValueError, match="ctc.ctc_lo.bias"):
        export_archive(model, config, list("abcdefg"), str(path))
    assert not path.exists()
