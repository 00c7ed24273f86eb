"""NVIDIA NeMo: Conformer and cache-aware FastConformer with CTC, RNN-T, TDT or both heads.

A .nemo file is a tar of model_config.yaml, model_weights.ckpt and the tokenizer's files. A folder
with state_dict.pt and tokens.txt has no options: nemo_shapes.py takes them from names and shapes.
"""

import pathlib
from typing import Any, Dict, List, Optional, Tuple

from models.convert import nemo_options, nemo_shapes, nemo_speakers, nemo_transducer
from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.features import nemo_features
from models.convert.folder import Folder
from models.convert.nemo_tokens import read_tokens
from models.convert.renaming import Renamed, Rule, rename, stack_size
from models.convert.resolved import (WHOLE_UTTERANCE, Resolved, needs_whole_utterance,
                                     streaming)
from models.convert.settings import Settings, pair, shown
from models.convert.transducers import add_lstm_biases
from models.convert.weights import read_weights

_PARAMETER = r"(weight|bias)"
_LAYER = r"encoder\.layers\.(\d+)\."
_TO = r"encoder.encoders.\1."
RULES: List[Rule] = [
    (rf"encoder\.pre_encode\.(conv\.[02356])\.{_PARAMETER}", r"encoder.embed.\1.\2"),
    (rf"encoder\.pre_encode\.out\.{_PARAMETER}", r"encoder.embed.out.0.\1"),
    (rf"{_LAYER}norm_feed_forward1\.{_PARAMETER}", rf"{_TO}norm_ff_macaron.\2"),
    (rf"{_LAYER}feed_forward1\.linear([12])\.{_PARAMETER}", rf"{_TO}feed_forward_macaron.w_\2.\3"),
    (rf"{_LAYER}norm_self_att\.{_PARAMETER}", rf"{_TO}norm_mha.\2"),
    (rf"{_LAYER}(self_attn\.linear_(?:q|k|v|out|pos))\.{_PARAMETER}", rf"{_TO}\2.\3"),
    (rf"{_LAYER}(self_attn\.pos_bias_[uv])", rf"{_TO}\2"),
    (rf"{_LAYER}norm_conv\.{_PARAMETER}", rf"{_TO}norm_conv.\2"),
    (rf"{_LAYER}conv\.(pointwise_conv[12]|depthwise_conv)\.{_PARAMETER}",
     rf"{_TO}conv_module.\2.\3"),
    # The field is called batch_norm for every kind of norm.
    (rf"{_LAYER}conv\.batch_norm\.(weight|bias|running_mean|running_var)",
     rf"{_TO}conv_module.norm.\2"),
    (rf"{_LAYER}conv\.batch_norm\.num_batches_tracked", None),
    (rf"{_LAYER}norm_feed_forward2\.{_PARAMETER}", rf"{_TO}norm_ff.\2"),
    (rf"{_LAYER}feed_forward2\.linear([12])\.{_PARAMETER}", rf"{_TO}feed_forward.w_\2.\3"),
    (rf"{_LAYER}norm_out\.{_PARAMETER}", rf"{_TO}norm_final.\2"),
    (r"encoder\.pos_bias_[uv]", None),  # shared by all layers, which hold them too
    (r"encoder\.pos_enc\.pe", None),
    (r"preprocessor\.featurizer\..+", None),  # window and filters, see features.py
    (r"(?:spec_augmentation|loss|wer|ctc_loss|ctc_wer)\..+", None),
]
_HEAD_RULES: Dict[str, List[Rule]] = {
    "ctc": [(rf"(?:ctc_)?decoder\.decoder_layers\.0\.{_PARAMETER}", r"ctc.ctc_lo.\1")],
    "transducer": nemo_transducer.RULES,
}
_LEFT_OUT_RULES: Dict[str, List[Rule]] = {  # of a head that the model file shall not have
    "ctc": [(r"(?:ctc_)?decoder\.decoder_layers\..+", None)],
    "transducer": [(r"(?:decoder\.prediction|joint)\..+", None)],
}
_HEAD_NAMES = {"ctc": "CTC head", "transducer": "transducer"}
_HEAD_STARTS = {"ctc": ("decoder.decoder_layers.", "ctc_decoder.decoder_layers."),
                "transducer": ("decoder.prediction.", "joint.")}
_STYLES = {style: style for style in ("regular", "chunked_limited", "chunked_limited_with_rc")}


