"""The wheel: its content, its metadata, its bytes; types; what it needs to be built."""

import ast
import base64
import csv
import gc
import hashlib
import importlib.metadata
import io
import json
import os
import re
import subprocess
import sys
import weakref
import zipfile

import pytest
from installed_runnel import BUILD, PACKAGE, run_python
from optional_parts import HAS_REFERENCE
from tool_runner import ROOT

import runnel

sys.path.insert(0, str(ROOT / "runtime" / "python" / "packaging"))
import runnel_build  # noqa: E402


@pytest.fixture(scope="module", name="wheel")
def fixture_wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    return folder / runnel_build.build_wheel(str(folder), {"build-dir": str(BUILD)})


def test_imported_outside_the_tree(tmp_path):
    done = run_python("-c", "import runnel; print(runnel.__file__, runnel.__version__)",
                      cwd=tmp_path)
    assert done.stdout == f"{PACKAGE / '__init__.py'} {runnel_build.version()}\n"
    assert ROOT not in PACKAGE.parents


def test_equal_files_give_equal_bytes(wheel, tmp_path):
    again = tmp_path / runnel_build.build_wheel(str(tmp_path), {"build-dir": str(BUILD)})
    assert again.name == wheel.name and again.read_bytes() == wheel.read_bytes()


def test_record_lists_every_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = next(name for name in names if name.endswith("/RECORD"))
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
        assert [row[0] for row in rows] == names and len(set(names)) == len(names)
        for name, digest, size in rows:
            if name == record:
                assert (digest, size) == ("", "")
                continue
            content = archive.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            assert (digest, int(size)) == (f"sha256={expected.decode()}", len(content))


def test_content(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    info = f"runnel-{runnel_build.version()}.dist-info"
    assert {"runnel/py.typed", "runnel/_runnel.pyi", "runnel/_runnel.abi3.so",
            "runnel/bin/pack_model", f"{info}/LICENSE", f"{info}/METADATA",
            "runnel/converters/models/convert/wenet.py",
            "runnel/converters/models/reference/positions/chunk_rpe.py"} <= names
    assert {name.split("/")[0] for name in names} == {"runnel", info}
    assert not [name for name in names if "__pycache__" in name]
    # The recording of the command that a conversion prints, nothing else of the model.
    assert [name for name in names if "digits" in name] == [
        "runnel/converters/models/digits/samples/ked_year.flac"]
    assert ("runnel/bin/verify_streaming" in names) == HAS_REFERENCE
    for program in (PACKAGE / "bin").iterdir():
        assert os.access(program, os.X_OK)


def test_metadata():
    metadata = importlib.metadata.metadata("runnel")
    assert metadata["Version"] == runnel.__version__ == runnel_build.version()
    assert importlib.metadata.requires("runnel") == ["numpy"]
    assert metadata["Requires-Python"] == ">=3.9"
    assert importlib.metadata.distribution("runnel").read_text("WHEEL").splitlines()[-1].startswith(
        "Tag: cp39-abi3-linux_")


def test_extension_shows_one_symbol():
    extension, = PACKAGE.glob("_runnel*.so")
    symbols = subprocess.run(["nm", "--dynamic", "--defined-only", extension], check=True,
                             capture_output=True, text=True).stdout
    # A small letter is a symbol that others do not see.
    assert [name for _, kind, name in map(str.split, symbols.splitlines())
            if kind.isupper()] == ["PyInit__runnel"]


def test_default_build_uses_the_release_preset(monkeypatch):
    commands = []
    monkeypatch.setattr(runnel_build, "_run", lambda *command: commands.append(command))
    assert runnel_build.build(None) == ROOT / "build"
    configure, build = commands
    assert configure[:4] == ("cmake", "--preset", "release", "-U_Python3*")
    assert build[:3] == ("cmake", "--build", str(ROOT / "build"))
    assert build[-1] == "python_package"


def test_missing_tools_are_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SystemExit, match="cmake.*not installed.*install_packages.sh python"):
        runnel_build.build(None)


