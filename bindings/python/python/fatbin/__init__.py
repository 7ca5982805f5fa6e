"""Device images in host files: finds, reads, checks and wraps them.

    >>> import fatbin
    >>> for file in fatbin.scan("libtorch_cuda.so"):  # doctest: +SKIP
    ...     for image in file.images:
    ...         print(image.arch, len(image.data))

Files that are scanned are mapped into memory, and must not change while their images are used; ``map=False`` reads them
instead.
"""

from ._error import Error
from ._fatbin import (
    Container,
    Entry,
    File,
    Finding,
    Frame,
    Image,
    Inspection,
    Kernel,
    Policy,
    Problem,
    Selection,
    SourceIndex,
    Verdict,
    __version__,
    check,
    extract,
    scan,
    wrap,
)

__all__ = [
    "Container",
    "Entry",
    "Error",
    "File",
    "Finding",
    "Frame",
    "Image",
    "Inspection",
    "Kernel",
    "Policy",
    "Problem",
    "Selection",
    "SourceIndex",
    "Verdict",
    "__version__",
    "check",
    "extract",
    "scan",
    "wrap",
]
