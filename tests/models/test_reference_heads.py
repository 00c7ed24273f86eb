"""The heads of the reference: their definitions written out again, and searches by brute force."""

import dataclasses
import itertools
import math

import pytest
import torch
from reference_models import CONFIG, VOCAB, make_full_model

from models.reference.attention_decoder import AttentionDecoderConfig
from models.reference.ctc import CtcConfig
from models.reference.feed_forward import activate
from models.reference.model import ModelConfig
from models.reference.predictor import (ConvPredictorConfig, EmbeddingPredictorConfig,
                                        LstmPredictorConfig)
from models.reference.prompt import PromptConfig
from models.reference.transducer import JointConfig, JointHiddenConfig, TransducerConfig
from models.reference.transducer_search import (FusedBeam, Greedy, ModifiedBeam,
                                                TimeSynchronousBeam, attention_scores)

DIM = CONFIG.model_dim
PREDICTORS = {
    "lstm1": LstmPredictorConfig(5, 6, 1, None), "lstm2": LstmPredictorConfig(5, 6, 2, 4),
    "conv": ConvPredictorConfig(6, 3, 2, True, 1e-5, "gelu"),
    "icefall": ConvPredictorConfig(6, 2, 3, False, None, "relu"),
    "one": ConvPredictorConfig(6, 1, 1, False, None, "tanh"),
    "embedding": EmbeddingPredictorConfig(6, 3, 2, 1e-5, "swish")}
DECODER = AttentionDecoderConfig(VOCAB, 2, 10, 2, 1, True, "relu", 1e-5, 5, 6)


def transducer(name="lstm1", **fields):
    """A small one with one of PREDICTORS."""
    return TransducerConfig(**{"vocab_size": VOCAB, "blank_id": 0, "joint": JointConfig(7),
                               "predictor": PREDICTORS[name], **fields})


def model_of(head, **sections):
    """A model with this transducer, float64, random weights."""
    return make_full_model(ModelConfig(CONFIG, sections.pop("ctc", None), head, **sections))


@pytest.mark.parametrize("name", PREDICTORS)
def test_predictors_by_hand(name):
    """After each of some tokens: from the tokens so far alone, without a state."""
    config, model = PREDICTORS[name], model_of(transducer(name))
    predictor = model.transducer.predictor
    tokens = [0, 3, 3, 6, 1]
    state = model.initial_predictor_state(1)
    for count, token in enumerate(tokens, 1):
        output, state = model.predictor_step(torch.tensor([token]), state)
        rows = predictor.embedding.weight[tokens[:count]]
        if isinstance(config, LstmPredictorConfig):
            lstm = torch.nn.LSTM(config.embedding_dim, config.hidden_dim, config.num_layers)
            lstm = lstm.double()
            for i, layer in enumerate(predictor.lstm):
                getattr(lstm, f"weight_ih_l{i}").data = layer.weight_ih.data
                getattr(lstm, f"weight_hh_l{i}").data = layer.weight_hh.data
                getattr(lstm, f"bias_ih_l{i}").data = layer.bias.data
                getattr(lstm, f"bias_hh_l{i}").data.zero_()
            expected = lstm(rows.unsqueeze(1))[0][-1, 0]
            expected = expected if predictor.out is None else predictor.out(expected)
        else:
            empty = rows.new_zeros(config.context_size, config.embedding_dim)
            context = torch.cat([empty, rows])[-config.context_size:]
            expected = by_hand(predictor, config, context)
        torch.testing.assert_close(output[0], expected, rtol=0, atol=1e-12)
    assert config.output_size == output.size(1)


