"""The strides and groups of WeNet's Efficient Conformer."""

from typing import Any, Dict, List, Tuple

from models.convert.errors import ConversionError
from models.convert.settings import Settings, shown
from models.reference.config import chunk_multiple

_WHERE = "train.yaml.encoder_conf.efficient_conf"
_MOST = 64  # a stride or group size, as in encoder/encoder_config.cc and position_config.cc


def read_layers(conf: Settings, num_layers: int) -> Tuple[Dict[str, Any], List[int]]:
    """The fields `strides` and `strides_divide_kernels`, and the group size of each layer."""
    efficient = conf.section("efficient_conf") if conf.has("efficient_conf") else conf
    layers = _integers(efficient, "stride_layer_idx", 3, num_layers)
    given = _integers(efficient, "stride", 2, _MOST + 1)
    if layers != sorted(set(layers)) or len(layers) != len(given) or 0 in given:
        raise ConversionError(f"{_WHERE}: stride_layer_idx is {layers} and stride {given}, "
                              "expected layers in ascending order and a stride for each")
    strides = [1] * num_layers
    for layer, stride in zip(layers, given):
        strides[layer] = stride
    groups = [1] * num_layers
    size = efficient.size("group_size", 3, "encoder.position.group_sizes")
    for layer in _integers(efficient, "group_layer_idx", [0, 1, 2, 3], num_layers):
        groups[layer] = size
    divide = efficient.take("stride_kernel", True, "encoder.strides_divide_kernels")
    return {"strides": strides, "strides_divide_kernels": divide}, groups


def chunks(chunk_size: int, left_context: int, strides: List[int],
           groups: List[int]) -> Tuple[int, int]:
    """Sizes in frames of the subsampling, in encoder frames that cut no group of frames."""
    multiple = chunk_multiple(groups, strides)
    for stride in strides:
        chunk_size = -(-chunk_size // stride)
        left_context = left_context if left_context == -1 else -(-left_context // stride)
    return (-(-chunk_size // multiple) * multiple,
            left_context if left_context == -1 else -(-left_context // multiple) * multiple)


def _integers(settings: Settings, name: str, default: Any, end: int) -> List[int]:
    """An integer or a list of integers, each from 0 to end - 1."""
    value = settings.take_any(name, default, f"encoder.{name}")
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    for number in values:
        if type(number) is not int or not 0 <= number < end:
            raise ConversionError(f"{_WHERE}.{name} is {shown(value)}, expected integers from 0 to "
                                  f"{end - 1}")
    return values
