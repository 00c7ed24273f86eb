"""The features of WeNet's models and their statistics, from train.yaml."""

import dataclasses
from typing import Any, Dict, List, Optional

from models.convert import statistics
from models.convert.errors import ConversionError
from models.convert.features import wenet_fbank, wenet_mfcc
from models.convert.folder import Folder
from models.convert.renaming import Renamed
from models.convert.settings import Settings

_TENSORS = ("encoder.global_cmvn.mean", "encoder.global_cmvn.istd")
# Options that serve the training, and those of features of other types.
_OF_DATASETS = (
    "batch_conf", "batch_size", "batch_type", "cycle", "filter_conf", "language_conf",
    "list_shuffle", "list_shuffle_conf", "log_mel_spectrogram_conf", "max_frames_in_batch",
    "max_length", "min_length", "shuffle", "shuffle_conf", "singal_channel_conf",
    "sort", "sort_conf", "speaker_conf", "spec_aug", "spec_aug_conf", "spec_sub", "spec_sub_conf",
    "spec_trim", "spec_trim_conf", "speed_perturb", "split_with_space", "syncbn",
    "token_max_length", "token_min_length")
_OF_COLLATION = (
    "feature_dither", "spec_aug", "spec_aug_conf", "spec_sub", "spec_sub_conf", "speed_perturb",
    "wav_distortion_conf")


@dataclasses.dataclass(frozen=True)
class Statistics:
    """The options of the features' statistics."""

    kind: Optional[str]  # "global_cmvn", "none", or None: as the weights show
    file: Optional[str]
    is_json: bool

    def normalization(self, folder: Folder, renamed: Renamed, notes: List[str]) -> Dict[str, Any]:
        """The `normalization` object; adds the statistics if they are in their file only.

        Every version of WeNet keeps the statistics in the weights of a model that uses them.
        """
        if all(name in renamed.tensors for name in _TENSORS):
            if self.kind == "none":
                raise ConversionError("train.yaml.cmvn is null, but the weights hold "
                                      f"{_TENSORS[0]}, expected global_cmvn")
            return {"type": "global_cmvn"}
        if self.kind != "global_cmvn":
            if self.file:
                notes.append(f"the features are not normalised: cmvn_file is {self.file}, but "
                             "the weights hold no statistics and cmvn is not global_cmvn")
            return {"type": "none"}
        found = folder.find(self.file, "global_cmvn")
        if found is None:
            raise ConversionError(f"{folder.where('global_cmvn')}: no such file (the features' "
                                  "statistics, which the weights do not hold)")
        values = statistics.read_wenet(folder.read(found), self.is_json, folder.where(found))
        for name, tensor in zip(_TENSORS, values):
            renamed.tensors[name] = tensor
            renamed.origin[name] = found
        notes.append(f"the features' statistics are those of {found}")
        return {"type": "global_cmvn"}


def read_statistics(config: Settings) -> Statistics:
    """cmvn and cmvn_conf since v3; before that, cmvn_file and is_json_cmvn of the command line."""
    conf = config.section("cmvn_conf")
    kind = "none" if config.is_null("cmvn") else config.take("cmvn", None)
    if kind not in (None, "none", "global_cmvn"):
        raise ConversionError(f"train.yaml.cmvn is {kind!r}, which is not supported; supported: "
                              "global_cmvn, null")
    outer, inner = config.file("cmvn_file"), conf.file("cmvn_file")
    is_json = config.take("is_json_cmvn", True) and conf.take("is_json_cmvn", True)
    conf.ignore("is_json_cmvn")
    return Statistics(kind, outer or inner, is_json)


def read_features(config: Settings) -> Dict[str, Any]:
    """dataset_conf.fbank_conf or mfcc_conf since v1.0; before that, collate_conf."""
    dataset = config.section("dataset_conf")
    kind = dataset.take("feats_type", "fbank")
    if kind not in ("fbank", "mfcc"):
        raise ConversionError(f"train.yaml.dataset_conf.feats_type is {kind!r}, which is not "
                              "supported; supported: fbank, mfcc")
    dataset.ignore(*_OF_DATASETS)
    rate = dataset.section("resample_conf").take("resample_rate", 16000,
                                                 "features.sample_frequency")
    if not all([config.take("raw_wav", True), dataset.take("raw_wav", True)]):
        config.assumed["features"] = ("raw_wav is false: the features were computed before the "
                                      "training; taken to be Kaldi's filter bank")
    if kind == "mfcc":
        dataset.ignore("fbank_conf")
        config.ignore("collate_conf")
        return wenet_mfcc(dataset.section("mfcc_conf"), rate)
    dataset.ignore("mfcc_conf")
    if dataset.has("fbank_conf") or not config.has("collate_conf"):
        config.ignore("collate_conf")
        return wenet_fbank(dataset.section("fbank_conf"), "num_mel_bins", rate)
    collate = config.section("collate_conf")
    collate.ignore(*_OF_COLLATION)
    features = collate.section("feature_extraction_conf")
    features.require("feature_type", "fbank")
    features.require("using_pitch", False)
    return wenet_fbank(features, "mel_bins", rate)
