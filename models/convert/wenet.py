"""WeNet experiment folders, versions 1 to 3 and after (github.com/wenet-e2e/wenet).

The weights show differences between the versions. All layers of v1 have an unused `concat_linear`,
and their layer norms have an epsilon of 1e-12 instead of 1e-5. From January to May 2022, between
v1.0.1 and v2.0.0, there was concat_linear with 1e-5; --layer_norm_eps is for that case. Attention
with relative positions has `pos_bias_u`. train.yaml decides the rest.
"""

import dataclasses
import pathlib
import re
import zipfile
from typing import Any, Dict, List, Optional, Tuple

from models.convert import branchformers, efficient_conformer, units, wenet_transducer
from models.convert.attention_decoder import DecoderOptions, read_decoder, take_decoder
from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.folder import Folder
from models.convert.renaming import Renamed, Rule, rename, stack_size
from models.convert.resolved import Resolved
from models.convert.settings import Settings, read_yaml
from models.convert.transducers import add_lstm_biases
from models.convert.wenet_features import Statistics, read_features, read_statistics
from models.convert.wenet_position import check_sinusoids, position_scheme, read_position
from models.convert.wenet_streaming import read_streaming
from models.convert.weights import read_weights

_PARAMETER = r"(weight|bias)"
_LAYER = r"(encoder\.encoders\.\d+\.)"
# encoder/model_file/wenet_export.cc has the same rules for TorchScript exports.
ENCODER_RULES: List[Rule] = [
    (r"(encoder\.global_cmvn\.(?:mean|istd))", r"\1"),
    (rf"(encoder\.embed\.(?:conv\.[024]|out\.[01])\.){_PARAMETER}", r"\1\2"),
    (rf"encoder\.embed\.linear\.{_PARAMETER}", r"encoder.embed.out.0.\1"),
    (r"encoder\.embed\.pos_enc\.pe", None),  # checked by check_sinusoids
    (rf"{_LAYER}((?:norm_ff_macaron|norm_mha|norm_conv|norm_ff|norm_final)\.){_PARAMETER}",
     r"\1\2\3"),
    (rf"{_LAYER}norm1\.{_PARAMETER}", r"\1norm_mha.\2"),
    (rf"{_LAYER}norm2\.{_PARAMETER}", r"\1norm_ff.\2"),
    (rf"{_LAYER}(feed_forward(?:_macaron)?\.w_[12]\.){_PARAMETER}", r"\1\2\3"),
    (rf"{_LAYER}(self_attn\.linear_(?:q|k|v|out|pos)\.){_PARAMETER}", r"\1\2\3"),
    (rf"{_LAYER}(self_attn\.(?:pos_bias_[uv]|rel_k_embed\.weight))", r"\1\2"),
    (rf"{_LAYER}(conv_module\.(?:pointwise_conv[12]|depthwise_conv|norm)\.){_PARAMETER}",
     r"\1\2\3"),
    (rf"{_LAYER}(conv_module\.norm\.running_(?:mean|var))", r"\1\2"),
    (rf"{_LAYER}conv_module\.norm\.num_batches_tracked", None),
    (rf"{_LAYER}concat_linear\.{_PARAMETER}", None),  # v1; used with concat_after only
    *branchformers.RULES,
    (rf"(encoder\.after_norm\.){_PARAMETER}", r"\1\2"),
]
_CONCAT_LINEAR = re.compile(r"encoder\.encoders\.(\d+)\.concat_linear\.weight")
_CTC_RULE: Rule = (rf"(ctc\.ctc_lo\.){_PARAMETER}", r"\1\2")
_DECODER_RULE: Rule = (r"decoder\.(.+)", r"attention_decoder.\1")  # renamed by take_decoder
_SUBSAMPLING = {name: {"type": kind} for name, kind in (
    ("conv2d", "conv2d4"), ("conv2d2", "conv2d_2"), ("conv2d6", "conv2d6"),
    ("conv2d8", "conv2d8"), ("linear", "linear"))}


# Options of train.yaml, and of the sections that are read, that serve the training or the lists of
# its data only. What LoRA adds to a model shows in the names of its weights.
_OF_TRAINING = (
    "accum_grad", "dataset", "dtype", "epoch", "grad_clip", "init_infos", "is_distributed",
    "lfmmi_dir", "log_interval", "lora_conf", "max_epoch", "model_dir", "optim", "optim_conf",
    "rank", "save_interval", "save_states", "scheduler", "scheduler_conf", "train_engine",
    "use_amp", "vocab_size")
