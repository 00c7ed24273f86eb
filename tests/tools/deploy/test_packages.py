"""The Debian packages against the rest of the repository; `make package` builds and tries them."""

import re
import subprocess
from typing import Set

import pytest

from tool_runner import ROOT

DEBIAN = ROOT / "tools/deploy/debian"
CONTROL = (DEBIAN / "control").read_text(encoding="utf-8")
SCRIPTS = ROOT / "tools" / "deploy" / "packages"


def depends(field: str, package: str) -> Set[str]:
    """The names in a field of the paragraph of a package, or of `Source: runnel`."""
    paragraph, = (text for text in CONTROL.split("\n\n")
                  if text.startswith((f"Package: {package}\n", f"Source: {package}\n")))
    value = re.search(rf"^{field}:(.*?)(?=^\S|\Z)", paragraph, re.MULTILINE | re.DOTALL)[1]
    return {re.sub(r"\s*\(.*\)", "", name).strip() for name in value.split(",") if name.strip()}


def shell_list(name: str) -> Set[str]:
    """The words of an array in tools/install_packages.sh, with those of arrays in it."""
    text = (ROOT / "tools" / "install_packages.sh").read_text(encoding="utf-8")
    words = re.search(rf"^{name}=\((.*?)\)$", text, re.MULTILINE | re.DOTALL)[1]
    arrays = re.findall(r'"\$\{(\w+)\[@\]\}"', words)
    return set(re.sub(r'"\$.*?"', "", words).split()).union(*map(shell_list, arrays))


def test_version_is_the_same_everywhere():
    header = (ROOT / "runtime" / "version.h").read_text(encoding="utf-8")
    version = re.search(r'RUNNEL_VERSION "(.*)"', header)[1]
    changelog = (DEBIAN / "changelog").read_text(encoding="utf-8")
    assert changelog.startswith(f"runnel ({version}) ")
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_build_dependencies_are_those_of_the_script():
    build = depends("Build-Depends", "runnel")
    always = {"g++", "ccache", "libgtest-dev"}  # build-essential, optional, for tests
    assert shell_list("packages") - always <= build
    tools = {"debhelper-compat" if name == "debhelper" else name
             for name in shell_list("package_packages")}
    checks = {"dpkg-dev", "lintian", "mmdebstrap", "umoci"}
    assert build == (shell_list("packages") - always) | (tools - checks)


def test_development_package_has_what_the_cmake_package_looks_for():
    """Each pkg-config module of RunnelConfig.cmake.in is of a package in Depends."""
    config = (ROOT / "RunnelConfig.cmake.in").read_text(encoding="utf-8")
    modules = " ".join(re.findall(r"(?:set\(|APPEND )runnel_modules (.*?)\)", config)).split()
    names = {"sndfile": "libsndfile1-dev", "soxr": "libsoxr-dev", "libzip": "libzip-dev",
             "kissfft-float": "libkissfft-dev"}
    assert set(modules) == set(names)
    assert {names[module] for module in modules} | {"libssl-dev", "pkg-config"} <= \
        depends("Depends", "librunnel-dev")


def test_only_the_reference_needs_libtorch():
    users = {package for package in re.findall(r"^Package: (\S+)$", CONTROL, re.MULTILINE)
             if any("torch" in name or "openblas" in name for name in depends("Depends", package))}
    # That of LibTorch itself is found when the package is built.
    assert users == {"runnel-reference"}


def test_python_package_links_its_programs():
    """runnel, which runs the tools beside it, and the program that reads recordings."""
    package = "usr/lib/python3/dist-packages/runnel/bin"
    lines = (DEBIAN / "python3-runnel.links").read_text(encoding="utf-8").splitlines()
    assert lines == [f"usr/bin/runnel {package}/runnel",
                     f"usr/libexec/runnel/media_decoder {package}/media_decoder"]


def test_every_package_has_files():
    packages = re.findall(r"^Package: (\S+)$", CONTROL, re.MULTILINE)
    assert sorted(packages) == sorted(path.stem for path in DEBIAN.glob("*.install"))


def test_scripts_are_valid():
    for script in SCRIPTS.glob("*.sh"):
        shell = script.read_text(encoding="utf-8").splitlines()[0]
        assert shell in ("#!/usr/bin/env bash", "#!/bin/sh"), script
        subprocess.run(["bash" if "bash" in shell else "sh", "-n", script], check=True)
        assert script.stat().st_mode & 0o111, f"{script} is not executable"


@pytest.mark.parametrize("name, status", [("build", 0), ("reference", 0), ("python", 0),
                                          ("wheel", 0), ("minimal", 1), ("test", 1), ("bench", 1),
                                          ("package", 1), ("check", 1)])
def test_a_system_without_apt_is_told_what_it_needs(tmp_path, name, status):
    done = subprocess.run(["/bin/bash", ROOT / "tools" / "install_packages.sh", name],
                          env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (status, "", 1)
    assert "not a Debian system" in done.stderr and "cmake" in done.stderr
