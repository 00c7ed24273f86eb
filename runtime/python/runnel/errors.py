"""The exceptions of this package, besides ValueError and TypeError for wrong use."""


class DataError(RuntimeError):
    """A file, or audio, that cannot be used. One line: what is wrong and what was expected."""


class SnapshotError(DataError):
    """A snapshot that cannot be restored: damaged, of a newer version or of another model."""