_OF_LOSSES = (
    "add_eos", "am_only_scale", "attention_weight", "ctc_weight", "ctl_weight",
    "delay_penalty", "enable_k2", "ignore_id", "length_normalized_loss", "lfmmi_dir",
    "lm_only_scale", "logit_temp", "lsm_weight", "n_negatives", "reverse_weight",
    "sampling_ratio", "special_tokens", "transducer_weight", "warmup_steps")
_OF_TEXTS = (
    "bpe_path", "is_multilingual", "model_path", "non_lang_syms_path",
    "num_languages", "seg_dict_path", "split_with_space")


@dataclasses.dataclass
class EncoderOptions:
    """The options of an encoder and its features, read before the weights."""

    encoder: Dict[str, Any]  # the `encoder` section; what the weights tell is None
    features: Dict[str, Any]
    streaming: Dict[str, Any]
    statistics: Statistics
    positions: Tuple[str, str]  # from read_position
    norm_eps: Optional[float]  # of layer norms, if stated


def read_model(path: pathlib.Path, name: str, choices: Choices) -> Resolved:
    """The model of an experiment folder.

    Raises:
        ConversionError: one line that names the file, option or parameter at fault.
    """
    if zipfile.is_zipfile(path):
        raise ConversionError(f"{path}: is a zip archive, expected an experiment folder; a "
                              "TorchScript export is read without a conversion (--model=final.zip "
                              "--units=units.txt)")
    if not path.is_dir():
        raise ConversionError(f"{path}: expected an experiment folder with train.yaml and final.pt")
    folder = Folder(path)
    config = Settings(read_yaml(folder.read("train.yaml", "the experiment's options"),
                                folder.where("train.yaml")), "train.yaml", {})
    weights_name = choices.take("checkpoint") or "final.pt"
    source = folder.where(weights_name)
    kept = _heads(config, source, choices)
    options = read_encoder(config)
    tokens, blank_id = _units(config, folder)
    transducer = None
    if "transducer" in kept:
        transducer = wenet_transducer.transducer_section(config, len(tokens))
    decoder = _decoder(config, len(tokens), options.encoder["model_dim"])
    config.ignore(*_OF_TRAINING)
    config.finish()
    notes: List[str] = []
    weights = read_weights(folder.open(weights_name, "the weights"), source, notes)
    check_sinusoids(weights, source)
    renamed = rename(weights, [
        *ENCODER_RULES, _CTC_RULE if "ctc" in kept else (r"ctc\..+", None), _DECODER_RULE,
        *(wenet_transducer.RULES if transducer else wenet_transducer.LEFT_OUT_RULES),
    ], source)
    add_lstm_biases(renamed)
    resolved = resolve_encoder(name, options, folder, renamed, source, choices, tokens,
                               config.assumed, notes)
    if "ctc" in kept:
        resolved.heads["ctc"] = {"vocab_size": len(tokens), "blank_id": blank_id}
    if transducer:
        wenet_transducer.shape_positions(transducer["predictor"], renamed)
        resolved.heads["transducer"] = transducer
    attention_decoder = take_decoder(decoder, renamed, _decoder_norm_eps(renamed, choices),
                                     resolved.notes)
    if attention_decoder is not None:
        resolved.heads["attention_decoder"] = attention_decoder
    return resolved


def read_encoder(config: Settings) -> EncoderOptions:
    """The options of the encoder and of the features in train.yaml."""
    encoder, positions, norm_eps = _encoder(config)
    encoder["input_dim"] = config.size("input_dim")
    return EncoderOptions(encoder, read_features(config), read_streaming(config, encoder),
                          read_statistics(config), positions, norm_eps)


def resolve_encoder(name: str, options: EncoderOptions, folder: Folder, renamed: Renamed,
                    source: str, choices: Choices, tokens: List[str], assumed: Dict[str, str],
                    notes: List[str]) -> Resolved:
    """The encoder and the features of an experiment, without heads.

    Args:
        renamed: the weights, adapted to the encoder's options. source: their file.
    """
    normalization = options.statistics.normalization(folder, renamed, notes)
    encoder = _complete(options, renamed, assumed, choices)
    encoder.update(normalization=normalization, input_dim=encoder.pop("input_dim"))
    return Resolved(name, encoder, options.features, options.streaming, {}, tokens, renamed,
                    source, assumed, notes)


