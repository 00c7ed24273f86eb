"""NeMo models become archives that compute what NeMo computes."""

import pathlib
import tarfile
from typing import Any, List, Tuple

import numpy as np
import pytest
import soundfile
import torch
import torchaudio
import yaml
from convert_support import TOLERANCE, convert, encode, need_shared, refusal
from nemo_files import (CASES, PIECES, NemoFile, load_case, recorded_caches, sentencepiece_model,
                        settings_of)

from models.convert.token_kinds import TokenKinds, language_of_tag, special_tokens
from models.reference.archive import mel_spectrogram_section
from models.reference.config import SubsamplingConfig
from models.reference.subsampling import geometry_of


@pytest.mark.parametrize("name", CASES)
def test_recorded_cases(name, tmp_path):
    """Every latency computes NeMo's values, and the archive allows these latencies only."""
    arrays = load_case(name)
    nemo = NemoFile(name)
    nemo.config["preprocessor"]["normalize"] = "NA"  # the recorded features enter the encoder
    module, config, units = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    sizes = settings_of(nemo.config["encoder"])
    for i, (chunk_size, left) in enumerate(sizes):
        encoded, _ = encode(module, arrays["features"], chunk_size, left)
        torch.testing.assert_close(encoded, torch.from_numpy(arrays[f"encoder_{i}"]), rtol=0,
                                   atol=TOLERANCE)
    settings = [{"chunk_size": chunk_size, "left_context": left} for chunk_size, left in sizes]
    assert config["streaming"]["only"] == (None if sizes == [(-1, -1)] else settings)
    assert config["streaming"]["chunk_size"] == settings[0]["chunk_size"]
    assert units == [*PIECES, "<blank>"] and config["ctc"]["blank_id"] == len(PIECES)


@pytest.mark.parametrize("name", ["fastconformer_streaming", "conformer_streaming_striding",
                                  "fastconformer_multitalker"])
def test_recorded_caches(name, tmp_path):
    """What the archive's code remembers of a stream, chunk by chunk, is what NeMo remembers."""
    arrays = load_case(name)
    nemo = NemoFile(name)
    module, config, _ = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    geometry = geometry_of(SubsamplingConfig(**config["encoder"]["subsampling"]))
    compared = 0
    for i, (chunk_size, left) in enumerate(settings_of(nemo.config["encoder"])):
        recorded = recorded_caches(arrays, i)
        if recorded is None:
            continue
        att, cnn = module.initial_caches()
        for offset in range(0, recorded[0], chunk_size):
            begin, end = geometry.feature_range(offset, chunk_size)
            chunk = torch.from_numpy(arrays["features"][begin:end])[None]
            _, att, cnn = module.encode_chunk(chunk, offset, False, left, att, cnn)
        for layer, (keys, values, gated) in enumerate(recorded[1]):
            # (H, n, 2 d_k): keys and values of each head.
            found = att[layer].transpose(0, 1)
            half = found.size(2) // 2
            for tensor, expected in ((found[..., :half].flatten(1), keys),
                                     (found[..., half:].flatten(1), values),
                                     (cnn[layer, 0].t(), gated)):
                torch.testing.assert_close(tensor, torch.from_numpy(expected), rtol=0,
                                           atol=TOLERANCE)
        compared += 1
    assert compared == {"fastconformer_streaming": 3, "conformer_streaming_striding": 1,
                        "fastconformer_multitalker": 2}[name]


def test_speaker_kernels_of_one_speaker(tmp_path, capsys):
    """Without a background kernel, and parameters that are missing, odd or not announced."""
    arrays = load_case("fastconformer_multitalker")
    nemo = NemoFile("fastconformer_multitalker")

    def refused() -> str:
        return refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")

    def converted() -> Any:
        return convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")

    assert converted()[1]["encoder"]["type"] == "multitalker_conformer"
    assert "note: speakers are not told apart" in capsys.readouterr().out
    bias = nemo.weights.pop("bg_spk_kernels.0.0.bias")
    assert "no parameter for background.w_1.bias" in refused()
    nemo.weights["bg_spk_kernels.0.0.bias"] = bias[1:]
    assert "the parameters of bg_spk_kernels have the shapes" in refused()
    nemo.weights["bg_spk_kernels.0.0.bias"] = bias
    nemo.config["add_bg_spk_kernel"] = False
    assert "bg_spk_kernels.0.0.weight has no place" in refused()
    for name in list(nemo.weights):
        if name.startswith("bg_"):
            del nemo.weights[name]
    encoded, _ = encode(converted()[0], arrays["features"], 7, 14)
    assert (encoded - torch.from_numpy(arrays["encoder_0"])).abs().max() > 0.01
    capsys.readouterr()
    nemo.config["add_bg_spk_kernel"] = True
    assert "no parameter for background.w_1.weight" in refused()
    nemo.config["spk_kernel_type"] = None
    assert "spk_kernels.0.0.weight has no place" in refused()


