"""Every position scheme against its formula, evaluated pair by pair."""

import math

import pytest
import torch
from reference_models import CONFIG, make_model, position_configs, with_

from models.reference.positions import SCHEMES, make_options, options_to_json
from models.reference.positions.chunk_rpe import rel_shift
from models.reference.positions.legacy_rel_pos import legacy_shift

FAR = 10_000_019  # an encoder frame after 111 hours of 40 ms
DIM = CONFIG.model_dim


def sinusoid(position):
    """PE(position) (d) by Python's own float64 functions."""
    values = []
    for m in range(0, DIM, 2):
        angle = position * 10000.0 ** (-m / DIM)
        values += [math.sin(angle), math.cos(angle)]
    return torch.tensor(values, dtype=torch.float64)


def sinusoid_term(attention, options, q, k, position, q_of_position=None):
    """(H) scores q k + u k + q PE + v PE, scaled as the options say; q, k: (H, d_k)."""
    scale = 1.0 / math.sqrt(q.size(1))
    before = options["query_scaling"] == "before_bias"
    other = q if q_of_position is None else q_of_position
    if before:
        q, other = q * scale, other * scale
    score = ((q + attention.pos_bias_u) * k).sum(1)
    if position is not None:
        weight, bias = attention.linear_pos.weight, attention.linear_pos.bias
        p = weight @ sinusoid(position)
        p = (p if bias is None else p + bias).reshape(q.shape)
        score = score + ((other + attention.pos_bias_v) * p).sum(1)
    return score if before else score * scale


def expected_score(scheme, encoder, options, q, k, i, j, frames):
    """(H) score of query frame i and key frame j. q (H, T, d_k) starts at frame `frames[0]`,
    frames (first, last): of the whole utterance, for the schemes that look at its length."""
    attention = encoder.encoders[0].self_attn
    query = q[:, i - frames[0]]
    if scheme in ("none", "absolute"):
        return (query * k).sum(1) / math.sqrt(query.size(1))
    if scheme == "windowed_rpe" and not (-options["right"] <= i - j <= options["left"]):
        return None  # no weight
    if scheme in ("chunk_rpe", "bounded_rpe", "windowed_rpe"):
        distance = i - j if options["table_order"] == "descending" else j - i
        if scheme == "bounded_rpe":
            bound = options["radius"] - 1
            distance = max(-bound, min(bound, distance))
        return sinusoid_term(attention, options, query, k, distance)
    if scheme == "unshifted":
        return sinusoid_term(attention, options, query, k, j)
    if scheme == "rotary":
        half = query.size(1) // 2
        score = torch.zeros(query.size(0), dtype=torch.float64)
        for m in range(half):
            angle = (i - j) * 10000.0 ** (-m / half)
            turned = complex(math.cos(angle), math.sin(angle))
            products = (torch.complex(query[:, m], query[:, m + half])
                        * torch.complex(k[:, m], -k[:, m + half]))
            score += (products * turned).real
        return score / math.sqrt(query.size(1))
    if scheme == "relative_key_value":
        return ((k + shaw_vector(encoder, options, "relative_keys", i, j)) * query).sum(1) \
            / math.sqrt(query.size(1))
    assert scheme == "legacy_rel_pos", f"no formula for {scheme} here"
    length = frames[1] - frames[0] + 1
    rows = max(options["table_length"], length)
    if j <= i:
        return sinusoid_term(attention, options, query, k, rows - length + i - j)
    if j == i + 1:
        return sinusoid_term(attention, options, query, k, None)
    return sinusoid_term(attention, options, query, k, rows + 1 - j + i, q[:, i + 1 - frames[0]])


def shaw_vector(encoder, options, name, i, j):
    owner = encoder if options["shared"] else encoder.encoders[0].self_attn
    bound = options["max_distance"]
    return getattr(owner, name)[max(-bound, min(bound, j - i)) + bound]


@pytest.mark.parametrize("name, config", position_configs().items())
def test_scores_and_context_follow_the_formula(name, config):
    """C queries, M' cached keys, at the start of a stream and far into it."""
    encoder = make_model(config).encoder
    attention = encoder.encoders[0].self_attn
    options = options_to_json(config.position)
    scheme = options["scheme"]
    heads, head_dim = CONFIG.num_heads, CONFIG.model_dim // CONFIG.num_heads
    for offset, queries, cached in [(0, 7, 0), (5, 4, 5), (5, 1, 3), (FAR, 3, 6)]:
        if SCHEMES[scheme].whole_utterance and cached > 0:
            continue
        keys = cached + queries
        q = torch.randn(1, heads, queries, head_dim, dtype=torch.float64)
        k, v = torch.randn(2, 1, heads, keys, head_dim, dtype=torch.float64)
        tables = encoder.position_tables(queries, keys, offset, q)
        scores = attention.scores(q, k, tables)
        weights = torch.softmax(scores, -1)
        context = attention.context(weights, v, tables)
        assert scores.shape == (1, heads, queries, keys)
        first_key = offset - cached
        for i in range(queries):
            expected_context = torch.zeros(heads, head_dim, dtype=torch.float64)
            for j in range(keys):
                expected = expected_score(scheme, encoder, options, q[0], k[0, :, j], offset + i,
                                          first_key + j, (offset, offset + queries - 1))
                if expected is None:
                    assert (weights[0, :, i, j] == 0).all()
                    continue
                # Two float64 evaluations of an angle of 1e7 differ by about 1e-9.
                torch.testing.assert_close(scores[0, :, i, j], expected, rtol=0,
                                           atol=1e-7 if offset == FAR else 1e-12)
                value = v[0, :, j]
                if options.get("values", False):
                    value = value + shaw_vector(encoder, options, "relative_values", offset + i,
                                                first_key + j)
                expected_context += weights[0, :, i, j, None] * value
            torch.testing.assert_close(context[0, :, i], expected_context, rtol=0, atol=1e-12)


