#!/usr/bin/env bash
# Tool:     nvcc and cuobjdump 13.5.37, GCC 12.2.0, GNU ld 2.40
# Expected: With -Xcompiler -flto, objects of nvcc hold their fat binary in .nv_fatbin, and they link.
# Seen:     The fat binary is text of the assembler inside compressed bitcode of GCC: there is no section for it, no wrapper
#           and no magic, and cuobjdump says that there is no device code. Two such objects do not link, since each defines
#           fatbinData, and neither does nvcc link one. -Xfatbin --no-asm lets them link.
# Matters:  Build systems and distributions add -flto to every compiler. Checks of objects find no device code, and the link
#           stops with an error of the assembler.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-cuobjdump==13.5.37
cuda_toolkit

for name in one two; do
    cat >$name.cu <<SOURCE
__global__ void kernel_$name(int *data) { data[0] = 1; }
void launch_$name(int *data) { kernel_$name<<<1, 1>>>(data); }
SOURCE
done
echo 'void launch_one(int *); int main() { launch_one(nullptr); }' >main.cpp
g++ -flto -c main.cpp
libraries=(-Ltoolkit/lib -lcudart_static -lpthread -ldl -lrt)

nvcc -c -arch=sm_80 one.cu -o plain.o
readelf -SW plain.o >sections.out
expect_line 'sections without -flto' '\.nv_fatbin' sections.out

nvcc -c -arch=sm_80 -Xcompiler -flto one.cu two.cu
readelf -SW one.o >sections.out
expect_line 'sections with -flto' '\.gnu\.lto_\.asm\.' sections.out
expect_no_line 'sections with -flto' 'nv_fatbin|nvFatBinSegment' sections.out
expect 'magics of fat binaries with -flto' 0 "$(LC_ALL=C grep -caP '\x50\xed\x55\xba' one.o || true)"
run_status cuobjdump cuobjdump -lelf one.o
expect 'status of cuobjdump' 255 "$status"
expect_line 'cuobjdump' 'does not contain device code' cuobjdump.out

run_status link g++ -flto=1 main.o one.o "${libraries[@]}" -o program
expect 'status of g++ for one object' 0 "$status"
expect 'cubins of the program' 1 "$(cuobjdump -lelf program | grep -c sm_80)"
run_status link g++ -flto=1 main.o one.o two.o "${libraries[@]}" -o program
expect 'status of g++ for two objects' 1 "$status"
expect_line 'g++' 'symbol .fatbinData. is already defined' link.out
run_status link nvcc -arch=sm_80 -Xcompiler -flto=1 main.o one.o -o program
expect 'status of nvcc for one object' 1 "$status"
expect_line 'nvcc' 'symbol .fatbinData. is already defined' link.out

nvcc -c -arch=sm_80 -Xcompiler -flto -Xfatbin --no-asm one.cu two.cu
run_status link g++ -flto=1 main.o one.o two.o "${libraries[@]}" -o program
expect 'status of g++ with --no-asm' 0 "$status"
expect 'cubins of the program with --no-asm' 2 "$(cuobjdump -lelf program | grep -c sm_80)"

holds 'GCC hides fat binaries in LTO objects, and two such objects do not link'
