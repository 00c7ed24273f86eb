"""The source tree against DESIGN.md: which room includes which, and how many files a room holds."""

import json
import os
import pathlib
import re
from typing import Dict, List, Set

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOP_FOLDERS = ("frontend", "encoder", "runtime", "tools")
# A reader takes in a folder of this many files at a glance.
MOST_FILES = 27

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]((?:%s)/[^">]+)[">]' % "|".join(TOP_FOLDERS),
                     re.MULTILINE)


def allowed_dependencies() -> Dict[str, Set[str]]:
    """The block `dependencies` of DESIGN.md: `room: the rooms it may include`; x/* is x and all
    rooms below it."""
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    block = re.search(r"```dependencies\n(.*?)```", text, re.DOTALL)
    assert block, "DESIGN.md: no block ```dependencies```"
    lines = [line.partition(":") for line in block[1].splitlines() if line.strip()]
    assert all(colon for _, colon, _ in lines), "DESIGN.md: expected 'room: rooms'"
    rooms = [room for room, _, _ in lines]
    assert len(set(rooms)) == len(rooms), "DESIGN.md: a room is listed twice"

    def expand(name: str) -> Set[str]:
        if not name.endswith("/*"):
            assert name in rooms, f"DESIGN.md: {name} is no room of the list"
            return {name}
        return {room for room in rooms if room == name[:-2] or room.startswith(name[:-1])}

    return {room: set().union(*map(expand, others.split())) - {room} for room, _, others in lines}


def sources() -> List[pathlib.Path]:
    return [path for folder in TOP_FOLDERS for path in (ROOT / folder).rglob("*")
            if path.suffix in (".h", ".cc", ".c")]


def room_of(path: str) -> str:
    return str(pathlib.PurePosixPath(path).parent)


@pytest.fixture(scope="module", name="used")
def _used() -> Dict[str, Dict[str, List[str]]]:
    """For each room the rooms that it includes, with the lines that do."""
    used: Dict[str, Dict[str, List[str]]] = {}
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        rooms = used.setdefault(room_of(name), {})
        for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
            assert (ROOT / header).is_file(), f"{name} includes {header}, which does not exist"
            if room_of(header) != room_of(name):
                rooms.setdefault(room_of(header), []).append(f"{name} includes {header}")
    return used


def test_every_room_is_in_the_design(used):
    assert sorted(used) == sorted(allowed_dependencies())


def test_includes_follow_the_design(used):
    allowed = allowed_dependencies()
    wrong = [line for room, others in used.items() for other, lines in others.items()
             if other not in allowed[room] for line in lines]
    assert not wrong, "\n".join(wrong)


def test_rooms_have_no_cycles(used):
    left = {room: set(others) for room, others in used.items()}
    while left:
        free = [room for room, others in left.items() if not others & left.keys()]
        assert free, f"rooms that include each other: {left}"
        for room in free:
            del left[room]


def test_the_folder_map_shows_every_room():
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    missing = [room for room in allowed_dependencies() if f"`{room}/`" not in text]
    assert not missing, f"DESIGN.md: the folder map lacks {missing}"


def test_no_room_is_too_full():
    counts: Dict[str, int] = {}
    for folder in TOP_FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                room = path.parent.relative_to(ROOT).as_posix()
                counts[room] = counts.get(room, 0) + 1
    assert not {room: count for room, count in counts.items() if count > MOST_FILES}


def test_headers_say_what_they_provide():
    bad = []
    for path in sources():
        if path.suffix == ".h" and not path.read_text(encoding="utf-8").startswith(("// ", "/* ")):
            bad.append(path.relative_to(ROOT).as_posix())
    assert not bad, f"headers without a first line that says what they provide: {bad}"


def test_the_root_cannot_shadow_standard_headers():
    """A file named `list` in the checkout's root must not be taken for <list>."""
    build = pathlib.Path(os.environ["RUNNEL_BIN_DIR"]).parent
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = entry["command"].split()
        for flag in ("-I", "-isystem", "-iquote"):
            assert f"{flag}{ROOT}" not in words and f"{flag}{ROOT}/" not in words, entry["file"]
        assert not any(first == "-isystem" and second.rstrip("/") == str(ROOT)
                       for first, second in zip(words, words[1:])), entry["file"]
