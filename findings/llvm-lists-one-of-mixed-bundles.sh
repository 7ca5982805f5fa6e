#!/usr/bin/env bash
# clang, llvm-objdump, llvm-readobj 22.1.8
#
# Expected: llvm-objdump --offloading lists the device code of all objects of a library.
# Seen: it does if all of them are compressed, or none. If one was compiled with --offload-compress and another without, the
# list ends after the first, with status 0 and no message, in either order. llvm-readobj --offloading does the same.
# Why it matters: a static library of another build system is enough. Kernels are missing from the list and from what is
# extracted, while the runtime loads them.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm
plain_and_compressed_modules

# link NAME OBJECT OBJECT: links a library that registers two modules.
link() {
    gcc -shared "$2" "$3" padding.o -o "$1"
    expect "modules that $1 registers" 2 "$(objdump -d "$1" | grep -c 'call.*<__hipRegisterFatBinary@plt>')"
}
link plain add-plain.o multiply-plain.o
link small add-small.o multiply-small.o
link plain-first add-plain.o multiply-small.o
link small-first add-small.o multiply-plain.o

# listed LIBRARY: prints how many code objects llvm-objdump and llvm-readobj list.
listed() {
    run_status objdump llvm 22 llvm-objdump --offloading "$1"
    expect "status of llvm-objdump for $1" 0 "$status"
    run_status readobj llvm 22 llvm-readobj --offloading "$1"
    expect "status of llvm-readobj for $1" 0 "$status"
    expect_no_line "messages for $1" 'warning|error' objdump.out
    expect_no_line "messages for $1" 'warning|error' readobj.out
    echo "$(grep -c gfx906 objdump.out) $(grep -c gfx906 readobj.out)"
}

expect 'code objects in uncompressed bundles' '2 2' "$(listed plain)"
expect 'code objects in compressed bundles' '2 2' "$(listed small)"
expect 'code objects, uncompressed first' '1 1' "$(listed plain-first)"
expect 'code objects, compressed first' '1 1' "$(listed small-first)"

holds 'llvm-objdump lists the first bundle of a library that has a compressed and an uncompressed one'
