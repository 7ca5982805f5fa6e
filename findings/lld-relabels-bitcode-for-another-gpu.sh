#!/usr/bin/env bash
# clang, lld, llvm-objdump 22.1.8
#
# Expected: lld compiles bitcode for the processor of -plugin-opt=mcpu, or refuses bitcode for another one, as it refuses
# objects ("incompatible mach").
# Seen: each function is compiled for the processor that its attributes name, and the code object states the one of the
# option, in its flags and in its metadata. Code for gfx906 is in a valid code object for gfx1030, with status 0. Bitcode
# for two processors is linked to one code object.
# Why it matters: the runtime loads such code, since all that it reads is right, and the GPU executes something else. A
# wrong `arch=` of an offload binary is enough, since clang-linker-wrapper passes it on as the option.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang lld llvm

compile() {
    llvm 22 clang -x cl -O2 -nogpulib --target=amdgcn-amd-amdhsa "-mcpu=$2" "${@:4}" -c "$1.cl" -o "$3"
}
echo 'kernel void sum(global const float *a, global float *b) { b[7] = a[0] * a[1] + a[2]; }' >sum.cl
sed 's/sum/other/' sum.cl >other.cl
compile sum gfx906 sum.bc -emit-llvm
compile other gfx1030 other.bc -emit-llvm
compile sum gfx906 sum.o
compile other gfx1030 other.o

# described FILE: prints the processor in the flags and the target in the metadata.
described() {
    llvm 22 llvm-readelf -h -n "$1" >described.out
    sed -nE 's/.*Flags: .*(gfx[0-9a-f]+).*/\1/p; s/.*amdhsa.target: *//p' described.out | paste -sd' '
}

# instructions FILE PROCESSOR: prints the instructions of the kernel as the processor reads them.
instructions() {
    llvm 22 llvm-objdump -d --no-show-raw-insn --no-leading-addr "--mcpu=$2" --disassemble-symbols=sum "$1" |
        sed -n '/<sum>:/,$p' | sed -E 's,//.*,,; s/[ \t]+/ /g'
}

run_status objects llvm 22 ld.lld -shared sum.o other.o -o refused
expect 'the status of linking objects for two processors' 1 "$status"
expect_line 'the message' 'incompatible mach' objects.out

for processor in gfx906 gfx1030; do
    run_status bitcode llvm 22 ld.lld -shared -plugin-opt=mcpu=$processor sum.bc -o $processor
    expect "the status for $processor" 0 "$status"
    expect_no_line "the output for $processor" . bitcode.out
    expect "what the code object for $processor states" "$processor amdgcn-amd-amdhsa--$processor" \
        "$(described $processor)"
done
expect 'the instructions, as gfx906 reads them' "$(instructions gfx906 gfx906)" "$(instructions gfx1030 gfx906)"
instructions gfx906 gfx906 >right
expect_line 'the instructions for gfx906' 's_load_dword' right
expect_no_line 'the instructions for gfx906' '[.]long' right
instructions gfx1030 gfx1030 >wrong
expect_line 'the instructions, as gfx1030 reads them' '[.]long|v_illegal' wrong

run_status mixed llvm 22 ld.lld -shared -plugin-opt=mcpu=gfx906 sum.bc other.bc -o mixed
expect 'the status of linking bitcode for two processors' 0 "$status"
expect 'the kernels' 2 "$(llvm 22 llvm-nm mixed | grep -c '[.]kd$')"
holds 'lld labels code of bitcode with a processor for which it is not compiled'
