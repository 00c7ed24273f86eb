"""The source tree against DESIGN.md: who includes whom, and what a folder and a header are."""

import json
import os
import pathlib
import re
from typing import Dict, List, Set

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOP_FOLDERS = ("platform", "frontend", "encoder", "runtime", "tools")

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]((?:%s)/[^">]+)[">]' % "|".join(TOP_FOLDERS),
                     re.MULTILINE)


def allowed_dependencies() -> Dict[str, Set[str]]:
    """The table of folders in DESIGN.md: for each folder with C++ those that it may include. x/* is
    x and all folders below it."""
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`|]+)/` \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    folders = [folder for folder, others in rows if others != "-"]
    assert folders and len(set(folders)) == len(folders), "DESIGN.md: a folder is listed twice"

    def expand(name: str) -> Set[str]:
        if not name.endswith("/*"):
            assert name in folders, f"DESIGN.md: {name} is no folder of the list"
            return {name}
        return {folder for folder in folders if folder == name[:-2] or folder.startswith(name[:-1])}

    return {folder: set().union(*map(expand, others.split())) - {folder} if others != "nothing"
            else set() for folder, others in rows if others != "-"}


def sources() -> List[pathlib.Path]:
    return [path for folder in TOP_FOLDERS for path in (ROOT / folder).rglob("*")
            if path.suffix in (".h", ".cc", ".c")]


def folder_of(path: str) -> str:
    return str(pathlib.PurePosixPath(path).parent)


@pytest.fixture(scope="module", name="used")
def _used() -> Dict[str, Dict[str, List[str]]]:
    """For each folder the folders that it includes, with the lines that do."""
    used: Dict[str, Dict[str, List[str]]] = {}
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        folders = used.setdefault(folder_of(name), {})
        for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
            assert (ROOT / header).is_file(), f"{name} includes {header}, which does not exist"
            if folder_of(header) != folder_of(name):
                folders.setdefault(folder_of(header), []).append(f"{name} includes {header}")
    return used


def test_every_folder_is_in_the_design(used):
    assert sorted(used) == sorted(allowed_dependencies())


def test_includes_follow_the_design(used):
    allowed = allowed_dependencies()
    wrong = [line for folder, others in used.items() for other, lines in others.items()
             if other not in allowed[folder] for line in lines]
    assert not wrong, "\n".join(wrong)


def test_no_source_includes_a_source():
    """clang-tidy cannot look for it: its unity builds include sources."""
    found = [path.relative_to(ROOT).as_posix() for path in sources()
             if re.search(r'#\s*include\s+[<"][^>"]+\.(c|cc|cpp|cxx)[>"]',
                          path.read_text(encoding="utf-8"))]
    assert not found


def test_transport_resources_and_session_name_no_protocol():
    """A protocol is a class and its rows in protocol_registry.cc. Wyoming has a port of its own.
    The texts of limits.cc, which the manual shows, name the clients that a limit is for."""
    server = ROOT / "tools/server"
    names = {path.name.split("_")[0] for path in (server / "dialects").glob("*_protocol.h")}
    assert {"deepgram", "openai", "vosk", "wenet", "sherpa"} <= names
    names = (names | {"(?<!p)riva"}) - {"runnel", "wyoming"}  # not in "private"
    pattern = re.compile("|".join(sorted(names)), re.IGNORECASE)
    found = [f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
             for folder in ("transport", "resources", "session")
             for path in sorted((server / folder).iterdir()) if path.name != "limits.cc"
             for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
             if pattern.search(line)]
    assert not found, "\n".join(found)


def test_folders_have_no_cycles(used):
    left = {folder: set(others) for folder, others in used.items()}
    while left:
        free = [folder for folder, others in left.items() if not others & left.keys()]
        assert free, f"folders that include each other: {left}"
        for folder in free:
            del left[folder]


def top_of(folder: str) -> str:
    return folder.partition("/")[0]


