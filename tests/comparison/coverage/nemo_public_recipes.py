"""Tiny models with the structure of the checkpoints that NeMo publishes for speech recognition.

NAMES are those of docs/source/asr/data/benchmark_*.csv (commit 8cfedd7) without Citrinet,
QuartzNet, ContextNet, Jasper and codecs. The checkpoints themselves are not read: each has the
structure of the recipe that its model card names, with the changes listed here.
"""

import copy
import functools
import pathlib
import re
from typing import Any, Dict, List, Tuple

import yaml

import nemo_surroundings
from nemo_recipes import CONFIGURATIONS, family, read_recipe, shrunk, write
from recipe import Recipe

NAMES = """
canary-180m-flash canary-1b canary-1b-flash canary-1b-v2
parakeet-ctc-0.6b parakeet-ctc-1.1b parakeet-rnnt-0.6b parakeet-rnnt-1.1b parakeet-tdt-0.6b-v2
parakeet-tdt-1.1b parakeet-tdt_ctc-0.6b-ja parakeet-tdt_ctc-1.1b parakeet-tdt_ctc-110m
slu_conformer_transformer_large_slurp
stt_ar_fastconformer_hybrid_large_pc_v1.0 stt_ar_fastconformer_hybrid_large_pcd_v1.0
stt_be_conformer_ctc_large stt_be_conformer_transducer_large stt_be_fastconformer_hybrid_large_pc
stt_ca_conformer_ctc_large stt_ca_conformer_transducer_large
stt_de_conformer_ctc_large stt_de_conformer_transducer_large stt_de_fastconformer_hybrid_large_pc
stt_en_conformer_ctc_large stt_en_conformer_ctc_small
stt_en_conformer_transducer_large stt_en_conformer_transducer_xlarge
stt_en_fastconformer_ctc_large stt_en_fastconformer_ctc_xlarge stt_en_fastconformer_ctc_xxlarge
stt_en_fastconformer_hybrid_large_pc stt_en_fastconformer_hybrid_large_streaming_multi
stt_en_fastconformer_hybrid_medium_streaming_80ms
stt_en_fastconformer_hybrid_medium_streaming_80ms_pc stt_en_fastconformer_tdt_large
stt_en_fastconformer_transducer_large stt_en_fastconformer_transducer_xlarge
stt_en_fastconformer_transducer_xxlarge
stt_enes_conformer_ctc_large stt_enes_conformer_ctc_large_codesw
stt_enes_conformer_transducer_large stt_enes_conformer_transducer_large_codesw
stt_eo_conformer_ctc_large stt_eo_conformer_transducer_large
stt_es_conformer_ctc_large stt_es_conformer_transducer_large
stt_es_fastconformer_hybrid_large_pc stt_es_fastconformer_hybrid_large_pc_nc
stt_fa_fastconformer_hybrid_large
stt_fr_conformer_ctc_large stt_fr_conformer_transducer_large stt_fr_fastconformer_hybrid_large_pc
stt_fr_no_hyphen_conformer_ctc_large stt_hi_conformer_ctc_medium
stt_hr_conformer_ctc_large stt_hr_conformer_transducer_large stt_hr_fastconformer_hybrid_large_pc
stt_hy_fastconformer_hybrid_large_pc
stt_it_conformer_ctc_large stt_it_conformer_transducer_large stt_it_fastconformer_hybrid_large_pc
stt_ka_fastconformer_hybrid_large_pc
stt_ka_fastconformer_hybrid_transducer_ctc_large_streaming_80ms_pc
stt_kab_conformer_transducer_large stt_kk_ru_fastconformer_hybrid_large stt_mr_conformer_ctc_medium
stt_multilingual_fastconformer_hybrid_large_pc
stt_multilingual_fastconformer_hybrid_large_pc_blend_eu
stt_nl_fastconformer_hybrid_large_pc stt_pl_fastconformer_hybrid_large_pc
stt_pt_fastconformer_hybrid_large_pc
stt_ru_conformer_ctc_large stt_ru_conformer_transducer_large stt_ru_fastconformer_hybrid_large_pc
stt_rw_conformer_ctc_large stt_rw_conformer_transducer_large stt_ua_fastconformer_hybrid_large_pc
stt_uz_fastconformer_hybrid_large_pc stt_zh_conformer_transducer_large
""".split()
_FAST = "fastconformer"
_HYBRID = f"{_FAST}/hybrid_transducer_ctc/fastconformer_hybrid"
# The recipe of the first expression that a name matches.
_RECIPES: List[Tuple[str, str]] = [
    (r"canary|slu_", "speech_multitask/fast-conformer_aed"),
    (r"streaming", f"{_FAST}/hybrid_cache_aware_streaming/"
                   "fastconformer_hybrid_transducer_ctc_bpe_streaming"),
    (r"tdt_ctc", f"{_HYBRID}_tdt_ctc_bpe"),
    (r"tdt", f"{_HYBRID}_tdt_ctc_bpe"),  # without the CTC head
    (r"fastconformer_hybrid", f"{_HYBRID}_transducer_ctc_bpe"),
    (r"parakeet-ctc|fastconformer_ctc", f"{_FAST}/fast-conformer_ctc_bpe"),
    (r"parakeet-rnnt|fastconformer_transducer", f"{_FAST}/fast-conformer_transducer_bpe"),
    (r"zh_conformer_transducer", "conformer/conformer_transducer_char"),
    (r"conformer_ctc", "conformer/conformer_ctc_bpe"),
    (r"conformer_transducer", "conformer/conformer_transducer_bpe")]
