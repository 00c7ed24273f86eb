"""icefall's Conformers: the plain one (conformer_ctc, transducer_stateless) and the reworked one
(pruned_transducer_stateless2 to 6, conformer_ctc2, conformer_ctc3).

A folder with pretrained.pt and tokens.txt holds no options: sizes come from the shapes of the
weights, the rest is that of icefall's recipes. The user states what neither tells (Choices).
"""

import dataclasses
import re
from typing import Any, Dict, List, Tuple

import torch
from torch import Tensor

from models.convert import icefall_heads, units
from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.folder import Folder
from models.convert.renaming import Renamed, Rule, rename, stack_size
from models.convert.resolved import Resolved, streaming
from models.convert.weights import read_weights
from models.reference.archive import fbank_section

_PARAMETER = r"(weight|bias)"
_LAYER = r"encoder\.layers\.(\d+)\."
_TO = r"encoder.encoders.\1."
_BATCH_NORM_EPSILON = 1e-5
RULES: List[Rule] = [
    (rf"encoder_embed\.(conv\.\d)\.{_PARAMETER}", r"encoder.embed.\1.\2"),
    (rf"encoder_embed\.out\.{_PARAMETER}", r"encoder.embed.out.0.\1"),
    (r"encoder_embed\.out_norm\.eps", r"encoder.embed.out.1.log_epsilon"),
    (r"encoder_pos\.pe", None),
    (rf"{_LAYER}(norm_(?:ff_macaron|mha|conv|ff|final))\.{_PARAMETER}", rf"{_TO}\2.\3"),
    (rf"{_LAYER}norm_final\.eps", rf"{_TO}norm_final.log_epsilon"),
    (rf"{_LAYER}(feed_forward(?:_macaron)?)\.0\.{_PARAMETER}", rf"{_TO}\2.w_1.\3"),
    (rf"{_LAYER}(feed_forward(?:_macaron)?)\.[34]\.{_PARAMETER}", rf"{_TO}\2.w_2.\3"),
    (rf"{_LAYER}self_attn\.(linear_(?:q|k|v|pos))\.{_PARAMETER}", rf"{_TO}self_attn.\2.\3"),
    (rf"{_LAYER}self_attn\.out_proj\.{_PARAMETER}", rf"{_TO}self_attn.linear_out.\2"),
    (rf"{_LAYER}self_attn\.(pos_bias_[uv])", rf"{_TO}self_attn.\2"),
    (rf"{_LAYER}(conv_module\.(?:pointwise_conv[12]|depthwise_conv|norm))\.{_PARAMETER}",
     rf"{_TO}\2.\3"),
    (rf"{_LAYER}(conv_module\.norm\.running_(?:mean|var))", rf"{_TO}\2"),
    (rf"{_LAYER}conv_module\.norm\.num_batches_tracked", None),
    (rf"after_norm\.{_PARAMETER}", r"encoder.after_norm.\1"),
    (r"feat_batchnorm\..+", None),  # turned into global_cmvn by _take_feature_norm
]
_WENET_LAYER = re.compile(
    r"encoder\.encoders\.\d+\.(?:self_attn\.linear_|norm_mha\.|norm1\.|feed_forward\.w_)")
# Encoders of other kinds, by a part of a parameter's name.
_OTHER_ENCODERS = (("encoder.encoders.", "a Zipformer"), (".emformer_layers.", "an Emformer"),
                   ("encoder.layers.0.lstm.", "an LSTM"), ("rnn_layers.", "an LSTM"),
                   ("encoder_embed.layers.", "a Conformer with the VGG front end"),
                   ("encoder.layers.0.src_attn.", "a Conv-Emformer"),
                   # pruned2_knowledge: two runs do not give the same values.
                   ("knowledge_base", "a Conformer that reads a knowledge base at random places"))


@dataclasses.dataclass(frozen=True)
class Facts:
    """What the weights tell."""

    reworked: bool
    model_dim: int
    num_layers: int
    num_heads: int
    feed_forward_dim: int
    kernel_size: int
    convolution_norm: str
    norm_first: bool


