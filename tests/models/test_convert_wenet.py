"""WeNet experiments become archives that compute what WeNet computes."""

import copy
import json
import pathlib
from typing import Any, Dict

import numpy as np
import pytest
import torch
import yaml
from convert_support import ROOT, assert_equal_values, convert, main, need_shared, refusal

from models.reference.archive import mfcc_section

CASES = sorted(path.stem for path in (ROOT / "tests/golden/wenet").glob("*.npz"))


def load_case(name: str) -> Dict[str, np.ndarray]:
    """Arrays of a recorded case."""
    with np.load(ROOT / "tests/golden/wenet" / f"{name}.npz") as arrays:
        return dict(arrays)


def write_experiment(folder: pathlib.Path, case: Dict[str, np.ndarray]) -> Dict[str, Any]:
    """An experiment folder of a recorded case; returns its train.yaml."""
    config = yaml.safe_load(str(case["train_yaml"]))
    weights = {name[len("weight/"):]: torch.from_numpy(value) for name, value in case.items()
               if name.startswith("weight/")}
    torch.save(weights, folder / "final.pt")
    save_config(folder, config)
    symbols = ["<blank>", "<unk>", *"abcdefgh", "\u2581", "<sos/eos>"]
    (folder / "units.txt").write_text("".join(f"{s} {i}\n" for i, s in enumerate(symbols)),
                                      encoding="utf-8")
    return config


def decoder_name(theirs: str) -> str:
    """The model file's name of a decoder's tensor."""
    name = theirs[len("weight/decoder."):]
    for old, new in (("left_decoder.", "left."), ("right_decoder.", "right."),
                     ("decoders.", "layers."), ("embed.0.", "embed."),
                     ("output_layer.", "output.")):
        name = name.replace(old, new)
    return "attention_decoder." + (name if name.startswith(("left.", "right.")) else f"left.{name}")


def save_config(folder: pathlib.Path, config: Dict[str, Any]) -> None:
    (folder / "train.yaml").write_text(yaml.safe_dump(config))


def edit_weights(folder: pathlib.Path, change: Any) -> None:
    """Applies `change` to the state dict of an experiment."""
    weights = torch.load(folder / "final.pt")
    change(weights)
    torch.save(weights, folder / "final.pt")


@pytest.fixture
def experiment(tmp_path: pathlib.Path) -> pathlib.Path:
    """A small experiment that converts."""
    folder = tmp_path / "experiment"
    folder.mkdir()
    write_experiment(folder, load_case("v3_conformer_rel_pos"))
    return folder


@pytest.mark.parametrize("name", ["conformer_layernorm_k8", "conformer_batchnorm_k15_conv2d6"])
def test_shared_experiments(name, tmp_path):
    folder = need_shared(f"wenet_golden/{name}")
    module, config, units = convert("wenet", folder, tmp_path / "model.pt")
    with np.load(folder / "expected.npz") as expected:
        assert_equal_values(module, dict(expected))
    assert config["name"] == name
    assert units[0] == "<blank>" and len(units) == 30


def test_there_are_recorded_cases_of_every_version():
    assert {name.split("_")[0] for name in CASES} == {"v1", "v2", "v3", "main"}


@pytest.mark.parametrize("name", CASES)
def test_recorded_cases(name, tmp_path, capsys):
    case = load_case(name)
    write_experiment(tmp_path, case)
    choices = ["--shaw_left=8"] if "shaw" in name else []  # v3.1.0, see the test below
    module, config, _ = convert("wenet", tmp_path, tmp_path / "model.pt", "--verbose", *choices)
    assert_equal_values(module, case)
    out = capsys.readouterr().out
    assert f"encoder.layer_norm_eps: {config['encoder']['layer_norm_eps']}" in out
    assert "the attention decoder is left out" not in out
    decoder = {decoder_name(key): torch.from_numpy(value) for key, value in case.items()
               if key.startswith("weight/decoder.") and "concat_linear" not in key
               and not key.endswith(".pe")}
    if not config["attention_decoder"]["norm_first"]:
        decoder = {ours: value for ours, value in decoder.items() if ".after_norm." not in ours}
    kept = {ours: value for ours, value in module.state_dict().items()
            if ours.startswith("attention_decoder.")}
    assert decoder and decoder.keys() <= kept.keys()
    for ours, value in kept.items():  # a projection without bias gets zeros
        assert torch.equal(value, decoder.get(ours, torch.zeros_like(value))), ours
    eps = config["attention_decoder"]["layer_norm_eps"]
    assert eps == (1e-12 if name.startswith("v1") else 1e-5)
    tokens = torch.tensor([[3, 4]])
    log_probs = module.decoder_log_probs(torch.randn(1, 5, config["encoder"]["model_dim"]),
                                         torch.tensor([5]), tokens, torch.tensor([2]), False)
    assert log_probs.shape == (1, 3, 12) and torch.isfinite(log_probs).all()


