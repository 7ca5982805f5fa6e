#!/usr/bin/env bash
# Tool:     nvidia-nvjpeg 13.2.3.58, ctranslate2 4.8.5, cuobjdump 13.5.37
# Expected: A library for x86-64 has no code for GPUs that are part of an Arm processor.
# Seen:     nvJPEG of NVIDIA for x86-64 has a cubin for sm_110, which is Thor alone, in each of its fat binaries, 9 % of its
#           device code. CTranslate2 for x86-64 has one for sm_53, which is Jetson Nano, in each of its 34, 13 % of the
#           stored device code, and none for sm_89 or sm_90.
# Matters:  The code cannot run on any machine that can load the library. A list of architectures names Thor and Jetson for a
#           wheel that cannot be installed on them.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-nvjpeg==13.2.3.58 ctranslate2==4.8.5 nvidia-cuda-cuobjdump==13.5.37
cuobjdump=$wheels/nvidia-cuda-cuobjdump/nvidia/cu13/bin/cuobjdump
chmod +x "$cuobjdump"

cat >share.py <<'SOURCE'
"""Prints the percentage of the stored device code that is for one architecture."""

import struct
import sys

data = open(sys.argv[1], "rb").read()
total = share = position = 0
while (position := data.find(struct.pack("<IHH", 0xBA55ED50, 1, 16), position)) >= 0:
    (size,) = struct.unpack_from("<Q", data, position + 8)
    entry, end = position + 16, position + 16 + size
    while entry < end:
        header, payload = struct.unpack_from("<IQ", data, entry + 4)
        (arch,) = struct.unpack_from("<I", data, entry + 28)
        total += payload
        share += payload if arch == int(sys.argv[2]) else 0
        entry += header + payload
    position = end
print(round(100 * share / total))
SOURCE

# counts LIBRARY: prints architectures with the number of their cubins.
counts() {
    expect "processor of $1" 'Advanced Micro Devices X86-64' "$(readelf -h "$1" | sed -n 's/ *Machine: *//p')"
    "$cuobjdump" -lelf "$1" | grep -oE 'sm_[0-9]+[af]?' | sort -V | uniq -c | awk '{ printf "%s:%s ", $2, $1 }'
}

nvjpeg=$wheels/nvidia-nvjpeg/nvidia/cu13/lib/libnvjpeg.so.13
expect 'cubins of nvJPEG' 'sm_75:11 sm_80:11 sm_86:11 sm_89:11 sm_90:11 sm_100:11 sm_103:11 sm_107:11 sm_110:11 sm_120:11 '\
'sm_121:11 ' "$(counts "$nvjpeg")"
expect 'percentage for sm_110 in nvJPEG' 9 "$(python3 share.py "$nvjpeg" 110)"
translate=$(echo "$wheels"/ctranslate2/ctranslate2.libs/libctranslate2-*.so.*)
expect 'cubins of CTranslate2' 'sm_53:34 sm_60:34 sm_61:34 sm_70:34 sm_75:34 sm_80:34 sm_86:34 ' "$(counts "$translate")"
expect 'percentage for sm_53 in CTranslate2' 13 "$(python3 share.py "$translate" 53)"

holds 'libraries for x86-64 hold code for sm_110 and sm_53, GPUs that only Arm processors have'
