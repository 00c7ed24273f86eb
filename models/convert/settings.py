"""Options of another project's configuration: unknown ones are rejected."""

import math
from typing import Any, Dict, List, Optional, Tuple

import yaml

from models.convert.errors import ConversionError

_REQUIRED = object()
_MOST_SIZE, _MOST_LAYERS = 1 << 20, 1024  # in a model file


def read_yaml(data: bytes, source: str) -> Dict[str, Any]:
    """A YAML mapping; its tags create no Python objects."""
    try:
        content = yaml.safe_load(data.decode("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConversionError(f"{source}: is not plain YAML ({error})") from None
    if not isinstance(content, dict):
        raise ConversionError(f"{source}: expected a mapping of options")
    return content


class Settings:
    """One section of a configuration.

    An importer reads every option that it supports, names those that do not change the output of
    a trained model with `ignore`, and calls `finish` of the whole configuration. So no option is
    overlooked.

    The toolkits pass null on as None, in place of their default. So null is rejected where the
    default is another value. Where the default of a toolkit is None and that of the importer is
    not, the importer names the option with `null_is_absent`. A section that is null is empty.

    Args:
        values: the section; None counts as empty. where: its name, for messages.
        assumed: collects the reason for the assumed value of each field of the model file.
    """

    def __init__(self, values: Any, where: str, assumed: Dict[str, str]) -> None:
        if values is not None and not isinstance(values, dict):
            raise ConversionError(f"{where} is {shown(values)}, expected a section of options")
        self._values: Dict[str, Any] = dict(values or {})
        self._where = where
        self.assumed = assumed
        self._read: set = set()
        self._sections: Dict[str, "Settings"] = {}

    def null_is_absent(self, *names: str) -> None:
        """Names options whose default in the toolkit is None."""
        for name in names:
            if self.is_null(name):
                del self._values[name]

    def states(self, name: str) -> bool:
        """Whether the option is present, perhaps null."""
        return name in self._values

    def has(self, name: str) -> bool:
        """Whether the option is present and not null."""
        return self._values.get(name) is not None

    def is_null(self, name: str) -> bool:
        """Whether the option is present and null, where that differs from absent."""
        return name in self._values and self._values[name] is None

    def take_any(self, name: str, default: Any = _REQUIRED, field: Optional[str] = None) -> Any:
        """The option's value, of any type.

        Args:
            name: the option. default: the toolkit's default; without one the option is required.
                None: null is accepted.
            field: the field of the model file, marked as assumed when the default is used.
        """
        self._read.add(name)
        value = self._values.get(name)
        if default is not None and self.is_null(name):
            raise ConversionError(f"{self._where}.{name} is null, which is not supported")
        if value is not None:
            return value
        if default is _REQUIRED:
            raise ConversionError(f"{self._where}.{name} is missing")
        if field is not None:
            self.assumed[field] = f"{self._where} does not set {name}"
        return default

    def take(self, name: str, default: Any = _REQUIRED, field: Optional[str] = None) -> Any:
        """As `take_any`; a value has the type of the default."""
        value = self.take_any(name, default, field)
        expected = type(default)
        if expected is float and type(value) is int:
            value = float(value)
        if expected is float and isinstance(value, str):  # YAML reads 1e-5 as a string
            try:
                value = float(value)
            except ValueError:
                pass
        if expected in (bool, int, float, str) and type(value) is not expected:
            raise ConversionError(f"{self._where}.{name} is {shown(value)}, expected a value like "
                                  f"{default!r}")
        if type(value) is float and not math.isfinite(value):
            raise ConversionError(f"{self._where}.{name} is {value}, expected a finite number")
        return value

    def size(self, name: str, default: Any = _REQUIRED, field: Optional[str] = None) -> int:
        """A positive integer that a model file may have."""
        return self._integer(name, default, field, 1, _MOST_SIZE)

    def layers(self, name: str, default: Any = _REQUIRED, field: Optional[str] = None,
               least: int = 1) -> int:
        """A number of layers."""
        return self._integer(name, default, field, least, _MOST_LAYERS)

    def _integer(self, name: str, default: Any, field: Optional[str], least: int, most: int) -> int:
        value = self.take(name, default, field)
        if type(value) is not int or not least <= value <= most:
            raise ConversionError(f"{self._where}.{name} is {shown(value)}, expected an integer "
                                  f"from {least} to {most}")
        return value

    def file(self, name: str) -> Optional[str]:
        """The name of a file, None if the option is absent or null."""
        value = self.take(name, None)
        if value is not None and not isinstance(value, str):
            raise ConversionError(f"{self._where}.{name} is {shown(value)}, expected the name of a "
                                  "file")
        return value

    def choice(self, name: str, default: Any, choices: Dict[str, Any],
               field: Optional[str] = None) -> Any:
        """The entry of `choices` for the option's value; other values are rejected."""
        value = self.take(name, default, field)
        if not isinstance(value, str) or value not in choices:
            raise ConversionError(f"{self._where}.{name} is {shown(value)}, which is not "
                                  f"supported; supported: {', '.join(choices)}")
        return choices[value]

    def require(self, name: str, *accepted: Any) -> None:
        """Rejects the option unless it is absent or has one of the values, of which null is one."""
        self._read.add(name)
        if self.states(name) and self._values[name] not in accepted:
            value = "null" if self.is_null(name) else shown(self._values[name])
            raise ConversionError(f"{self._where}.{name} is {value}, which is not supported")

    def section(self, name: str) -> "Settings":
        """A section inside this one; empty if absent. `finish` checks it too."""
        if name not in self._sections:
            self._sections[name] = Settings(self.take(name, None), f"{self._where}.{name}",
                                            self.assumed)
        return self._sections[name]

    def ignore(self, *names: str) -> None:
        """Accepts options that do not change the output of a trained model."""
        self._read.update(names)

    def ignore_rest(self) -> None:
        """Accepts all other options: of a part that is not used, or names without a meaning."""
        self._read.update(self._values)
        for inner in self._sections.values():
            inner.ignore_rest()

    def unknown(self) -> List[str]:
        """The options that were neither read nor ignored, with their values, sections included.

        Those that are null do not count: they name parts that the model does not have.
        """
        found = [f"{self._where}.{name} is {shown(self._values[name])}"
                 for name in sorted(set(self._values) - self._read, key=str)
                 if self._values[name] is not None]
        for inner in self._sections.values():
            found += inner.unknown()
        return found

    def finish(self) -> None:
        """Rejects options, here and in the sections, that were neither read nor ignored."""
        unknown = self.unknown()
        if unknown:
            raise ConversionError(f"{unknown[0]}, which is not a known option")


def shown(value: Any) -> str:
    """A value of any length for a message of one line."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def pair(value: Any) -> Optional[Tuple[int, int]]:
    """(a, b) of a list of two integers, otherwise None."""
    if isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value):
        return value[0], value[1]
    return None
