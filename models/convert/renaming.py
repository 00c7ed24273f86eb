"""Maps tensor names of another project to Runnel's, by a table of patterns."""

import re
from typing import Dict, List, Optional, Sequence, Tuple

from torch import Tensor

from models.convert.errors import ConversionError

# (pattern of the whole name, new name with \1 for its groups, or None to omit the tensor)
Rule = Tuple[str, Optional[str]]


class Renamed:
    """Tensors under Runnel's names, and their origins."""

    def __init__(self) -> None:
        self.tensors: Dict[str, Tensor] = {}
        self.origin: Dict[str, str] = {}  # ours -> theirs
        self.left_out: List[str] = []  # theirs

    def move(self, name: str, to: str) -> None:
        """Renames a tensor."""
        self.tensors[to], self.origin[to] = self.tensors.pop(name), self.origin.pop(name)

    def layer_has(self, suffix: str) -> bool:
        """Whether the first encoder layer has the tensor."""
        return f"encoder.encoders.0.{suffix}" in self.tensors


def rename(weights: Dict[str, Tensor], rules: Sequence[Rule], source: str) -> Renamed:
    """Applies the first rule that matches each name.

    Raises:
        ConversionError: no rule matches a name, or two names become one.
    """
    compiled = [(re.compile(pattern), target) for pattern, target in rules]
    renamed = Renamed()
    for name, tensor in weights.items():
        for pattern, target in compiled:
            match = pattern.fullmatch(name)
            if match:
                break
        else:
            raise ConversionError(f"{source}: the parameter {name} of shape {tuple(tensor.shape)} "
                                  "is not known")
        if target is None:
            renamed.left_out.append(name)
            continue
        ours = match.expand(target)
        if ours in renamed.tensors:
            raise ConversionError(f"{source}: {name} and {renamed.origin[ours]} both are {ours}")
        renamed.tensors[ours] = tensor
        renamed.origin[ours] = name
    return renamed


def stack_size(tensors: Dict[str, Tensor], prefix: str) -> int:
    """Number of layers whose names start with `prefix`N, numbered from 0 without gaps."""
    pattern = re.compile(re.escape(prefix) + r"(\d+)\.")
    numbers = {int(match.group(1)) for match in map(pattern.match, tensors) if match}
    return len(numbers)
