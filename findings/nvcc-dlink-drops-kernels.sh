#!/usr/bin/env bash
# Tool:     nvcc and nvlink 13.5.37
# Expected: nvcc -dlink and nvcc -shared keep every global kernel of the objects; another object may launch it.
# Seen:     If all objects of the device link come from nvcc, kernels that none of them launches are removed without a
#           message. The host code still registers them, and a C++ object that launches one links. One object of g++ among
#           the inputs of the device link keeps every kernel, and so does -Xnvlink --ignore-host-info.
# Matters:  Build systems pass only the objects of .cu files to the device link. Kernels that C++ code launches, or that
#           another library looks up by name, are missing when the program runs.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37
cuda_toolkit
toolkit=$folder/toolkit

cat >kernels.cu <<'SOURCE'
__device__ int factor(int value);
__global__ void launched(int *data) { data[0] = factor(data[1]); }
__global__ void exported(int *data) { data[0] = factor(data[1]) + 1; }
extern "C" void launch(int *data) { launched<<<1, 1>>>(data); }
SOURCE
cat >factor.cu <<'SOURCE'
__device__ int factor(int value) { return value * 7; }
SOURCE
cat >main.cpp <<'SOURCE'
#include <cuda_runtime.h>
void exported(int *data);
int main()
{
    int *data = nullptr;
    void *arguments[] = {&data};
    return cudaLaunchKernel((const void *)exported, dim3(1), dim3(1), arguments, 0, nullptr);
}
SOURCE
nvcc -dc -arch=sm_80 -Xcompiler -fPIC kernels.cu factor.cu
g++ -fPIC -I"$toolkit/include" -c main.cpp

# Prints the kernels in the linked device code of a file.
kernels() {
    cuobjdump -symbols "$1" | awk '/ENTRY/ { print $NF }' | sort | xargs
}

nvcc -dlink -arch=sm_80 -Xcompiler -fPIC kernels.o factor.o -o cuda.o
expect 'kernels after nvcc -dlink' '_Z8launchedPi' "$(kernels cuda.o)"
nvcc -shared -arch=sm_80 kernels.o factor.o -o cuda.so
expect 'kernels after nvcc -shared' '_Z8launchedPi' "$(kernels cuda.so)"

g++ main.o kernels.o factor.o cuda.o -L"$toolkit/lib" -lcudadevrt -lcudart_static -lpthread -ldl -lrt -o program
expect 'kernels of the program' '_Z8launchedPi' "$(kernels program)"
# The program defines the handle of the kernel. Its constructor registers the name, and main launches it.
expect 'handles of kernels in the program' '_Z8exportedPi _Z8launchedPi' \
    "$(nm program | awk '$3 ~ /^_Z8(exported|launched)Pi$/ { print $3 }' | sort | xargs)"

nvcc -dlink -arch=sm_80 main.o kernels.o factor.o -o mixed.o
expect 'kernels with an object of g++' '_Z8exportedPi _Z8launchedPi' "$(kernels mixed.o)"
nvcc -dlink -arch=sm_80 -Xnvlink --ignore-host-info kernels.o factor.o -o all.o
expect 'kernels with --ignore-host-info' '_Z8exportedPi _Z8launchedPi' "$(kernels all.o)"

holds 'a device link of .cu objects alone removes kernels that they do not launch; the host still registers them'
