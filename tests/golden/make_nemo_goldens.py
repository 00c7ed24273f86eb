#!/usr/bin/python3
"""Records what NeMo's own Conformer encoder computes with tiny random models.

    /usr/bin/python3 tests/golden/make_nemo_goldens.py NEMO [CASE ...]

NEMO is a checkout of github.com/NVIDIA/NeMo (commit 8cfedd7) outside this project. The multitalker
case also needs parts/mixins/multitalker_asr_mixins.py, which later commits have (51ba7b9 of
yhayarannvidia/NeMo-Speech was used). Nothing of NeMo is needed to run the tests. Only its encoder
is imported; what surrounds it there (configuration, training, export) is replaced by empty classes.

Writes tests/golden/nemo/CASE.npz: the encoder's options as a YAML string, its weights
(`weight/NAME`, seeded random numbers of this script under NeMo's names), features (T, bins), and
for every setting of att_context_size the encoder's output (T', d), of the whole utterance under the
mask (`encoder_I`). Where NeMo can stream, its cached steps must have agreed with that, and their
last caches are recorded: of each layer the attention's input (`cache_channel_I`, (layers, n, d)),
the convolution's (`cache_time_I`, (layers, K - 1, d)), and how many encoder frames there were
(`cache_frames_I`). The multitalker case has `model_options`, the options of the speaker kernels as
a YAML string, and the encoder's output for one speaker.
"""

import argparse
import pathlib
import sys
import types
from typing import Any, Dict, List

import numpy as np
import torch
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support/python")]

import nemo_surroundings  # noqa: E402

FOLDER = ROOT / "tests/golden/nemo"
NUM_FRAMES, TOLERANCE = 263, 1e-5
BASE = {"feat_in": 40, "n_layers": 2, "d_model": 16, "n_heads": 2, "ff_expansion_factor": 2,
        "dropout": 0.1, "dropout_pre_encoder": 0.1, "dropout_emb": 0.0, "dropout_att": 0.1}
CASES: Dict[str, Dict[str, Any]] = {
    "conformer_offline": {**BASE, "subsampling": "striding", "subsampling_factor": 4,
                          "conv_kernel_size": 7, "conv_norm_type": "batch_norm"},
    "conformer_abs_pos_tied_no_bias": {
        **BASE, "subsampling": "striding", "subsampling_factor": 4, "use_bias": False,
        "self_attention_model": "abs_pos", "conv_kernel_size": 5, "xscaling": False},
    "conformer_tied": {**BASE, "subsampling": "striding", "subsampling_factor": 4,
                       "untie_biases": False, "conv_kernel_size": 5, "xscaling": False},
    "fastconformer_offline": {
        **BASE, "subsampling": "dw_striding", "subsampling_factor": 8,
        "subsampling_conv_channels": 8, "conv_kernel_size": 9, "xscaling": False},
    "fastconformer_streaming": {
        **BASE, "subsampling": "dw_striding", "subsampling_factor": 8,
        "subsampling_conv_channels": 8, "causal_downsampling": True, "conv_kernel_size": 9,
        "conv_norm_type": "layer_norm", "conv_context_size": "causal",
        "att_context_style": "chunked_limited",
        "att_context_size": [[14, 6], [12, 3], [6, 1], [5, 0], [-1, 2]]},
    "conformer_streaming_striding": {
        **BASE, "subsampling": "striding", "subsampling_factor": 4, "causal_downsampling": True,
        "conv_kernel_size": 5, "conv_norm_type": "layer_norm", "conv_context_size": "causal",
        "att_context_style": "chunked_limited", "att_context_size": [[8, 3]]},
    "fastconformer_local_attention": {
        **BASE, "subsampling": "dw_striding", "subsampling_factor": 8,
        "subsampling_conv_channels": 8, "conv_kernel_size": 9, "xscaling": False,
        "self_attention_model": "rel_pos_local_attn", "att_context_size": [5, 5]},
    "conformer_regular_window": {
        **BASE, "subsampling": "striding", "subsampling_factor": 4, "conv_kernel_size": 5,
        "att_context_size": [7, 2]},
    "fastconformer_multitalker": {
        **BASE, "subsampling": "dw_striding", "subsampling_factor": 8,
        "subsampling_conv_channels": 8, "causal_downsampling": True, "conv_kernel_size": 9,
        "conv_norm_type": "layer_norm", "conv_context_size": "causal", "xscaling": False,
        "att_context_style": "chunked_limited", "att_context_size": [[14, 6], [6, 1]]},
}


MODEL_OPTIONS: Dict[str, Dict[str, Any]] = {
    "fastconformer_multitalker": {"spk_kernel_type": "ff", "spk_kernel_layers": [0],
                                  "add_bg_spk_kernel": True}}


def set_weights(model: torch.nn.Module, random: np.random.RandomState) -> Dict[str, Any]:
    """Seeded values of ours; no parameter keeps a special value. Returns the weights by name."""
    weights: Dict[str, Any] = {}
    for name, tensor in model.state_dict().items():
        if not name.endswith(("num_batches_tracked", ".pe")):
            values = torch.from_numpy(random.standard_normal(tuple(tensor.shape))).float()
            if name.endswith("running_var"):
                values = 0.5 + values.abs()
            elif tensor.dim() == 1:
                is_norm = ("norm" in name) and name.endswith("weight")
                values = 0.3 * values + (1.0 if is_norm else 0.0)
            elif "pos_bias" not in name:
                values = values * tensor[0].numel() ** -0.5
            tensor.copy_(values)
    for name, tensor in model.state_dict().items():  # shared parameters have their last values
        weights[f"weight/{name}"] = tensor.numpy().copy()
    return weights


