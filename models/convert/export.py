"""Writes a resolved model as a model file."""

import os
from typing import Dict, Set

import torch
from torch import Tensor, nn

from models.convert.errors import ConversionError
from models.convert.resolved import Resolved
from models.reference.archive import export_archive, model_config
from models.reference.model import ModelConfig, SpeechModel
from models.reference.shapes import model_without_weights


def build_model(resolved: Resolved) -> SpeechModel:
    """The reference model of the architecture with the weights.

    Raises:
        ConversionError: names the tensor that is missing, unknown or of another shape, or the
            impossible field.
    """
    try:
        model = model_without_weights(ModelConfig.from_json(resolved.architecture()))
    except ValueError as error:
        raise ConversionError(f"{resolved.source}: {error}") from None
    expected = model.state_dict()
    tensors = resolved.weights.tensors
    for name, tensor in expected.items():
        if name not in tensors:
            raise ConversionError(f"{resolved.source}: no parameter for {name}, expected one of "
                                  f"shape {tuple(tensor.shape)}")
    for name, tensor in tensors.items():
        origin = resolved.weights.origin.get(name, name)
        if name not in expected:
            raise ConversionError(f"{resolved.source}: the parameter {origin} has no place in the "
                                  "architecture that the options describe")
        if tensor.shape != expected[name].shape:
            raise ConversionError(f"{resolved.source}: {origin} has shape {tuple(tensor.shape)}, "
                                  f"expected {tuple(expected[name].shape)}")
    _assign(model, {name: tensors[name].to(expected[name].dtype) for name in expected})
    return model.eval()


def _assign(model: SpeechModel, tensors: Dict[str, Tensor]) -> None:
    """Makes the tensors those of the model, without a copy of each.

    The file gets the whole storage of a tensor, so none may share its storage with others.
    """
    used: Set[int] = set()
    for name, tensor in tensors.items():
        tensor = tensor.contiguous()
        storage = getattr(tensor, "untyped_storage", tensor.storage)()  # PyTorch 2, 1
        whole = storage.nbytes() == tensor.numel() * tensor.element_size()
        if not whole or tensor.data_ptr() in used:
            tensor = tensor.clone()
        used.add(tensor.data_ptr())
        path, _, leaf = name.rpartition(".")
        module = model.get_submodule(path)
        if leaf in dict(module.named_parameters(recurse=False)):
            setattr(module, leaf, nn.Parameter(tensor))
        else:
            setattr(module, leaf, tensor)


def write_archive(resolved: Resolved, path: str) -> None:
    """Builds the model and exports it, completely or not at all."""
    model = build_model(resolved)
    config = ModelConfig.from_json(resolved.architecture())
    try:
        with torch.no_grad():
            export_archive(model, model_config(resolved.name, config, resolved.features,
                                               resolved.streaming, resolved.special_tokens(),
                                               resolved.vocabularies()),
                           resolved.units, path)
    except (OSError, RuntimeError, ValueError) as error:
        if os.path.exists(f"{path}.part"):
            os.remove(f"{path}.part")
        raise ConversionError(f"{path}: {str(error)[:300]}") from None
