"""Completion for bash and zsh, manual pages, and the page of options, against the tools."""

import re
import shutil
import subprocess
from typing import List

import pytest

from tool_runner import BIN, ROOT, succeed, without_sanitizers

pytestmark = without_sanitizers

HELP_FILES = BIN.parent / "tools" / "help"
BASH = HELP_FILES / "bash" / "runnel"
ZSH = HELP_FILES / "zsh" / "_runnel"


def complete(*words: str) -> List[str]:
    """What bash offers for the last word. It calls the function as bash does on the tab key."""
    script = (f'compopt() {{ :; }}\nsource "{BASH}"\n'  # bash's own works during completion only
              'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))\n_runnel\n'
              'printf "%s\\n" "${COMPREPLY[@]}"\n')
    done = subprocess.run(["bash", "-uc", script, "bash", *words], check=True, text=True,
                          capture_output=True)
    assert done.stderr == ""
    return done.stdout.split()


def flags_of(tool: str) -> List[str]:
    """The flags that the tool lists, those with a value with '='."""
    found = re.findall(r"^  (--\w+=?)", succeed(tool, "--help"), re.MULTILINE)
    return [*found, "--version"]


@pytest.mark.parametrize("tool", ["decode_wav", "verify_streaming", "compile_lm"])
def test_bash_offers_every_flag(tool):
    assert sorted(complete(tool, "--")) == sorted(flags_of(tool))
    assert complete(f"/usr/bin/{tool}", "--versi") == ["--version"]


def test_bash_offers_commands():
    help_text = succeed("runnel", "--help")
    commands = re.findall(r"^  ([\w-]+) +[^\n]+ \([\w.]+\)$", help_text, re.MULTILINE)
    assert complete("runnel", "") == [*commands, "help", "--help", "--version"]
    assert complete("runnel", "trans") == ["transcribe"]
    assert complete("runnel", "help", "") == commands
    assert complete("runnel", "help", "transcribe", "") == []


def test_bash_offers_flags_of_commands():
    assert complete("runnel", "transcribe", "--") == complete("decode_wav", "--")
    assert complete("runnel", "transcribe", "--word_l") == ["--word_list="]
    assert complete("runnel", "nothing", "--") == []


def test_bash_leaves_values_to_the_completion_of_files():
    assert complete("decode_wav", "--model", "=") == []
    assert complete("decode_wav", "--model", "=", "models/d") == []
    assert complete("decode_wav", "a") == []
    assert re.search(r"^complete -o default -F _runnel runnel .*\bdecode_wav\b",
                     BASH.read_text(encoding="utf-8"), re.MULTILINE)


def test_zsh_has_every_flag():
    text = ZSH.read_text(encoding="utf-8")
    for flag in flags_of("decode_wav"):
        assert re.search(rf"^  decode_wav\) flags=\(.*{flag}[: )]", text, re.MULTILINE), flag
    if shutil.which("zsh"):
        subprocess.run(["zsh", "-n", ZSH], check=True)


def text_of(page: str) -> str:
    """What a manual page shows, without its formatting."""
    text = re.sub(r"\\f[BR]", "", page)
    return text.replace(r"\-", "-").replace(r"\&", "").replace(r"\e", "\\")


@pytest.mark.parametrize("tool", ["decode_wav", "load_client", "measure_delay", "runnel"])
def test_manual_page_has_the_help(tool):
    page = (HELP_FILES / f"{tool}.1").read_text(encoding="utf-8")
    assert page.startswith(f'.TH {tool.upper()} 1 ""')
    shown = text_of(page).splitlines()
    purpose, _, rest = succeed(tool, "--help").partition("\n\n")
    purpose = " ".join(purpose.split()).removeprefix(tool + " ").removesuffix(".")
    assert shown[shown.index(".SH NAME") + 1] == f"{tool} - {purpose}"
    usage, _, flags = rest.partition("Flags:\n")
    # Lines of the usage are kept: calls, lists and examples as they are, paragraphs to be filled.
    for line in usage.splitlines():
        assert line in ("", "Examples:") or line in shown, line
    for line in filter(None, flags.splitlines()):
        is_title = line[0] != " "
        assert (f".SS {line[:-1]}" if is_title else " ".join(line.split())) in shown, line
    sections = re.findall(r"^\.SH (.*)$", page, re.MULTILINE)
    assert sections == ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "OPTIONS"]
    assert page.count("\n.nf\n") == page.count("\n.fi\n") >= 2


def test_the_page_of_options_is_that_of_the_table():
    page = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert page == succeed("write_options", "page"), (
        "build/bin/write_options page > docs/options.md")