def test_options_of_an_efficient_conformer(tmp_path, capsys):
    causal = write_experiment(tmp_path, load_case("v2_efficient_conformer_causal"))
    _, config, _ = convert("wenet", tmp_path, tmp_path / "model.pt")
    encoder = config["encoder"]
    assert (encoder["type"], encoder["strides"]) == ("efficient_conformer", [1, 2, 1])
    assert encoder["position"]["group_sizes"] == [3, 3, 1]
    # WeNet's 16 frames of 40 ms are 8 encoder frames, and groups are of 3.
    assert (config["streaming"]["chunk_size"], config["streaming"]["left_context"]) == (9, -1)
    capsys.readouterr()
    for section, change, expected in [
            ("efficient_conf", {"stride_layer_idx": [1, 1], "stride": [2, 2]}, "[1, 1]"),
            ("efficient_conf", {"stride_layer_idx": [3]}, "stride_layer_idx is [3]"),
            ("efficient_conf", {"stride": [2, 2]}, "stride [2, 2]"),
            ("efficient_conf", {"group_layer_idx": "all"}, "group_layer_idx is 'all'"),
            ("efficient_conf", {"group_size": 0}, "group_size is 0"),
            ("efficient_conf", {"a_new_option": 7}, "a_new_option is 7"),
            (None, {"use_cnn_module": False}, "use_cnn_module is false"),
            (None, {"pos_enc_layer_type": "abs_pos"}, "pos_enc_layer_type is 'abs_pos'")]:
        changed = copy.deepcopy(causal)
        conf = changed["encoder_conf"]
        (conf[section] if section else conf).update(change)
        save_config(tmp_path, changed)
        assert expected in refusal(capsys, "wenet", tmp_path, tmp_path / "model2.pt")


def test_an_efficient_conformer_in_chunks_on_request(tmp_path):
    write_experiment(tmp_path, load_case("main_efficient_conformer_symmetric"))
    _, config, _ = convert("wenet", tmp_path, tmp_path / "model.pt")
    assert config["streaming"]["chunk_size"] == -1
    _, config, _ = convert("wenet", tmp_path, tmp_path / "chunks.pt", "--convolution=dynamic_chunk")
    assert config["encoder"]["convolution"]["type"] == "dynamic_chunk"
    assert (config["streaming"]["chunk_size"], config["streaming"]["left_context"]) == (33, 126)


def test_contrastive_training_leaves_the_network_as_it_is(experiment, tmp_path):
    """WeNet's CTLModel, whose encoder computes each utterance twice in the training."""
    module, expected, _ = convert("wenet", experiment, tmp_path / "a.pt", "--name=m")
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config.update(model="ctl_model", encoder="dual_conformer")
    config.setdefault("model_conf", {}).update(ctl_weight=1, logit_temp=0.4, n_negatives=100)
    save_config(experiment, config)
    other, found, _ = convert("wenet", experiment, tmp_path / "b.pt", "--name=m")
    assert found == expected
    state = other.state_dict()
    assert all(torch.equal(state[name], value) for name, value in module.state_dict().items())


def test_epsilon_is_told_from_the_weights(tmp_path):
    epsilons = {}
    for name in ("v1_transformer_abs_pos", "v2_conformer_symmetric",
                 "main_conformer_no_pos_biases"):
        write_experiment(tmp_path, load_case(name))
        _, config, _ = convert("wenet", tmp_path, tmp_path / "model.pt")
        epsilons[name] = config["encoder"]["layer_norm_eps"]
    assert list(epsilons.values()) == [1e-12, 1e-5, 1e-3]
    _, config, _ = convert("wenet", tmp_path, tmp_path / "model.pt", "--layer_norm_eps=0.01")
    assert config["encoder"]["layer_norm_eps"] == 0.01


def test_ambiguous_sides_of_shaw_attention_are_not_guessed(tmp_path, capsys):
    write_experiment(tmp_path, load_case("v3_conformer_shaw"))
    assert "--shaw_left" in refusal(capsys, "wenet", tmp_path, tmp_path / "model.pt")


