"""Word errors of the shipped model on an unseen speaker equal those of its model card."""

import sys

import pytest

from shared_data import need_shared
from tool_runner import ROOT, succeed

sys.path.insert(0, str(ROOT))
from models.digits.build_eval_set import LEFT_OUT_LIST, ensure_set  # noqa: E402
from models.digits.score import read_text, score_texts  # noqa: E402

NUM_WORDS = 900
# Other CPUs round matmuls differently, which changes a few words.
MARGIN = 5


@pytest.fixture(scope="module", name="recordings")
def _recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eval")
    ensure_set(LEFT_OUT_LIST, need_shared("fsdd"), folder)
    return folder / LEFT_OUT_LIST


# The model card's "left-out speaker", greedy and with the word list.
@pytest.mark.parametrize("chunk_size, flags, errors", [
    (16, (), 36), (4, (), 59),
    (16, ("--word_list=models/digits/words.txt",), 24),
    (4, ("--word_list=models/digits/words.txt",), 24),
    (16, ("--word_list=models/digits/words.txt", "--precision=int8"), 25)])
def test_word_errors(recordings, tmp_path, chunk_size, flags, errors):
    hypotheses = tmp_path / "hypotheses"
    succeed("decode_wav", "--model=models/digits/digits.pt", f"--wav_scp={recordings / 'wav.scp'}",
            f"--chunk_size={chunk_size}", "--left_context=64", "--batch_streams=8",
            f"--output={hypotheses}", *flags)
    score = score_texts(read_text(recordings / "text"), read_text(hypotheses))
    assert score.words == NUM_WORDS
    assert score.total() <= errors + MARGIN, score