def read_model(path: pathlib.Path, name: str, choices: Choices) -> Resolved:
    """The model of a .nemo file or of a folder with the same files or a bare state dict.

    Raises:
        ConversionError: one line that names the file, option or parameter at fault.
    """
    folder = Folder(path)
    has_config = folder.has("model_config.yaml")
    bare = not has_config and folder.has("state_dict.pt")
    checkpoint = choices.take("checkpoint")
    weights_name = checkpoint or ("state_dict.pt" if bare else "model_weights.ckpt")
    if path.is_file() and not has_config:
        raise ConversionError(f"{folder.where('model_config.yaml')}: no such file")
    if not has_config and not bare and checkpoint is None:
        raise ConversionError(f"{path}: holds neither model_config.yaml (an unpacked .nemo file) "
                              "nor state_dict.pt (bare weights, with tokens.txt)")
    source = folder.where(weights_name)
    assumed: Dict[str, str] = {}
    notes: List[str] = []
    eps = choices.take("layer_norm_eps")
    if eps is None:
        assumed["encoder.layer_norm_eps"] = "PyTorch's default, which NeMo uses"
        eps = 1e-5
    if not has_config:
        renamed = _renamed(folder, weights_name,
                           nemo_options.kept_heads(["ctc"], source, choices), notes)
        return nemo_shapes.read_model(folder, name, renamed, source, eps, assumed, notes)
    config = nemo_options.read_settings(folder, assumed)
    encoder_type = nemo_speakers.encoder_type(config, notes)
    kept = nemo_options.kept_heads(nemo_options.heads_of(config), source, choices)
    encoder, limits = _encoder(config.section("encoder"), assumed, eps)
    encoder["type"] = encoder_type
    transducer = nemo_transducer.transducer_section(config) if "transducer" in kept else {}
    nemo_options.read_ctc(config, kept)
    preprocessor = config.section("preprocessor")
    encoder["normalization"] = _normalization(preprocessor)
    features = _features(config, preprocessor, encoder, assumed)
    _check_limits(encoder, limits)
    for section in ("encoder", "decoder", "joint", "aux_ctc", "preprocessor"):
        config.section(section).finish()
    renamed = _renamed(folder, weights_name, kept, notes)
    if transducer:
        nemo_transducer.join_embeddings(renamed, transducer["predictor"], source)
    if encoder_type == "multitalker_conformer":
        nemo_speakers.fold_background(config, renamed, source)
    tokens, kinds = read_tokens(config, folder, _num_tokens(renamed))
    resolved = Resolved(name, encoder, features, limits, {}, tokens, renamed, source, assumed,
                        kinds=kinds, notes=notes)
    if "ctc" in kept:
        resolved.heads["ctc"] = {"vocab_size": len(tokens), "blank_id": len(tokens) - 1}
    if transducer:
        nemo_transducer.check_vocabulary(config, len(tokens))
        resolved.heads["transducer"] = {"vocab_size": len(tokens), "blank_id": len(tokens) - 1,
                                        **transducer}
    prompt = nemo_transducer.prompt_section(config, renamed, assumed, resolved.notes)
    if prompt is not None:
        resolved.heads["prompt"] = prompt
    nemo_options.note_unread(config, resolved.notes)
    return resolved


def _renamed(folder: Folder, weights_name: str, kept: List[str], notes: List[str]) -> Renamed:
    """The weights under Runnel's names; those of heads that are not kept are left out."""
    source = folder.where(weights_name)
    weights = read_weights(folder.open(weights_name, "the weights"), source, notes)
    for head in kept:
        if not any(key.startswith(_HEAD_STARTS[head]) for key in weights):
            expected = " or ".join(start.rstrip(".") for start in _HEAD_STARTS[head])
            raise ConversionError(f"{source}: has no {_HEAD_NAMES[head]} ({expected})")
    rules = RULES + nemo_speakers.RULES + nemo_transducer.PROMPT_RULES
    for head in _HEAD_RULES:
        rules = rules + (_HEAD_RULES if head in kept else _LEFT_OUT_RULES)[head]
    renamed = rename(weights, rules, source)
    _flatten_head(renamed)
    add_lstm_biases(renamed)
    _share_biases(weights, renamed)
    return renamed


def _flatten_head(renamed: Renamed) -> None:
    """Turns the head, a convolution with one tap, into a linear layer."""
    weight = renamed.tensors.get("ctc.ctc_lo.weight")
    if weight is not None and weight.dim() == 3 and weight.size(2) == 1:
        renamed.tensors["ctc.ctc_lo.weight"] = weight.squeeze(2)


def _share_biases(weights: Dict[str, Any], renamed: Renamed) -> None:
    """With untie_biases false, gives every layer the encoder's pos_bias_u and pos_bias_v."""
    for letter in "uv":
        shared = weights.get(f"encoder.pos_bias_{letter}")
        if shared is None:
            continue
        for i in range(stack_size(renamed.tensors, "encoder.encoders.")):
            renamed.tensors.setdefault(f"encoder.encoders.{i}.self_attn.pos_bias_{letter}", shared)


