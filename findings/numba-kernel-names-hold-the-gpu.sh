#!/usr/bin/env bash
# Tool:     numba-cuda 0.30.4 with numba 0.62.1
# Expected: The name of a kernel in PTX depends on the function and on the types of its arguments, as in C++.
# Seen:     It also depends on the compute capability, and on how many functions the process has compiled before.
# Matters:  PTX of one kernel for two GPUs cannot be in one fat binary: the program would have to ask for another name on
#           each GPU. A build that compiles its kernels in another order has other names.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels numba==0.62.1 llvmlite==0.45.1 numba-cuda==0.30.4 numpy==2.2.6 cuda-bindings==13.5.0 cuda-core==1.2.2 \
    cuda-pathfinder==1.9.0 packaging==26.4 nvidia-nvvm==13.5.37 nvidia-cuda-runtime==13.5.37 nvidia-cuda-nvrtc==13.5.37
python_finds_wheels
mkdir toolkit
cp -r "$wheels"/nvidia-*/nvidia/cu13/. toolkit
mkdir toolkit/nvvm/lib64
ln -s ../../lib/libnvvm.so.4 toolkit/nvvm/lib64/libnvvm.so
export CUDA_HOME=$folder/toolkit

cat >compile.py <<'SOURCE'
"""Compiles the kernels FUNCTION:CAPABILITY in this order, and prints their names."""

import re
import sys

import _numba_cuda_redirector  # what the installer runs at the start of each program
from numba import cuda, types


def first(values):
    values[0] += 1


def second(values):
    values[0] += 2


for argument in sys.argv[1:]:
    function, capability = argument.split(":")
    major, minor = map(int, capability.split("."))
    ptx, _ = cuda.compile_ptx(globals()[function], (types.int32[:],), cc=(major, minor))
    print(re.search(r"\.visible \.entry (\w+)", ptx).group(1))
SOURCE

# names KERNEL...: prints the names of kernels that one process compiles.
names() {
    python3 compile.py "$@" 2>errors || fail "compile.py: $(tail -1 errors)"
}

name=$(names first:8.0)
[[ $name == *first*B2v1* ]] || fail "the name of the kernel is '$name'"
expect 'the name in a second process' "$name" "$(names first:8.0)"
expect 'the names as the second and third kernel' "${name/B2v1/B2v2} ${name/B2v1/B2v3}" \
    "$(names second:8.0 first:8.0 first:8.0 | tail -2 | paste -sd' ')"

# Without the number, the names for the same GPU are equal, and those for other GPUs differ.
names first:8.0 first:8.0 first:7.5 first:8.6 first:9.0 first:12.0 | sed 's/B2v[0-9]//' >without-number
expect 'the names for five GPUs' 5 "$(sort -u without-number | wc -l)"

holds 'numba-cuda gives a kernel another name for each GPU, and for each place in the order of compilations'
