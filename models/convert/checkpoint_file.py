"""Opens a file of `torch.save` without PyTorch: the object in it, and the values of its tensors."""

import io
import re
import struct
import zipfile
from typing import BinaryIO, Dict, Optional

import numpy as np

from models.convert.errors import ConversionError
from models.convert.folder import OF_FILE_MANAGERS
from models.convert.pickle_data import StoredTensor, read_pickle

# By the class of the storage. NumPy has no bfloat16, whose bits are the upper ones of a float32.
_TYPES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2",
          "BFloat16Storage": "<u2", "LongStorage": "<i8", "IntStorage": "<i4",
          "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?"}
_MOST_DIMS = 32  # of NumPy 1
# The entries of a compressed zip file may take this many times its bytes, and a little more: a
# small file must not ask for any amount of memory.
_MOST_EXPANSION, _FREE_BYTES = 16, 1 << 24
_BLOCK_BYTES = 1 << 20
_LEGACY_MAGIC = 0x1950a86a20f9469cfc6c


class CheckpointFile:
    """A file of `torch.save`: a zip file, or PyTorch's older format of pickles and storages.

    Attributes:
        content: the object, whose tensors are `StoredTensor`.
    """

    def __init__(self, file: BinaryIO, source: str) -> None:
        """Raises ConversionError, which names `source`, for a file of another kind or a damaged
        one."""
        self._source = source
        self._storages: Dict[str, np.ndarray] = {}  # of the older format
        self._zip: Optional[zipfile.ZipFile] = None
        self._entries: Dict[str, zipfile.ZipInfo] = {}  # by name, without the folder of all
        try:
            if zipfile.is_zipfile(file):
                self._open_zip(file)
                self.content = read_pickle(io.BytesIO(self._read("data.pkl")))
            else:
                self._open_pickles(file)
        except ConversionError:
            raise
        except Exception as error:  # a damaged file can fail in many ways
            raise self._damaged(error) from None

    def values(self, tensor: StoredTensor, name: str) -> np.ndarray:
        """The values of a tensor, those of bfloat16 in float32. Tensors of one storage share it.

        Raises:
            ConversionError: names the tensor, of `name`, that is damaged or of a type that no
                model has.
        """
        try:
            return self._values(tensor)
        except KeyError:
            raise ConversionError(
                f"{self._source}: {name} is in a {tensor.storage_type} (quantized, complex or "
                "another type), expected plain floating-point weights") from None
        except Exception as error:
            raise self._damaged(error, name) from None

    def forget(self, key: str) -> None:
        """Frees the memory of a storage."""
        self._storages.pop(key, None)

    def _values(self, tensor: StoredTensor) -> np.ndarray:
        type_name = _TYPES[tensor.storage_type]
        _check_place(tensor)
        if tensor.key not in self._storages:
            num_bytes = tensor.count * np.dtype(type_name).itemsize
            self._storages[tensor.key] = np.frombuffer(self._read(f"data/{tensor.key}", num_bytes),
                                                       dtype=type_name)
        storage = self._storages[tensor.key]
        if len(storage) != tensor.count or storage.dtype != np.dtype(type_name):
            raise ValueError("one storage of two types or sizes")
        values = np.lib.stride_tricks.as_strided(
            storage[tensor.offset:], tensor.shape,
            [stride * storage.itemsize for stride in tensor.strides])
        if tensor.storage_type == "BFloat16Storage":
            return np.asarray(values.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return values

    def _open_zip(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file)
        entries = [entry for entry in self._zip.infolist()
                   if not entry.is_dir() and not OF_FILE_MANAGERS.match(entry.filename)]
        names = [entry.filename for entry in entries]
        if any(re.match(r"([^/]*/)?code/", name) for name in names):
            raise ConversionError(f"{self._source}: is a TorchScript export, expected a checkpoint "
                                  "of weights (a state dict)")
        roots = [name[:-len("data.pkl")] for name in names
                 if re.fullmatch(r"([^/]*/)?data\.pkl", name)]
        if len(roots) != 1:
            raise ConversionError(f"{self._source}: is a zip file with {len(roots)} files "
                                  "data.pkl, expected one, as torch.save writes it")
        self._entries = {entry.filename[len(roots[0]):]: entry for entry in entries
                         if entry.filename.startswith(roots[0])}
        expanded = sum(entry.file_size for entry in entries)
        stored = sum(entry.compress_size for entry in entries)
        num_bytes = file.seek(0, io.SEEK_END)
        if stored > num_bytes:
            raise ConversionError(f"{self._source}: its entries take {stored} bytes, expected at "
                                  f"most the {num_bytes} of the file: some overlap, or it is cut")
        if expanded > _MOST_EXPANSION * stored + _FREE_BYTES:
            raise ConversionError(f"{self._source}: its {stored} bytes expand to {expanded}, "
                                  f"expected at most {_MOST_EXPANSION} times as many")
        for entry in entries:
            if entry.CRC == 0:  # PyTorch can be told not to compute it
                del entry.CRC  # so that it is not compared
            with self._zip.open(entry) as content:
                while content.read(_BLOCK_BYTES):
                    pass
        if "byteorder" in self._entries and self._read("byteorder") != b"little":
            raise ValueError("another order of bytes, expected the lowest first")

    def _read(self, name: str, num_bytes: Optional[int] = None) -> bytearray:
        """An entry, of this size if it is given."""
        if self._zip is None or name not in self._entries:
            raise ValueError(f"no {name}")
        entry = self._entries[name]
        if num_bytes not in (None, entry.file_size):
            raise ValueError(f"{name} has {entry.file_size} bytes, expected {num_bytes}")
        data = bytearray(entry.file_size)
        view, at = memoryview(data), 0
        with self._zip.open(entry) as content:  # in blocks, of which there is a copy each
            while read := content.readinto(view[at:at + _BLOCK_BYTES]):
                at += read
        if at != len(data):
            raise ValueError(f"{name} has {at} bytes, expected {len(data)}")
        return data

    def _open_pickles(self, file: BinaryIO) -> None:
        """PyTorch before 1.6: three pickles about the format, the object, the keys of its
        storages, and each storage behind its number of values."""
        file.seek(0)
        if file.read(1) != b"\x80":  # the first byte of a pickle
            raise ConversionError(f"{self._source}: is not a PyTorch checkpoint")
        file.seek(0)
        if read_pickle(file) != _LEGACY_MAGIC:
            raise ConversionError(f"{self._source}: is a pickle without weights, expected a file "
                                  "of torch.save")
        read_pickle(file)  # the version of the format
        if read_pickle(file).get("little_endian") is not True:
            raise ValueError("another order of bytes, expected the lowest first")
        types: Dict[str, str] = {}
        self.content = read_pickle(file, types)
        for key in read_pickle(file):
            count, = struct.unpack("<q", file.read(8))
            if types.get(key) not in _TYPES:
                raise ValueError(f"a storage of type {types.get(key)}")
            type_name = _TYPES[types[key]]
            size = count * np.dtype(type_name).itemsize
            data = bytearray(file.read(size) if size > 0 else b"")
            if len(data) != size:
                raise ValueError(f"storage {key} has {len(data)} bytes, expected {size}")
            self._storages[key] = np.frombuffer(data, dtype=type_name)

    def _damaged(self, error: Exception, name: str = "") -> ConversionError:
        reason = " ".join(str(error).split())[:200]
        place = f"{name}: " if name else ""
        return ConversionError(f"{self._source}: {place}cannot be read as a PyTorch checkpoint "
                               f"({type(error).__name__}: {reason})")


def _check_place(tensor: StoredTensor) -> None:
    """Raises ValueError unless each value lies in the storage, and none is there twice."""
    sizes = (tensor.offset, tensor.count, *tensor.shape, *tensor.strides)
    if any(type(size) is not int or size < 0 for size in sizes):
        raise ValueError("a size that is no number, or below 0")
    if len(tensor.shape) != len(tensor.strides) or len(tensor.shape) > _MOST_DIMS:
        raise ValueError(f"{len(tensor.shape)} dimensions and {len(tensor.strides)} strides")
    num_values, last = 1, tensor.offset
    for size, stride in zip(tensor.shape, tensor.strides):
        num_values *= size
        last += (size - 1) * stride
    if num_values > 0 and (last >= tensor.count or num_values > tensor.count):
        raise ValueError("values outside its storage")
