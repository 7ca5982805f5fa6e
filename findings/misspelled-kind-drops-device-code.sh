#!/usr/bin/env bash
# clang-offload-packager 19.1.7, llvm-offload-binary 22.1.8, clang-linker-wrapper of both
#
# Expected: the packager refuses `kind=hpi`, and an image that lacks what its help calls required.
# Seen: a kind that it does not know, `HIP` in capitals included, is stored as none, and the link then succeeds without the
# device code. 22 also takes an image without the required `triple`, and links one without `arch` to a code object for no
# processor, which is registered.
# Why it matters: a build script with a typo makes a program that has no device code, and no step of it fails.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 19 clang clang-tools lld
fetch_llvm 22 clang clang-tools lld llvm

hip_source kernel >kernel.hip
cat >embedded.s <<'END'
.section .llvm.offloading, "e", @0x6fff4c0b
.balign 8
.incbin "image"
END

# link RELEASE KEYS: packs and links the kernel; prints what failed, or the number of sections with registered code.
link() {
    local packager=clang-offload-packager
    [[ $1 == 19 ]] || packager=llvm-offload-binary
    rm -f image linked
    llvm "$1" $packager -o image "--image=file=kernel$1.bc,$2" >packed.out 2>&1 || {
        echo refused
        return
    }
    gcc -c embedded.s -o embedded.o
    PATH=$root/usr/lib/llvm-$1/bin:$PATH llvm "$1" clang-linker-wrapper --host-triple=x86_64-unknown-linux-gnu \
        --linker-path=/usr/bin/ld -shared embedded.o -o linked >linked.out 2>&1 || {
        echo unlinkable
        return
    }
    readelf -SW linked | grep -c '[.]hip_fatbin ' || true
}

readonly device=triple=amdgcn-amd-amdhsa
for release in 19 22; do
    llvm $release clang -x hip -nogpulib -nogpuinc -fgpu-rdc -emit-llvm --offload-device-only --no-gpu-bundle-output \
        --offload-arch=gfx906 -c kernel.hip -o kernel$release.bc
    expect "the right kind in $release" 1 "$(link $release $device,arch=gfx906,kind=hip)"
    for kind in hpi HIP; do
        expect "the kind $kind in $release" 0 "$(link $release $device,arch=gfx906,kind=$kind)"
    done
done
expect 'an image without a triple in 19' refused "$(link 19 arch=gfx906,kind=hip)"
expect 'an image without a triple in 22' unlinkable "$(link 22 arch=gfx906,kind=hip)"
expect 'an image without a processor in 19' unlinkable "$(link 19 $device,kind=hip)"
expect 'an image without a processor in 22' 1 "$(link 22 $device,kind=hip)"
llvm 22 llvm-objdump --offloading linked >/dev/null
llvm 22 llvm-readelf -h linked.0.hip-amdgcn-amd-amdhsa-- >header
expect_no_line 'the processor of the code object' 'Flags: .*gfx[1-9]' header
holds 'a kind that the packager does not know becomes none, and the link drops the code with status 0'
