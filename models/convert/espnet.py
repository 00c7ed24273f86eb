"""ESPnet 2 experiment folders with CTC, transducer and attention decoder.

The encoder is a Conformer, Transformer, Branchformer or E-Branchformer. Options that a config.yaml
omits get ESPnet's default, stated next to each option.
"""

import pathlib
from typing import Any, Dict, List, Optional, Tuple

from models.convert import branchformers, espnet_features, espnet_transducer, units
from models.convert.attention_decoder import read_decoder, take_decoder
from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.folder import Folder
from models.convert.renaming import Renamed, Rule, rename, stack_size
from models.convert.resolved import Resolved, streaming
from models.convert.settings import Settings, read_yaml
from models.convert.weights import read_weights

_PARAMETER = r"(weight|bias)"
_LAYER = r"(encoder\.encoders\.\d+\.)"
RULES: List[Rule] = [
    (rf"(encoder\.embed\.(?:conv\.[024]|out\.0)\.){_PARAMETER}", r"\1\2"),
    (r"encoder\.embed\.(?:out\.1|\d)\.pe", None),
    (rf"{_LAYER}((?:norm_ff_macaron|norm_mha|norm_conv|norm_ff|norm_final)\.){_PARAMETER}",
     r"\1\2\3"),
    (rf"{_LAYER}norm1\.{_PARAMETER}", r"\1norm_mha.\2"),
    (rf"{_LAYER}norm2\.{_PARAMETER}", r"\1norm_ff.\2"),
    (rf"{_LAYER}(feed_forward(?:_macaron)?\.w_[12]\.){_PARAMETER}", r"\1\2\3"),
    (rf"{_LAYER}(self_attn\.linear_(?:q|k|v|out|pos)\.){_PARAMETER}", r"\1\2\3"),
    (rf"{_LAYER}(self_attn\.pos_bias_[uv])", r"\1\2"),
    (rf"{_LAYER}(conv_module\.(?:pointwise_conv[12]|depthwise_conv|norm)\.){_PARAMETER}",
     r"\1\2\3"),
    (rf"{_LAYER}(conv_module\.norm\.running_(?:mean|var))", r"\1\2"),
    (rf"{_LAYER}conv_module\.norm\.num_batches_tracked", None),
    *branchformers.RULES,
    (rf"(encoder\.after_norm\.){_PARAMETER}", r"\1\2"),
    (rf"(ctc\.ctc_lo\.){_PARAMETER}", r"\1\2"),
    (r"normalize\.(mean|std)", r"normalize.\1"),  # turned into global_cmvn by _normalization
    (r"frontend\..+", None),  # mel filters, see features.py
]
_DECODER_RULE: Rule = (r"decoder\.(.+)", r"attention_decoder.\1")  # renamed by take_decoder
_SUBSAMPLING = {"conv1d2": "conv1d2", "conv2d": "conv2d4", "conv2d2": "conv2d2",
                "conv2d6": "conv2d6", "conv2d8": "conv2d8"}


