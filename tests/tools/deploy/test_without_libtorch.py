"""Only the reference sees LibTorch; `make minimal` builds where it was never installed."""

import json
import re
import subprocess

import pytest
from tool_runner import BIN, ROOT

LIBTORCH = re.compile(r'^\s*#\s*include\s+[<"](ATen|c10|caffe2|torch)/', re.MULTILINE)
# Their objects and libraries are those of the reference.
REFERENCE = ("encoder/libtorch", "tools/reference")


def test_only_the_reference_includes_libtorch():
    users = {path.relative_to(ROOT).parent.as_posix()
             for folder in ("frontend", "encoder", "runtime", "tools")
             for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cc", ".c")
             and LIBTORCH.search(path.read_text(encoding="utf-8"))}
    assert users == set(REFERENCE)


def test_no_program_is_linked_with_libtorch():
    programs = [path for path in BIN.iterdir()
                if path.name in (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
                or path.name == "media_decoder"]
    assert {"decode_wav", "verify_streaming"} <= {path.name for path in programs}
    for program in programs:
        libraries = subprocess.run(["ldd", program], check=True, capture_output=True,
                                   text=True).stdout
        assert "torch" not in libraries and "libc10" not in libraries, program


@pytest.fixture(scope="module", name="commands")
def fixture_commands(tmp_path_factory):
    """How sources are compiled when CMake is told that there is no LibTorch."""
    build = tmp_path_factory.mktemp("build")
    subprocess.run(["cmake", "--preset", "minimal", "-B", build,
                    "-DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON"],
                   cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))


def test_a_build_without_libtorch_never_names_it(commands):
    files = [command["file"] for command in commands]
    assert any(file.endswith("tools/verify_streaming.cc") for file in files)
    for command in commands:
        assert not any(f"/{folder}/" in command["file"] for folder in REFERENCE)
        assert "torch" not in command["command"].replace(str(ROOT), "").lower(), command["file"]
