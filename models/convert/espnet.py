"""ESPnet 2 experiment folders with a Conformer or Transformer encoder, CTC, and attention decoder.

Options that a config.yaml omits get ESPnet's default, stated next to each option.
"""

import pathlib
from typing import Any, Dict, List, Optional, Tuple

from models.convert import statistics, units
from models.convert.attention_decoder import take_decoder
from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.features import espnet_features
from models.convert.folder import Folder
from models.convert.renaming import Renamed, Rule, rename, stack_size
from models.convert.resolved import Resolved, streaming
from models.convert.settings import Settings, read_yaml
from models.convert.weights import read_weights
from models.reference.archive import fbank_section

_PARAMETER = r"(weight|bias)"
_LAYER = r"(encoder\.encoders\.\d+\.)"
RULES: List[Rule] = [
    (rf"(encoder\.embed\.(?:conv\.[024]|out\.0)\.){_PARAMETER}", r"\1\2"),
    (r"encoder\.embed\.(?:out\.1|\d)\.pe", None),
    (rf"{_LAYER}((?:norm_ff_macaron|norm_mha|norm_conv|norm_ff|norm_final)\.){_PARAMETER}",
     r"\1\2\3"),
    (rf"{_LAYER}norm1\.{_PARAMETER}", r"\1norm_mha.\2"),
    (rf"{_LAYER}norm2\.{_PARAMETER}", r"\1norm_ff.\2"),
    (rf"{_LAYER}(feed_forward(?:_macaron)?\.w_[12]\.){_PARAMETER}", r"\1\2\3"),
    (rf"{_LAYER}(self_attn\.linear_(?:q|k|v|out|pos)\.){_PARAMETER}", r"\1\2\3"),
    (rf"{_LAYER}(self_attn\.pos_bias_[uv])", r"\1\2"),
    (rf"{_LAYER}(conv_module\.(?:pointwise_conv[12]|depthwise_conv|norm)\.){_PARAMETER}",
     r"\1\2\3"),
    (rf"{_LAYER}(conv_module\.norm\.running_(?:mean|var))", r"\1\2"),
    (rf"{_LAYER}conv_module\.norm\.num_batches_tracked", None),
    (rf"(encoder\.after_norm\.){_PARAMETER}", r"\1\2"),
    (rf"(ctc\.ctc_lo\.){_PARAMETER}", r"\1\2"),
    (r"normalize\.(mean|std)", r"normalize.\1"),  # turned into global_cmvn by _normalization
    (r"frontend\..+", None),  # mel filters, see features.py
    (r"decoder\.(.+)", r"attention_decoder.\1"),  # renamed by take_decoder
]
_SUBSAMPLING = {"conv2d": "conv2d4", "conv2d6": "conv2d6", "conv2d8": "conv2d8"}


def read_model(path: pathlib.Path, name: str, choices: Choices) -> Resolved:
    """The model of an experiment folder.

    Raises:
        ConversionError: one line that names the file, option or parameter at fault.
    """
    if not path.is_dir():
        raise ConversionError(f"{path}: expected an experiment folder with config.yaml and a .pth")
    folder = Folder(path)
    assumed: Dict[str, str] = {}
    notes: List[str] = []
    config = Settings(read_yaml(folder.read("config.yaml", "the experiment's options"),
                                folder.where("config.yaml")), "config.yaml", assumed)
    weights_name = choices.checkpoint or _checkpoint(folder, notes)
    source = folder.where(weights_name)
    renamed = rename(read_weights(folder.read(weights_name, "the weights"), source), RULES, source)
    for part in ("preencoder", "postencoder"):
        config.require(part, None)
    config.require("model", "espnet")
    eps = choices.layer_norm_eps
    if eps is None:
        assumed["encoder.layer_norm_eps"] = "ESPnet's LayerNorm has 1e-12"
        eps = 1e-12
    encoder = _encoder(config, renamed, assumed, eps)
    encoder["normalization"] = _normalization(config, folder, renamed)
    features = _features(config, assumed)
    encoder["input_dim"] = features["num_mel_bins"]
    tokens = config.take("token_list")
    if isinstance(tokens, str):
        found = folder.find(tokens)
        if found is None:
            raise ConversionError(f"{folder.where(tokens)}: no such file (the tokens)")
        tokens = units.read_lines(folder.read(found), folder.where(found))
    if not isinstance(tokens, list):
        raise ConversionError("config.yaml.token_list is not a list")
    are_words = config.choice("token_type", "bpe", {"bpe": False, "char": False, "word": True,
                                                    "phn": False})
    if tokens[:1] != ["<blank>"]:
        assumed["ctc.blank_id"] = "ESPnet has the blank first"
    if not choices.wants("ctc"):
        raise ConversionError(f"{source}: --head is {choices.head}, but the model has only ctc")
    heads = {"ctc": {"vocab_size": len(tokens), "blank_id": 0}}
    decoder = take_decoder(config.take("decoder", "rnn"), config.section("decoder_conf"), renamed,
                           _vocabulary(config, tokens), encoder["model_dim"], eps, notes)
    if decoder is not None:
        heads["attention_decoder"] = decoder
    tokens = units.to_units(tokens, "config.yaml: token_list")
    return Resolved(name, encoder, features, streaming(-1, -1), heads,
                    units.from_words(tokens) if are_words else tokens, renamed, source, assumed,
                    notes)