# Options of config.yaml that serve the training or its texts only. What LoRA and adapters add to a
# model shows in the names of its weights.
_OF_TRAINING = (
    "accum_grad", "adapter", "adapter_conf", "allow_multi_rates", "allow_variable_data_keys",
    "aux_ctc_tasks", "batch_bins", "batch_size", "batch_type", "best_model_criterion", "bpemodel",
    "category_sample_size", "category_upsampling_factor", "chunk_default_fs",
    "chunk_discard_short_samples", "chunk_excluded_key_prefixes", "chunk_length",
    "chunk_max_abs_length", "chunk_shift_ratio", "cleaner", "collect_stats", "config",
    "create_graph_in_tensorboard", "ctc_conf", "cudnn_benchmark", "cudnn_deterministic",
    "cudnn_enabled", "dataset_scaling_factor", "dataset_upsampling_factor", "deepspeed_config",
    "detect_anomaly", "dist_backend", "dist_init_method", "dist_launcher", "dist_master_addr",
    "dist_master_port", "dist_rank", "dist_world_size", "distributed", "drop_last_iter", "dry_run",
    "early_stopping_criterion", "exclude_weight_decay", "exclude_weight_decay_conf", "fold_length",
    "freeze_param", "g2p", "grad_clip", "grad_clip_type", "grad_noise", "ignore_init_mismatch",
    "init", "init_param", "iterator_type", "joint_net_conf", "keep_n_best_checkpoints",
    "keep_n_best_snapshot", "keep_nbest_models", "local_rank", "log_interval", "log_level",
    "lora_conf", "max_batch_size", "max_cache_fd", "max_cache_size", "max_epoch", "min_batch_size",
    "model_log_interval", "multi_task_dataset", "multiple_iterator", "multiprocessing_distributed",
    "nbest_averaging_interval", "ngpu", "no_backward_run", "no_forward_run", "noise_apply_prob",
    "noise_db_range", "noise_scp", "non_linguistic_symbols", "num_att_plot",
    "num_batches_per_epoch", "num_cache_chunks", "num_iters_per_epoch", "num_workers", "optim",
    "optim_conf", "output_dir", "patience", "postencoder_conf", "preencoder_conf", "preprocessor",
    "preprocessor_conf", "pretrain_key", "pretrain_path", "print_config", "required", "resume",
    "resume_epoch", "resume_path", "rir_apply_prob", "rir_scp", "save_lora_only", "save_strategy",
    "scheduler", "scheduler_conf", "seed", "sharded_ddp", "short_noise_thres",
    "shuffle_within_batch", "sort_batch", "sort_in_batch", "specaug", "specaug_conf",
    "train_data_path_and_name_and_type", "train_dtype", "train_shape_file", "unused_parameters",
    "upsampling_factor", "use_adapter", "use_amp", "use_deepspeed", "use_lora", "use_matplotlib",
    "use_preprocessor", "use_tensorboard", "use_tf32", "use_wandb", "val_scheduler_criterion",
    "valid_batch_bins", "valid_batch_size", "valid_batch_type", "valid_data_path_and_name_and_type",
    "valid_iterator_type", "valid_max_cache_size", "valid_shape_file", "version", "wandb_entity",
    "wandb_id", "wandb_model_log_interval", "wandb_name", "wandb_project", "write_collected_feats")
_OF_LOSSES = (
    "aux_ctc", "ctc_weight", "extract_feats_in_collect_stats", "ignore_id", "interctc_weight",
    "lang_token_id", "length_normalized_loss", "lsm_weight", "report_cer", "report_wer",
    "sym_blank", "sym_mask", "sym_space", "transducer_multi_blank_durations",
    "transducer_multi_blank_sigma", "transducer_weight")


