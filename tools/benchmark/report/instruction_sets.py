"""The model on lower instruction sets than the CPU has: AVX2 beside LibTorch, and those above."""

from typing import Any, Dict, List, Sequence, Tuple

from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.report.cells import COLUMNS, Column, commands, table_of
from tools.benchmark.report.one_core import targets_table
from tools.benchmark.report.plan import Plan
from tools.benchmark.report.programs import Programs, Row

_LOWEST = "avx2"
# The same limit for the libraries of the baseline, which runs in the same process.
_LIBTORCH_LIMITS = {"ATEN_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Haswell",
                    "DNNL_MAX_CPU_ISA": "AVX2"}
# Speed-up over TorchScript with AVX2: of one stream, and per stream of a batch of 16.
_TARGETS = {"float32": (1.6, 2.6), "int8": (3.5, 5.0)}


def measure(plan: Plan, programs: Programs, precisions: Sequence[str]
            ) -> Tuple[List[Row], List[str]]:
    """Rows with their `instruction_set`, and the commands. Only those of AVX2 have a baseline.

    Raises:
        ProgramError: a program failed, or this is not x86. Without AVX2 there are no rows.
    """
    names = programs.instruction_sets()
    if _LOWEST not in names:
        raise ProgramError(f"this architecture has no {_LOWEST}, but {', '.join(names)}")
    found: List[Row] = []
    typed: List[str] = []
    for name in names[names.index(_LOWEST):]:
        limited = programs.within({"RUNNEL_INSTRUCTION_SET": name,
                                   **(_LIBTORCH_LIMITS if name == _LOWEST else {})})
        for precision in precisions:
            flags = [f"--precision={precision}",
                     "--streams=" + ",".join(map(str, plan.sweep_streams)),
                     f"--seconds={plan.seconds}", *(["--baseline"] if name == _LOWEST else [])]
            rows, machine, _ = limited.table(flags)
            if machine["compute"].split(", ")[-1] != name:
                break  # this CPU lacks it, and a lower one was used
            found += [{**row, "instruction_set": name} for row in rows]
            typed.append(limited.command(flags))
    return found, typed


def section(results: Dict[str, Any]) -> str:
    """Part of the page; empty if nothing was measured."""
    rows = results["instruction_sets"]
    if not rows:
        return ""
    columns: List[Column] = [("instruction set", lambda row: row["instruction_set"]), *COLUMNS]
    lowest = [row for row in rows if row["instruction_set"] == _LOWEST]
    return ("## Other instruction sets\n\n" + commands(results, "instruction_sets") + "\n"
            "`RUNNEL_INSTRUCTION_SET` limits Runnel on this CPU. With AVX2 the other variables "
            "limit the baseline, LibTorch in the same process, likewise.\n\n"
            + targets_table(lowest, _TARGETS) + "\n" + table_of(rows, columns))
