"""icefall's Conformers become archives. Values are compared in
tests/tools/decode/test_recorded_families.py."""

import pathlib
import shutil
from typing import Any, Callable, Dict

import pytest
import torch
from convert_support import convert, need_shared, refusal
from torch import Tensor

REWORKED = ["--causal", "--num_mel_bins=24"]
Weights = Dict[str, Tensor]


def copied(case: str, folder: pathlib.Path, change: Callable[[Weights], Any] = lambda weights: None
           ) -> pathlib.Path:
    """A recorded model, its weights changed."""
    source = need_shared(f"family_golden/{case}")
    folder.mkdir()
    weights = torch.load(source / "pretrained.pt", map_location="cpu")["model"]
    change(weights)
    torch.save({"model": weights}, folder / "pretrained.pt")
    shutil.copy(source / "tokens.txt", folder / "tokens.txt")
    return folder


def fold(weights: Weights) -> None:
    """As icefall's scaling_converter.py, which makes plain layers of scaled ones."""
    for name in [name for name in weights if name.endswith(("_scale", "embedding.scale"))]:
        scale = weights.pop(name).exp()
        target = (name[:-len("_scale")] if name.endswith("_scale")
                  else name.replace("scale", "weight"))
        weights[target] = weights[target] * scale


def test_scales_are_folded(tmp_path):
    case = "icefall_reworked_conformer_transducer"
    scaled = convert("icefall", copied(case, tmp_path / "scaled"), tmp_path / "a.pt", *REWORKED)
    folded = convert("icefall", copied(case, tmp_path / "folded", fold), tmp_path / "b.pt",
                     *REWORKED)
    assert scaled[1]["encoder"] == folded[1]["encoder"]
    found, expected = scaled[0].state_dict(), folded[0].state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_architectures(tmp_path):
    reworked = convert("icefall", copied("icefall_reworked_conformer_transducer", tmp_path / "a"),
                       tmp_path / "a.pt", *REWORKED)[1]
    assert reworked["encoder"]["type"] == "reworked_conformer"
    assert reworked["encoder"]["convolution"]["type"] == "causal"
    assert reworked["streaming"]["chunk_size"] == 16 and reworked["streaming"]["left_context"] == 64
    assert reworked["transducer"]["predictor"]["activation"] == "relu"
    assert reworked["ctc"] is None
    plain = convert("icefall", copied("icefall_transducer_stateless", tmp_path / "b"),
                    tmp_path / "b.pt")[1]
    assert plain["encoder"]["type"] == "conformer"
    assert plain["encoder"]["convolution"]["norm"] == "layer_norm"
    assert plain["streaming"]["chunk_size"] == -1
    assert plain["transducer"]["predictor"]["activation"] == "identity"
    ctc = convert("icefall", copied("icefall_conformer_ctc", tmp_path / "c"), tmp_path / "c.pt")[1]
    assert ctc["encoder"]["normalization"] == {"type": "global_cmvn"}
    assert ctc["transducer"] is None and ctc["ctc"]["vocab_size"] == 24
    assert ctc["features"]["high_freq"] == -400 and not ctc["features"]["snip_edges"]


def without_norms(weights: Weights) -> None:
    for name in [name for name in weights if "conv_module.norm." in name or "feat_b" in name]:
        del weights[name]


def test_features_times_a_number(tmp_path, capsys):
    """use_feat_batchnorm: 0.1, with which the convolution has no norm."""
    folder = copied("icefall_conformer_ctc", tmp_path / "a", without_norms)
    assert "expected --feature_scale" in refusal(capsys, "icefall", folder, tmp_path / "m.pt")
    module, config, _ = convert("icefall", folder, tmp_path / "m.pt", "--feature_scale=0.1")
    assert config["encoder"]["convolution"]["norm"] == "none"
    assert config["encoder"]["convolution"]["norm_epsilon"] is None
    state = module.state_dict()
    assert torch.equal(state["encoder.global_cmvn.istd"], torch.full((80,), 0.1))
    assert not state["encoder.global_cmvn.mean"].any()


