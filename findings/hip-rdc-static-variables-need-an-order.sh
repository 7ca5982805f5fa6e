#!/usr/bin/env bash
# Tool:     clang and lld 22.1.8, 19.1.7
# Expected: With -fgpu-rdc, a `static __device__` variable is one variable, whichever function names it first.
# Seen:     If a kernel names it before the host code does, the kernel refers to `_ZL5value`, which nothing defines; the
#           variable is `_ZL5value.static.HASH`. The device link refuses the program. If the host code comes first, or does
#           not name the variable, the same functions link.
# Matters:  A file stops linking when two functions change places, with an undefined symbol that is defined in the same
#           file.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm
fetch_llvm 19 clang clang-tools lld llvm

{
    hip_source other
    echo '#define __device__ __attribute__((device))'
    echo 'extern "C" int hipMemcpyToSymbol(const void *, const void *, unsigned long, unsigned long, int);'
    echo 'static __device__ int value = 1;'
} >start.hip
echo 'extern "C" __global__ void read(int *p) { *p = value; }' >kernel.part
echo 'void copy(int *p) { hipMemcpyToSymbol(&value, p, 4, 0, 1); }' >host.part
cat start.hip kernel.part host.part >kernel-first.hip
cat start.hip host.part kernel.part >host-first.hip
cat start.hip kernel.part >kernel-alone.hip

for release in 22 19; do
    for order in kernel-first host-first kernel-alone; do
        compile_hip $release $order.hip $order.o -fgpu-rdc --offload-arch=gfx906
        # The link of the device code precedes the link of the host code, which is left out.
        run_status $order-$release llvm $release clang --hip-link -fgpu-rdc --no-offload-new-driver --offload-arch=gfx906 \
            -r -nostdlib $order.o -o $order.linked
        expected=0
        [[ $order != kernel-first ]] || expected=1
        expect "the status of $order with $release" $expected "$status"
        llvm $release clang -x hip -nogpulib -nogpuinc -fgpu-rdc --offload-arch=gfx906 --cuda-device-only -S -emit-llvm \
            $order.hip -o $order.ll
    done
    expect_line "the message of $release" 'undefined symbol: value' kernel-first-$release.out
    expect_line "the variable of the kernel with $release" '@_ZL5value = external' kernel-first.ll
    for order in kernel-first host-first; do
        expect_line "the variable of $order with $release" '@_ZL5value\.static\.[0-9a-f]+ = .* global i32 1' $order.ll
    done
    expect_no_line "the variable of host-first with $release" 'external .*global' host-first.ll
done

holds 'a static device variable is undefined with -fgpu-rdc if a kernel names it before the host code'
