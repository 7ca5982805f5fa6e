#!/usr/bin/env bash
# Tool:     nvcc and cuobjdump 13.5.37
# Expected: Each value of nvcc --compress-mode but "none" compresses all images of a fat binary, in one of three ways.
# Seen:     Of a whole program, "speed" and "balance" compress the PTX alone; the cubin stays as it is. "size" compresses the
#           cubin, too. With -Xfatbin -compress-all, all three compress it, and "speed" is LZ4 instead of Zstandard.
# Matters:  Cubins are most of a library. Asking for "balance" saves nothing, and readers that know Zstandard alone meet LZ4.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cuda_toolkit

echo '__global__ void kernel(int *data) { data[0] = 1; }' >kernel.cu
cat >methods.py <<'SOURCE'
"""Prints the kind and the compression of each image of a fat binary."""

import struct
import sys

data = open(sys.argv[1], "rb").read()
position, images = 16, []
while position < len(data):
    (kind,) = struct.unpack_from("<H", data, position)
    header, payload = struct.unpack_from("<IQ", data, position + 4)
    (flags,) = struct.unpack_from("<Q", data, position + 40)
    method = "LZ4" if flags & 0x2000 else "Zstandard" if flags & 0x8000 else "plain"
    images.append(f"{ {1: 'PTX', 2: 'cubin'}[kind]}:{method}")
    position += header + payload
print(*images)
SOURCE

# images OPTION...: prints the images of a fat binary.
images() {
    nvcc -fatbin -gencode 'arch=compute_80,code=[sm_80,compute_80]' "$@" kernel.cu -o kernel.fatbin
    python3 methods.py kernel.fatbin
}

expect 'default' 'cubin:plain PTX:Zstandard' "$(images)"
expect 'none' 'cubin:plain PTX:plain' "$(images --compress-mode=none)"
expect 'speed' 'cubin:plain PTX:LZ4' "$(images --compress-mode=speed)"
expect 'balance' 'cubin:plain PTX:Zstandard' "$(images --compress-mode=balance)"
expect 'size' 'cubin:Zstandard PTX:Zstandard' "$(images --compress-mode=size)"
expect 'speed, all' 'cubin:LZ4 PTX:LZ4' "$(images --compress-mode=speed -Xfatbin -compress-all)"
expect 'balance, all' 'cubin:Zstandard PTX:Zstandard' "$(images --compress-mode=balance -Xfatbin -compress-all)"

holds 'nvcc --compress-mode=balance and =speed leave the cubins of a whole program uncompressed; =size does not'