@pytest.mark.parametrize("name, value", [
    ("spk_kernel_type", "conv2d"), ("spk_kernel_type", 1), ("spk_kernel_layers", [0, 8]),
    ("spk_kernel_layers", []), ("spk_kernel_layers", 0), ("add_bg_spk_kernel", 1)])
def test_speaker_kernels_of_other_kinds(name, value, tmp_path, capsys):
    nemo = NemoFile("fastconformer_multitalker")
    nemo.config[name] = value
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert f"model_config.yaml.{name} is {value!r}, " in line


def test_unified_model_computes_whole_utterances(tmp_path, capsys):
    """The encoder options of parakeet-unified-en-0.6b, whose windows are not supported."""
    arrays = load_case("fastconformer_offline")
    nemo = NemoFile("fastconformer_offline")
    nemo.config["preprocessor"]["normalize"] = "NA"
    nemo.config["encoder"].update(
        att_context_size=[-1, -1], att_context_style="chunked_limited_with_rc",
        att_chunk_context_size=[[70], [1, 2, 7, 13], [0, 1, 2, 3, 4, 7, 13]],
        conv_context_style="dcc")
    module, config, _ = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt",
                                "--verbose")
    assert "the windows of att_chunk_context_size are not supported" in capsys.readouterr().out
    assert config["streaming"]["chunk_size"] == -1 and config["streaming"]["only"] is None
    encoded, _ = encode(module, arrays["features"])
    torch.testing.assert_close(encoded, torch.from_numpy(arrays["encoder_0"]), rtol=0,
                               atol=TOLERANCE)


def test_where_tokens_come_from(tmp_path):
    nemo = NemoFile("conformer_offline")

    def units_of() -> List[str]:
        return convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")[2][:-1]

    nemo.files = {"9f_tokenizer.vocab": "".join(f"{p}\t-{i}\n"
                                                for i, p in enumerate(PIECES)).encode()}
    assert units_of() == PIECES
    nemo.files = {"9f_tokenizer.model": sentencepiece_model(PIECES[:-1])}
    nemo.config["decoder"]["vocabulary"] = [*PIECES[:-1], "<EOU>"]  # added after the tokenizer
    assert units_of() == [*PIECES[:-1], "<EOU>"]
    nemo.files = {"9f_vocab.txt": b"[UNK]\nthe\n##re\na\n##b\n##c\n##d\n"}
    nemo.config["tokenizer"]["type"] = "wpe"
    assert units_of() == ["[UNK]", "\u2581the", "re", "\u2581a", "b", "c", "d"]
    nemo.files = {}
    del nemo.config["tokenizer"]
    nemo.config["decoder"]["vocabulary"] = [" ", *"abcde", "'"]
    assert units_of() == ["\u2581", *"abcde", "'"]


