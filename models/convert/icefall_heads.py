"""The heads of icefall's Conformers: CTC; stateless and LSTM transducers."""

import re
from typing import Any, Dict, List, Tuple

import torch
from torch import Tensor

from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.renaming import Renamed, Rule
from models.convert.transducers import add_lstm_biases, lstm_predictor

_PARAMETER = r"(weight|bias)"
_PREDICTOR = "transducer.predictor."
TRANSDUCER_RULES: List[Rule] = [
    (r"decoder\.embedding\.weight", f"{_PREDICTOR}embedding.weight"),
    (rf"decoder\.conv\.{_PARAMETER}", rf"{_PREDICTOR}conv.\1"),
    (r"decoder\.rnn\.(weight|bias)_(ih|hh)_l(\d+)", rf"{_PREDICTOR}lstm.\3.\1_\2"),
    (rf"decoder\.output_linear\.{_PARAMETER}", rf"{_PREDICTOR}out.\1"),
    (rf"joiner\.encoder_proj\.{_PARAMETER}", r"transducer.joint.encoder.\1"),
    (rf"joiner\.decoder_proj\.{_PARAMETER}", r"transducer.joint.predictor.\1"),
    # The last layer of the plain Conformer, which belongs to the joint network here.
    (rf"encoder_output_layer\.1\.{_PARAMETER}", r"transducer.joint.encoder.\1"),
    (rf"joiner\.inner_linear\.{_PARAMETER}", r"transducer.joint.hidden.\1"),
    (rf"joiner\.output_linear\.{_PARAMETER}", r"transducer.joint.out.\1"),
]
_CTC_RULE: Rule = (
    rf"(?:encoder_output_layer|ctc_output|ctc_output_module)\.1\.{_PARAMETER}",
    r"ctc.ctc_lo.\1")
# Names of the second heads of models that were trained on two data sets.
_SECOND_HEAD = r"(?:decoder|joiner|simple_[al]m_proj)_(?:giga|datatang)\..+"
# Parts of the training, and second heads.
LEFT_OUT: List[Rule] = [
    (r"simple_[al]m_proj\..+", None), (_SECOND_HEAD, None),
    (r"codebook_loss_net\..+", None), (r"encoder\.combiner\..+", None)]
_DECODER_PARTS = ("decoder_embed.", "decoder_pos.", "decoder.", "decoder_output_layer.")


def read(weights: Dict[str, Tensor], has_transducer: bool, reworked: bool, source: str,
         choices: Choices, notes: List[str]) -> Tuple[List[Rule], Dict[str, Dict[str, Any]]]:
    """The rules and the sections of the heads to keep; their blank_id is set by the caller.

    Raises:
        ConversionError: names what is not supported.
    """
    outputs = ("ctc_output.1.weight", "ctc_output_module.1.weight")
    if not has_transducer:
        outputs = ("encoder_output_layer.1.weight", *outputs)
    ctc = next((name for name in outputs if name in weights), None)
    has = {"ctc": ctc is not None, "transducer": has_transducer}
    if not any(has.values()):
        raise ConversionError(f"{source}: has neither an output layer for CTC nor a joiner")
    kept = [head for head in has if has[head] and choices.wants(head)]
    if not kept:
        only = next(head for head in has if has[head])
        raise ConversionError(f"{source}: --head is {choices.head}, but the model has only {only}")
    rules, heads = list(LEFT_OUT), {}
    if "ctc" in kept:
        heads["ctc"] = {"vocab_size": weights[ctc].size(0), "blank_id": 0}
        rules.append(_CTC_RULE if not has_transducer else (
            rf"(?:ctc_output|ctc_output_module)\.1\.{_PARAMETER}", r"ctc.ctc_lo.\1"))
    elif ctc is not None:
        rules.append((r"(?:ctc_output|ctc_output_module)\..+", None))
    if "transducer" in kept:
        heads["transducer"] = transducer_section(weights, reworked, source)
        rules += TRANSDUCER_RULES
    elif has_transducer:
        rules.append((r"(?:decoder|joiner|encoder_output_layer)\..+", None))
    elif any(name.startswith(_DECODER_PARTS) for name in weights):
        notes.append("the attention decoder is left out: icefall's network is not supported")
        rules += [(rf"{part[:-1]}\..+", None) for part in _DECODER_PARTS]
    if any(re.fullmatch(_SECOND_HEAD, name) for name in weights):
        notes.append("the second transducer (_giga or _datatang) is left out: it served another "
                     "data set in the training")
    return rules, heads


