"""Prediction networks of transducers: emitted tokens to vectors, one step per token.

A predictor depends on the emitted tokens only. Its first input is the blank, in the initial state.
The state of every predictor is one tensor with the batch first, so that streams are rows of it.
"""

import dataclasses
from typing import Any, Dict, Optional, Tuple, Type, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.reference.feed_forward import TRANSDUCER_ACTIVATIONS, activate
from models.reference.fields import (check_at_least, check_choice, check_positive, read_kind,
                                     read_object)


@dataclasses.dataclass(frozen=True)
class LstmPredictorConfig:
    """The `predictor` object of type "lstm"."""

    embedding_dim: int
    hidden_dim: int
    num_layers: int
    output_dim: Optional[int]  # of a projection after the last layer; None: no projection

    def __post_init__(self) -> None:
        for name in ("embedding_dim", "hidden_dim", "num_layers"):
            check_at_least(name, getattr(self, name), 1)
        if self.output_dim is not None:
            check_at_least("output_dim", self.output_dim, 1)

    @property
    def output_size(self) -> int:
        """Length of the predictor's output."""
        return self.hidden_dim if self.output_dim is None else self.output_dim


@dataclasses.dataclass(frozen=True)
class ConvPredictorConfig:
    """The `predictor` object of type "conv"."""

    embedding_dim: int
    context_size: int  # tokens that one output reads
    groups: int  # of the convolution
    bias: bool  # of the convolution
    norm_epsilon: Optional[float]  # of a layer norm after the convolution; None: no norm
    activation: str

    def __post_init__(self) -> None:
        for name in ("embedding_dim", "context_size", "groups"):
            check_at_least(name, getattr(self, name), 1)
        if self.embedding_dim % self.groups != 0:
            raise ValueError(f"groups {self.groups} does not divide embedding_dim "
                             f"{self.embedding_dim}")
        if self.norm_epsilon is not None:
            check_positive("norm_epsilon", self.norm_epsilon)
        check_choice("activation", self.activation, TRANSDUCER_ACTIVATIONS)

    @property
    def output_size(self) -> int:
        """Length of the predictor's output."""
        return self.embedding_dim


@dataclasses.dataclass(frozen=True)
class EmbeddingPredictorConfig:
    """The `predictor` object of type "embedding"."""

    embedding_dim: int
    context_size: int  # tokens that one output reads
    num_heads: int
    norm_epsilon: float
    activation: str

    def __post_init__(self) -> None:
        for name in ("embedding_dim", "context_size", "num_heads"):
            check_at_least(name, getattr(self, name), 1)
        check_positive("norm_epsilon", self.norm_epsilon)
        check_choice("activation", self.activation, TRANSDUCER_ACTIVATIONS)

    @property
    def output_size(self) -> int:
        """Length of the predictor's output."""
        return self.embedding_dim


PredictorConfig = Union[LstmPredictorConfig, ConvPredictorConfig, EmbeddingPredictorConfig]
CONFIGS: Dict[str, Type[PredictorConfig]] = {
    "lstm": LstmPredictorConfig, "conv": ConvPredictorConfig, "embedding": EmbeddingPredictorConfig}


def predictor_to_json(config: PredictorConfig) -> Dict[str, Any]:
    """The `predictor` object of a model file."""
    kind = next(name for name, cls in CONFIGS.items() if type(config) is cls)
    return {"type": kind, **dataclasses.asdict(config)}


def predictor_from_json(value: Any, where: str) -> PredictorConfig:
    """From the `predictor` object.

    Raises:
        ValueError: one line naming the field, what was expected and what came.
    """
    kind = read_kind(value, "type", tuple(CONFIGS), where)
    fields = {name: field for name, field in value.items() if name != "type"}
    return read_object(CONFIGS[kind], fields, where)


