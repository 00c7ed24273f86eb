"""Architecture of the encoder: the fields of the `encoder` section of a model file
(models/README.md)."""

import dataclasses
from typing import Any, Dict, Optional

from models.reference import normalization, subsampling
from models.reference.attention import AttentionBias
from models.reference.convolution import ConvolutionConfig
from models.reference.feed_forward import FeedForwardConfig
from models.reference.fields import (check_at_least, check_choice, check_fields, check_positive,
                                     check_type, read_kind, read_object, without_absent)
from models.reference.normalization import NormalizationConfig
from models.reference.positions import (SCHEMES, make_options, options_from_json, options_to_json,
                                        scheme_name)
from models.reference.subsampling import SubsamplingConfig, geometry_of


@dataclasses.dataclass(frozen=True)
class ConformerConfig:
    """Architecture of one encoder; one attribute per field of the section."""

    input_dim: int  # feature bins per frame
    model_dim: int  # d, width of the residual stream
    num_layers: int
    num_heads: int  # must divide model_dim
    feed_forward_dim: int
    convolution: Optional[ConvolutionConfig]  # None: a Transformer
    normalization: NormalizationConfig = NormalizationConfig()
    subsampling: SubsamplingConfig = SubsamplingConfig()
    scale_input: bool = True  # multiply the subsampled input by sqrt(model_dim)
    position: Any = dataclasses.field(default_factory=lambda: make_options("chunk_rpe"))
    attention_bias: AttentionBias = AttentionBias()
    feed_forward: FeedForwardConfig = FeedForwardConfig()
    # "reworked_conformer" (icefall): modules have no norms, a BasicNorm ends each layer, and the
    # feed-forward modules are added whole. It has none of the three fields below.
    type: str = "conformer"
    norm_first: bool = True  # x + f(norm(x)); false: norm(x + f(x))
    after_norm: bool = True  # a layer norm after the last layer
    layer_norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        for name in ("input_dim", "model_dim", "num_layers", "num_heads", "feed_forward_dim"):
            check_at_least(name, getattr(self, name), 1)
        if self.model_dim % self.num_heads != 0:
            raise ValueError(f"num_heads {self.num_heads} does not divide model_dim "
                             f"{self.model_dim}")
        if self.model_dim % 2 != 0:
            raise ValueError(f"model_dim is {self.model_dim}, sinusoids need an even number")
        if geometry_of(self.subsampling).num_encoder_frames(self.input_dim) < 1:
            raise ValueError(f"input_dim is {self.input_dim}, too few bins for subsampling "
                             f"{self.subsampling.type}")
        check_choice("type", self.type, TYPES)
        check_positive("layer_norm_eps", self.layer_norm_eps)
        scheme_name(self.position)

    @property
    def is_reworked(self) -> bool:
        """Whether the layers are those of icefall's reworked Conformer."""
        return self.type == "reworked_conformer"

    def needs_whole_utterance(self) -> str:
        """The part of this model that cannot be computed chunk by chunk; empty if there is none."""
        if SCHEMES[scheme_name(self.position)].whole_utterance:
            return f"position scheme {scheme_name(self.position)}"
        if self.convolution is not None and self.convolution.type == "symmetric":
            return "convolution type symmetric"
        if self.normalization.type in normalization.UTTERANCE_TYPES:
            return f"normalization type {self.normalization.type}"
        return ""

    def to_json(self) -> Dict[str, Any]:
        """The `encoder` section of runnel.json."""
        convolution = self.convolution
        return {
            "type": self.type,
            **{name: getattr(self, name) for name in _plain_fields(self.type)},
            "normalization": without_absent(dataclasses.asdict(self.normalization)),
            "subsampling": without_absent(dataclasses.asdict(self.subsampling)),
            "position": options_to_json(self.position),
            "attention_bias": dataclasses.asdict(self.attention_bias),
            "feed_forward": dataclasses.asdict(self.feed_forward),
            "convolution": None if convolution is None else dataclasses.asdict(convolution),
        }

    @staticmethod
    def from_json(encoder: Any) -> "ConformerConfig":
        """From the section.

        Raises:
            ValueError: one line naming the field, what was expected and what came.
        """
        plain_fields = _plain_fields(read_kind(encoder, "type", TYPES, "encoder"))
        check_fields(encoder, ["type", *plain_fields, *_OBJECT_FIELDS], "encoder")
        for name, kind in plain_fields.items():
            check_type(encoder[name], kind, f"encoder.{name}")
        convolution = encoder["convolution"]
        try:
            return ConformerConfig(
                type=encoder["type"], **{name: encoder[name] for name in plain_fields},
                normalization=_normalization(encoder["normalization"]),
                subsampling=_subsampling(encoder["subsampling"]),
                position=options_from_json(encoder["position"], "encoder.position"),
                attention_bias=read_object(AttentionBias, encoder["attention_bias"],
                                           "encoder.attention_bias"),
                feed_forward=read_object(FeedForwardConfig, encoder["feed_forward"],
                                         "encoder.feed_forward"),
                convolution=None if convolution is None else read_object(
                    ConvolutionConfig, convolution, "encoder.convolution"))
        except ValueError as error:
            message = str(error)
            raise ValueError(message if message.startswith("encoder.")
                             else f"encoder: {message}") from None


TYPES = ("conformer", "reworked_conformer")
_PLAIN_FIELDS = {"input_dim": int, "model_dim": int, "num_layers": int, "num_heads": int,
                 "feed_forward_dim": int, "scale_input": bool}
_LAYER_NORM_FIELDS = {"norm_first": bool, "after_norm": bool, "layer_norm_eps": float}
_OBJECT_FIELDS = ("normalization", "subsampling", "position", "attention_bias", "feed_forward",
                  "convolution")


def _plain_fields(kind: str) -> Dict[str, Any]:
    """The fields of an encoder of this type that are no objects, and their types."""
    return {**_PLAIN_FIELDS, **(_LAYER_NORM_FIELDS if kind == "conformer" else {})}


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