def read_model(path: pathlib.Path, name: str, choices: Choices) -> Resolved:
    """The model of an experiment folder.

    Raises:
        ConversionError: one line that names the file, option or parameter at fault.
    """
    if not path.is_dir():
        raise ConversionError(f"{path}: expected an experiment folder with config.yaml and a .pth")
    folder = Folder(path)
    assumed: Dict[str, str] = {}
    notes: List[str] = []
    config = Settings(read_yaml(folder.read("config.yaml", "the experiment's options"),
                                folder.where("config.yaml")), "config.yaml", assumed)
    weights_name = choices.take("checkpoint") or _checkpoint(folder, notes)
    source = folder.where(weights_name)
    _check_kind(config, notes)
    has_transducer = _decoder_kind(config) == "transducer"
    if choices.head == "transducer" and not has_transducer:
        raise ConversionError(f"{source}: --head is {choices.head}, but the model has only ctc")
    eps = choices.take("layer_norm_eps")
    if eps is None:
        assumed["encoder.layer_norm_eps"] = "ESPnet's LayerNorm has 1e-12"
        eps = 1e-12
    encoder = _encoder(config, assumed, eps)
    statistics_file = espnet_features.statistics_file(config)
    espnet_features.check_volume(config, notes)
    features = espnet_features.features(config, assumed)
    tokens = _tokens(config, folder)
    if tokens[:1] != ["<blank>"]:
        assumed["ctc.blank_id"] = "ESPnet has the blank first"
    vocabulary = _vocabulary(config, tokens)
    transducer, decoder = None, None
    head_rules = [_DECODER_RULE]
    if has_transducer and choices.wants("transducer"):
        transducer = espnet_transducer.transducer_section(config, len(tokens))
        head_rules = espnet_transducer.RULES
    elif has_transducer:
        config.ignore("decoder_conf")
        head_rules = espnet_transducer.LEFT_OUT_RULES
    else:
        decoder = read_decoder(_decoder_kind(config), config.section("decoder_conf"), vocabulary,
                               encoder["model_dim"])
    config.ignore(*_OF_TRAINING)
    config.finish()
    if not choices.wants("ctc"):
        head_rules = [(r"ctc\..+", None), *head_rules]
    renamed = rename(read_weights(folder.open(weights_name, "the weights"), source, notes),
                     [*head_rules, *RULES], source)
    _shape_subsampling(renamed)
    found = stack_size(renamed.tensors, "encoder.encoders.")
    if found != encoder["num_layers"]:
        raise ConversionError(f"the weights have {found} encoder layers, config.yaml says "
                              f"num_blocks {encoder['num_layers']}")
    encoder["normalization"] = espnet_features.normalization(config, statistics_file, folder,
                                                             renamed)
    encoder["input_dim"] = features["num_mel_bins"]
    heads: Dict[str, Dict[str, Any]] = {}
    if transducer is None and "ctc.ctc_lo.weight" not in renamed.tensors:
        raise ConversionError(f"{source}: has no CTC head (ctc.ctc_lo; ESPnet makes none with "
                              "ctc_weight 0), expected one: an attention decoder alone is not "
                              "supported")
    # A transducer that was trained with ctc_weight 0 has no CTC.
    if transducer is None or "ctc.ctc_lo.weight" in renamed.tensors:
        heads["ctc"] = {"vocab_size": len(tokens), "blank_id": 0}
    if transducer is not None:
        espnet_transducer.add_biases(renamed)
        heads["transducer"] = transducer
    if decoder is not None:
        attention_decoder = take_decoder(decoder, renamed, eps, notes)
        if attention_decoder is not None:
            heads["attention_decoder"] = attention_decoder
    return Resolved(name, encoder, features, streaming(-1, -1), heads, tokens, renamed, source,
                    assumed, notes)


def _shape_subsampling(renamed: Renamed) -> None:
    """The convolutions of conv1d2 get a second dimension of size 1."""
    for name, tensor in renamed.tensors.items():
        if name.startswith("encoder.embed.conv.") and tensor.dim() == 3:
            renamed.tensors[name] = tensor.unsqueeze(3)


def _check_kind(config: Settings, notes: List[str]) -> None:
    """Rejects models of other kinds by the option that tells the kind."""
    config.require("model", "espnet", "maskctc")
    if config.take("model", "espnet") == "maskctc":
        notes.append("the model is a Mask-CTC: it decodes with its CTC head alone, its masked "
                     "language model does not refine the result")
    if not config.has("input_size"):
        config.choice("frontend", "default", {"default": None})
    for part in ("preencoder", "postencoder"):
        config.require(part, None)
    config.require("use_lang_prompt", False)
    config.require("use_nlp_prompt", False)


def _decoder_kind(config: Settings) -> Optional[str]:
    """None for a model without a decoder, whose config.yaml has null."""
    return config.take("decoder", None if config.is_null("decoder") else "rnn")


def _tokens(config: Settings, folder: Folder) -> List[str]:
    tokens = config.take("token_list")
    if isinstance(tokens, str):
        found = folder.find(tokens)
        if found is None:
            raise ConversionError(f"{folder.where(tokens)}: no such file (the tokens)")
        tokens = units.read_lines(folder.read(found), folder.where(found))
    if not isinstance(tokens, list):
        raise ConversionError("config.yaml.token_list is not a list")
    tokens = units.to_units(tokens, "config.yaml: token_list")
    are_words = config.choice("token_type", "bpe", {"bpe": False, "char": False, "word": True,
                                                    "phn": False})
    return units.from_words(tokens) if are_words else tokens


