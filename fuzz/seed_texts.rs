//! Seeds of the targets that read text, and small packages.

use std::io;

/// Seeds by target and name.
const TEXTS: &[(&str, &str, &[u8])] = &[
    ("demangle", "function", b"_ZN1a5spillILi3EEEvPf"),
    ("demangle", "lambda", b"_ZZ4mainENKUlvE_clEv"),
    ("demangle", "kernel", b"_ZTS20kDequantizeBlockwiseIfLi512ELi4ELi0EE"),
    ("demangle", "substitution", b"_ZSt4moveIRSt10unique_ptrIiSt14default_deleteIiEEEONSt16remove_referenceIT_E4typeEOS6_"),
    ("demangle", "expression", b"_Z1fIiEDTcl1gfp_EET_"),
    ("demangle", "rust", b"_RNvC6kernel4main"),
    ("demangle", "old-rust", b"_ZN6kernel4main17h0123456789abcdefE"),
    ("demangle", "static", b"__nv_static_25__ec6bcd19_4_k_cu__Z3lamPi__Z2stIiJEEvPT_DpT0_"),
    ("names", "template", b"{file}/{member}.{number}-{kind}-{triple}-{arch}.{extension}\0../../etc/passwd"),
    ("names", "archive", b"{member}\0lib.whl!../../a\\b:c/con.txt"),
    ("names", "address", b"file://localhost/tmp/a%20b%23c#offset=0x10&size=010"),
    ("names", "device", b"gfx90a:sramecc+:xnack-"),
    ("names", "target", b"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+"),
    ("options", "bundle", b"--type=bc --targets=host-x86_64-unknown-linux-gnu-,hip-amdgcn-amd-amdhsa--gfx90a -input=a -output='b c'\n"),
    ("options", "pack", b"-o out \"--image=file=a\\,b,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip\" --help-hidden"),
    ("package_metadata", "kernel", b"build/x86_64-linux/metadata.json\0{\"name\":\"x\",\"backend\":{\"type\":\"cuda\",\"archs\":[\"8.0\",\"9.0a\",\"12.0+PTX\",\"10.0f\"]}}"),
    ("package_metadata", "rocm", b"metadata.json\0{\"backend\":{\"type\":\"rocm\",\"archs\":[\"gfx90a\",\"gfx90a:xnack+\",\"gfx9-4-generic\"]}}"),
    ("package_metadata", "wheel", b"a.whl!a-1.dist-info/variant.json\0{\"variants\":{\"x\":{\"nvidia\":{\"sm_arch\":[\"90_real\",\"120_virtual\"]},\"amd\":{\"gfx_arch\":[\"gfx942\"]}}}}"),
    ("package_metadata", "conda", b"p.conda!info-p.tar.zst!info/index.json\0{\"name\":\"p\",\"depends\":[\"__cuda_arch >=7.5,<8.0|==9.0\"],\"constrains\":[\"__cuda_arch !=8.7,=8\"]}"),
    ("hcf", "one", b"object-id=1\ngenerator=AdaptiveCpp SSCP\n{.images\n{.a\nformat=llvm-ir\n{.__binary\nstart=0\nsize=4\n}.__binary\n}.a\n}.images\n{.kernels\n{.k\n{.image-providers\n{.a\n}.a\n}.image-providers\n}.k\n}.kernels\n__acpp_hcf_binary_appendixBC\xc0\xde"),
    ("dxbc", "one", b"DXBC\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x30\0\0\0\x01\0\0\0\x24\0\0\0DXIL\x04\0\0\0code"),
    ("syclbin", "one", SYCLBIN),
    ("promise", "tensile", b"lib/T.dat\0\x82\xa9solutions\x92\x82\xa4name\xa3one\xaakernelName\xa5Cijk1\x81\xa4name\xa5Cijk2\xa7library\x80"),
    ("promise", "triton", b"c/__grp__k.json\0{\"child_paths\":{\"k.cubin\":\"/c/k.cubin\",\"k.json\":\"/c/k.json\"}}"),
    ("promise", "kernel", b"c/k.json\0{\"hash\":\"ab\",\"target\":{\"backend\":\"cuda\",\"arch\":90,\"warp_size\":32},\"name\":\"k\"}"),
    ("promise", "checksums", b"c/checksums.txt\0e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  k.cubin\n"),
    ("policy", "all", POLICY),
    ("policy", "exceptions", b"skip = [\"*.txt\"]\n[[except]]\nfiles = \"lib/{a,b[0-9]}*.so\"\n[except.images]\nintact = false\n\0lib/a.so"),
    ("archive", "stored.zip", ZIP),
    ("archive", "thin", b"!<thin>\n//                                              4         `\na/\n\n/0              0           0     0     644     10        `\n"),
    ("inspect", "notes.ptx", b".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"k.cu\"\n.visible .entry k(.param .u64 a,.param .align 8 .b8 b[16]){\n.maxntid 128,1,1\n.shared .align 4 .b8 s[64];\n.loc 1 2 3\ncall f,(a);\nret;\n}\n"),
];

const POLICY: &[u8] = b"must-hold = [\"*.so\"]\n[archs]\nrequire = [\"sm_80\", \"gfx90a\"]\nforbid = [\"gfx906\"]\n[images]\nintact = true\n\
    debug = \"none\"\nregistered = true\nduplicates = false\ncompressed = true\n[sizes]\ntotal = \"1 GB\"\nfile = \"10 %\"\n\
    [[kernels]]\nname = \"_Z*\"\nmax-registers = 255\narchs = \"all\"\n\0lib/libanswer.so";

/// A SYCLBIN file without abstract modules, with one device image of four bytes.
#[rustfmt::skip]
const SYCLBIN: &[u8] = b"IBYS\x01\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0arch=2|\ncode";

/// A zip file with a stored member `a` of one byte.
#[rustfmt::skip]
const ZIP: &[u8] = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\x43\xbe\xb7\xe8\x01\0\0\0\x01\0\0\0\x01\0\0\0aa\
    PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0\x43\xbe\xb7\xe8\x01\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0a\
    PK\x05\x06\0\0\0\0\x01\0\x01\0\x2f\0\0\0\x20\0\0\0\0\0";

/// Saves every seed by target, name and content.
pub fn save_all(mut save: impl FnMut(&str, &str, &[u8]) -> io::Result<()>) -> io::Result<()> {
    TEXTS.iter().try_for_each(|(target, name, content)| save(target, name, content))
}
