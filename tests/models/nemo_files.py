"""NeMo models as files, made of the recorded cases, for the tests of the importer and the tools."""

import io
import pathlib
import struct
import tarfile
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import torch
import yaml
from convert_support import ROOT, normal

CASES = sorted(path.stem for path in (ROOT / "tests/golden/nemo").glob("*.npz"))
PIECES = ["<unk>", "\u2581t", "he", "\u2581", "c", "a", "t"]
VOCAB = len(PIECES) + 1


def load_case(name: str) -> Dict[str, np.ndarray]:
    """Arrays of a recorded case."""
    with np.load(ROOT / "tests/golden/nemo" / f"{name}.npz") as arrays:
        return dict(arrays)


def sentencepiece_model(pieces: List[str], kinds: Optional[Dict[int, int]] = None) -> bytes:
    """The protocol buffer of a SentencePiece model, with fields that a reader must skip."""
    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    data = b""
    for i, piece in enumerate(pieces):
        kind = (kinds or {}).get(i, 1)
        inner = field(1, piece.encode()) + bytes([2 << 3 | 5]) + struct.pack("<f", -1.5 * i)
        data += field(1, inner + (bytes([3 << 3, kind]) if kind != 1 else b""))
    return data + field(2, b"\x08\x01") + bytes([9 << 3, 0xac, 0x02])


def settings_of(options: Dict[str, Any]) -> List[Tuple[int, int]]:
    """(chunk_size, left_context) of every att_context_size, in the order of the recorded values.

    A window that moves with the frame is one pair and needs the whole utterance.
    """
    sizes = options.get("att_context_size", [[-1, -1]])
    return [(-1, -1)] if isinstance(sizes[0], int) else [
        (right + 1 if right >= 0 else -1, left) for left, right in sizes]


def recorded_caches(arrays: Dict[str, np.ndarray], setting: int
                    ) -> Optional[Tuple[int, List[Tuple[np.ndarray, np.ndarray, np.ndarray]]]]:
    """(encoder frames, per layer (keys (n, d), values (n, d), gated frames (K - 1, d))) after
    NeMo's cached steps; None where none were recorded.

    NeMo keeps the attention's input, which its projections make keys and values of.
    """
    if f"cache_frames_{setting}" not in arrays:
        return None
    layers = []
    for i, (channel, time) in enumerate(zip(arrays[f"cache_channel_{setting}"],
                                            arrays[f"cache_time_{setting}"])):
        def projected(name: str) -> np.ndarray:
            linear = f"weight/encoder.layers.{i}.self_attn.{name}"
            return channel @ arrays[f"{linear}.weight"].T + arrays[f"{linear}.bias"]

        layers.append((projected("linear_k"), projected("linear_v"), time))
    return int(arrays[f"cache_frames_{setting}"]), layers


class NemoFile:
    """The parts of a .nemo file, to be changed and packed."""

    def __init__(self, case: str, heads: str = "ctc") -> None:
        """heads: "ctc", "transducer" or "hybrid"."""
        arrays = load_case(case)
        random = np.random.RandomState(0)
        encoder = yaml.safe_load(str(arrays["options"]))
        model_options = yaml.safe_load(str(arrays.get("model_options", "{}")))
        self.weights = {name[len("weight/"):]: torch.from_numpy(value)
                        for name, value in arrays.items() if name.startswith("weight/")}
        self.weights.update({
            "preprocessor.featurizer.window": torch.hann_window(400),
            "preprocessor.featurizer.fb": torch.zeros(1, 40, 257)})
        self.config: Dict[str, Any] = {
            **model_options, "sample_rate": 16000,
            "preprocessor": {"sample_rate": "${sample_rate}", "normalize": "per_feature",
                             "window_size": 0.025, "window_stride": 0.01, "window": "hann",
                             "features": 40, "n_fft": 512},
            "encoder": {"_target_": "nemo.collections.asr.modules.ConformerEncoder", **encoder,
                        "feat_in": "${model.preprocessor.features}"},
            "tokenizer": {"type": "bpe", "dir": "tokenizers",
                          "model_path": "nemo:0a1b_tokenizer.model"}}
        if heads != "transducer":
            decoder = {"num_classes": VOCAB - 1, "vocabulary": []}
            self.config.update({"aux_ctc": {"decoder": decoder}} if heads == "hybrid"
                               else {"decoder": decoder})
            name = "ctc_decoder" if heads == "hybrid" else "decoder"
            self.weights.update({
                f"{name}.decoder_layers.0.weight": normal(random, VOCAB, encoder["d_model"], 1),
                f"{name}.decoder_layers.0.bias": normal(random, VOCAB)})
        if heads != "ctc":
            self._add_transducer(random, encoder["d_model"])
        if "att_context_size" in encoder:
            self.config["preprocessor"]["normalize"] = "NA"
        self.files: Dict[str, bytes] = {"0a1b_tokenizer.model": sentencepiece_model(PIECES)}

    def _add_transducer(self, random: np.random.RandomState, model_dim: int) -> None:
        """RNNTDecoder with one LSTM layer of 4, RNNTJoint of 5."""
        shapes = {"decoder.prediction.embed.weight": (VOCAB, 4), "joint.pred.weight": (5, 4),
                  "joint.pred.bias": (5,), "joint.enc.weight": (5, model_dim),
                  "joint.enc.bias": (5,), "joint.joint_net.2.weight": (VOCAB, 5),
                  "joint.joint_net.2.bias": (VOCAB,)}
        for part, shape in (("weight_ih", (16, 4)), ("weight_hh", (16, 4)), ("bias_ih", (16,)),
                            ("bias_hh", (16,))):
            shapes[f"decoder.prediction.dec_rnn.lstm.{part}_l0"] = shape
        self.weights.update({name: normal(random, *shape) for name, shape in shapes.items()})
        self.config["decoder"] = {
            "_target_": "nemo.collections.asr.modules.RNNTDecoder", "normalization_mode": None,
            "blank_as_pad": True, "vocab_size": VOCAB - 1,
            "prednet": {"pred_hidden": 4, "pred_rnn_layers": 1, "dropout": 0.2}}
        self.config["joint"] = {
            "_target_": "nemo.collections.asr.modules.RNNTJoint", "num_classes": VOCAB - 1,
            "fuse_loss_wer": True, "jointnet": {"joint_hidden": 5, "activation": "relu"}}
        self.config["decoding"] = {"strategy": "greedy_batch", "greedy": {"max_symbols": 6}}

    def widen(self, factor: int) -> None:
        """Makes the model large: zeros of `factor` times its size in the feed-forward modules."""
        dim = self.config["encoder"]["d_model"]
        self.config["encoder"]["ff_expansion_factor"] = factor
        for name, tensor in self.weights.items():
            if "linear1" in name:
                self.weights[name] = torch.zeros(factor * dim, *tensor.shape[1:])
            elif "linear2.weight" in name:
                self.weights[name] = torch.zeros(dim, factor * dim)

    def write(self, path: pathlib.Path, without: str = "", mode: str = "w") -> pathlib.Path:
        """Packs everything but the file `without`."""
        weights = io.BytesIO()
        torch.save(self.weights, weights)
        files = {"model_config.yaml": yaml.safe_dump(self.config).encode(),
                 "model_weights.ckpt": weights.getvalue(), **self.files}
        with tarfile.open(path, mode) as tar:
            for name, data in files.items():
                info = tarfile.TarInfo(f"./{name}")
                info.size = len(data)
                if name != without:
                    tar.addfile(info, io.BytesIO(data))
        return path
