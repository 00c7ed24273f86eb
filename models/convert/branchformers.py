"""The parts of Branchformers and E-Branchformers that WeNet and ESPnet have in common."""

from typing import Any, Dict, List, Tuple

from models.convert.errors import ConversionError
from models.convert.renaming import Rule
from models.convert.settings import Settings

_PARAMETER = r"(weight|bias)"
_LAYER = r"(encoder\.encoders\.\d+\.)"
RULES: List[Rule] = [
    (rf"{_LAYER}attn\.(linear_(?:q|k|v|out|pos)\.){_PARAMETER}", r"\1self_attn.\2\3"),
    (rf"{_LAYER}attn\.(pos_bias_[uv]|rel_k_embed\.weight)", r"\1self_attn.\2"),
    (rf"{_LAYER}norm_mlp\.{_PARAMETER}", r"\1norm_mlp.\2"),
    (rf"{_LAYER}cgmlp\.channel_proj1\.0\.{_PARAMETER}", r"\1cgmlp.channel_proj1.\2"),
    (rf"{_LAYER}(cgmlp\.(?:csgu\.(?:norm|conv|linear)|channel_proj2)\.){_PARAMETER}", r"\1\2\3"),
    (rf"{_LAYER}((?:depthwise_conv_fusion|merge_proj)\.){_PARAMETER}", r"\1\2\3"),
    # WeNet creates these for every Branchformer; used with merge_method learned_ave only.
    (rf"{_LAYER}(?:pooling|weight)_proj[12]\.{_PARAMETER}", None),
]
# Whether the kind has feed-forward modules and a convolution in its merging.
KINDS = {"branchformer": False, "e_branchformer": True}
_GATES = {name: name for name in ("identity", "swish", "relu", "gelu", "tanh")}


def read_branches(conf: Settings, has_merge_convolution: bool, kind: str) -> Dict[str, Any]:
    """The `branches` object of an `encoder_conf`, whose convolutions are of this type."""
    dim = conf.size("cgmlp_linear_units", 2048, "encoder.branches.cgmlp_dim")
    if dim % 2 != 0:
        raise ConversionError(f"encoder_conf.cgmlp_linear_units is {dim}, expected an even number")
    branches = {
        "type": kind,
        "cgmlp_dim": dim,
        "cgmlp_kernel_size": _kernel(conf, "cgmlp_conv_kernel", 31, kind,
                                     "encoder.branches.cgmlp_kernel_size"),
        "linear_after_convolution": conf.take("use_linear_after_conv", False),
        "gate_activation": conf.choice("gate_activation", "identity", _GATES,
                                       "encoder.branches.gate_activation"),
        "merge_kernel_size": 0,
    }
    if has_merge_convolution:
        branches["merge_kernel_size"] = _kernel(conf, "merge_conv_kernel", 3, kind,
                                                "encoder.branches.merge_kernel_size")
    else:
        conf.require("use_attn", True)
        conf.require("use_cgmlp", True)
        conf.require("merge_method", "concat")
        conf.ignore("cgmlp_weight", "attn_branch_drop_rate")  # of other methods
    return branches


def _kernel(conf: Settings, name: str, default: int, kind: str, field: str) -> int:
    """The frames of a kernel; those that are padded on both sides have an odd number."""
    size = conf.size(name, default, field)
    if kind == "symmetric" and size % 2 == 0:
        raise ConversionError(f"encoder_conf.{name} is {size}, expected an odd number")
    return size


def read_feed_forward(conf: Settings, has_modules: bool, macaron: bool, activation: str
                      ) -> Tuple[int, Any]:
    """feed_forward_dim and the `feed_forward` object without its `bias`."""
    if not has_modules:
        conf.ignore("linear_units")
        return 0, None
    return (conf.size("linear_units", 2048, "encoder.feed_forward_dim"),
            {"macaron": macaron, "activation": activation, "bias": True})
