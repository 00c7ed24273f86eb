"""Architecture of the reference Conformer, field for field the `encoder` and `ctc` sections of a
model file (models/README.md)."""

import dataclasses
from typing import Any, Dict


@dataclasses.dataclass(frozen=True)
class ConformerConfig:
    """Sizes and conventions of one Conformer-CTC. All that a model file states is a field here."""

    input_dim: int  # feature bins per frame
    model_dim: int  # d, width of the residual stream
    num_layers: int
    num_heads: int  # must divide model_dim
    feed_forward_dim: int
    conv_kernel_size: int  # K, taps of the causal depthwise convolution, encoder frames
    vocab_size: int  # CTC outputs, blank included
    blank_id: int = 0
    scale_input: bool = True  # multiply the subsampled input by sqrt(model_dim)
    layer_norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        if self.model_dim % self.num_heads != 0:
            raise ValueError(f"num_heads {self.num_heads} does not divide model_dim "
                             f"{self.model_dim}")
        if self.model_dim % 2 != 0:
            raise ValueError(f"model_dim is {self.model_dim}, sinusoids need an even number")
        for name in ("input_dim", "model_dim", "num_layers", "num_heads", "feed_forward_dim",
                     "conv_kernel_size", "vocab_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        if self.input_dim < 7:
            raise ValueError(f"input_dim is {self.input_dim}, conv2d4 needs at least 7 bins")
        if not 0 <= self.blank_id < self.vocab_size:
            raise ValueError(f"blank_id {self.blank_id} is outside 0..{self.vocab_size - 1}")

    def encoder_section(self) -> Dict[str, Any]:
        """The `encoder` section of runnel.json."""
        return {
            "type": "conformer",
            "input_dim": self.input_dim,
            "model_dim": self.model_dim,
            "num_layers": self.num_layers,
            "num_heads": self.num_heads,
            "feed_forward_dim": self.feed_forward_dim,
            "subsampling": "conv2d4",
            "global_cmvn": True,
            "scale_input": self.scale_input,
            "position": {"scheme": "chunk_rpe", "linear_pos_bias": False},
            "convolution": {"type": "causal", "kernel_size": self.conv_kernel_size,
                            "norm": "layer_norm", "left_padding": "zero"},
            "activation": "swish",
            "layer_norm_eps": self.layer_norm_eps,
        }

    def ctc_section(self) -> Dict[str, Any]:
        """The `ctc` section of runnel.json."""
        return {"vocab_size": self.vocab_size, "blank_id": self.blank_id}
