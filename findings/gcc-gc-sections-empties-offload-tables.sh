#!/usr/bin/env bash
# Tool:     GCC 12.2.0 with nvptx, GNU ld and gold 2.40
# Expected: --gc-sections keeps what the runtime needs for offloading, or drops the device code with it.
# Seen:     The linker drops the host's tables of offloaded functions and variables of all objects, since nothing refers to
#           them: GCC marks their ends in objects of its own. The device code stays, with its functions and variables. The
#           link succeeds without a warning.
# Matters:  libgomp pairs both lists by their order, and refuses a device image with another number of entries. Programs
#           that are linked with this common option run on machines without a GPU, and end with an error at the first
#           target region on those with one.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

gcc_with_nvptx

cat >region.c <<'END'
int value;
#pragma omp declare target to(value)
void compute(void)
{
#pragma omp target
    value = 7;
}
END
echo 'void compute(void); int main(void) { compute(); return 0; }' >main.c
gcc-12 -fopenmp -c region.c
gcc-12 -fopenmp -c main.c

expect 'the entries' 'host 1 1 device 1 1' "$(offload_entries main.o region.o)"
for linker in bfd gold; do
    expect "the entries with --gc-sections and $linker" 'host 0 0 device 1 1' \
        "$(offload_entries main.o region.o -Wl,--gc-sections -fuse-ld=$linker)"
    expect_no_line "the messages of $linker" 'gc-sections|discard|error' link.out
done
# The check that the program meets on a machine with a GPU.
strings -a "$root"/usr/lib/x86_64-linux-gnu/libgomp.so.1 >libgomp.strings
expect_line 'the message of libgomp' '^Cannot map target functions or variables' libgomp.strings

holds 'with --gc-sections, programs of GCC register device code and empty tables of what it is for'
