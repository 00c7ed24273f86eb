"""What the user decides where a source does not tell."""

import dataclasses
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the command; None: not given."""

    checkpoint: Optional[str] = None  # file of the weights inside an experiment folder
    layer_norm_eps: Optional[float] = None
    shaw_left: Optional[int] = None  # farthest frame to the left of WeNet's shaw_rel_selfattn
