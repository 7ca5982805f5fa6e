#!/usr/bin/env bash
# Tool:     nvcc and cuobjdump 13.5.37
# Expected: cuobjdump -arch sm_90 prints the code for sm_90, and -arch sm_90a prints the code for sm_90a.
# Seen:     Both print both. -arch sm_100, sm_100a and sm_100f, three values of its help, print the same code, and of an
#           object that has sm_90a alone, -arch sm_90 prints the code.
# Matters:  A release script that asks cuobjdump -arch for sm_90 passes for a library that runs on no GPU after H100, and one
#           that compares code by architecture compares the wrong functions.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37 nvidia-cuda-nvdisasm==13.5.37
cuda_toolkit

cat >kernel.cu <<'SOURCE'
__global__ void kernel(int *data) { data[0] = 1; }
int main() { kernel<<<1, 1>>>(nullptr); }
SOURCE

# Prints the architectures of the code that cuobjdump prints for a request.
printed() {
    cuobjdump -arch "$1" -sass "$2" | sed -n 's/^arch = //p' | xargs
}

nvcc -c kernel.cu -o all.o -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90a,code=sm_90a \
    -gencode arch=compute_100f,code=sm_100f -gencode arch=compute_100a,code=sm_100a
for request in sm_90 sm_90a; do
    expect "code for $request" 'sm_90 sm_90a' "$(printed $request all.o)"
done
for request in sm_100 sm_100a sm_100f; do
    expect "code for $request" 'sm_100f sm_100a' "$(printed $request all.o)"
done
nvcc -c kernel.cu -o specific.o -gencode arch=compute_90a,code=sm_90a
expect 'code for sm_90 in an object for sm_90a' 'sm_90a' "$(printed sm_90 specific.o)"

holds 'cuobjdump -arch sm_90 prints code for sm_90a, and -arch sm_90a prints code for sm_90'
