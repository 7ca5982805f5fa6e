#!/usr/bin/env bash
# Tool:     nvcc and nvlink 13.5.37, GNU ld 2.40
# Expected: A device link takes the members of a static library that the program needs, as the host linker does.
# Seen:     nvlink links the device code of every member. The table that it writes refers to every member, so that the host
#           linker loads them all. The same library without relocatable device code contributes one member.
# Matters:  With -rdc=true, a program that uses one kernel of a static library carries all of them.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37
cuda_toolkit

for name in used unused; do
    cat >$name.cu <<SOURCE
__global__ void $name(int *data) { data[0] = 1; }
extern "C" void launch_$name(int *data) { $name<<<1, 1>>>(data); }
SOURCE
done
cat >main.cpp <<'SOURCE'
extern "C" void launch_used(int *data);
int main() { launch_used(nullptr); }
SOURCE
g++ -c main.cpp

# build OPTION: links the program with the library, whose objects have been compiled with an option.
build() {
    rm -f libkernels.a
    nvcc "$1" -arch=sm_80 used.cu unused.cu
    ar qcS libkernels.a used.o unused.o
    ranlib libkernels.a
    nvcc -arch=sm_80 main.o -L. -lkernels -o program
    cuobjdump -symbols program | awk '/ENTRY/ { print $NF }' | sort | xargs >kernels.out
    nm program | awk '$3 ~ /^launch_/ { print $3 }' | sort | xargs >functions.out
}

build -c
expect 'kernels without relocatable code' '_Z4usedPi' "$(<kernels.out)"
expect 'functions without relocatable code' 'launch_used' "$(<functions.out)"
build -dc
expect 'kernels with relocatable code' '_Z4usedPi _Z6unusedPi' "$(<kernels.out)"
expect 'functions with relocatable code' 'launch_unused launch_used' "$(<functions.out)"

holds 'a device link takes every member of a static library, and the host linker follows'
