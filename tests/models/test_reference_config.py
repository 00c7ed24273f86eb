"""The configuration: to JSON and back, and one clear line for everything that is wrong."""

import copy
import json
import re

import pytest
from reference_models import CONFIG, model_configs, with_

from models.reference.config import ConformerConfig
from models.reference.positions import make_options
from models.reference.subsampling import SubsamplingConfig

MODELS = model_configs()


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(name):
    config = MODELS[name]
    encoder = json.loads(json.dumps(config.to_json()))
    assert ConformerConfig.from_json(encoder) == config


def test_json_of_one_model():
    """Spelled out once, as models/README.md has it."""
    assert CONFIG.to_json() == {
        "type": "conformer", "input_dim": 20, "model_dim": 16, "num_layers": 2, "num_heads": 2,
        "feed_forward_dim": 24, "normalization": {"type": "global_cmvn"},
        "subsampling": {"type": "conv2d4"}, "scale_input": True,
        "position": {"scheme": "chunk_rpe", "linear_pos_bias": False,
                     "query_scaling": "after_bias", "table_order": "descending"},
        "attention_bias": {"query": True, "key": True, "value": True, "out": True},
        "feed_forward": {"macaron": True, "activation": "swish", "bias": True},
        "convolution": {"type": "causal", "kernel_size": 5, "norm": "layer_norm",
                        "norm_epsilon": 1e-5, "activation": "swish", "bias": True,
                        "left_padding": "zero"},
        "norm_first": True, "after_norm": True, "layer_norm_eps": 1e-5}


@pytest.mark.parametrize("scheme, fields", [
    ("none", set()), ("absolute", set()),
    ("chunk_rpe", {"linear_pos_bias", "query_scaling", "table_order"}),
    ("bounded_rpe", {"radius", "linear_pos_bias", "query_scaling", "table_order"}),
    ("relative_key_value", {"max_distance", "values", "shared"}),
    ("unshifted", {"linear_pos_bias", "query_scaling"}), ("rotary", set()),
    ("windowed_rpe", {"linear_pos_bias", "query_scaling", "table_order", "left", "right"}),
    ("legacy_rel_pos", {"linear_pos_bias", "query_scaling", "table_length"})])
def test_fields_of_a_position(scheme, fields):
    config = with_(position=make_options(scheme))
    assert set(config.to_json()["position"]) == {"scheme"} | fields


def test_bins_that_are_channels_may_be_few():
    few = dict(input_dim=2, subsampling=SubsamplingConfig("conv1d2"))
    assert with_(**few).input_dim == 2
    with pytest.raises(ValueError, match="too few bins for subsampling conv2d2"):
        with_(**{**few, "subsampling": SubsamplingConfig("conv2d2")})


def objects(encoder, path=()):
    """Paths of the encoder section's objects, itself included."""
    yield path
    for name, value in encoder.items():
        if isinstance(value, dict):
            yield from objects(value, path + (name,))


def broken(config, path, name, value):
    """The encoder section with the field at path.name changed; None: left out."""
    encoder = copy.deepcopy(config.to_json())
    place = encoder
    for step in path:
        place = place[step]
    if value is None:
        del place[name]
    else:
        place[name] = value
    return encoder


@pytest.mark.parametrize("name", ["chunk_rpe", "bounded_rpe", "relative_key_value", "unshifted",
                                  "legacy_rel_pos", "absolute", "striding4-causal", "running",
                                  "e_branchformer-causal-5", "reworked", "efficient-causal-threes"])
def test_every_field_is_required_typed_and_no_other_known(name):
    config = MODELS[name]
    encoder = config.to_json()
    for path in objects(encoder):
        where = ".".join(("encoder",) + path)
        with pytest.raises(ValueError, match=rf"^{where}\.extra is not a known field$"):
            ConformerConfig.from_json(broken(config, path, "extra", 1))
        place = encoder
        for step in path:
            place = place[step]
        for field in place:
            with pytest.raises(ValueError, match=rf"^{where}\.{field} is missing$"):
                ConformerConfig.from_json(broken(config, path, field, None))
            wrong = {} if isinstance(place[field], list) else []
            with pytest.raises(ValueError, match=rf"^{where}\.{field} is {re.escape(repr(wrong))}, "
                                                 "expected "):
                ConformerConfig.from_json(broken(config, path, field, wrong))


