"""Writes and reads model files (models/README.md): TorchScript, runnel.json and units.txt."""

import json
import os
import tempfile
import zipfile
from typing import Any, Dict, List, Sequence, Tuple

import torch
from torch import Tensor

from models.reference.config import ConformerConfig
from models.reference.fields import check_fields, check_type
from models.reference.model import HEADS, ModelConfig, SpeechModel
from models.reference.shapes import model_without_weights

FORMAT = "runnel-model"
FORMAT_VERSION = 5
OLDER_VERSIONS = (2, 3, 4)  # read, not written
WORD_BOUNDARY = "\u2581"


def tags(units: Sequence[str]) -> List[int]:
    """The ids of the tags in a vocabulary that does not list its special tokens.

    Tags are the tokens in angle brackets, such as <en-US>, except <unk>, which stands for text, and
    the bytes <0x00> to <0xFF>. As TokenTable (runtime/token_table.h).
    """
    return [i for i, unit in enumerate(units)
            if len(unit) > 1 and unit.startswith("<") and unit.endswith(">")
            and unit not in ("<unk>", "<UNK>") and not unit.startswith("<0x")]


def fbank_section(**changes: Any) -> Dict[str, Any]:
    """The `features` section with Kaldi's defaults (dither 0, 80 bins), except `changes`."""
    return _changed({
        "type": "fbank", "sample_frequency": 16000, "sample_scale": 32768.0,
        "frame_length_ms": 25.0, "frame_shift_ms": 10.0, "num_mel_bins": 80, "low_freq": 20.0,
        "high_freq": 0.0, "window_type": "povey", "blackman_coeff": 0.42, "preemph_coeff": 0.97,
        "remove_dc_offset": True, "dither": 0.0, "dither_seed": 0, "snip_edges": True,
        "round_to_power_of_two": True, "use_energy": False, "raw_energy": True,
        "energy_floor": 0.0, "use_log_fbank": True, "use_power": True, "htk_compat": False,
    }, changes)


def mfcc_section(num_ceps: int, **changes: Any) -> Dict[str, Any]:
    """The `features` section of MFCCs with Kaldi's lifter and filters, except `changes`."""
    return {**fbank_section(**changes), "type": "mfcc", "num_ceps": num_ceps,
            "cepstral_lifter": 22.0}


def mel_spectrogram_section(**changes: Any) -> Dict[str, Any]:
    """The `features` section with NeMo's defaults (80 bins, windows of 25 ms), except `changes`."""
    return _changed({
        "type": "mel_spectrogram", "sample_frequency": 16000, "sample_scale": 1.0,
        "preemph_coeff": 0.97, "fft_size": 512, "frame_length": 400, "frame_shift": 160,
        "padding": "zero", "last_frame": False, "window_type": "hanning",
        "periodic_window": False, "num_mel_bins": 80, "low_freq": 0.0, "high_freq": 8000.0,
        "mel_scale": "slaney", "slaney_norm": True, "use_power": True, "log_guard": "add",
        "log_guard_value": 2.0 ** -24,
    }, changes)


def _changed(section: Dict[str, Any], changes: Dict[str, Any]) -> Dict[str, Any]:
    unknown = sorted(set(changes) - set(section))
    if unknown:
        raise ValueError(f"unknown feature options: {', '.join(unknown)}")
    section.update(changes)
    return section


def model_config(name: str, config: ModelConfig, features: Dict[str, Any],
                 streaming: Dict[str, Any], special_tokens: Sequence[Dict[str, Any]] = (),
                 vocabularies: Sequence[Dict[str, Any]] = ()) -> Dict[str, Any]:
    """The content of runnel.json.

    Args:
        features: from `fbank_section`, `mfcc_section` or `mel_spectrogram_section`.
        streaming: fields of that section; missing ones get the values below (no limit).
        special_tokens: the tokens that stand for something else than their names, as in the file.
        vocabularies: of the languages of a vocabulary that is made of several, as in the file.

    Raises:
        ValueError: a streaming field is unknown or contradicts the model.
    """
    usual: Dict[str, Any] = {"chunk_size": 16, "left_context": 64, "min_chunk_size": 1,
                             "max_chunk_size": None, "max_left_context": None, "only": None}
    unknown = sorted(set(streaming) - set(usual))
    if unknown:
        raise ValueError(f"unknown streaming fields: {', '.join(unknown)}")
    section = {**usual, **streaming}
    _check_streaming(section, config.encoder)
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "name": name,
            "features": features, **config.to_json(),
            "special_tokens": list(special_tokens), "vocabularies": list(vocabularies),
            "streaming": section}


