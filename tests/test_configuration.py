"""CMake with and without parts: what works, and the line that says what does not."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(os.environ["RUNNEL_SOURCE_DIR"])


def configure(build: pathlib.Path, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *options], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def test_the_libraries_alone(tmp_path):
    done = configure(tmp_path, "-DRUNNEL_BUILD_TOOLS=OFF")
    assert done.returncode == 0, done.stdout
    targets = (tmp_path / "build.ninja").read_text(encoding="utf-8")
    assert "librunnel_runtime.a" in targets and "librunnel.so" in targets
    assert "decode_wav" not in targets and "librunnel_reference" not in targets


@pytest.mark.parametrize("name", ["RUNNEL_BUILD_TESTS", "RUNNEL_LIBTORCH"])
def test_what_needs_the_tools_says_so(tmp_path, name):
    done = configure(tmp_path, "-DRUNNEL_BUILD_TOOLS=OFF", f"-D{name}=ON")
    assert done.returncode != 0
    errors = re.findall(r"^CMake Error .*\n((?:  .*\n)+)", done.stdout, re.MULTILINE)
    assert [" ".join(error.split()) for error in errors] == [
        f"{name} needs RUNNEL_BUILD_TOOLS, which is off; expected both on, or {name} off"]


def test_programs_built_in_another_project_find_the_modules(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(Other LANGUAGES C CXX)\n"
        f'add_subdirectory("{ROOT}" runnel)\n', encoding="utf-8")
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build",
         "-DRUNNEL_BUILD_TOOLS=ON", "-DRUNNEL_LIBTORCH=OFF"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    steps = (tmp_path / "build" / "build.ninja").read_text(encoding="utf-8").split("\n\n")
    program, = (step for step in steps if step.startswith("build runnel/tools/decode_wav:"))
    folder = tmp_path / "build" / "runnel" / "lib"
    assert re.search(rf"-Wl,-rpath,{re.escape(str(folder))}\b", program)


@pytest.mark.parametrize("variable", ["ON", None])
def test_warnings_are_errors_in_ci_alone(tmp_path, variable):
    """Another compiler has other warnings; a user's build goes on."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "\nexport RUNNEL_WERROR=ON\n" in script.partition("\nstep ")[0]
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    assert [preset["name"] for preset in presets["configurePresets"]
            if "RUNNEL_WERROR" in preset.get("cacheVariables", {})] == ["base"]
    environment = {name: value for name, value in os.environ.items() if name != "RUNNEL_WERROR"}
    if variable:
        environment["RUNNEL_WERROR"] = variable
    done = subprocess.run(
        ["cmake", "--preset", "minimal", "-B", tmp_path, "-DRUNNEL_BUILD_TESTS=OFF"], cwd=ROOT,
        env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    steps = (tmp_path / "build.ninja").read_text(encoding="utf-8")
    assert ("-Werror" in steps) == bool(variable)
