"""Tiny models of NeMo's recipes (checkout of commit 8cfedd7), by NeMo's own classes."""

import copy
import functools
import importlib
import io
import pathlib
import re
import struct
import tarfile
from typing import Any, Dict, List, Tuple

import torch
import yaml

import nemo_surroundings
from recipe import Recipe

CONFIGURATIONS = "examples/asr/conf"
_FOLDERS = ("conformer", "fastconformer", "squeezeformer")
PIECES = ["<unk>", "\u2581", "\u2581t", "he", "a", "s", "e", "n"]
_MODULES = {
    "ConformerEncoder": "conformer_encoder", "SqueezeformerEncoder": "squeezeformer_encoder",
    "ConvASRDecoder": "conv_asr", "RNNTDecoder": "rnnt", "RNNTJoint": "rnnt",
    "StatelessTransducerDecoder": "rnnt", "HATJoint": "hybrid_autoregressive_transducer"}
_SIZES = {"d_model": 16, "n_heads": 2, "ff_expansion_factor": 2}
_HIDDEN = 8  # of the predictor and of the joint network


def recipes(source: pathlib.Path) -> List[Recipe]:
    """Those with a CTC or transducer head on a Conformer or Squeezeformer."""
    nemo_surroundings.prepare(source)
    found = []
    for folder in _FOLDERS:
        for path in sorted((source / CONFIGURATIONS / folder).glob("**/*.yaml")):
            config = shrunk(read_recipe(path))
            found.append(Recipe(str(path.relative_to(source)), family(config),
                                yaml.safe_dump(config), functools.partial(write, config)))
    return found


def read_recipe(path: pathlib.Path) -> Dict[str, Any]:
    """The section `model` of a recipe, with what its ${...} stand for."""
    whole = yaml.safe_load(path.read_text())

    def value_of(name: str) -> Any:
        value: Any = whole
        for part in name.split("."):
            value = value[part]
        return resolved(value)

    def resolved(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: resolved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [resolved(item) for item in value]
        match = re.fullmatch(r"\$\{([\w.]+)\}", value) if isinstance(value, str) else None
        return value_of(match[1]) if match else value

    model: Dict[str, Any] = resolved(whole["model"])
    return model


def family(config: Dict[str, Any]) -> str:
    """Row of the table."""
    encoder = config["encoder"]
    name = _class_of(encoder).replace("Encoder", "")
    if encoder.get("subsampling") == "dw_striding" and name == "Conformer":
        name = "FastConformer"
    if "joint" not in config:
        name += " CTC"
    else:
        name += {"HATJoint": " HAT"}.get(_class_of(config["joint"]), " transducer")
        name += " and CTC" if "aux_ctc" in config else ""
    return name + (", cache-aware" if encoder.get("att_context_style") == "chunked_limited"
                   else "")


def _class_of(section: Dict[str, Any]) -> str:
    return str(section["_target_"]).rpartition(".")[2]


def shrunk(config: Dict[str, Any]) -> Dict[str, Any]:
    """The configuration with small sizes, and the fields that NeMo fills in before training."""
    config = copy.deepcopy(config)
    encoder = config["encoder"]
    encoder.update(_SIZES)
    if encoder.get("time_reduce_idx") is None:
        encoder["n_layers"] = 2
    if encoder.get("subsampling_conv_channels", -1) > 0:
        encoder["subsampling_conv_channels"] = _HIDDEN
    kind = config.get("tokenizer", {}).get("type", "char")
    if kind == "agg":
        vocabulary = PIECES * len(config["tokenizer"]["langs"])
    else:
        vocabulary = list(config["labels"]) if kind == "char" else PIECES
    for decoder in (config["decoder"], config.get("aux_ctc", {}).get("decoder", {})):
        if _class_of(decoder or {"_target_": ""}) == "ConvASRDecoder":
            decoder.update(feat_in=_SIZES["d_model"], num_classes=len(vocabulary),
                           vocabulary=vocabulary)
    if "joint" in config:
        config["decoder"]["prednet"]["pred_hidden"] = _HIDDEN
        config["decoder"]["vocab_size"] = len(vocabulary)
        config["joint"].update(num_classes=len(vocabulary), vocabulary=vocabulary)
        config["joint"]["jointnet"].update(encoder_hidden=_SIZES["d_model"], pred_hidden=_HIDDEN,
                                           joint_hidden=_HIDDEN)
    for part in ("train_ds", "validation_ds", "test_ds", "optim"):
        config.pop(part, None)
    return config


def build(config: Dict[str, Any]) -> Dict[str, torch.Tensor]:
    """The weights of NeMo's modules, under the names of its models."""
    sections = {name: config[name] for name in ("encoder", "decoder", "joint") if name in config}
    if "aux_ctc" in config:
        sections["ctc_decoder"] = config["aux_ctc"]["decoder"]
    weights = {"preprocessor.featurizer.window": torch.hann_window(400),
               "preprocessor.featurizer.fb": torch.zeros(
                   1, config["preprocessor"]["features"], 257)}
    for name, section in sections.items():
        kind = _class_of(section)
        module = getattr(importlib.import_module(
            f"nemo.collections.asr.modules.{_MODULES[kind]}"), kind)
        options = {key: value for key, value in copy.deepcopy(section).items()
                   if key != "_target_"}
        weights.update({f"{name}.{key}": value
                        for key, value in module(**options).state_dict().items()})
    return weights


def sentencepiece_model(pieces: List[str]) -> bytes:
    """The protocol buffer of a SentencePiece model: pieces with their scores."""
    data = b""
    for i, piece in enumerate(pieces):
        text = piece.encode()
        inner = b"\x0a" + bytes([len(text)]) + text + b"\x15" + struct.pack("<f", -1.5 * i)
        data += b"\x0a" + bytes([len(inner)]) + inner
    return data


def _tokenizers(config: Dict[str, Any]) -> Tuple[Dict[str, Any], Dict[str, bytes]]:
    """The section of the tokenizer as NeMo saves it, and its files."""
    tokenizer = copy.deepcopy(config.get("tokenizer"))
    if not tokenizer:
        return {}, {}
    files: Dict[str, bytes] = {}
    languages = tokenizer.get("langs", {"": tokenizer})
    for i, section in enumerate(languages.values()):
        name = f"{i}0ab_tokenizer.model"
        files[name] = sentencepiece_model(PIECES)
        section.update(type="bpe", dir="tokenizers", model_path=f"nemo:{name}")
    return {"tokenizer": tokenizer}, files


def write(config: Dict[str, Any], folder: pathlib.Path) -> List[pathlib.Path]:
    """A .nemo file."""
    weights = io.BytesIO()
    torch.save(build(config), weights)
    section, files = _tokenizers(config)
    files = {"model_config.yaml": yaml.safe_dump({**config, **section}).encode(),
             "model_weights.ckpt": weights.getvalue(), **files}
    path = folder / "tiny.nemo"
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return [path]
