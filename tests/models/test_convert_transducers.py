"""Which heads a conversion keeps, and what it refuses, on models of random weights."""

import pathlib
import shutil
from typing import Any, Dict

import pytest
import torch
import yaml
from convert_support import convert, need_shared, normal, refusal
from nemo_files import PIECES, VOCAB, NemoFile
from test_convert_wenet import load_case, write_experiment

import numpy as np

LANGUAGES = {"en-US": 0, "en": 0, "de-DE": 2, "auto": 4}


def add_prompt(nemo: NemoFile, **defaults: Any) -> None:
    """The prompt_kernel of a multilingual model with five places for languages."""
    random = np.random.RandomState(3)
    dim = nemo.config["encoder"]["d_model"]
    for name, shape in (("0.weight", (2 * dim, dim + 5)), ("0.bias", (2 * dim,)),
                        ("2.weight", (dim, 2 * dim)), ("2.bias", (dim,))):
        nemo.weights[f"prompt_kernel.{name}"] = normal(random, *shape)
    nemo.config["model_defaults"] = {"initialize_prompt_feature": True, "num_prompts": 5,
                                     "prompt_dictionary": LANGUAGES, **defaults}


@pytest.fixture
def experiment(tmp_path: pathlib.Path) -> pathlib.Path:
    """A WeNet transducer with a convolutional predictor."""
    folder = tmp_path / "experiment"
    folder.mkdir()
    config = write_experiment(folder, load_case("v2_conformer_symmetric"))
    dim = config["encoder_conf"]["output_size"]
    config.update(predictor="conv", predictor_conf={"embed_size": dim, "history_size": 1},
                  joint_conf={"join_dim": dim, "prejoin_linear": False, "postjoin_linear": True})
    (folder / "train.yaml").write_text(yaml.safe_dump(config))
    random = np.random.RandomState(4)
    weights = torch.load(folder / "final.pt")
    for name, shape in (("predictor.embed.weight", (12, dim)),
                        ("predictor.conv.weight", (dim, 1, 2)),
                        ("predictor.norm.weight", (dim,)), ("predictor.norm.bias", (dim,)),
                        ("joint.post_ffn.weight", (dim, dim)), ("joint.post_ffn.bias", (dim,)),
                        ("joint.ffn_out.weight", (12, dim)), ("joint.ffn_out.bias", (12,))):
        weights[name] = normal(random, *shape)
    torch.save(weights, folder / "final.pt")
    return folder


def change_config(folder: pathlib.Path, section: Any, name: str, value: Any) -> None:
    config: Dict[str, Any] = yaml.safe_load((folder / "train.yaml").read_text())
    (config if section is None else config.setdefault(section, {}))[name] = value
    (folder / "train.yaml").write_text(yaml.safe_dump(config))


@pytest.mark.parametrize("head, kept", [
    (None, {"ctc", "transducer"}), ("all", {"ctc", "transducer"}), ("ctc", {"ctc"}),
    ("transducer", {"transducer"})])
def test_heads_of_a_hybrid_model(head, kept, experiment, tmp_path, capsys):
    nemo = NemoFile("fastconformer_streaming", "hybrid").write(tmp_path / "m.nemo", mode="w:gz")
    options = [] if head is None else [f"--head={head}"]
    for family, source in (("nemo", nemo), ("wenet", experiment)):
        module, config, _ = convert(family, source, tmp_path / "m.pt", "--verbose", *options)
        assert {name for name in ("ctc", "transducer") if config[name] is not None} == kept
        assert {name.split(".")[0] for name in module.state_dict()} \
            == kept | {"encoder"} | ({"attention_decoder"} if family == "wenet" else set())
        shown = capsys.readouterr().out.splitlines()
        assert {name for name in ("ctc", "transducer") if f"{name}: null" not in shown} == kept


