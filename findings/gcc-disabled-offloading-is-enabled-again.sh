#!/usr/bin/env bash
# GCC 12.2.0, GNU ld 2.40
#
# Expected: an object that is compiled with -foffload=disable has no offload code.
# Seen: it has the same as without the option. The link decides: a link without the option compiles the code for every
# installed accelerator, and a link with it drops the code of all objects.
# Options are the opposite: -foffload-options of the compilation count at the link, without a word there.
# Why it matters: a static library that was "built without offloading" brings device code, text relocations and a
# dependency on libgomp plugins into programs.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

gcc_with_nvptx

cat >region.c <<'END'
int value;
void compute(void)
{
#pragma omp target map(tofrom : value)
    value = 7;
}
END
echo 'void compute(void); int main(void) { compute(); return 0; }' >main.c

for name in default disabled; do
    option=-foffload=${name/disabled/disable}
    gcc-12 -fopenmp "$option" -c region.c -o $name.o
    gcc-12 -fopenmp -c main.c -o main.o
    gcc-12 -fopenmp main.o $name.o -o $name 2>/dev/null
    gcc-12 -fopenmp -foffload=disable main.o $name.o -o $name-disabled 2>/dev/null
done
# The names of sections end with a number that differs between runs.
sections() {
    readelf -SW "$1" | grep -oE '\.gnu\.offload_[^ ]+' | sed -E 's/\.[0-9a-f]+$//' | sort
}
[[ -n $(sections default.o) ]] || fail 'the object has no offload code'
expect 'the sections of the object without offloading' "$(sections default.o)" "$(sections disabled.o)"

# kernels FILE: counts PTX modules.
kernels() {
    strings -a "$1" | grep -c '^[.]target sm_' || true
}
expect 'PTX in the program of disabled objects' "$(kernels default)" "$(kernels disabled)"
(($(kernels disabled) > 0)) || fail 'there is no PTX in the program of disabled objects'
expect 'PTX in programs that are linked without offloading' '0 0' "$(kernels default-disabled) $(kernels disabled-disabled)"

gcc-12 -fopenmp -foffload-options=nvptx-none=-misa=sm_53 -c region.c -o sm_53.o
gcc-12 -fopenmp main.o sm_53.o -o sm_53 2>/dev/null
architectures() {
    strings -a "$1" | grep -oE '^[.]target sm_[0-9]+' | sort -u | paste -sd' '
}
expect 'the architectures without an option' '.target sm_30' "$(architectures default)"
expect 'the architectures with an option of the compilation' '.target sm_30 .target sm_53' "$(architectures sm_53)"
holds 'objects of GCC with -foffload=disable have offload code, and the link compiles it'
