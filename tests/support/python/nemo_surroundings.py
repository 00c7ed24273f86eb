"""Lets single modules of a NeMo checkout be imported without the packages that NeMo needs."""

import contextlib
import pathlib
import sys
import types
from typing import Any

import torch

from absent_packages import AbsentPackages

_ABSENT = (
    "omegaconf", "numba", "nemo.core", "nemo.utils", "nemo.collections.asr.losses",
    "nemo.collections.asr.metrics", "nemo.collections.asr.models",
    "nemo.collections.asr.parts.submodules.adapters",
    "nemo.collections.asr.parts.submodules.batchnorm",
    "nemo.collections.asr.parts.utils.adapter_utils", "nemo.collections.common.parts.utils")
# Packages whose __init__.py imports more than the modules that are used.
_PACKAGES = ("nemo", "nemo.collections", "nemo.collections.asr", "nemo.collections.asr.modules",
             "nemo.collections.asr.parts", "nemo.collections.asr.parts.mixins",
             "nemo.collections.asr.parts.submodules", "nemo.collections.asr.parts.utils",
             "nemo.collections.common", "nemo.collections.common.parts")


class _NeuralModule(torch.nn.Module):
    """nemo.core.NeuralModule without adapters and hooks."""

    def is_adapter_available(self) -> bool:
        return False

    def is_access_enabled(self, *_: Any) -> bool:
        return False

    def set_accepted_adapter_types(self, _: Any) -> None:
        pass


class _Access:
    """nemo.core.classes.mixins.AccessMixin without its registry."""

    def is_access_enabled(self, *_: Any) -> bool:
        return False


class _Adapters:
    """AttentionAdapterModuleMixin without adapters."""

    def is_adapter_available(self) -> bool:
        return False


def prepare(checkout: pathlib.Path) -> None:
    """Makes `import nemo.collections.asr.modules.conformer_encoder` and the like work."""
    adapters = "nemo.collections.asr.parts.submodules.adapters.attention_adapter_mixin"
    sys.meta_path.insert(0, AbsentPackages(_ABSENT, {
        "omegaconf": {"DictConfig": dict, "ListConfig": list},
        "nemo.core": {"NeuralModule": _NeuralModule},
        "nemo.core.classes.module": {"NeuralModule": _NeuralModule},
        "nemo.core.classes.mixins": {"AccessMixin": _Access},
        "nemo.utils": {"avoid_float16_autocast_context": contextlib.nullcontext},
        "nemo.collections.asr.models.configs": {
            "CacheAwareStreamingConfig": types.SimpleNamespace},
        adapters: {"AttentionAdapterModuleMixin": _Adapters},
        "nemo.collections.common.parts.utils": {"activation_registry": {}}}))
    for name in _PACKAGES:
        package = types.ModuleType(name)
        package.__path__ = [str(checkout / name.replace(".", "/"))]  # type: ignore[attr-defined]
        sys.modules[name] = package
    if not hasattr(torch.nn, "attention"):  # newer PyTorch; used by use_pytorch_sdpa only
        torch.nn.attention = types.ModuleType("torch.nn.attention")
        sys.modules["torch.nn.attention"] = torch.nn.attention
