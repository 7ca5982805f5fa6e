#!/usr/bin/env bash
# ocloc 22.43.24595.41, IGC 1.0.12504.6
#
# Expected: the binary that ocloc writes for a GPU names the GPU, or ocloc writes zebin, with notes about the product.
# Seen: the files for Skylake, Kaby Lake and Coffee Lake are equal, and so are those for DG1 and Rocket Lake: the header of
# the code has a core family and a stepping. DG2 and Ponte Vecchio get the same old layout, an ELF file of machine 0 and
# type 0xff04. Only the member names of a fat binary tell equal code apart, and a device that is given twice has two
# members of one name.
# Why it matters: which GPU a loose .bin file is for cannot be read from it, and a reader that goes by the ELF machine finds
# no device code.
# shellcheck source=findings/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly igc=1.0.12504.6-1+deb12u1
fetch_packages intel-opencl-icd=22.43.24595.41-1 libigc1=$igc libigdfcl1=$igc libigdgmm12=22.3.3+ds1-1 \
    libopencl-clang14=14.0.0-4 libclang-cpp14=1:14.0.6-12 libllvm14=1:14.0.6-12 libllvmspirvlib14=14.0.0-5

echo 'kernel void put(global int *p) { p[get_global_id(0)] = 1; }' >put.cl

compile() {
    in_root "$root/usr/bin/ocloc" compile -file put.cl -device "$1" -output "$2" -output_no_suffix >"$2.out" ||
        fail "ocloc fails for $1: $(cat "$2.out")"
}

for gpu in skl kbl cfl dg1 rkl dg2-g10 pvc; do
    compile $gpu $gpu
    readelf -h $gpu >header
    expect_line "the type for $gpu" 'Type: .*Processor Specific: \(ff04\)' header
    expect_line "the machine for $gpu" 'Machine: +None' header
done
for pair in skl:kbl skl:cfl dg1:rkl; do
    cmp -s "${pair%:*}" "${pair#*:}" || fail "the files for ${pair/:/ and } differ"
done
cmp -s skl dg1 && fail 'the files for skl and dg1 are equal'

names() {
    ar t "$1" | grep -v '^pad_' | paste -sd' '
}
compile skl,kbl,cfl fat
expect 'the members for three GPUs' '64.9.0.9 64.9.1.9 64.9.2.9' "$(names fat)"
for member in $(names fat); do
    ar p fat "$member" | cmp -s - skl || fail "the member $member differs from the file for skl"
done
compile skl,skl twice
expect 'the members for one GPU, given twice' '64.9.0.9 64.9.0.9' "$(names twice)"
holds 'ocloc writes equal files for several GPUs, without a machine or a name of the GPU'
