#!/usr/bin/env bash
# clang, llvm-objdump, llvm-readobj, clang-offload-bundler 22.1.8
#
# Expected: llvm-objdump --offloading writes the code objects of a compressed bundle, or says that it cannot.
# Seen: it decompresses the bundle for the names and sizes, and then copies that many bytes of the host file, from the offset
# that the code object has after decompression. The files have the right names and sizes, and the status is 0, but they are
# not code objects. llvm-readobj prints these offsets as places in the file, the same one for each compressed bundle.
# Why it matters: kernels that were built with --offload-compress are "extracted" into files of compressed or foreign bytes,
# and a script that compares or archives them does not notice.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm
plain_and_compressed_modules
gcc -shared add-plain.o multiply-plain.o padding.o -o plain
gcc -shared add-small.o multiply-small.o padding.o -o small

for library in plain small; do
    run_status objdump llvm 22 llvm-objdump --offloading $library
    expect "status for $library" 0 "$status"
    expect_no_line "messages for $library" 'warning|error' objdump.out
done
readonly id=hipv4-amdgcn-amd-amdhsa--gfx906
for number in 0 1; do
    expect "size of image $number" "$(stat -c %s plain.$number.$id)" "$(stat -c %s small.$number.$id)"
    expect "machine of plain image $number" 'AMD GPU' "$(readelf -h plain.$number.$id | sed -n 's/ *Machine: *//p')"
    # The code starts one page into the bundle, and the compressed bundle is shorter than a page.
    run_status readelf readelf -h small.$number.$id
    expect "status of readelf for compressed image $number" 1 "$status"
    expect_line "message for compressed image $number" 'Not an ELF file' readelf.out
done

# The bundle is intact: the bundler reads it.
llvm 22 llvm-objcopy --dump-section .hip_fatbin=bundle add-small.o
expect 'magic of the bundle' CCOB "$(head -c 4 bundle)"
llvm 22 clang-offload-bundler -type=o -unbundle -targets=$id -input=bundle -output=unbundled
expect 'machine and size of the code that the bundler finds' "AMD GPU $(stat -c %s small.0.$id)" \
    "$(readelf -h unbundled | sed -n 's/ *Machine: *//p') $(stat -c %s unbundled)"

llvm 22 llvm-readobj --offloading small | grep -oE 'gfx906.*offset=[0-9]+' >places
expect 'images and offsets of llvm-readobj' '2 1' "$(wc -l <places) $(sort -u places | wc -l)"

holds 'llvm-objdump extracts code objects of compressed bundles as files of the right size with wrong bytes'