def as_lstm(weights: Weights) -> None:
    """The decoder of the recipe `transducer`."""
    del weights["decoder.conv.weight"]
    torch.manual_seed(1)
    for layer in range(2):
        weights[f"decoder.rnn.weight_ih_l{layer}"] = torch.randn(64, 28 if layer == 0 else 16)
        weights[f"decoder.rnn.weight_hh_l{layer}"] = torch.randn(64, 16)
        for part in ("ih", "hh"):
            weights[f"decoder.rnn.bias_{part}_l{layer}"] = torch.randn(64)
    weights["decoder.output_linear.weight"] = torch.randn(28, 16)
    weights["decoder.output_linear.bias"] = torch.randn(28)


def test_other_decoders(tmp_path):
    case = "icefall_transducer_stateless"
    config = convert("icefall", copied(case, tmp_path / "a", as_lstm), tmp_path / "m.pt")[1]
    assert config["transducer"]["predictor"] == {
        "type": "lstm", "embedding_dim": 28, "hidden_dim": 16, "num_layers": 2, "output_dim": 28}
    module, config, _ = convert(
        "icefall", copied(case, tmp_path / "b", lambda weights: weights.pop("decoder.conv.weight")),
        tmp_path / "m.pt")
    assert config["transducer"]["predictor"]["context_size"] == 1
    assert bool((module.state_dict()["transducer.predictor.conv.weight"] == 1).all())


@pytest.mark.parametrize("suffix", ["giga", "datatang"])
def test_second_transducer_is_left_out(suffix, tmp_path, capsys):
    def change(weights: Weights) -> None:
        for name in [name for name in weights if name.startswith(("decoder.", "joiner."))]:
            part, rest = name.split(".", 1)
            weights[f"{part}_{suffix}.{rest}"] = weights[name].clone()
        weights[f"simple_lm_proj_{suffix}.weight"] = torch.zeros(24, 28)
    folder = copied("icefall_transducer_stateless", tmp_path / "a", change)
    assert convert("icefall", folder, tmp_path / "m.pt")[1]["transducer"] is not None
    assert "note: the second transducer (_giga or _datatang) is left out" in capsys.readouterr().out


@pytest.mark.parametrize("shape", [(), (95, 32)])
def test_projections_of_another_shape_are_refused(shape, tmp_path, capsys):
    def change(weights: Weights) -> None:
        name = next(name for name in weights if "self_attn.in_proj." in name)
        weights[name] = torch.zeros(shape)
    folder = copied("icefall_reworked_conformer_transducer", tmp_path / "a", change)
    line = refusal(capsys, "icefall", folder, tmp_path / "m.pt", "--num_mel_bins=24")
    assert f"has shape {shape}, expected three projections of the same size" in line


def test_subsampling_by_two(tmp_path, capsys):
    """Of WSASR/conformer_ctc2: 80 bins leave 37, as 151 to 154 do with a subsampling by 4."""
    def change(weights: Weights) -> None:
        name = next(name for name in weights if name.endswith("encoder_embed.out.weight"))
        channels = weights[name.replace("out.weight", "conv.6.weight")].size(0)
        weights[name] = torch.zeros(weights[name].size(0), 37 * channels)
    folder = copied("icefall_reworked_conformer_transducer", tmp_path / "a", change)
    for flags, kind, bins in (((), "conv2d_1_2_1", 80),
                              (("--num_mel_bins=79",), "conv2d_1_2_1", 79),
                              (("--num_mel_bins=152",), "conv2d_1_2_2", 152)):
        encoder = convert("icefall", folder, tmp_path / "m.pt", *flags)[1]["encoder"]
        assert encoder["subsampling"] == {"type": kind} and encoder["input_dim"] == bins
    capsys.readouterr()
    assert "--num_mel_bins is 81, but the weights are those of 151 to 154 or 79 to 80 bins" in \
        refusal(capsys, "icefall", folder, tmp_path / "m.pt", "--num_mel_bins=81")


