# DataDog/datadog-agent#29918, #33903: registers, shared memory and code size of the kernels of a program, for the GPUs of a host.
# Usage: kernel-figures.py PROGRAM ARCH...
import sys

import fatbin

program, *archs = sys.argv[1:]
for file in fatbin.scan(program):
    for image in file.images:
        for kernel in image.inspect().kernels if image.arch in archs else ():
            figures = [f"{name}={kernel.figures.get(name, 0)}" for name in ("registers", "shared", "code_size")]
            print(image.arch, kernel.name, *figures)
