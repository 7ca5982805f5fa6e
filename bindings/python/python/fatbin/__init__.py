"""Device images in host files: finds, reads, checks, makes and changes them.

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
    NvFatbin,
    Policy,
    Problem,
    Selection,
    SourceIndex,
    Verdict,
    __version__,
    bundle,
    check,
    drop_archs,
    embed,
    extract,
    pack,
    pack_cuda,
    prune,
    replace,
    scan,
    transcode,
    unbundle,
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
    "NvFatbin",
    "Policy",
    "Problem",
    "Selection",
    "SourceIndex",
    "Verdict",
    "__version__",
    "bundle",
    "check",
    "drop_archs",
    "embed",
    "extract",
    "pack",
    "pack_cuda",
    "prune",
    "replace",
    "scan",
    "transcode",
    "unbundle",
    "wrap",
]