def test_another_python_than_the_one_that_configured_the_build(tmp_path):
    """What CMake has found of one Python is forgotten for the next."""
    python = (ROOT / "runtime" / "python" / "CMakeLists.txt").read_text(encoding="utf-8")
    find, = re.findall(r"^find_package\(Python3 .*$", python, re.MULTILINE)
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(Any C)\n{find}\n"
        "if(NOT Python3_Development.Module_FOUND)\nmessage(FATAL_ERROR none)\nendif()\n")
    presets = {"version": 6, "configurePresets": [
        {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build"}]}
    (tmp_path / "CMakePresets.json").write_text(json.dumps(presets))
    configured = []

    def configure(*command):
        if command[1] == "--preset":
            configured.append(subprocess.run(command, cwd=tmp_path, check=True,
                                             capture_output=True, text=True).stdout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runnel_build, "_run", configure)
        runnel_build.build(None)
        cache = tmp_path / "build" / "CMakeCache.txt"
        text, count = re.subn(r"^(_Python3_INCLUDE_DIR:.*)=.*", r"\1=/of/another/python",
                              cache.read_text(), flags=re.MULTILINE)
        assert count == 1
        cache.write_text(text)
        runnel_build.build(None)
    assert len(configured) == 2 and "/of/another/python" not in cache.read_text()


def test_the_build_backend_runs_with_every_python_of_the_package():
    """As far as its language and modules tell."""
    oldest = tuple(map(int, re.search(r">=(\d+)\.(\d+)",
                                      runnel_build.project()["requires-python"]).groups()))
    for source in (ROOT / "runtime" / "python" / "packaging").glob("*.py"):
        tree = ast.parse(source.read_text(encoding="utf-8"), feature_version=oldest)
        imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import)
                    for name in node.names}
        assert "tomllib" not in imported, source


def test_project_is_read_as_toml_has_it():
    tomllib = pytest.importorskip("tomllib")
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert runnel_build.project() == tomllib.load(file)["project"]


def test_types(tmp_path):
    done = run_python("-m", "mypy", "--strict", "--enable-incomplete-feature=Unpack",
                      f"--cache-dir={tmp_path}", "-p", "runnel", "--exclude", "converters")
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_match_the_module(tmp_path):
    (tmp_path / "mypy.ini").write_text("[mypy]\nenable_incomplete_feature = Unpack\n")
    done = run_python("-m", "mypy.stubtest", "runnel._runnel", "--concise",
                      f"--mypy-config-file={tmp_path / 'mypy.ini'}", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_arguments_that_do_not_fit(model):
    stream = model.stream()
    for use, expected in (
            (lambda: runnel.Stream.__new__(runnel.Stream).partial, "__init__ of .* has not run"),
            (runnel.LiveStream, "is not made by a call"),
            (lambda: runnel.Stream(None), "model is None, expected a Model"),
            (stream.accept, r"accept\(\) needs the argument samples"),
            (lambda: stream.nbest(1, 2), "fewer positional arguments than 2"),
            (lambda: stream.nbest(1, n=2), "two values for n"),
            (lambda: stream.nbest(most=2), "unexpected keyword argument most")):
        with pytest.raises(TypeError, match=expected):
            use()


def test_objects_can_be_referred_to_weakly_and_derived_from(model):
    class Named(runnel.Stream):
        """A stream with a name."""

    stream = Named(model)
    stream.name = "a"
    reference = weakref.ref(stream)
    assert reference() is stream and stream.partial == ""
    del stream
    gc.collect()
    assert reference() is None


def test_stubs_have_the_docstrings_of_the_module():
    """Editors show those of the stubs."""
    def words(text):
        return (text or "").split()

    stubs = ast.parse((PACKAGE / "_runnel.pyi").read_text(encoding="utf-8"))
    compared = 0
    for node in stubs.body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        value = getattr(runnel._runnel, node.name)  # pylint: disable=protected-access
        assert words(ast.get_docstring(node)) == words(value.__doc__) != [], node.name
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                expected = words(getattr(value, member.name).__doc__)
                assert words(ast.get_docstring(member)) == expected != [], member.name
                compared += 1
    assert compared > 60


CONSUMER = """
from pathlib import Path
from typing import Iterator, List, Tuple, Union, assert_type
import numpy as np
import runnel

model = runnel.load("a.pt", threads=2)
assert_type(model.transcribe("a.wav"), runnel.Result)
assert_type(model.transcribe(Path("a.wav"), progress=True, batch_streams=2), runnel.Result)
assert_type(model.transcribe("a.wav", progress=True), runnel.Result)
assert_type(model.transcribe(["a.wav", "b.wav"]), List[runnel.Result])
assert_type(model.transcribe(Path().glob("*")), List[runnel.Result])
for path, result in model.transcribe_each(Path().glob("*")):
    assert_type(result, Union[runnel.Result, Exception])
model.stream(chunk_size=None, search=None, hotwords=None, endpointing=None)
model.stream(chunk_sise=16)  # type: ignore[call-arg]
model.stream(chunk_size="16")  # type: ignore[arg-type]
model.stream(search="fast")  # type: ignore[arg-type]
model.stream().accept(np.zeros(10))  # type: ignore[arg-type]
model.stream().accept(np.zeros(10, np.float32))
assert_type(runnel.AudioSource("a.wav", 16000).read().dtype, np.dtype[np.float32])
"""


def test_types_of_a_program_that_uses_the_package(tmp_path):
    """mypy finds an error in each line with `ignore`, and in no other.

    The package lies beside the program: mypy 1.0 sees no options of one that is installed.
    """
    (tmp_path / "consumer.py").write_text(CONSUMER)
    (tmp_path / "runnel").symlink_to(PACKAGE)
    done = run_python("-m", "mypy", "--strict", "--enable-incomplete-feature=Unpack",
                      f"--cache-dir={tmp_path}", "consumer.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_public_is_documented():
    for name in runnel.__all__:
        value = getattr(runnel, name)
        if name.startswith("__"):
            continue
        assert value.__doc__, name
        for member, attribute in vars(value).items() if isinstance(value, type) else ():
            if not member.startswith("_") and callable(attribute):
                assert attribute.__doc__, f"{name}.{member}"
