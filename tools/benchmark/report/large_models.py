"""Models as large as the public streaming ones: files, start, memory, and streams per core."""

import pathlib
from typing import Any, Dict, List

from tools.benchmark.pages.markdown import table
from tools.benchmark.pages.programs import run_program
from tools.benchmark.pages.random_model import ARCHITECTURES, FASTCONFORMER_STREAMING, write_model
from tools.benchmark.report.plan import Plan
from tools.benchmark.report.programs import Programs

_STORED = ("bfloat16", "int8")
_ENCODER_PARTS = ("subsampling", "feed_forward", "attention", "convolution")
_LEFT_CONTEXT = FASTCONFORMER_STREAMING["left_context"]


def measure(plan: Plan, seed: int, bin_folder: pathlib.Path, folder: pathlib.Path
            ) -> Dict[str, List[Dict[str, Any]]]:
    """Keys: `files` (a row per file and precision) and `steps` (per model, head and setting).

    Raises:
        ProgramError: a program failed.
    """
    folder.mkdir(exist_ok=True)
    results: Dict[str, List[Dict[str, Any]]] = {"files": [], "steps": []}
    for name in plan.large_models:
        plain = folder / f"{name}.pt"
        if not plain.exists():
            write_model(ARCHITECTURES[name], seed, str(plain))
        results["files"] += [_file_row(bin_folder, name, plain, precision, plan)
                             for precision in ("float32", *_STORED)]
        for precision in _STORED:
            packed = folder / f"{name}.{precision}"
            run_program([str(bin_folder / "pack_model"), f"--model={plain}",
                         f"--precision={precision}", f"--output={packed}"])
            results["files"].append(_file_row(bin_folder, name, packed, precision, plan))
        results["steps"] += _steps(Programs(bin_folder, packed), name, plan)
    return results


def _file_row(bin_folder: pathlib.Path, name: str, path: pathlib.Path, precision: str, plan: Plan
              ) -> Dict[str, Any]:
    flags = [f"--precision={precision}", "--streams=1", f"--seconds={plan.sweep_seconds / 10}"]
    _, _, start = Programs(bin_folder, path).table(flags)
    return {"model": name, "kind": "plain" if path.suffix == ".pt" else "packed",
            "precision": precision, "megabytes": path.stat().st_size / 1e6, **start}


def _steps(programs: Programs, name: str, plan: Plan) -> List[Dict[str, Any]]:
    architecture = ARCHITECTURES[name]
    heads = [head for head, there in (("ctc", architecture.ctc),
                                      ("transducer", architecture.transducer)) if there]
    rows = []
    for chunk_size in plan.large_chunk_sizes:
        for head in heads:
            flags = [f"--head={head}", "--streams=" + ",".join(map(str, plan.sweep_streams)),
                     f"--chunk_size={chunk_size}", f"--left_context={_LEFT_CONTEXT}",
                     f"--seconds={plan.seconds}"]
            measured, _, _ = programs.table(flags)
            rows += [{**row, "model": name, "head": head} for row in measured]
    return rows


def section(results: Dict[str, List[Dict[str, Any]]]) -> str:
    """Part of the page; empty if nothing was measured."""
    if not results:
        return ""
    files = table(
        ["model", "file", "precision", "file, MB", "loads in, s", "peak memory, MB",
         "first chunk, ms"],
        [[row["model"], row["kind"], row["precision"], f"{row['megabytes']:.0f}",
          f"{row['load_s']:.2f}", f"{row['peak_mb']:.0f}", f"{row['first_ms']:.0f}"]
         for row in results["files"]])
    steps = table(
        ["model", "head", "C", "streams", "ms", "p95", "real-time streams per core",
         "time of the head beside that of the encoder"],
        [[row["model"], row["head"], str(row["chunk_size"]), str(row["streams"]),
          f"{row['median_ms']:.2f}", f"{row['p95_ms']:.2f}",
          f"{row['realtime_streams_per_core']:.0f}",
          f"{row['head_ms'] / (row['median_ms'] - row['head_ms']) * 100:.1f} %"]
         for row in results["steps"]])
    return ("## Large models\n\n"
            "Random weights in the architectures of public models "
            "(`tools/benchmark/pages/random_model.py --architecture`). Packed files are made by "
            "`pack_model` ([large models](large_models.md)). Peak memory is that of "
            "`bench_encoder` after it has loaded the model and computed some chunks of one "
            "stream.\n\n"
            "```\npython3 -m tools.benchmark.pages.random_model --architecture=fastconformer_114m "
            "--output=fastconformer_114m.pt\n"
            "pack_model --model=fastconformer_114m.pt --precision=int8 "
            "--output=fastconformer_114m.int8\n"
            "bench_encoder --model=fastconformer_114m.int8 --head=transducer --streams=1,16 "
            f"--chunk_size=7 --left_context={_LEFT_CONTEXT}\n```\n\n"
            + files + "\nTime per chunk of one stream on one thread, int8, M = "
            f"{_LEFT_CONTEXT}; encoder frames of 80 ms. The transducer's greedy search is "
            "made to find a random token in every third frame in the mean. Targets: it adds at "
            "most 10 % to the encoder's time at 16 streams, and 25 % at one.\n\n" + steps
            + _where_time_goes(results["steps"]))


def _where_time_goes(steps: List[Dict[str, Any]]) -> str:
    """Empty where matmuls cannot be timed alone."""
    rows = [row for row in steps if row["matmul_share"] is not None]
    if not rows:
        return ""
    shares = [[f"{share * 100:.0f} %"
               for share in (row["fraction_of_peak"],
                             *(row[f"matmul_share_{part}"] for part in _ENCODER_PARTS),
                             row["head_ms"] / row["median_ms"])]
              for row in rows]
    names = [[row["model"], row["head"], str(row["chunk_size"]), str(row["streams"])]
             for row in rows]
    return ("\nThe same rows as shares of the time, as in [where the time goes]"
            "(#where-the-time-goes): of the peak, of the large matmuls of each part alone, and of "
            "the head. At one stream the weights come from memory for every chunk.\n\n"
            + table(["model", "head", "C", "streams", "peak",
                     *(part.replace("_", "-") for part in _ENCODER_PARTS), "head"],
                    [[*name, *share] for name, share in zip(names, shares)]))
