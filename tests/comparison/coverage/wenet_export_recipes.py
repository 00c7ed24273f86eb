"""TorchScript exports of WeNet's recipes with int8 weights, as its export_jit.py makes them."""

import pathlib
from typing import Any, Dict, List, Optional

import torch

from recipe import Recipe
from wenet_recipes import build, recipes_of, write_units


def _attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
               attn_mask: Optional[torch.Tensor] = None, dropout_p: float = 0.0,
               is_causal: bool = False, scale: Optional[float] = None) -> torch.Tensor:
    """scaled_dot_product_attention, which PyTorch 1.13 lacks; `use_sdpa: false` never calls it."""
    return query


def recipes(source: pathlib.Path) -> List[Recipe]:
    """One of each recipe."""
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        torch.nn.functional.scaled_dot_product_attention = _attention
    return recipes_of(source, write)


def write(config: Dict[str, Any], folder: pathlib.Path) -> List[pathlib.Path]:
    """final_quant.zip; its list of tokens lies beside it."""
    # After a failure, the compiler would also fail with the same classes of other models.
    torch.jit._recursive.concrete_type_store = torch.jit._recursive.ConcreteTypeStore()
    torch.jit._state._clear_class_state()
    model = torch.quantization.quantize_dynamic(build(config, folder), {torch.nn.Linear},
                                                dtype=torch.qint8)
    export = folder / "final_quant.zip"
    torch.jit.script(model).save(str(export))
    write_units(folder / "units.txt")
    return [export]
