#!/usr/bin/env bash
# Tool:     clang-linker-wrapper 22.1.8, GNU ld 2.40
# Expected: A library that is a linker script with `INPUT(FILE)` is linked as FILE is, on the host and on the device.
# Seen:     The host linker follows the script, and clang-linker-wrapper does not. The link succeeds. The program registers
#           the kernel of the library, and its device code lacks it.
# Matters:  The program starts, and fails when it launches the kernel. Packages install linker scripts in place of
#           libraries to add libraries that theirs depends on.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm

hip_program_and_library
echo "INPUT($folder/archive.a)" >libscript.a

registered='in_main in_library'
expect 'the kernels with the archive' "$registered in_main.kd in_library.kd" "$(registered_and_linked archive.a)"
expect 'the kernels with the script' "$registered in_main.kd" "$(registered_and_linked -L. -lscript)"

holds 'clang-linker-wrapper leaves out the device code of a library that is a linker script, with status 0'
