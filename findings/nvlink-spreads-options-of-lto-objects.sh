#!/usr/bin/env bash
# Tool:     nvcc and nvlink 13.5.37
# Expected: With -dlto, each object keeps the options of its compilation, as functions do in LTO of LLVM and GCC.
# Seen:     One object with -maxrregcount=32 limits the kernels of all objects to 32 registers, which then spill; nvlink says
#           so in a line of information. One object with -use_fast_math does not link with objects without it. Without -dlto,
#           both link, and each kernel keeps its options. The options are text next to the LTO-IR in the fat binary.
# Matters:  A library of LTO objects decides on the registers of its user's kernels, and cannot be linked by users with other
#           options.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37
cuda_toolkit
# nvlink looks for libnvvm where the toolkit of the installer has it.
mkdir toolkit/nvvm/lib64
ln -s ../../lib/libnvvm.so.4 toolkit/nvvm/lib64/libnvvm.so

for name in library user; do
    cat >$name.cu <<SOURCE
__global__ void kernel_$name(float *data, int stride)
{
    float values[64];
#pragma unroll
    for (int i = 0; i < 64; i++)
        values[i] = data[i * stride + threadIdx.x];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 64; i++)
        sum += values[i] * values[63 - i] + sinf(values[i]) / values[i * 7 % 64];
    data[threadIdx.x] = sum;
}
void launch_$name(float *data) { kernel_$name<<<1, 1>>>(data, 1); }
SOURCE
done

# build MODE OPTION: compiles the library with an option and the user without, and links their device code.
build() {
    local mode=()
    [[ $1 == -dc ]] || mode=("$1")
    nvcc -dc "${mode[@]}" -arch=sm_80 user.cu
    nvcc -dc "${mode[@]}" -arch=sm_80 "$2" library.cu
    rm -f linked.o
    run_status nvlink nvcc -dlink "${mode[@]}" -arch=sm_80 library.o user.o -o linked.o
}

# registers KERNEL
registers() {
    cuobjdump -res-usage linked.o 2>/dev/null | grep -A1 "Function _Z.*$1" | sed -nE 's/.*REG:([0-9]+) .*/\1/p'
}

build -dc -maxrregcount=32
expect 'status without -dlto' 0 "$status"
expect 'registers of the library without -dlto' 32 "$(registers kernel_library)"
(($(registers kernel_user) > 64)) || fail "the user's kernel has $(registers kernel_user) registers without -dlto"
build -dlto -maxrregcount=32
expect 'status with -dlto' 0 "$status"
expect 'registers of the library with -dlto' 32 "$(registers kernel_library)"
expect 'registers of the user with -dlto' 32 "$(registers kernel_user)"
expect_line 'nvlink' "info .*will build everything with '-maxrregcount=32'" nvlink.out

build -dc -use_fast_math
expect 'status without -dlto' 0 "$status"
build -dlto -use_fast_math
expect 'status with -dlto' 1 "$status"
expect_line 'nvlink' "fatal .*Cicc option values for '-ftz' do not match" nvlink.out
cuobjdump library.o >library.out
expect_line 'options of the library' '^nvvmOptions = .*-ftz=1 ' library.out

holds 'one LTO object sets the registers of all kernels, and -use_fast_math does not link with objects without it'