def _vocabulary(config: Settings, tokens: List[str]) -> Dict[str, int]:
    """What the attention decoder needs to know about the tokens: sos and eos, else the last."""
    model = config.section("model_conf")
    ids = {}
    for name in ("sos", "eos"):
        symbol = model.take(f"sym_{name}", "<sos/eos>")
        ids[f"{name}_id"] = tokens.index(symbol) if symbol in tokens else len(tokens) - 1
    return {"vocab_size": len(tokens), **ids}


def _checkpoint(folder: Folder, notes: List[str]) -> str:
    """The only *.pth, or the averaged one."""
    names = [name for name in folder.names() if name.endswith(".pth")]
    averaged = [name for name in names if name.endswith("ave.pth")]
    for candidates in (names, averaged):
        if len(candidates) == 1:
            notes.append(f"the weights are those of {candidates[0]}")
            return candidates[0]
    if not names:
        raise ConversionError(f"{folder.where('*.pth')}: no such file (the weights)")
    raise ConversionError(f"{folder.where('*.pth')}: several files ({', '.join(names)}); choose "
                          "with --checkpoint")


def _encoder(config: Settings, renamed: Renamed, assumed: Dict[str, str], eps: float
             ) -> Dict[str, Any]:
    """The `encoder` section without normalization and input_dim."""
    conformer = config.choice("encoder", "rnn", {"conformer": True, "transformer": False})
    conf = config.section("encoder_conf")
    activation, convolution, macaron = "relu", None, False
    position: Dict[str, Any] = {"scheme": "absolute"}
    if conformer:
        activation = conf.choice("activation_type", "swish",
                                 {name: name for name in ("swish", "relu")},
                                 "encoder.feed_forward.activation")
        macaron = conf.take("macaron_style", False, "encoder.feed_forward.macaron")
        convolution = _convolution(conf, activation)
        position = _position(conf)
    else:
        assumed["encoder.feed_forward.activation"] = "ESPnet's Transformer has relu"
    norm_first = conf.take("normalize_before", True, "encoder.norm_first")
    encoder = {
        "type": "conformer",
        "model_dim": conf.size("output_size", 256, "encoder.model_dim"),
        "num_layers": conf.size("num_blocks", 6, "encoder.num_layers"),
        "num_heads": conf.size("attention_heads", 4, "encoder.num_heads"),
        "feed_forward_dim": conf.size("linear_units", 2048, "encoder.feed_forward_dim"),
        "subsampling": {"type": conf.choice("input_layer", "conv2d", _SUBSAMPLING,
                                            "encoder.subsampling.type")},
        "scale_input": True,
        "position": position,
        "attention_bias": {part: True for part in ("query", "key", "value", "out")},
        "feed_forward": {"macaron": macaron, "activation": activation, "bias": True},
        "convolution": convolution,
        "norm_first": norm_first,
        "after_norm": norm_first,
        "layer_norm_eps": eps,
    }
    found = stack_size(renamed.tensors, "encoder.encoders.")
    if found != encoder["num_layers"]:
        raise ConversionError(f"the weights have {found} encoder layers, config.yaml says "
                              f"num_blocks {encoder['num_layers']}")
    conf.require("concat_after", False)
    conf.require("positionwise_layer_type", "linear")
    conf.require("zero_triu", False)
    conf.require("interctc_use_conditioning", False)
    conf.require("qk_norm", False)
    conf.ignore("dropout_rate", "positional_dropout_rate", "attention_dropout_rate",
                "positionwise_conv_kernel_size", "padding_idx", "interctc_layer_idx", "ctc_trim",
                "stochastic_depth_rate", "layer_drop_rate", "max_pos_emb_len", "use_flash_attn",
                "causal")
    conf.require("causal", False)
    if not conformer:  # Conformer options that recipes also set
        conf.require("pos_enc_layer_type", "abs_pos")
        conf.require("selfattention_layer_type", "selfattn")
    conf.finish()
    return encoder


