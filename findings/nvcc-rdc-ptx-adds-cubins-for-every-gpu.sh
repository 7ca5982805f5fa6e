#!/usr/bin/env bash
# Tool:     nvcc and cuobjdump 13.5.37, device runtime of nvidia-cuda-runtime 13.5.37
# Expected: nvcc -rdc=true -arch=compute_80 makes a program that holds PTX for sm_80 and nothing else.
# Seen:     The program also holds the device runtime, which it never calls: a cubin for each GPU from sm_75 to sm_121,
#           each with dozens of kernels, and PTX for sm_121. cuobjdump lists none of it without -all, not even the PTX of the
#           program. With -cudadevrt none, the program is half the size. For -arch=sm_80, nvlink leaves the runtime out.
# Matters:  A list of the architectures in the program names GPUs, such as sm_75, on which none of its kernels run.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37
cuda_toolkit

cat >program.cu <<'SOURCE'
__global__ void kernel(int *data) { data[0] = 1; }
int main() { kernel<<<1, 1>>>(nullptr); }
SOURCE

# list OPTION... FILE: prints the kinds and architectures that cuobjdump lists.
list() {
    cuobjdump -lelf -lptx "$@" 2>/dev/null | sed -nE 's/^(ELF|PTX) file.*\.(sm_[0-9a-z]+)\..*/\1:\2/p' | sort -V | xargs
}

nvcc -rdc=true -arch=compute_80 program.cu -o program
expect 'images with -all' 'ELF:sm_75 ELF:sm_80 ELF:sm_86 ELF:sm_89 ELF:sm_90 ELF:sm_100 ELF:sm_103 ELF:sm_107 ELF:sm_110
ELF:sm_120 ELF:sm_121 PTX:sm_80 PTX:sm_121' "$(list -all program | sed 's/ELF:sm_110 /ELF:sm_110\n/')"
expect 'images without -all' '' "$(list program)"
cuobjdump -all -arch sm_75 -symbols program >symbols.out
expect_line 'kernels for sm_75' 'ENTRY .*cuda_device_runtime.*memset_3d_device' symbols.out
expect_no_line 'kernels for sm_75' 'ENTRY +_Z6kernelPi' symbols.out

nvcc -rdc=true -arch=compute_80 -cudadevrt none program.cu -o small
expect 'images without the device runtime' 'PTX:sm_80' "$(list -all small)"
(($(stat -c %s small) * 3 < $(stat -c %s program) * 2)) ||
    fail "sizes: $(stat -c %s small) and $(stat -c %s program) bytes"
nvcc -rdc=true -arch=sm_80 program.cu -o linked
expect 'images after a device link' 'ELF:sm_80 ELF:sm_80 PTX:sm_80' "$(list -all linked)"

holds 'a PTX program with -rdc=true holds the device runtime for eleven GPUs, and cuobjdump lists nothing without -all'