def _vocabulary(config: Settings, tokens: List[str]) -> Dict[str, int]:
    """What the attention decoder needs to know about the tokens: sos and eos, else the last."""
    model = config.section("model_conf")
    model.ignore(*_OF_LOSSES)
    ids = {}
    for name in ("sos", "eos"):
        symbol = model.take(f"sym_{name}", "<sos/eos>")
        ids[f"{name}_id"] = tokens.index(symbol) if symbol in tokens else len(tokens) - 1
    return {"vocab_size": len(tokens), **ids}


def _checkpoint(folder: Folder, notes: List[str]) -> str:
    """The only *.pth, or the averaged one."""
    names = [name for name in folder.names() if name.endswith(".pth")]
    averaged = [name for name in names if name.endswith("ave.pth")]
    for candidates in (names, averaged):
        if len(candidates) == 1:
            notes.append(f"the weights are those of {candidates[0]}")
            return candidates[0]
    if not names:
        raise ConversionError(f"{folder.where('*.pth')}: no such file (the weights)")
    raise ConversionError(f"{folder.where('*.pth')}: several files ({', '.join(names)}); choose "
                          "with --checkpoint")


def _encoder(config: Settings, assumed: Dict[str, str], eps: float) -> Dict[str, Any]:
    """The `encoder` section without normalization and input_dim."""
    kind = config.choice("encoder", "rnn", {
        name: name for name in ("conformer", "transformer", *branchformers.KINDS)})
    conf = config.section("encoder_conf")
    if kind in branchformers.KINDS:
        return _branchformer(conf, branchformers.KINDS[kind], eps)
    conformer = kind == "conformer"
    activation, convolution, macaron = "relu", None, False
    position: Dict[str, Any] = {"scheme": "absolute"}
    if conformer:
        activation = conf.choice("activation_type", "swish",
                                 {name: name for name in ("swish", "relu")},
                                 "encoder.feed_forward.activation")
        macaron = conf.take("macaron_style", False, "encoder.feed_forward.macaron")
        convolution = _convolution(conf, activation)
        position = _position(conf, "selfattention_layer_type", "legacy")
    else:
        assumed["encoder.feed_forward.activation"] = "ESPnet's Transformer has relu"
    norm_first = conf.take("normalize_before", True, "encoder.norm_first")
    encoder = {
        "type": "conformer",
        "model_dim": conf.size("output_size", 256, "encoder.model_dim"),
        "num_layers": conf.layers("num_blocks", 6, "encoder.num_layers"),
        "num_heads": conf.size("attention_heads", 4, "encoder.num_heads"),
        "feed_forward_dim": conf.size("linear_units", 2048, "encoder.feed_forward_dim"),
        "subsampling": {"type": conf.choice("input_layer", "conv2d", _SUBSAMPLING,
                                            "encoder.subsampling.type")},
        "scale_input": True,
        "position": position,
        "attention_bias": {part: True for part in ("query", "key", "value", "out")},
        "feed_forward": {"macaron": macaron, "activation": activation, "bias": True},
        "convolution": convolution,
        "norm_first": norm_first,
        "after_norm": norm_first,
        "layer_norm_eps": eps,
    }
    conf.require("concat_after", False)
    _check_usual_parts(conf)
    conf.ignore("positionwise_conv_kernel_size")
    conf.require("causal", False)
    if not conformer:  # Conformer options that recipes also set
        conf.require("pos_enc_layer_type", "abs_pos")
        conf.require("selfattention_layer_type", "selfattn")
    return encoder


