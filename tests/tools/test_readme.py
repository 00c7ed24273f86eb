"""README.md and pages of docs/ show the programs that the tests build and run."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def code_blocks(text: str, language: str) -> list[str]:
    """Contents of the fenced blocks of one language, without the fences."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page, language, tested", [
    ("README.md", "cpp", "consumer/main.cc"),
    ("docs/embedding.md", "cmake", "consumer/CMakeLists.txt"),
    ("docs/embedding.md", "c", "embedding/live.c"),
    ("docs/embedding.md", "cmake", "embedding/c_project.cmake"),
    ("docs/embedding.md", "cpp", "embedding/live.cc"),
    ("docs/embedding.md", "cmake", "embedding/cpp_project.cmake"),
    ("docs/embedding.md", "python", "embedding/live.py"),
    ("docs/embedding.md", "cpp", "embedding/utterances.cc"),
    ("docs/embedding.md", "cpp", "embedding/hotwords.cc"),
    ("docs/embedding.md", "cpp", "embedding/language_model.cc"),
    ("docs/embedding.md", "cpp", "embedding/early_text.cc")])
def test_page_shows_the_tested_file(page: str, language: str, tested: str) -> None:
    blocks = code_blocks((ROOT / page).read_text(encoding="utf-8"), language)
    assert (ROOT / "tests" / tested).read_text(encoding="utf-8") in blocks, (
        f"no ```{language} block of {page} equals tests/{tested}")
