"""Architecture of the encoder: the fields of the `encoder` section of a model file
(models/README.md)."""

import dataclasses
import math
from typing import Any, Dict, List, Optional

from models.reference import normalization, subsampling
from models.reference.attention import AttentionBias
from models.reference.branches import BranchesConfig
from models.reference.convolution import ConvolutionConfig
from models.reference.feed_forward import FeedForwardConfig
from models.reference.fields import (check_at_least, check_choice, check_fields, check_list,
                                     check_positive, check_type, read_kind, read_object,
                                     without_absent)
from models.reference.normalization import NormalizationConfig
from models.reference.positions import (SCHEMES, make_options, options_from_json, options_to_json,
                                        scheme_name)
from models.reference.subsampling import Geometry, SubsamplingConfig, geometry_of


@dataclasses.dataclass(frozen=True)
class ConformerConfig:
    """Architecture of one encoder; one attribute per field of the section."""

    input_dim: int  # feature bins per frame
    model_dim: int  # d, width of the residual stream
    num_layers: int
    num_heads: int  # must divide model_dim
    feed_forward_dim: int  # 0: no feed-forward modules (Branchformer only)
    convolution: Optional[ConvolutionConfig]  # None: a Transformer or Branchformer
    normalization: NormalizationConfig = NormalizationConfig()
    subsampling: SubsamplingConfig = SubsamplingConfig()
    scale_input: bool = True  # multiply the subsampled input by sqrt(model_dim)
    position: Any = dataclasses.field(default_factory=lambda: make_options("chunk_rpe"))
    attention_bias: AttentionBias = AttentionBias()
    feed_forward: Optional[FeedForwardConfig] = FeedForwardConfig()
    # "reworked_conformer" (icefall): modules have no norms, a BasicNorm ends each layer, and the
    # feed-forward modules are added whole. It has none of the three fields below.
    # "branchformer": it has `branches`.
    # "multitalker_conformer" (NeMo): a speaker kernel comes before the first layer.
    type: str = "conformer"
    norm_first: bool = True  # x + f(norm(x)); false: norm(x + f(x))
    after_norm: bool = True  # a layer norm after the last layer
    layer_norm_eps: float = 1e-5
    branches: Optional[BranchesConfig] = None  # a Branchformer, which has no `convolution`
    # "efficient_conformer": the stride of each layer's depthwise convolution, and whether it
    # divides the kernel size of all later layers.
    strides: Optional[List[int]] = None
    strides_divide_kernels: bool = False

    def __post_init__(self) -> None:
        check_choice("type", self.type, TYPES)
        if (self.type == "branchformer") != (self.branches is not None):
            raise ValueError(f"the type is {self.type}; a branchformer, and no other, has branches")
        for name in ("input_dim", "model_dim", "num_layers", "num_heads"):
            check_at_least(name, getattr(self, name), 1)
        if self.feed_forward is not None:
            check_at_least("feed_forward_dim", self.feed_forward_dim, 1)
        elif self.branches is None:
            raise ValueError("feed_forward is None, which a Branchformer only may have")
        elif self.feed_forward_dim != 0:
            raise ValueError(f"feed_forward_dim is {self.feed_forward_dim}, expected 0 where "
                             "feed_forward is null")
        if self.branches is not None and (self.convolution is not None or not self.norm_first):
            raise ValueError("a Branchformer has no convolution module, and its norms come first")
        if self.model_dim % self.num_heads != 0:
            raise ValueError(f"num_heads {self.num_heads} does not divide model_dim "
                             f"{self.model_dim}")
        if self.model_dim % 2 != 0:
            raise ValueError(f"model_dim is {self.model_dim}, sinusoids need an even number")
        if geometry_of(self.subsampling).num_bins(self.input_dim) < 1:
            raise ValueError(f"input_dim is {self.input_dim}, too few bins for subsampling "
                             f"{self.subsampling.type}")
        check_positive("layer_norm_eps", self.layer_norm_eps)
        self._check_layers()
        if scheme_name(self.position) == "rotary" and self.model_dim // self.num_heads % 2 != 0:
            raise ValueError(f"num_heads is {self.num_heads}, rotary positions need heads of an "
                             "even size")

    def _check_layers(self) -> None:
        """Checks the values of single layers."""
        if (self.type == "efficient_conformer") != (self.strides is not None):
            raise ValueError(f"the type is {self.type}; an efficient_conformer, and no other, has "
                             "strides")
        groups = getattr(self.position, "group_sizes", None)
        for name, values in (("strides", self.strides), ("position.group_sizes", groups)):
            if values is not None and len(values) != self.num_layers:
                raise ValueError(f"{name} has {len(values)} values, expected one for each of "
                                 f"num_layers {self.num_layers}")
        if self.strides is None:
            return
        for stride in self.strides:
            check_at_least("strides", stride, 1)
        if self.convolution is None:
            raise ValueError("convolution is None, expected one, which has the strides")
        if self._kernel_size(self.num_layers - 1) < 1:
            raise ValueError("strides_divide_kernels leaves kernels of less than one frame")
        if scheme_name(self.position) not in ("none", "unshifted", "grouped_unshifted"):
            raise ValueError(f"position scheme {scheme_name(self.position)} does not go together "
                             "with strides")

    def _kernel_size(self, index: int) -> int:
        """Of the convolution of a layer."""
        assert self.convolution is not None and self.strides is not None
        size = self.convolution.kernel_size
        for stride in self.strides[:index] if self.strides_divide_kernels else ():
            size //= stride
        return size

    def of_layer(self, index: int) -> "ConformerConfig":
        """The configuration of one layer alone."""
        position, convolution, strides = self.position, self.convolution, None
        if hasattr(position, "group_sizes"):
            position = dataclasses.replace(position, group_sizes=[position.group_sizes[index]])
        if self.strides is not None and convolution is not None:
            strides = [self.strides[index]]
            convolution = dataclasses.replace(convolution, kernel_size=self._kernel_size(index))
        return dataclasses.replace(self, num_layers=1, position=position, convolution=convolution,
                                   strides=strides, strides_divide_kernels=False)

    def geometry(self) -> Geometry:
        """From feature frames to encoder frames: the subsampling, then the strides of the layers.

        A stride joins that many frames; the last ones may be fewer.
        """
        base, strides = geometry_of(self.subsampling), tuple(self.strides or ())
        return Geometry(base.kernels + strides, base.strides + strides,
                        base.before + (0,) * len(strides),
                        base.after + tuple(stride - 1 for stride in strides))

    def chunk_multiple(self) -> int:
        """Sizes of chunks and left context are multiples of this, so that no group is cut."""
        ones = [1] * self.num_layers
        return chunk_multiple(getattr(self.position, "group_sizes", ones), self.strides or ones)

    @property
    def is_reworked(self) -> bool:
        """Whether the layers are those of icefall's reworked Conformer."""
        return self.type == "reworked_conformer"

    def needs_whole_utterance(self) -> str:
        """The part of this model that cannot be computed chunk by chunk; empty if there is none."""
        if SCHEMES[scheme_name(self.position)].whole_utterance:
            return f"position scheme {scheme_name(self.position)}"
        convolutions = self.convolution if self.branches is None else self.branches
        if convolutions is not None and convolutions.type == "symmetric":
            return "convolution type symmetric"
        if self.normalization.type in normalization.UTTERANCE_TYPES:
            return f"normalization type {self.normalization.type}"
        return ""

    def to_json(self) -> Dict[str, Any]:
        """The `encoder` section of runnel.json."""
        return {
            "type": self.type,
            **{name: getattr(self, name) for name in _plain_fields(self.type)},
            "normalization": without_absent(dataclasses.asdict(self.normalization)),
            "subsampling": without_absent(dataclasses.asdict(self.subsampling)),
            "position": options_to_json(self.position),
            "attention_bias": dataclasses.asdict(self.attention_bias),
            "feed_forward": _as_dict(self.feed_forward),
            _layer_field(self.type): _as_dict(getattr(self, _layer_field(self.type))),
            **({"strides": self.strides} if self.strides is not None else {}),
        }

    @staticmethod
    def from_json(encoder: Any) -> "ConformerConfig":
        """From the section.

        Raises:
            ValueError: one line naming the field, what was expected and what came.
        """
        kind = read_kind(encoder, "type", TYPES, "encoder")
        plain = _plain_fields(kind)
        lists = ["strides"] if kind == "efficient_conformer" else []
        check_fields(encoder, ["type", *plain, *lists, *_OBJECT_FIELDS, _layer_field(kind)],
                     "encoder")
        for name in lists:
            check_list(encoder[name], int, f"encoder.{name}")
        for name, type_ in plain.items():
            check_type(encoder[name], type_, f"encoder.{name}")
        is_branchformer = kind == "branchformer"
        try:
            return ConformerConfig(
                type=kind, **{name: encoder[name] for name in [*plain, *lists]},
                normalization=_normalization(encoder["normalization"]),
                subsampling=_subsampling(encoder["subsampling"]),
                position=options_from_json(encoder["position"], "encoder.position"),
                attention_bias=read_object(AttentionBias, encoder["attention_bias"],
                                           "encoder.attention_bias"),
                feed_forward=_read_optional(FeedForwardConfig, encoder, "feed_forward",
                                            is_branchformer),
                convolution=None if is_branchformer else _read_optional(
                    ConvolutionConfig, encoder, "convolution", True),
                branches=_read_optional(BranchesConfig, encoder, "branches", False)
                if is_branchformer else None)
        except ValueError as error:
            message = str(error)
            raise ValueError(message if message.startswith("encoder.")
                             else f"encoder: {message}") from None


