"""WeNet experiment folders, versions 1 to 3 and after (github.com/wenet-e2e/wenet).

The weights show differences between the versions. Layers of v1 have an unused `concat_linear`, and
their layer norms have an epsilon of 1e-12 instead of 1e-5. From January to May 2022, between v1.0.1
and v2.0.0, there was concat_linear with 1e-5; --layer_norm_eps is for that case. Attention with
relative positions has `pos_bias_u`. train.yaml decides the rest.
"""

import pathlib
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor

from models.convert import statistics, units, wenet_transducer
from models.convert.attention_decoder import take_decoder
from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.features import wenet_fbank
from models.convert.folder import Folder
from models.convert.renaming import Renamed, Rule, rename, stack_size
from models.convert.resolved import Resolved, streaming
from models.convert.settings import Settings, read_yaml
from models.convert.transducers import add_lstm_biases
from models.convert.wenet_position import read_position
from models.convert.weights import read_weights

_PARAMETER = r"(weight|bias)"
_LAYER = r"(encoder\.encoders\.\d+\.)"
# encoder/model_file/wenet_export.cc has the same rules for TorchScript exports.
ENCODER_RULES: List[Rule] = [
    (r"(encoder\.global_cmvn\.(?:mean|istd))", r"\1"),
    (rf"(encoder\.embed\.(?:conv\.[024]|out\.[01])\.){_PARAMETER}", r"\1\2"),
    (rf"encoder\.embed\.linear\.{_PARAMETER}", r"encoder.embed.out.0.\1"),
    (r"encoder\.embed\.pos_enc\.pe", None),  # checked by _check_sinusoids
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
    (rf"(encoder\.after_norm\.){_PARAMETER}", r"\1\2"),
]
_CTC_RULE: Rule = (rf"(ctc\.ctc_lo\.){_PARAMETER}", r"\1\2")
_DECODER_RULE: Rule = (r"decoder\.(.+)", r"attention_decoder.\1")  # renamed by take_decoder
_SUBSAMPLING = {name: {"type": kind} for name, kind in (
    ("conv2d", "conv2d4"), ("conv2d6", "conv2d6"), ("conv2d8", "conv2d8"), ("linear", "linear"))}


def read_model(path: pathlib.Path, name: str, choices: Choices) -> Resolved:
    """The model of an experiment folder.

    Raises:
        ConversionError: one line that names the file, option or parameter at fault.
    """
    if not path.is_dir():
        raise ConversionError(f"{path}: expected an experiment folder with train.yaml and final.pt")
    folder = Folder(path)
    assumed: Dict[str, str] = {}
    config = Settings(read_yaml(folder.read("train.yaml", "the experiment's options"),
                                folder.where("train.yaml")), "train.yaml", assumed)
    weights_name = choices.checkpoint or "final.pt"
    source = folder.where(weights_name)
    weights = read_weights(folder.read(weights_name, "the weights"), source)
    _check_sinusoids(weights, source)
    kept = _heads(config, source, choices)
    renamed = rename(weights, [
        *ENCODER_RULES, _CTC_RULE if "ctc" in kept else (r"ctc\..+", None), _DECODER_RULE,
        *(wenet_transducer.RULES if "transducer" in kept else wenet_transducer.LEFT_OUT_RULES),
    ], source)
    add_lstm_biases(renamed)
    tokens, blank_id = _units(config, folder, assumed)
    resolved = read_encoder(name, config, folder, renamed, source, choices, tokens)
    if "ctc" in kept:
        resolved.heads["ctc"] = {"vocab_size": len(tokens), "blank_id": blank_id}
    if "transducer" in kept:
        resolved.heads["transducer"] = wenet_transducer.transducer_section(config, renamed,
                                                                           len(tokens))
    special = config.section("tokenizer_conf").section("special_tokens")
    last = len(tokens) - 1
    vocabulary = {"vocab_size": len(tokens), "sos_id": special.take("<sos>", last),
                  "eos_id": special.take("<eos>", last)}
    decoder = take_decoder(config.take("decoder", "bitransformer"), config.section("decoder_conf"),
                           renamed, vocabulary, resolved.encoder["model_dim"],
                           _decoder_norm_eps(renamed, choices), resolved.notes)
    if decoder is not None:
        resolved.heads["attention_decoder"] = decoder
    return resolved