def _encoder(conf: Settings, assumed: Dict[str, str], eps: float
             ) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The `encoder` section without normalization, and the streaming fields."""
    target = str(conf.take("_target_", "ConformerEncoder"))
    if not target.endswith("ConformerEncoder"):
        raise ConversionError(f"model_config.yaml.encoder._target_ is {target}, which is not "
                              "supported; supported: ConformerEncoder")
    dim = conf.size("d_model")
    heads = conf.size("n_heads", 4, "encoder.num_heads")
    bias = conf.take("use_bias", True, "encoder.attention_bias")
    attention = conf.choice("self_attention_model", "rel_pos",
                            {"rel_pos": "chunk_rpe", "abs_pos": "absolute",
                             "rel_pos_local_attn": "windowed_rpe"}, "encoder.position.scheme")
    window = _window(conf, attention)
    position: Dict[str, Any] = {"scheme": "absolute"}
    if attention != "absolute":
        position = nemo_shapes.relative_position()
    if window is not None:
        position.update(scheme="windowed_rpe", left=window[0], right=window[1])
    encoder = {
        "type": "conformer",
        "input_dim": conf.size("feat_in"),
        "model_dim": dim,
        "num_layers": conf.layers("n_layers"),
        "num_heads": heads,
        "feed_forward_dim": dim * conf.size("ff_expansion_factor", 4, "encoder.feed_forward_dim"),
        "subsampling": _subsampling(conf, dim),
        "scale_input": conf.take("xscaling", True, "encoder.scale_input"),
        "position": position,
        "attention_bias": {part: bias for part in ("query", "key", "value", "out")},
        "feed_forward": {"macaron": True, "activation": "swish", "bias": bias},
        "convolution": _convolution(conf, bias),
        "norm_first": True,
        "after_norm": False,
        "layer_norm_eps": eps,
    }
    conf.require("feat_out", -1, 0, dim)
    conf.require("reduction", None)
    conf.require("reduction_factor", 1)
    conf.require("conv_dual_mode", False)
    conf.require("global_tokens", 0)
    conf.ignore("reduction_position", "untie_biases", "pos_emb_max_len", "att_context_probs",
                "subsampling_conv_chunking_factor", "dropout", "dropout_pre_encoder", "dropout_emb",
                "dropout_att", "stochastic_depth_drop_prob", "stochastic_depth_mode",
                "stochastic_depth_start_layer", "global_tokens_spacing", "global_attn_separate",
                "use_pytorch_sdpa", "use_pytorch_sdpa_backends", "use_triton",
                "sync_max_audio_length", "rope_base", "rotary_fraction")
    return encoder, streaming(**WHOLE_UTTERANCE) if window else _latencies(conf, assumed)


def _window(conf: Settings, attention: str) -> Optional[Tuple[int, int]]:
    """The frames that each frame reads before and after itself, where the window moves with it."""
    size = pair(conf.take("att_context_size", None))
    style = conf.take("att_context_style", "regular")
    if attention == "windowed_rpe":
        if style != "regular" or size is None or size[0] != size[1] or size[0] < 1:
            # NeMo gives a score of an unequal window the position of another distance.
            raise ConversionError("model_config.yaml.encoder.self_attention_model is "
                                  "'rel_pos_local_attn' with att_context_size "
                                  f"{conf.take('att_context_size', None)!r}, which is not supported"
                                  "; supported: one [left, right] of equal sizes")
        return size
    moves = (style == "regular" and size is not None and min(size) >= -1 and size[1] != 0
             and size != (-1, -1))
    return size if moves and attention == "chunk_rpe" else None


def _subsampling(conf: Settings, dim: int) -> Dict[str, Any]:
    kind, factor = conf.choice("subsampling", "striding", {
        "striding": ("striding4", 4), "dw_striding": ("dw_striding8", 8)},
        "encoder.subsampling.type")
    if conf.size("subsampling_factor", 4, "encoder.subsampling.type") != factor:
        raise ConversionError(f"model_config.yaml.encoder.subsampling_factor is "
                              f"{conf.take('subsampling_factor', 4)}, expected {factor} with "
                              f"{conf.take('subsampling', 'striding')}")
    channels = conf.take("subsampling_conv_channels", -1, "encoder.subsampling.channels")
    return {"type": kind, "channels": dim if channels == -1 else channels,
            "causal": conf.take("causal_downsampling", False, "encoder.subsampling.causal")}


def _convolution(conf: Settings, bias: bool) -> Dict[str, Any]:
    kernel = conf.size("conv_kernel_size", 31, "encoder.convolution.kernel_size")
    context = conf.take("conv_context_size", None)
    half = (kernel - 1) // 2
    if context is None or pair(context) == (half, half):
        kind = "symmetric"
    elif context == "causal" or pair(context) == (kernel - 1, 0):
        kind = "causal"
    else:
        raise ConversionError(f"model_config.yaml.encoder.conv_context_size is {context!r}, which "
                              f"is not supported with a kernel of {kernel}; supported: causal, "
                              f"[{half}, {half}]")
    norm = conf.choice("conv_norm_type", "batch_norm",
                       {"batch_norm": "batch_norm", "layer_norm": "layer_norm"},
                       "encoder.convolution.norm")
    return {"type": kind, "kernel_size": kernel, "norm": norm, "norm_epsilon": 1e-5,
            "activation": "swish", "bias": bias, "left_padding": "zero"}


def _latencies(conf: Settings, assumed: Dict[str, str]) -> Dict[str, Any]:
    """att_context_size, [left, right] in encoder frames or a list of such, as chunks."""
    style = conf.choice("att_context_style", "regular", _STYLES, "streaming")
    if style == "chunked_limited_with_rc":
        # A unified model, trained on whole utterances and on windows. NeMo computes whole
        # utterances unless the caller chooses a window, whatever att_context_size says.
        conf.require("conv_context_style", "regular", "dcc")
        conf.ignore("att_context_size", "att_chunk_context_size")
        assumed["streaming"] = "the windows of att_chunk_context_size are not supported"
        return streaming(**WHOLE_UTTERANCE)
    conf.require("conv_context_style", "regular")
    conf.null_is_absent("att_context_size")
    value = conf.take("att_context_size", [-1, -1], "streaming")
    items = [value] if pair(value) else value
    sizes = [pair(item) for item in items] if isinstance(items, list) else []
    settings: List[Dict[str, int]] = []
    for size in sizes or [None]:
        if size is None:
            raise ConversionError(f"model_config.yaml.encoder.att_context_size is {value!r}, "
                                  "expected [left, right] or a list of such")
        left, right = size
        # A right context that moves with the query cannot be a chunk; a right context of 0 can.
        chunked = right >= 0 and (style == "chunked_limited" or right == 0)
        if size == (-1, -1):
            settings.append(WHOLE_UTTERANCE)
        elif chunked and (left < 0 or left % (right + 1) == 0):
            settings.append({"chunk_size": right + 1, "left_context": max(left, -1)})
        else:
            raise ConversionError(f"model_config.yaml.encoder.att_context_size {list(size)} with "
                                  f"att_context_style {style} is not supported; supported: "
                                  "[-1, -1], and chunked_limited with a left context that is a "
                                  "multiple of right + 1")
    only = None if settings == [WHOLE_UTTERANCE] else settings
    return streaming(settings[0]["chunk_size"], settings[0]["left_context"], only)


def _check_limits(encoder: Dict[str, Any], limits: Dict[str, Any]) -> None:
    """Rejects chunked attention combined with a module that reads the whole utterance."""
    if limits["only"] and needs_whole_utterance(encoder):
        if encoder["normalization"]["type"] == "utterance":
            raise ConversionError("model_config.yaml.preprocessor.normalize is 'per_feature' with "
                                  "limited att_context_size, which is not supported")
        raise ConversionError("model_config.yaml.encoder.conv_context_size is symmetric with "
                              "limited att_context_size, which is not supported")


def _normalization(preprocessor: Settings) -> Dict[str, Any]:
    if preprocessor.is_null("normalize"):
        preprocessor.ignore("normalize")
        return {"type": "none"}
    value = preprocessor.take("normalize", "per_feature", "encoder.normalization.type")
    if value == "per_feature":
        return {"type": "utterance", "epsilon": 1e-5}
    if value in ("NA", "", "None", "none"):
        return {"type": "none"}
    raise ConversionError(f"model_config.yaml.preprocessor.normalize is {shown(value)}, which is "
                          "not supported; supported: per_feature, NA")


def _features(config: Settings, preprocessor: Settings, encoder: Dict[str, Any],
              assumed: Dict[str, str]) -> Dict[str, Any]:
    features = nemo_features(preprocessor, "model_config.yaml.preprocessor",
                             config.size("sample_rate", 16000), assumed)
    if features["num_mel_bins"] != encoder["input_dim"]:
        raise ConversionError(f"model_config.yaml.preprocessor.features is "
                              f"{features['num_mel_bins']}, the encoder's feat_in is "
                              f"{encoder['input_dim']}")
    return features


def _num_tokens(renamed: Renamed) -> int:
    """The tokens that a head of the model has, without the blank."""
    head = next(name for name in ("ctc.ctc_lo.bias", "transducer.predictor.embedding.weight")
                if name in renamed.tensors)
    return int(renamed.tensors[head].size(0)) - 1
