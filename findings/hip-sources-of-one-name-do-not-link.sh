#!/usr/bin/env bash
# Tool:     clang 22.1.8, GNU ld 2.40
# Expected: Objects of different sources link, and the sources may have one name in two folders; at least without
#           -fgpu-rdc, where objects share nothing on the device.
# Seen:     Each object defines the global symbol __hip_cuid_HASH. The hash is of the path of the source as the command
#           line has it, and of the options: neither the folder nor the content counts. `cd a && clang -c kernel.hip -o
#           kernel.o` and the same in b make two objects that do not link. Without -fgpu-rdc the host linker refuses them,
#           with it the device linker. Absolute paths help. With -fuse-cuid=none no two objects link.
# Matters:  A build that enters its folders cannot have two sources named utils.hip, and two libraries that were built in
#           this way cannot be in one program. The error names a symbol that is in no source.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang clang-tools lld llvm
gcc -shared -fPIC -x c /dev/null -o libamdhip64.so

for name in first second; do
    mkdir $name
    hip_source $name >$name/kernel.hip
done
# compile OPTION...: compiles both sources in their folders.
compile() {
    local name
    for name in first second; do
        (cd $name && compile_hip 22 kernel.hip kernel.o --offload-arch=gfx906 "$@")
    done
}
# link_host NAME: links the objects on the host, and keeps the status.
link_host() {
    run_status "$1" gcc -shared first/kernel.o second/kernel.o -o library.so
}

compile
link_host host
expect 'the status of the link' 1 "$status"
expect_line 'the message' 'multiple definition of .__hip_cuid_[0-9a-f]+' host.out
compile -fuse-cuid=none
link_host none
expect 'the status with -fuse-cuid=none' 1 "$status"
expect_line 'the message with -fuse-cuid=none' 'multiple definition of .__hip_cuid_.;' none.out

# Absolute paths, and options that differ, give other symbols.
for name in first second; do
    compile_hip 22 "$folder/$name/kernel.hip" $name/kernel.o --offload-arch=gfx906
done
link_host absolute
expect 'the status with absolute paths' 0 "$status"
compile
(cd first && compile_hip 22 kernel.hip kernel.o --offload-arch=gfx906 -DUNUSED)
link_host options
expect 'the status with options that differ' 0 "$status"

compile -fgpu-rdc --offload-new-driver
run_status device llvm 22 clang --offload-new-driver -fgpu-rdc --offload-arch=gfx906 -nogpulib -shared -L. first/kernel.o \
    second/kernel.o -o library.so
expect 'the status of the device link' 1 "$status"
expect_line 'the message of the device link' 'lld: error: duplicate symbol: __hip_cuid_[0-9a-f]+' device.out

holds 'two HIP objects whose sources have one name do not link if each was compiled in its folder'
