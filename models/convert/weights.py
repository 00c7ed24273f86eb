"""Reads checkpoints: plain tensors by name, without running code in the file."""

import pickle
import zipfile
from typing import Any, BinaryIO, Dict

import torch
from torch import Tensor

from models.convert.errors import ConversionError

# Training checkpoints store the weights under one of these keys.
_NESTED = ("state_dict", "model_state_dict", "model", "model_avg")


def read_weights(file: BinaryIO, source: str) -> Dict[str, Tensor]:
    """The tensors of a checkpoint, in float32 where they are floating-point.

    Reads files of `torch.save` with PyTorch's weights-only reader: a pickle that names anything but
    tensors and plain containers is rejected before it runs. PyTorch's oldest format, a tar, is
    rejected too, because its reader has no such check. The memory holds each tensor once.

    Args:
        file: the checkpoint, which is closed. source: its name, for messages.

    Raises:
        ConversionError: not a checkpoint, or no weights in it.
    """
    with file:
        return _tensors(_loaded(file, source), source)


def _loaded(file: BinaryIO, source: str) -> Any:
    entries = None
    if zipfile.is_zipfile(file):
        try:
            entries = zipfile.ZipFile(file)
        except Exception as error:  # is_zipfile accepts a file with an end record only
            raise _damaged(source, error) from None
        if any("/code/" in name for name in entries.namelist()):
            raise ConversionError(f"{source}: is a TorchScript export, expected a checkpoint of "
                                  "weights (a state dict)")
    else:
        file.seek(0)
        if file.read(1) != b"\x80":  # the first byte of a pickle
            raise ConversionError(f"{source}: is not a PyTorch checkpoint")
    try:
        if entries:
            _check_sums(entries)
        file.seek(0)
        return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        reason = str(error).split("\n")[0].split(" was not an allowed")[0]
        raise ConversionError(f"{source}: is not plain weights and was not opened ({reason}); save "
                              "the model's state_dict() alone") from None
    except Exception as error:  # a damaged file can fail in many ways
        raise _damaged(source, error) from None


def _check_sums(entries: zipfile.ZipFile) -> None:
    """Raises an error for an entry that is damaged, which PyTorch does not look for."""
    for entry in entries.infolist():
        if entry.CRC == 0:  # PyTorch can be told not to compute it
            continue
        with entries.open(entry) as content:
            while content.read(1 << 20):
                pass


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
    for name in list(content):
        value = content.pop(name)  # so that the memory of float16 tensors is freed one by one
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise ConversionError(f"{source}: {name!r} is of type {type(value).__name__}, expected "
                                  "a state dict of tensors")
        if value.is_quantized or value.is_complex() or value.is_sparse:
            raise ConversionError(f"{source}: {name} is quantized, complex or sparse, expected "
                                  "plain floating-point weights")
        if value.is_floating_point():
            value = value.detach().float()
            if value.numel() > 0 and not all(map(torch.isfinite, torch.aminmax(value))):
                raise ConversionError(f"{source}: {name} holds a value that is not finite")
        weights[name[len("module."):] if name.startswith("module.") else name] = value
    return weights
