#!/usr/bin/env bash
# Tool:     apache-tvm 0.27.0.post1
# Expected: TVM compiles for the target cuda with the architecture sm_90, or fails: there is no GPU, driver, nvcc or NVRTC.
# Seen:     The build and the export succeed without a word. The "compiled" library has the CUDA source as text, and no PTX
#           or cubin. The architecture is not checked: sm_999 gives the same data. The runtime compiles the source when it
#           loads the library, by a function that Python has to register.
# Matters:  A library from a build machine needs a CUDA compiler where it runs, errors of the source show there, and the
#           requested architecture is not recorded.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.15.post2 ml-dtypes==0.6.0 numpy==2.4.6 typing-extensions==4.16.0
python_finds_wheels
# No installed compiler counts.
export CUDA_PATH=$folder/none
cat >compile.py <<'SOURCE'
"""Compiles one kernel for an architecture, and writes the library."""

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
target = tvm.target.Target(tvm.target.Target({"kind": "cuda", "arch": sys.argv[1]}), host={"kind": "llvm"})
tvm.compile(schedule.mod, target=target).export_library(sys.argv[1] + ".so")
SOURCE

for arch in sm_90 sm_999; do
    run_status $arch python3 compile.py $arch
    expect "status for $arch" 0 "$status"
    expect "output for $arch" '' "$(<$arch.out)"
    strings -a $arch.so >strings.out
    expect_line "source for $arch" '^extern "C" __global__ void .*main_kernel' strings.out
    expect_no_line "PTX for $arch" '[.]entry|^[.]target' strings.out
    # The ELF file of the host is the only one, and no fat binary follows.
    expect "device code for $arch" '1 0' "$(python3 -c 'import sys
data = open(sys.argv[1], "rb").read()
print(data.count(b"\x7fELF"), data.count(b"\x50\xed\x55\xba"))' $arch.so)"
    expect_no_line "architecture in the library for $arch" "$arch" strings.out
    objcopy -O binary --only-section=.rodata $arch.so $arch.rodata
done
cmp -s sm_90.rodata sm_999.rodata || fail 'the libraries for sm_90 and sm_999 differ'
strings -a "$wheels/apache-tvm/tvm/lib/libtvm_runtime_cuda.so" >runtime.out
expect_line 'message of the runtime' "fmt=='cuda' requires tvm_callback_cuda_compile to be registered" runtime.out

holds 'TVM exports CUDA source as a compiled library, for any architecture, on a machine without a GPU'
