"""measure_delay with a transducer, and with a model that permits certain settings only."""

import subprocess
import sys

from test_measure_delay import measure
from tiny_heads import RNNT, write_model
from tool_runner import FAILURE, ROOT, SAMPLES, error_line, run

sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "models")]
from nemo_files import NemoFile, settings_of  # noqa: E402


def test_model_without_the_whole_utterance(tmp_path):
    """A cache-aware NeMo model permits certain settings only; the widest aligns."""
    nemo = NemoFile("fastconformer_streaming")
    model = tmp_path / "model.pt"
    subprocess.run([sys.executable, "models/convert.py", "nemo",
                    str(nemo.write(tmp_path / "m.nemo")), f"--output={model}"], cwd=ROOT,
                   check=True, stdout=subprocess.DEVNULL)
    chunk, left = max(settings_of(nemo.config["encoder"]))
    wav = f"--wav={SAMPLES / 'ked_year.flac'}"
    head, _ = measure(f"--model={model}", wav)
    assert head[1] == f"C={chunk} M={left}"
    _, table = measure(f"--model={model}", wav, f"--chunk_size={chunk}", f"--left_context={left}")
    count, *delays = table["emission delay in ms, all tokens"]
    assert count > 0 and delays == [0, 0, 0, 0]


def test_transducer_of_a_hybrid_model(tmp_path):
    """The stream's tokens are those of the transducer, the reference is that of the CTC head."""
    wav = f"--wav={SAMPLES / 'ked_year.flac'}"
    matched, tokens = measure(write_model(tmp_path / "m.pt", transducer=RNNT), wav)[0][3:]
    assert 0 < matched < tokens
    silent = write_model(tmp_path / "silent.pt", transducer=RNNT, blank_bias=1e4)
    assert measure(silent, wav)[0][3:] == (0, tokens)


def test_model_without_ctc(tmp_path):
    model = write_model(tmp_path / "m.pt", transducer=RNNT, ctc=None)
    done = run("measure_delay", model, f"--wav={SAMPLES / 'ked_year.flac'}")
    assert error_line(done, FAILURE) == ("measure_delay: model tiny has no CTC head, expected a "
                                         "model with one")
