#!/usr/bin/env bash
# Tool:     ptxas 13.5.37, llvm-objcopy 22.1.8
# Expected: No two sections of a cubin have bytes in common: the ELF specification does not allow it.
# Seen:     For sm_100 and later, ptxas stores debug information twice: in the sections that sm_90 has, and in sections
#           with the prefix `.nv.merc`. Pairs with equal content are one range of the file, so that sections overlap.
# Matters:  The sum of the sections can be more than the file, a tool that writes one of the two sections in place changes
#           the other, and llvm-objcopy writes the bytes twice. Debug information takes about twice the space on new GPUs.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-nvcc==13.5.37
ptxas=$wheels/nvidia-cuda-nvcc/nvidia/cu13/bin/ptxas
chmod +x "$ptxas"
fetch_llvm 22 llvm

cat >sections.py <<'SOURCE'
"""Prints how many sections share bytes with another, how many bytes those are, and how many bytes debug sections have."""

import struct
import sys

data = open(sys.argv[1], "rb").read()
(table,) = struct.unpack_from("<Q", data, 0x28)
count, names = struct.unpack_from("<HH", data, 0x3C)
headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * index) for index in range(count)]
start = headers[names][4]
NULL, NOBITS = 0, 8
ranges, debug = [], 0
for name, kind, _, _, offset, size, *_ in headers:
    if kind not in (NULL, NOBITS) and size:
        ranges.append((offset, offset + size))
        if b"debug" in data[start + name :].split(b"\0")[0]:
            debug += size
ranges.sort()
shared = [(a, b) for (_, a), (b, _) in zip(ranges, ranges[1:]) if a > b]
print(len(shared), sum(a - b for a, b in shared), debug)
SOURCE

# compile ARCH OPTION...: makes kernel.cubin, and prints its counts.
compile() {
    cat >kernel.ptx <<END
.version 9.5
.target $1
.address_size 64
.visible .entry kernel(.param .u64 address)
{
    .reg .b64 %rd<3>;
    .loc 1 3 5
    ld.param.u64 %rd1, [address];
    cvta.to.global.u64 %rd2, %rd1;
    .loc 1 4 5
    st.global.u32 [%rd2], 7;
    ret;
}
.file 1 "/source/kernel.cu"
.section .debug_line { }
END
    "$ptxas" "-arch=$1" "${@:2}" kernel.ptx -o kernel.cubin 2>/dev/null
    python3 sections.py kernel.cubin
}

for arch in sm_75 sm_90; do
    for option in -lineinfo -g; do
        counts=$(compile $arch $option)
        expect "the sections of $arch with $option that share bytes" '0 0' "${counts% *}"
    done
done
before=${counts##* }
for arch in sm_100 sm_103 sm_110 sm_120 sm_121; do
    read -r sections bytes debug < <(compile $arch -lineinfo)
    expect "the sections of $arch with -lineinfo that share bytes" 1 "$sections"
    read -r sections bytes debug < <(compile $arch -g)
    expect "the sections of $arch with -g that share bytes" 2 "$sections"
    ((bytes > 200)) || fail "the sections of $arch share $bytes bytes"
    ((debug * 10 > before * 18)) || fail "debug sections of $arch have $debug bytes, those of sm_90 $before"
done

llvm 22 llvm-objcopy kernel.cubin copy.cubin
read -r sections _ copied < <(python3 sections.py copy.cubin)
expect 'the sections of the copy that share bytes' 0 "$sections"
expect 'the debug sections of the copy' "$debug" "$copied"

holds 'sections of cubins for sm_100 and later share bytes, and have debug information twice'
