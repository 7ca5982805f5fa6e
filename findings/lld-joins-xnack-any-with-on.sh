#!/usr/bin/env bash
# clang, lld 22.1.8; libamd_comgr 2.4 (5.2.3)
#
# Expected: lld refuses objects for gfx906 and gfx906:xnack+, as it refuses xnack- with xnack+, or updates everything.
# Seen: it links them, raises the flags to xnack+, and keeps one metadata note of each object. The code object states two
# targets, and comgr reports one as the ISA and the other, by the order of the objects, as `amdhsa.target`.
# Why it matters: a reader that trusts the metadata loads the code on GPUs without XNACK, and one that compares both calls
# a normal result of the linker damaged.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_llvm 22 clang lld llvm
fetch_packages libamd-comgr2=5.2.3-2 libllvm15=1:15.0.6-4+b1

echo 'kernel void first(global int *p) { *p = 1; }' >first.cl
echo 'kernel void second(global int *p) { *p = 2; }' >second.cl

compile() {
    llvm 22 clang -x cl -nogpulib --target=amdgcn-amd-amdhsa -mcode-object-version=4 "-mcpu=$1" -c "$2.cl" -o "$3.o"
}

compile gfx906 first any
compile gfx906:xnack+ second on
compile gfx906:xnack- first off

run_status refused llvm 22 ld.lld -shared off.o on.o -o refused
expect 'the status of linking xnack- with xnack+' 1 "$status"
expect_line 'the message about xnack- and xnack+' 'incompatible xnack' refused.out

# Prints the ISA and the target of the metadata, as comgr reports them.
cat >query.py <<'END'
import ctypes, sys

comgr = ctypes.CDLL("libamd_comgr.so.2")
EXECUTABLE = 8


class Handle(ctypes.Structure):
    _fields_ = [("value", ctypes.c_uint64)]


def call(name, *arguments):
    status = getattr(comgr, name)(*arguments)
    if status:
        sys.exit(f"{name}: status {status}")


def text(name, handle):
    size = ctypes.c_size_t()
    call(name, handle, ctypes.byref(size), None)
    buffer = ctypes.create_string_buffer(size.value + 1)
    call(name, handle, ctypes.byref(size), buffer)
    return buffer.value.decode()


content = open(sys.argv[1], "rb").read()
data, metadata, target = Handle(), Handle(), Handle()
call("amd_comgr_create_data", EXECUTABLE, ctypes.byref(data))
call("amd_comgr_set_data", data, ctypes.c_size_t(len(content)), content)
call("amd_comgr_get_data_metadata", data, ctypes.byref(metadata))
call("amd_comgr_metadata_lookup", metadata, b"amdhsa.target", ctypes.byref(target))
print(text("amd_comgr_get_data_isa_name", data), text("amd_comgr_get_metadata_string", target))
END

for order in 'any.o on.o' 'on.o any.o'; do
    # shellcheck disable=SC2086 # two files
    llvm 22 ld.lld -shared $order -o linked
    llvm 22 llvm-readelf -h -n linked >linked.out
    expect_line "the flags of $order" 'Flags: .*gfx906, xnack\+' linked.out
    expect "the metadata notes of $order" 2 "$(grep -c NT_AMDGPU_METADATA linked.out)"
    in_root python3 query.py linked >>reports
done
isa=amdgcn-amd-amdhsa--gfx906:xnack+
expect 'what comgr reports for both orders' "$isa ${isa%:*}; $isa $isa" "$(paste -sd';' reports | sed 's/;/; /')"
holds 'lld joins gfx906 and gfx906:xnack+ to code whose flags and metadata name different targets'