@pytest.mark.parametrize("offset", [0, FAR, 2 ** 40])
def test_absolute_positions_keep_full_precision(offset):
    """Float32 models too: float32 cannot even count to FAR in steps of an angle."""
    encoder = make_model(with_(position=make_options("absolute"))).encoder
    for dtype, tolerance in [(torch.float64, 1e-15 * offset + 1e-14), (torch.float32, 5e-7)]:
        added = encoder.positions.enter(torch.zeros(1, 3, DIM, dtype=dtype), offset)
        expected = torch.stack([sinusoid(offset + i) for i in range(3)]).to(dtype)
        atol = max(tolerance, 1e-15 * offset)
        torch.testing.assert_close(added[0], expected, rtol=0, atol=atol)


@pytest.mark.parametrize("offset", [0, FAR])
def test_unshifted_positions_keep_full_precision(offset):
    """The table of a float32 model, with cached keys before the chunk."""
    encoder = make_model(with_(position=make_options("unshifted"))).encoder
    table, = encoder.position_tables(2, 6, offset + 4, torch.zeros(1))
    expected = torch.stack([sinusoid(offset + j) for j in range(6)]).float()
    torch.testing.assert_close(table, expected, rtol=0, atol=1.5e-7)


@pytest.mark.parametrize("offset", [0, 5, FAR])
def test_rotary_positions_keep_full_precision(offset):
    """The table of a float32 model; its scores depend on the distance only."""
    encoder = make_model(with_(position=make_options("rotary"))).encoder
    q, k = torch.randn(2, 1, 2, 4, 8, dtype=torch.float32)
    near = encoder.encoders[0].self_attn.scores(q, k, encoder.position_tables(4, 4, 0, q))
    far = encoder.encoders[0].self_attn.scores(q, k, encoder.position_tables(4, 4, offset, q))
    torch.testing.assert_close(far, near, rtol=0, atol=2e-6)


@pytest.mark.parametrize("scheme", ["absolute", "unshifted"])
def test_far_into_a_stream_in_float32(scheme):
    """A chunk whose cache came from before 10,000,000 frames: float32 as good as float64."""
    config = with_(position=make_options(scheme))
    model = make_model(config)
    features = torch.randn(1, 19, 20, dtype=torch.float64)
    att = torch.randn(2, 2, 6, 16, dtype=torch.float64)
    _, cnn = model.initial_caches()
    with torch.no_grad():
        far, _, _ = model.encode_chunk(features, FAR, False, 6, att, cnn)
        near, _, _ = model.encode_chunk(features, 6, False, 6, att, cnn)
        single, _, _ = model.float().encode_chunk(features.float(), FAR, False, 6, att.float(),
                                                  cnn.float())
    assert far.size(1) == 4
    assert (far - near).abs().max() > 1e-3
    torch.testing.assert_close(single.double(), far, rtol=0, atol=1e-4)


@pytest.mark.parametrize("scheme", ["none", "chunk_rpe", "bounded_rpe", "relative_key_value"])
def test_relative_schemes_do_not_look_at_the_offset(scheme):
    encoder = make_model(with_(position=make_options(scheme))).encoder
    like = torch.zeros(1, dtype=torch.float64)
    for near, far in zip(encoder.position_tables(3, 8, 5, like),
                         encoder.position_tables(3, 8, FAR, like)):
        assert torch.equal(near, far)


def test_shift_of_the_note():
    """C=3, L=4: rows 1..7 / 8..14 / 15..21 become 3 4 5 6 / 9 10 11 12 / 15 16 17 18."""
    table = torch.arange(1, 22).reshape(1, 1, 3, 7)[:, :, :, :6]
    assert rel_shift(table, 4)[0, 0].tolist() == [[3, 4, 5, 6], [9, 10, 11, 12],
                                                  [15, 16, 17, 18]]


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("cached", [0, 1, 7])
def test_shift_picks_the_distance_of_each_pair(rows, cached):
    """Column k of the table holds distance L-1-k; after the shift (i, j) holds M'+i-j."""
    keys = cached + rows
    table = (keys - 1 - torch.arange(keys + rows - 1)).expand(1, 1, rows, -1)
    expected = cached + torch.arange(rows)[:, None] - torch.arange(keys)[None, :]
    assert torch.equal(rel_shift(table, keys)[0, 0], expected)


def test_legacy_shift_by_its_procedure():
    """A zero column on the left, the rows cut anew one shorter, the first row dropped."""
    x = torch.arange(1, 10).reshape(1, 1, 3, 3)
    # 0 1 2 | 3 0 4 | 5 6 0 | 7 8 9 without its first row
    assert legacy_shift(x)[0, 0].tolist() == [[3, 0, 4], [5, 6, 0], [7, 8, 9]]


def test_bounded_equals_unbounded_within_its_radius():
    like = torch.zeros(1, dtype=torch.float64)
    tables = [make_model(with_(position=options)).encoder.position_tables(4, 9, 5, like)[0]
              for options in (make_options("chunk_rpe"), make_options("bounded_rpe", radius=9),
                              make_options("bounded_rpe", radius=8))]
    assert torch.equal(tables[0], tables[1])
    assert not torch.equal(tables[0], tables[2])