def add_speaker_kernels(model: Any, options: Dict[str, Any]) -> None:
    """Makes `model` one of several speakers, by NeMo's own mixin."""
    from nemo.collections.asr.parts.mixins.multitalker_asr_mixins import SpeakerKernelMixin

    def register_forward_pre_hook(layer: Any, hook: Any, with_kwargs: bool) -> None:
        """That of PyTorch 2."""
        forward = layer.forward

        def hooked(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = hook(layer, args, kwargs)
            return forward(*args, **kwargs)

        layer.forward = hooked

    dim = model.encoder.d_model
    layer = model.encoder.layers[0]
    layer.register_forward_pre_hook = types.MethodType(register_forward_pre_hook, layer)
    model.__class__ = type("Model", (torch.nn.Module, SpeakerKernelMixin), {})
    model.cfg = types.SimpleNamespace(model_defaults=types.SimpleNamespace(enc_hidden=dim),
                                      encoder=types.SimpleNamespace(d_model=dim))
    model._init_speaker_kernel_config(options)
    model.eval()


def streamed(encoder: Any, features: torch.Tensor) -> List[torch.Tensor]:
    """NeMo's cache-aware steps, until the frames left fill no whole step.

    Returns (1, d, T'), and the last caches (layers, 1, M, d), (layers, 1, d, K - 1), (1,).
    """
    settings = encoder.streaming_cfg
    caches = encoder.get_initial_cache_state(batch_size=1)
    at, outputs = 0, []
    while True:
        first = at == 0
        size = settings.chunk_size[0 if first else 1]
        if at + size > features.size(2):
            return [torch.cat(outputs, 2), *caches]
        begin = at if first else at - settings.pre_encode_cache_size[1]
        chunk = features[:, :, begin:at + size]
        result = encoder.cache_aware_stream_step(
            chunk, torch.tensor([chunk.size(2)]), *caches, keep_all_outputs=True,
            drop_extra_pre_encoded=0 if first else settings.drop_extra_pre_encoded)
        outputs.append(result[0])
        caches = result[2:]
        at += settings.shift_size[0 if first else 1]


def make(name: str) -> None:
    """Builds one case and writes its file."""
    from nemo.collections.asr.modules.conformer_encoder import ConformerEncoder
    options = CASES[name]
    random = np.random.RandomState(list(CASES).index(name) + 1)
    encoder = ConformerEncoder(**options).eval()
    model: Any = torch.nn.Module()
    model.encoder = encoder
    if name in MODEL_OPTIONS:
        add_speaker_kernels(model, MODEL_OPTIONS[name])
    recorded = set_weights(model, random)
    features = torch.from_numpy(random.standard_normal((1, options["feat_in"], NUM_FRAMES))).float()
    sizes = options.get("att_context_size", [[-1, -1]])
    sizes = sizes if isinstance(sizes[0], list) else [sizes]
    for i, size in enumerate(sizes):
        encoder.set_default_att_context_size(list(size))
        encoder.setup_streaming_params()
        output, _ = encoder(features, torch.tensor([NUM_FRAMES]))
        recorded[f"encoder_{i}"] = output[0].t().numpy()
        if name in MODEL_OPTIONS:  # so far without activities, now with those of one speaker
            active = torch.ones(1, output.size(2))
            model.set_speaker_targets(active, torch.zeros_like(active))
            torch.testing.assert_close(encoder(features, torch.tensor([NUM_FRAMES]))[0], output,
                                       rtol=0, atol=0)
            model.set_speaker_targets(None, None)
        # With right 0 NeMo's second step would have to pad the features that it keeps.
        if size[0] >= 0 and size[1] > 0 and options.get("causal_downsampling"):
            steps, channel, time, length = streamed(encoder, features)
            recorded[f"cache_channel_{i}"] = channel[:, 0, channel.size(2) - int(length):].numpy()
            recorded[f"cache_time_{i}"] = time[:, 0].transpose(1, 2).numpy()
            recorded[f"cache_frames_{i}"] = np.array(steps.size(2))
            torch.testing.assert_close(steps, output[:, :, :steps.size(2)], rtol=0, atol=TOLERANCE)
    if name in MODEL_OPTIONS:
        recorded["model_options"] = np.array(yaml.safe_dump(MODEL_OPTIONS[name]))
    recorded.update(options=np.array(yaml.safe_dump(options)), features=features[0].t().numpy())
    np.savez_compressed(FOLDER / f"{name}.npz", **recorded)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("nemo", type=pathlib.Path, help="the checkout")
    parser.add_argument("cases", nargs="*", help="those to record; all if none is named")
    args = parser.parse_args()
    nemo_surroundings.prepare(args.nemo)
    FOLDER.mkdir(exist_ok=True)
    with torch.no_grad():
        for name in args.cases or CASES:
            make(name)


if __name__ == "__main__":
    main()
