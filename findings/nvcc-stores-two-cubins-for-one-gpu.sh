#!/usr/bin/env bash
# Tool:     nvcc, fatbinary and nvlink 13.5.37
# Expected: nvcc rejects two -gencode options for one real architecture, or keeps one; repeated options are dropped.
# Seen:     Only options that are equal are dropped. compute_80 for sm_86 and compute_86 for sm_86 are two cubins for one GPU
#           in one container, without a warning, in the order of the options. Their code differs, and nvlink takes the first.
# Matters:  Lists of architectures from several sources double the device code of a GPU, and the order of the options decides
#           which of two different kernels runs.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37 nvidia-cuda-nvdisasm==13.5.37
cuda_toolkit

cat >kernel.cu <<'SOURCE'
__global__ void kernel(int *data)
{
#ifdef __CUDA_ARCH__
    data[0] = __CUDA_ARCH__;
#endif
}
int main() { kernel<<<1, 1>>>(nullptr); }
SOURCE
for_80=(-gencode 'arch=compute_80,code=sm_86')
for_86=(-gencode 'arch=compute_86,code=sm_86')

# Prints the value of __CUDA_ARCH__ in each cubin for sm_86, in the order of the file.
values() {
    cuobjdump -sass "$1" >sass.out
    expect_no_line 'architecture' 'code for sm_(8[^6]|[^8])' sass.out
    grep -oE ', (0x320|0x35c) ;' sass.out | while read -r _ value _; do printf '%d\n' "$value"; done | xargs
}

run_status nvcc nvcc -c "${for_86[@]}" "${for_86[@]}" kernel.cu -o equal.o
expect 'status for equal options' 0 "$status"
expect 'cubins for equal options' '860' "$(values equal.o)"

run_status nvcc nvcc -c "${for_80[@]}" "${for_86[@]}" kernel.cu -o ascending.o
expect 'status and output for two options' '0, 0 bytes' "$status, $(stat -c %s nvcc.out) bytes"
expect 'cubins for two options' '800 860' "$(values ascending.o)"
nvcc -c "${for_86[@]}" "${for_80[@]}" kernel.cu -o descending.o
expect 'cubins in the other order' '860 800' "$(values descending.o)"

for order in ascending descending; do
    options=("${for_80[@]}" "${for_86[@]}")
    value=800
    if [[ $order == descending ]]; then
        options=("${for_86[@]}" "${for_80[@]}")
        value=860
    fi
    nvcc -dc "${options[@]}" kernel.cu -o relocatable.o
    nvcc -arch=sm_86 relocatable.o -o program
    expect "linked code, $order" "$value" "$(values program)"
done

holds 'nvcc stores two different cubins for sm_86 in one container, and the order of the options decides'
