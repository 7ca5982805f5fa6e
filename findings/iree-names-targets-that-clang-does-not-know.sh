#!/usr/bin/env bash
# Tool:     iree-base-compiler 3.13.0, clang 22.1.8
# Expected: The metadata of a code object names its target as amdgcn-amd-amdhsa--gfx942, as those of clang 22 do.
# Seen:     IREE writes amdgpu9.42-amd-amdhsa-unknown-gfx942: an architecture per GPU, and an environment. clang 22 does
#           not know the architecture. The ELF header has the GPU as before.
# Matters:  A script that takes targets from the metadata, to make a bundle or to compile again, finds no AMD GPU in a file
#           that has code for one.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels iree-base-compiler==3.13.0
fetch_llvm 22 clang clang-tools lld llvm
python_finds_wheels

cat >double.mlir <<'END'
func.func @double(%values: tensor<1024xf32>) -> tensor<1024xf32> {
  %sums = arith.addf %values, %values : tensor<1024xf32>
  return %sums : tensor<1024xf32>
}
END
echo 'kernel void one(global int *p) { *p = 1; }' >one.cl

# target FILE: prints the target of the metadata.
target() {
    llvm 22 llvm-readelf -n "$1" | sed -n 's/^amdhsa.target: *//p'
}

for gpu in gfx942 gfx1100; do
    python3 -m iree.compiler.tools.scripts.iree_compile --iree-hal-target-backends=rocm --iree-rocm-target=$gpu \
        --iree-hal-dump-executable-binaries-to=$gpu double.mlir -o $gpu.vmfb
    code=$(echo $gpu/*)
    llvm 22 clang -x cl -nogpulib --target=amdgcn-amd-amdhsa -mcpu=$gpu one.cl -o clang-$gpu
    expect "the target of clang for $gpu" amdgcn-amd-amdhsa--$gpu "$(target clang-$gpu)"
    llvm 22 llvm-readelf -h "$code" >header
    expect_line "the GPU of the ELF header for $gpu" "Flags: .*, $gpu" header
    case $gpu in
    gfx942) name=amdgpu9.42-amd-amdhsa-unknown-gfx942 ;;
    gfx1100) name=amdgpu11.00-amd-amdhsa-unknown-gfx1100 ;;
    esac
    expect "the target of IREE for $gpu" "$name" "$(target "$code")"
    run_status clang llvm 22 clang -x cl -nogpulib "--target=${name%-unknown*}" -mcpu=$gpu -c one.cl -o one.o
    expect "the status of clang for the architecture of $gpu" 1 "$status"
    expect_line "the message of clang about $gpu" 'unknown target triple' clang.out
done

holds 'IREE names targets of AMD GPUs amdgpu9.42-amd-amdhsa-unknown-gfx942, which clang 22 does not know'
