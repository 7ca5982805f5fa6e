#!/usr/bin/env bash
# Tool:     clang 22.1.8, GNU ld 2.40, lld 22.1.8
# Expected: A header with `inline __device__` variables, or with variable templates, can be used by several files, as in
#           C++17 for the host: the linker keeps one of the equal definitions.
# Seen:     Each file compiles, and a link of two of them fails: the variables are local symbols in groups that the linker
#           keeps once, and the second object refers to the group that is gone. GNU ld and lld refuse it. A single object
#           links, and so do objects whose host code does not name the variables.
# Matters:  The message is about a discarded section, and names no remedy. It appears when a second file copies to the
#           variable. With -fgpu-rdc the symbols are weak, as they should be.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm

{
    hip_source kernel | grep -v kernel
    cat <<'END'
#define __device__ __attribute__((device))
extern "C" int hipMemcpyToSymbol(const void *, const void *, unsigned long, unsigned long, int);
inline __device__ int variable = 1;
template <class T> __device__ T from_template = 2;
struct Members {
    static inline __device__ int member;
};
template <class T> __global__ void use(T *p) { *p = variable + from_template<T> + Members::member; }
inline void *handle() { return (void *)use<int>; }
inline void copy(int *p)
{
    hipMemcpyToSymbol(&variable, p, 4, 0, 1);
    hipMemcpyToSymbol(&from_template<int>, p, 4, 0, 1);
    hipMemcpyToSymbol(&Members::member, p, 4, 0, 1);
}
END
} >variables.hip
for name in first second; do
    printf '#include "variables.hip"\nvoid *use_%s() { return handle(); }\n' $name >$name.hip
    printf '#include "variables.hip"\nvoid *use_%s(int *p) { copy(p); return handle(); }\n' $name >$name-copies.hip
    for source in "$name" "$name-copies"; do
        compile_hip 22 "$source.hip" "$source.o" -std=c++17 --offload-arch=gfx906
    done
done

gcc -shared first.o second.o -o library.so || fail 'objects whose host code does not name the variables do not link'
gcc -shared first-copies.o -o library.so || fail 'one object does not link'
run_status gnu gcc -shared first-copies.o second-copies.o -o library.so
expect 'the status of GNU ld' 1 "$status"
run_status lld llvm 22 ld.lld -shared first-copies.o second-copies.o -o library.so
expect 'the status of lld' 1 "$status"
for variable in variable _Z13from_templateIiE _ZN7Members6memberE; do
    expect_line "the message of GNU ld about $variable" "[.]bss[.]$variable'.* defined in discarded section" gnu.out
    expect_line "the message of lld about $variable" "refers to a discarded section: [.]bss[.]$variable$" lld.out
done

# bindings OBJECT: prints the bindings of the variables.
bindings() {
    nm "$1" | grep -E ' (variable|_Z13from_templateIiE|_ZN7Members6memberE)$' | cut -d' ' -f2 | paste -sd' '
}
expect 'the bindings of the variables' 'b b b' "$(bindings first-copies.o)"
compile_hip 22 first-copies.hip relocatable.o -std=c++17 --offload-arch=gfx906 -fgpu-rdc
expect 'the bindings of the variables with -fgpu-rdc' 'V V V' "$(bindings relocatable.o)"

holds 'two HIP objects whose host code names an inline device variable do not link'
