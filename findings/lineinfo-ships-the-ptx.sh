#!/usr/bin/env bash
# Tool:     nvcc and cuobjdump 13.5.37
# Expected: -lineinfo adds tables of files and lines to a cubin. A fat binary for `code=sm_90` has no PTX.
# Seen:     The cubin also has the PTX of its kernels as text, every instruction of it, in the section .nv_debug_ptx_txt.
#           cuobjdump -lptx says that there is no PTX. Since sm_100, two sections of the cubin have this text, at one
#           offset.
# Matters:  A vendor that leaves out PTX to keep its source closed ships it with -lineinfo, which profilers ask for, and
#           neither cuobjdump nor a list of images shows it.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37
cuda_toolkit

echo '__global__ void kernel(int *p) { p[threadIdx.x] *= 12345; }' >kernel.cu

# ptx_text OBJECT: prints the instructions of PTX that an object has as text.
ptx_text() {
    strings -a "$1" | grep -oE '(ld\.param|mul\.lo|st\.global)[^;]*;' | sed -E 's/[[:space:]]+/ /g'
}

for arch in 90 100; do
    for option in '' -lineinfo; do
        # The objects keep cubins uncompressed.
        nvcc -c $option -Xfatbin -compress=false -gencode "arch=compute_$arch,code=sm_$arch" kernel.cu -o "kernel$option.o"
        run_status listing cuobjdump -lptx "kernel$option.o"
        expect_line "the PTX that cuobjdump lists with '$option'" 'No PTX file found' listing.out
    done
    nvcc -ptx -lineinfo -arch=compute_$arch kernel.cu -o kernel.txt
    expect "the PTX without -lineinfo for sm_$arch" '' "$(ptx_text kernel.o)"
    [[ $(ptx_text kernel.txt) == *'12345;'* ]] || fail 'the PTX has no multiplication by 12345'
    expect "the PTX with -lineinfo for sm_$arch" "$(ptx_text kernel.txt)" "$(ptx_text kernel-lineinfo.o)"
done

# places: prints the offset and the size of the sections with the text.
nvcc -cubin -lineinfo -arch=sm_100 kernel.cu -o kernel.cubin
readelf -SW kernel.cubin 2>/dev/null |
    sed -nE 's/.* \.(nv\.merc\.)?nv_debug_ptx_txt +PROGBITS +0+ ([0-9a-f]+ [0-9a-f]+) .*/\2/p' >places
expect 'the sections with the text' '2 1' "$(wc -l <places) $(sort -u places | wc -l)"

holds 'with -lineinfo a cubin has the text of its PTX, in a fat binary that has no PTX'