def read_encoder(name: str, config: Settings, folder: Folder, renamed: Renamed, source: str,
                 choices: Choices, tokens: List[str]) -> Resolved:
    """The encoder and the features of an experiment, without heads.

    Args:
        config: of train.yaml. renamed: the weights, adapted to the encoder's options.
    """
    assumed, notes = config.assumed, []
    normalization = _cmvn(config, folder, renamed, notes)
    encoder = _encoder(config, renamed, assumed, choices)
    encoder.update(normalization=normalization, input_dim=config.size("input_dim"))
    return Resolved(name, encoder, _features(config, assumed),
                    _streaming(config, encoder, assumed), {}, tokens, renamed, source, assumed,
                    notes)


def _heads(config: Settings, source: str, choices: Choices) -> List[str]:
    """The heads that the model file shall have. Rejects models of other kinds.

    Before v3 a transducer is a model with a `predictor`.
    """
    config.require("model", "asr_model", "transducer")
    for section in ("cif_predictor_conf", "paraformer"):
        if config.has(section):
            raise ConversionError(f"{source}: train.yaml has {section}; only CTC, attention and "
                                  "transducer models are supported")
    config.choice("ctc", "ctc", {"ctc": None})
    transducer = config.has("predictor") or config.take("model", "asr_model") == "transducer"
    if not transducer and choices.head == "transducer":
        raise ConversionError(f"{source}: --head is transducer, but the model has only ctc")
    return [head for head in ("ctc", "transducer")
            if choices.wants(head) and (transducer or head == "ctc")]


def _decoder_norm_eps(renamed: Renamed, choices: Choices) -> float:
    """As in the encoder: 1e-12 in v1, otherwise 1e-5 unless decoder_conf has norm_eps."""
    if choices.layer_norm_eps is not None:
        return choices.layer_norm_eps
    return 1e-12 if _is_v1(renamed) else 1e-5


def _is_v1(renamed: Renamed) -> bool:
    """Layers of v1 have an unused concat_linear."""
    return any("concat_linear" in name for name in renamed.left_out)


