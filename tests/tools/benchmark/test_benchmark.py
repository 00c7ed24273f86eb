"""The benchmark's model, its sections and its int8 rewriting for ONNX Runtime."""

import dataclasses

import numpy as np
import pytest
import torch

from models.reference.archive import read_archive
from tools.benchmark.pages.random_model import (AISHELL, ARCHITECTURES, SMALL, main, random_model,
                                                write_model)
from tools.benchmark.report import bulk, one_core, operations
from tools.benchmark.report.bench import Bench, Page
from tools.benchmark.report.onnx_export import ChunkStep, WholeUtterances, export_onnx
from tools.benchmark.report.plan import CHUNK_SIZE, FULL, LEFT_CONTEXT
from tools.benchmark.report.sweeps import fit_line


def test_archive_of_a_random_model(tmp_path):
    """It has the configured sizes, is seeded, and its results are finite and spread."""
    path = str(tmp_path / "model.pt")
    write_model(SMALL, 1, path)
    module, config, tokens = read_archive(path)
    assert (config["streaming"]["chunk_size"], config["streaming"]["left_context"]) == (16, 64)
    assert len(tokens) == len(set(tokens)) == SMALL.vocab_size
    features = 12 + 4 * torch.randn(1, 400, SMALL.encoder.input_dim)
    with torch.no_grad():
        rows, _ = module.encode(features, torch.tensor([400]), 16, 64)
        log_probs, _ = module(features, torch.tensor([400]), 16, 64)
    assert torch.isfinite(log_probs).all()
    assert 0.5 < rows.std() < 2 and 1 < log_probs.std() < 5
    same, other = random_model(SMALL, 1).state_dict(), random_model(SMALL, 2).state_dict()
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, same[name]), name
    assert not torch.equal(same["ctc.ctc_lo.weight"], other["ctc.ctc_lo.weight"])


def test_aishell_sizes():
    assert AISHELL.vocab_size == 4233
    assert dataclasses.replace(SMALL.encoder, model_dim=256, num_layers=12, num_heads=4,
                               feed_forward_dim=2048) == AISHELL.encoder


def test_model_that_cannot_be_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(ARCHITECTURES, "aishell", SMALL)
    assert main([f"--output={tmp_path / 'missing' / 'model.pt'}"]) == 1
    message, = capsys.readouterr().err.splitlines()
    assert message.startswith("random_model: ")
    assert main([f"--output={tmp_path / 'model.pt'}", "--seed=3"]) == 0
    assert (tmp_path / "model.pt").exists()


def test_fits_find_what_made_the_data():
    line = fit_line("chunk_size", [{"chunk_size": x, "median_ms": y}
                                   for x, y in ((0, 2.0), (16, 2.5), (64, 4.0))])
    assert (line["intercept"], line["slope"], line["r_squared"]) == pytest.approx(
        (2.0, 1 / 32, 1.0))


def test_chunk_step_is_a_chunk_of_the_model(tmp_path):
    """Two streams with full caches; each alone in the model as it is archived."""
    model = random_model(SMALL, 1)
    step = ChunkStep(random_model(SMALL, 1), SMALL.encoder, CHUNK_SIZE, LEFT_CONTEXT).eval()
    features, att_cache, cnn_cache = step.inputs(2)
    with torch.no_grad():
        found = step(features, att_cache, cnn_cache)
        for i in range(2):
            expected = model.forward_chunk(features[i:i + 1], LEFT_CONTEXT, False, LEFT_CONTEXT,
                                           att_cache[:, i], cnn_cache[:, i:i + 1])
            torch.testing.assert_close(found[0][i], expected[0][0], rtol=0, atol=1e-5)
            torch.testing.assert_close(found[1][:, i], expected[1], rtol=0, atol=1e-5)
            torch.testing.assert_close(found[2][:, i:i + 1], expected[2], rtol=0, atol=1e-5)


