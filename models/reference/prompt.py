"""The language prompt of multilingual models: the `prompt` section of a model file.

NeMo's models with `initialize_prompt_feature` (EncDecHybridRNNTCTCBPEModelWithPrompt): a one-hot
vector of the language is joined to every encoder frame, and two linear layers bring it back to d.
"""

import dataclasses
from typing import Any, Dict, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.reference.fields import check_at_least, check_fields, check_list, check_type


@dataclasses.dataclass(frozen=True)
class PromptConfig:
    """The `prompt` object of a model file."""

    languages: Tuple[str, ...]  # place in the one-hot vector; "" is unused
    hidden_dim: int
    default: str  # of a stream that chooses none

    def __post_init__(self) -> None:
        check_at_least("hidden_dim", self.hidden_dim, 1)
        names = [name for name in self.languages if name]
        if len(set(names)) != len(names):
            raise ValueError("languages has a name twice")
        if self.default not in names:
            raise ValueError(f"default is {self.default!r}, expected one of the languages")

    def to_json(self) -> Dict[str, Any]:
        """The section."""
        return {"languages": list(self.languages), "hidden_dim": self.hidden_dim,
                "default": self.default}

    @staticmethod
    def from_json(value: Any) -> "PromptConfig":
        """From the section.

        Raises:
            ValueError: one line naming the field, what was expected and what came.
        """
        check_fields(value, ["languages", "hidden_dim", "default"], "prompt")
        check_list(value["languages"], str, "prompt.languages")
        check_type(value["hidden_dim"], int, "prompt.hidden_dim")
        check_type(value["default"], str, "prompt.default")
        try:
            return PromptConfig(tuple(value["languages"]), value["hidden_dim"], value["default"])
        except ValueError as error:
            raise ValueError(f"prompt: {error}") from None


class Prompt(nn.Module):
    """W_2 relu(W_1 [e; one-hot(language)] + b_1) + b_2 for every encoder frame e."""

    def __init__(self, model_dim: int, config: PromptConfig) -> None:
        super().__init__()
        self.num_languages = len(config.languages)
        self.default_language = config.languages.index(config.default)
        self.w_1 = nn.Linear(model_dim + self.num_languages, config.hidden_dim)
        self.w_2 = nn.Linear(config.hidden_dim, model_dim)

    def forward(self, encoded: Tensor, languages: Tensor) -> Tensor:
        """Encoder frames (B, T, d) and languages (B) int64 to frames (B, T, d)."""
        one_hot = F.one_hot(languages, self.num_languages).to(encoded.dtype)
        one_hot = one_hot.unsqueeze(1).expand(-1, encoded.size(1), -1)
        return self.w_2(F.relu(self.w_1(torch.cat([encoded, one_hot], 2))))
