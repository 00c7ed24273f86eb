"""The one exception of the importers."""


class ConversionError(Exception):
    """A model that cannot be converted. The message is one line that states the problem."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
