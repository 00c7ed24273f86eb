"""The one exception of the importers."""


class ConversionError(Exception):
    """A model that cannot be converted. The message is one line that names what is wrong."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