def chunk_multiple(group_sizes: List[int], strides: List[int]) -> int:
    """ConformerConfig.chunk_multiple of layers with these groups and strides."""
    multiple, frames = 1, 1  # frames: of a layer's input, per encoder frame
    for group, stride in zip(reversed(group_sizes), reversed(strides)):
        frames *= stride
        needed = group // math.gcd(group, frames)
        multiple = multiple * needed // math.gcd(multiple, needed)
    return multiple


TYPES = ("conformer", "multitalker_conformer", "reworked_conformer", "efficient_conformer",
         "branchformer")
_PLAIN_FIELDS = {"input_dim": int, "model_dim": int, "num_layers": int, "num_heads": int,
                 "feed_forward_dim": int, "scale_input": bool}
_STRIDE_FIELDS = {"strides_divide_kernels": bool}
_LAYER_NORM_FIELDS = {"norm_first": bool, "after_norm": bool, "layer_norm_eps": float}
_OBJECT_FIELDS = ("normalization", "subsampling", "position", "attention_bias", "feed_forward")


def _layer_field(kind: str) -> str:
    """The object that an encoder of this type has for its layers."""
    return "branches" if kind == "branchformer" else "convolution"


def _as_dict(part: Any) -> Optional[Dict[str, Any]]:
    return None if part is None else dataclasses.asdict(part)