def _encoder(config: Settings, renamed: Renamed, assumed: Dict[str, str], choices: Choices
             ) -> Dict[str, Any]:
    """The `encoder` section without normalization and input_dim; adapts the tensors to it."""
    kind = config.choice("encoder", "conformer", {"conformer": "conformer",
                                                  "transformer": "transformer"}, "encoder.type")
    conf = config.section("encoder_conf")
    conformer = kind == "conformer"
    convolution = None
    activation = conf.choice("activation_type", "swish" if conformer else "relu",
                             {name: name for name in ("swish", "relu", "gelu")},
                             "encoder.feed_forward.activation")
    if conformer:
        convolution = _convolution(conf, renamed, activation)
    macaron = conformer and conf.take("macaron_style", True, "encoder.feed_forward.macaron")
    norm_first = conf.take("normalize_before", True, "encoder.norm_first")
    after_norm = norm_first and conf.take("final_norm", True)
    if not after_norm:
        for parameter in ("weight", "bias"):  # present, but not used
            renamed.tensors.pop(f"encoder.after_norm.{parameter}", None)
    position, scale_input = read_position(conf, conformer, renamed, choices)
    encoder = {
        "type": "conformer",
        "model_dim": conf.size("output_size", 256, "encoder.model_dim"),
        "num_layers": conf.size("num_blocks", 6, "encoder.num_layers"),
        "num_heads": conf.size("attention_heads", 4, "encoder.num_heads"),
        "feed_forward_dim": conf.size("linear_units", 2048, "encoder.feed_forward_dim"),
        "subsampling": dict(conf.choice("input_layer", "conv2d", _SUBSAMPLING,
                                        "encoder.subsampling.type")),
        "scale_input": scale_input,
        "position": position,
        "attention_bias": {part: renamed.layer_has(f"self_attn.linear_{letter}.bias")
                           for part, letter in (("query", "q"), ("key", "k"), ("value", "v"),
                                                ("out", "out"))},
        "feed_forward": {"macaron": macaron, "activation": activation,
                         "bias": renamed.layer_has("feed_forward.w_1.bias")},
        "convolution": convolution,
        "norm_first": norm_first,
        "after_norm": after_norm,
        "layer_norm_eps": _layer_norm_eps(conf, renamed, assumed, choices.layer_norm_eps),
    }
    if encoder["subsampling"]["type"] == "linear" and conf.has("norm_eps") \
            and encoder["layer_norm_eps"] != 1e-5:
        raise ConversionError("train.yaml.encoder_conf.norm_eps is not 1e-5, with input_layer "
                              "linear that is not supported: its own layer norm has 1e-5")
    _check_layers(encoder["num_layers"], renamed)
    conf.require("concat_after", False)
    conf.require("positionwise_conv_kernel_size", 1)
    conf.require("layer_norm_type", "layer_norm")
    conf.require("mlp_type", "position_wise_feed_forward")
    conf.require("conv_inner_factor", 2)
    conf.require("n_kv_head", encoder["num_heads"])
    conf.require("head_dim", encoder["model_dim"] // encoder["num_heads"])
    conf.ignore("dropout_rate", "positional_dropout_rate", "attention_dropout_rate",
                "gradient_checkpointing", "use_sdpa", "query_bias", "key_bias", "value_bias",
                "conv_bias", "mlp_bias", "n_expert", "n_expert_activated",
                "static_chunk_size", "use_dynamic_chunk", "use_dynamic_left_chunk", "causal",
                "cnn_module_kernel", "cnn_module_norm", "conv_norm_eps", "use_cnn_module",
                "macaron_style", "selfattention_layer_type", "final_norm")
    conf.finish()
    return encoder


def _convolution(conf: Settings, renamed: Renamed, activation: str) -> Optional[Dict[str, Any]]:
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
        "bias": renamed.layer_has("conv_module.pointwise_conv1.bias"),
        # WeNet pads a causal convolution before the gate and a symmetric one after it.
        "left_padding": "gated_zero" if causal else "zero",
    }


def _layer_norm_eps(conf: Settings, renamed: Renamed, assumed: Dict[str, str],
                    chosen: Optional[float]) -> float:
    """1e-12 in v1, whose layers hold an unused concat_linear; 1e-5 since then, an option in v3."""
    if chosen is not None:
        conf.ignore("norm_eps")
        return chosen
    if conf.has("norm_eps"):
        return float(conf.take("norm_eps", 1e-5))
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


def _check_sinusoids(weights: Dict[str, Tensor], source: str) -> None:
    """Checks that a table of positions in the weights (v3) holds the standard sinusoids."""
    table = weights.get("encoder.embed.pos_enc.pe")
    if table is None:
        return
    if table.dim() != 3 or table.size(2) % 2 != 0:
        raise ConversionError(f"{source}: encoder.embed.pos_enc.pe has shape {tuple(table.shape)}")
    frames = torch.arange(table.size(1), dtype=torch.float64).unsqueeze(1)
    exponents = torch.arange(0, table.size(2), 2, dtype=torch.float64) / table.size(2)
    angles = frames * torch.pow(10000.0, -exponents)
    if (table[0, :, 0::2] - angles.sin()).abs().max() > 5e-3 \
            or (table[0, :, 1::2] - angles.cos()).abs().max() > 5e-3:
        raise ConversionError(f"{source}: encoder.embed.pos_enc.pe is not the table of sinusoids")