def _heads(config: Settings, source: str, choices: Choices) -> List[str]:
    """The heads that the model file shall have. Rejects models of other kinds.

    Before v3 a transducer is a model with a `predictor`.
    """
    # CTLModel is trained with another loss, on an encoder that computes each utterance twice.
    config.require("model", "asr_model", "ctl_model", "transducer")
    for section in ("cif_predictor_conf", "paraformer"):
        if config.has(section):
            raise ConversionError(f"train.yaml has {section}, which is not supported; supported: "
                                  "CTC, attention and transducer models")
    config.choice("ctc", "ctc", {"ctc": None})
    transducer = config.has("predictor") or config.take("model", "asr_model") == "transducer"
    if not transducer and choices.head == "transducer":
        raise ConversionError(f"{source}: --head is transducer, but the model has only ctc")
    if choices.head == "ctc":
        config.ignore("predictor", "predictor_conf", "joint", "joint_conf")
    return [head for head in ("ctc", "transducer")
            if choices.wants(head) and (transducer or head == "ctc")]


def _decoder(config: Settings, vocab_size: int, model_dim: int) -> DecoderOptions:
    special = config.section("tokenizer_conf").section("special_tokens")
    vocabulary = {"vocab_size": vocab_size, "sos_id": special.take("<sos>", vocab_size - 1),
                  "eos_id": special.take("<eos>", vocab_size - 1)}
    special.ignore_rest()  # ids of other tokens
    config.null_is_absent("decoder")  # all but "transformer" was a bitransformer before v3
    decoder = read_decoder(config.take("decoder", "bitransformer"), config.section("decoder_conf"),
                           vocabulary, model_dim)
    losses = config.section("model_conf")
    losses.ignore(*_OF_LOSSES)
    try:  # the decoder reads encoder frames without blanks only
        losses.require("apply_non_blank_embedding", False)
    except ConversionError as error:
        decoder.fault = error
    return decoder


def _decoder_norm_eps(renamed: Renamed, choices: Choices) -> float:
    """As in the encoder: 1e-12 in v1, otherwise 1e-5 unless decoder_conf has norm_eps."""
    chosen = choices.take("layer_norm_eps")
    if chosen is not None:
        return chosen
    return 1e-12 if _is_v1(renamed) else 1e-5


def _is_v1(renamed: Renamed) -> bool:
    """All layers of v1 have an unused concat_linear. Later, only those with a stride have it."""
    having = {match.group(1) for match in map(_CONCAT_LINEAR.fullmatch, renamed.left_out) if match}
    return len(having) == stack_size(renamed.tensors, "encoder.encoders.")


def _encoder(config: Settings) -> Tuple[Dict[str, Any], Tuple[str, str], Optional[float]]:
    """The `encoder` section as far as the options tell, the positions, the stated epsilon."""
    kind = config.choice("encoder", "conformer", {
        "conformer": "conformer", "dual_conformer": "conformer", "transformer": "transformer",
        "dual_transformer": "transformer", "efficientConformer": "efficient_conformer",
        **{name: name for name in branchformers.KINDS}},
        "encoder.type")
    conf = config.section("encoder_conf")
    if kind in branchformers.KINDS:
        return _branchformer(conf, branchformers.KINDS[kind])
    if kind == "efficient_conformer":
        return _efficient_conformer(conf)
    return _conformer(conf, kind == "conformer")


def _conformer(conf: Settings, conformer: bool
               ) -> Tuple[Dict[str, Any], Tuple[str, str], Optional[float]]:
    """As `_encoder`. conformer: no Transformer."""
    positions = read_position(conf, conformer)
    subsampling = dict(conf.choice("input_layer", "conv2d", _SUBSAMPLING,
                                   "encoder.subsampling.type"))
    activation = conf.choice("activation_type", "swish" if conformer else "relu",
                             {name: name for name in ("swish", "relu", "gelu")},
                             "encoder.feed_forward.activation")
    convolution = _convolution(conf, activation) if conformer else None
    macaron = conformer and conf.take("macaron_style", True, "encoder.feed_forward.macaron")
    norm_first = conf.take("normalize_before", True, "encoder.norm_first")
    encoder = {
        "type": "conformer",
        "model_dim": conf.size("output_size", 256, "encoder.model_dim"),
        "num_layers": conf.layers("num_blocks", 6, "encoder.num_layers"),
        "num_heads": conf.size("attention_heads", 4, "encoder.num_heads"),
        "feed_forward_dim": conf.size("linear_units", 2048, "encoder.feed_forward_dim"),
        "subsampling": subsampling,
        "scale_input": positions[0] != "no_pos",
        "position": None,
        "attention_bias": None,
        "feed_forward": {"macaron": macaron, "activation": activation, "bias": None},
        "convolution": convolution,
        "norm_first": norm_first,
        "after_norm": norm_first and conf.take("final_norm", True),
        "layer_norm_eps": None,
    }
    norm_eps = conf.take("norm_eps", 1e-5) if conf.states("norm_eps") else None
    conf.require("concat_after", False)
    conf.require("positionwise_conv_kernel_size", 1)
    conf.require("conv_inner_factor", 2)
    _check_usual_parts(conf, encoder)
    conf.ignore("final_norm")
    # Without meaning for a Transformer, a model without convolution, or whole utterances.
    conf.ignore("static_chunk_size", "use_dynamic_chunk", "use_dynamic_left_chunk", "causal",
                "cnn_module_kernel", "cnn_module_norm", "conv_norm_eps", "use_cnn_module",
                "macaron_style")
    return encoder, positions, norm_eps


