"""The options of a NeMo model: the file, the heads that it has, and options outside of them."""

import re
from typing import Any, Dict, List

from models.convert.choices import Choices
from models.convert.errors import ConversionError
from models.convert.folder import Folder
from models.convert.nemo_transducer import check_class
from models.convert.settings import Settings, read_yaml

# Options of the model that serve the training only.
_OF_TRAINING = (
    "compute_eval_loss", "ctc_reduction", "freeze_updates", "init_from_nemo_model",
    "init_from_pretrained_model", "init_from_ptl_ckpt", "init_strict", "interctc", "log_prediction",
    "loss", "nemo_version", "normalize_decoder_norm", "normalize_encoder_norm",
    "normalize_joint_norm", "normalize_joint_txu", "optim", "optim_param_groups", "rnnt_reduction",
    "skip_nan_grad", "spec_augment", "target", "test_ds", "train_ds", "use_cer", "validation_ds",
    "variational_noise")


def read_settings(folder: Folder, assumed: Dict[str, str]) -> Settings:
    """The `model` section of model_config.yaml."""
    values = read_yaml(folder.read("model_config.yaml"), folder.where("model_config.yaml"))
    values = values["model"] if isinstance(values.get("model"), dict) else values
    return Settings(_interpolated(values, values), "model_config.yaml", assumed)


def _interpolated(value: Any, root: Dict[str, Any], depth: int = 0) -> Any:
    """`value` with ${a.b} replaced by the value it refers to, if that exists."""
    if isinstance(value, dict):
        return {key: _interpolated(inner, root, depth) for key, inner in value.items()}
    if isinstance(value, list):
        return [_interpolated(inner, root, depth) for inner in value]
    match = re.fullmatch(r"\$\{(?:model\.)?([\w.]+)\}", value) if isinstance(value, str) else None
    if match is None or depth > 8:
        return value
    found: Any = root
    for part in match.group(1).split("."):
        if not isinstance(found, dict) or part not in found:
            return value
        found = found[part]
    return _interpolated(found, root, depth + 1)


def heads_of(config: Settings) -> List[str]:
    """The heads of the model that the options describe. Rejects models of other kinds."""
    config.require("adapters", None)
    found = [head for head, there in (
        ("ctc", config.has("aux_ctc") or config.has("decoder") and not config.has("joint")),
        ("transducer", config.has("joint"))) if there]
    if not found and config.has("transf_decoder"):
        raise ConversionError("model_config.yaml has only an attention decoder (transf_decoder), "
                              "expected a CTC or transducer model (target is "
                              f"{config.take('target', 'missing')})")
    if not found:
        raise ConversionError("model_config.yaml has neither decoder nor joint, expected a CTC or "
                              f"transducer model (target is {config.take('target', 'missing')})")
    return found


def tokenizer_type(config: Settings) -> str:
    """In small letters; "none" for a model of characters, which has no tokenizer."""
    return str(config.section("tokenizer").take("type", None) or "none").lower()


def kept_heads(found: List[str], source: str, choices: Choices) -> List[str]:
    """Those of the heads that the user wants."""
    kept = [head for head in found if choices.wants(head)]
    if not kept:
        raise ConversionError(f"{source}: --head is {choices.head}, but the model has only "
                              f"{found[0]}")
    return kept


def read_ctc(config: Settings, kept: List[str]) -> None:
    """Checks the options of the CTC head; ignores those of a head that is not kept."""
    auxiliary = config.section("aux_ctc")
    auxiliary.ignore("ctc_loss_weight", "ctc_reduction", "decoding", "use_cer")
    of_hybrid = config.has("aux_ctc")
    decoder = (auxiliary if of_hybrid else config).section("decoder")
    if "ctc" in kept:
        check_class(decoder, "aux_ctc.decoder" if of_hybrid else "decoder", "ConvASRDecoder")
        decoder.require("add_blank", True)
        decoder.ignore("feat_in", "init_mode", "num_classes", "vocabulary")
    elif of_hybrid:
        decoder.ignore_rest()
    if "transducer" not in kept:
        config.ignore("decoding")  # of CTC: what the search reports
        if of_hybrid:
            config.section("decoder").ignore_rest()
            config.section("joint").ignore_rest()


def note_unread(config: Settings, notes: List[str]) -> None:
    """A note of options outside of the network that are not known.

    There a file has the user's variables, and the whole configuration of NeMo's searches.
    """
    config.ignore(*_OF_TRAINING)
    config.section("tokenizer").ignore("dir", "hf_kwargs", "model_path", "spe_tokenizer_vocab",
                                       "vocab_path")
    config.section("loss").ignore_rest()
    config.section("model_defaults").ignore_rest()  # variables that other options refer to
    unread = config.unknown()
    if unread:
        notes.append(f"options that were not read: {'; '.join(unread)}")
