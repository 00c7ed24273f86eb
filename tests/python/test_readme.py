"""README.md shows the very program and project that the consumer test builds and runs."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def code_blocks(text: str, language: str) -> list[str]:
    """Contents of the fenced blocks of one language, without the fences."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("language, name", [("cpp", "main.cc"), ("cmake", "CMakeLists.txt")])
def test_readme_shows_the_tested_file(language: str, name: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tested = (ROOT / "tests" / "consumer" / name).read_text(encoding="utf-8")
    blocks = code_blocks(readme, language)
    assert tested in blocks, f"no ```{language} block of README.md equals tests/consumer/{name}"