def test_special_tokens(tmp_path, capsys):
    """Control pieces of SentencePiece, tags, and BERT's own tokens."""
    nemo = NemoFile("conformer_offline")

    def special() -> List[Tuple[str, ...]]:
        _, config, units = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
        return [(units[token.pop("id")], *token.values()) for token in config["special_tokens"]]

    pieces = ["<unk>", "\u2581t", "<en-US>", "\u2581", "[CTL]", "<|spk0|>", "<0xE4>"]
    kinds = {0: 2, 2: 4, 4: 3, 5: 3, 6: 6}
    nemo.files = {"9f_tokenizer.model": sentencepiece_model(pieces, kinds)}
    tags = [("<en-US>", "language", "en-US"), ("[CTL]", "hidden"), ("<|spk0|>", "hidden")]
    assert special() == [*tags, ("<0xE4>", "byte")]
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("special_tokens")] == [
        "special_tokens, language: <en-US>", "special_tokens, hidden: [CTL], <|spk0|>",
        "special_tokens, byte: <0xE4>"]
    nemo.files = {"9f_tokenizer.model": sentencepiece_model(pieces[:-1], kinds)}
    nemo.config["decoder"]["vocabulary"] = [*pieces[:-1], "<EOU>"]  # added after the tokenizer
    assert special() == [*tags, ("<EOU>", "end")]
    nemo.files = {"9f_vocab.txt": b"[UNK]\n[PAD]\n##re\na\n##b\n[x]\n##d\n"}
    nemo.config["tokenizer"]["type"] = "wpe"
    assert special() == [("[PAD]", "hidden")]


@pytest.mark.parametrize("unit, language", [
    ("<en-US>", "en-US"), ("<de>", "de"), ("<|fr|>", "fr"), ("<zh-Hant-TW>", "zh-Hant-TW"),
    ("<es-419>", "es-419"), ("<fil-PH>", "fil-PH"), ("<x-y>", "x-y"), ("<pad>", None),
    ("<sp>", None), ("<unk>", None), ("<EOU>", None), ("de", None), ("en-US", None)])
def test_languages_of_tags(unit, language):
    """A code of ISO 639-1, a region, or a name that the language prompt has."""
    assert language_of_tag(unit, ["x-y"]) == language


def test_byte_pieces_by_their_form():
    """A list of tokens without kinds has all of them, or they are text."""
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = {token["kind"] for token in special_tokens(names, TokenKinds(), [], [])}
    assert kinds == {"byte"}
    assert special_tokens(names[:-1], TokenKinds(), [], []) == []
    assert special_tokens(["a", "<0xE4>"], TokenKinds(bytes=frozenset([1])), [], []) == [
        {"id": 1, "kind": "byte"}]


def agg_model(folder: pathlib.Path) -> pathlib.Path:
    """The recorded model of two languages, unpacked."""
    with tarfile.open(need_shared("family_golden/nemo_agg_ctc") / "model.nemo") as tar:
        tar.extractall(folder)
    return folder


def test_vocabularies_of_several_languages(tmp_path):
    """AggregateTokenizer: one after the other, with equal pieces, the blank last."""
    with np.load(need_shared("family_golden/nemo_agg_ctc") / "expected.npz") as arrays:
        expected = dict(arrays)
    source = agg_model(tmp_path)
    module, config, units = convert("nemo", source, tmp_path / "m.pt")
    assert units == [*expected["vocabulary"].tolist(), "<blank>"]
    assert config["vocabularies"] == [{"language": "en", "size": 12},
                                      {"language": "es", "size": 10}]
    assert config["special_tokens"] == [] and config["ctc"] == {"vocab_size": 23, "blank_id": 22}
    features = expected["features"]  # the archive's code leaves their normalisation to the caller
    features = (features - features.mean(0)) / (features.std(0, ddof=1) + 1e-5)
    encoded, log_probs = encode(module, features)
    for value, name in ((encoded, "encoder_full"), (log_probs, "ctc_log_probs_full")):
        torch.testing.assert_close(value, torch.from_numpy(expected[name]), rtol=0,
                                   atol=TOLERANCE)


def test_tokenizers_of_languages_that_are_missing_or_wrong(tmp_path, capsys):
    source, output = agg_model(tmp_path / "agg"), tmp_path / "m.pt"
    options = yaml.safe_load((source / "model_config.yaml").read_text())

    def refused(langs: Any) -> str:
        options["tokenizer"]["langs"] = langs
        (source / "model_config.yaml").write_text(yaml.safe_dump(options, sort_keys=False))
        return refusal(capsys, "nemo", source, output)

    langs = options["tokenizer"]["langs"]
    assert "tokenizer.langs is null" in refused(None)
    assert "tokenizer.langs is ['en']" in refused(["en"])
    assert "tokenizer.langs.es.type is 'char'" in refused({**langs, "es": {"type": "char"}})
    assert "no such file (the tokens of es)" in refused({**langs, "es": {"type": "bpe"}})
    assert "langs.es" in refused({**langs, "es": 3})
    assert "has 24 tokens, the model has 22" in refused({"en": langs["en"], "es": langs["en"]})


