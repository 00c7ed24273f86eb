"""Options of the user, for facts that a source does not state."""

import dataclasses
from typing import Optional


HEADS = ("all", "ctc", "transducer")


@dataclasses.dataclass(frozen=True)
class Choices:
    """Options of the command; None if not given."""

    checkpoint: Optional[str] = None  # file of the weights inside an experiment folder
    layer_norm_eps: Optional[float] = None
    shaw_left: Optional[int] = None  # largest distance to the left in WeNet's shaw_rel_selfattn
    causal: bool = False  # the convolution of an icefall model reads no later frames
    num_mel_bins: Optional[int] = None  # of an icefall model
    feature_scale: Optional[float] = None  # what an icefall model multiplies features by
    head: str = "all"  # the head to keep of a model with several: one of HEADS

    def wants(self, head: str) -> bool:
        """Whether the model file shall have the head "ctc" or "transducer"."""
        return self.head in ("all", head)
