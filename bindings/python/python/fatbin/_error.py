"""The exception of the module."""

__all__ = ["Error"]


class Error(Exception):
    """A file that cannot be read, written or processed.

    The text is ``PATH: PROBLEM``, as the program prints it.
    """

    path: str | None
    """The file, if the error is about one."""
    offset: int | None
    """Offset in the file, in bytes, if the error is about a place in it."""
    problem: str
    """The text without the path."""

    def __init__(self, message: str, path: str | None = None, offset: int | None = None, problem: str = "") -> None:
        super().__init__(message, path, offset, problem or message)
        self.path = path
        self.offset = offset
        self.problem = problem or message

    def __str__(self) -> str:
        return str(self.args[0])


Error.__module__ = "fatbin"