def test_symmetric_convolution_streams_on_request_only(tmp_path):
    write_experiment(tmp_path, load_case("v2_conformer_symmetric"))
    _, config, _ = convert("wenet", tmp_path, tmp_path / "model.pt")
    assert config["streaming"]["chunk_size"] == -1
    _, config, _ = convert("wenet", tmp_path, tmp_path / "model.pt", "--convolution=dynamic_chunk")
    assert config["encoder"]["convolution"]["type"] == "dynamic_chunk"
    assert config["streaming"]["chunk_size"] == 32


@pytest.mark.parametrize("is_json", [True, False])
def test_statistics_from_their_file_when_the_weights_have_none(is_json, experiment, tmp_path):
    mean = np.arange(40.0)
    variance = 4.0 + np.arange(40)
    count = 100
    sums, squares = mean * count, (variance + mean ** 2) * count
    if is_json:
        text = json.dumps({"mean_stat": sums.tolist(), "var_stat": squares.tolist(),
                           "frame_num": count})
    else:
        text = (" [\n" + " ".join(map(str, sums)) + f" {count}\n" + " ".join(map(str, squares))
                + " 0 ]\n")
    (experiment / "global_cmvn").write_text(text)
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config.update(cmvn="global_cmvn", cmvn_conf={"cmvn_file": "data/train/global_cmvn",
                                                 "is_json_cmvn": is_json})
    save_config(experiment, config)
    edit_weights(experiment, lambda weights: [weights.pop(f"encoder.global_cmvn.{part}")
                                              for part in ("mean", "istd")])
    module, _, _ = convert("wenet", experiment, tmp_path / "model.pt")
    state = module.state_dict()
    torch.testing.assert_close(state["encoder.global_cmvn.mean"], torch.from_numpy(mean).float())
    torch.testing.assert_close(state["encoder.global_cmvn.istd"],
                               torch.from_numpy(variance ** -0.5).float())


@pytest.mark.parametrize("options", [{"cmvn": None}, {}])
def test_a_model_without_statistics_has_none(options, experiment, tmp_path, capsys):
    """Whatever files train.yaml names: WeNet keeps the statistics in use in the weights."""
    (experiment / "global_cmvn").write_text("not read")
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config.pop("cmvn", None)
    config.update(options, cmvn_conf={"cmvn_file": "data/train/global_cmvn", "is_json_cmvn": True})
    save_config(experiment, config)
    edit_weights(experiment, lambda weights: [weights.pop(f"encoder.global_cmvn.{part}")
                                              for part in ("mean", "istd")])
    module, sections, _ = convert("wenet", experiment, tmp_path / "model.pt")
    assert sections["encoder"]["normalization"] == {"type": "none"}
    assert not any("global_cmvn" in name for name in module.state_dict())
    assert "note: the features are not normalised: cmvn_file is data/train/global_cmvn" \
        in capsys.readouterr().out


def test_statistics_that_the_options_contradict(experiment, tmp_path, capsys):
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    save_config(experiment, {**config, "cmvn": None})
    assert "train.yaml.cmvn is null, but the weights hold encoder.global_cmvn.mean" in refusal(
        capsys, "wenet", experiment, tmp_path / "model.pt")


@pytest.mark.parametrize("window", ["povey", "hamming", "hanning", "rectangular", "blackman"])
def test_windows_of_the_filter_bank(window, experiment, tmp_path):
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config["dataset_conf"]["fbank_conf"]["window_type"] = window
    save_config(experiment, config)
    sections = convert("wenet", experiment, tmp_path / "model.pt")[1]
    assert sections["features"]["window_type"] == window


def test_checkpoints_of_trainers(experiment, tmp_path):
    weights = torch.load(experiment / "final.pt")
    torch.save({"epoch": 3, "state_dict": {f"module.{k}": v for k, v in weights.items()}},
               experiment / "epoch_3.pt")
    (experiment / "final.pt").unlink()
    module, _, _ = convert("wenet", experiment, tmp_path / "model.pt", "--checkpoint=epoch_3.pt")
    assert torch.equal(module.state_dict()["ctc.ctc_lo.bias"], weights["ctc.ctc_lo.bias"])