def test_whole_utterances_are_those_of_the_model():
    """Two utterances in a batch, as the archived model computes them."""
    model = random_model(SMALL, 1)
    step = WholeUtterances(random_model(SMALL, 1), SMALL.encoder, 203).eval()
    features, = step.inputs(2)
    with torch.no_grad():
        found, = step(features)
        expected, lengths = model(features, torch.tensor([203, 203]), -1, -1)
    assert found.size(1) == lengths[0]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_whole_utterances_in_onnx(tmp_path):
    """The exported graph takes features of one size and no caches."""
    onnx = pytest.importorskip("onnx")
    step = WholeUtterances(random_model(SMALL, 1), SMALL.encoder, 203)
    export_onnx(step, 2, tmp_path / "whole.onnx")
    graph = onnx.load(str(tmp_path / "whole.onnx")).graph
    features, = graph.input
    assert [size.dim_value for size in features.type.tensor_type.shape.dim] == [2, 203, 80]
    assert [value.name for value in graph.output] == ["log_probs"]
    assert (tmp_path / "whole.onnx.log_probs.bin").stat().st_size == 2 * 50 * 50 * 4


def write(section, measured, machine=None):
    """Its text, on a page without other sections and figures."""
    return section.write(measured, Page(FULL, {}, machine or {}, None))


def test_bulk_section():
    """Every row beside the first one."""
    rows = [{"engine": "TorchScript", "precision": "float32", "batch": 1, "hours": 20.0},
            {"engine": "Runnel", "precision": "int8", "batch": 8, "hours": 150.0}]
    text = write(bulk.SECTIONS[0], rows)
    assert "64 recordings of\n10 s of noise" in text
    assert text.endswith("| TorchScript | float32 | 1 | 20 | 1.00x |\n"
                         "| Runnel | int8 | 8 | 150 | 7.50x |\n")


def step_of(layers, precision, streams, **changes):
    """A row of bench_operations whose parts take 3 ms and at least 1, at 10^9 per second."""
    parts = ("subsampling", "feed_forward", "attention", "convolution", "ctc")
    return {"name": f"{layers}/whole_step/cpu/{precision}/{streams}", "read_gb_per_second": 1,
            "step_ms": 21, "attention_matmuls_ms": 1, "scores_operations": 5e5, "cache_bytes": 2e6,
            **{f"{part}_operations": 1e6 for part in parts}, **{f"{part}_ms": 3 for part in parts},
            **{f"{part}_weight_bytes": 5e5 for part in parts}, **changes}


PEAKS = {"peak_gflops_per_core": {"float32": 1, "int8": 1}}


def test_floors():
    """Set by operations, 10^9 per second, or by reading, 10^9 bytes per second."""
    text = write(operations.SECTIONS[0], [step_of("conformer", "float32", 1)], PEAKS)
    dense, scores = "3.000 / 1.000 (3.00x)", "2.000 / 2.000 (1.00x, memory)"
    assert text.endswith(f"| float32 | 1 | {dense} | {dense} | 1.000 / 1.000 (1.00x) | "
                         f"{scores} | {dense} | {dense} | 21.000 / 7.000 (3.00x) |\n")


def test_other_layers():
    """Multiples of the floor relative to the Conformer's, and pieces relative to others."""
    def piece(name, us, operations_=0):
        return {"name": f"piece/{name}", "items_per_second": 1e6 / us, "read_gb_per_second": 1,
                "operations": operations_, "bytes": 100}
    measured = {
        "steps": [step_of(layers, "int8", 16, step_ms=ms) for layers, ms in (
            ("conformer", 21), ("rotary", 24.5), ("local_attention", 28))],
        "pieces": [piece("layer_norm", 1), piece("basic_norm", 0.5), piece("swish", 0.25),
                   piece("double_swish", 0.5), piece("stateless_joint", 2, 1000)]}
    results = {"One core": [{"precision": "int8", "streams": 16, "median_ms": 1.6}]}
    text = operations.SECTIONS[1].write(measured, Page(FULL, results, PEAKS, None))
    for layers, last in (("Conformer", "21.000 / 7.000 (3.00x) | -"),
                         ("rotary positions", "24.500 / 7.000 (3.50x) | 1.17x (reached)"),
                         ("local attention", "28.000 / 7.000 (4.00x) | 1.33x (short)")):
        line, = (line for line in text.splitlines() if line.startswith(f"| {layers} | int8 | "))
        assert line.endswith(f" | {last} |") and line.count("|") == 10
    assert text.endswith("| layer_norm | 1.000 | 0.100 | 10.00x | - |\n"
                         "| basic_norm | 0.500 | 0.100 | 5.00x | layer_norm: 0.50x (reached) |\n"
                         "| swish | 0.250 | 0.100 | 2.50x | - |\n"
                         "| double_swish | 0.500 | 0.100 | 5.00x | swish: 2.00x (short) |\n"
                         "| stateless_joint | 2.000 | 1.000 | 2.00x | encoder: 0.02x (reached) |\n")


