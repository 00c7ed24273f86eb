"""A NeMo Conformer without options: its architecture from the names and shapes of its weights."""

import re
from typing import Any, Dict, List

from models.convert import units
from models.convert.errors import ConversionError
from models.convert.folder import Folder
from models.convert.renaming import Renamed, stack_size
from models.convert.resolved import Resolved, streaming
from models.reference.archive import fbank_section

_UNTOLD = "weights do not tell"


def relative_position() -> Dict[str, Any]:
    """NeMo's rel_pos: Transformer-XL with the true shift, from the farthest past on."""
    return {"scheme": "chunk_rpe", "linear_pos_bias": False, "query_scaling": "after_bias",
            "table_order": "descending"}


def read_model(folder: Folder, name: str, renamed: Renamed, source: str, eps: float,
               assumed: Dict[str, str], notes: List[str]) -> Resolved:
    """The model of a folder with a state dict and tokens.txt.

    Raises:
        ConversionError: the weights belong to another kind of model, or the tokens do not fit.
    """
    encoder = _encoder(renamed, source, eps, assumed)
    found = folder.find(None, "tokens.txt", "units.txt")
    if found is None:
        raise ConversionError(f"{folder.where('tokens.txt')}: no such file (the tokens)")
    tokens = units.read_symbol_table(folder.read(found), folder.where(found))
    outputs = int(_tensor(renamed, "ctc.ctc_lo.weight", source).size(0))
    if len(tokens) == outputs - 1:
        tokens.append("<blank>")
    if len(tokens) != outputs:
        raise ConversionError(f"{folder.where(found)}: has {len(tokens)} tokens, the CTC head has "
                              f"{outputs} outputs")
    blanks = [i for i, token in enumerate(tokens) if token in units.BLANK_NAMES]
    if not blanks:
        assumed["ctc.blank_id"] = "the last, as NeMo has it"
    assumed["features"] = f"{_UNTOLD}; Kaldi's filter bank, whose edges are mirrored"
    features = fbank_section(num_mel_bins=encoder["input_dim"], snip_edges=False)
    blank_id = blanks[0] if blanks else outputs - 1
    heads = {"ctc": {"vocab_size": len(tokens), "blank_id": blank_id}}
    return Resolved(name, encoder, features, streaming(-1, -1), heads,
                    units.to_units(tokens, folder.where(found)), renamed, source, assumed,
                    notes)


def _encoder(renamed: Renamed, source: str, eps: float, assumed: Dict[str, str]) -> Dict[str, Any]:
    layer = "encoder.encoders.0."
    model_dim = int(_tensor(renamed, f"{layer}norm_mha.weight", source).size(0))
    bias = _tensor(renamed, f"{layer}self_attn.pos_bias_u", source)
    hidden = _tensor(renamed, f"{layer}feed_forward.w_1.weight", source)
    depthwise = _tensor(renamed, f"{layer}conv_module.depthwise_conv.weight", source)
    kernel = int(depthwise.size(-1))
    batch_norm = renamed.layer_has("conv_module.norm.running_mean")
    has_bias = renamed.layer_has("self_attn.linear_q.bias")
    for field, value in (("convolution.type", "symmetric as offline models"),
                         ("subsampling.causal", "false as offline models"),
                         ("scale_input", "NeMo's default"), ("feed_forward.activation", "swish"),
                         ("normalization", "per feature over the utterance, NeMo's default"),
                         ("input_dim", "the smallest number of bins in tens that fits")):
        assumed[f"encoder.{field}"] = f"{_UNTOLD}; {value}"
    assumed["streaming"] = f"{_UNTOLD}; whole utterances as offline models"
    subsampling = _subsampling(renamed, source)
    return {
        "type": "conformer",
        "input_dim": _input_dim(renamed, subsampling, source),
        "model_dim": model_dim,
        "num_layers": stack_size(renamed.tensors, "encoder.encoders."),
        "num_heads": int(bias.size(0)),
        "feed_forward_dim": int(hidden.size(0)),
        "normalization": {"type": "utterance", "epsilon": 1e-5},
        "subsampling": subsampling,
        "scale_input": True,
        "position": relative_position(),
        "attention_bias": {part: has_bias for part in ("query", "key", "value", "out")},
        "feed_forward": {"macaron": True, "activation": "swish",
                         "bias": renamed.layer_has("feed_forward.w_1.bias")},
        "convolution": {"type": "symmetric", "kernel_size": kernel,
                        "norm": "batch_norm" if batch_norm else "layer_norm", "norm_epsilon": 1e-5,
                        "activation": "swish",
                        "bias": renamed.layer_has("conv_module.depthwise_conv.bias"),
                        "left_padding": "zero"},
        "norm_first": True,
        "after_norm": False,
        "layer_norm_eps": eps,
    }


def _subsampling(renamed: Renamed, source: str) -> Dict[str, Any]:
    """striding of two convolutions, or dw_striding of three with pointwise ones between."""
    stages: List[str] = sorted(
        match.group(1) for match in
        (re.fullmatch(r"encoder\.embed\.conv\.(\d)\.weight", name) for name in renamed.tensors)
        if match)
    kinds = {"02": "striding4", "02356": "dw_striding8"}
    kind = kinds.get("".join(stages))
    if kind is None:
        raise ConversionError(f"{source}: encoder.pre_encode has convolutions at "
                              f"{', '.join(stages) or 'no place'}, expected 0, 2 (striding of 4) "
                              "or 0, 2, 3, 5, 6 (dw_striding of 8)")
    channels = int(renamed.tensors["encoder.embed.conv.0.weight"].size(0))
    return {"type": kind, "channels": channels, "causal": False}


def _input_dim(renamed: Renamed, subsampling: Dict[str, Any], source: str) -> int:
    """Feature bins, from the width of the linear layer: each stage halves them, rounded up."""
    width = int(_tensor(renamed, "encoder.embed.out.0.weight", source).size(1))
    left = width // subsampling["channels"]
    stages = 2 if subsampling["type"] == "striding4" else 3
    for bins in range(10, 200, 10):
        halved = bins
        for _ in range(stages):
            halved = (halved - 1) // 2 + 1
        if halved == left and left * subsampling["channels"] == width:
            return bins
    raise ConversionError(f"{source}: encoder.pre_encode.out.weight takes {width} values, which "
                          "fits no usual number of feature bins")


def _tensor(renamed: Renamed, name: str, source: str) -> Any:
    if name not in renamed.tensors:
        raise ConversionError(f"{source}: no parameter for {name}")
    return renamed.tensors[name]