def read_model(folder: Folder, name: str, choices: Choices) -> Resolved:
    """The model of a folder.

    Raises:
        ConversionError: one line that names the file, the parameter or the flag at fault.
    """
    weights_name = choices.take("checkpoint") or "pretrained.pt"
    source = folder.where(weights_name)
    notes: List[str] = []
    weights = _flattened(read_weights(folder.open(weights_name, "the weights"), source, notes),
                         source)
    has_transducer = any(name.startswith("joiner.") for name in weights)
    facts = _facts(weights, source)
    assumed: Dict[str, str] = {}
    normalization, statistics = _take_feature_norm(weights, facts, source, choices)
    subsampling, bins = _subsampling(weights, facts, source, choices, assumed)
    rules, heads = icefall_heads.read(weights, has_transducer, facts.reworked, source, choices,
                                      notes)
    tokens, blank_id = _tokens(folder, icefall_heads.vocab_size(heads))
    for section in heads.values():
        section["blank_id"] = blank_id
    _split_projections(weights, source)
    renamed = rename(weights, [*rules, *RULES], source)
    icefall_heads.complete(renamed, heads)
    if facts.reworked:
        _shape_reworked(renamed)
    renamed.tensors.update(statistics)
    encoder = _encoder(facts, choices, assumed)
    encoder.update(normalization=normalization, input_dim=bins, subsampling={"type": subsampling})
    features = fbank_section(num_mel_bins=bins, sample_scale=1.0, high_freq=-400.0,
                             snip_edges=False)
    assumed["features"] = "those of icefall's recipes (lhotse's Fbank)"
    section = streaming(-1, -1)
    if encoder["convolution"]["type"] == "causal":
        section = streaming(16, 64)
        assumed["streaming"] = "icefall's usual choice for streaming models"
    return Resolved(name, encoder, features, section, heads, tokens, renamed, source, assumed,
                    notes)


def _flattened(weights: Dict[str, Tensor], source: str) -> Dict[str, Tensor]:
    """The weights with the scales of scaled layers multiplied in, and `encoder_embed`, `encoder`
    and what belongs to them without the prefix that transducers have."""
    if any(_WENET_LAYER.match(name) for name in weights):
        raise ConversionError(f"{source}: the encoder has WeNet's layers, expected config.yaml "
                              "beside it with their options; there is no such file")
    for part, kind in _OTHER_ENCODERS:
        if any(part in name for name in weights):
            raise ConversionError(f"{source}: the encoder is {kind}, which is not supported; "
                                  "supported: icefall's plain and reworked Conformer")
    if not any(name.endswith("encoder_embed.out.weight") for name in weights):
        raise ConversionError(f"{source}: no parameter encoder_embed.out.weight, expected the "
                              "weights of one of icefall's Conformers")
    prefix = "encoder." if "encoder.encoder_embed.out.weight" in weights else ""
    flat: Dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if name.endswith(("_scale", "embedding.scale")):
            continue
        scale = weights.get(f"{name}_scale", weights.get(
            f"{name[:-len('weight')]}scale" if name.endswith("embedding.weight") else ""))
        if scale is not None:
            if scale.numel() != 1:
                raise ConversionError(f"{source}: the scale of {name} has shape "
                                      f"{tuple(scale.shape)}, expected one value")
            tensor = tensor * scale.exp()
        flat[name[len(prefix):] if name.startswith(prefix) else name] = tensor
    return flat


def _size(weights: Dict[str, Tensor], source: str, name: str, dims: int, dim: int) -> int:
    tensor = weights.get(name)
    if tensor is None or tensor.dim() != dims:
        found = "no parameter" if tensor is None else f"shape {tuple(tensor.shape)}"
        raise ConversionError(f"{source}: {name}: {found}, expected one of {dims} dimensions, as "
                              "icefall's Conformers have")
    return tensor.size(dim)


