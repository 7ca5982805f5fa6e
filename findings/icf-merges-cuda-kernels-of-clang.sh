#!/usr/bin/env bash
# clang 22.1.8 with ptxas and fatbinary 13.5.37; lld 22.1.8, mold 1.10.1, gold 2.40
#
# Expected: --icf=all folds functions with equal code. The host functions of two kernels differ, since each launches its own
# kernel.
# Seen: clang names a CUDA kernel by the address of its host function, so that host functions with equal parameters differ in
# nothing but their references to themselves. lld, mold and gold fold them. The program registers both kernels under one
# address and launches both with it. The kernels of HIP are named by variables and stay apart, and so do those of CUDA with
# --icf=safe. For Windows, clang gives each CUDA kernel a variable that prevents the folding.
# Why it matters: the runtime looks up kernels by this address, so that a launch of one can run the other. The device code is
# complete, so that no listing shows it, and no linker warns.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld
fetch_packages mold=1.10.1+dfsg-1
fetch_wheels nvidia-cuda-nvcc==13.5.37
readonly toolkit=$wheels/nvidia-cuda-nvcc/nvidia/cu13
chmod +x "$toolkit"/bin/*
# clang reads the release from this header, and the way of a launch depends on it.
echo '#define CUDA_VERSION 13050' >"$toolkit/include/cuda.h"

# source_of CUDA_OR_HIP: prints two kernels with their launches, without headers.
source_of() {
    cat <<END
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
extern "C" int ${1}LaunchKernel(const void *, dim3, dim3, void **, __SIZE_TYPE__, void *);
extern "C" int __${1}PopCallConfiguration(dim3 *, dim3 *, __SIZE_TYPE__ *, void **);
extern "C" int __${1}PushCallConfiguration(dim3, dim3, __SIZE_TYPE__, void *);
extern "C" int ${1}ConfigureCall(dim3, dim3, __SIZE_TYPE__, void *);
extern "C" __global__ void add(int *p) { *p += 1; }
extern "C" __global__ void multiply(int *p) { *p *= 2; }
int main() {
    const dim3 one = {1, 1, 1};
    add<<<one, one, 0, nullptr>>>(nullptr);
    multiply<<<one, one, 0, nullptr>>>(nullptr);
}
END
}

# runtime_of CUDA_OR_HIP: prints a runtime that lists registrations and launches.
runtime_of() {
    cat <<END
#include <stdio.h>
void **__${1}RegisterFatBinary(void *image) { return image; }
void __${1}RegisterFatBinaryEnd(void **handle) {}
void __${1}UnregisterFatBinary(void **handle) {}
int __${1}RegisterFunction(void **handle, const void *address, char *name) { return printf("%s %p\n", name, address); }
int __${1}PushCallConfiguration(void) { return 0; }
int __${1}PopCallConfiguration(void) { return 0; }
int ${1}LaunchKernel(const void *address) { return printf("launch %p\n", address); }
END
}

for language in cuda hip; do
    source_of $language >$language.cu
    runtime_of $language >runtime.c
    gcc -c runtime.c -o $language-runtime.o
done
# compile_cuda OBJECT OPTION...
compile_cuda() {
    llvm 22 clang -x cuda -O2 -nocudainc -nocudalib --cuda-path="$toolkit" --no-cuda-version-check --offload-arch=sm_90 \
        "${@:2}" -c cuda.cu -o "$1" 2>clang.out || fail "cannot compile CUDA: $(head -1 clang.out)"
}
compile_cuda cuda.o -ffunction-sections -fPIC
compile_cuda cuda.obj --target=x86_64-pc-windows-msvc
nm cuda.obj >windows.out
nm cuda.o >linux.out
for kernel in add multiply; do
    expect_line "variable of $kernel for Windows" "__device_stub__${kernel}[.]id$" windows.out
    expect_no_line "variable of $kernel for Linux" "__device_stub__${kernel}[.]id$" linux.out
done
compile_hip 22 hip.cu hip.o -O2 -ffunction-sections --offload-arch=gfx906

# addresses LANGUAGE OPTION...: links, and prints how many addresses are registered and launched.
addresses() {
    in_root gcc -B"$root/usr/lib/llvm-22/bin" -B"$root/usr/bin" "${@:2}" "$1.o" "$1-runtime.o" -o program 2>link.out ||
        fail "cannot link $*: $(head -1 link.out)"
    expect "warnings of $*" '' "$(<link.out)"
    ./program >program.out
    expect "registered kernels of $*" 'add multiply' "$(awk '$1 != "launch" { print $1 }' program.out | sort | xargs)"
    expect "launches of $*" 2 "$(grep -c '^launch' program.out)"
    awk '{ print $2 }' program.out | sort -u | wc -l
}

for linker in lld mold gold; do
    expect "addresses of CUDA, $linker" 2 "$(addresses cuda -fuse-ld=$linker)"
    expect "addresses of CUDA, $linker --icf=all" 1 "$(addresses cuda -fuse-ld=$linker -Wl,--icf=all)"
    expect "addresses of HIP, $linker --icf=all" 2 "$(addresses hip -fuse-ld=$linker -Wl,--icf=all)"
done
for linker in lld gold; do
    expect "addresses of CUDA, $linker --icf=safe" 2 "$(addresses cuda -fuse-ld=$linker -Wl,--icf=safe)"
done

holds 'linkers with --icf=all give CUDA kernels of clang one address, so that a launch of one can run the other'