@pytest.mark.parametrize("section, name", [
    ("encoder_conf", "normalize_before"), ("encoder_conf", "use_cnn_module"),
    ("encoder_conf", "macaron_style"), ("encoder_conf", "final_norm"),
    ("encoder_conf", "norm_eps"), ("encoder_conf", "num_blocks"), ("encoder_conf", "concat_after"),
    ("encoder_conf", "selfattention_layer_type"), ("decoder_conf", "norm_eps"),
    ("dataset_conf", "raw_wav"), (None, "raw_wav"), (None, "encoder"), (None, "input_dim"),
    ("ctc_conf", "ctc_blank_id")])
def test_null_is_no_default(section, name, experiment, tmp_path, capsys):
    """WeNet passes None on: false for a condition, an error elsewhere."""
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    (config if section is None else config.setdefault(section, {}))[name] = None
    save_config(experiment, config)
    where = f"train.yaml.{section}.{name}" if section else f"train.yaml.{name}"
    if section == "decoder_conf":
        convert("wenet", experiment, tmp_path / "model.pt")
        assert f"the attention decoder is left out: {where} is null" in capsys.readouterr().out
    else:
        line = refusal(capsys, "wenet", experiment, tmp_path / "model.pt")
        assert f"{where} is null, which is not supported" in line


def test_null_where_it_is_the_default(experiment, tmp_path):
    expected = convert("wenet", experiment, tmp_path / "model.pt")[1]
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config["encoder_conf"].update(n_kv_head=None, head_dim=None)
    config["decoder_conf"].update(n_kv_head=None, head_dim=None)
    config.update(cmvn_file=None, predictor=None)
    save_config(experiment, config)
    assert convert("wenet", experiment, tmp_path / "model.pt")[1] == expected


@pytest.mark.parametrize("section, name, value", [
    ("encoder_conf", "selfattention_layer_type", "rope_abs_selfattn"),
    ("encoder_conf", "pos_enc_layer_type", "rope_pos"),
    ("encoder_conf", "pos_enc_layer_type", "abs_pos_whisper"),
    ("encoder_conf", "pos_enc_layer_type", "abs_pos"),
    ("encoder_conf", "input_layer", "conv1d2"),
    ("encoder_conf", "activation_type", "hardtanh"),
    ("encoder_conf", "layer_norm_type", "rms_norm"),
    ("encoder_conf", "mlp_type", "moe"),
    ("encoder_conf", "n_kv_head", 1),
    ("encoder_conf", "a_new_option", 7),
    ("encoder_conf", "output_size", "big"), ("encoder_conf", "output_size", 10 ** 30),
    ("encoder_conf", "num_blocks", 1025),
    ("tokenizer_conf", "symbol_table_path", 7), ("cmvn_conf", "cmvn_file", [1]),
    (None, "encoder", "squeezeformer"),
    (None, "model", "paraformer"),
    (None, "tokenizer", "whisper"),
    ("ctc_conf", "ctc_blank_id", 12),
    ("dataset_conf", "feats_type", "log_mel_spectrogram"), (None, "cmvn", "utterance_cmvn"),
    ("model_conf", "a_new_option", 7), ("dataset_conf", "a_new_option", 7),
    ("cmvn_conf", "a_new_option", 7), ("tokenizer_conf", "a_new_option", 7),
    ("ctc_conf", "a_new_option", 7), (None, "a_new_option", 7),
])
def test_unsupported_options(section, name, value, experiment, tmp_path, capsys):
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    (config.setdefault(section, {}) if section else config)[name] = value
    save_config(experiment, config)
    line = refusal(capsys, "wenet", experiment, tmp_path / "model.pt")
    assert name in line and str(value) in line


@pytest.mark.parametrize("section, name, value", [
    ("fbank_conf", "window_type", "kaiser"), ("fbank_conf", "a_new_option", 7),
    ("resample_conf", "a_new_option", 7)])
def test_unsupported_options_of_the_features(section, name, value, experiment, tmp_path, capsys):
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config["dataset_conf"].setdefault(section, {})[name] = value
    save_config(experiment, config)
    line = refusal(capsys, "wenet", experiment, tmp_path / "model.pt")
    assert f"train.yaml.dataset_conf.{section}.{name} is {value!r}" in line