def _facts(weights: Dict[str, Tensor], source: str) -> Facts:
    layer = "encoder.layers.0."
    norm = f"{layer}conv_module.norm."
    return Facts(
        reworked=f"{layer}norm_final.eps" in weights,
        model_dim=_size(weights, source, "encoder_embed.out.weight", 2, 0),
        num_layers=stack_size(weights, "encoder.layers."),
        num_heads=_size(weights, source, f"{layer}self_attn.pos_bias_u", 2, 0),
        feed_forward_dim=_size(weights, source, f"{layer}feed_forward.0.weight", 2, 0),
        kernel_size=_size(weights, source, f"{layer}conv_module.depthwise_conv.weight", 3, 2),
        convolution_norm=("batch_norm" if f"{norm}running_mean" in weights
                          else "layer_norm" if f"{norm}weight" in weights else "none"),
        norm_first="after_norm.weight" in weights)


def _encoder(facts: Facts, choices: Choices, assumed: Dict[str, str]) -> Dict[str, Any]:
    """The `encoder` section without normalization, input_dim and subsampling."""
    causal = bool(choices.take("causal"))
    if not causal:
        assumed["encoder.convolution.type"] = "--causal is not given"
    activation = "double_swish" if facts.reworked else "swish"
    norms: Dict[str, Any] = {}
    if not facts.reworked:
        eps = choices.take("layer_norm_eps")
        norms = {"norm_first": facts.norm_first, "after_norm": facts.norm_first,
                 "layer_norm_eps": 1e-5 if eps is None else eps}
    return {
        "type": "reworked_conformer" if facts.reworked else "conformer",
        "model_dim": facts.model_dim,
        "num_layers": facts.num_layers,
        "num_heads": facts.num_heads,
        "feed_forward_dim": facts.feed_forward_dim,
        "scale_input": not facts.reworked,
        "position": {"scheme": "chunk_rpe", "linear_pos_bias": False,
                     "query_scaling": "before_bias" if facts.reworked else "after_bias",
                     "table_order": "descending"},
        "attention_bias": {part: True for part in ("query", "key", "value", "out")},
        "feed_forward": {"macaron": True, "activation": activation, "bias": True},
        "convolution": {
            "type": "causal" if causal else "symmetric",
            "kernel_size": facts.kernel_size, "norm": facts.convolution_norm,
            "norm_epsilon": None if facts.convolution_norm == "none" else _BATCH_NORM_EPSILON,
            "activation": activation, "bias": True, "left_padding": "zero"},
        **norms,
    }


def _take_feature_norm(weights: Dict[str, Tensor], facts: Facts, source: str, choices: Choices
                       ) -> Any:
    """The `normalization` section, and its tensors: of a batch norm or a factor of the features."""
    norm = {part: weights.get(f"feat_batchnorm.{part}") for part in ("weight", "bias",
                                                                     "running_mean", "running_var")}
    mean, istd = "encoder.global_cmvn.mean", "encoder.global_cmvn.istd"
    if norm["weight"] is None:
        if facts.convolution_norm == "none" and not facts.reworked:
            # A convolution without a norm comes with features that are multiplied by a number.
            factor = choices.take("feature_scale")
            if factor is None:
                raise ConversionError(f"{source}: the weights do not tell by what the features are "
                                      "multiplied; expected --feature_scale, the number of "
                                      "use_feat_batchnorm in the recipe")
            ones = torch.ones(_subsampling(weights, facts, source, choices, {})[1])
            return {"type": "global_cmvn"}, {mean: ones * 0, istd: ones * factor}
        return {"type": "none"}, {}
    if any(part is None or part.shape != norm["weight"].shape for part in norm.values()):
        raise ConversionError(f"{source}: feat_batchnorm lacks a part, or has parts of different "
                              "sizes")
    scale = norm["weight"].double() / (norm["running_var"].double() + _BATCH_NORM_EPSILON).sqrt()
    if not bool((scale != 0).all()):
        raise ConversionError(f"{source}: feat_batchnorm.weight holds 0, which is not supported")
    return {"type": "global_cmvn"}, {
        mean: (norm["running_mean"].double() - norm["bias"].double() / scale).float(),
        istd: scale.float()}