def vocab_size(heads: Dict[str, Dict[str, Any]]) -> int:
    """The number of outputs of the heads."""
    return next(iter(heads.values()))["vocab_size"]


def transducer_section(weights: Dict[str, Tensor], reworked: bool, source: str) -> Dict[str, Any]:
    """icefall's Decoder and Joiner; a token uses up its frame. The caller sets blank_id.

    Args:
        weights: under icefall's names; a decoder without convolution gets one that changes nothing.
        reworked: whether the decoder is that of the recipes since pruned_transducer_stateless2.

    Raises:
        ConversionError: names the parameter that is not supported.
    """
    embedding, out = (_matrix(weights, name, source) for name in ("decoder.embedding.weight",
                                                                  "joiner.output_linear.weight"))
    joint = {"dim": out.size(1), "input_linear": True, "hidden_linear": False,
             "activation": "tanh"}
    two_layers = "joiner.inner_linear.weight" in weights  # pruned_transducer_stateless
    if two_layers:
        inner = _matrix(weights, "joiner.inner_linear.weight", source)
        joint.update(dim=inner.size(1), activation="relu",
                     hidden_linear={"dim": inner.size(0), "input_activation": "tanh"})
    dim = embedding.size(1)
    if "decoder.rnn.weight_ih_l0" in weights:
        num_layers = sum(name.startswith("decoder.rnn.weight_ih_l") for name in weights)
        predictor = lstm_predictor(dim, weights["decoder.rnn.weight_hh_l0"].size(1), num_layers,
                                   _matrix(weights, "decoder.output_linear.weight",
                                           source).size(0))
    else:
        if "decoder.conv.weight" not in weights:  # of a context of one token: no convolution
            weights["decoder.conv.weight"] = torch.ones(dim, 1, 1)
        conv = weights["decoder.conv.weight"]
        if conv.dim() != 3 or conv.size(1) < 1:
            raise ConversionError(f"{source}: decoder.conv.weight has shape {tuple(conv.shape)}, "
                                  "expected 3 dimensions")
        predictor = {"type": "conv", "embedding_dim": dim, "context_size": conv.size(2),
                     "groups": dim // conv.size(1), "bias": two_layers, "norm_epsilon": None,
                     "activation": "relu" if reworked or two_layers else "identity"}
    return {"vocab_size": out.size(0), "blank_id": 0, "predictor": predictor,
            "joint": joint, "durations": [], "max_symbols": 1, "beam": "modified"}


def complete(renamed: Renamed, heads: Dict[str, Dict[str, Any]]) -> None:
    """Adds the biases of an LSTM; a joint network that adds the predictor's output as it is gets
    the identity for it."""
    add_lstm_biases(renamed)
    predictor = heads.get("transducer", {}).get("predictor", {})
    if predictor.get("bias"):
        _start_from_blanks(renamed, heads["transducer"]["blank_id"], predictor["groups"])
        for parameter in ("weight", "bias"):
            renamed.move(f"{_PREDICTOR}out.{parameter}", f"transducer.joint.predictor.{parameter}")
    encoder = renamed.tensors.get("transducer.joint.encoder.weight")
    name = "transducer.joint.predictor"
    if encoder is not None and f"{name}.weight" not in renamed.tensors:
        renamed.tensors[f"{name}.weight"] = torch.eye(encoder.size(0))
        renamed.tensors[f"{name}.bias"] = torch.zeros(encoder.size(0))


def _start_from_blanks(renamed: Renamed, blank_id: int, groups: int) -> None:
    """Makes a sequence start after blanks, as pruned_transducer_stateless decodes.

    Runnel's starts after zeros. So the vector of the blank is taken from all vectors, and what it
    adds to the convolution's output becomes its bias.
    """
    embedding = renamed.tensors[f"{_PREDICTOR}embedding.weight"].double()
    convolution = renamed.tensors[f"{_PREDICTOR}conv.weight"].double()
    blank = embedding[blank_id]
    rows = blank.reshape(groups, -1).repeat_interleave(len(blank) // groups, 0)
    renamed.tensors[f"{_PREDICTOR}embedding.weight"] = (embedding - blank).float()
    renamed.tensors[f"{_PREDICTOR}conv.bias"] = (convolution.sum(2) * rows).sum(1).float()
    renamed.origin[f"{_PREDICTOR}conv.bias"] = renamed.origin[f"{_PREDICTOR}embedding.weight"]


def _matrix(weights: Dict[str, Tensor], name: str, source: str) -> Tensor:
    if name not in weights or weights[name].dim() != 2:
        raise ConversionError(f"{source}: no matrix {name}, expected one, as icefall's transducers "
                              "have")
    return weights[name]
