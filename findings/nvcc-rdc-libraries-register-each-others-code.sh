#!/usr/bin/env bash
# Tool:     nvcc and nvlink 13.5.37, GNU ld 2.40, glibc
# Expected: Two shared libraries that were linked with one static library of nvcc -dc register their own device code each, as
#           two libraries of nvcc -c do. nvcc hides its symbols: it passes --device-hidden-visibility.
# Seen:     The registration functions are exported, with names of the object. The loader binds both libraries to the
#           function of the first: its device code is registered once, with the kernel handle of the second library. The
#           handle of the first is registered with no code, and the device code of the second not at all. -Bsymbolic mends
#           it.
# Matters:  Two wheels or plugins that contain one static CUDA library work alone and fail together.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cuda_toolkit
ln -s libcudart.so.13 toolkit/lib/libcudart.so

cat >kernel.cu <<'SOURCE'
__global__ void kernel(int *data) { data[0] = 1; }
void launch(int *data) { kernel<<<1, 1>>>(data); }
SOURCE
# Functions of the CUDA runtime that print which library registers what.
cat >runtime.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
struct wrapper {
    int magic, version;
    const void *data, *modules;
};
static const char *owner(const void *address)
{
    Dl_info info;
    if (!dladdr(address, &info))
        return "nothing";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}
void **__cudaRegisterFatBinary(struct wrapper *wrapper)
{
    static struct wrapper *handles[16];
    static int used;
    handles[used] = wrapper;
    printf("code of %s\n", owner(wrapper->data));
    return (void **)&handles[used++];
}
void __cudaRegisterFunction(void **handle, const char *function, char *device, const char *name, int limit, void *thread_id,
                            void *block_id, void *block, void *grid, int *size)
{
    printf("kernel of %s in code of %s\n", owner(function), owner(((struct wrapper *)*handle)->data));
}
void __cudaRegisterFatBinaryEnd(void **handle) {}
void __cudaUnregisterFatBinary(void **handle) {}
char __cudaInitModule(void **handle) { return 0; }
SOURCE
gcc -shared -fPIC runtime.c -o runtime.so

# registrations MODE [OPTION...]: builds both libraries and a program, and prints what the program registers.
registrations() {
    local mode=$1
    shift
    nvcc "$mode" -arch=sm_80 -Xcompiler -fPIC kernel.cu -o kernel.o
    rm -f libkernel.a
    ar qcS libkernel.a kernel.o
    ranlib libkernel.a
    for name in first second; do
        echo "void launch(int *); void $name() { launch(nullptr); }" >$name.cpp
        g++ -fPIC -c $name.cpp
        nvcc -shared -arch=sm_80 -cudart shared $name.o libkernel.a "$@" -o lib$name.so
    done
    echo 'void first(); void second(); int main(int count, char **) { if (count > 1) { first(); second(); } }' >main.cpp
    g++ main.cpp -L. -lfirst -lsecond -Wl,-rpath-link,toolkit/lib -o program
    LD_LIBRARY_PATH=.:toolkit/lib LD_PRELOAD=./runtime.so ./program | sort | xargs -d '\n' printf '%s; '
}

both='code of libfirst.so; code of libsecond.so; kernel of libfirst.so in code of libfirst.so; '
both+='kernel of libsecond.so in code of libsecond.so; '
expect 'registrations without relocatable code' "$both" "$(registrations -c)"
expect 'registrations with relocatable code' 'code of libfirst.so; kernel of libsecond.so in code of libfirst.so; ' \
    "$(registrations -dc)"
for name in first second; do
    nm -D lib$name.so >symbols.out
    expect_line "exports of lib$name.so" ' T __cudaRegisterLinkedBinary_' symbols.out
    expect_line "exports of lib$name.so" ' D __fatbinwrap_' symbols.out
done
expect 'registrations with -Bsymbolic' "$both" "$(registrations -dc -Xlinker -Bsymbolic)"

holds 'of two libraries with one static library of nvcc -dc, one registers its code, with the kernels of the other'
