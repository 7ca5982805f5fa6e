#!/usr/bin/env bash
# Tool:     NVRTC, nvJitLink and cuobjdump 13.5.37
# Expected: LTO-IR for sm_90a links for sm_90a alone. nvJitLink refuses PTX of the same source for every other GPU.
# Seen:     nvJitLink links LTO-IR for sm_90a for sm_90, sm_100 and sm_120, with success. The cubin for sm_120 has the code
#           under the macro of sm_90a. Only an older GPU is refused, and an instruction that the GPU lacks.
# Matters:  Code that was compiled for one GPU can run on another without a word. The architecture of LTO-IR is a minimum and
#           no promise.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch_wheels nvidia-cuda-nvrtc==13.5.37 nvidia-nvjitlink==13.5.37 nvidia-cuda-cuobjdump==13.5.37 \
    nvidia-cuda-nvdisasm==13.5.37
chmod +x "$wheels"/nvidia-cuda-*/nvidia/cu13/bin/*
export PATH=$wheels/nvidia-cuda-cuobjdump/nvidia/cu13/bin:$wheels/nvidia-cuda-nvdisasm/nvidia/cu13/bin:$PATH
cat >link.py <<'SOURCE'
import ctypes
import sys

rtc = ctypes.CDLL(sys.argv[1] + "/nvidia-cuda-nvrtc/nvidia/cu13/lib/libnvrtc.so.13")
jit = ctypes.CDLL(sys.argv[1] + "/nvidia-nvjitlink/nvidia/cu13/lib/libnvJitLink.so.13")
KERNEL = b"""extern "C" __global__ void kernel(int *data)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    data[0] = 0x5a5a;
#else
    data[0] = 0x3c3c;
#endif
}"""
PTX, LTOIR = 2, 3


def function(name):
    """nvJitLink exports some names with the release only."""
    return getattr(jit, f"__nvJitLink{name}_13_5", None) or getattr(jit, f"nvJitLink{name}")


def strings(options):
    return (ctypes.c_char_p * len(options))(*[option.encode() for option in options])


def compiled(kind, *options):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert rtc.nvrtcCreateProgram(ctypes.byref(program), KERNEL, b"kernel.cu", 0, None, None) == 0
    assert rtc.nvrtcCompileProgram(program, len(options), strings(options)) == 0
    assert getattr(rtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)) == 0
    data = ctypes.create_string_buffer(size.value)
    assert getattr(rtc, f"nvrtcGet{kind}")(program, data) == 0
    return data.raw


def linked(kind, data, *options):
    """Prints success or failure; writes the cubin."""
    handle, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert function("Create")(ctypes.byref(handle), len(options), strings(options)) == 0
    added = function("AddData")(handle, kind, data, ctypes.c_size_t(len(data)), b"input")
    complete = function("Complete")(handle)
    if added or complete:
        return "refused"
    assert function("GetLinkedCubinSize")(handle, ctypes.byref(size)) == 0
    cubin = ctypes.create_string_buffer(size.value)
    assert function("GetLinkedCubin")(handle, cubin) == 0
    with open(options[0].removeprefix("-arch=") + ".cubin", "wb") as file:
        file.write(cubin.raw)
    return "linked"


ltoir = compiled("LTOIR", "-arch=compute_90a", "-dlto")
ptx = compiled("PTX", "-arch=compute_90a")
for arch in ("sm_89", "sm_90", "sm_100", "sm_120"):
    print(arch, "PTX", linked(PTX, ptx, f"-arch={arch}"), "LTO-IR", linked(LTOIR, ltoir, f"-arch={arch}", "-lto"))
SOURCE
python3 link.py "$wheels" >links.out || fail "link.py: $(tail -1 links.out)"
expect 'links' 'sm_89 PTX refused LTO-IR refused
sm_90 PTX refused LTO-IR linked
sm_100 PTX refused LTO-IR linked
sm_120 PTX refused LTO-IR linked' "$(<links.out)"
for arch in sm_90 sm_100 sm_120; do
    cuobjdump -sass $arch.cubin >sass.out
    expect_line "architecture of the cubin for $arch" "code for $arch$" sass.out
    expect_line "code for sm_90a in the cubin for $arch" '0x00005a5a' sass.out
    expect_no_line "portable code in the cubin for $arch" '0x00003c3c' sass.out
done

holds 'nvJitLink compiles LTO-IR for sm_90a for any later GPU, and refuses the PTX of the same source'
