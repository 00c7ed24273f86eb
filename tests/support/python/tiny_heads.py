"""Model files with the encoder of the tiny model and random heads, for the tests of tools."""

import dataclasses
import pathlib
import sys
from typing import Any, Type

import torch

from tool_runner import ROOT, TINY_MODEL

sys.path.insert(0, str(ROOT))
from models.reference.archive import export_archive, read_archive  # noqa: E402
from models.reference.attention_decoder import AttentionDecoderConfig  # noqa: E402
from models.reference.model import ModelConfig, SpeechModel  # noqa: E402
from models.reference.predictor import ConvPredictorConfig, LstmPredictorConfig  # noqa: E402
from models.reference.prompt import PromptConfig  # noqa: E402
from models.reference.transducer import JointConfig, TransducerConfig  # noqa: E402

VOCAB = 7
RNNT = TransducerConfig(VOCAB, 0, LstmPredictorConfig(5, 6, 2, 4), JointConfig(9), max_symbols=3)
TDT = TransducerConfig(VOCAB, 0, ConvPredictorConfig(6, 3, 2, True, 1e-5, "gelu"),
                       JointConfig(8, activation="tanh"), durations=(0, 1, 2, 4), max_symbols=3)
DECODER = AttentionDecoderConfig(VOCAB, 2, 10, 2, 1, True, "relu", 1e-5, 6, 6)
PROMPT = PromptConfig(("de", "", "en"), 10, "en")


def write_model(path: pathlib.Path, model_class: Type[SpeechModel] = SpeechModel,
                blank_bias: float = -1.0, **heads: Any) -> str:
    """Writes a model file and returns the flag that names it.

    Args:
        model_class: the module, with the tensors of SpeechModel.
        blank_bias: of the joint network.
        heads: sections of ModelConfig, as they differ from those of the tiny model.
    """
    module, sections, units = read_archive(str(TINY_MODEL))
    config = dataclasses.replace(ModelConfig.from_json(sections), **heads)
    torch.manual_seed(1)
    model = model_class(config)
    tensors = model.state_dict()
    tensors.update((name, value) for name, value in module.state_dict().items() if name in tensors)
    model.load_state_dict(tensors)
    with torch.no_grad():
        if model.transducer is not None:
            model.transducer.joint.out.weight.mul_(16)  # so that its decisions vary
            model.transducer.joint.out.bias[config.blank_id] = blank_bias
    export_archive(model, {**sections, **config.to_json()}, units, str(path))
    return f"--model={path}"
