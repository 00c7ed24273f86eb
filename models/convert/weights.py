"""Reads checkpoints: plain tensors by name, without running code in the file."""

import collections
import itertools
import re
from typing import Any, BinaryIO, Dict, List, Sequence, Tuple

import torch
from torch import Tensor

from models.convert.checkpoint_file import CheckpointFile
from models.convert.errors import ConversionError
from models.convert.pickle_data import Foreign, StoredTensor

# Training checkpoints store the weights under one of these keys. Averages of the weights of many
# steps come first: they are what is meant to be used.
_AVERAGED = ("model_avg", "averaged_model", "model_averaged", "swa_model", "swa_state_dict",
             "swa_model_state_dict", "ema", "EMA", "model_ema", "ema_model", "ema_state_dict",
             "state_dict_ema", "ema_model_state_dict", "model_ema_state_dict", "ema_weights")
_TRAINED = ("state_dict", "model_state_dict", "model", "model_state", "weights", "module", "net",
            "network")
_INNER = (*_TRAINED, "shadow", "shadow_params", "params")  # within one of these
_OF_COMPILE = re.compile(r"(?<![^.])_orig_mod\.")  # anywhere: a part may be compiled alone
_OF_PARALLEL = re.compile(r"^(?:module\.)+")  # of DDP
_COUNTER = "n_averaged"  # beside the weights of torch.optim.swa_utils.AveragedModel
_MOST_SHARING = 4  # of the tensors' bytes to those of their storages


def read_weights(file: BinaryIO, source: str, notes: List[str]) -> Dict[str, Tensor]:
    """The tensors of a checkpoint, in float32 where they are floating-point.

    Nothing in the file is executed (pickle_data.py). PyTorch's oldest format, a tar, is rejected.
    Prefixes of wrappers are removed from names. The memory holds each tensor once.

    Args:
        file: the checkpoint, which is closed. source: its name, for messages. notes: gets a line if
            a choice was made.

    Raises:
        ConversionError: not a checkpoint, or no weights in it.
    """
    with file:
        checkpoint = CheckpointFile(file, source)
        return _read(checkpoint, _places(checkpoint.content, source, notes), source)


def _places(content: Any, source: str, notes: List[str]) -> Dict[str, StoredTensor]:
    """The state dict that is, or is in, an object, without prefixes of wrappers."""
    state_dict, keys = _state_dict(content)
    if isinstance(state_dict, Foreign):
        raise ConversionError(
            f"{source}: holds an object of the class {state_dict.kind}, which would need its code, "
            "expected a state dict: torch.save(model.state_dict(), \"weights.pt\")")
    if not isinstance(state_dict, dict) or not state_dict:
        raise ConversionError(f"{source}: holds no state dict")
    for name, value in state_dict.items():
        if not isinstance(name, str) or not isinstance(value, StoredTensor):
            kind = value.kind if isinstance(value, Foreign) else type(value).__name__
            raise ConversionError(f"{source}: {_shown(name)} is of type {kind}, expected a state "
                                  "dict of tensors")
    if keys:
        others = [key for key in (*_AVERAGED, *_TRAINED) if key != keys[0]
                  and _is_state_dict(_state_dict(content.get(key), _INNER)[0])]
        if keys[0] in _AVERAGED or others:
            kind = ", averaged over the training" if keys[0] in _AVERAGED else ""
            unused = f"; not used: {', '.join(others)}" if others else ""
            notes.append(f"the weights are those of {'.'.join(keys)}{kind}{unused}")
    return _without_wrappers(state_dict, source)


def _state_dict(content: Any, candidates: Sequence[str] = (*_AVERAGED, *_TRAINED)
                ) -> Tuple[Any, List[str]]:
    """The weights in an object, and the keys that lead to them."""
    for key in candidates if isinstance(content, dict) else ():
        if isinstance(content.get(key), dict):
            inner, keys = _state_dict(content[key], _INNER if candidates is not _INNER else ())
            if _is_state_dict(inner):
                return inner, [key, *keys]
    return content, []


def _is_state_dict(value: Any) -> bool:
    return isinstance(value, dict) and any(
        isinstance(of, StoredTensor) for of in itertools.islice(value.values(), 100))


def _without_wrappers(state_dict: Dict[str, StoredTensor], source: str) -> Dict[str, StoredTensor]:
    places: Dict[str, StoredTensor] = {}
    for name, place in state_dict.items():
        bare = _OF_PARALLEL.sub("", _OF_COMPILE.sub("", name))
        if bare in places:
            raise ConversionError(f"{source}: holds {bare} twice, with and without a prefix")
        places[bare] = place
    if places.keys() != state_dict.keys():
        places.pop(_COUNTER, None)
    return places


def _read(checkpoint: CheckpointFile, places: Dict[str, StoredTensor], source: str
          ) -> Dict[str, Tensor]:
    uses = collections.Counter(place.key for place in places.values())
    sizes = {place.key: place.count for place in places.values()}
    left = _MOST_SHARING * sum(sizes.values())
    weights: Dict[str, Tensor] = {}
    for name, place in places.items():
        value = torch.from_numpy(checkpoint.values(place, name))
        left -= value.numel()
        if left < 0:
            raise ConversionError(f"{source}: has tensors that repeat the values of their storages")
        uses[place.key] -= 1
        if uses[place.key] == 0:  # so that the memory of float16 tensors is freed one by one
            checkpoint.forget(place.key)
        if value.is_floating_point():
            value = value.float()
            if value.numel() > 0 and not all(map(torch.isfinite, torch.aminmax(value))):
                raise ConversionError(f"{source}: {name} holds a value that is not finite")
        weights[name] = value
    return weights


def _shown(name: Any) -> str:
    return repr(name)[:80] if not isinstance(name, Foreign) else f"a {name.kind}"