def _convolution(conf: Settings, activation: str) -> Optional[Dict[str, Any]]:
    if not conf.take("use_cnn_module", True, "encoder.convolution"):
        conf.ignore("cnn_module_kernel")
        return None
    return {"type": "symmetric",
            "kernel_size": conf.size("cnn_module_kernel", 31, "encoder.convolution.kernel_size"),
            "norm": "batch_norm", "norm_epsilon": 1e-5, "activation": activation, "bias": True,
            "left_padding": "zero"}


def _position(conf: Settings) -> Dict[str, Any]:
    """rel_pos means the legacy kind unless rel_pos_type says "latest"."""
    positions = conf.choice("pos_enc_layer_type", "rel_pos", {
        name: name for name in ("rel_pos", "legacy_rel_pos", "abs_pos")}, "encoder.position.scheme")
    attention = conf.choice("selfattention_layer_type", "rel_selfattn", {
        name: name for name in ("rel_selfattn", "legacy_rel_selfattn", "selfattn")})
    kind = conf.choice("rel_pos_type", "legacy", {"legacy": "legacy", "latest": "latest"},
                       "encoder.position.scheme")
    if kind == "legacy":
        positions, attention = (value if value.startswith("legacy_") or not value.startswith("rel_")
                                else f"legacy_{value}" for value in (positions, attention))
    schemes: Dict[Tuple[str, str], Dict[str, Any]] = {
        ("abs_pos", "selfattn"): {"scheme": "absolute"},
        ("rel_pos", "rel_selfattn"): {
            "scheme": "chunk_rpe", "linear_pos_bias": False, "query_scaling": "after_bias",
            "table_order": "descending"},
        ("legacy_rel_pos", "legacy_rel_selfattn"): {
            "scheme": "legacy_rel_pos", "linear_pos_bias": False, "query_scaling": "after_bias",
            "table_length": conf.size("max_pos_emb_len", 5000, "encoder.position.table_length")},
        # The relative table is not used.
        ("rel_pos", "selfattn"): {"scheme": "none"},
        ("legacy_rel_pos", "selfattn"): {"scheme": "none"},
    }
    if (positions, attention) not in schemes:
        raise ConversionError(f"config.yaml.encoder_conf.pos_enc_layer_type {positions} with "
                              f"selfattention_layer_type {attention} is not supported")
    return schemes[positions, attention]


def _normalization(config: Settings, folder: Folder, renamed: Renamed) -> Dict[str, Any]:
    """The statistics of global_mvn, from the weights or from its file."""
    # ESPnet's default is utterance_mvn; what a trained experiment wrote is explicit, or null.
    kind = config.take("normalize", None)
    conf = config.section("normalize_conf")
    tensors = renamed.tensors
    mean, std = tensors.pop("normalize.mean", None), tensors.pop("normalize.std", None)
    if kind is None:
        return {"type": "none"}
    if kind != "global_mvn":
        raise ConversionError(f"config.yaml.normalize is {kind!r}, which is not supported: it "
                              "normalises by means alone, or by deviations over N instead of N - 1 "
                              "frames; supported: global_mvn, null")
    with_means, with_vars = conf.take("norm_means", True), conf.take("norm_vars", True)
    if mean is not None and std is not None:
        istd = 1.0 / std.double().reshape(-1)
        mean, istd = mean.reshape(-1), istd.float()
    else:
        found = folder.find(conf.take("stats_file", None), "feats_stats.npz")
        if found is None:
            raise ConversionError(f"{folder.where('feats_stats.npz')}: no such file (the features' "
                                  "statistics, which the weights do not hold)")
        mean, istd = statistics.read_espnet(folder.read(found), folder.where(found))
    tensors["encoder.global_cmvn.mean"] = mean if with_means else mean * 0
    tensors["encoder.global_cmvn.istd"] = istd if with_vars else istd * 0 + 1
    return {"type": "global_cmvn"}


def _features(config: Settings, assumed: Dict[str, str]) -> Dict[str, Any]:
    """Kaldi's features with `input_size` bins without a front end, otherwise ESPnet's."""
    if config.has("input_size"):
        assumed["features"] = "input_size is given: taken to be Kaldi's filterbank of 16 kHz audio"
        return fbank_section(num_mel_bins=config.size("input_size"))
    config.choice("frontend", "default", {"default": None})
    return espnet_features(config.section("frontend_conf"), "config.yaml.frontend_conf")
