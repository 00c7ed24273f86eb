"""Tiny models of icefall's Conformer recipes (checkout of commit 36e0420), by their own classes."""

import contextlib
import functools
import importlib
import inspect
import pathlib
import sys
from typing import Any, Dict, Iterator, List, Tuple, Union
from unittest import mock

import torch

from absent_packages import AbsentPackages
from recipe import Recipe

TOKENS = ["<blk>", "<sos/eos>", "<unk>", *"abcdefghij"]
_ABSENT = ("aidatatang_200zh", "aishell", "asr_datamodule", "editdistance", "fairseq", "gigaspeech",
           "graphviz", "icefall", "k2", "kaldialign", "kaldifeat", "lhotse", "librispeech",
           "multi_quantization", "multidataset", "nvidia_smi", "optimized_transducer",
           "sentencepiece", "torch.utils.tensorboard", "torch_scheduled_sampling", "tqdm",
           "vq_utils", "wenetspeech")
_SIZES = {"encoder_dim": 32, "attention_dim": 32, "dim_model": 32, "encoder_out_dim": 32,
          "embedding_dim": 32, "decoder_dim": 16, "decoder_embedding_dim": 32,
          "decoder_hidden_dim": 16, "num_decoder_layers": 1, "joiner_dim": 16, "nhead": 4,
          "dim_feedforward": 24, "num_encoder_layers": 2, "vocab_size": len(TOKENS),
          "blank_id": 0, "unk_id": 2, "context_size": 2, "vgg_frontend": False,
          "enable_distillation": False}


class _Parameters(Dict[str, Any]):
    """icefall.utils.AttributeDict."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def recipes(source: pathlib.Path) -> List[Recipe]:
    """One of each folder of speech recognition with a Conformer; equal code is run once."""
    members = {"icefall.utils": {"AttributeDict": _Parameters,
                                 "str2bool": lambda text: str(text).lower() in ("1", "true")}}
    sys.meta_path.insert(0, AbsentPackages(_ABSENT, members))
    found = []
    for path in sorted(source.glob("egs/*/*/*/conformer.py")):
        folder = path.parent
        if folder.parent.name in ("SLU", "ST", "VSR"):  # commands, translation, lips
            continue
        code = "".join((folder / name).read_text() for name in (
            "conformer.py", "train.py", "decoder.py", "joiner.py") if (folder / name).is_file())
        kind = "reworked" if "BasicNorm" in path.read_text() else "plain"
        head = "transducer" if (folder / "joiner.py").is_file() else "CTC"
        found.append(Recipe(str(folder.relative_to(source)), f"{kind} Conformer, {head}", code,
                            functools.partial(write, folder)))
    return found


@contextlib.contextmanager
def _alone_in_path(folder: pathlib.Path) -> Iterator[None]:
    """The modules of a recipe have the same names as those of every other."""
    before = dict(sys.modules)
    paths = [str(folder), str(folder.parent)]
    sys.path[:0] = paths
    try:
        with mock.patch.object(torch, "set_num_interop_threads"):  # once in a process
            yield
    finally:
        del sys.path[:len(paths)]
        for name in set(sys.modules) - set(before):
            file = getattr(sys.modules[name], "__file__", None) or ""
            if "/egs/" in file:
                del sys.modules[name]


def _parameters(train: Any) -> _Parameters:
    """What train.py takes from its flags and constants, with small sizes.

    A recipe that can train a model for streaming is taken to do so, as the published ones are.
    """
    parameters = train.get_params()
    parameters.update(vars(train.get_parser().parse_args([])))
    parameters.update({name: size for name, size in _SIZES.items()
                       if name in parameters or name.endswith(("_id", "_size"))})
    for name in ("causal_convolution", "dynamic_chunk_training"):
        if name in parameters:
            parameters[name] = True
    return parameters


def _model(folder: pathlib.Path) -> Tuple[torch.nn.Module, _Parameters]:
    """The model that the folder's train.py trains, and its options."""
    with _alone_in_path(folder):
        train = importlib.import_module("train")
        parameters = _parameters(train)
        for name in ("get_transducer_model", "get_ctc_model"):
            if hasattr(train, name):
                return getattr(train, name)(parameters), parameters
        # train.py makes it in the midst of its main function.
        conformer = importlib.import_module("conformer").Conformer
        values = {"num_classes": len(TOKENS), "num_features": 80, "d_model": 32,
                  "num_encoder_layers": 2, **parameters}
        names = inspect.signature(conformer).parameters
        return conformer(**{name: values[name] for name in names if name in values}), parameters


def write(folder: pathlib.Path, target: pathlib.Path) -> List[Union[str, pathlib.Path]]:
    """What export.py leaves: pretrained.pt, and the tokens of the language folder."""
    model, parameters = _model(folder)
    torch.save({"model": model.state_dict()}, target / "pretrained.pt")
    (target / "tokens.txt").write_text("".join(f"{token} {i}\n" for i, token in enumerate(TOKENS)))
    arguments: List[Union[str, pathlib.Path]] = [target]
    if parameters.get("causal_convolution"):
        arguments.append("--causal")
    scale = parameters.get("use_feat_batchnorm", True)
    return arguments if isinstance(scale, bool) else [*arguments, f"--feature_scale={scale}"]