def test_epsilon_and_running_normalization(tmp_path):
    path = NemoFile("conformer_offline").write(tmp_path / "m.nemo")
    _, config, _ = convert("nemo", path, tmp_path / "m.pt")
    assert config["encoder"]["normalization"] == {"type": "utterance", "epsilon": 1e-5}
    assert config["streaming"]["chunk_size"] == -1
    _, config, _ = convert("nemo", path, tmp_path / "m.pt", "--convolution=dynamic_chunk",
                           "--normalization=running")
    assert config["encoder"]["normalization"]["type"] == "running"
    assert config["streaming"]["chunk_size"] > 0


@pytest.mark.parametrize("choice, other", [
    ("--convolution=dynamic_chunk", "--normalization=running"),
    ("--normalization=running", "--convolution=dynamic_chunk")])
def test_half_of_what_a_model_needs_to_stream(choice, other, tmp_path, capsys):
    path = NemoFile("conformer_offline").write(tmp_path / "m.nemo")
    config = convert("nemo", path, tmp_path / "m.pt", choice)[1]
    assert config["streaming"]["chunk_size"] == -1
    assert f"note: the model still needs the whole utterance, without {other}\n" \
        in capsys.readouterr().out


OWN_FEATURES = mel_spectrogram_section(num_mel_bins=40)  # of NemoFile's preprocessor


@pytest.mark.parametrize("options, changes", [
    ({}, {}),
    ({"lowfreq": 0, "highfreq": None, "preemph": None}, {"preemph_coeff": 0.0}),
    ({"lowfreq": 60, "highfreq": 7600.0, "preemph": 0.9},
     {"low_freq": 60.0, "high_freq": 7600.0, "preemph_coeff": 0.9}),
    ({"dither": 1e-5, "pad_to": 0, "pad_value": 0.0, "log_zero_guard_type": "add", "log": True,
      "log_zero_guard_value": "5e-8", "mag_power": 2.0, "nb_augmentation_prob": 0.5,
      "_target_": "nemo.collections.asr.modules.AudioToMelSpectrogramPreprocessor"},
     {"log_guard_value": 5e-8}),
    ({"n_window_size": None, "n_window_stride": None, "n_fft": None, "highfreq": None}, {}),
    ({"window_size": 0, "n_window_size": 512, "window_stride": None, "n_window_stride": 128},
     {"frame_length": 512, "frame_shift": 128}),
    ({"sample_rate": 8000, "n_fft": 256},
     {"sample_frequency": 8000, "frame_length": 200, "frame_shift": 80, "fft_size": 256,
      "high_freq": 4000.0}),
    ({"window": "hamming", "mag_power": 1, "mel_norm": None, "log_zero_guard_type": "clamp",
      "log_zero_guard_value": "eps", "exact_pad": False, "use_torchaudio": False},
     {"window_type": "hamming", "use_power": False, "slaney_norm": False, "log_guard": "floor",
      "log_guard_value": 2.0 ** -23}),
])
def test_options_of_the_features(options, changes, tmp_path, capsys):
    nemo = NemoFile("conformer_offline")
    nemo.config["preprocessor"].update(options)
    _, config, _ = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt", "--verbose")
    assert config["features"] == {**OWN_FEATURES, **changes}
    out = capsys.readouterr().out
    assert "features.padding: zero  (assumed: " in out
    assert ("features.frame_length: 320  (assumed: " in out) == (changes == {"frame_length": 320})


@pytest.mark.parametrize("mode", ["w:gz", "w:xz", "w:bz2"])
def test_damaged_compression(mode, tmp_path, capsys):
    path = NemoFile("conformer_offline").write(tmp_path / "m.nemo", mode=mode)
    data = path.read_bytes()
    middle = len(data) // 2
    noise = np.random.RandomState(0).bytes(4096)
    for damaged in (data[:middle], data[:middle] + noise + data[middle + len(noise):]):
        path.write_bytes(damaged)
        assert "m.nemo: is not a whole tar" in refusal(capsys, "nemo", path, tmp_path / "m.pt")