def test_targets_of_the_speed_up():
    row = {"compute": "int8 matmuls, float32 caches, avx2", "precision": "int8", "streams": 16,
           "speedup": 4.0}
    found = [one_core.speed_up({**row, **other}) for other in (
        {}, {"streams": 1}, {"streams": 8}, {"precision": "bfloat16"}, {"speedup": None})]
    assert found == ["4.00x (short of 5x)", "4.00x (reached 3.5x)", "4.00x", "4.00x", "-"]


def test_rows_of_bench_encoder(tmp_path):
    """Their values, labels, command and start; the machine has the peaks of all runs."""
    program = tmp_path / "bench_encoder"
    program.write_text(
        """#!/bin/sh
for f; do case $f in --csv=*) csv=${f#*=};; --json=*) json=${f#*=};; --peak=*) peak=${f#*=};; esac
done
printf 'precision,streams,median_ms,speedup\\nint8,16,4.5,\\n' > $csv
echo '{"machine": {"compute": "c", "memory_gb_per_second": '$peak',
       "peak_gflops_per_core": {"'$peak'": 1}}}' > $json
echo "model loaded in 0.5 s; first chunk 9 ms, later ones 5 ms; peak memory 70 MB"
""", encoding="utf-8")
    program.chmod(0o755)
    bench = Bench(FULL, tmp_path, tmp_path)
    row, = bench.encoder("--peak=2", label="l", environment={"A": "b"})
    assert row == {"precision": "int8", "streams": 16, "median_ms": 4.5, "speedup": None,
                   "load_s": 0.5, "first_ms": 9, "later_ms": 5, "peak_mb": 70, "compute": "c",
                   "label": "l", "command": "A=b bench_encoder --model=benchmark.pt --peak=2"}
    bench.encoder("--peak=1")
    assert bench.machine["peak_gflops_per_core"] == {"1": 1, "2": 1}
    assert bench.machine["memory_gb_per_second"] == 2


def test_int8_matmuls(tmp_path):
    """Every matmul with a weight is rewritten, once, and the graph is still a valid one."""
    onnx = pytest.importorskip("onnx")
    from tools.benchmark.report.onnx_quantize import quantize_file, quantize_weight
    step = ChunkStep(random_model(SMALL, 1), SMALL.encoder, CHUNK_SIZE, LEFT_CONTEXT)
    path, output = tmp_path / "float32.onnx", tmp_path / "int8.onnx"
    export_onnx(step, 2, path)
    # Per layer 2 feed-forward modules of 2, 4 projections, 2 pointwise convolutions.
    count = SMALL.encoder.num_layers * 10 + 2
    assert quantize_file(path, output) == count
    operations = [node.op_type for node in onnx.load(str(output)).graph.node]
    assert operations.count("MatMulInteger") == operations.count("DynamicQuantizeLinear") == count
    assert output.stat().st_size < path.stat().st_size
    weight = np.random.default_rng(1).standard_normal((30, 7)).astype(np.float32)
    weight[:, 3] = 0
    values, scale = quantize_weight(weight)
    assert values.dtype == np.int8 and np.abs(values).max() == 127 and scale.shape == (7,)
    assert np.abs(values * scale - weight).max() <= 0.5001 * scale.max()
