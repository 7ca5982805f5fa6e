#!/usr/bin/env bash
# clang 22.1.8, 19.1.7
#
# Expected: a code object has the instructions of each OpenCL kernel once.
# Seen: since clang 22 it has them twice: `KERNEL`, and a function `__clang_ocl_kern_imp_KERNEL` that is exported, so that
# no linker may drop it, and is called by nobody. The same holds for SPIR-V, where the function is one more exported name.
# Why it matters: code of OpenCL libraries doubles with a new compiler, and two modules with one kernel name clash in one
# more symbol.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for release in 19 22; do
    fetch_llvm "$release" clang lld
done
fetch_llvm 22 llvm

cat >sum.cl <<'END'
kernel void sum(global const float *a, global const float *b, global float *c, int n) {
    float s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[n - i];
    *c = s;
}
END

# sizes RELEASE: prints the size of the code, and the names and sizes of the functions.
sizes() {
    llvm "$1" clang -x cl -O2 -nogpulib --target=amdgcn-amd-amdhsa -mcpu=gfx906 sum.cl -o "code$1" 2>/dev/null
    llvm 22 llvm-readelf -W -S "code$1" | sed -nE 's/.* \.text +PROGBITS +[^ ]+ [^ ]+ ([^ ]+).*/text=\1/p'
    llvm 22 llvm-readelf -W --dyn-syms "code$1" | awk '$4 == "FUNC" && $5 == "GLOBAL" { printf "%s=%x\n", $8, $3 }'
}

sizes 19 >sizes19
sizes 22 >sizes22
expect 'the functions of 19' 'sum text' "$(cut -d= -f1 sizes19 | LC_ALL=C sort | paste -sd' ')"
expect 'the functions of 22' '__clang_ocl_kern_imp_sum sum text' "$(cut -d= -f1 sizes22 | LC_ALL=C sort | paste -sd' ')"
kernel=$((16#$(sed -n 's/^sum=//p' sizes22)))
text=$((16#$(sed -n 's/^text=0*//p' sizes22)))
((text >= 2 * kernel)) || fail "the code has $text bytes, less than twice the $kernel of the kernel"

# The section of code is linked with everything that is exported, even when unused sections are dropped.
llvm 22 clang -x cl -O2 -nogpulib --target=amdgcn-amd-amdhsa -mcpu=gfx906 -Wl,--gc-sections -ffunction-sections sum.cl \
    -o collected
llvm 22 llvm-readelf -W --dyn-syms collected >collected.out
expect_line 'the code without unused sections' '__clang_ocl_kern_imp_sum$' collected.out

llvm 22 clang -x cl -O2 --target=spirv64 -c sum.cl -o sum.spv
expect 'the copies in SPIR-V' 1 "$(strings -a sum.spv | sort -u | grep -c __clang_ocl_kern_imp_sum)"
holds 'clang 22 stores each OpenCL kernel twice, once as an exported function'