@pytest.mark.parametrize("section, name, value", [
    ("encoder", "subsampling", "vggnet"), ("encoder", "subsampling_factor", 8),
    ("encoder", "self_attention_model", "rel_pos_local_attn"),
    ("encoder", "conv_norm_type", "group_norm4"), ("encoder", "conv_context_size", [4, 2]),
    ("encoder", "feat_out", 32), ("encoder", "reduction", "pooling"),
    ("encoder", "att_context_size", [64, -2]), ("encoder", "att_context_size", []),
    ("encoder", "att_context_size", 5), ("encoder", "att_context_size", [[64, 0], 5]),
    ("encoder", "new_option", 1), ("encoder", "att_chunk_context_size", [[70], [1], [0]]),
    ("encoder", "conv_context_style", "dcc"), ("encoder", "att_context_style", "dual"),
    ("encoder", "_target_", "nemo.SqueezeformerEncoder"),
    ("preprocessor", "normalize", "all_features"), ("preprocessor", "frame_splicing", 3),
    ("preprocessor", "new_option", 1), ("preprocessor", "window", "bartlett"),
    ("preprocessor", "n_window_size", 320), ("preprocessor", "sample_rate", 16000.5),
    ("preprocessor", "window_size", 90000.0), ("preprocessor", "window_stride", 1e-6),
    ("preprocessor", "n_fft", 511), ("preprocessor", "n_fft", 256),
    ("preprocessor", "mag_power", 3.0), ("preprocessor", "log", False),
    ("preprocessor", "mel_norm", 1), ("preprocessor", "exact_pad", True),
    ("preprocessor", "use_torchaudio", True), ("encoder", "feat_in", 64),
    ("preprocessor", "log_zero_guard_type", "max"), ("preprocessor", "log_zero_guard_value", 0),
    ("preprocessor", "log_zero_guard_value", "huge"),
    ("preprocessor", "sample_rate", "16k"), ("preprocessor", "sample_rate", -1),
    ("preprocessor", "lowfreq", 9000), ("preprocessor", "highfreq", 8001),
    ("preprocessor", "preemph", 1.5), ("preprocessor", "window_size", float("nan")),
    ("preprocessor", "window_stride", float("inf")),
    ("preprocessor", "_target_", "nemo.AudioToMFCCPreprocessor"),
    ("decoder", "new_option", 1), ("decoder", "add_blank", False),
    ("decoder", "_target_", "nemo.collections.asr.modules.MSDD_module"),
])
def test_unsupported_options(section, name, value, tmp_path, capsys):
    nemo = NemoFile("conformer_offline")
    nemo.config[section][name] = value
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert name in line and str(value) in line