def _check_streaming(section: Dict[str, Any], config: ConformerConfig) -> None:
    """Raises ValueError unless the model can stream as its streaming section recommends."""
    recommended = {name: section[name] for name in ("chunk_size", "left_context")}
    only = section["only"]
    if only is not None:
        if not isinstance(only, list) or not only:
            raise ValueError(f"streaming.only is {only!r}, expected null or a list of settings")
        for i, setting in enumerate(only):
            where = f"streaming.only[{i}]"
            check_fields(setting, ["chunk_size", "left_context"], where)
            for name, value in setting.items():
                check_type(value, int, f"{where}.{name}")
        if recommended not in only:
            raise ValueError(f"streaming.only lists no {recommended}, which is recommended")
    reason = config.needs_whole_utterance()
    for setting in [recommended, *(only or [])]:
        if reason and setting["chunk_size"] != -1:
            raise ValueError(f"streaming chunk_size is {setting['chunk_size']}, expected -1: "
                             f"{reason} needs the whole utterance")
        multiple = config.chunk_multiple()
        for name, value in setting.items():
            if setting["chunk_size"] != -1 and value != -1 and value % multiple != 0:
                raise ValueError(f"streaming {name} is {value}, expected a multiple of {multiple}: "
                                 "the attention joins groups of frames")


def export_archive(model: SpeechModel, config: Dict[str, Any], units: List[str],
                   path: str) -> None:
    """Scripts `model` and writes the model file, completely or not at all.

    Args:
        model: in any mode; exported in evaluation mode, float32, on the CPU.
        config: from `model_config`. units: one token per output of a head, in order of id.
        path: the file to write.

    Raises:
        ValueError: the parts contradict each other, or a weight is not finite.
    """
    architecture = ModelConfig.from_json(config)
    if len(units) != architecture.vocab_size:
        raise ValueError(f"{len(units)} units given, vocab_size is {architecture.vocab_size}")
    _check_tensors(model.state_dict(), architecture)
    scripted = torch.jit.script(model.eval().float().cpu())
    extra = {"runnel.json": json.dumps(config, indent=1, ensure_ascii=False),
             "units.txt": "".join(f"{unit} {i}\n" for i, unit in enumerate(units))}
    folder, name = os.path.split(path)
    with tempfile.TemporaryDirectory(dir=folder or ".") as unfinished:
        with_positions = os.path.join(unfinished, "with_positions.pt")
        torch.jit.save(scripted, with_positions, _extra_files=extra)
        _write_without_source_positions(with_positions, os.path.join(unfinished, name))
        os.replace(os.path.join(unfinished, name), path)


def _check_tensors(tensors: Dict[str, Tensor], config: ModelConfig) -> None:
    """Raises ValueError unless these are the finite tensors of a model with this configuration."""
    expected = model_without_weights(config).state_dict()
    for name in sorted(set(tensors) ^ set(expected)):
        raise ValueError(f"{name} is {'missing' if name in expected else 'unknown'} in a model of "
                         "this configuration")
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}, expected "
                             f"{tuple(expected[name].shape)}")
        if not torch.isfinite(tensor).all():
            raise ValueError(f"{name} holds a value that is not finite")


def _write_without_source_positions(source: str, path: str) -> None:
    """Copies an archive without its *.debug_pkl files.

    They serve messages about TorchScript code only, and contain absolute paths of Python files on
    the machine that wrote the file. PyTorch's own writer makes the copy: PyTorch does not read what
    Python's zipfile writes beyond 2 GiB.
    """
    writer = torch._C.PyTorchFileWriter(path)
    with zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            if not name.endswith(".debug_pkl"):
                data = archive.read(name)
                writer.write_record(name.split("/", 1)[1], data, len(data))
    writer.write_end_of_file()


def read_archive(path: str) -> Tuple[torch.jit.ScriptModule, Dict[str, Any], List[str]]:
    """The scripted module, the parsed runnel.json and the tokens of a model file.

    The configuration of an older version is returned in the form of the present one. The module of
    an older file has the methods of its time.

    Raises:
        ValueError: `path` has another format or version.
    """
    extra = {"runnel.json": "", "units.txt": ""}
    module = torch.jit.load(path, map_location="cpu", _extra_files=extra)
    texts = {name: text.decode("utf-8") if isinstance(text, bytes) else text
             for name, text in extra.items()}
    if not texts["runnel.json"]:
        raise ValueError(f"{path}: no runnel.json, expected a model archive")
    config = json.loads(texts["runnel.json"])
    version = config.get("format_version")
    if config.get("format") != FORMAT:
        raise ValueError(f"{path}: format is {config.get('format')!r}, expected {FORMAT!r}")
    if version not in (*OLDER_VERSIONS, FORMAT_VERSION):
        raise ValueError(f"{path}: format_version is {version!r}, expected {FORMAT_VERSION!r}")
    units = [line.rsplit(" ", 1)[0] for line in texts["units.txt"].splitlines()]
    if version in OLDER_VERSIONS:
        config = _as_present_version(config, units)
    return module, config, units


def _as_present_version(config: Dict[str, Any], units: Sequence[str]) -> Dict[str, Any]:
    """The sections of an older file."""
    heads = {name: config.get(name) for name in HEADS}  # version 2: a CTC model
    blank_id = (heads["ctc"] or heads["transducer"])["blank_id"]
    special = [{"id": i, "kind": "hidden"} for i in tags(units) if i != blank_id]
    return {**config, "format_version": FORMAT_VERSION, **heads,
            "special_tokens": config.get("special_tokens", special), "vocabularies": []}
