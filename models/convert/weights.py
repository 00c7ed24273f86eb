"""Reads checkpoints: plain tensors by name, without running code in the file."""

import io
import pickle
import zipfile
from typing import Any, Dict

import torch
from torch import Tensor

from models.convert.errors import ConversionError

# Training checkpoints store the weights under one of these keys.
_NESTED = ("state_dict", "model_state_dict", "model", "model_avg")


def read_weights(data: bytes, source: str) -> Dict[str, Tensor]:
    """The tensors of a checkpoint, in float32 where they are floating-point.

    Reads files of `torch.save` with PyTorch's weights-only reader: a pickle that names anything but
    tensors and plain containers is rejected before it runs. PyTorch's oldest format, a tar, is
    rejected too, because its reader has no such check.

    Args:
        data: the file's bytes. source: its name, for messages.

    Raises:
        ConversionError: not a checkpoint, or no weights in it.
    """
    if zipfile.is_zipfile(io.BytesIO(data)):
        try:
            names = zipfile.ZipFile(io.BytesIO(data)).namelist()
        except Exception as error:  # is_zipfile accepts a file with an end record only
            raise _damaged(source, error) from None
        if any("/code/" in name for name in names):
            raise ConversionError(f"{source}: is a TorchScript export, expected a checkpoint of "
                                  "weights (a state dict)")
    elif data[:1] != b"\x80":  # the first byte of a pickle
        raise ConversionError(f"{source}: is not a PyTorch checkpoint")
    try:
        content = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        reason = str(error).split("\n")[0].split(" was not an allowed")[0]
        raise ConversionError(f"{source}: is not plain weights and was not opened ({reason}); save "
                              "the model's state_dict() alone") from None
    except Exception as error:  # a damaged file can fail in many ways
        raise _damaged(source, error) from None
    return _tensors(content, source)


def _damaged(source: str, error: Exception) -> ConversionError:
    reason = " ".join(str(error).split())[:200]
    return ConversionError(f"{source}: cannot be read as a PyTorch checkpoint "
                           f"({type(error).__name__}: {reason})")


def _tensors(content: Any, source: str) -> Dict[str, Tensor]:
    """The dict of tensors in `content`, or under one of the keys of training checkpoints."""
    for key in _NESTED:
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict) or not content:
        raise ConversionError(f"{source}: holds no state dict")
    weights: Dict[str, Tensor] = {}
    for name, value in content.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise ConversionError(f"{source}: {name!r} is of type {type(value).__name__}, expected "
                                  "a state dict of tensors")
        if value.is_quantized or value.is_complex() or value.is_sparse:
            raise ConversionError(f"{source}: {name} is quantized, complex or sparse, expected "
                                  "plain floating-point weights")
        if value.is_floating_point():
            value = value.detach().float()
            if not torch.isfinite(value).all():
                raise ConversionError(f"{source}: {name} holds a value that is not finite")
        weights[name[len("module."):] if name.startswith("module.") else name] = value
    return weights
