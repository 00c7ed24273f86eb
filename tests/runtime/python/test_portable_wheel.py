"""The wheel for other systems: libraries in it, names, versions; beside PyTorch in one process.

It is made of the binaries of this build, which need a newer libstdc++ than those of `make wheel`.
"""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest
from installed_runnel import BUILD, ENVIRONMENT
from optional_parts import needs_pytorch
from tool_runner import DIGITS, ROOT, SAMPLES

sys.path.insert(0, str(ROOT / "runtime" / "python" / "packaging"))
import bundled_libraries  # noqa: E402
import elf_file  # noqa: E402
import runnel_build  # noqa: E402
import wheel_check  # noqa: E402

PLATFORM = f"{wheel_check.PLATFORM}_x86_64"


@pytest.fixture(scope="module", name="wheel")
def fixture_wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("portable")
    left_out = ("stream_server", "stream_client", "load_client", "media_decoder",
                "verify_streaming")
    files = {name: path for name, path in runnel_build.all_files(BUILD).items()
             if not name.endswith(left_out)}
    libraries = bundled_libraries.libraries_of(
        path for path in files.values() if elf_file.is_elf(path.read_bytes()))
    bundled = bundled_libraries.with_libraries(files, folder / "copies")
    return folder / runnel_build.write(folder, bundled, PLATFORM,
                                       bundled_libraries.licences(libraries.values()))


@pytest.fixture(scope="module", name="unpacked")
def fixture_unpacked(wheel):
    folder = wheel.parent / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    for program in (folder / "runnel" / "bin").iterdir():
        program.chmod(0o755)
    return folder


def test_only_libstdcxx_is_too_new(wheel):
    problems, newest = wheel_check.check(wheel)
    assert [problem for problem in problems if "GLIBCXX_3.4.30" not in problem] == []
    assert newest["GLIBC"] <= wheel_check.NEWEST["GLIBC"]


def test_every_library_has_its_licence(unpacked):
    libraries = {path.name.partition("-")[0] for path in (unpacked / "runnel" / "lib").iterdir()}
    assert {"libsndfile", "libsoxr", "libcrypto"} <= libraries and "libstdc++" not in libraries
    info, = unpacked.glob("*.dist-info")
    assert {"libsndfile1", "libsoxr0", "libssl3"} <= {
        path.name for path in (info / "licenses").iterdir()}


PROGRAM = """
import sys
{imports}
model = runnel.load(sys.argv[1])
print(model.transcribe(sys.argv[2]))
print({more})
with open("/proc/self/maps") as maps:
    names = {{line.split()[-1] for line in maps if "/lib" in line}}
print(sorted(name for name in names if "libsndfile" in name or "libzip" in name))
"""


def run(unpacked: pathlib.Path, imports: str, more: str) -> str:
    """Runs a program with the unpacked wheel, and not with what this process has."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(imports=imports, more=more), DIGITS / "digits.pt",
         SAMPLES / "ked_year.flac"], check=False, capture_output=True, text=True, cwd=unpacked,
        env={**ENVIRONMENT, "PYTHONPATH": str(unpacked)})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_libraries_are_those_of_the_wheel(unpacked):
    text, _, names = run(unpacked, "import runnel", "None").splitlines()
    assert text == "two zero two six"
    for library in ("libsndfile", "libzip"):
        assert f"{unpacked}/runnel/lib/{library}-" in names
    assert "/usr/lib" not in names


@needs_pytorch
@pytest.mark.parametrize("imports", ["import torch, runnel", "import runnel, torch"])
def test_beside_pytorch(unpacked, imports):
    product = "torch.ones(50, 60) @ torch.ones(60, 1) == 60"
    assert run(unpacked, imports, f"bool(({product}).all())").startswith("two zero two six\nTrue\n")


def test_programs_run(unpacked):
    def succeed(*words):
        return subprocess.run([unpacked / "runnel" / "bin" / "runnel", *words], check=True,
                              capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"]}).stdout

    for name in ("pack", "compile-lm", "live", "bench"):
        assert succeed(name, "--version").startswith(f"runnel {name} (Runnel) ")
    assert succeed("transcribe", DIGITS / "digits.pt", SAMPLES / "ked_year.flac") == (
        "ked_year two zero two six\n")


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(bundled_libraries, "_taken", lambda file: {})
    program = BUILD / "bin" / "compile_lm"
    with pytest.raises(RuntimeError, match="compile_lm: needs lib.*, which is not there"):
        bundled_libraries.libraries_of([program])


def test_problems_are_found(wheel, tmp_path, monkeypatch):
    monkeypatch.setattr(wheel_check, "MAX_BYTES", 1000)
    monkeypatch.setitem(wheel_check.NEWEST, "GLIBC", (2, 2))
    name = tmp_path / "runnel-1-cp39-abi3-linux_x86_64.whl"
    name.write_bytes(wheel.read_bytes())
    problems = "\n".join(wheel_check.check(name)[0])
    for expected in ("expected a name that ends in manylinux_2_34", "bytes, expected at most 1000",
                     "needs GLIBC_2."):
        assert expected in problems
