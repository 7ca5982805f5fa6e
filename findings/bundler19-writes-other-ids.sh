#!/usr/bin/env bash
# clang-offload-bundler 19.1.7, 16.0.6, 22.1.8
#
# Expected: the bundler writes the IDs that it is given, so that an ID that it lists can be given to it again.
# Seen: 19 writes `gfx950-` for gfx950 and `sm_100-` for sm_100, and for every processor that it does not know; features
# that follow are lost. It also doubles its own host ID: `host-x86_64-unknown-linux-gnu-` becomes
# `host-x86_64-unknown-linux-gnu-host-x86_64-unknown-linux-gnu-`. The bundlers of 16 and 22 write both as given.
# Why it matters: the status is 0, 19 finds the entry again, and every other reader reports that there is no code for the
# GPU.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for release in 16 19 22; do
    fetch_llvm "$release" clang-tools
done
echo code >code
: >host

# written_by RELEASE HOST TARGET: prints the IDs of a new bundle.
written_by() {
    llvm "$1" clang-offload-bundler -type=o "-targets=$2,$3" -input=host -input=code -output=bundle
    # The order of the list is arbitrary in 22.
    llvm "$1" clang-offload-bundler -type=o -list -input=bundle | LC_ALL=C sort -r | paste -sd' '
}

readonly host=host-x86_64-unknown-linux-gnu-
readonly gpu=hipv4-amdgcn-amd-amdhsa--gfx950
expect 'what 19 writes' "$host $gpu-" "$(written_by 19 ${host%-} $gpu)"
expect 'what 19 writes with a feature' "$host $gpu-" "$(written_by 19 ${host%-} $gpu:xnack+)"
expect 'what 19 writes for a known processor' "$host ${gpu%950}942" "$(written_by 19 ${host%-} ${gpu%950}942)"
expect 'what 19 writes for the host ID that it lists' "$host$host ${gpu%950}942" "$(written_by 19 $host ${gpu%950}942)"
for release in 16 22; do
    expect "what $release writes" "$host $gpu" "$(written_by "$release" $host $gpu)"
    expect "what $release writes with a feature" "$host $gpu:xnack+" "$(written_by "$release" $host $gpu:xnack+)"
done
cuda=openmp-nvptx64-nvidia-cuda-sm_100
expect 'what 19 writes for CUDA' "$cuda- $host" "$(written_by 19 ${host%-} $cuda)"

written_by 19 ${host%-} $gpu >/dev/null
for release in 16 19 22; do
    run_status "$release" llvm "$release" clang-offload-bundler -type=o -unbundle "-targets=$gpu" -input=bundle -output=found
    statuses+=" $release:$status"
done
expect 'the statuses of reading the bundle of 19' ' 16:1 19:0 22:1' "$statuses"
holds 'the bundler of 19 changes the IDs of processors that it does not know, and of hosts'
