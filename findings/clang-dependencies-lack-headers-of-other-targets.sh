#!/usr/bin/env bash
# Tool:     clang 22.1.8
# Expected: -MD lists every header that a compilation reads, of the host and of all GPUs, as nvcc's -MD does.
# Seen:     For HIP the list has the headers of the host only. For OpenMP it has the headers of one GPU only, and lacks
#           those of the host and of the other GPU. There is no warning. -MM for HIP prints a bundle: the lists of the GPUs
#           are empty, between markers that make does not know.
# Matters:  make and ninja do not compile again after a change of such a header, and the program keeps old device code, or
#           old host code next to new device code.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm

for target in host gfx906 gfx1030; do
    echo '#define VALUE 1' >$target.h
done
headers='
#if defined(__gfx906__)
#include "gfx906.h"
#elif defined(__gfx1030__)
#include "gfx1030.h"
#else
#include "host.h"
#endif'

# listed FILE: prints which of the three headers a list of dependencies has.
listed() {
    grep -oE '(host|gfx906|gfx1030)\.h' "$1" | sort -u | paste -sd' '
}

{
    hip_source kernel
    echo "$headers"
    echo 'extern "C" __global__ void with_headers(int *p) { *p = VALUE; }'
} >kernel.hip
compile_hip 22 kernel.hip kernel.o --offload-arch=gfx906 --offload-arch=gfx1030 -MD -MF hip.d
expect 'the headers of HIP' host.h "$(listed hip.d)"
llvm 22 clang -x hip -nogpulib -nogpuinc kernel.hip --offload-arch=gfx906 --offload-arch=gfx1030 -MM >bundle.d
expect 'the headers of HIP with -MM' host.h "$(listed bundle.d)"
expect 'the parts of the list' 3 "$(grep -c '^# __CLANG_OFFLOAD_BUNDLE____START__' bundle.d)"
for target in gfx906 gfx1030; do
    sed -n "/_START__ .*$target/,/_END__ .*$target/p" bundle.d >part
    expect_line "the marker for $target" '^# __CLANG_OFFLOAD_BUNDLE____START__' part
    expect_no_line "the list for $target" '^[^#]' part
done

cat >region.c <<END
$headers
void compute(int *p)
{
#pragma omp target map(from : p[0 : 1])
    p[0] = VALUE;
}
END
# openmp GPU...: compiles for GPUs, and prints the headers of the list.
openmp() {
    llvm 22 clang -fopenmp -nogpulib -nogpuinc "${@/#/--offload-arch=}" -c region.c -o region.o -MD -MF openmp.d
    listed openmp.d
}
expect 'the headers of OpenMP for gfx906' gfx906.h "$(openmp gfx906)"
expect 'the headers of OpenMP for two GPUs' gfx906.h "$(openmp gfx906 gfx1030)"
expect 'the headers of OpenMP for two GPUs, in the other order' gfx906.h "$(openmp gfx1030 gfx906)"

holds 'the dependencies of clang have the headers of the host for HIP, and of one GPU for OpenMP'