def test_a_folder_stands_with_those_that_use_it(used):
    """A folder that serves one other room, and not its own, belongs to that room. A folder serves
    its room when the room includes its headers, or when it implements a header of the room."""
    rooms: Dict[str, Set[str]] = {}
    for folder, others in used.items():
        for other in others:
            rooms.setdefault(other, set()).add(top_of(folder))
    for path in sources():
        folder = path.relative_to(ROOT).parent
        if path.suffix == ".cc" and (ROOT / folder.parent / f"{path.stem}.h").is_file():
            rooms.setdefault(folder.as_posix(), set()).add(folder.parts[0])
    wrong = {folder: room for folder, (room, *more) in
             ((folder, sorted(users)) for folder, users in rooms.items())
             if "/" in folder and not more and room != top_of(folder)}
    assert not wrong


def users_of_headers() -> Dict[str, Set[str]]:
    """For each header the sources that include it, tests too, but for its own."""
    users: Dict[str, Set[str]] = {}
    for folder in TOP_FOLDERS + ("tests",):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".h", ".cc", ".c"):
                name = path.relative_to(ROOT).as_posix()
                for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
                    if header[:-2] != name.rpartition(".")[0]:
                        users.setdefault(header, set()).add(name)
    return users


def test_a_small_header_with_one_user_joins_it():
    """Fewer than so many lines, with their source, that one file of the same folder alone includes,
    are no file of their own: they are read with that file."""
    few_lines = 60

    def lines_of(name: str) -> int:
        path = ROOT / name
        return len(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else 0

    wrong = {}
    for header, users in users_of_headers().items():
        lines = lines_of(header) + lines_of(header[:-2] + ".cc")
        if len(users) == 1 and lines < few_lines:
            user, = users
            if folder_of(user) == folder_of(header):
                wrong[header] = user
    assert not wrong


def test_headers_say_what_they_provide():
    bad = []
    for path in sources():
        if path.suffix == ".h" and not path.read_text(encoding="utf-8").startswith(("// ", "/* ")):
            bad.append(path.relative_to(ROOT).as_posix())
    assert not bad, f"headers without a first line that says what they provide: {bad}"


def test_the_page_without_a_server_copies_no_part_of_the_servers():
    """docs/live has what is its own; the build takes the rest from tools/server/page."""
    few_lines = 5  # an import, and the interface of connection.js

    def lines_of(folder: str) -> Set[str]:
        return {line.strip() for path in (ROOT / folder).iterdir()
                for line in path.read_text(encoding="utf-8").splitlines() if len(line.strip()) > 20}

    assert len(lines_of("docs/live") & lines_of("tools/server/page")) <= few_lines


def test_the_root_cannot_shadow_standard_headers():
    """A file named `list` in the checkout's root must not be taken for <list>."""
    build = pathlib.Path(os.environ["RUNNEL_BIN_DIR"]).parent
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = entry["command"].split()
        for flag in ("-I", "-isystem", "-iquote"):
            assert f"{flag}{ROOT}" not in words and f"{flag}{ROOT}/" not in words, entry["file"]
        assert not any(first == "-isystem" and second.rstrip("/") == str(ROOT)
                       for first, second in zip(words, words[1:])), entry["file"]


CONSTANT = re.compile(r"^(?:inline )?constexpr [\w:]+ (k\w+)", re.MULTILINE)
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)


def test_no_source_hides_a_constant_of_a_header():
    """Builds that compile several sources as one would take the source's constant in the others."""
    namespace = re.compile(r"^namespace ([\w:]+) \{$", re.MULTILINE)
    of_headers: Dict[str, Set[str]] = {}
    texts = {path: path.read_text(encoding="utf-8") for path in sources()}
    for path, text in texts.items():
        if path.suffix == ".h":
            for name in namespace.findall(text):
                of_headers.setdefault(name, set()).update(CONSTANT.findall(text))
    found = [f"{path.relative_to(ROOT)}: {constant}" for path, text in texts.items()
             if path.suffix == ".cc" for name in namespace.findall(text)
             for part in UNNAMED.findall(text) for constant in CONSTANT.findall(part)
             if constant in of_headers.get(name, set())]
    assert not found, found
