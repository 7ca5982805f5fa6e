#!/usr/bin/env bash
# Tool:     Halide 21.0.0, ptxas 13.5.37
# Expected: Without a capability, Halide compiles for a GPU that CUDA 13 supports, so sm_75 or newer; ptxas 13 refuses PTX
#           for GPUs that it dropped.
# Seen:     The objects embed PTX 3.2 for sm_20, of 2010. ptxas 13.5 compiles it for all its GPUs. No option of Halide names
#           a GPU after sm_86: sm_89, sm_90 and later are no features of a target.
# Matters:  The target of PTX says nothing about the age of a build. A check that asks for sm_90 cannot be met, and the code
#           uses no instruction that is newer than Fermi.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels halide==21.0.0 numpy==2.4.6 nvidia-cuda-nvcc==13.5.37
ptxas=$wheels/nvidia-cuda-nvcc/nvidia/cu13/bin/ptxas
chmod +x "$ptxas"

cat >compile.py <<'SOURCE'
import sys

import halide as hl

x, y, thread_x, thread_y = (hl.Var(name) for name in ("x", "y", "thread_x", "thread_y"))
for features in ("cuda", "cuda-cuda_capability_86", "cuda-cuda_capability_89", "cuda-cuda_capability_90"):
    source = hl.ImageParam(hl.Float(32), 2, "source")
    scale = hl.Func("scale")
    scale[x, y] = source[x, y] * 2.0
    scale.gpu_tile(x, y, thread_x, thread_y, 8, 8)
    try:
        target = hl.Target("x86-64-linux-" + features)
    except hl.HalideError as error:
        print(features, str(error).splitlines()[0].split(" x86")[0])
        continue
    scale.compile_to({hl.OutputFileType.object: features + ".o"}, [source], "scale", target)
    with open(features + ".o", "rb") as file:
        data = file.read()
    start = data.rfind(b"\0", 0, data.index(b".version ")) + 1
    ptx = data[start : data.index(b"\0", start)]
    with open(features + ".ptx", "wb") as file:
        file.write(ptx)
    print(features, *[line for line in ptx.decode().splitlines() if line.startswith((".version", ".target"))])
SOURCE
PYTHONPATH=$wheels/halide:$wheels/numpy python3 compile.py >targets.out ||
    fail "compile.py: $(tail -1 targets.out)"
expect 'targets' 'cuda .version 3.2 .target sm_20
cuda-cuda_capability_86 .version 7.1 .target sm_86
cuda-cuda_capability_89 Error: Did not understand Halide target
cuda-cuda_capability_90 Error: Did not understand Halide target' "$(<targets.out)"
for arch in sm_75 sm_90 sm_120; do
    run_status ptxas "$ptxas" -arch=$arch cuda.ptx -o $arch.cubin
    expect "status of ptxas for $arch" 0 "$status"
done

holds 'Halide embeds PTX 3.2 for sm_20 by default, which ptxas 13.5 compiles, and cannot name a GPU after sm_86'
