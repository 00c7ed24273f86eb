"""Feature frames to encoder frames: stages of strided convolutions, or a linear layer.

Every kind gives the same output chunk by chunk and over the whole stream. The first chunk is padded
on its left and the last one on its right; all others read real frames.
"""

import dataclasses
from typing import List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.reference.basic_norm import BasicNorm
from models.reference.feed_forward import activate
from models.reference.fields import check_at_least, check_choice

TYPES = ("conv1d2", "conv2d2", "conv2d4", "conv2d6", "conv2d8", "conv2d_1_2_1", "conv2d_1_2_2",
         "conv2d_2", "linear", "striding4", "dw_striding8")
REWORKED_TYPES = ("conv2d_1_2_1", "conv2d_1_2_2")  # of icefall's reworked Conformer
STRIDING_TYPES = ("striding4", "dw_striding8")  # NeMo's: padded, with `channels` and `causal`


@dataclasses.dataclass(frozen=True)
class SubsamplingConfig:
    """The `subsampling` object of a model file; the last two fields for STRIDING_TYPES only."""

    type: str = "conv2d4"
    channels: Optional[int] = None  # of the convolutions; other kinds have model_dim
    causal: Optional[bool] = None  # zeros before each stage: 2 or 1; after each: 1

    def __post_init__(self) -> None:
        check_choice("type", self.type, TYPES)
        striding = self.type in STRIDING_TYPES
        if (self.channels is not None) != striding or (self.causal is not None) != striding:
            raise ValueError(f"channels and causal belong to {' and '.join(STRIDING_TYPES)} and "
                             f"only to them, type is {self.type}")
        if self.channels is not None:
            check_at_least("channels", self.channels, 1)


@dataclasses.dataclass(frozen=True)
class Geometry:
    """The frames that a subsampling reads. Stages are the same for time and for feature bins,
    unless the bins are channels."""

    kernels: Tuple[int, ...]
    strides: Tuple[int, ...]
    before: Tuple[int, ...]  # zeros before the input of each stage
    after: Tuple[int, ...]
    bins_are_channels: bool = False

    @property
    def rate(self) -> int:
        """Feature frames per encoder frame."""
        return self.frames_read()[0]

    @property
    def right_context(self) -> int:
        """Encoder frame t reads feature frames up to rate * t + right_context."""
        return self.frames_read()[2]

    @property
    def left_overlap(self) -> int:
        """Encoder frame t reads feature frames from rate * t - left_overlap on."""
        return self.frames_read()[1]

    def frames_read(self) -> Tuple[int, int, int]:
        """rate, left_overlap and right_context."""
        rate, left, right = 1, 0, 0
        for kernel, stride, before in zip(self.kernels, self.strides, self.before):
            left += rate * before
            right += rate * (kernel - 1 - before)
            rate *= stride
        return rate, left, right

    def num_encoder_frames(self, num_frames: int) -> int:
        """Encoder frames of a whole stream of feature frames."""
        for kernel, stride, before, after in zip(self.kernels, self.strides, self.before,
                                                 self.after):
            padded = num_frames + before + after
            fits = num_frames > 0 and padded >= kernel
            num_frames = (padded - kernel) // stride + 1 if fits else 0
        return num_frames

    def num_bins(self, input_dim: int) -> int:
        """Bins after the last stage."""
        return 1 if self.bins_are_channels else self.num_encoder_frames(input_dim)

    def feature_range(self, offset: int, num_encoder_frames: int) -> Tuple[int, int]:
        """First and one past the last feature frame of a chunk, if the stream is long enough."""
        return (max(0, self.rate * offset - self.left_overlap),
                self.rate * (offset + num_encoder_frames - 1) + self.right_context + 1)


def geometry_of(config: SubsamplingConfig) -> Geometry:
    """The geometry of a subsampling."""
    kernels, strides = {
        "conv1d2": ((3, 3), (1, 2)), "conv2d2": ((3, 3), (2, 1)), "conv2d4": ((3, 3), (2, 2)),
        "conv2d6": ((3, 5), (2, 3)), "conv2d8": ((3, 3, 3), (2, 2, 2)),
        "conv2d_1_2_1": ((3, 3, 3), (1, 2, 1)), "conv2d_1_2_2": ((3, 3, 3), (1, 2, 2)),
        "conv2d_2": ((3,), (2,)),
        "linear": ((), ()),
        "striding4": ((3, 3), (2, 2)), "dw_striding8": ((3, 3, 3), (2, 2, 2)),
    }[config.type]
    none = (0,) * len(kernels)
    before, after = none, none
    if config.type in STRIDING_TYPES:
        before, after = ((2 if config.causal else 1,) * len(kernels), (1,) * len(kernels))
    elif config.type in REWORKED_TYPES:
        before, after = (1, 0, 0), (1, 0, 0)
    return Geometry(kernels, strides, before, after, config.type == "conv1d2")


class DoubleSwish(nn.Module):
    """x sigmoid(x - 1)."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape."""
        return activate(x, "double_swish")


def _channels(config: SubsamplingConfig, model_dim: int, num_stages: int) -> List[int]:
    """Channels after each stage."""
    if config.type in REWORKED_TYPES:
        return [8, 32, 128]
    return [config.channels or model_dim] * num_stages


