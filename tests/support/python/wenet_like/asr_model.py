"""Scripted modules with the classes, attributes and names of WeNet's export, from which Runnel
reads the architecture. They hold weights and compute nothing.

The names are those of WeNet (github.com/wenet-e2e/wenet, wenet/transformer/, wenet/branchformer/,
wenet/e_branchformer/ and wenet/ctl_model/); the file is named
like WeNet's because TorchScript records a class under its file's name.
"""

import math
from typing import Any, Dict, List

import torch
from torch import Tensor, nn


class _Empty(nn.Module):
    """A module whose children and parameters are added one by one."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class ASRModel(_Empty):
    @torch.jit.export
    def forward_encoder_chunk(self, xs: Tensor) -> Tensor:
        return xs


class CTLModel(ASRModel):
    pass


class Transducer(_Empty):
    blank: int


class RNNPredictor(_Empty):
    pass


class ConvPredictor(_Empty):
    pass


class EmbeddingPredictor(_Empty):
    pass


class TransducerJoint(_Empty):
    hat_joint: bool


class ConformerEncoder(_Empty):
    normalize_before: bool
    use_dynamic_chunk: bool
    static_chunk_size: int
    use_dynamic_left_chunk: bool


class TransformerEncoder(ConformerEncoder):
    pass


class DualConformerEncoder(ConformerEncoder):
    pass


class DualTransformerEncoder(ConformerEncoder):
    pass


class BranchformerEncoder(ConformerEncoder):
    pass


class EBranchformerEncoder(ConformerEncoder):
    pass


class Conv2dSubsampling4(_Empty):
    pass


class Conv2dSubsampling6(_Empty):
    pass


class Conv2dSubsampling8(_Empty):
    pass


class LinearNoSubsampling(_Empty):
    pass


class RelPositionalEncoding(_Empty):
    xscale: float


class PositionalEncoding(_Empty):
    xscale: float


class NoPositionalEncoding(_Empty):
    pass


class RelPositionMultiHeadedAttention(_Empty):
    h: int


class MultiHeadedAttention(_Empty):
    h: int


class ShawRelPositionMultiHeadedAttention(_Empty):
    h: int


class PositionwiseFeedForward(_Empty):
    pass


class ConvolutionModule(_Empty):
    lorder: int


class ConformerEncoderLayer(_Empty):
    pass


class TransformerEncoderLayer(_Empty):
    pass


class BranchformerEncoderLayer(_Empty):
    pass


class EBranchformerEncoderLayer(_Empty):
    lorder: int


class ConvolutionalGatingMLP(_Empty):
    pass


class ConvolutionalSpatialGatingUnit(_Empty):
    lorder: int


SUBSAMPLING = {"conv2d": Conv2dSubsampling4, "conv2d6": Conv2dSubsampling6,
               "conv2d8": Conv2dSubsampling8, "linear": LinearNoSubsampling}
ACTIVATIONS = {"swish": nn.SiLU, "relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh}
ENCODERS = {"conformer": ConformerEncoder, "transformer": TransformerEncoder,
            "dual_conformer": DualConformerEncoder, "dual_transformer": DualTransformerEncoder,
            "branchformer": BranchformerEncoder, "e_branchformer": EBranchformerEncoder}
MODELS = {"asr_model": ASRModel, "ctl_model": CTLModel, "transducer": Transducer}
PREDICTORS = {"rnn": RNNPredictor, "conv": ConvPredictor, "embedding": EmbeddingPredictor}


def _fill(parent: nn.Module, state: Dict[str, Tensor]) -> None:
    """Adds children and parameters so that the state dict of `parent` is `state`."""
    for name, value in state.items():
        place = parent
        *path, leaf = name.split(".")
        for step in path:
            if not hasattr(place, step):
                place.add_module(step, _Empty())
            place = getattr(place, step)
        if isinstance(place, (nn.LayerNorm, nn.BatchNorm1d, nn.LSTM)):
            getattr(place, leaf).data = value
        elif leaf in ("running_mean", "running_var", "num_batches_tracked", "mean", "istd", "pe"):
            place.register_buffer(leaf, value)
        else:
            place.register_parameter(leaf, nn.Parameter(value))


def build(state: Dict[str, Tensor], config: Dict[str, Any]) -> torch.jit.ScriptModule:
    """The export of an experiment. config: its train.yaml. state: its final.pt."""
    return torch.jit.script(assemble(state, config))


def quantize(model: nn.Module, scheme: torch.quantization.QConfig) -> nn.Module:
    """The model with int8 weights in its linear layers, as WeNet's export_jit.py makes it."""
    for path, place in list(model.named_modules()):
        parameters = dict(place.named_parameters())
        weight = parameters.get("weight")
        if not isinstance(place, _Empty) or weight is None or weight.dim() != 2 \
                or set(parameters) - {"weight", "bias"} or "embed" in path.split(".")[-2:]:
            continue
        layer = nn.Linear(weight.size(1), weight.size(0), bias="bias" in parameters)
        layer.load_state_dict(parameters)
        parent, _, name = path.rpartition(".")
        setattr(model.get_submodule(parent), name, layer)
    return torch.quantization.quantize_dynamic(model, {nn.Linear: scheme})


