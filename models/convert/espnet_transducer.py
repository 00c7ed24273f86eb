"""Options and tensors of ESPnet's transducer head (decoder: transducer)."""

from typing import Any, Dict, List

import torch

from models.convert.renaming import Renamed, Rule
from models.convert.settings import Settings
from models.convert.transducers import add_lstm_biases, lstm_predictor

_PARAMETER = r"(weight|bias)"
RULES: List[Rule] = [
    (r"decoder\.embed\.weight", r"transducer.predictor.embedding.weight"),
    # Each layer is a module of its own.
    (r"decoder\.decoder\.(\d+)\.(weight|bias)_(ih|hh)_l0", r"transducer.predictor.lstm.\1.\2_\3"),
    (rf"joint_network\.lin_enc\.{_PARAMETER}", r"transducer.joint.encoder.\1"),
    (rf"joint_network\.lin_dec\.{_PARAMETER}", r"transducer.joint.predictor.\1"),
    (rf"joint_network\.lin_out\.{_PARAMETER}", r"transducer.joint.out.\1"),
]
LEFT_OUT_RULES: List[Rule] = [(r"(?:decoder|joint_network)\..+", None)]
_ACTIVATIONS = {name: name for name in ("tanh", "relu", "swish")}


def transducer_section(config: Settings, vocab_size: int) -> Dict[str, Any]:
    """The `transducer` section.

    Raises:
        ConversionError: names the option that is not supported.
    """
    conf, joint = config.section("decoder_conf"), config.section("joint_net_conf")
    conf.choice("rnn_type", "lstm", {"lstm": None})
    conf.require("embed_pad", 0)
    conf.ignore("dropout", "dropout_embed")
    config.section("model_conf").require("transducer_multi_blank_durations", [])
    hidden_dim = conf.size("hidden_size", 320, "transducer.predictor.hidden_dim")
    return {"vocab_size": vocab_size, "blank_id": 0,
            "predictor": lstm_predictor(
                hidden_dim, hidden_dim,
                conf.layers("num_layers", 1, "transducer.predictor.num_layers"), None),
            "joint": {"dim": joint.size("joint_space_size", 256, "transducer.joint.dim"),
                      "input_linear": True, "hidden_linear": False,
                      "activation": joint.choice("joint_activation_type", "tanh", _ACTIVATIONS,
                                                 "transducer.joint.activation")},
            "durations": [],
            "max_symbols": 1,  # of ESPnet's greedy search
            "beam": "modified"}


def add_biases(renamed: Renamed) -> None:
    """Adds the two biases of each gate; zeros for the bias that older joint networks lack."""
    add_lstm_biases(renamed)
    weight = renamed.tensors.get("transducer.joint.predictor.weight")
    if weight is not None:
        renamed.tensors.setdefault("transducer.joint.predictor.bias", torch.zeros(weight.size(0)))