def _efficient_conformer(conf: Settings
                         ) -> Tuple[Dict[str, Any], Tuple[str, str], Optional[float]]:
    """As `_encoder`."""
    conf.require("pos_enc_layer_type", "rel_pos")
    conf.require("norm_eps", 1e-5)
    conf.require("conv_norm_eps", 1e-5)
    conf.ignore("selfattention_layer_type")  # group_layer_idx decides
    encoder, positions, _ = _conformer(conf, True)
    strides, groups = efficient_conformer.read_layers(conf, encoder["num_layers"])
    if encoder["convolution"] is None:
        raise ConversionError("train.yaml.encoder_conf.use_cnn_module is false, which is not "
                              "supported with strides")
    encoder.update(strides, type="efficient_conformer", position={"group_sizes": groups})
    return encoder, positions, 1e-5


def _branchformer(conf: Settings, enhanced: bool
                  ) -> Tuple[Dict[str, Any], Tuple[str, str], Optional[float]]:
    """As `_encoder`. enhanced: an E-Branchformer."""
    positions = read_position(conf, True)
    causal = conf.take("causal", False, "encoder.branches.type")
    activation = conf.choice("activation_type", "swish",
                             {name: name for name in ("swish", "relu", "gelu")},
                             "encoder.feed_forward.activation")
    macaron = enhanced and conf.take("macaron_style", True, "encoder.feed_forward.macaron")
    feed_forward_dim, feed_forward = branchformers.read_feed_forward(
        conf, enhanced and conf.take("use_ffn", True), macaron, activation)
    encoder = {
        "type": "branchformer",
        "model_dim": conf.size("output_size", 256, "encoder.model_dim"),
        "num_layers": conf.layers("num_blocks", 12, "encoder.num_layers"),
        "num_heads": conf.size("attention_heads", 4, "encoder.num_heads"),
        "feed_forward_dim": feed_forward_dim,
        "subsampling": dict(conf.choice("input_layer", "conv2d", _SUBSAMPLING,
                                        "encoder.subsampling.type")),
        "scale_input": positions[0] != "no_pos",
        "position": None,
        "attention_bias": None,
        "feed_forward": feed_forward,
        "branches": branchformers.read_branches(conf, enhanced,
                                                "causal" if causal else "symmetric"),
        "after_norm": True,
        "layer_norm_eps": None,
    }
    conf.require("norm_eps", 1e-5)  # of the last norm only, those of the layers have 1e-5
    _check_usual_parts(conf, encoder)
    conf.ignore("stochastic_depth_rate", "static_chunk_size", "use_dynamic_chunk",
                "use_dynamic_left_chunk")
    return encoder, positions, None


