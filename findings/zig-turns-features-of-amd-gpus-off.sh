#!/usr/bin/env bash
# Tool:     ziglang 0.17.1
# Expected: `-mcpu gfx90a` means code for every gfx90a, with XNACK and SRAMECC "any", as --offload-arch=gfx90a does in
#           clang.
# Seen:     Zig writes "off" for both, for gfx906, gfx90a and gfx942: its model of a GPU disables each feature that it does
#           not list. `+sramecc` or `+xnack` gives "on". No spelling gives "any".
# Matters:  ROCm loads code for "off" only where the feature is off, and the memory of data center GPUs has ECC. The code
#           object for the right GPU is refused there.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels ziglang==0.17.1
zig=$wheels/ziglang/ziglang/zig
chmod +x "$zig"
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache

cat >kernel.zig <<'END'
export fn kernel(p: [*]addrspace(.global) u32) callconv(.kernel) void {
    p[0] = 7;
}
END
states=(unsupported any off on)

# features MODEL: compiles, and prints what the flags of the ELF header say about XNACK and SRAMECC.
features() {
    local flags
    "$zig" build-obj -target amdgcn-amdhsa -mcpu "$1" -O ReleaseFast kernel.zig -femit-bin=kernel.o
    # EM_AMDGPU, and ABI version 4: code object version 6.
    expect "the machine for $1" 224 "$(od -An -tu2 -j18 -N2 kernel.o | tr -d ' ')"
    expect "the ABI for $1" 4 "$(od -An -tu1 -j8 -N1 kernel.o | tr -d ' ')"
    flags=$(od -An -tu4 -j48 -N4 kernel.o)
    echo "xnack ${states[flags >> 8 & 3]} sramecc ${states[flags >> 10 & 3]}"
}

for model in gfx906 gfx90a gfx942 gfx90a-xnack-sramecc; do
    expect "the features of $model" 'xnack off sramecc off' "$(features $model)"
done
expect 'the features of gfx90a+sramecc' 'xnack off sramecc on' "$(features gfx90a+sramecc)"
expect 'the features of gfx90a+xnack' 'xnack on sramecc off' "$(features gfx90a+xnack)"
expect 'the features of gfx1100' 'xnack unsupported sramecc unsupported' "$(features gfx1100)"

holds 'Zig compiles for gfx906, gfx90a and gfx942 with XNACK and SRAMECC off, and cannot say any'