def test_mfcc(experiment, tmp_path, capsys):
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    dataset = config["dataset_conf"]
    bins = dataset.pop("fbank_conf")["num_mel_bins"]
    dataset.update(feats_type="mfcc", mfcc_conf={
        "num_mel_bins": bins + 3, "num_ceps": bins, "frame_length": 25, "frame_shift": 12,
        "low_freq": 30, "high_freq": -400, "dither": 0.1})
    save_config(experiment, config)
    _, converted, _ = convert("wenet", experiment, tmp_path / "model.pt")
    assert converted["features"] == mfcc_section(bins, num_mel_bins=bins + 3, frame_shift_ms=12.0,
                                                 low_freq=30.0, high_freq=-400.0)
    capsys.readouterr()
    for change, expected in [({"num_ceps": bins + 4}, "num_ceps"), ({"lifter": 7}, "lifter is 7")]:
        dataset["mfcc_conf"] = {"num_mel_bins": bins + 3, "num_ceps": bins, **change}
        save_config(experiment, config)
        assert expected in refusal(capsys, "wenet", experiment, tmp_path / "model2.pt")


def test_unsupported_options_of_older_features(experiment, tmp_path, capsys):
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config["dataset_conf"].pop("fbank_conf")
    config["collate_conf"] = {"spec_aug": True, "feature_dither": 0.0, "feature_extraction_conf": {
        "feature_type": "fbank", "mel_bins": 40, "frame_shift": 10}}
    save_config(experiment, config)
    convert("wenet", experiment, tmp_path / "model.pt")
    capsys.readouterr()
    config["collate_conf"]["a_new_option"] = 7
    save_config(experiment, config)
    assert "collate_conf.a_new_option is 7" in refusal(capsys, "wenet", experiment,
                                                       tmp_path / "model2.pt")


def test_options_of_the_training_are_known(experiment, tmp_path):
    """Those that WeNet 1 to 3 write into train.yaml."""
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config.update(accum_grad=4, dtype="fp32", epoch=1, grad_clip=5, init_infos={}, rank=0,
                  is_distributed=False, is_json_cmvn=True, lfmmi_dir="", log_interval=100,
                  max_epoch=240, model_dir="exp", optim="adam", optim_conf={"lr": 0.002},
                  save_states="model_only", scheduler="warmuplr", train_engine="torch_ddp",
                  scheduler_conf={"warmup_steps": 25000}, use_amp=False, vocab_size=12,
                  ctc_conf={"ctc_blank_id": 0},
                  tokenizer_conf={"bpe_path": None, "is_multilingual": False,
                                  "non_lang_syms_path": None, "num_languages": 1,
                                  "special_tokens": {"<blank>": 0, "<unk>": 1, "<sos>": 11},
                                  "split_with_space": False, "symbol_table_path": "units.txt"})
    config["model_conf"] = {"ctc_weight": 0.3, "lsm_weight": 0.1, "reverse_weight": 0.3,
                            "length_normalized_loss": False}
    config["dataset_conf"].update(
        filter_conf={"max_length": 40960}, speed_perturb=True, spec_aug=True, shuffle=True,
        spec_aug_conf={"num_t_mask": 2}, spec_sub=True, spec_sub_conf={"max_t": 30},
        spec_trim=False, shuffle_conf={"shuffle_size": 1500}, sort=True,
        sort_conf={"sort_size": 500}, batch_conf={"batch_type": "static", "batch_size": 16},
        resample_conf={"resample_rate": 16000})
    save_config(experiment, config)
    convert("wenet", experiment, tmp_path / "model.pt")


@pytest.mark.parametrize("section, name, value", [
    (None, "model", "paraformer"), (None, "model", "whisper"), (None, "encoder", "squeezeformer"),
    (None, "predictor", "cif_predictor"), ("dataset_conf", "feats_type", "log_mel_spectrogram")])
def test_other_kinds_of_models_are_named_before_the_weights_are_read(section, name, value,
                                                                     experiment, tmp_path, capsys):
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    (config[section] if section else config)[name] = value
    save_config(experiment, config)
    (experiment / "final.pt").write_bytes(b"not read")
    line = refusal(capsys, "wenet", experiment, tmp_path / "model.pt")
    assert f"{name} is {value!r}, which is not supported" in line


def test_a_decoder_of_frames_without_blanks_is_left_out(experiment, tmp_path, capsys):
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config.setdefault("model_conf", {})["apply_non_blank_embedding"] = True
    save_config(experiment, config)
    assert convert("wenet", experiment, tmp_path / "model.pt")[1]["attention_decoder"] is None
    assert "apply_non_blank_embedding is True, which is not supported" in capsys.readouterr().out


