"""icefall's models: those of its recipes (icefall_conformer.py), and its stateless transducer on
WeNet's Conformer.

The latter is a folder with config.yaml, pretrained.pt and tokens.txt. config.yaml has the encoder's
options under WeNet's names, and `blank_id`; `context_size`, `decoder_dim`, `decoder_conv_groups`
and `joiner_dim` are checked against the weights. pretrained.pt is icefall's: {"model": state dict},
with icefall's names for decoder and joiner.
"""

import pathlib
from typing import Any, Dict, List

from models.convert import icefall_conformer, icefall_heads, units, wenet
from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.folder import Folder
from models.convert.renaming import Rule, rename
from models.convert.resolved import Resolved
from models.convert.settings import Settings, read_yaml
from models.convert.weights import read_weights

RULES: List[Rule] = [*icefall_heads.TRANSDUCER_RULES, *icefall_heads.LEFT_OUT,
                     *wenet.ENCODER_RULES]
# Options of config.yaml that the shapes of the weights tell, too: field by option.
_OF_PREDICTOR = {"decoder_dim": "embedding_dim", "context_size": "context_size",
                 "decoder_conv_groups": "groups"}


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
    notes: List[str] = []
    weights = read_weights(folder.open(weights_name, "the weights"), source, notes)
    transducer = icefall_heads.transducer_section(weights, True, source)
    transducer["blank_id"] = config.take("blank_id", 0)
    _check_sizes(config, transducer, source)
    if transducer["vocab_size"] != len(tokens):
        raise ConversionError(f"{listed}: has {len(tokens)} tokens, expected the model's "
                              f"{transducer['vocab_size']}")
    config.finish()
    renamed = rename(weights, RULES, source)
    icefall_heads.complete(renamed, {"transducer": transducer})
    resolved = wenet.resolve_encoder(name, options, folder, renamed, source, choices, tokens,
                                     config.assumed, notes)
    resolved.heads["transducer"] = transducer
    return resolved


def _check_sizes(config: Settings, transducer: Dict[str, Any], source: str) -> None:
    """Rejects sizes in config.yaml that are not those of the weights."""
    predictor = transducer["predictor"]
    sizes = {option: predictor.get(field) for option, field in _OF_PREDICTOR.items()}
    if sizes["context_size"] == 1:  # no convolution, and no groups of one
        config.ignore("decoder_conv_groups")
        del sizes["decoder_conv_groups"]
    for option, found in {**sizes, "joiner_dim": transducer["joint"]["dim"]}.items():
        stated = config.take(option, None)
        if stated is not None and stated != found:
            raise ConversionError(f"{source}: the weights have {option} {found}, config.yaml says "
                                  f"{stated}")