def two_layers(weights: Weights) -> None:
    """The decoder and joiner of pruned_transducer_stateless: the inputs of the joiner have as many
    columns as there are tokens."""
    torch.manual_seed(4)
    for name, rows, columns in (("joiner.inner_linear", 12, 24), ("joiner.output_linear", 24, 12),
                                ("decoder.output_linear", 24, 28),
                                ("encoder_output_layer.1", 24, 32)):
        prefix = "encoder." if name.startswith("encoder_") else ""
        weights[f"{prefix}{name}.weight"] = torch.randn(rows, columns)
        weights[f"{prefix}{name}.bias"] = torch.randn(rows)
    weights["decoder.embedding.weight"] = torch.randn(24, 28)


def test_joiner_of_two_layers(tmp_path):
    """Embeddings of the last two tokens, which are blanks at first, weighted, ReLU, linear; the sum
    with the encoder's rows, tanh, linear, ReLU, linear."""
    weights: Weights = {}

    def change(to: Weights) -> None:
        two_layers(to)
        weights.update(to)
    folder = copied("icefall_transducer_stateless", tmp_path / "a", change)
    module, config, _ = convert("icefall", folder, tmp_path / "m.pt")
    assert config["transducer"]["joint"] == {
        "dim": 24, "input_linear": True, "activation": "relu",
        "hidden_linear": {"dim": 12, "input_activation": "tanh"}}

    def linear(name: str, rows: Tensor) -> Tensor:
        return torch.nn.functional.linear(rows, weights[f"{name}.weight"], weights[f"{name}.bias"])
    encoded, tokens = torch.randn(1, 32), [0, 0, 5, 3, 3]
    state = module.initial_predictor_state(1)
    for t in range(1, len(tokens)):
        output, state = module.predictor_step(torch.tensor(tokens[t:t + 1]), state)
        rows = weights["decoder.embedding.weight"][tokens[t - 1:t + 1]]
        predicted = (rows.T * weights["decoder.conv.weight"].squeeze(1)).sum(1)
        summed = (linear("encoder.encoder_output_layer.1", encoded)
                  + linear("decoder.output_linear", torch.relu(predicted)))
        expected = linear("joiner.output_linear",
                          torch.relu(linear("joiner.inner_linear", torch.tanh(summed))))
        torch.testing.assert_close(module.joint(encoded, output), expected)


def add_attention_decoder(weights: Weights) -> None:
    weights["decoder_embed.weight"] = torch.zeros(24, 32)
    weights["decoder.layers.0.self_attn.in_proj_weight"] = torch.zeros(96, 32)
    weights["decoder_output_layer.weight"] = torch.zeros(24, 32)


def test_attention_decoder_is_left_out(tmp_path, capsys):
    folder = copied("icefall_conformer_ctc", tmp_path / "a", add_attention_decoder)
    assert convert("icefall", folder, tmp_path / "m.pt")[1]["attention_decoder"] is None
    assert "note: the attention decoder is left out" in capsys.readouterr().out


def test_disambiguation_symbols(tmp_path, capsys):
    folder = copied("icefall_conformer_ctc", tmp_path / "a")
    with (folder / "tokens.txt").open("a") as file:
        file.write("\n#0 24\n#1 25\n")
    assert len(convert("icefall", folder, tmp_path / "m.pt")[2]) == 24
    capsys.readouterr()
    with (folder / "tokens.txt").open("a") as file:
        file.write("word 26\n")
    assert "has 27 tokens, expected the model's 24" in refusal(capsys, "icefall", folder,
                                                               tmp_path / "m.pt")


def renames(old: str, new: str) -> Callable[[Weights], None]:
    def change(weights: Weights) -> None:
        for name in [name for name in weights if old in name]:
            weights[name.replace(old, new)] = weights.pop(name)
    return change


def adds(name: str, *shape: int) -> Callable[[Weights], None]:
    def change(weights: Weights) -> None:
        weights[name] = torch.zeros(*shape)
    return change


