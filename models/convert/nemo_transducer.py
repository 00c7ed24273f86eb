"""Options and tensors of NeMo's transducer head and language prompt."""

from typing import Any, Dict, List, Optional

import torch

from models.convert.errors import ConversionError
from models.convert.renaming import Renamed, Rule
from models.convert.settings import Settings
from models.convert.transducers import lstm_predictor

_PARAMETER = r"(weight|bias)"
_LSTM = r"decoder\.prediction\.dec_rnn\.lstm\."
_PREDICTOR = "transducer.predictor."
RULES: List[Rule] = [
    (r"decoder\.prediction\.embed\.weight", f"{_PREDICTOR}embedding.weight"),
    (rf"{_LSTM}(weight|bias)_(ih|hh)_l(\d+)", rf"{_PREDICTOR}lstm.\3.\1_\2"),
    # One table for each place in the context; joined by join_embeddings.
    (r"decoder\.prediction\.embeds\.(\d+)\.weight", rf"{_PREDICTOR}embeds.\1"),
    (rf"joint\.enc\.{_PARAMETER}", r"transducer.joint.encoder.\1"),
    (rf"joint\.pred\.{_PARAMETER}", r"transducer.joint.predictor.\1"),
    # After the activation; 2 with dropout between them.
    (rf"joint\.joint_net\.[12]\.{_PARAMETER}", r"transducer.joint.out.\1"),
]
PROMPT_RULES: List[Rule] = [
    (rf"prompt_kernel\.0\.{_PARAMETER}", r"prompt.w_1.\1"),
    (rf"prompt_kernel\.2\.{_PARAMETER}", r"prompt.w_2.\1"),
]
_WHERE = "model_config.yaml"
_ACTIVATIONS = {name: name for name in ("relu", "tanh", "sigmoid")}


# Options of the decoding that choose a search or what it reports.
_OF_DECODING = (
    "beam", "compute_hypothesis_token_set", "compute_langs", "compute_timestamps", "confidence_cfg",
    "fused_batch_size", "preserve_alignments", "rnnt_timestamp_type", "segment_gap_threshold",
    "segment_seperators", "strategy", "tdt_include_token_duration", "temperature",
    "word_seperator")
_OF_GREEDY = (
    "boosting_tree", "boosting_tree_alpha", "confidence_measure_cfg", "confidence_method",
    "confidence_method_cfg", "loop_labels", "max_symbols", "max_symbols_per_step", "ngram_lm_alpha",
    "preserve_alignments", "preserve_frame_confidence",
    "tdt_include_duration_confidence", "tdt_include_token_duration", "use_cuda_graph_decoder")


def transducer_section(config: Settings) -> Dict[str, Any]:
    """The `transducer` section of a decoder, RNNTJoint and their decoding, without vocabulary.

    Raises:
        ConversionError: names the option that is not supported.
    """
    decoder = check_class(config.section("decoder"), "decoder", "RNNTDecoder",
                          "StatelessTransducerDecoder")
    check_class(config.section("joint"), "joint", "RNNTJoint", "SampledRNNTJoint")
    durations = _durations(config)
    predictor = _lstm if decoder == "RNNTDecoder" else _stateless
    greedy = config.section("decoding").section("greedy")
    greedy.null_is_absent("max_symbols", "max_symbols_per_step")
    older_name = greedy.has("max_symbols_per_step") and not greedy.has("max_symbols")
    max_symbols = greedy.size("max_symbols_per_step" if older_name else "max_symbols", 10,
                              "transducer.max_symbols")
    greedy.ignore(*_OF_GREEDY)
    return {
        "predictor": predictor(config.section("decoder")),
        "joint": _joint(config.section("joint"), len(durations)),
        "durations": durations, "max_symbols": max_symbols, "beam": "time_synchronous",
    }


def check_class(section: Settings, where: str, *supported: str) -> str:
    """The name of a section's class; rejects one that is not supported."""
    target = str(section.take("_target_", supported[0]))
    name = target.rsplit(".", 1)[-1]
    if name not in supported:
        raise ConversionError(f"{_WHERE}.{where}._target_ is {target}, which is not supported; "
                              f"supported: {', '.join(supported)}")
    return name


def check_vocabulary(config: Settings, vocab_size: int) -> None:
    """Checks the sizes in the options. vocab_size: tokens, and the blank, which is the last."""
    config.section("decoder").require("vocab_size", vocab_size - 1)
    config.section("joint").require("num_classes", vocab_size - 1)


def _lstm(decoder: Settings) -> Dict[str, Any]:
    """The `predictor` object of RNNTDecoder."""
    decoder.require("normalization_mode", None)
    decoder.require("blank_as_pad", True)
    decoder.ignore("random_state_sampling", "num_classes", "vocab_size", "vocabulary")
    prednet = decoder.section("prednet")
    hidden, layers = prednet.size("pred_hidden"), prednet.layers("pred_rnn_layers")
    prednet.require("rnn_hidden_size", -1, hidden)
    prednet.ignore("t_max", "dropout", "forget_gate_bias", "weights_init_scale",
                   "hidden_hidden_bias_scale")
    return lstm_predictor(hidden, hidden, layers, None)


def _stateless(decoder: Settings) -> Dict[str, Any]:
    """The `predictor` object of StatelessTransducerDecoder; its tensors: join_embeddings."""
    decoder.ignore("num_classes", "vocab_size", "vocabulary")
    decoder.null_is_absent("normalization_mode")
    epsilon = decoder.choice("normalization_mode", "none", {"none": None, "layer": 1e-5})
    prednet = decoder.section("prednet")
    hidden = prednet.size("pred_hidden")
    prednet.ignore("pred_rnn_layers", "t_max", "dropout")
    return {"type": "conv", "embedding_dim": hidden,
            "context_size": decoder.size("context_size", 1), "groups": hidden, "bias": False,
            "norm_epsilon": epsilon, "activation": "identity"}