def by_hand(predictor, config, context):
    """The stateless predictors' output (E) from the last K embeddings (K, E)."""
    if isinstance(config, ConvPredictorConfig):
        of_group = config.embedding_dim // config.groups
        x = torch.stack([
            (predictor.conv.weight[e].T
             * context[:, e // of_group * of_group:(e // of_group + 1) * of_group]).sum()
            for e in range(config.embedding_dim)])
        x = x if predictor.conv.bias is None else x + predictor.conv.bias
    else:
        x = sum(torch.dot(row, predictor.position.weight[head, :, k]) * row
                for head in range(config.num_heads) for k, row in enumerate(context))
        x = predictor.ffn(x / (config.num_heads * config.context_size))
    x = x if predictor.norm is None else predictor.norm(x)
    return activate(x, config.activation)


@pytest.mark.parametrize("joint", [
    JointConfig(7), JointConfig(7, hidden_linear=True, activation="tanh"),
    JointConfig(DIM, input_linear=False, activation="gelu"),
    JointConfig(DIM, input_linear=False, hidden_linear=True, activation="swish"),
    JointConfig(7, hidden_linear=JointHiddenConfig(4, "tanh"), activation="relu"),
    JointConfig(7, activation="sigmoid")])
def test_joint_by_hand(joint):
    predictor = LstmPredictorConfig(5, 6, 1, DIM)
    model = model_of(transducer(joint=joint, predictor=predictor, durations=(0, 1, 3)))
    encoded, predicted = torch.randn(4, DIM).double(), torch.randn(4, DIM).double()
    net = model.transducer.joint
    x = net.encoder(encoded) + net.predictor(predicted) if joint.input_linear \
        else encoded + predicted
    if joint.hidden_linear is not False:
        between = torch.tanh(x) if joint.hidden_linear is not True else x
        x = between @ net.hidden.weight.T + net.hidden.bias
    expected = activate(x, joint.activation) @ net.out.weight.T + net.out.bias
    torch.testing.assert_close(model.joint(encoded, predicted), expected, rtol=0, atol=1e-12)
    assert expected.size(1) == VOCAB + 3


def test_logits_for_training_are_those_of_the_search():
    model = model_of(transducer("conv"))
    encoded = torch.randn(2, 3, DIM).double()
    logits = model.transducer_logits(encoded, torch.tensor([[2, 4], [5, 5]]))
    state = model.initial_predictor_state(2)
    for u, tokens in enumerate([[0, 0], [2, 5], [4, 5]]):
        output, state = model.predictor_step(torch.tensor(tokens), state)
        for t in range(3):
            torch.testing.assert_close(logits[:, t, u], model.joint(encoded[:, t], output),
                                       rtol=0, atol=1e-12)


@pytest.mark.parametrize("durations", [(), (0, 1, 2, 4)])
@pytest.mark.parametrize("name", PREDICTORS)
def test_greedy_search_in_pieces(name, durations):
    """Pieces of any size give the steps of the whole utterance."""
    config = transducer(name, durations=durations, max_symbols=2)
    model = model_of(config)
    rows = 3 * torch.randn(23, DIM).double()
    whole = Greedy(model, config)
    whole.advance(rows)
    assert whole.tokens() and len(whole.steps) > 5
    for sizes in ([1] * 23, [5, 0, 7, 11], [22, 1]):
        pieces = Greedy(model, config)
        for piece in rows.split(sizes):
            pieces.advance(piece)
        assert [(step.frame, step.label, step.duration) for step in pieces.steps] \
            == [(step.frame, step.label, step.duration) for step in whole.steps]
        assert pieces.skip == whole.skip and pieces.frames == 23


def paths(model, config, rows, most):
    """ln of the probability of every token sequence: the sum over all of its paths."""
    total = {}

    def walk(t, prefix, symbols, state, output, score):
        if t >= len(rows):
            total.setdefault(prefix, []).append(score)
            return
        logits = model.joint(rows[t:t + 1], output)[0]
        labels = torch.log_softmax(logits[:config.vocab_size], 0).tolist()
        frames = torch.log_softmax(logits[config.vocab_size:], 0).tolist()
        moves = list(zip(config.durations, frames)) if config.durations else None
        for label, log_prob in enumerate(labels):
            blank = label == config.blank_id
            for duration, more in moves or [(1 if blank else 0, 0.0)]:
                after = score + log_prob + more
                if blank:
                    walk(t + max(duration, 1), prefix, 0, state, output, after)
                elif duration > 0 or symbols < most:
                    new_output, new_state = model.predictor_step(torch.tensor([label]), state)
                    walk(t + duration, (*prefix, label), 0 if duration else symbols + 1,
                         new_state, new_output, after)

    with torch.no_grad():
        start = model.initial_predictor_state(1)
        output, state = model.predictor_step(torch.tensor([config.blank_id]), start)
        walk(0, (), 0, state, output, 0.0)
    return {prefix: logsumexp(scores) for prefix, scores in total.items()}


def logsumexp(scores):
    return torch.logsumexp(torch.tensor(scores, dtype=torch.float64), 0).item()


@pytest.mark.parametrize("durations, frames", [((), 3), ((0, 1, 2), 2)])
def test_time_synchronous_beam_against_all_paths(durations, frames):
    """A beam that prunes nothing finds every sequence with its whole probability."""
    config = dataclasses.replace(transducer("conv", durations=durations), vocab_size=3)
    model = model_of(config)
    rows = 2 * torch.randn(frames, DIM).double()
    expected = paths(model, config, rows, 2)
    beam = TimeSynchronousBeam(model, config, 10 ** 6, 2)
    for row in rows:
        beam.advance(row[None])
    found = {one.tokens: one.score for one in beam.nbest()}
    assert found.keys() == expected.keys() and len(found) > 20
    for prefix, score in expected.items():
        assert math.isclose(found[prefix], score, abs_tol=1e-9)
    if not durations:
        assert [one.tokens for one in beam.nbest()] \
            == sorted(expected, key=lambda prefix: -expected[prefix])


@pytest.mark.parametrize("beam_class", [ModifiedBeam, FusedBeam])
def test_one_label_per_frame_against_all_paths(beam_class):
    config = dataclasses.replace(transducer("lstm2"), vocab_size=3)
    model = model_of(config, ctc=CtcConfig(3))
    rows = 2 * torch.randn(4, DIM).double()
    ctc = model.ctc_log_probs(rows[None]).detach()[0]
    expected = {}
    for labels in itertools.product(range(3), repeat=4):
        score, tokens = 0.0, tuple(label for label in labels if label)
        output, state = model.predictor_step(torch.tensor([0]), model.initial_predictor_state(1))
        for t, label in enumerate(labels):
            probs = torch.softmax(model.joint(rows[t:t + 1], output)[0], 0)
            if beam_class is FusedBeam:
                probs = 0.7 * probs + 0.3 * ctc[t].exp()
            score += math.log(probs[label])
            if label:
                output, state = model.predictor_step(torch.tensor([label]), state)
        expected.setdefault(tokens, []).append(score)
    beam = beam_class(model, config, 10 ** 6)
    if beam_class is FusedBeam:
        beam.advance_with_ctc(rows, ctc)
    else:
        beam.advance(rows)
    assert {one.tokens for one in beam.nbest()} == expected.keys()
    for one in beam.nbest():
        assert math.isclose(one.score, logsumexp(expected[one.tokens]), abs_tol=1e-9)
        assert len(one.frames) == len(one.tokens) and list(one.frames) == sorted(set(one.frames))


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("reverse", [False, True])
def test_attention_scores_alone_and_together(norm_first, reverse):
    """The probabilities of the next token after every prefix sum to 1, in any batch."""
    decoder = dataclasses.replace(DECODER, norm_first=norm_first)
    model = model_of(None, ctc=CtcConfig(VOCAB), attention_decoder=decoder)
    encoded = torch.randn(9, DIM).double()
    nbest = [[1, 2, 3], [], [4], [4, 4, 2, 1, 3]]
    together = attention_scores(model, encoded, nbest, 6, reverse)
    for tokens, score in zip(nbest, together.tolist()):
        assert math.isclose(attention_scores(model, encoded, [tokens], 6, reverse)[0], score,
                            abs_tol=1e-9)
    single = [[token] for token in range(VOCAB)]
    rows = model.decoder_log_probs(encoded.expand(VOCAB, -1, -1), torch.full([VOCAB], 9),
                                   torch.tensor(single), torch.ones(VOCAB, dtype=torch.int64),
                                   reverse)
    torch.testing.assert_close(rows.exp().sum(2), torch.ones(VOCAB, 2).double())


def test_heads_that_a_model_lacks():
    """In Python and in the scripted module."""
    only_ctc, only_transducer = model_of(None, ctc=CtcConfig(VOCAB)), model_of(transducer())
    rows, tokens = torch.randn(1, 2, DIM).double(), torch.zeros(1, 1, dtype=torch.int64)
    for wrap in (lambda model: model, torch.jit.script):
        for model, call, message in (
                (only_transducer, lambda m: m.ctc_log_probs(rows), "no CTC head"),
                (only_ctc, lambda m: m.initial_predictor_state(1), "no transducer head"),
                (only_ctc, lambda m: m.joint(rows, rows), "no transducer head"),
                (only_ctc, lambda m: m.apply_prompt(rows, tokens[0]), "no prompt"),
                (only_ctc, lambda m: m.decoder_log_probs(rows, tokens[0], tokens, tokens[0], False),
                 "no attention decoder")):
            with pytest.raises((ValueError, torch.jit.Error), match=message):
                call(wrap(model))


def full_config(**fields):
    """A model with every section."""
    return ModelConfig(**{"encoder": CONFIG, "ctc": CtcConfig(VOCAB), "transducer": transducer(),
                          "attention_decoder": DECODER,
                          "prompt": PromptConfig(("en", "", "de"), 9, "de"), **fields})


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_sections_come_back(predictor):
    config = full_config(transducer=transducer(predictor, durations=(0, 2)))
    assert ModelConfig.from_json(config.to_json()) == config
    without = full_config(ctc=None, attention_decoder=None, prompt=None)
    assert ModelConfig.from_json(without.to_json()) == without


def test_scripted_model_of_all_heads():
    """The exported methods give the values of the Python module, the prompt's included."""
    model = make_full_model(full_config())
    scripted = torch.jit.script(model)
    features, lengths = torch.randn(1, 60, 20).double(), torch.tensor([60])
    encoded, _ = model.encode(features, lengths, 3, 6)
    prompted = model.apply_prompt(encoded, torch.tensor([2]))
    expected = model.ctc_log_probs(prompted)
    torch.testing.assert_close(scripted(features, lengths, 3, 6)[0], expected)
    torch.testing.assert_close(model(features, lengths, 3, 6)[0], expected)
    other = model.apply_prompt(encoded, torch.tensor([0]))
    assert (other - prompted).abs().max() > 1e-3
    searches = [Greedy(either, transducer()) for either in (model, scripted)]
    for greedy in searches:
        greedy.advance(prompted[0])
    labels = [[step.label for step in greedy.steps] for greedy in searches]
    assert labels[0] and labels[0] == labels[1]


@pytest.mark.parametrize("section, name, value, message", [
    ("ctc", "blank_id", 7, "ctc: blank_id 7 is outside 0..6"),
    ("ctc", "vocab_size", 6, "transducer: vocab_size is 7, expected 6 as in ctc"),
    ("ctc", "blank_id", 1, "transducer: blank_id is 0, expected 1 as in ctc"),
    ("ctc", "vocab_size", "7", "ctc.vocab_size is '7', expected an integer"),
    ("transducer", "beam", "wide", "transducer: beam is 'wide', expected one of "
     "time_synchronous, modified, prefix"),
    ("transducer", "max_symbols", 0, "transducer: max_symbols is 0, expected at least 1"),
    ("transducer", "durations", [0], "transducer: durations is [0], expected numbers from 0 on, "
     "one of them above 0"),
    ("transducer", "durations", [0.5], "transducer.durations[0] is 0.5, expected an integer"),
    ("transducer", "durations", 3, "transducer.durations is 3, expected a list"),
    ("transducer", "extra", 3, "transducer.extra is not a known field"),
    ("transducer.predictor", "type", "gru", "transducer.predictor.type is 'gru', expected one of "
     "lstm, conv, embedding"),
    ("transducer.predictor", "num_layers", 0,
     "transducer.predictor: num_layers is 0, expected at least 1"),
    ("transducer.predictor", "output_dim", "6",
     "transducer.predictor.output_dim is '6', expected an integer"),
    ("transducer.joint", "activation", "elu", "transducer.joint: activation is 'elu', "
     "expected one of relu, tanh, swish, gelu, sigmoid, identity"),
    ("transducer.joint", "input_linear", False, "transducer: joint.dim is 7 without input_linear, "
     "expected model_dim 16 and the predictor's 6 to equal it"),
    ("attention_decoder", "vocab_size", 8,
     "attention_decoder: vocab_size is 8, expected 7 as in ctc"),
    ("attention_decoder", "eos_id", 7, "attention_decoder: eos_id 7 is outside 0..6"),
    ("attention_decoder", "left_layers", 0,
     "attention_decoder: left_layers is 0, expected at least 1"),
    ("prompt", "default", "fr", "prompt: default is 'fr', expected one of the languages"),
    ("prompt", "languages", ["de", "de"], "prompt: languages has a name twice"),
    ("prompt", "languages", ["de", 3], "prompt.languages[1] is 3, expected a string"),
])
def test_messages(section, name, value, message):
    sections = full_config().to_json()
    place = sections
    for part in section.split("."):
        place = place[part]
    place[name] = value
    with pytest.raises(ValueError) as error:
        ModelConfig.from_json(sections)
    assert str(error.value) == message


def test_a_model_has_a_head():
    sections = {**full_config().to_json(), "ctc": None, "transducer": None}
    with pytest.raises(ValueError, match="expected at least one of them"):
        ModelConfig.from_json(sections)
    del sections["prompt"]
    with pytest.raises(ValueError, match="^prompt is missing$"):
        ModelConfig.from_json(sections)