def _check_usual_parts(conf: Settings, encoder: Dict[str, Any]) -> None:
    """Rejects parts of other kinds; names what training or the weights tell."""
    conf.require("layer_norm_type", "layer_norm")
    conf.require("mlp_type", "position_wise_feed_forward")
    conf.require("n_kv_head", None, encoder["num_heads"])
    conf.require("head_dim", None, encoder["model_dim"] // encoder["num_heads"])
    conf.ignore("dropout_rate", "positional_dropout_rate", "attention_dropout_rate",
                "gradient_checkpointing", "use_sdpa", "query_bias", "key_bias", "value_bias",
                "conv_bias", "mlp_bias", "n_expert", "n_expert_activated")


def _convolution(conf: Settings, activation: str) -> Optional[Dict[str, Any]]:
    if not conf.take("use_cnn_module", True, "encoder.convolution"):
        return None
    causal = conf.take("causal", False, "encoder.convolution.type")
    return {
        "type": "causal" if causal else "symmetric",
        "kernel_size": conf.size("cnn_module_kernel", 15, "encoder.convolution.kernel_size"),
        "norm": conf.choice("cnn_module_norm", "batch_norm",
                            {"batch_norm": "batch_norm", "layer_norm": "layer_norm"},
                            "encoder.convolution.norm"),
        "norm_epsilon": conf.take("conv_norm_eps", 1e-5),  # PyTorch's default in all versions
        "activation": activation,
        "bias": None,
        # WeNet pads a causal convolution before the gate and a symmetric one after it.
        "left_padding": "gated_zero" if causal else "zero",
    }


def _complete(options: EncoderOptions, renamed: Renamed, assumed: Dict[str, str],
              choices: Choices) -> Dict[str, Any]:
    """The `encoder` section with the facts that the weights show; adapts them to it."""
    encoder = options.encoder
    if not encoder["after_norm"]:
        for parameter in ("weight", "bias"):  # present, but not used
            renamed.tensors.pop(f"encoder.after_norm.{parameter}", None)
    if encoder.get("convolution") is not None:
        encoder["convolution"]["bias"] = renamed.layer_has("conv_module.pointwise_conv1.bias")
    grouped = encoder["position"]
    encoder["position"] = position_scheme(*options.positions, renamed, choices)
    if grouped is not None:
        encoder["position"].update(grouped, scheme="grouped_unshifted")
    encoder["attention_bias"] = {part: renamed.layer_has(f"self_attn.linear_{letter}.bias")
                                 for part, letter in (("query", "q"), ("key", "k"), ("value", "v"),
                                                      ("out", "out"))}
    if encoder["feed_forward"] is not None:
        encoder["feed_forward"]["bias"] = renamed.layer_has("feed_forward.w_1.bias")
    encoder["layer_norm_eps"] = _layer_norm_eps(options.norm_eps, renamed, assumed,
                                                choices.take("layer_norm_eps"))
    if encoder["subsampling"]["type"] == "linear" and options.norm_eps is not None \
            and encoder["layer_norm_eps"] != 1e-5:
        raise ConversionError("train.yaml.encoder_conf.norm_eps is not 1e-5, with input_layer "
                              "linear that is not supported: its own layer norm has 1e-5")
    _check_layers(encoder["num_layers"], renamed)
    return encoder


def _layer_norm_eps(stated: Optional[float], renamed: Renamed, assumed: Dict[str, str],
                    chosen: Optional[float]) -> float:
    """1e-12 in v1, whose layers hold an unused concat_linear; 1e-5 since then, an option in v3."""
    if chosen is not None:
        return chosen
    if stated is not None:
        return stated
    is_v1 = _is_v1(renamed)
    assumed["encoder.layer_norm_eps"] = (
        "the weights hold concat_linear, as WeNet v1 does" if is_v1
        else "the weights hold no concat_linear, as WeNet v2 and later")
    return 1e-12 if is_v1 else 1e-5


def _check_layers(num_layers: int, renamed: Renamed) -> None:
    found = stack_size(renamed.tensors, "encoder.encoders.")
    if found != num_layers:
        raise ConversionError(f"the weights have {found} encoder layers, train.yaml says "
                              f"num_blocks {num_layers}")


def _units(config: Settings, folder: Folder) -> Tuple[List[str], int]:
    tokenizer = config.section("tokenizer_conf")
    tokenizer.ignore(*_OF_TEXTS)
    config.choice("tokenizer", "char", {"char": None, "bpe": None})
    found = folder.find(tokenizer.file("symbol_table_path"), "units.txt", "words.txt",
                        "lang_char.txt", "dict.txt")
    if found is None:
        raise ConversionError(f"{folder.where('units.txt')}: no such file (the symbols)")
    source = folder.where(found)
    tokens = units.read_symbol_table(folder.read(found), source)
    expected = config.take("output_dim", len(tokens))
    if expected != len(tokens):
        raise ConversionError(f"{source}: has {len(tokens)} symbols, train.yaml says output_dim "
                              f"{expected}")
    conf = config.section("ctc_conf")
    conf.ignore("dropout_rate", "reduce")
    blank_id = conf.take("ctc_blank_id", 0)
    if not 0 <= blank_id < len(tokens):
        raise ConversionError(f"train.yaml.ctc_conf.ctc_blank_id is {blank_id}, expected an id "
                              f"of 0 to {len(tokens) - 1}")
    if tokens[blank_id] not in units.BLANK_NAMES:
        config.assumed["ctc.blank_id"] = f"its symbol is {tokens[blank_id]}"
    tokens = units.to_units(tokens, source)
    between = tokenizer.take("connect_symbol", "")
    if between not in ("", " "):
        raise ConversionError(f"train.yaml.tokenizer_conf.connect_symbol is {between!r}, expected "
                              "a space, between words, or nothing")
    return units.from_words(tokens) if between else tokens, blank_id