def join_embeddings(renamed: Renamed, predictor: Dict[str, Any], source: str) -> None:
    """Makes one embedding and a convolution of the tables of StatelessTransducerDecoder.

    Its output is the vectors of the last tokens, each from a table of its own, side by side, the
    last token's first. That is a convolution whose channels each read one token.
    """
    found = {name: renamed.tensors.pop(name) for name in list(renamed.tensors)
             if name.startswith(f"{_PREDICTOR}embeds.")}
    if predictor["type"] == "lstm" and not found:
        return
    names = [f"{_PREDICTOR}embeds.{i}" for i in range(predictor.get("context_size", 0))]
    dims = sum(table.size(1) for table in found.values())
    if sorted(found) != sorted(names) or dims != predictor["embedding_dim"]:
        raise ConversionError(f"{source}: decoder.prediction.embeds has {len(found)} tables of "
                              f"{dims} columns, expected those of context_size {len(names)} and "
                              f"pred_hidden {predictor['embedding_dim']}")
    tables = [found[name] for name in names]
    for name, table in zip(names, tables):
        if table[-1].any():  # before the first token, NeMo has zeros
            raise ConversionError(f"{source}: {renamed.origin[name]}: the row of the blank is not "
                                  "zero, expected zeros, as NeMo trains it")
    convolution = torch.zeros(dims, 1, len(tables))
    first = 0
    for i, table in enumerate(tables):
        convolution[first:first + table.size(1), 0, len(tables) - 1 - i] = 1
        first += table.size(1)
    made = {"embedding.weight": torch.cat(tables, 1), "conv.weight": convolution}
    if predictor["norm_epsilon"] is not None:  # NeMo's has no weights
        made.update({"norm.weight": torch.ones(dims), "norm.bias": torch.zeros(dims)})
    for name, tensor in made.items():
        renamed.tensors[_PREDICTOR + name] = tensor
        renamed.origin[_PREDICTOR + name] = renamed.origin[names[0]]


def _joint(joint: Settings, num_durations: int) -> Dict[str, Any]:
    if joint.take("num_extra_outputs", 0) != num_durations:
        raise ConversionError(f"{_WHERE}.joint.num_extra_outputs is "
                              f"{joint.take('num_extra_outputs', 0)}, expected {num_durations}, "
                              "the number of durations")
    joint.ignore("num_classes", "vocabulary", "log_softmax", "preserve_memory", "fuse_loss_wer",
                 "fused_batch_size", "experimental_fuse_loss_wer", "masking_prob", "n_samples")
    net = joint.section("jointnet")
    net.ignore("dropout", "encoder_hidden", "pred_hidden")
    return {"dim": net.size("joint_hidden"), "input_linear": True, "hidden_linear": False,
            "activation": net.choice("activation", "relu", _ACTIVATIONS,
                                     "transducer.joint.activation")}


def _durations(config: Settings) -> List[int]:
    """TDT's durations, in frames; empty for RNN-T."""
    decoding = config.section("decoding")
    decoding.ignore(*_OF_DECODING)
    decoding.require("big_blank_durations", [], None)
    decoding.choice("model_type", "rnnt", {"rnnt": None, "tdt": None})
    places = (("decoding.durations", decoding.take("durations", None)),
              ("model_defaults.tdt_durations",
               config.section("model_defaults").take("tdt_durations", None)),
              ("loss.tdt_kwargs.durations",
               config.section("loss").section("tdt_kwargs").take("durations", None)))
    extra = config.section("joint").take("num_extra_outputs", 0)
    for where, value in places[:None if extra else 1]:
        if value is None:
            continue
        if not isinstance(value, list) or not all(type(one) is int for one in value):
            raise ConversionError(f"{_WHERE}.{where} is {value!r}, expected a list of frames")
        return value
    return []


def prompt_section(config: Settings, renamed: Renamed, assumed: Dict[str, str],
                   notes: List[str]) -> Optional[Dict[str, Any]]:
    """The `prompt` section of a model with a prompt_kernel, None for others."""
    defaults = config.section("model_defaults")
    where = f"{_WHERE}.model_defaults"
    expected = defaults.take("initialize_prompt_feature", False)
    if expected != any(name.startswith("prompt.") for name in renamed.tensors):
        raise ConversionError(f"{where}.initialize_prompt_feature is {str(expected).lower()}, but "
                              f"the weights have {'no' if expected else 'a'} prompt_kernel")
    if not expected:
        return None
    numbers = defaults.take("prompt_dictionary")
    languages = [""] * defaults.size("num_prompts", 128, "prompt.languages")
    if not isinstance(numbers, dict) or not numbers:
        raise ConversionError(f"{where}.prompt_dictionary is {numbers!r}, expected numbers by "
                              "language")
    for name, number in numbers.items():
        if type(number) is not int or not 0 <= number < len(languages):
            raise ConversionError(f"{where}.prompt_dictionary.{name} is {number!r}, expected a "
                                  f"number below num_prompts {len(languages)}")
        # Of several names the longest remains: en-US, not en.
        languages[number] = max(languages[number], str(name), key=len)
    aliases = [f"{name} (choose {languages[number]})" for name, number in numbers.items()
               if str(name) != languages[number]]
    if aliases:
        notes.append(f"other names of languages are left out: {', '.join(aliases)}")
    default = next((name for name in ("auto", "en-US") if name in languages),
                   next(name for name in languages if name))
    assumed["prompt.default"] = "the source states none"
    hidden = renamed.tensors.get("prompt.w_1.weight")
    return {"languages": languages, "default": default,
            "hidden_dim": 1 if hidden is None else int(hidden.size(0))}
