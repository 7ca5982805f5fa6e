# pytorch/pytorch#184456: Triton's cubin and PTX as a fat binary, and as data in an object for the library of the model.
# Neither fatbinary nor an assembler runs, so the PTX may be newer than the toolkit.
# Usage: aot-inductor-cuda.py KERNEL CUBIN PTX
import sys
from pathlib import Path

import fatbin

kernel, cubin, ptx = sys.argv[1:]
packed = fatbin.pack_cuda([cubin, ptx])
Path(f"{kernel}.fatbin").write_bytes(packed)
Path(f"{kernel}.o").write_bytes(fatbin.embed({kernel: packed}, host="x86_64-linux-gnu"))
