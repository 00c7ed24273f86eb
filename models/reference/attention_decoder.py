"""The attention decoder of a second pass: the `attention_decoder` section of a model file.

A Transformer decoder (Vaswani et al. 2017) from left to right, and in U2++ (Wu et al. 2021) a
second one from right to left. It scores whole hypotheses; it is not used to search.
"""

import dataclasses
import math

import torch
from torch import Tensor, nn

from models.reference.attention import Attention, AttentionBias, SelfAttention
from models.reference.feed_forward import ACTIVATIONS, FeedForward, FeedForwardConfig
from models.reference.fields import check_at_least, check_choice, check_positive
from models.reference.positions.sinusoids import sinusoids
from models.reference.residual_norm import ResidualNorm


@dataclasses.dataclass(frozen=True)
class AttentionDecoderConfig:
    """The `attention_decoder` object of a model file."""

    vocab_size: int
    num_heads: int
    feed_forward_dim: int
    left_layers: int
    right_layers: int  # 0: no decoder from right to left
    norm_first: bool  # x + f(norm(x)), and a norm after the last layer; false: norm(x + f(x))
    activation: str
    layer_norm_eps: float
    sos_id: int  # first input
    eos_id: int  # last output

    def __post_init__(self) -> None:
        for name in ("vocab_size", "num_heads", "feed_forward_dim", "left_layers"):
            check_at_least(name, getattr(self, name), 1)
        check_at_least("right_layers", self.right_layers, 0)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_positive("layer_norm_eps", self.layer_norm_eps)
        for name in ("sos_id", "eos_id"):
            if not 0 <= getattr(self, name) < self.vocab_size:
                raise ValueError(f"{name} {getattr(self, name)} is outside "
                                 f"0..{self.vocab_size - 1}")


class DecoderLayer(nn.Module):
    """Self-attention, attention to the encoder frames, feed-forward."""

    def __init__(self, model_dim: int, config: AttentionDecoderConfig) -> None:
        super().__init__()

        def norm() -> ResidualNorm:
            return ResidualNorm(model_dim, config.layer_norm_eps, config.norm_first)

        bias = AttentionBias()
        self.norm1 = norm()
        self.self_attn = SelfAttention(model_dim, config.num_heads, bias, 0.0)
        self.norm2 = norm()
        self.src_attn = Attention(model_dim, config.num_heads, bias, 0.0)
        self.norm3 = norm()
        self.feed_forward = FeedForward(model_dim, config.feed_forward_dim, FeedForwardConfig(
            macaron=False, activation=config.activation), 0.0)

    def forward(self, x: Tensor, visible: Tensor, memory: Tensor, present: Tensor) -> Tensor:
        """Tokens (B, N, d) attend to tokens by `visible` and to memory (B, T, d) by `present`."""
        y = self.norm1.before(x)
        y = self.self_attn.attend(y, self.self_attn.keys_values(y), [], visible)
        x = self.norm1.after(x + y)
        y = self.norm2.before(x)
        y = self.src_attn.attend(y, self.src_attn.keys_values(memory), [], present)
        x = self.norm2.after(x + y)
        return self.norm3.after(x + self.feed_forward(self.norm3.before(x)))


class TransformerDecoder(nn.Module):
    """One direction: embedding times sqrt(d) plus sinusoids, layers, norm, projection."""

    def __init__(self, model_dim: int, num_layers: int, config: AttentionDecoderConfig) -> None:
        super().__init__()
        self.model_dim = model_dim
        self.embed = nn.Embedding(config.vocab_size, model_dim)
        self.layers = nn.ModuleList([DecoderLayer(model_dim, config) for _ in range(num_layers)])
        self.after_norm = (nn.LayerNorm(model_dim, config.layer_norm_eps) if config.norm_first
                           else None)
        self.output = nn.Linear(model_dim, config.vocab_size)

    def forward(self, inputs: Tensor, memory: Tensor, present: Tensor) -> Tensor:
        """Log probabilities of the next token after each prefix.

        Args:
            inputs: (B, N) int64, the first is sos. memory: (B, T, d), encoder frames.
            present: bool, broadcastable to (B, 1, N, T): which encoder frames exist.

        Returns:
            (B, N, vocab_size)
        """
        places = torch.arange(inputs.size(1), device=inputs.device)
        visible = (places.unsqueeze(0) <= places.unsqueeze(1)).unsqueeze(0).unsqueeze(0)
        x = self.embed(inputs)
        x = x * math.sqrt(self.model_dim) + sinusoids(places, self.model_dim, x)
        for layer in self.layers:
            x = layer(x, visible, memory, present)
        if self.after_norm is not None:
            x = self.after_norm(x)
        return torch.log_softmax(self.output(x), dim=-1)


class AttentionDecoder(nn.Module):
    """Both directions."""

    def __init__(self, model_dim: int, config: AttentionDecoderConfig) -> None:
        super().__init__()
        if model_dim % config.num_heads != 0:
            raise ValueError(f"attention_decoder: num_heads {config.num_heads} does not divide "
                             f"model_dim {model_dim}")
        self.sos_id = config.sos_id
        self.left = TransformerDecoder(model_dim, config.left_layers, config)
        self.right = (TransformerDecoder(model_dim, config.right_layers, config)
                      if config.right_layers > 0 else None)

    def forward(self, encoded: Tensor, encoded_lengths: Tensor, tokens: Tensor, lengths: Tensor,
                reverse: bool) -> Tensor:
        """Log probabilities of the tokens of hypotheses.

        Args:
            encoded: (B, T, d), encoder frames of each hypothesis. encoded_lengths: (B) int64.
            tokens: (B, N) int64, padded with anything. lengths: (B) int64, tokens.
            reverse: from right to left: the tokens of each hypothesis are reversed first.

        Returns:
            (B, N + 1, vocab_size). Row j is that of the token after sos and j tokens; rows beyond
            the last token's are 0.
        """
        places = torch.arange(tokens.size(1), device=tokens.device).unsqueeze(0)
        inside = places < lengths.unsqueeze(1)
        if reverse:
            order = torch.where(inside, lengths.unsqueeze(1) - 1 - places, places)
            tokens = tokens.gather(1, order)
        tokens = torch.where(inside, tokens, torch.full_like(tokens, self.sos_id))
        inputs = torch.cat([torch.full_like(lengths, self.sos_id).unsqueeze(1), tokens], 1)
        frames = torch.arange(encoded.size(1), device=encoded.device).unsqueeze(0)
        present = (frames < encoded_lengths.unsqueeze(1)).unsqueeze(1).unsqueeze(1)
        if not reverse:
            log_probs = self.left(inputs, encoded, present)
        elif self.right is not None:
            log_probs = self.right(inputs, encoded, present)
        else:
            raise ValueError("the attention decoder has no layers from right to left")
        rows = torch.arange(inputs.size(1), device=tokens.device).unsqueeze(0)
        outside = (rows > lengths.unsqueeze(1)).unsqueeze(2)
        return log_probs.masked_fill(outside, 0.0)
