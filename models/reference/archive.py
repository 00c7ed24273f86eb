"""Writes and reads model archives (models/README.md): TorchScript, runnel.json and units.txt."""

import json
import os
import zipfile
from typing import Any, Dict, List, Tuple

import torch

from models.reference.config import ConformerConfig
from models.reference.conformer import ConformerCtc

FORMAT = "runnel-model"
FORMAT_VERSION = 1
WORD_BOUNDARY = "\u2581"


def fbank_section(**changes: Any) -> Dict[str, Any]:
    """The `features` section with Kaldi's defaults (dither 0, 80 bins), some fields changed."""
    section: Dict[str, Any] = {
        "type": "fbank", "sample_frequency": 16000, "sample_scale": 32768.0,
        "frame_length_ms": 25.0, "frame_shift_ms": 10.0, "num_mel_bins": 80, "low_freq": 20.0,
        "high_freq": 0.0, "window_type": "povey", "blackman_coeff": 0.42, "preemph_coeff": 0.97,
        "remove_dc_offset": True, "dither": 0.0, "dither_seed": 0, "snip_edges": True,
        "round_to_power_of_two": True, "use_energy": False, "raw_energy": True,
        "energy_floor": 0.0, "use_log_fbank": True, "use_power": True, "htk_compat": False,
    }
    unknown = sorted(set(changes) - set(section))
    if unknown:
        raise ValueError(f"unknown feature options: {', '.join(unknown)}")
    section.update(changes)
    return section


def model_config(name: str, config: ConformerConfig, features: Dict[str, Any],
                 streaming: Dict[str, Any]) -> Dict[str, Any]:
    """The whole of runnel.json. `streaming` may leave fields out, which then mean no limit."""
    limits = {"chunk_size": 16, "left_context": 64, "min_chunk_size": 1, "max_chunk_size": None,
              "max_left_context": None}
    unknown = sorted(set(streaming) - set(limits))
    if unknown:
        raise ValueError(f"unknown streaming fields: {', '.join(unknown)}")
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "name": name,
            "features": features, "encoder": config.encoder_section(),
            "ctc": config.ctc_section(), "streaming": {**limits, **streaming}}


def export_archive(model: ConformerCtc, config: Dict[str, Any], units: List[str],
                   path: str) -> None:
    """Scripts `model` and writes the archive, all of it or nothing.

    Args:
        model: in any mode; exported in evaluation mode, float32, on the CPU.
        config: from `model_config`. units: one symbol per CTC output, in order of id.
        path: the file to write.
    """
    vocab_size = config["ctc"]["vocab_size"]
    if len(units) != vocab_size:
        raise ValueError(f"{len(units)} units given, vocab_size is {vocab_size}")
    for name, tensor in model.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise ValueError(f"{name} holds a value that is not finite")
    scripted = torch.jit.script(model.eval().float().cpu())
    extra = {"runnel.json": json.dumps(config, indent=1, ensure_ascii=False),
             "units.txt": "".join(f"{unit} {i}\n" for i, unit in enumerate(units))}
    unfinished = path + ".part"
    torch.jit.save(scripted, unfinished, _extra_files=extra)
    _leave_out_source_positions(unfinished)
    os.replace(unfinished, path)


def _leave_out_source_positions(path: str) -> None:
    """Rewrites the archive without its *.debug_pkl files.

    They only serve messages about TorchScript code, and hold the absolute paths of the Python files
    on the machine that made the archive.
    """
    with zipfile.ZipFile(path) as archive:
        files = [(info, archive.read(info)) for info in archive.infolist()
                 if not info.filename.endswith(".debug_pkl")]
    with zipfile.ZipFile(path, "w") as archive:
        for info, data in files:
            info.extra = b""  # padding, right only where the file was
            archive.writestr(info, data)


def read_archive(path: str) -> Tuple[torch.jit.ScriptModule, Dict[str, Any], List[str]]:
    """The scripted module, the parsed runnel.json and the units of an archive."""
    extra = {"runnel.json": "", "units.txt": ""}
    module = torch.jit.load(path, map_location="cpu", _extra_files=extra)
    texts = {name: text.decode("utf-8") if isinstance(text, bytes) else text
             for name, text in extra.items()}
    units = [line.rsplit(" ", 1)[0] for line in texts["units.txt"].splitlines()]
    return module, json.loads(texts["runnel.json"]), units