@pytest.mark.parametrize("change, message", [
    (renames("encoder.encoder.layers", "encoder.encoders.0.layers"), "the encoder is a Zipformer"),
    (adds("encoder.encoders.0.self_attn.linear_q.weight", 32, 32),
     "the encoder has WeNet's layers, expected config.yaml"),
    (renames("encoder.encoder_embed.conv", "encoder.encoder_embed.layers"),
     "the encoder is a Conformer with the VGG front end"),
    (adds("encoder.knowledge_base", 9, 4), "a Conformer that reads a knowledge base at random"),
    (renames("encoder_embed", "embed"), "no parameter encoder_embed.out.weight"),
    (renames("pos_bias_u", "bias_u"), "encoder.layers.0.self_attn.pos_bias_u: no parameter"),
    (adds("joiner.inner_linear.weight", 28), "no matrix joiner.inner_linear.weight"),
    (adds("encoder.encoder.layers.1.new.weight", 3), "new.weight of shape (3,) is not known"),
    (adds("decoder.conv.weight", 28, 2), "decoder.conv.weight has shape (28, 2)"),
    (renames("decoder.embedding", "decoder.table"), "no matrix decoder.embedding.weight"),
    (adds("encoder.encoder.layers.0.conv_module.depthwise_conv.weight", 3, 1, 15),
     "depthwise_conv.weight has shape (3, 1, 15)"),
    (adds("joiner.output_linear.weight_scale", 2), "the scale of joiner.output_linear.weight has"),
])
def test_what_is_not_supported(change, message, tmp_path, capsys):
    folder = copied("icefall_transducer_stateless", tmp_path / "a", change)
    assert message in refusal(capsys, "icefall", folder, tmp_path / "m.pt")


@pytest.mark.parametrize("flags, message", [
    (["--causal"], "the weights are those of 23 to 26 or 15 to 16 bins, expected --num_mel_bins"),
    (["--num_mel_bins=80"],
     "--num_mel_bins is 80, but the weights are those of 23 to 26 or 15 to 16 bins"),
    ([*REWORKED, "--head=ctc"], "--head is ctc, but the model has only transducer")])
def test_flags_that_do_not_fit(flags, message, tmp_path, capsys):
    folder = copied("icefall_reworked_conformer_transducer", tmp_path / "a")
    assert message in refusal(capsys, "icefall", folder, tmp_path / "m.pt", *flags)


@pytest.mark.parametrize("case, flag", [
    ("icefall_conformer_ctc", "--num_mel_bins=80"),  # its feat_batchnorm tells
    ("icefall_conformer_ctc", "--feature_scale=0.1"),
    ("icefall_transducer_stateless", "--feature_scale=0.1"),
    ("icefall_conformer_ctc", "--shaw_left=8"),
    ("icefall_reworked_conformer_transducer", "--layer_norm_eps=1e-5")])
def test_flags_without_effect(case, flag, tmp_path, capsys):
    flags = [flag, *(REWORKED if "reworked" in case else [])]
    assert f"{flag.split('=')[0]} is given" in refusal(
        capsys, "icefall", copied(case, tmp_path / "a"), tmp_path / "m.pt", *flags)


def test_feature_norms_that_cannot_be_expressed(tmp_path, capsys):
    def change(weights: Weights) -> None:
        weights["feat_batchnorm.weight"][3] = 0
    folder = copied("icefall_conformer_ctc", tmp_path / "a", change)
    assert "feat_batchnorm.weight holds 0" in refusal(capsys, "icefall", folder, tmp_path / "m.pt")


def test_missing_files(tmp_path, capsys):
    folder = copied("icefall_conformer_ctc", tmp_path / "a")
    (folder / "tokens.txt").unlink()
    assert "tokens.txt: no such file" in refusal(capsys, "icefall", folder, tmp_path / "m.pt")
    (folder / "pretrained.pt").unlink()
    assert "pretrained.pt: no such file" in refusal(capsys, "icefall", folder, tmp_path / "m.pt")