def _cmvn(config: Settings, folder: Folder, renamed: Renamed, notes: List[str]) -> Dict[str, Any]:
    """The statistics in the weights, or in the file that train.yaml names."""
    conf = config.section("cmvn_conf")
    configured = config.take("cmvn_file", None) or conf.take("cmvn_file", None)
    is_json = config.take("is_json_cmvn", True) and conf.take("is_json_cmvn", True)
    wanted = config.take("cmvn", "global_cmvn" if configured else None)
    if wanted not in (None, "global_cmvn"):
        raise ConversionError(f"train.yaml.cmvn is {wanted!r}, which is not supported")
    names = ["encoder.global_cmvn.mean", "encoder.global_cmvn.istd"]
    there = all(name in renamed.tensors for name in names)
    if there:
        return {"type": "global_cmvn"}
    if wanted is None:
        return {"type": "none"}
    found = folder.find(configured, "global_cmvn")
    if found is None:
        raise ConversionError(f"{folder.where('global_cmvn')}: no such file (the features' "
                              "statistics, which the weights do not hold)")
    values = statistics.read_wenet(folder.read(found), is_json, folder.where(found))
    for name, tensor in zip(names, values):
        renamed.tensors[name] = tensor
        renamed.origin[name] = found
    notes.append(f"the features' statistics are those of {found}")
    return {"type": "global_cmvn"}


def _units(config: Settings, folder: Folder, assumed: Dict[str, str]) -> Tuple[List[str], int]:
    tokenizer = config.section("tokenizer_conf")
    config.choice("tokenizer", "char", {"char": None, "bpe": None})
    found = folder.find(tokenizer.take("symbol_table_path", None), "units.txt", "words.txt",
                        "lang_char.txt", "dict.txt")
    if found is None:
        raise ConversionError(f"{folder.where('units.txt')}: no such file (the symbols)")
    source = folder.where(found)
    tokens = units.read_symbol_table(folder.read(found), source)
    expected = config.take("output_dim", len(tokens))
    if expected != len(tokens):
        raise ConversionError(f"{source}: has {len(tokens)} symbols, train.yaml says output_dim "
                              f"{expected}")
    blank_id = config.section("ctc_conf").take("ctc_blank_id", 0)
    if not 0 <= blank_id < len(tokens):
        raise ConversionError(f"train.yaml.ctc_conf.ctc_blank_id is {blank_id}, expected an id "
                              f"of 0 to {len(tokens) - 1}")
    if tokens[blank_id] not in units.BLANK_NAMES:
        assumed["ctc.blank_id"] = f"its symbol is {tokens[blank_id]}"
    tokens = units.to_units(tokens, source)
    between = tokenizer.take("connect_symbol", "")
    if between not in ("", " "):
        raise ConversionError(f"train.yaml.tokenizer_conf.connect_symbol is {between!r}, expected "
                              "a space, between words, or nothing")
    return units.from_words(tokens) if between else tokens, blank_id


def _features(config: Settings, assumed: Dict[str, str]) -> Dict[str, Any]:
    """dataset_conf.fbank_conf since v1.0; before that, collate_conf."""
    dataset = config.section("dataset_conf")
    kind = dataset.take("feats_type", "fbank")
    if kind != "fbank":
        raise ConversionError(f"train.yaml.dataset_conf.feats_type is {kind!r}, which is not "
                              "supported; supported: fbank")
    rate = dataset.section("resample_conf").take("resample_rate", 16000,
                                                 "features.sample_frequency")
    if dataset.has("fbank_conf") or not config.has("collate_conf"):
        return wenet_fbank(dataset.section("fbank_conf"), "num_mel_bins", rate)
    collate = config.section("collate_conf").section("feature_extraction_conf")
    collate.require("feature_type", "fbank")
    collate.require("using_pitch", False)
    return wenet_fbank(collate, "mel_bins", rate)


def _streaming(config: Settings, encoder: Dict[str, Any], assumed: Dict[str, str]
               ) -> Dict[str, Any]:
    """Chunks of 16 for a model trained with dynamic chunks, otherwise those of its training."""
    conf = config.section("encoder_conf")
    convolution = encoder["convolution"]
    if convolution is not None and convolution["type"] == "symmetric":
        return streaming(-1, -1)
    if conf.take("use_dynamic_chunk", False, "streaming"):
        assumed["streaming"] = "WeNet's usual choice for models trained with use_dynamic_chunk"
        return streaming(16, 64 if conf.take("use_dynamic_left_chunk", False) else -1)
    static = conf.take("static_chunk_size", 0)
    return streaming(static, -1) if static > 0 else streaming(-1, -1)
