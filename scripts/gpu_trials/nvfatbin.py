"""Fat binaries by NVIDIA's library nvFatbin, of CUDA 13.5."""

import ctypes

from .images import RUNTIMES, MissingTool

LIBRARY = RUNTIMES / "nvfatbin/libnvfatbin.so.13"

# Name, options of the library, images.
PRODUCTS = """
    default       -                    c75 c80 c90 c120 p75
    uncompressed  -compress=false      c75 c80 c90 c120 p75
    mode-speed    -compress-mode=speed c75 c80 c90 c120 p75
    mode-size     -compress-mode=size  c75 c80 c90 c120 p75
    ptx           -                    p75 p80
    other-majors  -                    c75 c120
"""


def build(images, directory):
    """Yields the trials."""
    if not LIBRARY.is_file():
        raise MissingTool("libnvfatbin.so.13 not found (scripts/test --install fetches it)")
    library = ctypes.CDLL(str(LIBRARY))
    for line in PRODUCTS.strip().splitlines():
        name, option, *specifications = line.split()
        path = f"fatbins/nvfatbin-{name}.fatbin"
        options = [] if option == "-" else [option]
        (directory / path).write_bytes(product(library, images, options, specifications))
        yield {"name": f"nvfatbin/{name}", "load": ["module", path], "file": path}


def product(library, images, options, specifications):
    """Returns the bytes of a fat binary."""
    handle, size = ctypes.c_void_p(), ctypes.c_size_t()
    texts = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    check("nvFatbinCreate", library.nvFatbinCreate(ctypes.byref(handle), texts, ctypes.c_size_t(len(options))))
    for specification in specifications:
        image = images.path(specification).read_bytes()
        arch, name = images.arch(specification).removeprefix("sm_").encode(), specification.encode()
        if specification.startswith("p"):
            text = image + b"\0"
            check("nvFatbinAddPTX", library.nvFatbinAddPTX(handle, text, ctypes.c_size_t(len(text)), arch, name, b""))
        else:
            check("nvFatbinAddCubin", library.nvFatbinAddCubin(handle, image, ctypes.c_size_t(len(image)), arch, name))
    check("nvFatbinSize", library.nvFatbinSize(handle, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    check("nvFatbinGet", library.nvFatbinGet(handle, buffer))
    check("nvFatbinDestroy", library.nvFatbinDestroy(ctypes.byref(handle)))
    return buffer.raw


def check(function, status):
    if status != 0:
        raise RuntimeError(f"{function}: status {status}")