@pytest.mark.parametrize("path, name, value, message", [
    ((), "type", "transformer", "encoder.type is 'transformer', expected one of conformer, "
     "multitalker_conformer, reworked_conformer, efficient_conformer, branchformer"),
    ((), "num_layers", 0, "encoder: num_layers is 0, expected at least 1"),
    ((), "num_layers", 2.0, "encoder.num_layers is 2.0, expected an integer"),
    ((), "num_layers", True, "encoder.num_layers is True, expected an integer"),
    ((), "num_heads", 3, "encoder: num_heads 3 does not divide model_dim 16"),
    ((), "model_dim", 15, "encoder: num_heads 2 does not divide model_dim 15"),
    ((), "input_dim", 6, "encoder: input_dim is 6, too few bins for subsampling conv2d4"),
    ((), "scale_input", 1, "encoder.scale_input is 1, expected true or false"),
    ((), "layer_norm_eps", 0, "encoder: layer_norm_eps is 0, expected more than 0"),
    ((), "layer_norm_eps", float("inf"), "encoder.layer_norm_eps is inf, expected a number"),
    ((), "subsampling", "conv2d4", "encoder.subsampling is 'conv2d4', expected an object"),
    ((), "position", "none", "encoder.position is 'none', expected an object"),
    (("position",), "scheme", "rope", "encoder.position.scheme is 'rope', expected one of none, "
     "absolute, chunk_rpe, bounded_rpe, relative_key_value, unshifted, grouped_unshifted, "
     "legacy_rel_pos, rotary, windowed_rpe"),
    (("position",), "table_order", "up",
     "encoder.position: table_order is 'up', expected one of descending, ascending"),
    (("position",), "query_scaling", "both",
     "encoder.position: query_scaling is 'both', expected one of after_bias, before_bias"),
    (("subsampling",), "type", "vgg", "encoder.subsampling.type is 'vgg', expected one of "
     "conv1d2, conv2d2, conv2d4, conv2d6, conv2d8, conv2d_1_2_1, conv2d_1_2_2, conv2d_2, linear, "
     "striding4, "
     "dw_striding8"),
    (("normalization",), "type", "running", "encoder.normalization.epsilon is missing"),
    (("normalization",), "epsilon", 1e-5, "encoder.normalization.epsilon is not a known field"),
    (("feed_forward",), "activation", "tanh",
     "encoder.feed_forward: activation is 'tanh', expected one of swish, relu, gelu, "
     "double_swish"),
    (("convolution",), "kernel_size", 0,
     "encoder.convolution: kernel_size is 0, expected at least 1"),
])
def test_messages(path, name, value, message):
    with pytest.raises(ValueError) as error:
        ConformerConfig.from_json(broken(CONFIG, path, name, value))
    assert str(error.value) == message


@pytest.mark.parametrize("path, name, value, message", [
    ((), "feed_forward_dim", 0, "encoder: feed_forward_dim is 0, expected at least 1"),
    ((), "feed_forward", "none", "encoder.feed_forward is 'none', expected an object"),
    (("branches",), "cgmlp_dim", 5,
     "encoder.branches: cgmlp_dim is 5, expected an even number"),
    (("branches",), "merge_kernel_size", -1,
     "encoder.branches: merge_kernel_size is -1, expected at least 0"),
    (("branches",), "gate_activation", "sigmoid", "encoder.branches: gate_activation is "
     "'sigmoid', expected one of identity, swish, relu, gelu, tanh"),
])
def test_messages_of_a_branchformer(path, name, value, message):
    with pytest.raises(ValueError) as error:
        ConformerConfig.from_json(broken(MODELS["e_branchformer-causal-5"], path, name, value))
    assert str(error.value) == message


def test_feed_forward_modules_are_there_or_have_no_size():
    encoder = broken(MODELS["branchformer-identity"], (), "feed_forward_dim", 24)
    with pytest.raises(ValueError, match="^encoder: feed_forward_dim is 24, expected 0 where"):
        ConformerConfig.from_json(encoder)


def test_bounds_of_position_options():
    with pytest.raises(ValueError, match="radius is 0, expected at least 1"):
        make_options("bounded_rpe", radius=0)
    with pytest.raises(ValueError, match="max_distance is -1, expected at least 0"):
        make_options("relative_key_value", max_distance=-1)
    with pytest.raises(ValueError, match="table_length is 0, expected at least 1"):
        make_options("legacy_rel_pos", table_length=0)
    with pytest.raises(ValueError, match="scheme is 'rope', expected one of none, absolute"):
        make_options("rope")
    with pytest.raises(ValueError, match="expected the options of a scheme"):
        with_(position="chunk_rpe")


@pytest.mark.parametrize("path, name, value, message", [
    ((), "strides", [1, 2], "encoder: strides has 2 values, expected one for each of num_layers 3"),
    ((), "strides", [1, 0, 2], "encoder: strides is 0, expected at least 1"),
    ((), "strides", [1, "2", 2], "encoder.strides[1] is '2', expected an integer"),
    (("position",), "group_sizes", [3], "encoder: position.group_sizes has 1 values, expected one "
     "for each of num_layers 3"),
    (("position",), "group_sizes", [3, 0, 1], "encoder.position: group_sizes is 0, expected at "
     "least 1"),
])
def test_messages_of_an_efficient_conformer(path, name, value, message):
    with pytest.raises(ValueError) as error:
        ConformerConfig.from_json(broken(MODELS["efficient-causal-threes"], path, name, value))
    assert str(error.value) == message
