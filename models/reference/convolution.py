"""The gated depthwise convolution module (Gulati et al. 2020, section 2.2) with its cache."""

import dataclasses
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.reference.depthwise import TYPES, DepthwiseConvolution, left_frames_of
from models.reference.feed_forward import ACTIVATIONS, activate
from models.reference.fields import check_at_least, check_choice, check_positive

NORMS = ("none", "layer_norm", "batch_norm")
LEFT_PADDINGS = ("zero", "gated_zero")


@dataclasses.dataclass(frozen=True)
class ConvolutionConfig:
    """The `convolution` object of a model file; left_frames_of tells its types."""

    kernel_size: int  # K, encoder frames
    type: str = "causal"
    norm: str = "layer_norm"
    norm_epsilon: Optional[float] = 1e-5  # None for the norm "none"
    activation: str = "swish"
    bias: bool = True  # of all three convolutions
    # Frames before the stream: zero after the gate, or (gated_zero, WeNet) before pointwise_conv1.
    left_padding: str = "zero"

    def __post_init__(self) -> None:
        check_choice("type", self.type, TYPES)
        check_at_least("kernel_size", self.kernel_size, 1)
        check_choice("norm", self.norm, NORMS)
        if (self.norm_epsilon is None) != (self.norm == "none"):
            raise ValueError(f"norm_epsilon is {self.norm_epsilon}, the norm {self.norm}; expected "
                             "a number with a norm and null without one")
        if self.norm_epsilon is not None:
            check_positive("norm_epsilon", self.norm_epsilon)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("left_padding", self.left_padding, LEFT_PADDINGS)
        if self.left_padding == "gated_zero" and self.type != "causal":
            raise ValueError(f"left_padding is gated_zero, which needs type causal, type is "
                             f"{self.type}")

    @property
    def left_frames(self) -> int:
        """Number of frames before t that frame t reads; the length of the cache."""
        return left_frames_of(self.type, self.kernel_size)


class BatchNorm(nn.Module):
    """Batch normalisation over the last dimension; its running statistics in evaluation mode."""

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.register_buffer("running_mean", torch.zeros(dim))
        self.register_buffer("running_var", torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, d) -> (B, T, d)."""
        return F.batch_norm(x.transpose(1, 2), self.running_mean, self.running_var, self.weight,
                            self.bias, self.training, 0.1, self.eps).transpose(1, 2)


class Convolution(nn.Module):
    """Pointwise to twice the width, gate, depthwise, norm, activation, pointwise."""

    def __init__(self, model_dim: int, config: ConvolutionConfig, stride: int = 1) -> None:
        super().__init__()
        kernel, bias = config.kernel_size, config.bias
        self.activation = config.activation
        self.stride = stride  # frames per output
        self.gated_zero = config.left_padding == "gated_zero"
        self.pointwise_conv1 = nn.Conv1d(model_dim, 2 * model_dim, 1, bias=bias)
        self.depthwise_conv = DepthwiseConvolution(model_dim, kernel, config.type, bias)
        if config.norm_epsilon is None:
            self.norm = nn.Identity()
        else:
            norm = nn.LayerNorm if config.norm == "layer_norm" else BatchNorm
            self.norm = norm(model_dim, config.norm_epsilon)
        self.pointwise_conv2 = nn.Conv1d(model_dim, model_dim, 1, bias=bias)

    def initial_cache(self, batch: int) -> Tensor:
        """(B, d, left frames): the gated frames before a stream."""
        weight = self.pointwise_conv2.weight
        silence = torch.zeros(1, weight.size(0), 1, dtype=weight.dtype, device=weight.device)
        if self.gated_zero:
            silence = F.glu(self.pointwise_conv1(silence), dim=1)
        return silence.expand(batch, -1, self.depthwise_conv.left_frames)

    def forward(self, x: Tensor, cnn_cache: Tensor, present: Tensor,
                chunk_size: int) -> Tuple[Tensor, Tensor]:
        """Processes T new frames.

        Args:
            x: (B, T, d). cnn_cache: (B, d, left frames), gated frames before x.
            present: bool, broadcastable to (B, T); false for the padding of a batch.
            chunk_size: for dynamic_chunk: size of the chunks in x, -1 for one chunk.

        Returns:
            (B, ceil(T / stride), d) and the next cnn_cache, same shape.
        """
        gated = F.glu(self.pointwise_conv1(x.transpose(1, 2)), dim=1)
        filtered, cnn_cache = self.depthwise_conv(gated, cnn_cache, present, chunk_size)
        filtered = filtered[:, :, ::self.stride]
        y = activate(self.norm(filtered.transpose(1, 2)), self.activation)
        y = self.pointwise_conv2(y.transpose(1, 2)).transpose(1, 2)
        return y, cnn_cache
