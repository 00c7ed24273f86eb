"""p(word | words before) of models that irstlm estimated, against irstlm's own evaluation."""

import math
import os
import pathlib
import random
import re
import subprocess
from typing import List, Tuple

import pytest

from tool_runner import BIN, succeed

IRSTLM = pathlib.Path("/usr/lib/irstlm")
WORDS = 120
# irstlm divides p(<unk>) by the number of unknown words, 10^7 less the known ones.
UNKNOWN_WORDS_LOG10 = math.log10(1e7)


def irstlm(program: str, *arguments: str, stdin: str = "", folder: pathlib.Path) -> str:
    """Runs a program of irstlm; returns its standard output."""
    path = f"{IRSTLM / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run([IRSTLM / "bin" / program, *arguments], cwd=folder, input=stdin,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env={**os.environ, "IRSTLM": str(IRSTLM), "PATH": path})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def _need_irstlm() -> None:
    """Skips without irstlm, fails where it must be."""
    if not (IRSTLM / "bin" / "compile-lm").exists():
        if os.environ.get("CI") == "true":
            pytest.fail("irstlm is not installed (Debian: irstlm)")
        pytest.skip("irstlm is not installed (Debian: irstlm)")


def sentences(count: int, seed: int) -> List[List[str]]:
    """Sentences of a random language in which every word has a few usual successors."""
    chain = random.Random(0)
    names = [f"w{i}{chain.choice('aeiouäß中')}" for i in range(WORDS)]
    usual = [[min(int(chain.expovariate(0.05)), WORDS - 1) for _ in range(6)] for _ in names]
    choose = random.Random(seed)
    result = []
    for _ in range(count):
        word, sentence = choose.randrange(WORDS), []
        for _ in range(choose.randint(1, 12)):
            sentence.append(names[word])
            word = choose.choice(usual[word]) if choose.random() < 0.8 else choose.randrange(WORDS)
        result.append(sentence)
    return result


def irstlm_probs(folder: pathlib.Path, text: List[List[str]]
                 ) -> List[List[Tuple[float, float]]]:
    """log10 p of each word and its tolerance. Two words or less are printed with two digits."""
    padded = [["<s>", *sentence] for sentence in text]
    (folder / "heldout").write_text("".join(" ".join(line) + "\n" for line in padded),
                                    encoding="utf-8")
    rough = irstlm("compile-lm", "lm.arpa", "--eval=heldout", "--debug=2", folder=folder)
    rough_values = [float(value) for value in re.findall(r"\[\d-gram\] (-?[\d.]+)$", rough, re.M)]
    exact = irstlm("compile-lm", "lm.arpa", "--score=yes", "--debug=1", folder=folder,
                   stdin=(folder / "heldout").read_text(encoding="utf-8"))
    exact_values = re.findall(r" p= (NULL|\S+)", exact)
    assert len(rough_values) == len(exact_values) == sum(map(len, text))
    result, at = [], 0
    for sentence in text:
        result.append([])
        for _ in sentence:
            value = (rough_values[at], 0.0051)
            if exact_values[at] != "NULL":
                value = (float.fromhex(exact_values[at]) / math.log(10), 2e-6)
            result[-1].append(value)
            at += 1
    return result


@pytest.mark.parametrize("order, options", [
    (3, ["-s", "witten-bell"]),
    (3, ["-s", "improved-shift-beta"]),
    (3, ["-s", "witten-bell", "-p", "-f", "0,2,3"]),
    (2, ["-s", "improved-shift-beta", "-p"]),
    (5, ["-s", "witten-bell", "-f", "0,1,1,2,2"]),
])
def test_probabilities_are_those_of_irstlm(tmp_path, order, options):
    train = "".join(f"<s> {' '.join(words)} </s>\n" for words in sentences(1500, seed=1))
    (tmp_path / "train").write_text(train, encoding="utf-8")
    irstlm("build-lm.sh", "-i", "train", "-n", str(order), "-o", "lm.gz", "-k", "1", "-t", "stat",
           *options, folder=tmp_path)
    irstlm("compile-lm", "lm.gz", "--text=yes", "lm.arpa", folder=tmp_path)
    succeed("compile_lm", f"--arpa={tmp_path / 'lm.arpa'}", f"--output={tmp_path / 'lm.bin'}")

    heldout = [[*words, "</s>"] for words in sentences(200, seed=2)]
    for sentence in heldout[::10]:
        sentence[len(sentence) // 2] = "unseen"
    expected = irstlm_probs(tmp_path, heldout)
    text = "".join(" ".join(words) + "\n" for words in heldout)
    num_exact = 0
    for model in "lm.arpa", "lm.bin":
        done = subprocess.run([BIN / "print_log10_probs", tmp_path / model], input=text, text=True,
                              stdout=subprocess.PIPE, check=True)
        lines = [[float(value) for value in line.split()] for line in done.stdout.splitlines()]
        assert [len(line) for line in lines] == [len(words) for words in heldout]
        for words, values, theirs in zip(heldout, lines, expected):
            for word, value, (wanted, tolerance) in zip(words, values, theirs):
                if word == "unseen":
                    value -= UNKNOWN_WORDS_LOG10
                    tolerance = max(tolerance, 1e-4)
                assert value == pytest.approx(wanted, abs=tolerance), (words, word)
                num_exact += tolerance < 1e-5
    assert num_exact > 1000
