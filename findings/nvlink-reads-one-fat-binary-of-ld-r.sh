#!/usr/bin/env bash
# Tool:     nvcc, nvlink and cuobjdump 13.5.37, GNU ld 2.40
# Expected: Two objects of nvcc -dc that ld -r has combined link like the two, or the device link reports an error.
# Seen:     nvlink links the first fat binary in __nv_relfatbin and ignores the second, with status 0 and without a message.
#           It registers the modules of both. cuobjdump lists both. Objects without relocatable device code are not affected.
# Matters:  Builds that prelink objects lose the kernels of all files but one, and the order of the files decides which. The
#           program starts, and launches of the others fail.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37
cuda_toolkit

for name in one two; do
    cat >$name.cu <<SOURCE
__global__ void kernel_$name(int *data) { data[0] = 1; }
extern "C" void launch_$name(int *data) { kernel_$name<<<1, 1>>>(data); }
SOURCE
done
cat >main.cpp <<'SOURCE'
extern "C" void launch_one(int *data);
extern "C" void launch_two(int *data);
int main()
{
    launch_one(nullptr);
    launch_two(nullptr);
}
SOURCE
g++ -c main.cpp

# Prints the kernels of a program.
kernels() {
    cuobjdump -symbols "$1" | awk '/ENTRY/ { print $NF }' | sort | xargs
}

# link OBJECT...: links a program, which must succeed without a message.
link() {
    run_status nvcc nvcc -arch=sm_80 main.o "$@" -o program
    expect "status and output for $*" '0, 0 bytes' "$status, $(stat -c %s nvcc.out) bytes"
}

nvcc -dc -arch=sm_80 one.cu two.cu
link one.o two.o
expect 'kernels of two objects' '_Z10kernel_onePi _Z10kernel_twoPi' "$(kernels program)"

ld -r one.o two.o -o combined.o
expect 'cubins of the combined object' 2 "$(cuobjdump -lelf combined.o | grep -c sm_80)"
link combined.o
expect 'kernels of the combined object' '_Z10kernel_onePi' "$(kernels program)"
expect 'registered modules' 2 "$(nm program | grep -cE ' T __cudaRegisterLinkedBinary_.*_(one|two)_cu_')"
ld -r two.o one.o -o combined.o
link combined.o
expect 'kernels in the other order' '_Z10kernel_twoPi' "$(kernels program)"

nvcc -c -arch=sm_80 one.cu two.cu
ld -r one.o two.o -o combined.o
link combined.o
expect 'kernels without relocatable code' '_Z10kernel_onePi _Z10kernel_twoPi' "$(kernels program)"

holds 'nvlink links the first fat binary of an object that ld -r combined, and drops the others without a message'