def test_limits_that_cannot_be_expressed(tmp_path, capsys):
    nemo = NemoFile("fastconformer_streaming")
    for section, name, value in (("preprocessor", "normalize", "per_feature"),
                                 ("encoder", "conv_context_size", None),
                                 ("encoder", "att_context_size", [13, 6])):
        changed = NemoFile("fastconformer_streaming")
        changed.config[section][name] = value
        line = refusal(capsys, "nemo", changed.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
        assert name in line
    with_none = nemo.write(tmp_path / "m.nemo", without="model_weights.ckpt")
    assert "model_weights.ckpt" in refusal(capsys, "nemo", with_none, tmp_path / "m.pt")


def test_files_that_are_missing_or_wrong(tmp_path, capsys):
    output = tmp_path / "m.pt"
    nemo = NemoFile("conformer_offline")
    path = nemo.write(tmp_path / "m.nemo", without="model_config.yaml")
    assert "model_config.yaml" in refusal(capsys, "nemo", path, output)
    nemo.write(path, without="0a1b_tokenizer.model")
    assert "tokenizer.model" in refusal(capsys, "nemo", path, output)
    nemo.files["0a1b_tokenizer.model"] = b"\x0a\x7fno model"
    assert "SentencePiece" in refusal(capsys, "nemo", nemo.write(path), output)
    nemo.files["0a1b_tokenizer.model"] = sentencepiece_model(PIECES[:-1])
    assert "6 tokens" in refusal(capsys, "nemo", nemo.write(path), output)
    path.write_bytes(b"no tar")
    assert "tar" in refusal(capsys, "nemo", path, output)


@pytest.mark.parametrize("path, value", [
    ("encoder._target_", "nemo.collections.asr.modules.SqueezeformerEncoder"),
    ("decoder._target_", "nemo.collections.asr.modules.OtherDecoder"),
    ("joint._target_", "nemo.collections.asr.modules.HATJoint"),
    ("encoder.self_attention_model", "rel_pos_local_attn"), ("spk_kernel_type", "mha"),
    ("adapters", {"a": {"dim": 8}}), ("decoding.big_blank_durations", [2, 4, 8])])
def test_other_kinds_of_models_are_named_before_the_weights_are_read(path, value, tmp_path, capsys):
    nemo = NemoFile("fastconformer_streaming", "hybrid")
    *sections, name = path.split(".")
    place = nemo.config
    for section in sections:
        place = place[section]
    place[name] = value
    nemo.weights = {"not.known": torch.zeros(1)}
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert f"model_config.yaml.{path} is " in line and "which is not supported" in line


def test_models_without_decoder_and_joint(tmp_path, capsys):
    nemo = NemoFile("conformer_offline")
    del nemo.config["decoder"]
    nemo.config["target"] = "nemo.collections.asr.models.EncDecMultiTaskModel"
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert "has neither decoder nor joint" in line and "EncDecMultiTaskModel" in line


def test_models_with_an_attention_decoder_only(tmp_path, capsys):
    nemo = NemoFile("conformer_offline")
    del nemo.config["decoder"]
    nemo.config["transf_decoder"] = {"config_dict": {"num_layers": 2}}
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert "has only an attention decoder (transf_decoder), expected a CTC" in line


@pytest.mark.parametrize("vocabulary, message", [
    ([*PIECES[:2], "x", *PIECES[3:-1], "<EOU>"], "has 'x' as token 2, expected 'he' of"),
    (["<EOU>", *PIECES[:-1]], "has '<EOU>' as token 0, expected '<unk>' of")])
def test_vocabulary_that_is_not_the_tokenizers(vocabulary, message, tmp_path, capsys):
    nemo = NemoFile("conformer_offline")
    nemo.files = {"9f_tokenizer.model": sentencepiece_model(PIECES[:-1])}
    nemo.config["decoder"]["vocabulary"] = vocabulary
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert message in line and "9f_tokenizer.model" in line


def test_null_is_none(tmp_path, capsys):
    """NeMo takes null for no normalization, and for no window."""
    nemo = NemoFile("conformer_offline")
    nemo.config["preprocessor"]["normalize"] = None
    config = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")[1]
    assert config["encoder"]["normalization"]["type"] == "none"
    capsys.readouterr()
    nemo.config["preprocessor"]["window"] = None
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert "preprocessor.window is null (no window)" in line


@pytest.mark.parametrize("path", [
    "preprocessor.log", "preprocessor.window_size", "preprocessor.mag_power",
    "preprocessor.log_zero_guard_value", "preprocessor.lowfreq",
    "preprocessor.frame_splicing", "encoder.use_bias", "encoder.xscaling", "encoder.subsampling",
    "encoder.causal_downsampling", "encoder.feat_out", "encoder.conv_norm_type",
    "decoder.blank_as_pad", "aux_ctc.decoder.add_blank", "joint.num_extra_outputs"])
def test_null_is_no_default(path, tmp_path, capsys):
    """NeMo passes None on: false for a condition, an error elsewhere."""
    nemo = NemoFile("fastconformer_streaming", "hybrid")
    *sections, name = path.split(".")
    place = nemo.config
    for section in sections:
        place = place.setdefault(section, {})
    place[name] = None
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert f"model_config.yaml.{path} is null, which is not supported" in line


def test_null_where_it_is_the_default(tmp_path):
    nemo = NemoFile("conformer_offline")
    expected = convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")[1]
    nemo.config["encoder"].update(att_context_size=None, conv_context_size=None, reduction=None)
    nemo.config["preprocessor"].update(highfreq=None, n_fft=None, n_window_size=None)
    assert convert("nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")[1] == expected


def test_values_of_any_length_make_short_lines(tmp_path, capsys):
    nemo = NemoFile("conformer_offline")
    nemo.config["preprocessor"]["normalize"] = {"fixed_mean": [0.125] * 80, "fixed_std": [1.5] * 80}
    line = refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")
    assert "preprocessor.normalize is {'fixed_mean': [0.125" in line and len(line) < 250


def test_options_outside_of_the_network(tmp_path, capsys):
    """Known ones are silent, others are named: a file has the user's own variables, too."""
    nemo = NemoFile("fastconformer_streaming", "hybrid")
    nemo.config.update(
        target="nemo.EncDecHybridRNNTCTCBPEModel", nemo_version="2.0.0", log_prediction=True,
        compute_eval_loss=False, skip_nan_grad=False, train_ds={}, validation_ds={}, test_ds={},
        spec_augment={"freq_masks": 2}, optim={"name": "adamw"}, interctc={"loss_weights": []},
        loss={"loss_name": "default", "warprnnt_numba_kwargs": {"fastemit_lambda": 0.005}},
        model_defaults={"enc_hidden": 16}, variational_noise={"std": 0.0})
    nemo.config["decoding"].update(
        beam={"beam_size": 2}, compute_timestamps=None, confidence_cfg={"method_cfg": {}},
        temperature=1.0, fused_batch_size=-1, model_type="rnnt", durations=[])
    nemo.config["decoding"]["greedy"].update(loop_labels=True, use_cuda_graph_decoder=True)
    nemo.config["aux_ctc"].update(ctc_loss_weight=0.3, use_cer=False, decoding={"strategy": "x"})
    path = nemo.write(tmp_path / "m.nemo")
    convert("nemo", path, tmp_path / "m.pt")
    assert "not read" not in capsys.readouterr().out
    nemo.config["decoding"]["greedy"]["ngram_lm_model"] = "lm.bin"
    nemo.config["my_width"] = 512
    convert("nemo", nemo.write(path), tmp_path / "m.pt")
    assert ("note: options that were not read: model_config.yaml.my_width is 512; "
            "model_config.yaml.decoding.greedy.ngram_lm_model is 'lm.bin'\n"
            in capsys.readouterr().out)


def test_models_without_a_head(tmp_path, capsys):
    nemo = NemoFile("conformer_offline")
    nemo.weights = {name: tensor for name, tensor in nemo.weights.items()
                    if not name.startswith("decoder.")}
    assert "CTC head" in refusal(capsys, "nemo", nemo.write(tmp_path / "m.nemo"), tmp_path / "m.pt")


def transcribe(module: Any, units: List[str], path: pathlib.Path) -> str:
    """Greedy text of a recording by the archive's code, with torchaudio's features."""
    samples, rate = soundfile.read(path, dtype="float32")
    wave = torchaudio.functional.resample(torch.from_numpy(samples), rate, 16000).unsqueeze(0)
    features = torchaudio.compliance.kaldi.fbank(wave * 32768, num_mel_bins=80, snip_edges=False)
    features = (features - features.mean(0)) / (features.std(0) + 1e-5)
    _, log_probs = encode(module, features.numpy())
    text, last = "", len(units) - 1
    for best in log_probs.argmax(1).tolist():
        if best != last and best != len(units) - 1:
            text += units[best]
        last = best
    return text.replace("\u2581", " ").strip()


def test_real_weights_transcribe_speech(tmp_path):
    """A folder without options: the architecture follows from names and shapes."""
    folder, speech = need_shared("nemo_conformer_ctc_small"), need_shared("speech_en")
    module, config, units = convert("nemo", folder, tmp_path / "m.pt")
    assert (config["encoder"]["num_layers"], config["encoder"]["input_dim"]) == (16, 80)
    assert config["ctc"] == {"vocab_size": 1025, "blank_id": 1024} and units[1024] == "<blk>"
    rows = [line.split("\t") for line in (speech / "manifest.tsv").read_text().splitlines()]
    header, rows = rows[0], rows[1:]
    utterances = [dict(zip(header, row)) for row in rows]
    chosen = [u for u in utterances if u["set"] == "librispeech"][:3]
    assert len(chosen) == 3
    for utterance in chosen:
        wav = next((speech / "wav").glob(f"{utterance['id']}.*"))
        expected = "".join(c for c in utterance["text"].lower() if c.isalpha() or c in " '")
        words, found = expected.split(), transcribe(module, units, wav).split()
        different = sum(a != b for a, b in zip(words, found)) + abs(len(words) - len(found))
        assert different <= 2, (expected, found)