def _read_optional(cls: Any, encoder: Dict[str, Any], name: str, may_be_null: bool) -> Any:
    if may_be_null and encoder[name] is None:
        return None
    return read_object(cls, encoder[name], f"encoder.{name}")


def _plain_fields(kind: str) -> Dict[str, Any]:
    """The fields of an encoder of this type that are no objects, and their types."""
    absent = {"reworked_conformer": tuple(_LAYER_NORM_FIELDS), "branchformer": ("norm_first",)}
    own = _STRIDE_FIELDS if kind == "efficient_conformer" else {}
    norms = {name: type_ for name, type_ in _LAYER_NORM_FIELDS.items()
             if name not in absent.get(kind, ())}
    return {**_PLAIN_FIELDS, **own, **norms}


def _normalization(value: Any) -> NormalizationConfig:
    where = "encoder.normalization"
    kind = read_kind(value, "type", normalization.TYPES, where)
    fields = {"epsilon": float} if kind in normalization.EPSILON_TYPES else {}
    return _construct(NormalizationConfig, value, fields, where)


def _subsampling(value: Any) -> SubsamplingConfig:
    where = "encoder.subsampling"
    kind = read_kind(value, "type", subsampling.TYPES, where)
    fields = {"channels": int, "causal": bool} if kind in subsampling.STRIDING_TYPES else {}
    return _construct(SubsamplingConfig, value, fields, where)


def _construct(cls: Any, value: Dict[str, Any], fields: Dict[str, Any], where: str) -> Any:
    """cls(**value), for a value with `type` and these fields; an error names the object."""
    check_fields(value, ["type", *fields], where)
    for name, kind in fields.items():
        check_type(value[name], kind, f"{where}.{name}")
    try:
        return cls(**value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
