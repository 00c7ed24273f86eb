"""Writes a resolved model as a model file."""

import os

import torch

from models.convert.errors import ConversionError
from models.convert.resolved import Resolved
from models.reference.archive import export_archive, model_config
from models.reference.model import ModelConfig, SpeechModel


def build_model(resolved: Resolved) -> SpeechModel:
    """The reference model of the architecture with the weights.

    Raises:
        ConversionError: names the tensor that is missing, unknown or of another shape, or the
            impossible field.
    """
    try:
        model = SpeechModel(ModelConfig.from_json(resolved.architecture()))
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
    model.load_state_dict({name: tensor.to(expected[name].dtype)
                           for name, tensor in tensors.items()}, strict=True)
    return model.eval()


def write_archive(resolved: Resolved, path: str) -> None:
    """Builds the model and exports it, completely or not at all."""
    model = build_model(resolved)
    config = ModelConfig.from_json(resolved.architecture())
    try:
        with torch.no_grad():
            export_archive(model, model_config(resolved.name, config, resolved.features,
                                               resolved.streaming, resolved.special_tokens()),
                           resolved.units, path)
    except (OSError, RuntimeError, ValueError) as error:
        if os.path.exists(f"{path}.part"):
            os.remove(f"{path}.part")
        raise ConversionError(f"{path}: {str(error)[:300]}") from None
