"""Stands in for packages that a toolkit imports for work that is not done here."""

import importlib.abc
import importlib.machinery
import types
from typing import Any, Dict, Optional, Sequence


class Absent:
    """Any name of an absent package: usable as a function, decorator, annotation, base class."""

    def __call__(self, *args: Any, **_: Any) -> Any:
        """As a decorator, returns the function unchanged."""
        return args[0] if len(args) == 1 and callable(args[0]) else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: Any) -> "Absent":
        return self

    def __iter__(self) -> Any:
        return iter(())

    def __or__(self, _: Any) -> "Absent":
        return self

    def __ror__(self, _: Any) -> "Absent":
        return self

    def __mro_entries__(self, _: Any) -> Any:
        return ()

    def __instancecheck__(self, _: Any) -> bool:
        return False


class _Module(types.ModuleType):
    """A module in which every name exists."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()


class AbsentPackages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """To be put into sys.meta_path: at its front, also packages that exist become absent.

    Args:
        names: packages and modules, with all that lies in them.
        members: what the code does need of them, by module and name.
    """

    def __init__(self, names: Sequence[str],
                 members: Optional[Dict[str, Dict[str, Any]]] = None) -> None:
        self._names = names
        self._members = members or {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if any(name == absent or name.startswith(f"{absent}.") for absent in self._names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        module = _Module(spec.name)
        module.__dict__.update(self._members.get(spec.name, {}))
        return module

    def exec_module(self, module: Any) -> None:
        pass
