"""The features of ESPnet's experiments: front end, normalisation, volume."""

from typing import Any, Dict, List, Optional

from models.convert import statistics
from models.convert.errors import ConversionError
from models.convert.features import espnet_features
from models.convert.folder import Folder
from models.convert.renaming import Renamed
from models.convert.settings import Settings, shown
from models.reference.archive import fbank_section

# Usual numbers of filters in Kaldi's filter bank.
_FILTERS = (20, 23, 24, 26, 30, 32, 36, 40, 60, 64, 72, 80, 96, 100, 120, 128)


def statistics_file(config: Settings) -> Optional[str]:
    """The name of the file of the features' statistics; rejects other normalisations."""
    # ESPnet's default is utterance_mvn; what a trained experiment wrote is explicit, or null.
    kind = config.take("normalize", None)
    conf = config.section("normalize_conf")
    if kind not in (None, "global_mvn", "utterance_mvn"):
        raise ConversionError(f"config.yaml.normalize is {kind!r}, which is not supported; "
                              "supported: global_mvn, utterance_mvn, null")
    if kind == "utterance_mvn":
        conf.require("norm_means", True)
    conf.ignore("norm_means", "norm_vars", "eps")  # read by normalization
    return conf.file("stats_file")


def normalization(config: Settings, file: Optional[str], folder: Folder, renamed: Renamed
                  ) -> Dict[str, Any]:
    """That of utterance_mvn, or the statistics of global_mvn, from the weights or from a file."""
    conf = config.section("normalize_conf")
    tensors = renamed.tensors
    mean, std = tensors.pop("normalize.mean", None), tensors.pop("normalize.std", None)
    kind = config.take("normalize", None)
    if kind is None:
        return {"type": "none"}
    if kind == "utterance_mvn":
        if not conf.take("norm_vars", False):
            return {"type": "utterance_mean"}
        return {"type": "utterance_biased",
                "epsilon": float(conf.take("eps", statistics.SMALLEST_VARIANCE))}
    if mean is not None and std is not None:
        istd = 1.0 / std.double().reshape(-1)
        mean, istd = mean.reshape(-1), istd.float()
    else:
        found = folder.find(file, "feats_stats.npz")
        if found is None:
            raise ConversionError(f"{folder.where('feats_stats.npz')}: no such file (the features' "
                                  "statistics, which the weights do not hold)")
        eps = conf.take("eps", statistics.SMALLEST_VARIANCE)
        mean, istd = statistics.read_espnet(folder.read(found), folder.where(found), eps)
    tensors["encoder.global_cmvn.mean"] = mean if conf.take("norm_means", True) else mean * 0
    tensors["encoder.global_cmvn.istd"] = istd if conf.take("norm_vars", True) else istd * 0 + 1
    return {"type": "global_cmvn"}


def check_volume(config: Settings, notes: List[str]) -> None:
    """Rejects a change of the volume that the normalisation of the features does not undo.

    ESPnet multiplies each recording by speech_volume_normalize / max |x|. That adds a number to
    the logarithm of every filter, which the mean over the utterance takes away, except where a
    filter is below the floor of the logarithm.
    """
    volume = config.take("speech_volume_normalize", None)
    if volume is None:
        return
    if config.take("normalize", None) != "utterance_mvn" or config.has("input_size"):
        raise ConversionError(f"config.yaml.speech_volume_normalize is {shown(volume)}, which is "
                              "not supported without utterance_mvn of ESPnet's features")
    notes.append(f"speech_volume_normalize {shown(volume)} is left out: the mean over the "
                 "utterance takes it away, except in frames below the floor of the logarithm")


def features(config: Settings, assumed: Dict[str, str]) -> Dict[str, Any]:
    """Kaldi's features with `input_size` bins without a front end, otherwise ESPnet's."""
    if config.has("input_size"):
        config.ignore("frontend", "frontend_conf")
        assumed["features"] = "input_size is given: taken to be Kaldi's filterbank of 16 kHz audio"
        return fbank_section(num_mel_bins=_filters(config.size("input_size")))
    return espnet_features(config.section("frontend_conf"), "config.yaml.frontend_conf")


def _filters(size: int) -> int:
    """Checks that features of this size can be those of a filter bank alone."""
    if size in _FILTERS:
        return size
    reason = "expected the size of a filter bank (--feats_type fbank), for example 80"
    if size - 3 in _FILTERS:
        reason = (f"{size - 3} filters and 3 values of the pitch (--feats_type fbank_pitch), which "
                  "is not supported; supported: --feats_type raw, fbank")
    raise ConversionError(f"config.yaml.input_size is {size}: {reason}")
