#!/usr/bin/env bash
# clang, llvm-objdump, llvm-ar 22.1.8
#
# Expected: `llvm-objdump --offloading` prints what an archive contains, as it does for offload binaries.
# Seen: for HIP it writes each code object to the current folder, named after the member alone. Of two members with one
# name, as build systems make them, the second silently replaces the first; the list shows both as extracted.
# Why it matters: the files of a static library are incomplete, the status is 0, and files of that name are overwritten.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm

for name in first second; do
    mkdir $name
    hip_source $name >$name/kernels.hip
    compile_hip 22 $name/kernels.hip $name/kernels.o --no-offload-new-driver --offload-arch=gfx906
done
llvm 22 llvm-ar qc both.a first/kernels.o second/kernels.o
expect 'the members' 2 "$(ar t both.a | grep -c '^kernels.o$')"

readonly image=kernels.o.0.hipv4-amdgcn-amd-amdhsa--gfx906
echo 'a file of the user' >$image
run_status objdump llvm 22 llvm-objdump --offloading both.a
expect 'the status' 0 "$status"
expect 'the code objects in the output' 2 "$(grep -c "Extracting offload bundle: $image" objdump.out)"
expect_no_line 'the output' 'warning|error' objdump.out
expect 'the files' "./$image" "$(find . -maxdepth 1 -name '*gfx906*')"
llvm 22 llvm-nm $image >symbols
expect_line 'the code object' ' second.kd$' symbols
expect_no_line 'the code object' ' first.kd$' symbols
holds 'llvm-objdump --offloading writes one file over another for members of one name'
