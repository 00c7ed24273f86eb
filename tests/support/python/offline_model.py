"""The tiny model as one that was trained on whole utterances."""

import copy
import pathlib
import sys

from tool_runner import ROOT, TINY_MODEL

sys.path.insert(0, str(ROOT))
from models.reference.archive import export_archive, read_archive  # noqa: E402
from models.reference.model import ModelConfig, SpeechModel  # noqa: E402


def write_offline_model(path: pathlib.Path) -> pathlib.Path:
    """Its convolution is symmetric, and its features are normalised over the utterance."""
    module, config, units = read_archive(str(TINY_MODEL))
    config = copy.deepcopy(config)
    config["encoder"]["convolution"]["type"] = "symmetric"
    config["encoder"]["normalization"] = {"type": "utterance", "epsilon": 1e-5}
    config["streaming"].update(chunk_size=-1, left_context=-1)
    model = SpeechModel(ModelConfig.from_json(config))
    tensors = {name: tensor for name, tensor in module.state_dict().items()
               if "global_cmvn" not in name}
    model.load_state_dict(tensors)
    export_archive(model, config, units, str(path))
    return path
