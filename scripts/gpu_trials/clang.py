"""clang with CUDA's tools, without an installation of CUDA."""

import shutil

from .images import RUNTIMES, MissingTool

TOOLS = RUNTIMES / "cuda-nvcc-13.0/nvidia/cu13/bin"


class Clang:
    """Makes a directory of the tools as clang expects it."""

    def __init__(self, temporary):
        clang, cuda = shutil.which("clang-22"), temporary / "cuda"
        if not clang:
            raise MissingTool("clang-22 not found (Debian package clang-22)")
        for part in ("bin", "include", "nvvm/libdevice"):
            (cuda / part).mkdir(parents=True)
        for tool in ("ptxas", "fatbinary", "nvlink"):
            (cuda / "bin" / tool).symlink_to(TOOLS / tool)
        # clang writes PTX for this release.
        (cuda / "include/cuda.h").write_text("#define CUDA_VERSION 12090\n")
        self.option = f"--cuda-path={cuda}"
        self.command = [clang, self.option]