def assemble(state: Dict[str, Tensor], config: Dict[str, Any]) -> nn.Module:
    """The module that `build` scripts."""
    conf = config["encoder_conf"]
    kind = config.get("encoder", "conformer")
    conformer, is_branchformer = "transformer" not in kind, "branchformer" in kind
    is_v1 = any("concat_linear" in name for name in state)
    dim, eps = conf["output_size"], conf.get("norm_eps", 1e-12 if is_v1 else 1e-5)
    model = Transducer() if "predictor" in config else MODELS[config.get("model", "asr_model")]()
    encoder = ENCODERS[kind]()
    model.add_module("encoder", encoder)
    encoder.normalize_before = conf.get("normalize_before", True)
    encoder.use_dynamic_chunk = conf.get("use_dynamic_chunk", False)
    encoder.static_chunk_size = conf.get("static_chunk_size", 0)
    encoder.use_dynamic_left_chunk = conf.get("use_dynamic_left_chunk", False)
    embed = SUBSAMPLING[conf.get("input_layer", "conv2d")]()
    encoder.add_module("embed", embed)
    positions = conf.get("pos_enc_layer_type", "rel_pos" if conformer else "abs_pos")
    encoding = {"rel_pos": RelPositionalEncoding, "abs_pos": PositionalEncoding,
                "no_pos": NoPositionalEncoding}[positions]()
    encoding.xscale = math.sqrt(dim)
    embed.add_module("pos_enc", encoding)
    if conf.get("input_layer") == "linear":
        embed.add_module("out", nn.Module())
        embed.out.add_module("1", nn.LayerNorm(dim, eps=1e-12 if is_v1 else 1e-5))
    if "encoder.after_norm.weight" in state:
        encoder.add_module("after_norm", nn.LayerNorm(dim, eps=eps))
    layers = _Empty()
    encoder.add_module("encoders", layers)
    for index in range(conf["num_blocks"]):
        layers.add_module(str(index), _branchformer_layer(state, conf, index) if is_branchformer
                          else _layer(state, conf, conformer, index, eps))
    if "predictor" in config:
        model.blank = 0
        model.add_module("predictor", _predictor(config["predictor"], config["predictor_conf"]))
        model.add_module("joint", TransducerJoint())
        model.joint.hat_joint = config["joint_conf"].get("hat_joint", False)
        model.joint.add_module("activatoin",
                               ACTIVATIONS[config["joint_conf"].get("activation", "tanh")]())
    _fill(model, state)
    return model.eval()


def _predictor(kind: str, conf: Dict[str, Any]) -> nn.Module:
    predictor = PREDICTORS[kind]()
    if kind == "rnn":
        predictor.add_module("rnn", nn.LSTM(conf["embed_size"], conf["hidden_size"],
                                            conf["num_layers"], batch_first=True))
    else:
        activation = conf.get("activation", "relu" if kind == "conv" else "swish")
        predictor.add_module("activatoin", ACTIVATIONS[activation]())
        predictor.add_module("norm", nn.LayerNorm(conf["embed_size"],
                                                  eps=conf.get("layer_norm_epsilon", 1e-5)))
    return predictor