# Several tokenizers.
_SEVERAL = {"stt_enes": ("en", "es"), "stt_multilingual": ("en", "de", "es", "fr")}


def recipes(source: pathlib.Path) -> List[Recipe]:
    """One of each name."""
    nemo_surroundings.prepare(source)
    found = []
    for name in NAMES:
        recipe = next(path for pattern, path in _RECIPES if re.search(pattern, name))
        config = read_recipe(source / CONFIGURATIONS / f"{recipe}.yaml")
        if "transf_decoder" in config:
            found.append(Recipe(name, "attention decoder only", recipe,
                                functools.partial(write, _of_attention(config))))
            continue
        config = shrunk(_changed(name, config))
        found.append(Recipe(name, family(config) + (
            ", several tokenizers" if config.get("tokenizer", {}).get("type") == "agg" else ""),
            yaml.safe_dump(config), functools.partial(write, config)))
    return found


def _changed(name: str, config: Dict[str, Any]) -> Dict[str, Any]:
    """The recipe with the published options that differ from it."""
    encoder = config["encoder"]
    if name.endswith("streaming_multi"):
        encoder["att_context_size"] = [[70, 13], [70, 6], [70, 1], [70, 0]]
    elif "80ms" in name:
        encoder["att_context_size"] = [70, 1]
    if name.startswith("parakeet-tdt-0.6b"):
        config["preprocessor"]["features"] = encoder["feat_in"] = 128
        encoder["use_bias"] = False
    if "tdt" in name and "tdt_ctc" not in name:
        del config["aux_ctc"]
    for prefix, languages in _SEVERAL.items():
        if name.startswith(prefix):
            config["tokenizer"] = {"type": "agg", "langs": {
                language: {"dir": None, "type": "bpe"} for language in languages}}
    return config


def _of_attention(config: Dict[str, Any]) -> Dict[str, Any]:
    """A model whose only head is an attention decoder: here its encoder and its options."""
    config = copy.deepcopy(config)
    config.pop("tokenizer", None)
    config["target"] = "nemo.collections.asr.models.EncDecMultiTaskModel"
    config["encoder"].update(n_layers=2, d_model=16, n_heads=2, ff_expansion_factor=2,
                             subsampling_conv_channels=8)
    return config
