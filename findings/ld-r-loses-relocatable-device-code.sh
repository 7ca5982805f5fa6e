#!/usr/bin/env bash
# clang, clang-offload-bundler, lld 22.1.8; GNU ld and gold 2.40; mold 1.10.1
#
# Expected: `ld -r` of two HIP objects that were compiled with -fgpu-rdc is an object with the code of both, as it is for
# objects of the new driver.
# Seen: every linker appends the section `__CLANG_OFFLOAD_BUNDLE__ID` of the second object to the first one's, without
# padding. The bundler returns both images as one file. For bitcode, which HIP's compiler writes, no reader accepts it:
# "Invalid encoding". For code objects lld links the first and drops the second with status 0.
# Why it matters: objects that a build joins, as libtool, CMake and kernel-like builds do, cannot be linked any more, or
# lack kernels, and the link that caused it succeeded.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm
fetch_packages mold=1.10.1+dfsg-1

readonly gpu=hip-amdgcn-amd-amdhsa--gfx906
for name in first second; do
    hip_source $name >$name.hip
    compile_hip 22 $name.hip $name.o --no-offload-new-driver -fgpu-rdc --offload-arch=gfx906
    # The same with a code object instead of bitcode.
    echo "kernel void $name(global int *p) { *p = 1; }" >$name.cl
    llvm 22 clang -x cl -nogpulib --target=amdgcn-amd-amdhsa -mcpu=gfx906 -c $name.cl -o $name.device
    echo "int host_$name;" | gcc -x c -c - -o $name.host
    llvm 22 clang-offload-bundler -type=o -targets=host-x86_64-unknown-linux-gnu,$gpu -input=$name.host \
        -input=$name.device -output=$name.code
done

unbundle() {
    llvm 22 clang-offload-bundler -type=o -unbundle -targets=$gpu "-input=$1" "-output=$2"
}

for name in first second; do
    unbundle $name.o $name.bc
done
for linker in ld.bfd ld.gold "in_root $root/usr/bin/mold" 'llvm 22 ld.lld'; do
    $linker -r first.o second.o -o bitcode.o || fail "$linker -r fails"
    unbundle bitcode.o bitcode
    cat first.bc second.bc | cmp -s - bitcode || fail "$linker does not append the bitcode"
done
run_status bitcode llvm 22 llvm-nm bitcode
expect_line 'the symbols of the bitcode' 'Invalid encoding' bitcode.out
run_status linked llvm 22 clang --no-offload-new-driver --hip-link -fgpu-rdc --offload-arch=gfx906 -shared -nostdlib \
    bitcode.o -o linked
expect 'the status of linking the object' 1 "$status"
expect_line 'the message' 'Invalid encoding' linked.out
llvm 22 clang --no-offload-new-driver --hip-link -fgpu-rdc --offload-arch=gfx906 -shared -nostdlib first.o second.o \
    -o linked 2>/dev/null || fail 'the two objects cannot be linked either'

ld -r first.code second.code -o code.o
unbundle code.o code.device
run_status code llvm 22 ld.lld -shared code.device -o code.so
expect 'the status of linking two code objects in a row' 0 "$status"
expect_no_line 'the output of lld' . code.out
expect 'the kernels' first.kd "$(llvm 22 llvm-nm code.so | grep -oE '[a-z]+[.]kd' | paste -sd' ')"
holds 'ld -r joins relocatable device code to a file that is refused, or whose first half alone is linked'
