"""runnel, the command that runs the other tools."""

import os
import pathlib
import re
import shutil
import subprocess
from typing import List, Tuple

import pytest

from optional_parts import needs_pytorch
from tool_runner import (BIN, FAILURE, ROOT, SAMPLE_LIST, SAMPLES, SUCCESS, USAGE, error_line, run,
                         succeed, without_sanitizers)

pytestmark = without_sanitizers


def commands() -> List[Tuple[str, str]]:
    """Name and program of each command, as --help lists them."""
    return re.findall(r"^  ([\w-]+) +[^\n]+ \(([\w.]+)\)$", succeed("runnel", "--help"),
                      re.MULTILINE)


def test_help_lists_every_tool():
    programs = [program for _, program in commands()]
    tools = {path.stem for path in (ROOT / "tools").glob("*.cc")}
    assert sorted(programs) == sorted(tools - {"runnel", "bench_operations"} | {"convert.py"})
    text = succeed("runnel", "--help")
    assert max(map(len, text.splitlines())) <= 120 and "\nExamples:\n  runnel transcribe " in text
    assert succeed("runnel", "help") == succeed("runnel", "-h") == succeed("runnel") == text


def test_version():
    header = (ROOT / "runtime" / "version.h").read_text(encoding="utf-8")
    version = re.search(r'RUNNEL_VERSION "(.*)"', header)[1]
    assert succeed("runnel", "--version") == f"runnel (Runnel) {version}\n"
    # A command of an earlier release, by its present name.
    for name in ("transcribe", "decode"):
        assert succeed("runnel", name, "--version") == f"runnel transcribe (Runnel) {version}\n"


@pytest.mark.parametrize("name, program", [
    pytest.param(*command, marks=needs_pytorch if command[1] == "convert.py" else [])
    for command in commands()])
def test_help_of_every_command(name, program):
    if program != "convert.py" and not (BIN / program).exists():
        pytest.skip("not built here, as its libraries are missing")
    text = succeed("runnel", "help", name)
    assert succeed("runnel", name, "--help") == text
    assert f"runnel {name} " in text and max(map(len, text.splitlines())) <= 120
    if program != "convert.py":
        # The same as the program prints, but for its name.
        usage, _, flags = succeed(program, "--help").partition("Flags:\n")
        assert text == re.sub(rf"\b{program}\b", f"runnel {name}", usage) + "Flags:\n" + flags


@pytest.mark.parametrize("page", ["README.md", "docs/tools.md", "docs/python.md",
                                  "docs/stream_your_model.md"])
def test_pages_use_commands_and_flags_that_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = "".join(re.findall(r"^```(?:sh|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    used = re.findall(r"(?:^|/|[|&] )runnel ([\w-]+)([^\n|>#]*)", lines, re.MULTILINE)
    assert used
    for name, arguments in used:
        assert name in dict(commands()), name
        if name == "convert":
            continue
        known = re.findall(r"^  --(\w+)", succeed("runnel", "help", name), re.MULTILINE)
        assert set(re.findall(r" --(\w+)", arguments)) <= set(known), arguments


def test_the_commands_of_readme_transcribe():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^build/bin/runnel transcribe .*$", text, re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        done = subprocess.run(line.replace("build/bin", str(BIN)), shell=True, cwd=ROOT, text=True,
                              capture_output=True, check=True)
        assert "two zero two six" in done.stdout


def test_a_command_is_its_tool():
    done = run("runnel", "transcribe", "models/digits/digits.pt", f"--wav_scp={SAMPLE_LIST}")
    assert done.returncode == SUCCESS
    assert done.stdout == (SAMPLES / "text").read_text(encoding="utf-8")
    assert done.stderr.startswith("runnel transcribe: model digits")
    done = run("runnel", "transcribe", "--wav=a.wav")
    assert done.returncode == USAGE and done.stdout == ""
    assert done.stderr == ("runnel transcribe: --model is missing, expected a model file "
                           "(models/README.md) (see runnel transcribe --help)\n")


@pytest.mark.parametrize("arguments, message", [
    (["fly"], "unknown command 'fly', expected one of transcribe, live, serve, "),
    (["help", "fly"], "unknown command 'fly', expected one of transcribe, live, serve, "),
    (["--no_such_flag"], "unknown command '--no_such_flag', expected one of transcribe"),
    (["trancsribe"], "unknown command 'trancsribe', did you mean 'transcribe'?"),
    (["model"], "unknown command 'model', did you mean 'models'?"),
])
def test_wrong_commands(arguments, message):
    line = error_line(run("runnel", *arguments), USAGE)
    assert line.startswith("runnel: " + message) and line.endswith(" (see runnel --help)")


def test_full_disk():
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run("runnel", "--help", stdout=full)
    assert done.returncode == FAILURE
    assert done.stderr == "runnel: standard output: cannot write: No space left on device\n"


def test_programs_are_found_beside_it(tmp_path):
    """Not in the current folder and not on the PATH; also when runnel is called through a link."""
    alone = tmp_path / "bin" / "runnel"
    alone.parent.mkdir()
    shutil.copy(BIN / "runnel", alone)
    done = subprocess.run([alone, "transcribe", "--help"], text=True, capture_output=True,
                          check=False, env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"})
    assert done.stderr == (f"runnel: transcribe needs {alone.parent / 'decode_wav'}, which is not "
                           "installed\n")
    assert done.returncode == FAILURE
    link = tmp_path / "link"
    link.symlink_to(BIN / "runnel")
    done = subprocess.run([link, "features", "--version"], text=True, capture_output=True,
                          check=False)
    assert done.stdout.startswith("runnel features (Runnel) "), done.stderr


def installed_converter(prefix: pathlib.Path) -> pathlib.Path:
    """A copy of runnel with the converter, placed as `cmake --install` does."""
    models = prefix / "share" / "runnel" / "models"
    models.mkdir(parents=True)
    shutil.copy(ROOT / "models" / "convert.py", models)
    shutil.copytree(ROOT / "models" / "convert", models / "convert")
    (prefix / "bin").mkdir()
    shutil.copy(BIN / "runnel", prefix / "bin")
    return prefix / "bin" / "runnel"


def test_installed_converter_without_pytorch(tmp_path):
    """It says what is missing; a folder of Python modules hides PyTorch."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "torch.py").write_text("raise ModuleNotFoundError('hidden', name='torch')\n",
                                     encoding="utf-8")
    done = subprocess.run([installed_converter(tmp_path), "convert", "wenet", "x", "--output=y"],
                          text=True, capture_output=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(hidden)})
    assert done.returncode == FAILURE and done.stdout == ""
    assert re.fullmatch(r"runnel convert: this Python \(.*\) has no torch; expected one with "
                        r"numpy, torch and yaml: apt-get install python3-torch python3-yaml, .*\n",
                        done.stderr)


@needs_pytorch
def test_converter_of_the_source_tree():
    done = run("runnel", "convert", "wenet", "nothing", "--output=x")
    assert done.returncode == FAILURE
    assert done.stderr == "runnel convert: nothing: no such file or folder\n"
