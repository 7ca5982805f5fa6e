#!/usr/bin/env bash
# Tool:     mlir-opt 22.1.8, ptxas 13.5.37
# Expected: gpu-module-to-binary turns equal input into equal output.
# Seen:     Each GPU binary has the milliseconds that MLIR and ptxas took, as attributes of the object in MLIR text and in
#           bytecode. The cubin itself is equal. Binaries for AMD GPUs have no such attributes.
# Matters:  A cache of compiled modules that goes by a hash of the MLIR misses, and two builds of one source differ, by the
#           load of the machine.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-nvcc==13.5.37
toolkit=$wheels/nvidia-cuda-nvcc/nvidia/cu13
chmod +x "$toolkit"/bin/*
# The kernel calls no function of libdevice, so that an empty module in LLVM's text form does.
mkdir -p "$toolkit/nvvm/libdevice"
echo 'target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"' \
    >"$toolkit/nvvm/libdevice/libdevice.10.bc"
fetch_llvm 22 lld
fetch_packages "libmlir-22=${llvm_versions[22]}" "mlir-22-tools=${llvm_versions[22]}"
mkdir -p amd/llvm/bin
ln -s "$root/usr/lib/llvm-22/bin/ld.lld" amd/llvm/bin/ld.lld

# module KIND CHIP: prints a module with one kernel.
module() {
    cat <<END
module attributes {gpu.container_module} {
  gpu.module @module [#$1.target<chip = "$2">] {
    llvm.func @kernel(%address: !llvm.ptr<1>) attributes {gpu.kernel, $1.kernel} {
      %value = llvm.mlir.constant(7 : i32) : i32
      llvm.store %value, %address : i32, !llvm.ptr<1>
      llvm.return
    }
  }
}
END
}

# compile INPUT TOOLKIT FORMAT: prints the compiled module.
compile() {
    llvm 22 mlir-opt "$1" --gpu-module-to-binary="format=$3 toolkit=$2"
}

# times FILE: prints the names of the attributes.
times() {
    grep -oE '[A-Za-z]+TimeInMs = [0-9]+ : i64' "$1" | cut -d' ' -f1 | paste -sd' '
}

module nvvm sm_90 >nvidia.mlir
module rocdl gfx90a >amd.mlir
compile nvidia.mlir "$toolkit" isa >isa.mlir
expect 'the times next to PTX' LLVMIRToISATimeInMs "$(times isa.mlir)"
for format in bin fatbin; do
    for run in 1 2; do
        compile nvidia.mlir "$toolkit" $format >$format-$run.mlir
        expect "the times of $format" 'ISAToBinaryTimeInMs LLVMIRToISATimeInMs' "$(times $format-$run.mlir)"
        # Without the times the runs are equal.
        sed -E 's/TimeInMs = [0-9]+/TimeInMs/g' $format-$run.mlir >$format-$run.equal
    done
    cmp -s $format-1.equal $format-2.equal || fail "two runs of $format differ in more than the times"
done
time=$(grep -oE 'ISAToBinaryTimeInMs = [0-9]+' bin-1.mlir | cut -d' ' -f3)
((time > 0)) || fail 'ptxas took no time'
llvm 22 mlir-opt --emit-bytecode bin-1.mlir -o bin.mlirbc
llvm 22 mlir-opt bin.mlirbc -o decoded.mlir
expect 'the times in bytecode' 'ISAToBinaryTimeInMs LLVMIRToISATimeInMs' "$(times decoded.mlir)"
compile amd.mlir "$folder/amd" bin >amd-bin.mlir
expect 'the times of a binary for AMD' '' "$(times amd-bin.mlir)"

holds 'mlir-opt stores in a GPU binary how many milliseconds it took'