def test_a_head_that_the_model_lacks(tmp_path, capsys):
    for heads, wanted in (("ctc", "transducer"), ("transducer", "ctc")):
        path = NemoFile("fastconformer_streaming", heads).write(tmp_path / "m.nemo")
        line = refusal(capsys, "nemo", path, tmp_path / "m.pt", f"--head={wanted}")
        assert f"--head is {wanted}, but the model has only {heads}" in line


def test_nemos_tensors(tmp_path):
    nemo = NemoFile("fastconformer_streaming", "transducer")
    module, config, units = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert config["transducer"]["max_symbols"] == 6 and config["ctc"] is None
    assert units == [*PIECES, "<blank>"] and config["transducer"]["blank_id"] == VOCAB - 1
    state, lstm = module.state_dict(), "decoder.prediction.dec_rnn.lstm."
    assert torch.equal(state["transducer.predictor.lstm.0.bias"],
                       nemo.weights[f"{lstm}bias_ih_l0"] + nemo.weights[f"{lstm}bias_hh_l0"])
    assert torch.equal(state["transducer.joint.predictor.weight"],
                       nemo.weights["joint.pred.weight"])
    lstm_of_torch = torch.nn.LSTM(4, 4)
    lstm_of_torch.load_state_dict({name[len(lstm):]: value for name, value in nemo.weights.items()
                                   if name.startswith(lstm)})
    rows = nemo.weights["decoder.prediction.embed.weight"][torch.tensor([7, 2, 5])]
    expected, _ = lstm_of_torch(rows.unsqueeze(1))
    state = module.initial_predictor_state(1)
    for token, row in zip((7, 2, 5), expected):
        output, state = module.predictor_step(torch.tensor([token]), state)
        torch.testing.assert_close(output, row, rtol=0, atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_joint_is_that_of_nemo(activation, tmp_path):
    """NeMo's joint_net: an activation and a linear layer, on the sum of the projections."""
    nemo = NemoFile("conformer_offline", "transducer")
    nemo.config["joint"]["jointnet"]["activation"] = activation
    module, config, _ = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert config["transducer"]["joint"]["activation"] == activation
    weights = {name[len("joint."):]: value for name, value in nemo.weights.items()
               if name.startswith("joint.")}
    dim = weights["enc.weight"].size(1)
    encoded, predicted = torch.randn(6, dim), torch.randn(6, weights["pred.weight"].size(1))
    summed = torch.nn.functional.linear(encoded, weights["enc.weight"], weights["enc.bias"]) \
        + torch.nn.functional.linear(predicted, weights["pred.weight"], weights["pred.bias"])
    expected = torch.nn.functional.linear(
        {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid}[activation]()(
            summed), weights["joint_net.2.weight"], weights["joint_net.2.bias"])
    torch.testing.assert_close(module.joint(encoded, predicted), expected)


def stateless(mode, context_size):
    """A model with NeMo's stateless decoder of 8 channels: one table for each place."""
    nemo = NemoFile("conformer_offline", "transducer")
    for name in list(nemo.weights):
        if name.startswith("decoder.prediction."):
            del nemo.weights[name]
    small = 4 // context_size
    for i in range(context_size):
        table = torch.randn(VOCAB, small if i else 8 - small * (context_size - 1))
        table[-1] = 0
        nemo.weights[f"decoder.prediction.embeds.{i}.weight"] = table
    nemo.weights["joint.pred.weight"] = torch.randn(5, 8)
    nemo.config["decoder"] = {
        "_target_": "nemo.collections.asr.modules.StatelessTransducerDecoder",
        "context_size": context_size, "normalization_mode": mode, "vocab_size": VOCAB - 1,
        "prednet": {"pred_hidden": 8, "pred_rnn_layers": 1, "t_max": None, "dropout": 0.2}}
    return nemo


@pytest.mark.parametrize("mode, context_size", [("layer", 2), (None, 1), ("layer", 4)])
def test_stateless_predictor_of_nemo(mode, context_size, tmp_path):
    """The vectors of the last tokens side by side, the last token's first; zeros before them."""
    torch.manual_seed(3)
    nemo = stateless(mode, context_size)
    module, config, _ = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert config["transducer"]["predictor"]["context_size"] == context_size
    blank, tokens = VOCAB - 1, [3, 0, 5, 5, 2]
    state = module.initial_predictor_state(1)
    for count in range(len(tokens) + 1):
        label = tokens[count - 1] if count else blank
        output, state = module.predictor_step(torch.tensor([label]), state)
        last = [blank] * context_size + tokens[:count]
        expected = torch.cat([nemo.weights[f"decoder.prediction.embeds.{i}.weight"][last[-1 - i]]
                              for i in range(context_size)])
        if mode == "layer":
            expected = torch.nn.functional.layer_norm(expected, [8])
        torch.testing.assert_close(output[0], expected)


def test_stateless_predictors_that_are_refused(tmp_path, capsys):
    nemo = stateless("layer", 2)
    nemo.config["decoder"]["context_size"] = 3
    assert "embeds has 2 tables of 8 columns, expected those of context_size 3 and pred_hidden 8" \
        in refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    nemo = stateless("layer", 2)
    nemo.weights["decoder.prediction.embeds.1.weight"][-1, 0] = 1
    assert "embeds.1.weight: the row of the blank is not zero" in refusal(
        capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    nemo = stateless("batch", 2)
    assert "decoder.normalization_mode is 'batch', which is not supported" in refusal(
        capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")


@pytest.mark.parametrize("greedy, expected", [
    ({"max_symbols": 3}, 3), ({"max_symbols_per_step": 4}, 4), ({"max_symbols": None}, 10),
    ({"max_symbols": 5, "max_symbols_per_step": 4}, 5), (None, 10)])
def test_most_tokens_of_a_frame(greedy, expected, tmp_path):
    nemo = NemoFile("conformer_offline", "transducer")
    nemo.config["decoding"]["greedy"] = greedy
    _, config, _ = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert config["transducer"]["max_symbols"] == expected


@pytest.mark.parametrize("name", ["max_symbols", "max_symbols_per_step"])
@pytest.mark.parametrize("value", [0, -3, "ten"])
def test_numbers_of_tokens_that_are_refused(name, value, tmp_path, capsys):
    nemo = NemoFile("conformer_offline", "transducer")
    nemo.config["decoding"]["greedy"] = {name: value}
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert f"decoding.greedy.{name} is {value!r}, expected " in line


@pytest.mark.parametrize("where", ["decoding.durations", "model_defaults.tdt_durations",
                                   "loss.tdt_kwargs.durations"])
def test_where_durations_come_from(where, tmp_path):
    nemo = NemoFile("conformer_offline", "transducer")
    nemo.config["joint"]["num_extra_outputs"] = 3
    for name, shape in (("weight", (VOCAB + 3, 5)), ("bias", (VOCAB + 3,))):
        nemo.weights[f"joint.joint_net.2.{name}"] = torch.zeros(shape)
    place = nemo.config
    *path, last = where.split(".")
    for part in path:
        place = place.setdefault(part, {})
    place[last] = [0, 1, 4]
    _, config, _ = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert config["transducer"]["durations"] == [0, 1, 4]
    assert config["streaming"]["chunk_size"] == -1


def test_languages_of_a_prompt(tmp_path, capsys):
    nemo = NemoFile("fastconformer_streaming", "hybrid")
    add_prompt(nemo)
    module, config, _ = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    dim = config["encoder"]["model_dim"]
    assert config["prompt"] == {"languages": ["en-US", "", "de-DE", "", "auto"],
                                "hidden_dim": 2 * dim, "default": "auto"}
    assert "en (choose en-US)" in capsys.readouterr().out
    rows = torch.randn(1, 3, dim)
    joined = torch.cat([rows, torch.eye(5)[2].expand(1, 3, 5)], 2)
    kernel = {name: nemo.weights[f"prompt_kernel.{name}"]
              for name in ("0.weight", "0.bias", "2.weight", "2.bias")}
    expected = torch.relu(joined @ kernel["0.weight"].T + kernel["0.bias"]) \
        @ kernel["2.weight"].T + kernel["2.bias"]
    torch.testing.assert_close(module.apply_prompt(rows, torch.tensor([2])), expected)


@pytest.mark.parametrize("name, value", [
    ("prompt_dictionary", {"en-US": 5}), ("prompt_dictionary", {"en-US": "first"}),
    ("prompt_dictionary", {}), ("initialize_prompt_feature", False), ("num_prompts", 0)])
def test_prompts_that_are_refused(name, value, tmp_path, capsys):
    nemo = NemoFile("fastconformer_streaming", "hybrid")
    add_prompt(nemo, **{name: value})
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert name in line


@pytest.mark.parametrize("path, value", [
    ("decoder._target_", "nemo.collections.asr.modules.OtherDecoder"),
    ("decoder.normalization_mode", "layer"), ("decoder.blank_as_pad", False),
    ("decoder.vocab_size", 9), ("decoder.new_option", 1), ("decoder.prednet.new_option", 1),
    ("decoder.prednet.rnn_hidden_size", 8),
    ("joint._target_", "nemo.collections.asr.modules.HATJoint"), ("joint.num_classes", 9),
    ("joint.num_extra_outputs", 5), ("joint.new_option", 1),
    ("joint.jointnet.activation", "elu"), ("joint.jointnet.new_option", 1),
    ("decoding.durations", [0, 1]), ("decoding.durations", "many"),
    ("decoding.big_blank_durations", [2, 4]), ("decoding.model_type", "multiblank"),
])
def test_unsupported_options_of_nemo(path, value, tmp_path, capsys):
    nemo = NemoFile("fastconformer_streaming", "hybrid")
    *sections, name = path.split(".")
    place = nemo.config
    for section in sections:
        place = place[section]
    place[name] = value
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert name in line or "num_extra_outputs" in line


def test_a_head_that_is_not_kept_can_be_of_any_kind(tmp_path):
    nemo = NemoFile("fastconformer_streaming", "hybrid")
    nemo.config["joint"]["_target_"] = "nemo.collections.asr.modules.HATJoint"
    nemo.weights["joint.blank_pred.weight"] = torch.zeros(3)
    _, config, _ = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt",
                           "--head=ctc")
    assert config["transducer"] is None


@pytest.mark.parametrize("section, name, value", [
    (None, "predictor", "cif"), (None, "joint", "other_joint"), (None, "model", "k2_model"),
    ("predictor_conf", "output_size", 5), ("predictor_conf", "activation", "selu"),
    ("predictor_conf", "new_option", 1), ("predictor_conf", "embed_size", None),
    ("joint_conf", "joint_mode", "concat"), ("joint_conf", "hat_joint", True),
    ("joint_conf", "activation", "hardtanh"), ("joint_conf", "new_option", 1),
    ("joint_conf", "join_dim", 5),
])
def test_unsupported_options_of_wenet(section, name, value, experiment, tmp_path, capsys):
    change_config(experiment, section, name, value)
    line = refusal(capsys, "wenet", experiment, tmp_path / "m.pt")
    assert name in line or "joint.dim is 5" in line


def icefall_folder(folder: pathlib.Path, section: Any = None, **changes: Any) -> pathlib.Path:
    """icefall's transducer on WeNet's Conformer, with changed options; None: absent."""
    shutil.copytree(need_shared("transducer_golden/stateless_ctx2"), folder)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    place = config[section] if section else config
    place.update(changes)
    for name in [name for name in place if place[name] is None]:
        del place[name]
    (folder / "config.yaml").unlink()
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return folder


@pytest.mark.parametrize("changes", [
    {}, {"context_size": None, "decoder_dim": None, "decoder_conv_groups": None,
         "joiner_dim": None}])
def test_sizes_of_icefall(changes, tmp_path):
    """They are those of the weights, whether config.yaml states them or not."""
    folder = icefall_folder(tmp_path / "icefall", **changes)
    transducer = convert("icefall", folder, tmp_path / "m.pt")[1]["transducer"]
    assert transducer["predictor"] == {
        "type": "conv", "embedding_dim": 48, "context_size": 2, "groups": 12, "bias": False,
        "norm_epsilon": None, "activation": "relu"}
    assert transducer["joint"]["dim"] == 56 and transducer["blank_id"] == 0


@pytest.mark.parametrize("option", ["context_size", "decoder_dim", "decoder_conv_groups",
                                    "joiner_dim"])
def test_sizes_of_icefall_that_the_weights_do_not_have(option, tmp_path, capsys):
    folder = icefall_folder(tmp_path / "icefall", **{option: 3})
    line = refusal(capsys, "icefall", folder, tmp_path / "m.pt")
    assert f"the weights have {option} " in line and "config.yaml says 3" in line


def test_tokens_of_icefall_that_the_weights_do_not_have(tmp_path, capsys):
    folder = icefall_folder(tmp_path / "icefall", output_dim=None)
    lines = (folder / "tokens.txt").read_text()
    (folder / "tokens.txt").unlink()
    (folder / "tokens.txt").write_text(f"{lines.rstrip()}\nnew 32\n")
    assert "has 33 tokens, expected the model's 32" in refusal(capsys, "icefall", folder,
                                                               tmp_path / "m.pt")


def test_context_of_one_token_of_icefall(tmp_path):
    folder = icefall_folder(tmp_path / "icefall", context_size=1)
    weights = torch.load(folder / "pretrained.pt")
    del weights["model"]["decoder.conv.weight"]
    (folder / "pretrained.pt").unlink()
    torch.save(weights, folder / "pretrained.pt")
    module, config, _ = convert("icefall", folder, tmp_path / "m.pt")
    assert config["transducer"]["predictor"]["context_size"] == 1
    assert bool((module.state_dict()["transducer.predictor.conv.weight"] == 1).all())


@pytest.mark.parametrize("flag", ["--causal", "--num_mel_bins=80", "--feature_scale=0.1"])
def test_flags_that_config_yaml_replaces(flag, tmp_path, capsys):
    folder = icefall_folder(tmp_path / "icefall")
    assert f"{flag.split('=')[0]} is given" in refusal(capsys, "icefall", folder,
                                                       tmp_path / "m.pt", flag)


@pytest.mark.parametrize("section", [None, "encoder_conf", "dataset_conf"])
def test_unsupported_options_of_icefall(section, tmp_path, capsys):
    folder = icefall_folder(tmp_path / "icefall", section, a_new_option=7)
    assert "a_new_option is 7, which is not a known option" in refusal(capsys, "icefall", folder,
                                                                       tmp_path / "m.pt")


FLAGS = ["--causal", "--num_mel_bins=80", "--feature_scale=0.1", "--shaw_left=8"]


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_of_other_toolkits(flag, experiment, tmp_path, capsys):
    nemo = NemoFile("conformer_offline").write(tmp_path / "m.nemo")
    for family, source in (("nemo", nemo), ("wenet", experiment)):
        line = refusal(capsys, family, source, tmp_path / "m.pt", flag)
        assert f"{flag.split('=')[0]} is given" in line and f"nothing of this {family}" in line


def test_predictors_of_other_recurrent_layers(experiment, tmp_path, capsys):
    change_config(experiment, None, "predictor", "rnn")
    change_config(experiment, None, "predictor_conf", {"rnn_type": "gru"})
    assert "rnn_type is 'gru'" in refusal(capsys, "wenet", experiment, tmp_path / "m.pt")