def _branchformer(conf: Settings, enhanced: bool, eps: float) -> Dict[str, Any]:
    """As `_encoder`. enhanced: an E-Branchformer."""
    activation = "swish"
    if enhanced:
        activation = conf.choice("ffn_activation_type", "swish",
                                 {name: name for name in ("swish", "relu")},
                                 "encoder.feed_forward.activation")
    has_modules = enhanced and conf.take("use_ffn", False)
    macaron = enhanced and conf.take("macaron_ffn", False) and has_modules
    feed_forward_dim, feed_forward = branchformers.read_feed_forward(conf, has_modules, macaron,
                                                                     activation)
    encoder = {
        "type": "branchformer",
        "model_dim": conf.size("output_size", 256, "encoder.model_dim"),
        "num_layers": conf.layers("num_blocks", 12, "encoder.num_layers"),
        "num_heads": conf.size("attention_heads", 4, "encoder.num_heads"),
        "feed_forward_dim": feed_forward_dim,
        "subsampling": {"type": conf.choice("input_layer", "conv2d", _SUBSAMPLING,
                                            "encoder.subsampling.type")},
        "scale_input": True,
        "position": _position(conf, "attention_layer_type", "latest"),
        "attention_bias": {part: True for part in ("query", "key", "value", "out")},
        "feed_forward": feed_forward,
        "branches": branchformers.read_branches(conf, enhanced, "symmetric"),
        "after_norm": True,
        "layer_norm_eps": eps,
    }
    _check_usual_parts(conf)
    conf.ignore("activation_ckpt", "gradient_checkpoint_layers")
    return encoder


def _check_usual_parts(conf: Settings) -> None:
    """Rejects parts of other kinds; names what serves the training."""
    conf.require("positionwise_layer_type", "linear")
    conf.require("zero_triu", False)
    conf.require("interctc_use_conditioning", False)
    conf.require("ctc_trim", False)  # drops frames that the CTC of a lower layer takes for blank
    conf.require("qk_norm", False)
    conf.ignore("dropout_rate", "positional_dropout_rate", "attention_dropout_rate", "padding_idx",
                "interctc_layer_idx", "stochastic_depth_rate", "layer_drop_rate",
                "max_pos_emb_len", "use_flash_attn")


def _convolution(conf: Settings, activation: str) -> Optional[Dict[str, Any]]:
    if not conf.take("use_cnn_module", True, "encoder.convolution"):
        conf.ignore("cnn_module_kernel")
        return None
    return {"type": "symmetric",
            "kernel_size": conf.size("cnn_module_kernel", 31, "encoder.convolution.kernel_size"),
            "norm": "batch_norm", "norm_epsilon": 1e-5, "activation": activation, "bias": True,
            "left_padding": "zero"}


def _position(conf: Settings, attention_option: str, rel_pos_type: str) -> Dict[str, Any]:
    """The `position` object.

    Args:
        attention_option: the name of the option that tells the kind of attention.
        rel_pos_type: the default of that option: whether rel_pos means the legacy kind or the
            latest.
    """
    positions = conf.choice("pos_enc_layer_type", "rel_pos", {
        name: name for name in ("rel_pos", "legacy_rel_pos", "abs_pos")}, "encoder.position.scheme")
    attention = conf.choice(attention_option, "rel_selfattn", {
        name: name for name in ("rel_selfattn", "legacy_rel_selfattn", "selfattn")})
    kind = conf.choice("rel_pos_type", rel_pos_type, {"legacy": "legacy", "latest": "latest"},
                       "encoder.position.scheme")
    if kind == "legacy":
        positions, attention = (value if value.startswith("legacy_") or not value.startswith("rel_")
                                else f"legacy_{value}" for value in (positions, attention))
    schemes: Dict[Tuple[str, str], Dict[str, Any]] = {
        ("abs_pos", "selfattn"): {"scheme": "absolute"},
        ("rel_pos", "rel_selfattn"): {
            "scheme": "chunk_rpe", "linear_pos_bias": False, "query_scaling": "after_bias",
            "table_order": "descending"},
        ("legacy_rel_pos", "legacy_rel_selfattn"): {
            "scheme": "legacy_rel_pos", "linear_pos_bias": False, "query_scaling": "after_bias",
            "table_length": conf.size("max_pos_emb_len", 5000, "encoder.position.table_length")},
        # The relative table is not used.
        ("rel_pos", "selfattn"): {"scheme": "none"},
        ("legacy_rel_pos", "selfattn"): {"scheme": "none"},
    }
    if (positions, attention) not in schemes:
        raise ConversionError(f"config.yaml.encoder_conf.pos_enc_layer_type {positions} with "
                              f"{attention_option} {attention} is not supported")
    return schemes[positions, attention]
