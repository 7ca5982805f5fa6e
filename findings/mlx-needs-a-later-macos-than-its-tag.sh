#!/usr/bin/env bash
# Tool:     mlx-metal 0.32.4 for macOS 14, 15 and 26; packaging 26.4
# Expected: A wheel with the tag macosx_26_0_arm64 runs on macOS 26.0.
# Seen:     The Metal library and both dynamic libraries require macOS 26.2. The wheels for macOS 14 and 15 require what
#           their tags say. No tag can say 26.2: installers accept only tags with 0 as the second number since macOS 11.
# Matters:  On macOS 26.0 and 26.1, pip prefers a wheel whose kernels do not load, although the wheel for macOS 15 would run.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels packaging==26.4
cat >requirements.py <<'SOURCE'
"""Prints the oldest macOS of the Metal library (its header) and of the dynamic libraries (LC_BUILD_VERSION) in a wheel."""

import struct
import sys
import zipfile

LC_BUILD_VERSION = 0x32


def of_metal_library(data):
    assert data[:4] == b"MTLB"
    return "%d.%d" % struct.unpack_from("<HH", data, 12)


def of_dynamic_library(data):
    (commands,) = struct.unpack_from("<I", data, 16)
    position = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, position)
        if command == LC_BUILD_VERSION:
            (version,) = struct.unpack_from("<I", data, position + 12)
            return f"{version >> 16}.{version >> 8 & 255}"
        position += size


with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in sorted(wheel.namelist()):
        if name.endswith((".metallib", ".dylib")):
            with wheel.open(name) as file:
                data = file.read(1 << 16)
            print(name.rpartition("/")[2], (of_metal_library if name.endswith(".metallib") else of_dynamic_library)(data))
SOURCE

for tag in 14_0 15_0 26_0; do
    kept=$downloads/mlx-metal==0.32.4-$tag
    if [[ ! -d $kept ]]; then
        rm -rf "$kept.partial"
        python3 -m pip --quiet --disable-pip-version-check download --no-deps --only-binary=:all: \
            --platform "macosx_${tag}_arm64" --dest "$kept.partial" mlx-metal==0.32.4 || fail "cannot download mlx-metal"
        mv "$kept.partial" "$kept"
    fi
    wheel=$kept/mlx_metal-0.32.4-py3-none-macosx_${tag}_arm64.whl
    release=${tag/_/.}
    if [[ $tag == 26_0 ]]; then
        release=26.2
    fi
    expect "macOS for the wheel with macosx_$tag" "libjaccl.dylib $release
libmlx.dylib $release
mlx.metallib $release" "$(python3 requirements.py "$wheel")"
done

tags="from packaging.tags import mac_platforms
print(*[tag for tag in mac_platforms(VERSION, 'arm64') if tag.startswith('macosx_26')])"
for version in '(26, 0)' '(26, 2)'; do
    expect "tags of macOS $version" macosx_26_0_arm64,macosx_26_0_universal2 \
        "$(PYTHONPATH=$wheels/packaging python3 -c "${tags/VERSION/$version}" | tr ' ' ',')"
done

holds 'mlx-metal for macosx_26_0 needs macOS 26.2 in its Metal library, and no tag of a wheel can say so'
