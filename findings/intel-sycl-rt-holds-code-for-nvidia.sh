#!/usr/bin/env bash
# Tool:     intel-sycl-rt and intel-cmplr-lib-ur 2026.2.0
# Expected: Intel's SYCL runtime has device code for Intel's GPUs, if any.
# Seen:     libsycl-jit.so, the largest library with 250 MB, has 90 MB of bitcode for nvptx64-nvidia-cuda: five variants of
#           libclc, each as a module and as an archive. For SPIR-V it has 3 MB, for AMD nothing. The wheel has the library
#           twice, as wheels have no links. No package that it requires has an adapter for CUDA.
# Matters:  180 of the 611 MB that the wheel installs are for GPUs that its packages cannot use, and a list of the device
#           code of an Intel runtime names NVIDIA above all.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels intel-sycl-rt==2026.2.0 intel-cmplr-lib-ur==2026.2.0
libraries=$wheels/intel-sycl-rt/intel_sycl_rt-2026.2.0.data/data/lib

cat >resources.py <<'SOURCE'
"""Prints the megabytes of a library, and of the device code that it embeds, by the triple in the code."""

import re
import subprocess
import sys
from collections import Counter


def readelf(option):
    output = subprocess.run(["readelf", option, sys.argv[1]], capture_output=True, text=True, check=True).stdout
    return output.replace("[ ", "[").splitlines()


with open(sys.argv[1], "rb") as file:
    data = file.read()
section = next(line.split() for line in readelf("-SW") if " .rodata " in line)
address, offset = int(section[3], 16), int(section[4], 16)
sizes, files = Counter(), Counter()
for line in readelf("-sW"):
    words = line.split()
    if len(words) == 8 and re.search(r"jit_compiler8resource14ToolchainFiles.*4data$", words[7]):
        start, size = int(words[1], 16) - address + offset, int(words[2], 0)
        content = data[start : start + size]
        if content.startswith((b"BC\xc0\xde", b"!<arch>\n")):
            triple = re.search(rb"nvptx64-nvidia-cuda|amdgcn-amd-amdhsa|spir64", content)
            if triple:
                sizes[triple.group().decode()] += size
                files[triple.group().decode()] += 1
print(len(data) // 1000000, *(f"{triple}:{sizes[triple] // 1000000}:{files[triple]}" for triple in sorted(sizes)))
SOURCE

expect 'the megabytes of the library, and of its device code' '250 nvptx64-nvidia-cuda:90:18 spir64:2:18' \
    "$(python3 resources.py "$libraries/libsycl-jit.so")"
cmp -s "$libraries"/libsycl-jit.so{,.23.1} || fail 'the two files of the library differ'
strings -a "$libraries/libsycl-jit.so" | grep -oE 'nvptx64-nvidia-cuda(clc_)?(cos|acos)\.cl' | sort | uniq -c >sources
expect_line 'the copies of a function of libclc' '^ *5 nvptx64-nvidia-cudaclc_cos\.cl$' sources

requirements=$(sed -nE 's/^Requires-Dist: ([a-z-]+).*/\1/p' "$wheels"/intel-sycl-rt/*.dist-info/METADATA | paste -sd' ')
expect 'the required packages' 'intel-cmplr-lib-rt intel-cmplr-lic-rt intel-cmplr-lib-ur' "$requirements"
find "$wheels" -name '*adapter*.so' >adapters
expect_line 'adapters' 'libur_adapter_level_zero[.]so' adapters
expect_no_line 'adapters' 'cuda|hip' adapters

holds 'a third of the largest library of intel-sycl-rt is code for GPUs of NVIDIA, which its packages cannot use'
