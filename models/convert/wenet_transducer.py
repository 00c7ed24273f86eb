"""Options and tensors of WeNet's transducer head."""

from typing import Any, Dict, List

from models.convert.errors import ConversionError
from models.convert.renaming import Renamed, Rule
from models.convert.settings import Settings
from models.convert.transducers import lstm_predictor

_PARAMETER = r"(weight|bias)"
_PREDICTOR = "transducer.predictor."
RULES: List[Rule] = [
    (r"predictor\.embed\.weight", f"{_PREDICTOR}embedding.weight"),
    (r"predictor\.rnn\.(weight|bias)_(ih|hh)_l(\d+)", rf"{_PREDICTOR}lstm.\3.\1_\2"),
    (rf"predictor\.projection\.{_PARAMETER}", rf"{_PREDICTOR}out.\1"),
    (rf"predictor\.((?:conv|norm|ffn)\.){_PARAMETER}", rf"{_PREDICTOR}\1\2"),
    (r"predictor\.pos_embed\.weight", f"{_PREDICTOR}position.weight"),
    (r"predictor\.pos_embed\.bias", None),  # WeNet computes with the weight only
    (rf"joint\.enc_ffn\.{_PARAMETER}", r"transducer.joint.encoder.\1"),
    (rf"joint\.pred_ffn\.{_PARAMETER}", r"transducer.joint.predictor.\1"),
    (rf"joint\.post_ffn\.{_PARAMETER}", r"transducer.joint.hidden.\1"),
    (rf"joint\.ffn_out\.{_PARAMETER}", r"transducer.joint.out.\1"),
    (r"simple_[al]m_proj\..+", None),  # of the training with k2
]
LEFT_OUT_RULES: List[Rule] = [(r"(?:predictor|joint|simple_[al]m_proj)\..+", None)]
_ACTIVATIONS = {name: name for name in ("relu", "tanh", "swish", "gelu")}


def transducer_section(config: Settings, vocab_size: int) -> Dict[str, Any]:
    """The `transducer` section. `shape_positions` adapts the weights to it.

    Raises:
        ConversionError: names the option that is not supported.
    """
    kind = config.choice("predictor", "rnn", {"rnn": _lstm, "conv": _conv,
                                              "embedding": _embedding})
    conf = config.section("predictor_conf")
    predictor = kind(conf)
    conf.ignore("embed_dropout", "dropout")
    config.choice("joint", "transducer_joint", {"transducer_joint": None})
    return {"vocab_size": vocab_size, "blank_id": 0, "predictor": predictor,
            "joint": _joint(config.section("joint_conf")), "durations": [],
            "max_symbols": 64,  # the default of WeNet's greedy search, n_steps
            "beam": "prefix"}


def _lstm(conf: Settings) -> Dict[str, Any]:
    conf.choice("rnn_type", "lstm", {"lstm": None})
    conf.ignore("bias")
    return lstm_predictor(conf.size("embed_size"), conf.size("hidden_size"),
                          conf.layers("num_layers"), conf.size("output_size"))


def _history(conf: Settings, activation: str) -> Dict[str, Any]:
    """What the two stateless predictors share."""
    dim = conf.size("embed_size")
    conf.require("output_size", dim)
    history = conf.take("history_size", 2, "transducer.predictor.context_size")
    return {"embedding_dim": dim, "context_size": history + 1,
            "norm_epsilon": conf.take("layer_norm_epsilon", 1e-5),
            "activation": conf.choice("activation", activation, _ACTIVATIONS,
                                      "transducer.predictor.activation")}


def _conv(conf: Settings) -> Dict[str, Any]:
    history = _history(conf, "relu")
    return {"type": "conv", **history, "groups": history["embedding_dim"],
            "bias": conf.take("bias", False, "transducer.predictor.bias")}


def _embedding(conf: Settings) -> Dict[str, Any]:
    conf.ignore("bias")
    return {"type": "embedding", **_history(conf, "swish"), "num_heads": conf.size("n_head")}


def shape_positions(predictor: Dict[str, Any], renamed: Renamed) -> None:
    """WeNet stores the vectors (heads, E, K) as the weight of a linear layer (heads, E K)."""
    if predictor["type"] != "embedding":
        return
    name = f"{_PREDICTOR}position.weight"
    weight = renamed.tensors.get(name)
    shape = tuple(predictor[size] for size in ("num_heads", "embedding_dim", "context_size"))
    if weight is None:
        return
    if tuple(weight.shape) != (shape[0], shape[1] * shape[2]):
        raise ConversionError(f"{renamed.origin[name]} has shape {tuple(weight.shape)}, expected "
                              f"{(shape[0], shape[1] * shape[2])}")
    renamed.tensors[name] = weight.reshape(shape)


def _joint(conf: Settings) -> Dict[str, Any]:
    conf.require("joint_mode", "add")
    conf.require("hat_joint", False)
    conf.ignore("enc_output_size", "pred_output_size", "dropout_rate", "hat_activation",
                "vocab_size", "voca_size")
    return {"dim": conf.size("join_dim"),
            "input_linear": conf.take("prejoin_linear", True, "transducer.joint.input_linear"),
            "hidden_linear": conf.take("postjoin_linear", False,
                                       "transducer.joint.hidden_linear"),
            "activation": conf.choice("activation", "tanh", _ACTIVATIONS,
                                      "transducer.joint.activation")}