def _subsampling(weights: Dict[str, Tensor], facts: Facts, source: str, choices: Choices,
                 assumed: Dict[str, str]) -> Tuple[str, int]:
    """The type, and the size of its input: from the batch norm of the features, or else 80 or a
    flag, for which the weights have the size of one of the types."""
    last = "encoder_embed.conv.6.weight" if facts.reworked else "encoder_embed.conv.2.weight"
    after = (_size(weights, source, "encoder_embed.out.weight", 2, 1)
             // max(_size(weights, source, last, 4, 0), 1))
    fitting = {"conv2d4": range(4 * after + 3, 4 * after + 7)}
    if facts.reworked:  # Conv2dSubsampling, Conv2dSubsampling2
        fitting = {"conv2d_1_2_2": fitting["conv2d4"],
                   "conv2d_1_2_1": range(2 * after + 5, 2 * after + 7)}
    norm = weights.get("feat_batchnorm.weight")
    stated = choices.take("num_mel_bins") if norm is None else None
    bins = norm.numel() if norm is not None else 80 if stated is None else stated
    kind = next((kind for kind, sizes in fitting.items() if bins in sizes), None)
    ranges = " or ".join(f"{sizes[0]} to {sizes[-1]}" for sizes in fitting.values())
    if kind is None and norm is None and stated is None:
        raise ConversionError(f"{source}: the weights are those of {ranges} bins, expected "
                              "--num_mel_bins")
    if kind is None:
        found = "feat_batchnorm has" if norm is not None else "--num_mel_bins is"
        raise ConversionError(f"{source}: {found} {bins}, but the weights are those of {ranges} "
                              "bins")
    if norm is None and stated is None:
        assumed["encoder.input_dim"] = f"{ranges} bins fit the weights"
    return kind, bins


def _split_projections(weights: Dict[str, Tensor], source: str) -> None:
    """in_proj holds the projections of queries, keys and values."""
    for name in [name for name in weights if ".self_attn.in_proj." in name]:
        tensor = weights.pop(name)
        if tensor.dim() == 0 or tensor.size(0) % 3 != 0:
            raise ConversionError(f"{source}: {name} has shape {tuple(tensor.shape)}, expected "
                                  "three projections of the same size")
        for letter, part in zip("qkv", tensor.chunk(3)):
            weights[name.replace("in_proj", f"linear_{letter}")] = part.clone()


def _shape_reworked(renamed: Renamed) -> None:
    """Convolutions of the subsampling are numbered without ActivationBalancers; BasicNorm's
    epsilon is a tensor of one value."""
    tensors = renamed.tensors
    for ours, theirs in ((2, 3), (4, 6)):
        for parameter in ("weight", "bias"):
            name = f"encoder.embed.conv.{theirs}.{parameter}"
            if name in tensors:
                tensors[f"encoder.embed.conv.{ours}.{parameter}"] = tensors.pop(name)
    for name in tensors:
        if name.endswith(".log_epsilon"):
            tensors[name] = tensors[name].reshape(-1)


def _tokens(folder: Folder, vocab_size: int) -> Any:
    """The tokens, without the disambiguation symbols of a graph, and the id of the blank."""
    found = folder.find("tokens.txt", "data/lang_bpe_500/tokens.txt", "data/lang_char/tokens.txt")
    source = folder.where(found or "tokens.txt")
    table = units.read_symbol_table(folder.read(found or "tokens.txt", "the tokens"), source)
    extra = [token for token in table[vocab_size:] if not token.startswith("#")]
    if len(table) < vocab_size or extra:
        raise ConversionError(f"{source}: has {len(table)} tokens, expected the model's "
                              f"{vocab_size}")
    tokens = units.to_units(table[:vocab_size], source)
    blanks = [i for i, token in enumerate(tokens) if token in (*units.BLANK_NAMES, "<eps>")]
    if not blanks:
        raise ConversionError(f"{source}: has no {units.BLANK_NAMES[1]}, expected a blank")
    return tokens, blanks[0]
