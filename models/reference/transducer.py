"""The transducer head: predictor and joint network, the `transducer` section of a model file."""

import dataclasses
from typing import Any, Dict, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from models.reference.feed_forward import TRANSDUCER_ACTIVATIONS, activate
from models.reference.fields import (check_at_least, check_blank, check_choice, check_fields,
                                     check_list, check_type, read_object)
from models.reference.predictor import (PredictorConfig, make_predictor, predictor_from_json,
                                        predictor_to_json)

BEAMS = ("time_synchronous", "modified", "prefix")


@dataclasses.dataclass(frozen=True)
class JointHiddenConfig:
    """The `hidden_linear` object of a joint network (icefall's inner_linear)."""

    dim: int  # of its output
    input_activation: str  # before it

    def __post_init__(self) -> None:
        check_at_least("dim", self.dim, 1)
        check_choice("input_activation", self.input_activation, TRANSDUCER_ACTIVATIONS)


@dataclasses.dataclass(frozen=True)
class JointConfig:
    """The `joint` object of a model file."""

    dim: int
    input_linear: bool = True  # both inputs are projected; false: they are added as they are
    # A linear layer before the activation. True: to dim, without an activation before it (WeNet's
    # post_ffn).
    hidden_linear: Union[bool, JointHiddenConfig] = False
    activation: str = "relu"

    def __post_init__(self) -> None:
        check_at_least("dim", self.dim, 1)
        check_choice("activation", self.activation, TRANSDUCER_ACTIVATIONS)

    @property
    def hidden(self) -> Optional[JointHiddenConfig]:
        """The linear layer before the activation."""
        if isinstance(self.hidden_linear, JointHiddenConfig):
            return self.hidden_linear
        return JointHiddenConfig(self.dim, "identity") if self.hidden_linear else None

    @staticmethod
    def from_json(value: Any, where: str) -> "JointConfig":
        """From the `joint` object.

        Raises:
            ValueError: one line naming the field, what was expected and what came.
        """
        check_fields(value, [field.name for field in dataclasses.fields(JointConfig)], where)
        hidden = value["hidden_linear"]
        if isinstance(hidden, dict):
            hidden = read_object(JointHiddenConfig, hidden, f"{where}.hidden_linear")
        else:
            check_type(hidden, bool, f"{where}.hidden_linear")
        joint = read_object(JointConfig, {**value, "hidden_linear": False}, where)
        return dataclasses.replace(joint, hidden_linear=hidden)


@dataclasses.dataclass(frozen=True)
class TransducerConfig:
    """The `transducer` object of a model file."""

    vocab_size: int  # tokens, blank included
    blank_id: int
    predictor: PredictorConfig
    joint: JointConfig
    durations: Tuple[int, ...] = ()  # TDT: frames, one per duration output
    max_symbols: int = 10  # most tokens of one encoder frame in greedy search
    beam: str = "time_synchronous"

    def __post_init__(self) -> None:
        check_at_least("vocab_size", self.vocab_size, 1)
        check_blank(self.blank_id, self.vocab_size)
        if self.durations and (min(self.durations) < 0 or max(self.durations) < 1):
            raise ValueError(f"durations is {list(self.durations)}, expected numbers from 0 on, "
                             "one of them above 0")
        check_at_least("max_symbols", self.max_symbols, 1)
        check_choice("beam", self.beam, BEAMS)

    def to_json(self) -> Dict[str, Any]:
        """The section."""
        return {"vocab_size": self.vocab_size, "blank_id": self.blank_id,
                "predictor": predictor_to_json(self.predictor),
                "joint": dataclasses.asdict(self.joint), "durations": list(self.durations),
                "max_symbols": self.max_symbols, "beam": self.beam}

    @staticmethod
    def from_json(value: Any) -> "TransducerConfig":
        """From the section.

        Raises:
            ValueError: one line naming the field, what was expected and what came.
        """
        kinds = {"vocab_size": int, "blank_id": int, "max_symbols": int, "beam": str}
        check_fields(value, [*kinds, "predictor", "joint", "durations"], "transducer")
        for name, kind in kinds.items():
            check_type(value[name], kind, f"transducer.{name}")
        check_list(value["durations"], int, "transducer.durations")
        predictor = predictor_from_json(value["predictor"], "transducer.predictor")
        joint = JointConfig.from_json(value["joint"], "transducer.joint")
        try:
            return TransducerConfig(predictor=predictor, joint=joint,
                                    durations=tuple(value["durations"]),
                                    **{name: value[name] for name in kinds})
        except ValueError as error:
            raise ValueError(f"transducer: {error}") from None


class Joint(nn.Module):
    """Encoder row and predictor row to logits of tokens, then of durations (Graves 2012)."""

    def __init__(self, encoder_dim: int, predictor_dim: int, outputs: int,
                 config: JointConfig) -> None:
        super().__init__()
        self.activation = config.activation
        self.encoder = nn.Linear(encoder_dim, config.dim) if config.input_linear else None
        self.predictor = nn.Linear(predictor_dim, config.dim) if config.input_linear else None
        hidden = config.hidden
        self.hidden_activation = hidden.input_activation if hidden else "identity"
        self.hidden = nn.Linear(config.dim, hidden.dim) if hidden else None
        self.out = nn.Linear(hidden.dim if hidden else config.dim, outputs)

    def forward(self, encoder_rows: Tensor, predictor_rows: Tensor) -> Tensor:
        """(..., d) and (..., P), whose leading sizes broadcast, to (..., outputs)."""
        if self.encoder is not None:
            encoder_rows = self.encoder(encoder_rows)
        if self.predictor is not None:
            predictor_rows = self.predictor(predictor_rows)
        x = encoder_rows + predictor_rows
        if self.hidden is not None:
            x = self.hidden(activate(x, self.hidden_activation))
        return self.out(activate(x, self.activation))


class Transducer(nn.Module):
    """Predictor and joint. `models/reference/transducer_search.py` decodes with them."""

    def __init__(self, model_dim: int, config: TransducerConfig) -> None:
        super().__init__()
        self.blank_id = config.blank_id
        self.predictor = make_predictor(config.vocab_size, config.predictor)
        self.joint = Joint(model_dim, config.predictor.output_size,
                           config.vocab_size + len(config.durations), config.joint)

    def forward(self, encoded: Tensor, targets: Tensor) -> Tensor:
        """Logits for training: of every encoder frame after every number of target tokens.

        Args:
            encoded: (B, T, d). targets: (B, U) int64, padded with any token.

        Returns:
            (B, T, U + 1, outputs)
        """
        state = self.predictor.initial_state(targets.size(0))
        tokens = torch.full_like(targets[:, :1], self.blank_id)
        rows = []
        for token in torch.cat([tokens, targets], 1).unbind(1):
            row, state = self.predictor(token, state)
            rows.append(row)
        return self.joint(encoded.unsqueeze(2), torch.stack(rows, 1).unsqueeze(1))