def _layer(state: Dict[str, Tensor], conf: Dict[str, Any], conformer: bool, index: int,
           eps: float) -> nn.Module:
    prefix = f"encoder.encoders.{index}."
    names = [name[len(prefix):] for name in state if name.startswith(prefix)]
    dim = conf["output_size"]
    layer = (ConformerEncoderLayer if conformer else TransformerEncoderLayer)()
    for name in names:
        child = name.split(".")[0]
        if child.startswith("norm") and not hasattr(layer, child):
            layer.add_module(child, nn.LayerNorm(dim, eps=eps))
    layer.add_module("self_attn", _attention("self_attn", names, conf))
    activation = ACTIVATIONS[conf.get("activation_type", "swish" if conformer else "relu")]
    _add_feed_forwards(layer, names, activation)
    if "conv_module.depthwise_conv.weight" in names:
        module = ConvolutionModule()
        module.lorder = conf["cnn_module_kernel"] - 1 if conf.get("causal", False) else 0
        module.add_module("activation", activation())
        batch_norm = "conv_module.norm.running_mean" in names
        norm_eps = conf.get("conv_norm_eps", 1e-5)
        module.add_module("norm", nn.BatchNorm1d(dim, eps=norm_eps) if batch_norm
                          else nn.LayerNorm(dim, eps=norm_eps))
        layer.add_module("conv_module", module)
    return layer


def _attention(name: str, names: List[str], conf: Dict[str, Any]) -> nn.Module:
    relative = f"{name}.pos_bias_u" in names
    shaw = f"{name}.rel_k_embed.weight" in names
    attention = (ShawRelPositionMultiHeadedAttention() if shaw
                 else RelPositionMultiHeadedAttention() if relative else MultiHeadedAttention())
    attention.h = conf["attention_heads"]
    return attention


def _add_feed_forwards(layer: nn.Module, names: List[str], activation: Any) -> None:
    for child in ("feed_forward", "feed_forward_macaron"):
        if f"{child}.w_1.weight" in names:
            module = PositionwiseFeedForward()
            module.add_module("activation", activation())
            layer.add_module(child, module)


def _branchformer_layer(state: Dict[str, Tensor], conf: Dict[str, Any], index: int) -> nn.Module:
    """Of a Branchformer, or of an E-Branchformer by its tensors."""
    prefix = f"encoder.encoders.{index}."
    names = [name[len(prefix):] for name in state if name.startswith(prefix)]
    enhanced = "depthwise_conv_fusion.weight" in names
    layer = (EBranchformerEncoderLayer if enhanced else BranchformerEncoderLayer)()
    for name in names:
        child = name.split(".")[0]
        if child.startswith("norm") and not hasattr(layer, child):
            layer.add_module(child, nn.LayerNorm(conf["output_size"]))
    layer.add_module("attn", _attention("attn", names, conf))
    _add_feed_forwards(layer, names, ACTIVATIONS[conf.get("activation_type", "swish")])
    causal = conf.get("causal", False)
    if enhanced:
        layer.lorder = conf.get("merge_conv_kernel", 3) - 1 if causal else 0
    mlp, gating, projection = ConvolutionalGatingMLP(), ConvolutionalSpatialGatingUnit(), _Empty()
    layer.add_module("cgmlp", mlp)
    mlp.add_module("channel_proj1", projection)
    projection.add_module("1", nn.GELU())
    mlp.add_module("csgu", gating)
    gating.lorder = conf["cgmlp_conv_kernel"] - 1 if causal else 0
    gating.add_module("norm", nn.LayerNorm(conf["cgmlp_linear_units"] // 2))
    gate = conf.get("gate_activation", "identity")
    gating.add_module("act", nn.Identity() if gate == "identity" else ACTIVATIONS[gate]())
    return layer