def _convolutions(config: SubsamplingConfig, geometry: Geometry, input_dim: int,
                  model_dim: int) -> List[nn.Module]:
    """The modules of `conv`; only strided convolutions read more than one frame."""
    channels = [input_dim if geometry.bins_are_channels else 1,
                *_channels(config, model_dim, len(geometry.kernels))]
    modules: List[nn.Module] = []
    for i, (kernel, stride) in enumerate(zip(geometry.kernels, geometry.strides)):
        inputs, outputs = channels[i:i + 2]
        if i > 0 and config.type == "dw_striding8":
            modules.append(nn.Conv2d(outputs, outputs, kernel, stride, groups=outputs))
            modules.append(nn.Conv2d(outputs, outputs, 1))
        elif geometry.bins_are_channels:
            modules.append(nn.Conv2d(inputs, outputs, (kernel, 1), (stride, 1)))
        else:
            modules.append(nn.Conv2d(inputs, outputs, kernel, stride))
        modules.append(DoubleSwish() if config.type in REWORKED_TYPES else nn.ReLU())
    return modules


class Subsampling(nn.Module):
    """Any of TYPES. Takes frames (B, T, input_dim), returns encoder frames (B, T', model_dim)."""

    kernels: List[int]
    strides: List[int]
    before: List[int]
    after: List[int]

    def __init__(self, config: SubsamplingConfig, input_dim: int, model_dim: int,
                 layer_norm_eps: float) -> None:
        super().__init__()
        geometry = geometry_of(config)
        self.rate = geometry.rate
        self.left_overlap = geometry.left_overlap
        self.bins_are_channels = geometry.bins_are_channels
        modules = _convolutions(config, geometry, input_dim, model_dim)
        self.conv = nn.Sequential(*modules)
        # Per module of `conv`; 0 where it reads one frame at a time.
        self.kernels = [m.kernel_size[0] if _is_stage(m) else 0 for m in modules]
        self.strides = [m.stride[0] if _is_stage(m) else 0 for m in modules]
        self.before, self.after = _by_module(modules, geometry.before), _by_module(modules,
                                                                                   geometry.after)
        bins = geometry.num_bins(input_dim)
        channels = [1, *_channels(config, model_dim, len(geometry.kernels))][-1]
        out: List[nn.Module] = [nn.Linear(channels * bins, model_dim)]
        if config.type == "linear":
            out.append(nn.LayerNorm(model_dim, layer_norm_eps))
        elif config.type in REWORKED_TYPES:
            out.append(BasicNorm())
        self.out = nn.Sequential(*out)

    def forward(self, features: Tensor, lengths: Tensor, offset: int,
                last: bool) -> Tuple[Tensor, Tensor]:
        """A chunk of a stream, or all of it (offset 0, last).

        Args:
            features: (B, n, input_dim), from frame max(0, rate * offset - left_overlap) on.
            lengths: (B) int64, frames without the padding of the batch; used if `last`.
            offset: the first encoder frame of the result. last: no frames follow.

        Returns:
            (B, C, model_dim): every encoder frame from `offset` on whose frames are all present, or
            beyond the end if `last`; and, if `last`, their number per item (B).
        """
        start = max(0, self.rate * offset - self.left_overlap)  # in frames of the current stage
        ends = lengths + start  # one past the last frame of each item
        # (B, channels, T, bins)
        x = features.transpose(1, 2).unsqueeze(3) if self.bins_are_channels \
            else features.unsqueeze(1)
        for i, module in enumerate(self.conv):
            kernel, stride = self.kernels[i], self.strides[i]
            if kernel > 0:
                before, after = self.before[i], self.after[i]
                if after > 0:  # the padding of the batch counts as zeros
                    frames = start + torch.arange(x.size(2), device=x.device)
                    outside = frames.unsqueeze(0) >= ends.unsqueeze(1)
                    x = x.masked_fill(outside.unsqueeze(1).unsqueeze(3), 0.0)
                first = 0 if start == 0 else (start + before + stride - 1) // stride
                skipped = stride * first - before - start  # below 0: zeros before the start
                x = x[:, :, max(0, skipped):]
                left, right = max(0, -skipped), after if last else 0
                if x.size(2) == 0 or left + x.size(2) + right < kernel:
                    empty = features.new_zeros(features.size(0), 0, self.out[0].out_features)
                    return empty, torch.zeros_like(lengths)
                x = F.pad(x, [before, after, left, right])
                start = first
                ends = self._stage_lengths(ends, kernel, stride, before + after)
            x = module(x)
        y = self.out(x.transpose(1, 2).flatten(2))[:, offset - start:]
        return y, torch.clamp(ends - offset, min=0)

    def _stage_lengths(self, lengths: Tensor, kernel: int, stride: int, padding: int) -> Tensor:
        """Geometry.num_encoder_frames of one stage, for each item."""
        padded = lengths + padding
        frames = torch.div(padded - kernel, stride, rounding_mode="floor") + 1
        return torch.clamp(frames, min=0) * (lengths > 0).to(frames.dtype)


def _by_module(modules: List[nn.Module], of_stages: Tuple[int, ...]) -> List[int]:
    """The value of each module's stage; 0 for a module that is none."""
    values = iter(of_stages)
    return [next(values) if _is_stage(module) else 0 for module in modules]


def _is_stage(module: nn.Module) -> bool:
    """Whether a module of `conv` is the strided convolution of a stage."""
    return isinstance(module, nn.Conv2d) and module.kernel_size[0] > 1
