"""ESPnet experiments become archives. Their weights here are random, under ESPnet's names."""

import pathlib
from typing import Any, Dict

import numpy as np
import pytest
import torch
import yaml
from convert_support import convert, encode, normal, refusal
from torch import Tensor

from models.reference.archive import mel_spectrogram_section

DIM, HEADS, FF, LAYERS, BINS, KERNEL = 16, 2, 24, 2, 40, 7
TOKENS = ["<blank>", "<unk>", "<space>", *"abcde", "<sos/eos>"]


def linear(weights: Dict[str, Tensor], name: str, random: np.random.RandomState, outputs: int,
           inputs: int, bias: bool = True) -> None:
    weights[f"{name}.weight"] = normal(random, outputs, inputs)
    if bias:
        weights[f"{name}.bias"] = normal(random, outputs)


def norm(weights: Dict[str, Tensor], name: str, random: np.random.RandomState) -> None:
    weights[f"{name}.weight"] = 1 + normal(random, DIM)
    weights[f"{name}.bias"] = normal(random, DIM)


def make_weights(conformer: bool, macaron: bool, relative: bool, kernels: Any) -> Dict[str, Tensor]:
    """The state dict of an ESPnet model. kernels: (size, stride) of each subsampling stage; those
    of conv1d2 read all bins of a frame."""
    random = np.random.RandomState(5)
    weights: Dict[str, Tensor] = {"frontend.logmel.melmat": torch.zeros(257, BINS)}
    is_1d = kernels == KERNELS["conv1d2"]
    left, inputs = (1, BINS) if is_1d else (BINS, 1)
    for i, (size, stride) in enumerate(kernels):
        weights[f"encoder.embed.conv.{2 * i}.weight"] = normal(
            random, DIM, inputs, *[size] * (1 if is_1d else 2))
        weights[f"encoder.embed.conv.{2 * i}.bias"] = normal(random, DIM)
        left, inputs = 1 if is_1d else (left - size) // stride + 1, DIM
    linear(weights, "encoder.embed.out.0", random, DIM, DIM * left)
    for i in range(LAYERS):
        layer = f"encoder.encoders.{i}."
        for part in ("q", "k", "v", "out"):
            linear(weights, f"{layer}self_attn.linear_{part}", random, DIM, DIM)
        if relative:
            linear(weights, f"{layer}self_attn.linear_pos", random, DIM, DIM, bias=False)
            for part in "uv":
                weights[f"{layer}self_attn.pos_bias_{part}"] = normal(random, HEADS, DIM // HEADS)
        for part in ["feed_forward"] + (["feed_forward_macaron"] if macaron else []):
            linear(weights, f"{layer}{part}.w_1", random, FF, DIM)
            linear(weights, f"{layer}{part}.w_2", random, DIM, FF)
        names = ["norm1", "norm2"]
        if conformer:
            names = ["norm_ff", "norm_mha", "norm_conv", "norm_final"]
            names += ["norm_ff_macaron"] if macaron else []
            for part, outputs, width in (("pointwise_conv1", 2 * DIM, DIM),
                                         ("pointwise_conv2", DIM, DIM)):
                weights[f"{layer}conv_module.{part}.weight"] = normal(random, outputs, width, 1)
                weights[f"{layer}conv_module.{part}.bias"] = normal(random, outputs)
            weights[f"{layer}conv_module.depthwise_conv.weight"] = normal(random, DIM, 1, KERNEL)
            weights[f"{layer}conv_module.depthwise_conv.bias"] = normal(random, DIM)
            norm(weights, f"{layer}conv_module.norm", random)
            weights[f"{layer}conv_module.norm.running_mean"] = normal(random, DIM)
            weights[f"{layer}conv_module.norm.running_var"] = 0.5 + normal(random, DIM).abs()
            weights[f"{layer}conv_module.norm.num_batches_tracked"] = torch.tensor(9)
        for name in names:
            norm(weights, layer + name, random)
    norm(weights, "encoder.after_norm", random)
    linear(weights, "ctc.ctc_lo", random, len(TOKENS), DIM)
    add_decoder(weights, random)
    return weights


def add_decoder(weights: Dict[str, Tensor], random: np.random.RandomState) -> None:
    """ESPnet's TransformerDecoder."""
    weights["decoder.embed.0.weight"] = normal(random, len(TOKENS), DIM)
    for i in range(LAYERS):
        layer = f"decoder.decoders.{i}."
        for attention in ("self_attn", "src_attn"):
            for part in ("q", "k", "v", "out"):
                linear(weights, f"{layer}{attention}.linear_{part}", random, DIM, DIM)
        linear(weights, f"{layer}feed_forward.w_1", random, FF, DIM)
        linear(weights, f"{layer}feed_forward.w_2", random, DIM, FF)
        for name in ("norm1", "norm2", "norm3"):
            norm(weights, layer + name, random)
    norm(weights, "decoder.after_norm", random)
    linear(weights, "decoder.output_layer", random, len(TOKENS), DIM)


KERNELS = {"conv1d2": [(3, 1), (3, 2)], "conv2d": [(3, 2)] * 2, "conv2d2": [(3, 2), (3, 1)],
           "conv2d6": [(3, 2), (5, 3)], "conv2d8": [(3, 2)] * 3}


class Experiment:
    """An experiment folder, to be changed and written."""

    def __init__(self, folder: pathlib.Path, conformer: bool = True, macaron: bool = True,
                 relative: bool = True, input_layer: str = "conv2d", **changes: Any) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        conf: Dict[str, Any] = {"output_size": DIM, "attention_heads": HEADS, "linear_units": FF,
                                "num_blocks": LAYERS, "dropout_rate": 0.1}
        conf["input_layer"] = input_layer
        if conformer:
            conf.update(macaron_style=macaron, cnn_module_kernel=KERNEL, use_cnn_module=True,
                        rel_pos_type="latest")
        conf.update(changes)
        self.config: Dict[str, Any] = {
            "encoder": "conformer" if conformer else "transformer", "encoder_conf": conf,
            "decoder": "transformer", "decoder_conf": {
                "attention_heads": HEADS, "linear_units": FF, "num_blocks": LAYERS},
            "token_type": "char", "token_list": list(TOKENS),
            "input_size": None, "frontend": "default", "frontend_conf": {
                "n_fft": 512, "hop_length": 160, "n_mels": BINS, "fs": "16k"},
            "normalize": "global_mvn",
            "normalize_conf": {"stats_file": "exp/asr_stats_raw/train/feats_stats.npz"}}
        self.weights = make_weights(conformer, macaron and conformer, relative,
                                    KERNELS[input_layer])
        random = np.random.RandomState(6)
        self.mean = random.standard_normal(BINS)
        self.variance = 1 + random.random_sample(BINS)

    def write(self, checkpoint: str = "valid.acc.ave.pth") -> pathlib.Path:
        torch.save(self.weights, self.folder / checkpoint)
        (self.folder / "config.yaml").write_text(yaml.safe_dump(self.config))
        count = 250
        np.savez(self.folder / "feats_stats.npz", count=count, sum=self.mean * count,
                 sum_square=(self.variance + self.mean ** 2) * count)
        return self.folder


OWN_FEATURES = mel_spectrogram_section(  # of Experiment's frontend_conf
    preemph_coeff=0.0, frame_length=512, padding="reflect", last_frame=True, periodic_window=True,
    num_mel_bins=BINS, log_guard="floor", log_guard_value=1e-10)


@pytest.mark.parametrize("input_layer", KERNELS)
@pytest.mark.parametrize("conformer, macaron", [(True, True), (True, False), (False, False)])
def test_experiments(conformer, macaron, input_layer, tmp_path, capsys):
    made = Experiment(tmp_path / "exp", conformer, macaron, conformer, input_layer)
    module, config, units = convert("espnet", made.write(), tmp_path / "m.pt", "--verbose")
    encoder = config["encoder"]
    assert encoder["subsampling"]["type"] == {"conv2d": "conv2d4"}.get(input_layer, input_layer)
    assert encoder["position"]["scheme"] == ("chunk_rpe" if conformer else "absolute")
    assert encoder["feed_forward"] == {"macaron": macaron, "bias": True,
                                       "activation": "swish" if conformer else "relu"}
    assert encoder["layer_norm_eps"] == 1e-12 and config["streaming"]["chunk_size"] == -1
    assert units == ["<blank>", "<unk>", "\u2581", *"abcde", "<sos/eos>"]
    assert config["features"] == OWN_FEATURES
    state = module.state_dict()
    assert torch.equal(state["attention_decoder.left.output.bias"],
                       made.weights["decoder.output_layer.bias"])
    assert config["attention_decoder"] == {
        "vocab_size": 9, "num_heads": HEADS, "feed_forward_dim": FF, "left_layers": LAYERS,
        "right_layers": 0, "norm_first": True, "activation": "relu", "layer_norm_eps": 1e-12,
        "sos_id": 8, "eos_id": 8}
    torch.testing.assert_close(state["encoder.global_cmvn.istd"],
                               torch.from_numpy(made.variance ** -0.5).float())
    features = np.random.RandomState(7).standard_normal((120, BINS))
    encoded, log_probs = encode(module, features)
    assert encoded.size(1) == DIM and torch.isfinite(log_probs).all()
    out = capsys.readouterr().out
    assert "features.frame_length: 512  (assumed: " in out


def test_words_as_tokens(tmp_path):
    """Words are parted by spaces; tokens in angle brackets are none."""
    made = Experiment(tmp_path / "exp")
    made.config["token_type"] = "word"
    made.config["token_list"] = ["<blank>", "<unk>", "off", *"abcde", "<sos/eos>"]
    _, config, units = convert("espnet", made.write(), tmp_path / "m.pt")
    assert units == ["<blank>", "<unk>", "\u2581off", *(f"\u2581{c}" for c in "abcde"), "<sos/eos>"]
    assert config["special_tokens"] == [{"id": 8, "kind": "hidden"}]


def test_kinds_of_positions(tmp_path):
    def scheme(relative: bool = True, **changes: Any) -> Any:
        made = Experiment(tmp_path / "exp", relative=relative, **changes)
        if changes.get("rel_pos_type") == "default":
            del made.config["encoder_conf"]["rel_pos_type"]
        return convert("espnet", made.write(), tmp_path / "m.pt")[1]["encoder"]["position"]

    assert scheme() == {"scheme": "chunk_rpe", "linear_pos_bias": False,
                        "query_scaling": "after_bias", "table_order": "descending"}
    legacy = {"scheme": "legacy_rel_pos", "linear_pos_bias": False, "query_scaling": "after_bias",
              "table_length": 5000}
    assert scheme(rel_pos_type="legacy") == legacy
    assert scheme(rel_pos_type="default") == legacy  # ESPnet's default
    assert scheme(pos_enc_layer_type="legacy_rel_pos", rel_pos_type="latest",
                  selfattention_layer_type="legacy_rel_selfattn", max_pos_emb_len=700) == {
        **legacy, "table_length": 700}
    assert scheme(False, pos_enc_layer_type="abs_pos", selfattention_layer_type="selfattn") == {
        "scheme": "absolute"}


def test_statistics_among_the_weights_come_first(tmp_path):
    made = Experiment(tmp_path / "exp")
    made.weights["normalize.mean"] = torch.full((BINS,), 3.0)
    made.weights["normalize.std"] = torch.full((BINS,), 4.0)
    module, _, _ = convert("espnet", made.write(), tmp_path / "m.pt")
    assert torch.equal(module.state_dict()["encoder.global_cmvn.istd"], torch.full((BINS,), 0.25))
    made.config["normalize_conf"]["norm_vars"] = False
    module, _, _ = convert("espnet", made.write(), tmp_path / "m.pt")
    assert torch.equal(module.state_dict()["encoder.global_cmvn.istd"], torch.ones(BINS))
    assert torch.equal(module.state_dict()["encoder.global_cmvn.mean"], torch.full((BINS,), 3.0))


def test_options_of_the_features(tmp_path):
    made = Experiment(tmp_path / "exp")
    made.config["frontend_conf"] = {"fs": 8000, "n_fft": 256, "win_length": 200, "hop_length": 80,
                                    "n_mels": BINS, "fmin": 20, "fmax": None, "htk": True,
                                    "window": "hamming", "log_base": None}
    config = convert("espnet", made.write(), tmp_path / "m.pt")[1]
    assert config["features"] == {
        **OWN_FEATURES, "sample_frequency": 8000, "fft_size": 256, "frame_length": 200,
        "frame_shift": 80, "low_freq": 20.0, "high_freq": 4000.0, "mel_scale": "htk",
        "window_type": "hamming"}
    made.config["frontend_conf"] = {"n_mels": BINS}
    assert convert("espnet", made.write(), tmp_path / "m.pt")[1]["features"] == {
        **OWN_FEATURES, "frame_shift": 128}


def test_features_made_by_kaldi(tmp_path):
    made = Experiment(tmp_path / "exp")
    made.config.update(input_size=BINS, frontend=None)
    _, config, _ = convert("espnet", made.write(), tmp_path / "m.pt")
    assert config["features"]["window_type"] == "povey"
    assert config["encoder"]["input_dim"] == BINS


def test_post_norm_has_no_norm_at_the_end(tmp_path):
    made = Experiment(tmp_path / "exp", normalize_before=False)
    del made.weights["encoder.after_norm.weight"], made.weights["encoder.after_norm.bias"]
    _, config, _ = convert("espnet", made.write(), tmp_path / "m.pt")
    assert not config["encoder"]["norm_first"] and not config["encoder"]["after_norm"]


def test_several_checkpoints(tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    made.write("1epoch.pth")
    made.write("2epoch.pth")
    assert "--checkpoint" in refusal(capsys, "espnet", made.folder, tmp_path / "m.pt")
    convert("espnet", made.folder, tmp_path / "m.pt", "--checkpoint=1epoch.pth")
    made.write("valid.acc.ave.pth")
    convert("espnet", made.folder, tmp_path / "m.pt")


@pytest.mark.parametrize("section, name, value", [
    ("encoder_conf", "input_layer", "linear"), ("encoder_conf", "input_layer", "conv1d3"),
    ("encoder_conf", "pos_enc_layer_type", "scaled_abs_pos"),
    ("encoder_conf", "positionwise_layer_type", "conv1d"), ("encoder_conf", "concat_after", True),
    ("encoder_conf", "activation_type", "hardtanh"), ("encoder_conf", "zero_triu", True),
    ("encoder_conf", "selfattention_layer_type", "lf_selfattn"),
    ("encoder_conf", "new_option", 3), (None, "encoder", "contextual_block_conformer"),
    (None, "normalize", "batch_mvn"), (None, "frontend", "s3prl"),
    (None, "preencoder", "linear"), ("frontend_conf", "window", "bartlett"),
    (None, "model", "st"), ("frontend_conf", "center", False), ("frontend_conf", "fs", "16 kHz"),
    ("frontend_conf", "log_base", 10), ("frontend_conf", "normalized", True),
    ("frontend_conf", "win_length", 600), ("frontend_conf", "fmax", 9000),
    ("frontend_conf", "n_fft", 511), ("frontend_conf", "new_option", 3),
    ("encoder_conf", "ctc_trim", True), ("normalize_conf", "new_option", 3),
    ("model_conf", "new_option", 3), (None, "new_option", 3),
    (None, "speech_volume_normalize", 1.0), (None, "use_lang_prompt", True),
])
def test_unsupported_options(section, name, value, tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    (made.config.setdefault(section, {}) if section else made.config)[name] = value
    line = refusal(capsys, "espnet", made.write(), tmp_path / "m.pt")
    assert name in line and str(value) in line


@pytest.mark.parametrize("section, name", [
    ("encoder_conf", "normalize_before"), ("encoder_conf", "macaron_style"),
    ("encoder_conf", "use_cnn_module"), ("encoder_conf", "rel_pos_type"),
    ("encoder_conf", "zero_triu"), ("frontend_conf", "window"), ("frontend_conf", "hop_length"),
    ("frontend_conf", "fs"), ("frontend_conf", "center"), ("frontend_conf", "htk"),
    ("normalize_conf", "norm_vars"), ("model_conf", "sym_sos"), (None, "encoder"),
    (None, "frontend"), (None, "token_type"), (None, "token_list")])
def test_null_is_no_default(section, name, tmp_path, capsys):
    """ESPnet passes None on: no window, false for a condition, an error elsewhere."""
    made = Experiment(tmp_path / "exp")
    (made.config.setdefault(section, {}) if section else made.config)[name] = None
    where = f"config.yaml.{section}.{name}" if section else f"config.yaml.{name}"
    line = refusal(capsys, "espnet", made.write(), tmp_path / "m.pt")
    assert f"{where} is null, which is not supported" in line


def test_null_where_it_is_the_default(tmp_path):
    made = Experiment(tmp_path / "exp")
    expected = convert("espnet", made.write(), tmp_path / "m.pt")[1]
    made.config["frontend_conf"].update(win_length=None, fmin=None, fmax=None, frontend_conf=None)
    made.config.update(preencoder=None, postencoder=None, specaug=None,
                       speech_volume_normalize=None)
    assert convert("espnet", made.write(), tmp_path / "m.pt")[1] == expected
    made.config["normalize"] = None
    changed = convert("espnet", made.write(), tmp_path / "m.pt")[1]
    assert changed["encoder"]["normalization"] == {"type": "none"}


@pytest.mark.parametrize("conf, section", [
    ({}, {"type": "utterance_mean"}), (None, {"type": "utterance_mean"}),
    ({"norm_vars": False, "eps": 1e-3}, {"type": "utterance_mean"}),
    ({"norm_vars": True}, {"type": "utterance_biased", "epsilon": 1e-20}),
    ({"norm_vars": True, "norm_means": True, "eps": 1e-3},
     {"type": "utterance_biased", "epsilon": 1e-3})])
def test_normalisation_over_the_utterance(conf, section, tmp_path):
    made = Experiment(tmp_path / "exp")
    made.config.update(normalize="utterance_mvn", normalize_conf=conf)
    encoder = convert("espnet", made.write(), tmp_path / "m.pt")[1]["encoder"]
    assert encoder["normalization"] == section
    encoder = convert("espnet", made.folder, tmp_path / "m.pt", "--normalization=running",
                      "--convolution=dynamic_chunk")[1]["encoder"]
    assert encoder["normalization"] == {**section,
                                        "type": section["type"].replace("utterance", "running")}


def test_normalisation_without_means_is_refused(tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    made.config.update(normalize="utterance_mvn", normalize_conf={"norm_means": False})
    assert "config.yaml.normalize_conf.norm_means is False, which is not supported" in refusal(
        capsys, "espnet", made.write(), tmp_path / "m.pt")


def test_volume_that_the_normalisation_takes_away(tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    made.config.update(normalize="utterance_mvn", normalize_conf={}, speech_volume_normalize=1.0)
    config = convert("espnet", made.write(), tmp_path / "m.pt")[1]
    assert config["encoder"]["normalization"] == {"type": "utterance_mean"}
    assert "speech_volume_normalize 1.0 is left out: the mean over the utterance takes it away" in \
        capsys.readouterr().out
    made.config["input_size"] = 80
    assert "speech_volume_normalize is 1.0, which is not supported without utterance_mvn" in \
        refusal(capsys, "espnet", made.write(), tmp_path / "m.pt")


def test_mask_ctc_decodes_with_its_ctc_head(tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    made.config.update(model="maskctc", decoder="mlm", model_conf={"sym_mask": "<mask>"})
    config = convert("espnet", made.write(), tmp_path / "m.pt")[1]
    assert config["ctc"]["vocab_size"] == len(TOKENS) and config["attention_decoder"] is None
    assert "the model is a Mask-CTC: it decodes with its CTC head alone" in capsys.readouterr().out


def test_models_with_an_attention_decoder_only(tmp_path, capsys):
    """ESPnet makes no CTC head with ctc_weight 0."""
    made = Experiment(tmp_path / "exp")
    made.config["model_conf"] = {"ctc_weight": 0.0}
    made.weights = {name: value for name, value in made.weights.items()
                    if not name.startswith("ctc.")}
    assert "has no CTC head (ctc.ctc_lo; ESPnet makes none with ctc_weight 0)" in refusal(
        capsys, "espnet", made.write(), tmp_path / "m.pt")


@pytest.mark.parametrize("flag", ["--causal", "--num_mel_bins=80", "--feature_scale=0.1",
                                  "--shaw_left=64"])
def test_flags_of_other_toolkits(flag, tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    assert f"{flag.split('=')[0]} is given" in refusal(capsys, "espnet", made.write(),
                                                       tmp_path / "m.pt", flag)


class TransducerExperiment(Experiment):
    """With ESPnet's transducer in the place of the attention decoder."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        random = np.random.RandomState(7)
        self.config.update(decoder="transducer", decoder_conf={
            "rnn_type": "lstm", "num_layers": 2, "hidden_size": 12, "dropout": 0.1},
            joint_net_conf={"joint_space_size": 10})
        weights = self.weights = {name: value for name, value in self.weights.items()
                                  if not name.startswith("decoder.")}
        weights["decoder.embed.weight"] = normal(random, len(TOKENS), 12)
        for i in range(2):
            for part in ("ih", "hh"):
                weights[f"decoder.decoder.{i}.weight_{part}_l0"] = normal(random, 48, 12)
                weights[f"decoder.decoder.{i}.bias_{part}_l0"] = normal(random, 48)
        linear(weights, "joint_network.lin_enc", random, 10, DIM)
        linear(weights, "joint_network.lin_dec", random, 10, 12)
        linear(weights, "joint_network.lin_out", random, len(TOKENS), 10)


def test_transducers(tmp_path):
    made = TransducerExperiment(tmp_path / "exp")
    module, config, _ = convert("espnet", made.write(), tmp_path / "m.pt")
    assert config["ctc"] is not None and config["attention_decoder"] is None
    assert config["transducer"] == {
        "vocab_size": len(TOKENS), "blank_id": 0,
        "predictor": {"type": "lstm", "embedding_dim": 12, "hidden_dim": 12, "num_layers": 2,
                      "output_dim": None},
        "joint": {"dim": 10, "input_linear": True, "hidden_linear": False, "activation": "tanh"},
        "durations": [], "max_symbols": 1, "beam": "modified"}
    state = module.state_dict()
    for i in range(2):
        layer = f"decoder.decoder.{i}.bias_"
        assert torch.equal(state[f"transducer.predictor.lstm.{i}.bias"],
                           made.weights[f"{layer}ih_l0"] + made.weights[f"{layer}hh_l0"])
    heads = convert("espnet", made.folder, tmp_path / "m.pt", "--head=ctc")[1]
    assert heads["transducer"] is None and heads["ctc"] is not None
    heads = convert("espnet", made.folder, tmp_path / "m.pt", "--head=transducer")[1]
    assert heads["transducer"] is not None and heads["ctc"] is None


def test_older_transducers(tmp_path):
    """Without CTC, and without a bias in the joint network's second layer."""
    made = TransducerExperiment(tmp_path / "exp")
    del made.weights["joint_network.lin_dec.bias"]
    made.weights = {name: value for name, value in made.weights.items()
                    if not name.startswith("ctc.")}
    module, config, _ = convert("espnet", made.write(), tmp_path / "m.pt")
    assert config["ctc"] is None
    assert not module.state_dict()["transducer.joint.predictor.bias"].any()


@pytest.mark.parametrize("section, name, value", [
    ("decoder_conf", "rnn_type", "gru"), ("decoder_conf", "embed_pad", 1),
    ("decoder_conf", "new_option", 1), ("joint_net_conf", "joint_activation_type", "selu"),
    ("joint_net_conf", "new_option", 1), ("model_conf", "transducer_multi_blank_durations", [2])])
def test_transducers_that_are_not_supported(section, name, value, tmp_path, capsys):
    made = TransducerExperiment(tmp_path / "exp")
    made.config.setdefault(section, {})[name] = value
    line = refusal(capsys, "espnet", made.write(), tmp_path / "m.pt")
    assert f"config.yaml.{section}.{name} is {value!r}" in line


def test_null_is_no_decoder(tmp_path):
    made = Experiment(tmp_path / "exp")
    made.config["decoder"] = None
    made.weights = {name: value for name, value in made.weights.items()
                    if not name.startswith("decoder.")}
    config = convert("espnet", made.write(), tmp_path / "m.pt")[1]
    assert config["attention_decoder"] is None


@pytest.mark.parametrize("name, value", [
    ("encoder", "contextual_block_conformer"), ("frontend", "s3prl"), ("frontend", "fused"),
    ("postencoder", "hugging_face_transformers")])
def test_other_kinds_of_models_are_named_before_the_weights_are_read(name, value, tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    made.config[name] = value
    (made.write() / "valid.acc.ave.pth").write_bytes(b"not read")
    line = refusal(capsys, "espnet", made.folder, tmp_path / "m.pt")
    assert f"config.yaml.{name} is {value!r}, which is not supported" in line


@pytest.mark.parametrize("size, reason", [
    (83, "80 filters and 3 values of the pitch (--feats_type fbank_pitch)"),
    (43, "40 filters and 3 values of the pitch (--feats_type fbank_pitch)"),
    (1024, "expected the size of a filter bank (--feats_type fbank)")])
def test_features_that_are_no_filter_bank(size, reason, tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    made.config.update(input_size=size, frontend=None)
    line = refusal(capsys, "espnet", made.write(), tmp_path / "m.pt")
    assert f"config.yaml.input_size is {size}: {reason}" in line


def test_several_channels(tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    made.config["frontend_conf"]["frontend_conf"] = {"use_wpe": False, "wtype": "blstmp"}
    convert("espnet", made.write(), tmp_path / "m.pt")
    made.config["frontend_conf"]["frontend_conf"]["use_beamformer"] = True
    capsys.readouterr()
    assert "frontend_conf.frontend_conf.use_beamformer is True, which is not supported" in refusal(
        capsys, "espnet", made.write(), tmp_path / "m.pt")


def test_options_of_the_training_are_known(tmp_path):
    """Those that ESPnet writes into config.yaml."""
    made = Experiment(tmp_path / "exp")
    made.config.update(
        config="conf/train_asr.yaml", print_config=False, log_level="INFO", dry_run=False,
        iterator_type="sequence", output_dir="exp", ngpu=1, seed=0, num_workers=4, num_att_plot=3,
        dist_backend="nccl", dist_init_method="env://", dist_world_size=None, dist_rank=None,
        local_rank=0, distributed=False, unused_parameters=False, sharded_ddp=False,
        cudnn_enabled=True, collect_stats=False, max_epoch=50, patience=None,
        val_scheduler_criterion=["valid", "loss"], keep_nbest_models=10, grad_clip=5.0,
        no_forward_run=False, resume=True, train_dtype="float32", use_amp=True, use_wandb=False,
        detect_anomaly=False, pretrain_path=None, init_param=[], freeze_param=[],
        batch_type="numel", batch_bins=1000, train_shape_file=["a"], fold_length=[80000, 150],
        chunk_length=500, train_data_path_and_name_and_type=[["dump/wav.scp", "speech", "sound"]],
        optim="adam", optim_conf={"lr": 0.002}, scheduler="warmuplr", init=None,
        scheduler_conf={"warmup_steps": 15000}, use_preprocessor=True, bpemodel="bpe.model",
        non_linguistic_symbols=None, cleaner=None, g2p=None, speech_volume_normalize=None,
        rir_scp=None, rir_apply_prob=1.0, noise_scp=None, noise_db_range="13_15", specaug="specaug",
        specaug_conf={"apply_time_warp": True}, ctc_conf={"ctc_type": "builtin", "reduce": True},
        model="espnet", preencoder=None, preencoder_conf={}, postencoder=None, postencoder_conf={},
        joint_net_conf=None, required=["output_dir", "token_list"], version="202402",
        model_conf={"ctc_weight": 0.3, "lsm_weight": 0.1, "length_normalized_loss": False})
    convert("espnet", made.write(), tmp_path / "m.pt")


def test_legacy_positions_stream_with_no_choice(tmp_path, capsys):
    made = Experiment(tmp_path / "exp", rel_pos_type="legacy")
    line = refusal(capsys, "espnet", made.write(), tmp_path / "m.pt", "--convolution=dynamic_chunk")
    assert line == ("convert.py: --convolution=dynamic_chunk is for models that can stream with "
                    "it, this one's positions (legacy_rel_pos) count from the end of the "
                    "utterance\n")


def test_variances_below_the_smallest(tmp_path):
    made = Experiment(tmp_path / "exp")
    made.variance[3] = 1e-9
    made.config["normalize_conf"]["eps"] = 0.01
    module, _, _ = convert("espnet", made.write(), tmp_path / "m.pt")
    assert module.state_dict()["encoder.global_cmvn.istd"][3] == pytest.approx(10.0)


def test_missing_or_wrong_files(tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    for name in ("config.yaml", "valid.acc.ave.pth", "feats_stats.npz"):
        (made.write() / name).unlink()
        line = refusal(capsys, "espnet", made.folder, tmp_path / "m.pt")
        assert "no such file" in line and name.split(".")[-1] in line
    made.write()
    np.savez(made.folder / "feats_stats.npz", count=np.array([made], dtype=object))
    assert "feats_stats.npz" in refusal(capsys, "espnet", made.folder, tmp_path / "m.pt")
    made.weights["encoder.conditioning_layer.weight"] = torch.zeros(2, 2)
    assert "encoder.conditioning_layer.weight" in refusal(capsys, "espnet", made.write(),
                                                          tmp_path / "m.pt")
    assert "folder" in refusal(capsys, "espnet", made.folder / "config.yaml", tmp_path / "m.pt")


@pytest.mark.parametrize("kind, name, value", [
    ("rnn", None, None), ("transformer", "concat_after", True), ("transformer", "qk_norm", True),
    ("lightweight_conv", None, None), ("transformer", "new_option", 3)])
def test_other_decoders_are_left_out_by_name(kind, name, value, tmp_path, capsys):
    made = Experiment(tmp_path / "exp")
    made.config["decoder"] = kind
    if name is not None:
        made.config["decoder_conf"][name] = value
    _, config, _ = convert("espnet", made.write(), tmp_path / "m.pt")
    assert config["attention_decoder"] is None
    line = next(line for line in capsys.readouterr().out.splitlines() if "is left out" in line)
    assert (name or kind) in line
