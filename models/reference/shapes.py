"""A model of names and shapes alone: its tensors take no memory."""

from typing import Any, Dict, Optional, Sequence

import torch
from torch.overrides import TorchFunctionMode

from models.reference.model import ModelConfig, SpeechModel

_FACTORIES = (torch.arange, torch.empty, torch.full, torch.ones, torch.rand, torch.randn,
              torch.tensor, torch.zeros)


class _OnMeta(TorchFunctionMode):
    """Creates every tensor on PyTorch's device `meta`."""

    def __torch_function__(self, func: Any, types: Sequence[Any], args: Sequence[Any] = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in _FACTORIES:
            kwargs["device"] = "meta"
        return func(*args, **kwargs)


def model_without_weights(config: ModelConfig) -> SpeechModel:
    """The module, whose parameters and buffers are on the device `meta`."""
    with _OnMeta():
        return SpeechModel(config)