@pytest.mark.parametrize("name, value", [
    ("layer_norm_type", "rms_norm"), ("mlp_type", "moe"), ("input_layer", "embed_learnable_pe"),
    ("activation_type", "hardtanh"), ("n_kv_head", 1), ("a_new_option", 7)])
def test_decoders_of_another_kind_are_left_out_by_name(name, value, experiment, tmp_path, capsys):
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config["decoder_conf"][name] = value
    save_config(experiment, config)
    module, sections, _ = convert("wenet", experiment, tmp_path / "model.pt")
    assert sections["attention_decoder"] is None
    assert not any(key.startswith("attention_decoder.") for key in module.state_dict())
    line = next(line for line in capsys.readouterr().out.splitlines() if "is left out" in line)
    assert f"train.yaml.decoder_conf.{name} is {value!r}" in line


def test_words_as_tokens(experiment, tmp_path, capsys):
    """WeNet joins words with connect_symbol."""
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    before = convert("wenet", experiment, tmp_path / "model.pt")[2]
    config["tokenizer_conf"] = {"split_with_space": True, "connect_symbol": " "}
    save_config(experiment, config)
    units = convert("wenet", experiment, tmp_path / "model.pt")[2]
    assert units == [unit if unit.startswith("<") else f"\u2581{unit}" for unit in before]
    config["tokenizer_conf"]["connect_symbol"] = "|"
    save_config(experiment, config)
    capsys.readouterr()
    assert "connect_symbol is '|', expected a space" in refusal(
        capsys, "wenet", experiment, tmp_path / "other.pt")


def test_sos_and_eos_of_the_tokenizer(experiment, tmp_path):
    config = yaml.safe_load((experiment / "train.yaml").read_text())
    config["tokenizer_conf"] = {"special_tokens": {"<sos>": 2, "<eos>": 3}}
    save_config(experiment, config)
    section = convert("wenet", experiment, tmp_path / "model.pt")[1]["attention_decoder"]
    assert (section["sos_id"], section["eos_id"]) == (2, 3)


@pytest.mark.parametrize("name", ["final.pt", "train.yaml", "units.txt"])
def test_missing_files(name, experiment, tmp_path, capsys):
    (experiment / name).unlink()
    line = refusal(capsys, "wenet", experiment, tmp_path / "model.pt")
    assert name in line and "no such file" in line


def test_wrong_weights(experiment, tmp_path, capsys):
    output = tmp_path / "model.pt"
    original = (experiment / "final.pt").read_bytes()

    def line_after(change: Any) -> str:
        (experiment / "final.pt").write_bytes(original)
        edit_weights(experiment, change)
        return refusal(capsys, "wenet", experiment, output)

    q = "encoder.encoders.1.self_attn.linear_q.weight"
    assert "encoder.new.weight" in line_after(lambda w: w.update({"encoder.new.weight": w[q]}))
    assert q in line_after(lambda w: w.pop(q))
    line = line_after(lambda w: w.update({q: w[q][:, :8]}))
    assert q in line and "(16, 8)" in line and "(16, 16)" in line
    line = line_after(lambda w: w[q].fill_(float("nan")))
    assert q in line and "not finite" in line
    line = line_after(lambda w: w.update({"encoder.embed.pos_enc.pe": torch.zeros(1, 50, 16)}))
    assert "encoder.embed.pos_enc.pe" in line
    assert "num_blocks" in line_after(
        lambda w: [w.pop(k) for k in list(w) if ".encoders.1." in k])


def test_wrong_units(experiment, tmp_path, capsys):
    for text, message in (("<blank> 0\na 1\n", "output_dim"), ("<blank> 0\na 2\n", "id 1"),
                          ("<blank> 0\nab\n", "line 2"), ("<blank> 0\na 0\n", "twice")):
        (experiment / "units.txt").write_text(text)
        assert message in refusal(capsys, "wenet", experiment, tmp_path / "model.pt")


def test_output_folder_that_is_not_there(experiment, tmp_path, capsys):
    assert main(["wenet", str(experiment), f"--output={tmp_path}/nowhere/model.pt"]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_not_an_experiment(tmp_path, capsys):
    assert "no such file" in refusal(capsys, "wenet", tmp_path / "nothing", tmp_path / "model.pt")
    (tmp_path / "final.zip").write_bytes(b"")
    assert "folder" in refusal(capsys, "wenet", tmp_path / "final.zip", tmp_path / "model.pt")
