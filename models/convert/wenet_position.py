"""WeNet's schemes of positions, and the parameters that belong to them."""

from typing import Any, Dict, Optional, Tuple

import torch
from torch import Tensor

from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.renaming import Renamed
from models.convert.settings import Settings

_ROTARY = "rope_abs_selfattn"
_SHAW_SIDES = (8, 64)  # distances that shaw_rel_selfattn distinguishes on its two sides


def read_position(conf: Settings, conformer: bool) -> Tuple[str, str]:
    """The kind of positions and that of attention, "" if it is not stated."""
    positions = conf.choice("pos_enc_layer_type", "rel_pos" if conformer else "abs_pos",
                            {name: name for name in ("rel_pos", "abs_pos", "no_pos", "rope_pos")},
                            "encoder.position.scheme")
    attention = conf.choice("selfattention_layer_type", "", {
        name: name for name in ("", "selfattn", "rel_selfattn", "shaw_rel_selfattn", _ROTARY)})
    if (positions == "rope_pos") != (attention == _ROTARY):
        raise ConversionError(f"train.yaml.encoder_conf.pos_enc_layer_type is {positions!r} with "
                              f"selfattention_layer_type {attention!r}, which is not supported; "
                              f"rope_pos and {_ROTARY} go together")
    return positions, attention


def position_scheme(positions: str, attention: str, renamed: Renamed, choices: Choices
                    ) -> Dict[str, Any]:
    """The `position` object; adapts the weights to it.

    The parameters of a layer show its kind of attention. Before v3 it depended on the kind of
    position; since then it is a separate option.
    """
    if positions == "rope_pos":
        return {"scheme": "rotary"}
    if renamed.layer_has("self_attn.rel_k_embed.weight"):
        scheme: Dict[str, Any] = _shaw(renamed, choices.take("shaw_left"))
    elif renamed.layer_has("self_attn.pos_bias_u"):
        if positions == "no_pos":  # the positions are zeros, what remains is the bias u
            _fold_content_bias(renamed)
            return {"scheme": "none"}
        scheme = {"scheme": "unshifted", "linear_pos_bias": False, "query_scaling": "after_bias"}
    else:
        if attention == "shaw_rel_selfattn":
            raise ConversionError("train.yaml.encoder_conf.selfattention_layer_type is "
                                  "'shaw_rel_selfattn', but the weights have no rel_k_embed")
        return {"scheme": "absolute" if positions == "abs_pos" else "none"}
    if positions == "abs_pos":
        raise ConversionError("train.yaml.encoder_conf.pos_enc_layer_type is 'abs_pos' with an "
                              "attention that has relative positions too, which is not supported")
    return scheme


def _shaw(renamed: Renamed, left: Optional[int]) -> Dict[str, Any]:
    """Learned key vectors for distances -left to right, as a table of equal length on both sides.

    The last row of the shorter side repeats. The longer side changed after v3.1.0, and the weights
    do not show which one it is.
    """
    if left is None:
        raise ConversionError("shaw_rel_selfattn looks 8 frames back and 64 ahead in WeNet up to "
                              "v3.1.0, 64 back and 8 ahead later, and the weights do not tell "
                              "which: choose with --shaw_left=8 or --shaw_left=64")
    right = sum(_SHAW_SIDES) - left
    farthest = max(_SHAW_SIDES)
    for ours in [name for name in renamed.tensors if name.endswith("self_attn.rel_k_embed.weight")]:
        table = renamed.tensors.pop(ours)
        if table.dim() != 2 or table.size(0) != left + right + 1:
            raise ConversionError(f"{renamed.origin[ours]} has shape {tuple(table.shape)}, "
                                  f"expected {left + right + 1} rows")
        new = ours.replace("rel_k_embed.weight", "relative_keys")
        renamed.tensors[new] = torch.cat([table[:1].repeat(farthest - left, 1), table,
                                          table[-1:].repeat(farthest - right, 1)])
        renamed.origin[new] = renamed.origin[ours]
    return {"scheme": "relative_key_value", "max_distance": farthest, "values": False,
            "shared": False}


def _fold_content_bias(renamed: Renamed) -> None:
    """Folds u into the bias of linear_q: (q + u) k = q' k."""
    for ours in [name for name in renamed.tensors if name.endswith("self_attn.pos_bias_u")]:
        attention = ours[:-len("pos_bias_u")]
        u = renamed.tensors.pop(ours).reshape(-1)
        bias = f"{attention}linear_q.bias"
        renamed.tensors[bias] = renamed.tensors[bias] + u if bias in renamed.tensors else u
        renamed.origin.setdefault(bias, renamed.origin[ours])
        for unused in ("pos_bias_v", "linear_pos.weight"):
            renamed.tensors.pop(attention + unused, None)


def check_sinusoids(weights: Dict[str, Tensor], source: str) -> None:
    """Checks that a table of positions in the weights (v3) holds the standard sinusoids.

    That of rotary positions, (1, frames, frequencies, 2), has cosine and sine of a frequency.
    """
    table = weights.get("encoder.embed.pos_enc.pe")
    if table is None:
        return
    if table.dim() == 4 and table.size(3) == 2:
        table = table.flip(3).flatten(2)
    if table.dim() != 3 or table.size(2) % 2 != 0:
        raise ConversionError(f"{source}: encoder.embed.pos_enc.pe has shape {tuple(table.shape)}")
    frames = torch.arange(table.size(1), dtype=torch.float64).unsqueeze(1)
    exponents = torch.arange(0, table.size(2), 2, dtype=torch.float64) / table.size(2)
    angles = frames * torch.pow(10000.0, -exponents)
    if (table[0, :, 0::2] - angles.sin()).abs().max() > 5e-3 \
            or (table[0, :, 1::2] - angles.cos()).abs().max() > 5e-3:
        raise ConversionError(f"{source}: encoder.embed.pos_enc.pe is not the table of sinusoids")
