"""icefall's models: those of its recipes (icefall_conformer.py), and its stateless transducer on
WeNet's Conformer.

The latter is a folder with config.yaml, pretrained.pt and tokens.txt. config.yaml has the encoder's
options under WeNet's names, and `context_size`, `decoder_dim`, `decoder_conv_groups`, `joiner_dim`,
`blank_id`. pretrained.pt is icefall's: {"model": state dict}, with icefall's names for decoder and
joiner.
"""

import pathlib
from typing import Any, Dict, List

from models.convert import icefall_conformer, units, wenet
from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.folder import Folder
from models.convert.renaming import Rule, rename
from models.convert.resolved import Resolved
from models.convert.settings import Settings, read_yaml
from models.convert.weights import read_weights

_PARAMETER = r"(weight|bias)"
RULES: List[Rule] = [
    (r"decoder\.embedding\.weight", r"transducer.predictor.embedding.weight"),
    (r"decoder\.conv\.weight", r"transducer.predictor.conv.weight"),
    (rf"joiner\.encoder_proj\.{_PARAMETER}", r"transducer.joint.encoder.\1"),
    (rf"joiner\.decoder_proj\.{_PARAMETER}", r"transducer.joint.predictor.\1"),
    (rf"joiner\.output_linear\.{_PARAMETER}", r"transducer.joint.out.\1"),
    (r"simple_[al]m_proj\..+", None),  # of the training with k2
    *wenet.ENCODER_RULES,
]


def read_model(path: pathlib.Path, name: str, choices: Choices) -> Resolved:
    """The model of a folder.

    Raises:
        ConversionError: one line that names the file, option or parameter at fault.
    """
    if not path.is_dir():
        raise ConversionError(f"{path}: expected a folder with pretrained.pt and tokens.txt")
    folder = Folder(path)
    if not folder.has("config.yaml"):
        return icefall_conformer.read_model(folder, name, choices)
    config = Settings(read_yaml(folder.read("config.yaml", "the model's options"),
                                folder.where("config.yaml")), "config.yaml", {})
    weights_name = choices.take("checkpoint") or "pretrained.pt"
    source = folder.where(weights_name)
    if not choices.wants("transducer"):
        raise ConversionError(f"{source}: --head is {choices.head}, but the model has only "
                              "transducer")
    options = wenet.read_encoder(config)
    listed = folder.where("tokens.txt")
    tokens = units.to_units(units.read_symbol_table(folder.read("tokens.txt", "the tokens"),
                                                    listed), listed)
    if config.take("output_dim", len(tokens)) != len(tokens):
        raise ConversionError(f"{listed}: has {len(tokens)} tokens, config.yaml says output_dim "
                              f"{config.take('output_dim', len(tokens))}")
    transducer = _transducer(config, len(tokens))
    config.finish()
    renamed = rename(read_weights(folder.open(weights_name, "the weights"), source), RULES, source)
    resolved = wenet.resolve_encoder(name, options, folder, renamed, source, choices, tokens,
                                     config.assumed)
    resolved.heads["transducer"] = transducer
    return resolved


def _transducer(config: Settings, vocab_size: int) -> Dict[str, Any]:
    """icefall's Decoder and Joiner; a token uses up its frame."""
    context_size = config.size("context_size", 2, "transducer.predictor.context_size")
    if context_size < 2:
        raise ConversionError(f"config.yaml.context_size is {context_size}, expected 2 or more: "
                              "with 1 there is no convolution, which is not supported")
    dim = config.size("decoder_dim", 512, "transducer.predictor.embedding_dim")
    return {
        "vocab_size": vocab_size, "blank_id": config.take("blank_id", 0),
        "predictor": {"type": "conv", "embedding_dim": dim, "context_size": context_size,
                      "groups": config.size("decoder_conv_groups", max(dim // 4, 1),
                                            "transducer.predictor.groups"),
                      "bias": False, "norm_epsilon": None, "activation": "relu"},
        "joint": {"dim": config.size("joiner_dim", 512, "transducer.joint.dim"),
                  "input_linear": True, "hidden_linear": False, "activation": "tanh"},
        "durations": [], "max_symbols": 1, "beam": "modified",
    }
