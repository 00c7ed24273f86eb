"""What the importers of transducers share."""

from typing import Any, Dict

import torch

from models.convert.renaming import Renamed


def lstm_predictor(embedding_dim: int, hidden_dim: int, num_layers: int,
                   output_dim: Any) -> Dict[str, Any]:
    """The `predictor` object of an LSTM; output_dim None: no projection."""
    return {"type": "lstm", "embedding_dim": embedding_dim, "hidden_dim": hidden_dim,
            "num_layers": num_layers, "output_dim": output_dim}


def add_lstm_biases(renamed: Renamed) -> None:
    """Replaces PyTorch's two biases of each LSTM layer, `bias_ih` and `bias_hh`, by their sum.

    An LSTM without biases gets zeros.
    """
    layers = [name[:-len("weight_hh")] for name in renamed.tensors
              if name.startswith("transducer.predictor.lstm.") and name.endswith(".weight_hh")]
    for layer in layers:
        bias = torch.zeros(renamed.tensors[f"{layer}weight_hh"].size(0))
        for part in ("bias_ih", "bias_hh"):
            bias = bias + renamed.tensors.pop(layer + part, torch.zeros_like(bias))
        renamed.tensors[f"{layer}bias"] = bias
        renamed.origin[f"{layer}bias"] = renamed.origin.get(
            f"{layer}bias_ih", renamed.origin[f"{layer}weight_hh"])
