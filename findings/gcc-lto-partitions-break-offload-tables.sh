#!/usr/bin/env bash
# Tool:     GCC 12.2.0 with nvptx, GNU ld 2.40
# Expected: LTO links what links without it, whatever the size of the program and the number of processes.
# Seen:     The first partition has the table of all offloaded functions. A program that is large enough for several
#           partitions does not link: the table refers to local functions of the others. With -flto-partition=max it links;
#           but with -flto=2 each process writes the table, so that the host has each function twice or more often, where
#           the device code has it once. -flto-partition=one works.
# Matters:  A program stops linking as it grows, without a change of its target regions. libgomp refuses a device image
#           with another number of functions, at the first target region on a machine with a GPU. Distributions build with
#           -flto=auto, which starts several processes.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

gcc_with_nvptx

# source_of NAME: prints a file with one target region.
source_of() {
    cat <<END
int value_$1;
void compute_$1(void)
{
#pragma omp target map(from : value_$1)
    value_$1 = 7;
}
END
}
for name in a b; do
    source_of $name >$name.c
    gcc-12 -fopenmp -O2 -flto -c $name.c
done
{
    source_of large
    echo 'volatile int sink;'
    for ((function = 0; function < 200; function++)); do
        echo "__attribute__((used)) void fill_$function(int x) {"
        for ((line = 0; line < 20; line++)); do
            echo "sink += x * $function; if (sink == $line) x ^= sink;"
        done
        echo '}'
    done
} >large.c
gcc-12 -fopenmp -O2 -flto -c large.c
echo 'void compute_a(void), compute_b(void); int main(void) { compute_a(); compute_b(); return 0; }' >main.c
gcc-12 -fopenmp -O2 -flto -c main.c

expect 'the entries' 'host 2 0 device 2 0' "$(offload_entries main.o a.o b.o -flto=2)"
expect 'the entries with a process' 'host 2 0 device 2 0' "$(offload_entries main.o a.o b.o -flto=1 -flto-partition=max)"
expect 'the entries with two' 'host 4 0 device 2 0' "$(offload_entries main.o a.o b.o -flto=2 -flto-partition=max)"
read -r _ host _ _ device _ < <(offload_entries main.o a.o b.o -flto=8 -flto-partition=max)
expect 'the functions of the device with eight processes' 2 "$device"
((host > 4)) || fail "the host has $host functions with eight processes"

for option in -flto=1 -flto=2; do
    run_status large gcc-12 -fopenmp -O2 $option main.o a.o b.o large.o -o program
    expect "the status of the large program with $option" 1 "$status"
    expect_line "the message with $option" '[.]gnu[.]offload_funcs.*: undefined reference to .compute_' large.out
done
expect 'the entries of the large program' 'host 3 0 device 3 0' \
    "$(offload_entries main.o a.o b.o large.o -flto=2 -flto-partition=one)"

holds 'with several partitions of LTO, tables of offloaded functions do not link, or have each function twice'
