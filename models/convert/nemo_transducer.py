"""Options and tensors of NeMo's transducer head and language prompt."""

from typing import Any, Dict, List

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


def transducer_section(config: Settings, vocab_size: int) -> Dict[str, Any]:
    """The `transducer` section of RNNTDecoder, RNNTJoint and their decoding.

    Args:
        vocab_size: tokens, the blank included, which is the last.

    Raises:
        ConversionError: names the option that is not supported.
    """
    durations = _durations(config)
    hidden, layers = _prediction(config.section("decoder"), vocab_size)
    greedy = config.section("decoding").section("greedy")
    older_name = greedy.has("max_symbols_per_step") and not greedy.has("max_symbols")
    max_symbols = greedy.size("max_symbols_per_step" if older_name else "max_symbols", 10,
                              "transducer.max_symbols")
    return {
        "vocab_size": vocab_size, "blank_id": vocab_size - 1,
        "predictor": lstm_predictor(hidden, hidden, layers, None),
        "joint": _joint(config.section("joint"), vocab_size, len(durations)),
        "durations": durations, "max_symbols": max_symbols, "beam": "time_synchronous",
    }


def _class_of(section: Settings, where: str, *supported: str) -> None:
    """Rejects a section for a class that is not supported."""
    target = str(section.take("_target_", supported[0]))
    if target.rsplit(".", 1)[-1] not in supported:
        raise ConversionError(f"{_WHERE}.{where}._target_ is {target}, which is not supported; "
                              f"supported: {', '.join(supported)}")


def _prediction(decoder: Settings, vocab_size: int) -> Any:
    """Hidden size and number of layers of the LSTM."""
    _class_of(decoder, "decoder", "RNNTDecoder")
    decoder.require("normalization_mode", None)
    decoder.require("blank_as_pad", True)
    decoder.require("vocab_size", vocab_size - 1)
    decoder.ignore("random_state_sampling", "num_classes", "vocabulary")
    prednet = decoder.section("prednet")
    hidden, layers = prednet.size("pred_hidden"), prednet.size("pred_rnn_layers")
    prednet.require("rnn_hidden_size", -1, hidden)
    prednet.ignore("t_max", "dropout", "forget_gate_bias", "weights_init_scale",
                   "hidden_hidden_bias_scale")
    prednet.finish()
    decoder.finish()
    return hidden, layers


def _joint(joint: Settings, vocab_size: int, num_durations: int) -> Dict[str, Any]:
    _class_of(joint, "joint", "RNNTJoint", "SampledRNNTJoint")
    joint.require("num_classes", vocab_size - 1)
    if joint.take("num_extra_outputs", 0) != num_durations:
        raise ConversionError(f"{_WHERE}.joint.num_extra_outputs is "
                              f"{joint.take('num_extra_outputs', 0)}, expected {num_durations}, "
                              "the number of durations")
    joint.ignore("vocabulary", "log_softmax", "preserve_memory", "fuse_loss_wer",
                 "fused_batch_size", "experimental_fuse_loss_wer", "masking_prob", "n_samples")
    net = joint.section("jointnet")
    section = {"dim": net.size("joint_hidden"), "input_linear": True, "hidden_linear": False,
               "activation": net.choice("activation", "relu", {"relu": "relu", "tanh": "tanh"},
                                        "transducer.joint.activation")}
    net.ignore("dropout", "encoder_hidden", "pred_hidden")
    net.finish()
    joint.finish()
    return section


def _durations(config: Settings) -> List[int]:
    """TDT's durations, in frames; empty for RNN-T."""
    decoding = config.section("decoding")
    decoding.require("big_blank_durations", [])
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
                   notes: List[str]) -> Dict[str, Any]:
    """The `prompt` section of a model with a prompt_kernel."""
    defaults = config.section("model_defaults")
    where = f"{_WHERE}.model_defaults"
    if not defaults.take("initialize_prompt_feature", False):
        raise ConversionError(f"{where}.initialize_prompt_feature is not true, but the weights "
                              "have a prompt_kernel")
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
