"""The binary interface of librunnel: soname and exported symbols."""

import os
import pathlib
import re
import subprocess
from typing import List

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = os.environ["RUNNEL_LIBRARY"]
# Debian's list of the symbols of each soname; the build of the packages compares it too.
SYMBOLS_FILE = ROOT / "tools/deploy/debian/librunnel0.symbols"


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def listed() -> List[str]:
    return re.findall(r"^ (\w+)@Base ", SYMBOLS_FILE.read_text(encoding="utf-8"), re.MULTILINE)


def test_exported_symbols_are_those_of_the_list():
    lines = output("nm", "--dynamic", "--defined-only", LIBRARY).splitlines()
    assert sorted(line.split()[-1] for line in lines) == sorted(listed())
    assert all(line.split()[-2] == "T" for line in lines), "a symbol that is no function"


def test_header_declares_the_functions_of_the_list():
    header = (ROOT / "runtime" / "c_api.h").read_text(encoding="utf-8")
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    declared = re.findall(r"\b(runnel_\w+)\(", code)
    assert sorted(set(declared)) == sorted(listed())


def test_soname_is_that_of_the_list():
    soname, = re.findall(r"\(SONAME\).*\[(.*)\]", output("readelf", "--dynamic", LIBRARY))
    assert SYMBOLS_FILE.read_text(encoding="utf-8").startswith(soname + " librunnel0 ")
    assert soname == "librunnel.so.0"
