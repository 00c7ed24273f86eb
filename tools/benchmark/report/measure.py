"""Runs the measurements of a plan and gathers their results in one dictionary for JSON."""

import os
import pathlib
from typing import Any, Callable, Dict, List, Optional

from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.report import (bulk, instruction_sets, large_models, one_stream,
                                    onnx_runtime)
from tools.benchmark.report.operations import WHOLE_STEP
from tools.benchmark.report.plan import CHUNK_SIZE, LEFT_CONTEXT, Plan
from tools.benchmark.report.programs import Programs, Row

Results = Dict[str, Any]


class Measurements:
    """Fills `results`. A measurement that fails becomes a line in results["notes"].

    Keys of results: machine; load (average, before the run); commands (by section); the rows of
    `table`, `backends`, `threads`, `left_contexts`, `chunk_sizes`, `onnx`, `operations`, `steps`
    (whole ones, by bench_operations), `instruction_sets` and `starts` (of the processes that
    measured `table`); `long_run` (None if it failed); `search` (the values of bench_language_model
    by name); `one_stream`, `large_models` and `bulk` (their measure()).
    """

    def __init__(self, plan: Plan, programs: Programs, report: Callable[[str], None]) -> None:
        self._plan, self._programs, self._report = plan, programs, report
        self._precisions: List[str] = []  # those that work
        self.results: Results = {"machine": {}, "load": os.getloadavg()[0], "notes": [],
                                 "commands": {}, "long_run": None}
        for section in ("table", "backends", "threads", "left_contexts", "chunk_sizes", "onnx",
                        "operations", "steps", "instruction_sets", "starts"):
            self.results[section] = []

    def _try(self, what: str, measure: Callable[[], Any]) -> Any:
        """The value of measure(), or None and a note."""
        self._report(what)
        try:
            return measure()
        except ProgramError as error:
            self.results["notes"].append(f"{what}: not measured: {error}")
            self._report(f"  {error}")
            return None

    def _rows(self, section: str, what: str, flags: List[str], **extra: Any) -> List[Row]:
        """Adds the rows of one run of bench_encoder to a section, each with `extra`."""
        measured = self._try(what, lambda: self._programs.table(flags))
        if measured is None:
            return []
        rows, machine, start = measured
        self.results["commands"].setdefault(section, []).append(self._programs.command(flags))
        before = self.results["machine"]
        self.results["machine"] = {
            **machine,
            "peak_gflops_per_core": {**before.get("peak_gflops_per_core", {}),
                                     **machine.get("peak_gflops_per_core", {})},
            "memory_gb_per_second": max(before.get("memory_gb_per_second", 0),
                                        machine["memory_gb_per_second"])}
        rows = [{**row, **extra} for row in rows]
        self.results[section] += rows
        if section == "table":
            self.results["starts"].append({
                **start, "precision": rows[0]["precision"], "compute": machine["compute"]})
        return rows

    def measure_table(self) -> None:
        """All precisions and batches on one thread, with the baseline."""
        plan = self._plan
        for precision in plan.precisions:
            if self._rows("table", precision, [*_precision(precision), _streams(plan.streams),
                                               f"--seconds={plan.seconds}", "--baseline"]):
                self._precisions.append(precision)

    def measure_backends(self) -> None:
        """The LibTorch backend, and the CPU backend with another cache precision."""
        plan = self._plan
        common = [_streams((1, plan.batch)), f"--seconds={plan.seconds}", "--baseline"]
        self._rows("backends", "LibTorch backend", ["--backend=libtorch", *common],
                   label="LibTorch backend, float32")
        for precision in self._precisions:
            self._rows("backends", f"{precision}, cache in bfloat16",
                       [*_precision(precision), "--cache_precision=bfloat16", *common],
                       label=f"{precision}, cache in bfloat16")

    def measure_threads(self) -> None:
        """The same batch in each of 1, 2, 4, ... threads, up to one per core."""
        plan = self._plan
        for precision in self._precisions:
            threads = 1
            while threads <= (os.cpu_count() or 1):
                self._rows("threads", f"{precision}, {threads} threads",
                           [*_precision(precision), _streams((plan.batch * threads,)),
                            f"--num_threads={threads}", f"--seconds={plan.seconds}"])
                threads *= 2

    def measure_sweeps(self) -> None:
        """Time against left context and against chunk size."""
        plan = self._plan
        common = [_streams(plan.sweep_streams), f"--seconds={plan.sweep_seconds}"]
        for precision in self._precisions:
            for left_context in plan.left_contexts:
                self._rows("left_contexts", f"{precision}, M={left_context}",
                           [*_precision(precision), *common, f"--chunk_size={CHUNK_SIZE}",
                            f"--left_context={left_context}"])
            for chunk_size in plan.chunk_sizes:
                self._rows("chunk_sizes", f"{precision}, C={chunk_size}",
                           [*_precision(precision), *common, f"--chunk_size={chunk_size}",
                            f"--left_context={LEFT_CONTEXT}"])

    def measure_long_run(self) -> None:
        """Ten hours of one stream in the last, cheapest precision."""
        if not self._precisions:
            return
        precision, hours = self._precisions[-1], self._plan.hours
        run: Optional[Dict[str, Any]] = self._try(
            f"{hours:g} hours in {precision}",
            lambda: self._programs.long_run(hours, _precision(precision)))
        if run is None:
            return
        self.results["long_run"] = {**run, "precision": precision, "hours": hours}
        self.results["commands"]["long_run"] = [
            self._programs.command([*_precision(precision), f"--hours={hours:g}"])]

    def measure_operations(self) -> None:
        """Single operations and the parts of whole steps, by bench_operations."""
        plan = self._plan
        self.results["operations"] = self._try(
            "single operations",
            lambda: self._programs.operations(plan.operation_seconds, f"-{WHOLE_STEP}")) or []
        self.results["steps"] = self._try(
            "parts of a step",
            lambda: self._programs.operations(plan.seconds, WHOLE_STEP)) or []

    def measure_instruction_sets(self) -> None:
        """AVX2 beside LibTorch's AVX2, and what this CPU has above it."""
        measured = self._try("instruction sets", lambda: instruction_sets.measure(
            self._plan, self._programs, self._precisions))
        if measured is not None:
            rows, typed = measured
            self.results["instruction_sets"] = rows
            self.results["commands"]["instruction_sets"] = typed

    def measure_search(self) -> None:
        """Searches of CTC log probabilities, by bench_language_model."""
        plan = self._plan
        self.results["search"] = self._try(
            "search", lambda: self._programs.search(plan.search_words, plan.search_ngrams)) or {}

    def measure_one_stream(self, seed: int, bin_folder: pathlib.Path, folder: pathlib.Path
                           ) -> None:
        """One stream on several threads, and with other positions."""
        self.results["one_stream"] = self._try(
            "one stream", lambda: one_stream.measure(self._plan, seed, bin_folder, folder)) or {}

    def measure_large_models(self, seed: int, bin_folder: pathlib.Path, folder: pathlib.Path
                             ) -> None:
        """Files with plain and packed weights, and the heads of large models."""
        self.results["large_models"] = self._try(
            "large models",
            lambda: large_models.measure(self._plan, seed, bin_folder, folder)) or {}

    def measure_onnx(self, seed: int, folder: pathlib.Path) -> None:
        """ONNX Runtime, if it can be had."""
        self.results["onnx"] = self._try(
            "ONNX Runtime", lambda: onnx_runtime.measure(self._plan, seed, folder)) or []

    def measure_bulk(self, seed: int, bin_folder: pathlib.Path, model: pathlib.Path,
                     folder: pathlib.Path, onnx_folder: pathlib.Path) -> None:
        """Many recordings in batches; ONNX Runtime too, if measure_onnx measured it."""
        onnx = onnx_folder if self.results["onnx"] else None
        self.results["bulk"] = self._try("bulk decoding", lambda: bulk.measure(
            self._plan, seed, bin_folder, model, folder, onnx)) or {}


def _precision(precision: str) -> List[str]:
    return [f"--precision={precision}"]


def _streams(numbers: Any) -> str:
    return "--streams=" + ",".join(map(str, numbers))
