"""Options of the user, for facts that a source does not state."""

from typing import Any, List, Mapping


HEADS = ("all", "ctc", "transducer")
NAMES = (
    "checkpoint",  # file of the weights inside an experiment folder
    "layer_norm_eps",
    "shaw_left",  # largest distance to the left in WeNet's shaw_rel_selfattn
    "causal",  # the convolution of an icefall model reads no later frames
    "num_mel_bins",  # of an icefall model
    "feature_scale",  # what an icefall model multiplies features by
    "head")  # the head to keep of a model with several: one of HEADS


class Choices:
    """Options of the command. Remembers which of them an importer has read.

    Args:
        given: value by option, of NAMES; None where an option is not given.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = {name: given[name] for name in NAMES if given.get(name) is not None}
        self._read: set = set()

    def take(self, name: str) -> Any:
        """The value of an option, None if it is not given. The model depends on it."""
        assert name in NAMES, name
        self._read.add(name)
        return self._given.get(name)

    @property
    def head(self) -> str:
        """One of HEADS."""
        return self.take("head") or "all"

    def wants(self, head: str) -> bool:
        """Whether the model file shall have the head "ctc" or "transducer"."""
        return self.head in ("all", head)

    def unread(self) -> List[str]:
        """The given options on which nothing of the model depends."""
        return [name for name in self._given if name not in self._read]
