"""The speaker kernels of NeMo's multitalker models, of which Runnel decodes one speaker.

NeMo adds kernel(x * s) and background(x * b) to the input of a layer, where s and b are the
activities of the speaker and of the others in each frame. Without activities NeMo takes s = 1 and
b = 0: a recording of one speaker. The background kernel then adds a constant, which becomes a part
of the other kernel's bias.
"""

from typing import List

import torch

from models.convert.errors import ConversionError
from models.convert.renaming import Renamed, Rule
from models.convert.settings import Settings, shown

_KERNEL, _BACKGROUND = "encoder.speaker_kernel", "background"
RULES: List[Rule] = [
    (rf"{theirs}spk_kernels\.0\.{place}\.(weight|bias)", rf"{ours}.{layer}.\1")
    for theirs, ours in (("", _KERNEL), ("bg_", _BACKGROUND))
    for place, layer in ((0, "w_1"), (3, "w_2"))]
_NOTE = ("speakers are not told apart: all speech counts as that of one speaker, as in NeMo "
         "without a diarizer")


def encoder_type(config: Settings, notes: List[str]) -> str:
    """The field `type` of the encoder, by the options of the model.

    Raises:
        ConversionError: the speaker kernels are of another kind, or at other layers.
    """
    if not config.has("spk_kernel_type"):
        config.ignore("spk_kernel_type", "spk_kernel_layers", "add_bg_spk_kernel")
        return "conformer"
    config.choice("spk_kernel_type", None, {"ff": "ff"})
    layers = config.take("spk_kernel_layers", [0])
    if layers != [0]:
        raise ConversionError(f"model_config.yaml.spk_kernel_layers is {shown(layers)}, which is "
                              "not supported; supported: [0]")
    notes.append(_NOTE)
    return "multitalker_conformer"


def fold_background(config: Settings, renamed: Renamed, source: str) -> None:
    """Adds what the background kernel computes from zeros to the bias of the speaker kernel."""
    if not config.take("add_bg_spk_kernel", True):
        return
    tensors, bias = renamed.tensors, f"{_KERNEL}.w_2.bias"
    names = [f"{_BACKGROUND}.{name}" for name in ("w_1.weight", "w_1.bias", "w_2.weight",
                                                  "w_2.bias")]
    for name in (*names, bias):
        if name not in tensors:
            raise ConversionError(f"{source}: no parameter for {name} (spk_kernels and "
                                  "bg_spk_kernels)")
    inner, inner_bias, outer, outer_bias = (tensors.pop(name) for name in names)
    dim = tensors[bias].numel()
    shapes = [tuple(tensor.shape) for tensor in (inner, inner_bias, outer, outer_bias)]
    if shapes != [(dim, dim), (dim,), (dim, dim), (dim,)]:
        raise ConversionError(f"{source}: the parameters of bg_spk_kernels have the shapes {shapes}"
                              f", expected sizes of {dim}")
    constant = outer.double() @ torch.relu(inner_bias.double()) + outer_bias.double()
    tensors[bias] = (tensors[bias].double() + constant).to(tensors[bias].dtype)
