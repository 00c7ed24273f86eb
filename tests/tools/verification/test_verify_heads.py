"""verify_streaming of models with a transducer, an attention decoder or a language prompt."""

import dataclasses
import pathlib
import re
import sys
from typing import List

import pytest
import torch
import torch.nn.functional as F

from test_verify_streaming import CHECKS, table
from tiny_heads import DECODER, PROMPT, RNNT, TDT, write_model
from tool_runner import FAILURE, ROOT, run, succeed

sys.path[:0] = [str(ROOT / "tests" / "models")]
from transducer_cases import source_of  # noqa: E402

from models.convert.command import main as convert  # noqa: E402
from models.reference.archive import read_archive  # noqa: E402
from models.reference.model import ModelConfig, SpeechModel  # noqa: E402
from models.reference.transducer import JointConfig, JointHiddenConfig  # noqa: E402

NOISE = "--seconds=2"
TOKENS = "transducer tokens: streams = whole under mask"
OF_ENCODER = ["whole under chunk mask = TorchScript encode",
              "chunk by chunk = TorchScript encode_chunk"]
WINDOWS = "windows = whole utterances of their frames"
PROMPTED = "language prompt = TorchScript"
PREDICTOR = "state of the predictor = TorchScript"
JOINT = "predictor and joint network = TorchScript"
LEFT = "attention decoder, left to right = TorchScript"
RIGHT = "attention decoder, right to left = TorchScript"
CASES = ["rnnt_lstm1_streaming", "rnnt_lstm2_offline", "tdt_offline", "tdt_streaming",
         "hybrid_streaming", "stateless_ctx2", "wenet_transducer_rnn", "wenet_transducer_conv",
         "wenet_transducer_embedding", "rescore_transformer", "rescore_bitransformer"]


def checks_of(model: pathlib.Path) -> List[str]:
    """The rows of a table, in order."""
    json = read_archive(str(model))[1]
    config = ModelConfig.from_json(json)
    decoder = config.attention_decoder
    script = "forward" if config.ctc else "encode"
    return [*CHECKS[:4], *([TOKENS] if config.transducer else []),
            *(CHECKS[4:] if config.ctc else OF_ENCODER),
            *([WINDOWS, f"windows = TorchScript {script} of their frames"]
              if json["streaming"]["chunk_size"] == -1 else []),
            *([PROMPTED] if config.prompt else []),
            *([PREDICTOR, JOINT] if config.transducer else []),
            *([LEFT] if decoder else []), *([RIGHT] if decoder and decoder.right_layers else [])]


def assert_passes(model: pathlib.Path) -> None:
    """Every comparison of both precisions is made, and passes."""
    output = succeed("verify_streaming", f"--model={model}", NOISE)
    assert output.endswith("passed\n")
    rows, names = table(output), checks_of(model)
    assert [row[0] for row in rows] == names * 2
    assert all(row[3] == "ok" for row in rows)
    float32, float64 = rows[:len(names)], rows[len(names):]
    assert max(row[2] for row in float64) < 1e-10
    within = [row[2] for row in float32 if "TorchScript" not in row[0]]
    assert within == [0.0] * len(within)
    counts = re.findall(r"^float\d+: .* encoder frames, up to (\d+) tokens of the transducer$",
                        output, re.MULTILINE)
    assert len(counts) == (2 if TOKENS in names else 0)
    assert all(int(count) > 0 for count in counts), "no token tells anything about the search"


@pytest.mark.parametrize("heads", [
    {"transducer": RNNT, "ctc": None}, {"transducer": TDT, "ctc": None},
    {"attention_decoder": DECODER}, {"prompt": PROMPT},
    {"transducer": TDT, "attention_decoder": DECODER, "prompt": PROMPT},
    {"transducer": dataclasses.replace(RNNT, joint=JointConfig(9, activation="sigmoid"))},
    {"transducer": dataclasses.replace(
        RNNT, joint=JointConfig(9, hidden_linear=JointHiddenConfig(4, "tanh")))}],
    ids=lambda heads: "-".join(heads))
def test_random_heads(tmp_path, heads):
    write_model(tmp_path / "model.pt", **heads)
    assert_passes(tmp_path / "model.pt")


@pytest.mark.parametrize("case", CASES)
def test_models_of_the_families(tmp_path, case):
    family, source = source_of(case)
    assert convert([family, str(source), f"--output={tmp_path / 'model.pt'}"]) == 0
    assert_passes(tmp_path / "model.pt")


def test_a_chaotic_predictor(tmp_path):
    """The random LSTM of this model makes rounding grow along the 3750 tokens that it emits."""
    family, source = source_of("rnnt_lstm1_streaming")
    assert convert([family, str(source), f"--output={tmp_path / 'model.pt'}"]) == 0
    output = succeed("verify_streaming", f"--model={tmp_path / 'model.pt'}", "--seconds=30")
    heads = re.findall(r"^float\d+: .*, up to (\d+) tokens of the transducer(.*)$", output,
                       re.MULTILINE)
    assert [count for count, _ in heads] == ["3750"] * 2
    assert heads[0][1] == "", "bits that do not depend on packets need no exception"
    uncompared = re.fullmatch(r" \(rounding decides the last (\d+), which are not compared with "
                              r"streams\)", heads[1][1])
    assert 0 < int(uncompared[1]) < 2000
    found = [(row[0], row[2]) for row in table(output) if row[0] in (PREDICTOR, JOINT)]
    assert [name for name, _ in found] == [PREDICTOR, JOINT] * 2
    assert max(error for _, error in found[:2]) < 1e-5
    assert max(error for _, error in found[2:]) < 1e-13


