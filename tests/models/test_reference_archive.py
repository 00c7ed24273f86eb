"""Archives: what is written comes back, and nothing wrong is written."""

import pathlib
import zipfile

import pytest
import torch
from reference_models import (CONFIG, make_model, model_configs, run_chunked, run_whole, with_,
                              with_ctc)

from models.reference.archive import (FORMAT_VERSION, export_archive, fbank_section, model_config,
                                      read_archive, tags)
from models.reference.convolution import ConvolutionConfig
from models.reference.model import ModelConfig

UNITS = ["<blank>", "\u2581", "a", "b", "c", "d", "\u00e9"]
FEATURES = fbank_section(num_mel_bins=20)
WHOLE = {"chunk_size": -1, "left_context": -1}
MODELS = model_configs()
OLD_ARCHIVE = pathlib.Path(__file__).parents[1] / "golden/encoder/tiny.pt"


def sections_of(config, streaming):
    """runnel.json of a CTC model."""
    return model_config("tiny", with_ctc(config), FEATURES, streaming)


@pytest.mark.parametrize("name", ["chunk_rpe", "relative_key_value-3-True-True", "transformer",
                                  "dw_striding8-causal", "dynamic_chunk-batch_norm-4-True"])
def test_round_trip(name, tmp_path):
    """The archive's own methods give the model's numbers; config and units come back."""
    config = MODELS[name]
    model = make_model(config).float()
    sections = sections_of(config, {"max_chunk_size": 32})
    path = str(tmp_path / "tiny.pt")
    export_archive(model, sections, UNITS, path)
    module, read_sections, read_units = read_archive(path)
    assert read_sections == sections and read_units == UNITS
    assert sections["format_version"] == FORMAT_VERSION
    assert ModelConfig.from_json(sections) == with_ctc(config)
    features = torch.randn(50, 20)
    expected = run_whole(model, features, 3, 6)
    torch.testing.assert_close(run_whole(module, features, 3, 6), expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(run_chunked(module, config, features, 3, 6), expected, rtol=0,
                               atol=1e-5)


def test_names_no_path_of_this_machine(tmp_path):
    """Archives are published; where the Python files lay on someone's disk is not."""
    path = str(tmp_path / "tiny.pt")
    export_archive(make_model(CONFIG), sections_of(CONFIG, {}), UNITS, path)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            assert str(pathlib.Path(__file__).parents[2]).encode() not in archive.read(name), name


def test_tensor_names_of_each_part():
    """Present exactly where the configuration says so."""
    def names(name):
        return {tensor.split("encoders.0.")[-1] for tensor in make_model(MODELS[name]).state_dict()
                if ".encoders.1." not in tensor}
    plain = names("chunk_rpe")
    assert {"encoder.global_cmvn.mean", "self_attn.pos_bias_u", "self_attn.linear_pos.weight",
            "norm_conv.weight", "norm_final.bias", "encoder.embed.conv.2.weight",
            "encoder.after_norm.weight", "conv_module.depthwise_conv.bias"} <= plain
    assert "self_attn.linear_pos.bias" not in plain
    assert names("chunk_rpe-after_bias-True") - plain == {"self_attn.linear_pos.bias"}
    shaw = {"self_attn.relative_keys", "self_attn.relative_values"}
    assert names("relative_key_value") - plain == shaw
    assert names("relative_key_value-3-False-False") - plain == {"self_attn.relative_keys"}
    assert names("relative_key_value-3-True-True") - plain == {"encoder.relative_keys",
                                                               "encoder.relative_values"}
    assert names("none") == names("absolute") == names("relative_key_value") - shaw
    removed = plain - names("transformer")
    assert {name.split(".")[0] for name in removed} == {
        "norm_conv", "norm_final", "conv_module", "norm_ff_macaron", "feed_forward_macaron",
        "encoder"}
    assert plain - names("no_biases") == {f"self_attn.linear_{part}.bias" for part in
                                          ("q", "k", "v", "out")}
    assert plain - names("none_normalized") == {"encoder.global_cmvn.mean",
                                                "encoder.global_cmvn.istd"}
    batch = names("causal-batch_norm-5-True") - plain
    assert batch == {"conv_module.norm.running_mean", "conv_module.norm.running_var"}
    assert names("conv2d8") - plain == {"encoder.embed.conv.4.weight", "encoder.embed.conv.4.bias"}
    assert {name for name in names("dw_striding8-causal") if "embed" in name and "bias" in name} \
        == {f"encoder.embed.{part}.bias" for part in ("conv.0", "conv.2", "conv.3", "conv.5",
                                                      "conv.6", "out.0")}
    assert {name for name in names("linear") if "embed" in name} == {
        f"encoder.embed.out.{i}.{kind}" for i in (0, 1) for kind in ("weight", "bias")}


def test_archives_of_version_2_are_read():
    """In the present form, with the heads that version 2 could not have."""
    with zipfile.ZipFile(OLD_ARCHIVE) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/runnel.json"))
        assert b'"format_version": 2' in archive.read(name)
    module, sections, units = read_archive(str(OLD_ARCHIVE))
    assert sections["format_version"] == FORMAT_VERSION
    assert len(units) == sections["ctc"]["vocab_size"]
    assert ModelConfig.from_json(sections).transducer is None
    assert hasattr(module, "forward_chunk")


def test_special_tokens_of_version_3_are_the_tags(tmp_path):
    """TokenTableTest.SpecialTokensAreNoText states the same rule."""
    units = ["<blank>", "<en-US>", "<unk>", "<UNK>", "<0x41>", "<", "[x]"]
    assert tags([*units, "<>"]) == [0, 1, 7]
    config = sections_of(CONFIG, {})
    assert config.pop("special_tokens") == [] and config.pop("vocabularies") == []
    path = str(tmp_path / "tiny.pt")
    export_archive(make_model(CONFIG), {**config, "format_version": 3}, units, path)
    _, sections, _ = read_archive(path)
    assert sections["special_tokens"] == [{"id": 1, "kind": "hidden"}]
    assert sections["vocabularies"] == []
    listed = [{"id": 6, "kind": "hidden"}]
    export_archive(make_model(CONFIG), {**config, "format_version": 4, "special_tokens": listed},
                   units, path)
    assert read_archive(path)[1]["special_tokens"] == listed


def test_export_refuses_what_is_wrong(tmp_path):
    """Nothing is written when units, weights or configuration do not agree."""
    model = make_model(CONFIG)
    config = sections_of(CONFIG, {})
    path = tmp_path / "tiny.pt"
    with pytest.raises(ValueError, match="3 units given, vocab_size is 7"):
        export_archive(model, config, ["a", "b", "c"], str(path))
    larger = with_(convolution=ConvolutionConfig(7))
    with pytest.raises(ValueError, match=r"depthwise_conv.weight has shape \(16, 1, 5\), expected "
                                         r"\(16, 1, 7\)"):
        export_archive(model, sections_of(larger, {}), UNITS, str(path))
    with pytest.raises(ValueError, match="encoder.after_norm.bias is unknown"):
        export_archive(model, sections_of(with_(after_norm=False), {}), UNITS,
                       str(path))
    with pytest.raises(ValueError, match="global_cmvn.istd is missing"):
        export_archive(make_model(MODELS["none_normalized"]), config, UNITS, str(path))
    config["encoder"]["extra"] = 1
    with pytest.raises(ValueError, match="encoder.extra is not a known field"):
        export_archive(model, config, UNITS, str(path))
    del config["encoder"]["extra"]
    with torch.no_grad():
        model.ctc.ctc_lo.bias[0] = float("nan")
    with pytest.raises(ValueError, match="ctc.ctc_lo.bias holds a value that is not finite"):
        export_archive(model, config, UNITS, str(path))
    assert not path.exists()


def test_read_refuses_other_formats(tmp_path):
    path = str(tmp_path / "tiny.pt")
    config = sections_of(CONFIG, {})
    for field, value in (("format_version", 1), ("format", "other")):
        export_archive(make_model(CONFIG), {**config, field: value}, UNITS, path)
        with pytest.raises(ValueError, match=f"tiny.pt: {field} is {value!r}, expected "):
            read_archive(path)
    torch.jit.save(torch.jit.script(make_model(CONFIG)), path)
    with pytest.raises(ValueError, match="tiny.pt: no runnel.json, expected a model archive"):
        read_archive(path)


def test_settings_that_a_model_was_trained_for():
    section = sections_of(CONFIG, {})["streaming"]
    assert section["only"] is None
    only = [{"chunk_size": 16, "left_context": 64}, WHOLE]
    assert sections_of(CONFIG, {"only": only})["streaming"]["only"] == only


@pytest.mark.parametrize("streaming, message", [
    ({"size": 1}, "unknown streaming fields: size"),
    ({"only": []}, "streaming.only is [], expected null or a list of settings"),
    ({"only": [{"chunk_size": 16}]}, "streaming.only[0].left_context is missing"),
    ({"only": [{"chunk_size": 16, "left_context": 64, "x": 1}]},
     "streaming.only[0].x is not a known field"),
    ({"only": [{"chunk_size": "16", "left_context": 64}]},
     "streaming.only[0].chunk_size is '16', expected an integer"),
    ({"only": [WHOLE]},
     "streaming.only lists no {'chunk_size': 16, 'left_context': 64}, which is recommended")])
def test_wrong_streaming_sections(streaming, message):
    with pytest.raises(ValueError) as error:
        sections_of(CONFIG, streaming)
    assert str(error.value) == message


def test_whole_utterance_models_recommend_no_chunks():
    config = MODELS["legacy_rel_pos"]
    with pytest.raises(ValueError, match="chunk_size is 16, expected -1: position scheme legacy"):
        sections_of(config, {})
    sections_of(config, {**WHOLE, "only": [WHOLE]})


def test_unknown_feature_options():
    with pytest.raises(ValueError, match="unknown feature options: num_bins"):
        fbank_section(num_bins=20)
