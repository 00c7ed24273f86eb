"""The whole model: encoder, prompt, and the heads that turn encoder frames into tokens."""

import dataclasses
from typing import Any, Dict, Optional, Tuple

import torch
from torch import Tensor, nn

from models.reference.attention_decoder import AttentionDecoder, AttentionDecoderConfig
from models.reference.config import ConformerConfig
from models.reference.conformer import ConformerEncoder
from models.reference.ctc import CtcConfig, CtcHead
from models.reference.fields import read_object
from models.reference.prompt import Prompt, PromptConfig
from models.reference.transducer import Transducer, TransducerConfig


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Architecture of a model: one attribute per section of a model file, None for null."""

    encoder: ConformerConfig
    ctc: Optional[CtcConfig]
    transducer: Optional[TransducerConfig] = None
    attention_decoder: Optional[AttentionDecoderConfig] = None
    prompt: Optional[PromptConfig] = None

    def __post_init__(self) -> None:
        if self.ctc is None and self.transducer is None:
            raise ValueError("ctc and transducer are null, expected at least one of them")
        for name, section in (("transducer", self.transducer),
                              ("attention_decoder", self.attention_decoder)):
            if section is not None and section.vocab_size != self.vocab_size:
                raise ValueError(f"{name}: vocab_size is {section.vocab_size}, expected "
                                 f"{self.vocab_size} as in ctc")
        if self.transducer is not None:
            if self.transducer.blank_id != self.blank_id:
                raise ValueError(f"transducer: blank_id is {self.transducer.blank_id}, expected "
                                 f"{self.blank_id} as in ctc")
            self._check_joint(self.transducer)

    def _check_joint(self, transducer: TransducerConfig) -> None:
        """Inputs that are added as they are must have the length of their sum."""
        sizes = (self.encoder.model_dim, transducer.predictor.output_size)
        if not transducer.joint.input_linear and sizes != (transducer.joint.dim,) * 2:
            raise ValueError(f"transducer: joint.dim is {transducer.joint.dim} without "
                             f"input_linear, expected model_dim {sizes[0]} and the predictor's "
                             f"{sizes[1]} to equal it")

    @property
    def vocab_size(self) -> int:
        """Tokens of every head, blank included."""
        return self._vocabulary().vocab_size

    @property
    def blank_id(self) -> int:
        """The blank of every head."""
        return self._vocabulary().blank_id

    def _vocabulary(self) -> Any:
        return self.transducer if self.ctc is None else self.ctc

    def to_json(self) -> Dict[str, Any]:
        """The sections of runnel.json, from `encoder` to `prompt`."""
        plain = {name: getattr(self, name) for name in ("ctc", "attention_decoder")}
        own = {name: getattr(self, name) for name in ("transducer", "prompt")}
        values = {name: None if value is None else dataclasses.asdict(value)
                  for name, value in plain.items()}
        values.update((name, None if value is None else value.to_json())
                      for name, value in own.items())
        return {"encoder": self.encoder.to_json(), **{name: values[name] for name in HEADS}}

    @staticmethod
    def from_json(sections: Dict[str, Any]) -> "ModelConfig":
        """From an object that has these sections and possibly others.

        Raises:
            ValueError: one line naming the field, what was expected and what came.
        """
        for name in ("encoder", *HEADS):
            if name not in sections:
                raise ValueError(f"{name} is missing")
        readers = {
            "ctc": lambda value: read_object(CtcConfig, value, "ctc"),
            "transducer": TransducerConfig.from_json,
            "attention_decoder": lambda value: read_object(AttentionDecoderConfig, value,
                                                           "attention_decoder"),
            "prompt": PromptConfig.from_json,
        }
        return ModelConfig(ConformerConfig.from_json(sections["encoder"]), **{
            name: None if sections[name] is None else readers[name](sections[name])
            for name in HEADS})


HEADS = ("ctc", "transducer", "attention_decoder", "prompt")  # sections that may be null


class SpeechModel(nn.Module):
    """The module in model files. Scriptable; arguments of the encoder as in ConformerEncoder."""

    def __init__(self, config: ModelConfig, dropout: float = 0.0) -> None:
        super().__init__()
        dim = config.encoder.model_dim
        self.encoder = ConformerEncoder(config.encoder, dropout)
        self.ctc = None if config.ctc is None else CtcHead(dim, config.ctc)
        self.transducer = (None if config.transducer is None
                           else Transducer(dim, config.transducer))
        self.attention_decoder = (None if config.attention_decoder is None
                                  else AttentionDecoder(dim, config.attention_decoder))
        self.prompt = None if config.prompt is None else Prompt(dim, config.prompt)

    @torch.jit.export
    def initial_caches(self) -> Tuple[Tensor, Tensor]:
        """att_cache and cnn_cache before the first chunk."""
        return self.encoder.initial_caches()

    @torch.jit.export
    def encode(self, features: Tensor, lengths: Tensor, chunk_size: int,
               left_context: int) -> Tuple[Tensor, Tensor]:
        """Whole utterances to encoder frames (B, T', d) and their lengths (B)."""
        return self.encoder(features, lengths, chunk_size, left_context)

    @torch.jit.export
    def encode_chunk(self, features: Tensor, offset: int, last: bool, left_context: int,
                     att_cache: Tensor, cnn_cache: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """One chunk to encoder frames (1, C, d) and the caches."""
        return self.encoder.forward_chunk(features, offset, last, left_context, att_cache,
                                          cnn_cache)

    @torch.jit.export
    def apply_prompt(self, encoded: Tensor, languages: Tensor) -> Tensor:
        """Encoder frames (B, T, d) and languages (B) int64 to the heads' input (B, T, d)."""
        if self.prompt is not None:
            return self.prompt(encoded, languages)
        raise ValueError("this model has no prompt")

    @torch.jit.export
    def ctc_log_probs(self, encoded: Tensor) -> Tensor:
        """The heads' input (B, T, d) to log probabilities (B, T, vocab_size)."""
        if self.ctc is not None:
            return self.ctc(encoded)
        raise ValueError("this model has no CTC head")

    @torch.jit.export
    def initial_predictor_state(self, batch: int) -> Tensor:
        """The state (B, ...) before the first token, which is the blank."""
        if self.transducer is not None:
            return self.transducer.predictor.initial_state(batch)
        raise ValueError("this model has no transducer head")

    @torch.jit.export
    def predictor_step(self, tokens: Tensor, state: Tensor) -> Tuple[Tensor, Tensor]:
        """Tokens (B) int64 and their state to outputs (B, P) and the next state."""
        if self.transducer is not None:
            return self.transducer.predictor(tokens, state)
        raise ValueError("this model has no transducer head")

    @torch.jit.export
    def joint(self, encoder_rows: Tensor, predictor_rows: Tensor) -> Tensor:
        """The heads' input (..., d) and predictor outputs (..., P) to logits (..., outputs)."""
        if self.transducer is not None:
            return self.transducer.joint(encoder_rows, predictor_rows)
        raise ValueError("this model has no transducer head")

    @torch.jit.export
    def transducer_logits(self, encoded: Tensor, targets: Tensor) -> Tensor:
        """Logits for training, as in Transducer."""
        if self.transducer is not None:
            return self.transducer(encoded, targets)
        raise ValueError("this model has no transducer head")

    @torch.jit.export
    def decoder_log_probs(self, encoded: Tensor, encoded_lengths: Tensor, tokens: Tensor,
                          lengths: Tensor, reverse: bool) -> Tensor:
        """Log probabilities of the tokens of hypotheses, as in AttentionDecoder."""
        if self.attention_decoder is not None:
            return self.attention_decoder(encoded, encoded_lengths, tokens, lengths, reverse)
        raise ValueError("this model has no attention decoder")

    def forward(self, features: Tensor, lengths: Tensor, chunk_size: int,
                left_context: int) -> Tuple[Tensor, Tensor]:
        """Whole utterances to CTC log probabilities (B, T', vocab_size) and lengths (B).

        A model with a prompt takes the default language.
        """
        x, lengths = self.encode(features, lengths, chunk_size, left_context)
        return self.ctc_log_probs(self._heads_input(x)), lengths

    @torch.jit.export
    def forward_chunk(self, features: Tensor, offset: int, last: bool, left_context: int,
                      att_cache: Tensor, cnn_cache: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """One chunk to CTC log probabilities (1, C, vocab_size) and the caches."""
        x, att_cache, cnn_cache = self.encode_chunk(features, offset, last, left_context,
                                                    att_cache, cnn_cache)
        return self.ctc_log_probs(self._heads_input(x)), att_cache, cnn_cache

    def _heads_input(self, encoded: Tensor) -> Tensor:
        """Encoder frames after the prompt of the default language."""
        if self.prompt is not None:
            languages = torch.full([encoded.size(0)], self.prompt.default_language,
                                   dtype=torch.int64, device=encoded.device)
            encoded = self.prompt(encoded, languages)
        return encoded
