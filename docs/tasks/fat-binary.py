# NVIDIA/cuda-python#2356: cubins, PTX and LTO-IR for several GPUs as one fat binary, in the process, without nvFatbin.
# Usage: fat-binary.py OUTPUT IMAGE...
import sys
from pathlib import Path

import fatbin

output, *images = sys.argv[1:]
Path(output).write_bytes(fatbin.pack_cuda(images, compress="zstd"))
for image in fatbin.scan(output)[0].images:
    print(image.image, image.arch)