class LstmLayer(nn.Module):
    """One LSTM cell (Hochreiter and Schmidhuber 1997), gates in PyTorch's order i, f, g, o."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden_dim, input_dim))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_dim, hidden_dim))
        self.bias = nn.Parameter(torch.empty(4 * hidden_dim))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -hidden_dim ** -0.5, hidden_dim ** -0.5)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> Tuple[Tensor, Tensor]:
        """Input (B, E), hidden and cell state (B, H) to the next hidden and cell state."""
        gates = F.linear(x, self.weight_ih, self.bias) + F.linear(h, self.weight_hh)
        i, f, g, o = gates.chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class LstmPredictor(nn.Module):
    """Embedding and LSTM layers (Graves 2012), with WeNet's optional projection.

    State: (B, 2, L, H), the hidden states and the cell states of all layers.
    """

    def __init__(self, vocab_size: int, config: LstmPredictorConfig) -> None:
        super().__init__()
        self.num_layers, self.hidden_dim = config.num_layers, config.hidden_dim
        self.embedding = nn.Embedding(vocab_size, config.embedding_dim)
        sizes = [config.embedding_dim] + [config.hidden_dim] * (config.num_layers - 1)
        self.lstm = nn.ModuleList([LstmLayer(size, config.hidden_dim) for size in sizes])
        self.out = (None if config.output_dim is None
                    else nn.Linear(config.hidden_dim, config.output_dim))

    def initial_state(self, batch: int) -> Tensor:
        """Zeros."""
        return self.embedding.weight.new_zeros(batch, 2, self.num_layers, self.hidden_dim)

    def forward(self, tokens: Tensor, state: Tensor) -> Tuple[Tensor, Tensor]:
        """Tokens (B) int64 and the state to the output (B, P) and the next state."""
        x = self.embedding(tokens)
        new_h, new_c = [], []
        for i, layer in enumerate(self.lstm):
            x, c = layer(x, state[:, 0, i], state[:, 1, i])
            new_h.append(x)
            new_c.append(c)
        state = torch.stack([torch.stack(new_h, 1), torch.stack(new_c, 1)], 1)
        if self.out is not None:
            x = self.out(x)
        return x, state


class ConvPredictor(nn.Module):
    """A convolution over the last K embeddings: the stateless predictor of Ghodsi et al. 2020.

    State: (B, K - 1, E), the embeddings before the next token.
    """

    def __init__(self, vocab_size: int, config: ConvPredictorConfig) -> None:
        super().__init__()
        dim = config.embedding_dim
        self.activation, self.context_size = config.activation, config.context_size
        self.embedding = nn.Embedding(vocab_size, dim)
        self.conv = nn.Conv1d(dim, dim, config.context_size, groups=config.groups,
                              bias=config.bias)
        self.norm = (None if config.norm_epsilon is None
                     else nn.LayerNorm(dim, config.norm_epsilon))

    def initial_state(self, batch: int) -> Tensor:
        """Zeros."""
        weight = self.embedding.weight
        return weight.new_zeros(batch, self.context_size - 1, weight.size(1))

    def forward(self, tokens: Tensor, state: Tensor) -> Tuple[Tensor, Tensor]:
        """Tokens (B) int64 and the state to the output (B, E) and the next state."""
        context = torch.cat([state, self.embedding(tokens).unsqueeze(1)], 1)
        x = self.conv(context.transpose(1, 2)).squeeze(2)
        if self.norm is not None:
            x = self.norm(x)
        return activate(x, self.activation), context[:, 1:]


class PositionVectors(nn.Module):
    """The vectors (h, E, K) of EmbeddingPredictor: one per head and place in the context."""

    def __init__(self, num_heads: int, dim: int, context_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_heads, dim, context_size) * dim ** -0.5)


class EmbeddingPredictor(nn.Module):
    """A weighted sum of the last K embeddings (Botros et al. 2021), as WeNet computes it.

    The weight of an embedding is its dot product with the vectors of its place, summed over the
    heads. State: (B, K - 1, E), the embeddings before the next token.
    """

    def __init__(self, vocab_size: int, config: EmbeddingPredictorConfig) -> None:
        super().__init__()
        dim = config.embedding_dim
        self.activation, self.context_size = config.activation, config.context_size
        self.scale = 1.0 / (config.num_heads * config.context_size)
        self.embedding = nn.Embedding(vocab_size, dim)
        self.position = PositionVectors(config.num_heads, dim, config.context_size)
        self.ffn = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim, config.norm_epsilon)

    def initial_state(self, batch: int) -> Tensor:
        """Zeros."""
        weight = self.embedding.weight
        return weight.new_zeros(batch, self.context_size - 1, weight.size(1))

    def forward(self, tokens: Tensor, state: Tensor) -> Tuple[Tensor, Tensor]:
        """Tokens (B) int64 and the state to the output (B, E) and the next state."""
        context = torch.cat([state, self.embedding(tokens).unsqueeze(1)], 1)  # (B, K, E)
        weights = torch.einsum("bke,hek->bk", context, self.position.weight)
        x = (weights.unsqueeze(2) * context).sum(1) * self.scale
        return activate(self.norm(self.ffn(x)), self.activation), context[:, 1:]


def make_predictor(vocab_size: int, config: PredictorConfig) -> nn.Module:
    """The predictor of a configuration."""
    if isinstance(config, LstmPredictorConfig):
        return LstmPredictor(vocab_size, config)
    if isinstance(config, ConvPredictorConfig):
        return ConvPredictor(vocab_size, config)
    return EmbeddingPredictor(vocab_size, config)
