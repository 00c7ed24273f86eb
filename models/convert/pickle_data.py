"""Reads the data of a pickle. Nothing in it is executed or imported.

`pickletools` of Python's library splits the pickle into its operations; `read_pickle` builds texts,
numbers, lists, dicts and the places of tensors from them. Any other object becomes a `Foreign`,
which knows its class' name only: an optimizer, or the options of a training, beside the weights.
"""

import dataclasses
import pickletools
from typing import Any, BinaryIO, Dict, List, Optional, Tuple


@dataclasses.dataclass(frozen=True)
class Global:
    """A class or a function that a pickle names."""

    name: str  # with its module


class Foreign:
    """An object of another kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """A tensor, whose values are in a storage beside the pickle. Nothing of it is checked."""

    storage_type: str  # "HalfStorage"
    key: str  # of the storage
    count: int  # values of the storage
    offset: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]


_MARK = object()
_TENSOR = ("torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2")
# The object is what is at this place of the arguments: of a parameter, its tensor.
_WRAPPERS = {"torch._utils._rebuild_parameter": 0, "torch._utils._rebuild_parameter_with_state": 0,
             "torch.Size": 0}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
           "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
           "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"}
_EMPTY = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple, "EMPTY_SET": list}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def read_pickle(file: BinaryIO, storage_types: Optional[Dict[str, str]] = None) -> Any:
    """The object of the pickle at the file's position, which is moved behind it.

    Args:
        storage_types: gets the class of each storage by its key, also of those of foreign objects.

    Time and memory are linear in the size of the pickle.

    Raises:
        ValueError, IndexError, KeyError or TypeError: it is damaged.
    """
    reader = _Reader({} if storage_types is None else storage_types)
    for operation, argument, _ in pickletools.genops(file):
        if operation.name == "STOP":
            return reader.stack.pop()
        reader.run(operation.name, argument)
    raise ValueError("the pickle has no end")


class _Reader:
    """The stack and the memory that the operations of a pickle work on."""

    def __init__(self, storage_types: Dict[str, str]) -> None:
        self.stack: List[Any] = []
        self._storage_types = storage_types
        self._memo: Dict[int, Any] = {}

    def run(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _VALUES:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            stack[-_TUPLES[name]:] = [tuple(stack[-_TUPLES[name]:])]
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self._memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(self._memo[argument])
        elif name not in ("PROTO", "FRAME"):
            operation = getattr(self, f"_{name.lower()}", None)
            if operation is None:
                raise ValueError(f"has the operation {name}, which no checkpoint has")
            operation(*([] if argument is None else [argument]))

    def _mark(self) -> None:
        self.stack.append(_MARK)

    def _marked(self) -> List[Any]:
        """Takes what is above the last mark, and the mark."""
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
        items = self.stack[at + 1:]
        del self.stack[at:]
        return items

    def _pop(self) -> None:
        self.stack.pop()

    def _pop_mark(self) -> None:
        self._marked()

    def _dup(self) -> None:
        self.stack.append(self.stack[-1])

    def _tuple(self) -> None:
        self.stack.append(tuple(self._marked()))

    def _list(self) -> None:
        self.stack.append(self._marked())

    def _frozenset(self) -> None:  # hashing could take any time
        self.stack.append(self._marked())

    def _dict(self) -> None:
        items = self._marked()
        self.stack.append({})
        self._set(items)

    def _append(self) -> None:
        self._extend([self.stack.pop()])

    def _appends(self) -> None:
        self._extend(self._marked())

    def _additems(self) -> None:
        self._extend(self._marked())

    def _extend(self, items: List[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)
        elif not isinstance(self.stack[-1], Foreign):
            raise ValueError("appends to an object that is no list")

    def _setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set([key, value])

    def _setitems(self) -> None:
        self._set(self._marked())

    def _set(self, items: List[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, (dict, Foreign)):
            raise ValueError("has keys in an object that is no dict")
        for key, value in zip(items[::2], items[1::2]):
            if isinstance(target, dict):
                target[key if _is_plain(key) else Foreign("key of another type")] = value

    def _global(self, name: str) -> None:
        self.stack.append(Global(name.replace(" ", ".", 1)))

    def _stack_global(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise ValueError("names a class by something else than text")
        self.stack.append(Global(f"{module}.{name}"))

    def _binpersid(self) -> None:
        fields = self.stack.pop()
        if not isinstance(fields, tuple):
            raise ValueError("refers to an object without its kind")
        # ("storage", class, key, device, count, ...), or of a module ("module", class, source)
        if fields[0] == "module":
            self.stack.append(fields[1])
            return
        storage = _Storage(fields)
        self._storage_types[storage.key] = storage.type
        self.stack.append(storage)

    def _reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        self.stack.append(_made(function, arguments))

    def _build(self) -> None:  # the state of an object, of which nothing is needed
        self.stack.pop()

    def _newobj(self) -> None:
        self._reduce()

    def _newobj_ex(self) -> None:
        self.stack.pop()
        self._reduce()

    def _inst(self, name: str) -> None:
        self._marked()
        self.stack.append(Foreign(name.replace(" ", ".", 1)))

    def _obj(self) -> None:
        self.stack.append(_made(self._marked()[0], ()))


class _Storage:
    """What stands for a storage in a pickle."""

    def __init__(self, fields: Any) -> None:
        kind, of_class, self.key, _, self.count = fields[:5]
        is_view = any(field is not None for field in fields[5:])  # of PyTorch's first versions
        if kind != "storage" or is_view or not isinstance(of_class, Global) \
                or not isinstance(self.key, str) or type(self.count) is not int:
            raise ValueError("has a storage without class, key or size, or a part of one")
        self.type = of_class.name.rpartition(".")[2]


def _is_plain(key: Any) -> bool:
    """Whether a key is hashed at once: one of another type, or a long number, may take any time."""
    return key is None or isinstance(key, (str, bytes)) or (
        isinstance(key, (int, float)) and abs(key) < 1 << 63)


def _from_pairs(pairs: Any = ()) -> Dict[Any, Any]:
    """The dict of a list of pairs, as Python 2 writes it; in Python 3 the keys follow."""
    made = {key: value for key, value in pairs if _is_plain(key)}
    if pairs:
        pairs.clear()  # it is of this dict only; to read it for many would not be linear
    return made


def _made(function: Any, arguments: Any) -> Any:
    """The object that the call of a class or of a function stands for."""
    name = function.name if isinstance(function, Global) else "an object that is no class"
    if not isinstance(arguments, tuple):
        raise ValueError("calls a class without a list of arguments")
    if name == "torch._tensor._rebuild_from_type_v2":  # function, class, its arguments, state
        return _made(arguments[0], arguments[2])
    if name in _WRAPPERS:
        return arguments[_WRAPPERS[name]]
    if name == "collections.defaultdict":  # its keys follow
        return {}
    if name == "collections.OrderedDict":
        return _from_pairs(*arguments)
    if name in _TENSOR and isinstance(arguments[0], _Storage):
        storage, offset, shape, strides = arguments[:4]
        return StoredTensor(storage.type, storage.key, storage.count,
                            offset, shape, strides)
    return Foreign(name)