def test_reduced_precision(tmp_path):
    """Tokens of streams are those of the whole utterance in every precision."""
    model = write_model(tmp_path / "model.pt", transducer=RNNT, ctc=None, prompt=PROMPT)
    for precision in ("bfloat16", "int8"):
        rows = table(succeed("verify_streaming", model, NOISE, f"--precision={precision}"))
        assert dict((row[0], row[2]) for row in rows)[TOKENS] == 0.0


class WrongChunks(SpeechModel):
    """Chunks give other encoder frames."""

    @torch.jit.export
    def encode_chunk(self, features, offset: int, last: bool, left_context: int, att_cache,
                     cnn_cache):
        x, att_cache, cnn_cache = self.encoder.forward_chunk(features, offset, last, left_context,
                                                             att_cache, cnn_cache)
        return x + 0.01, att_cache, cnn_cache


class WrongPredictor(SpeechModel):
    """A token leaves a weaker trace in the state."""

    @torch.jit.export
    def predictor_step(self, tokens, state):
        output, state = self.transducer.predictor(tokens, state)
        return output, 0.99 * state


class WrongGates(SpeechModel):
    """Input gates and forget gates are exchanged."""

    @torch.jit.export
    def predictor_step(self, tokens, state):
        x = self.transducer.predictor.embedding(tokens)
        new_h, new_c = [], []
        for i, layer in enumerate(self.transducer.predictor.lstm):
            h, c = state[:, 0, i], state[:, 1, i]
            gates = F.linear(x, layer.weight_ih, layer.bias) + F.linear(h, layer.weight_hh)
            forget, keep, new, out = gates.chunk(4, dim=1)
            c = torch.sigmoid(forget) * c + torch.sigmoid(keep) * torch.tanh(new)
            x = torch.sigmoid(out) * torch.tanh(c)
            new_h.append(x)
            new_c.append(c)
        state = torch.stack([torch.stack(new_h, 1), torch.stack(new_c, 1)], 1)
        return self.transducer.predictor.out(x), state


class WrongStart(SpeechModel):
    """The predictor does not begin with zeros."""

    @torch.jit.export
    def initial_predictor_state(self, batch: int):
        return self.transducer.predictor.initial_state(batch) + 0.1


class WrongToken(SpeechModel):
    """The predictor reads the blank as another token."""

    @torch.jit.export
    def predictor_step(self, tokens, state):
        return self.transducer.predictor(torch.clamp(tokens, min=1), state)  # the blank is 0


class WrongOutput(SpeechModel):
    """What the joint network reads of the predictor is a little larger."""

    @torch.jit.export
    def predictor_step(self, tokens, state):
        output, state = self.transducer.predictor(tokens, state)
        return 1.01 * output, state


class WrongDurations(SpeechModel):
    """The last duration is more probable."""

    @torch.jit.export
    def joint(self, encoder_rows, predictor_rows):
        logits = self.transducer.joint(encoder_rows, predictor_rows)
        return torch.cat([logits[..., :-1], logits[..., -1:] + 0.1], -1)


class WrongReverse(SpeechModel):
    """The decoder from right to left reads the tokens as the other one does."""

    @torch.jit.export
    def decoder_log_probs(self, encoded, encoded_lengths, tokens, lengths, reverse: bool):
        if reverse:
            tokens = tokens.flip(1)
        return self.attention_decoder(encoded, encoded_lengths, tokens, lengths, reverse)


class WrongPrompt(SpeechModel):
    """Every language is the default one."""

    @torch.jit.export
    def apply_prompt(self, encoded, languages):
        return self.prompt(encoded, torch.full_like(languages, self.prompt.default_language))


@pytest.mark.parametrize("wrong, heads, checks", [
    (WrongChunks, {"transducer": RNNT, "ctc": None}, [OF_ENCODER[1]]),
    (WrongPredictor, {"transducer": RNNT}, [PREDICTOR]),
    (WrongGates, {"transducer": RNNT}, [PREDICTOR, JOINT]),
    (WrongStart, {"transducer": RNNT}, [PREDICTOR, JOINT]),
    (WrongStart, {"transducer": TDT}, [PREDICTOR, JOINT]),
    (WrongToken, {"transducer": RNNT}, [PREDICTOR, JOINT]),
    (WrongOutput, {"transducer": TDT}, [JOINT]),
    (WrongDurations, {"transducer": TDT, "ctc": None}, [JOINT]),
    (WrongReverse, {"attention_decoder": DECODER}, [RIGHT]),
    (WrongPrompt, {"prompt": PROMPT, "transducer": RNNT}, [PROMPTED])])
def test_archive_whose_code_disagrees(tmp_path, wrong, heads, checks):
    model = write_model(tmp_path / "wrong.pt", wrong, **heads)
    done = run("verify_streaming", model, NOISE)
    assert done.returncode == FAILURE
    rows = table(done.stdout)
    assert [row[0] for row in rows if row[3] == "FAILED"] == checks * 2
    assert len(rows) == 2 * len(checks_of(tmp_path / "wrong.pt"))
    assert f"float32: check '{checks[0]}' failed at " in done.stderr
    assert len(done.stderr.splitlines()) == 1
