#!/usr/bin/env bash
# Tool:     nvcc and cuobjdump 13.5.37
# Expected: The same command on the same file gives the same cubin, and the folder of the source is not part of it.
# Seen:     The name of a kernel in an unnamed namespace has a hash of the source's path and, in a file without an external
#           function, the number of the compiler's process: each run gives another cubin and other PTX. One external function
#           in the file removes the number, though not with -dc. --frandom-seed replaces it and leaves the path, although its
#           help promises identical files.
# Matters:  Caches, lock files and comparisons by kernel name see other device code after each build, or after a build in
#           another folder. Profiles and tuning tables that are keyed by kernel name do not match.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37 nvidia-cuda-nvdisasm==13.5.37
cuda_toolkit

mkdir first second
cat >first/local.cu <<'SOURCE'
namespace {
__global__ void kernel(int *data) { data[0] = 1; }
int start()
{
    kernel<<<1, 1>>>(nullptr);
    return 0;
}
int started = start();
}
SOURCE
sed '$a void external() { started = start(); }' first/local.cu >first/external.cu
cp first/*.cu second

# compile FOLDER SOURCE OPTION...: writes the file out, and prints its kernel.
compile() {
    (cd "$1" && nvcc -arch=sm_90 "${@:3}" "$2.cu" -o ../out) || fail "cannot compile $*"
    cuobjdump -res-usage out 2>/dev/null | sed -n 's/ *Function \(.*\):$/\1/p'
}

# variants SOURCE OPTION...: counts kernel names of two runs in one folder, and of two folders.
variants() {
    local once again other
    once=$(compile first "$@")
    again=$(compile first "$@")
    other=$(compile second "$@")
    for name in "$once" "$again" "$other"; do
        [[ $name == *_GLOBAL__N__*6kernelEPi ]] || fail "$*: kernel is named '$name'"
    done
    echo "$(printf '%s\n' "$once" "$again" | sort -u | wc -l) $(printf '%s\n' "$once" "$other" | sort -u | wc -l)"
}

expect 'names of two runs and two folders' '2 2' "$(variants local -cubin)"
expect 'names with an external function' '1 2' "$(variants external -cubin)"
expect 'names with an external function and -dc' '2 2' "$(variants external -dc)"
expect 'names with a seed' '1 2' "$(variants local -cubin --frandom-seed=7)"
expect 'names with a seed and -dc' '1 2' "$(variants external -dc --frandom-seed=7)"
nvcc --help >help.out
expect_line 'help of the seed' 'deterministically identical ptx and object files' help.out

# The names are the only difference.
for number in 1 2; do
    name=$(compile first local -cubin)
    cuobjdump -sass out | sed "s/$name/NAME/" >$number.sass
done
cmp -s 1.sass 2.sass || fail 'instructions of two runs differ'

holds 'nvcc puts the path of the source and the number of its process into names of kernels'
