#!/usr/bin/env bash
# Tool:     clang-linker-wrapper 22.1.8, GNU ld 2.40
# Expected: With `-Wl,-Bstatic -lNAME`, host code and device code come from libNAME.a, if there is a libNAME.so next to it.
# Seen:     The host linker takes the archive. clang-linker-wrapper looks for the shared library first, whatever the
#           options before it say, and finds no device code in it. The link succeeds, and the program registers kernels
#           that its device code lacks. `-l:libNAME.a` works.
# Matters:  Packages install both libraries in one folder, and builds choose by -Bstatic. The program starts, and fails
#           when it launches a kernel of the library.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm
hip_program_and_library
mkdir alone both
cp archive.a alone/libname.a
cp archive.a both/libname.a
gcc -shared -fPIC -x c /dev/null -o both/libname.so

linked='in_main in_library in_main.kd in_library.kd'
dropped='in_main in_library in_main.kd'
static=("-Wl,-Bstatic" -lname "-Wl,-Bdynamic")
expect 'the kernels with the archive alone' "$linked" "$(registered_and_linked -Lalone "${static[@]}")"
expect 'the kernels with both libraries and the name of a file' "$linked" "$(registered_and_linked -Lboth -l:libname.a)"
expect 'the kernels with both libraries' "$dropped" "$(registered_and_linked -Lboth "${static[@]}")"
for option in -static -dn; do
    expect "the kernels with both libraries and $option" "$dropped" \
        "$(registered_and_linked -Lboth -Wl,$option -lname -Wl,-Bdynamic)"
done
expect 'the kernels with --push-state' "$dropped" \
    "$(registered_and_linked -Lboth -Wl,--push-state,-Bstatic -lname -Wl,--pop-state)"

holds 'clang-linker-wrapper leaves out the device code of a static library that is next to a shared one'
