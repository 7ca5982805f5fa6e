#!/usr/bin/env bash
# Tool:     apache-tvm 0.27.0.post1, libdevice and ptxas 11.8.89
# Expected: A library that TVM compiled for the target nvptx has PTX with a kernel, as its target cuda has one in its source.
# Seen:     The kernel is a `.func`, and the PTX has no `.entry`, for sm_50, sm_80, sm_90 and sm_120. TVM exports the library
#           without a warning, and ptxas makes a cubin of the PTX that has no kernel.
# Matters:  A driver loads such a module and finds no kernel in it, so that the build succeeds and the first launch fails.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.15.post2 ml-dtypes==0.6.0 numpy==2.4.6 typing-extensions==4.16.0 \
    nvidia-cuda-nvcc-cu11==11.8.89
export CUDA_PATH=$wheels/nvidia-cuda-nvcc-cu11/nvidia/cuda_nvcc
chmod +x "$CUDA_PATH/bin/ptxas"
# TVM asks this file before nvcc, which the wheel lacks.
echo 'CUDA Version 11.8.89' >"$CUDA_PATH/version.txt"
python_finds_wheels
cat >compile.py <<'SOURCE'
"""Compiles one kernel for a target, and writes the source of its device module and the exported library."""

import json
import sys

import tvm
from tvm import s_tir, te

first = te.placeholder((1024,), name="first")
sums = te.compute((1024,), lambda index: first[index] + 1.0, name="sums")
schedule = s_tir.Schedule(tvm.IRModule({"main": te.create_prim_func([first, sums])}))
(loop,) = schedule.get_loops(schedule.get_sblock("sums"))
block, thread = schedule.split(loop, [None, 128])
schedule.bind(block, "blockIdx.x")
schedule.bind(thread, "threadIdx.x")
target = tvm.target.Target(tvm.target.Target(json.loads(sys.argv[1])), host={"kind": "llvm"})
module = tvm.compile(schedule.mod, target=target)
(device,) = module.mod.imports
with open(sys.argv[2] + ".txt", "w") as file:
    file.write(device.inspect_source())
module.export_library(sys.argv[2] + ".so")
SOURCE

# compile NAME KIND OPTION ARCHITECTURE
compile() {
    run_status "$1" python3 compile.py "{\"kind\": \"$2\", \"$3\": \"$4\"}" "$1"
    expect "status for $1" 0 "$status"
    expect_no_line "messages for $1" 'error|Error' "$1.out"
}

compile source cuda arch sm_90
expect_line 'kernel of the target cuda' '__global__ .*main_kernel' source.txt
for arch in sm_50 sm_80 sm_90 sm_120; do
    compile $arch nvptx mcpu $arch
    expect_line "target for $arch" "^[.]target $arch" $arch.txt
    expect_line "function for $arch" '^[.]visible [.]func main_kernel' $arch.txt
    expect_no_line "entries for $arch" '[.]entry' $arch.txt
    strings -a $arch.so >$arch.strings
    expect_line "function in the library for $arch" '^[.]visible [.]func main_kernel' $arch.strings
    expect_no_line "entries in the library for $arch" '[.]entry' $arch.strings
done


# ptxas names each kernel that it compiles.
printf '.version 7.8\n.target sm_90\n.address_size 64\n.visible .entry kernel() { ret; }\n' >kernel.txt
"$CUDA_PATH/bin/ptxas" -v -arch=sm_90 kernel.txt -o kernel.cubin 2>kernel.out
expect_line 'messages of ptxas for a kernel' 'Compiling entry function' kernel.out
"$CUDA_PATH/bin/ptxas" -v -arch=sm_90 sm_90.txt -o sm_90.cubin 2>ptxas.out
expect_no_line 'messages of ptxas for TVM' 'Compiling entry function' ptxas.out

holds 'TVM compiles kernels for nvptx as plain functions, so that its PTX has no kernel'
