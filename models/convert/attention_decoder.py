"""The attention decoder of WeNet and ESPnet, which have the same network.

A decoder that the `attention_decoder` section cannot express is left out, with a note that names
the option or parameter. The other heads do not need it.
"""

import dataclasses
from typing import Any, Dict, List, Optional

import torch

from models.convert.errors import ConversionError
from models.convert.renaming import Renamed, Rule, rename
from models.convert.settings import Settings

PREFIX = "attention_decoder."  # of its tensors under the toolkit's names, before `take_decoder`
_PARAMETER = r"(weight|bias)"
_LAYER = r"(left|right)\.decoders\.(\d+)\."
_TO = r"\1.layers.\2."
_RULES: List[Rule] = [
    (r"(left|right)\.embed\.0\.weight", r"\1.embed.weight"),
    (r"(left|right)\.embed\.1\.pe", None),
    (rf"((?:left|right)\.after_norm\.){_PARAMETER}", r"\1\2"),
    (rf"(left|right)\.output_layer\.{_PARAMETER}", r"\1.output.\2"),
    (rf"{_LAYER}(norm[123]\.){_PARAMETER}", rf"{_TO}\3\4"),
    (rf"{_LAYER}((?:self|src)_attn\.linear_(?:q|k|v|out)\.){_PARAMETER}", rf"{_TO}\3\4"),
    (rf"{_LAYER}(feed_forward\.w_[12]\.){_PARAMETER}", rf"{_TO}\3\4"),
    # Used with concat_after only.
    (rf"{_LAYER}concat_linear[12]\.{_PARAMETER}", None),
]
_BIASED = ("self_attn.linear_q", "self_attn.linear_k", "self_attn.linear_v", "self_attn.linear_out",
           "src_attn.linear_q", "src_attn.linear_k", "src_attn.linear_v", "src_attn.linear_out",
           "feed_forward.w_1", "feed_forward.w_2")


@dataclasses.dataclass
class DecoderOptions:
    """The options of an attention decoder, read before its weights."""

    kind: Any  # the toolkit's name
    section: Dict[str, Any]  # `attention_decoder`; layer_norm_eps is None if the source has none
    fault: Optional[ConversionError] = None  # why the decoder must be left out


def read_decoder(kind: Any, conf: Settings, vocabulary: Dict[str, int], model_dim: int
                 ) -> DecoderOptions:
    """The options of a decoder, or why it cannot be expressed.

    Args:
        kind: the toolkit's name of the decoder. conf: its options.
        vocabulary: vocab_size, sos_id, eos_id. model_dim: of the encoder.
    """
    try:
        if kind not in ("transformer", "bitransformer"):
            raise ConversionError(f"decoder is {kind!r}; supported: transformer, bitransformer")
        return DecoderOptions(kind, _section(kind, conf, vocabulary, model_dim))
    except ConversionError as error:
        conf.ignore_rest()
        return DecoderOptions(kind, {}, error)


def take_decoder(options: DecoderOptions, renamed: Renamed, layer_norm_eps: float,
                 notes: List[str]) -> Optional[Dict[str, Any]]:
    """The `attention_decoder` section; gives its tensors their final names.

    Args:
        layer_norm_eps: of a source whose options have none.
        notes: gets a line for a decoder that is left out.

    Returns:
        None if there is no decoder, or none that can be expressed.
    """
    theirs = {name[len(PREFIX):]: renamed.tensors.pop(name)
              for name in list(renamed.tensors) if name.startswith(PREFIX)}
    if not theirs:
        return None
    origins = {name: renamed.origin.pop(PREFIX + name) for name in theirs}
    kind = options.kind
    try:
        if options.fault is not None:
            raise options.fault
        ours = rename({_sided(name, kind): tensor for name, tensor in theirs.items()}, _RULES,
                      "decoder")
    except ConversionError as error:
        notes.append(f"the attention decoder is left out: {error}")
        renamed.left_out.extend(origins.values())
        return None
    of_sided = {_sided(name, kind): origin for name, origin in origins.items()}
    for name, tensor in ours.tensors.items():
        renamed.tensors[PREFIX + name] = tensor
        renamed.origin[PREFIX + name] = of_sided[ours.origin[name]]
    renamed.left_out.extend(of_sided[name] for name in ours.left_out)
    section = options.section
    if section["layer_norm_eps"] is None:
        section["layer_norm_eps"] = layer_norm_eps
    _complete(section, renamed)
    return section


def _sided(name: str, kind: str) -> str:
    """A tensor's name with the direction in front, as the decoder of one direction has none."""
    if kind == "transformer":
        return f"left.{name}"
    return name.replace("left_decoder.", "left.", 1).replace("right_decoder.", "right.", 1)


def _section(kind: str, conf: Settings, vocabulary: Dict[str, int], model_dim: int
             ) -> Dict[str, Any]:
    for name, accepted in (("input_layer", "embed"), ("use_output_layer", True),
                           ("src_attention", True), ("layer_norm_type", "layer_norm"),
                           ("mlp_type", "position_wise_feed_forward"), ("concat_after", False),
                           ("qk_norm", False)):
        conf.require(name, accepted)
    heads = conf.size("attention_heads", 4, "attention_decoder.num_heads")
    conf.require("n_kv_head", None, heads)
    conf.require("head_dim", None, model_dim // heads)
    section = {
        **vocabulary,
        "num_heads": heads,
        "feed_forward_dim": conf.size("linear_units", 2048, "attention_decoder.feed_forward_dim"),
        "left_layers": conf.layers("num_blocks", 6, "attention_decoder.left_layers"),
        "right_layers": (conf.layers("r_num_blocks", 0, least=0) if kind == "bitransformer"
                         else 0),
        "norm_first": conf.take("normalize_before", True),
        "activation": conf.choice("activation_type", "relu",
                                  {name: name for name in ("relu", "swish", "gelu")}),
        "layer_norm_eps": conf.take("norm_eps", 1e-5) if conf.states("norm_eps") else None,
    }
    conf.ignore("r_num_blocks", "dropout_rate", "positional_dropout_rate",
                "self_attention_dropout_rate", "src_attention_dropout_rate", "layer_drop_rate",
                "gradient_checkpointing", "use_sdpa", "use_flash_attn", "tie_word_embedding",
                "query_bias", "key_bias", "value_bias", "src_query_bias", "src_key_bias",
                "src_value_bias", "mlp_bias", "n_expert", "n_expert_activated")
    conf.finish()
    return section


def _complete(section: Dict[str, Any], renamed: Renamed) -> None:
    """Zeros for the biases that a decoder does without; drops a norm that it does not use."""
    tensors = renamed.tensors
    for side in ("left", "right"):
        if not section["norm_first"]:
            for parameter in ("weight", "bias"):
                tensors.pop(f"{PREFIX}{side}.after_norm.{parameter}", None)
        for i in range(section[f"{side}_layers"]):
            for part in _BIASED:
                name = f"{PREFIX}{side}.layers.{i}.{part}"
                weight = tensors.get(f"{name}.weight")
                if weight is not None:
                    tensors.setdefault(f"{name}.bias", torch.zeros(weight.size(0)))
