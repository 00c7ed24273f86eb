"""Windows of an offline model, with their left context computed anew and cached."""

import itertools
from typing import List

from tools.benchmark.pages.random_model import ARCHITECTURES, write_model
from tools.benchmark.report.bench import Bench, Page, Row, Section
from tools.benchmark.report.cells import columns, commands, table_of, text
from tools.benchmark.report.one_core import streams
from tools.benchmark.report.plan import SEED


def _measure(bench: Bench) -> List[Row]:
    plan = bench.plan
    path = bench.work / f"{plan.offline_model}.pt"
    write_model(ARCHITECTURES[plan.offline_model], SEED, str(path))
    rows: List[Row] = []
    for precision, (kind, flags) in itertools.product(
            plan.precisions, (("computed anew", ()), ("cached", ("--cached_windows",)))):
        rows += bench.encoder(f"--precision={precision}", streams(*plan.sweep_streams),
                              f"--seconds={plan.sweep_seconds}", *flags, model=path, kind=kind)
    return rows


def _write(rows: List[Row], _: Page) -> str:
    first = rows[0]
    return f"""Time per chunk of one stream in [windows](models.md#windows), with their left context
computed anew (the default) or cached (`cached_windows`). The model has the architecture of NeMo's
`stt_en_conformer_ctc_small`. C = {first['chunk_size']}, M = {first['left_context']}, R = {
    first['right_context']}. The last columns are floors of a
step as shares of its time: its matmuls alone, and its operations at the peak.

{commands(rows, 2)}{table_of(rows, {
    "left context": text("kind"),
    **columns("precision", "streams", "ms", "p95", "real-time streams per core", "MB per stream",
              "matmuls", "peak")})}"""


SECTIONS = [Section("Windows", _measure, _write)]
