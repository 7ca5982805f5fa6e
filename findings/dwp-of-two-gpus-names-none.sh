#!/usr/bin/env bash
# clang, llvm-dwp, llvm-dwarfdump 22.1.8
#
# Expected: llvm-dwp refuses split debug information of different GPUs, as lld refuses their objects, or writes one package
# for each.
# Seen: it joins gfx906 and gfx908 to one file with status 0. The file has AMD's machine number and ELF flags 0, so that it
# is a file for no processor; only the names of the input files say which unit is about which GPU. llvm-dwarfdump reports
# an error about registers and goes on.
# Why it matters: the registers and addresses of the units mean one GPU each. A debugger finds the units by their numbers
# alone, and a reader that lists device code finds one more code object, for an unknown GPU.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm

hip_source kernel >kernel.hip
compile_hip 22 kernel.hip kernel.o --no-offload-new-driver --offload-arch=gfx906,gfx908 -g -gsplit-dwarf

identity() {
    llvm 22 llvm-readelf -h "$1" >"$1.out"
    sed -nE 's/ +(ABI Version|Machine|Flags): +//p' "$1.out" | paste -sd' '
}

expect 'the identity of the first' '4 EM_AMDGPU 0x52f, gfx906, xnack, sramecc' "$(identity kernel_gfx906.dwo)"
expect_line 'the second' 'gfx908' <(llvm 22 llvm-readelf -h kernel_gfx908.dwo)
run_status dwp llvm 22 llvm-dwp kernel_gfx906.dwo kernel_gfx908.dwo -o both.dwp
expect 'the status' 0 "$status"
expect_no_line 'the output' . dwp.out
expect 'the identity of the package' '4 EM_AMDGPU 0x0' "$(identity both.dwp)"
run_status units llvm 22 llvm-dwarfdump --debug-info both.dwp
expect 'the units' 2 "$(grep -c DW_TAG_compile_unit units.out)"
expect_line 'the message of llvm-dwarfdump' 'Error in creating MCRegInfo' units.out
grep -v DW_AT_dwo_name units.out >attributes
expect_no_line 'the attributes of the units' 'gfx' attributes
run_status lld llvm 22 ld.lld -r kernel_gfx906.dwo kernel_gfx908.dwo -o refused
expect_line 'the message of lld' 'incompatible mach' lld.out
holds 'llvm-dwp joins debug information of two GPUs to a file of no GPU'
