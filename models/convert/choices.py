"""Options of the user, for facts that a source does not state."""

import dataclasses
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the command; None if not given."""

    checkpoint: Optional[str] = None  # file of the weights inside an experiment folder
    layer_norm_eps: Optional[float] = None
    shaw_left: Optional[int] = None  # largest distance to the left in WeNet's shaw_rel_selfattn
