//! The drop-ins as the tools of LLVM 23 and 24, and offload binaries of version 2. No such tools are installed: the
//! expected values come from LLVM's tests in `llvm/test/tools/llvm-offload-binary` and
//! `clang/test/Driver/linker-wrapper-image.c`.

use crate::dropin::called;
use crate::{Run, Sandbox};

const TOOL: &str = "llvm-offload-binary-23";
const LATER: &str = "llvm-offload-binary-24";
const UNSPECIFIED: &str = "llvm-offload-binary";

/// Returns a directory with `plain`, a binary of two images, and `nested`, one of that binary and another image.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("input.ll", "; a text\n");
    let image = |file: &str, arch: &str| format!("--image=file={file},arch={arch},triple=x-y-z");
    let pack = |name: &str, images: &[String]| called(&sandbox, TOOL, &format!("-o {name} {}", images.join(" "))).ok();
    pack("plain", &[image("input.ll", "abc"), image("input.ll", "def")]);
    pack("nested", &[image("plain", "nested"), image("input.ll", "ghi")]);
    sandbox
}

#[test]
fn several_images_are_entries_of_one_binary() {
    let sandbox = sandbox();
    let plain = sandbox.read("plain");
    let word = |at: usize| u64::from_le_bytes(plain[at..at + 8].try_into().unwrap());
    assert_eq!(plain[4..8], 2_u32.to_le_bytes(), "version");
    assert_eq!((word(8), word(24)), (plain.len() as u64, 2), "size and entries");
    called(&sandbox, "llvm-offload-binary-22", "-o old --image=file=input.ll --image=file=input.ll").ok();
    assert_eq!(sandbox.read("old")[4..8], 1_u32.to_le_bytes(), "LLVM 22 writes version 1");
    // The image is aligned, so that it can be read in place.
    let listed = sandbox.fatbin("scan plain").ok();
    assert!(listed.contains("2 device images") && listed.contains("  abc ") && listed.contains("  def "), "{listed}");
}

#[test]
fn an_entry_without_an_image_is_listed_and_no_device_code() {
    let sandbox = sandbox();
    let mut bytes = sandbox.read("plain");
    bytes[32 + 4] = 1;
    bytes[32 + 32] = 0;
    sandbox.file("plain", bytes);
    let line = "metadata without device code: x-y-z abc: no properties\n";
    let listed = sandbox.fatbin("scan -v plain").ok();
    assert!(listed.contains(", 1 device image\n") && listed.contains("  metadata  "), "{listed}");
    assert!(listed.ends_with(&format!("  {line}")), "{listed}");
    let inspected = sandbox.fatbin("inspect plain").ok();
    assert!(inspected.starts_with("plain: image 0: x-y-z def ") && !inspected.contains("image 1"), "{inspected}");
    assert!(inspected.ends_with(&format!("plain: {line}")), "{inspected}");
    assert_eq!(sandbox.fatbin("extract plain -o out --index").ok().lines().count(), 2);
    let index: serde_json::Value = serde_json::from_slice(&sandbox.read("out/index.json")).unwrap();
    assert_eq!((&index["images"][0]["arch"], &index["metadata"][0]["arch"]), (&"def".into(), &"abc".into()));
}

#[test]
fn without_a_request_all_images_are_extracted_and_those_of_inner_binaries() {
    let sandbox = sandbox();
    let expected = "Extracted: plain-x-y-z-abc.0.\nExtracted: plain-x-y-z-def.1.\n";
    assert_eq!(called(&sandbox, TOOL, "plain").ok(), expected);
    let expected = "Extracted: nested-x-y-z-abc.0.\nExtracted: nested-x-y-z-def.1.\nExtracted: nested-x-y-z-ghi.2.\n";
    assert_eq!(called(&sandbox, TOOL, "nested").ok(), expected);
    for name in ["plain-x-y-z-def.1.", "nested-x-y-z-ghi.2."] {
        assert_eq!(sandbox.read(name), b"; a text\n", "{name}");
    }
    // An entry without an arch has no dash for it.
    called(&sandbox, TOOL, "-o bare --image=file=input.ll,triple=t").ok();
    assert_eq!(called(&sandbox, TOOL, "bare --image=triple=t").ok(), "Extracted: bare-t.0.\n");
}

#[test]
fn shared_libraries_are_ignored() {
    let sandbox = sandbox();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o object a").ok();
    let mut library = sandbox.read("object");
    library[16] = 3;
    sandbox.file("library", library);
    assert_eq!(called(&sandbox, TOOL, "object").ok(), "Extracted: object-amdgcn-amd-amdhsa-gfx90a.0.o\n");
    assert_eq!(called(&sandbox, TOOL, "library").ok(), "");
}

#[test]
fn an_inner_binary_is_extracted_whole_by_its_own_keys() {
    let sandbox = sandbox();
    assert_eq!(called(&sandbox, TOOL, "nested --image=file=inner,arch=nested,triple=x-y-z").ok(), "");
    assert_eq!(sandbox.read("inner"), sandbox.read("plain"));
    let by_name = called(&sandbox, TOOL, "nested --image=arch=nested").ok();
    assert_eq!(by_name, "Extracted: nested-x-y-z-abc.0.\nExtracted: nested-x-y-z-def.1.\n");
}

#[test]
fn a_malformed_binary_is_an_error_outside_and_inside() {
    let sandbox = sandbox();
    sandbox.file("bad", b"\x10\xff\x10\xad\x0a");
    called(&sandbox, TOOL, "-o outer --image=file=bad,arch=nested,triple=x-y-z").ok();
    for input in ["bad", "outer"] {
        let run = called(&sandbox, TOOL, input);
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{input}");
        assert!(run.err.contains(&format!("error: {input}: offload binary version at 0x")), "{}", run.err);
    }
    // Every level is a binary with one image.
    let mut level = "input.ll".to_owned();
    for depth in 0..10 {
        let next = format!("level{depth}");
        called(&sandbox, TOOL, &format!("-o {next} --image=file={level},triple=t")).ok();
        level = next;
    }
    let run = called(&sandbox, TOOL, &level);
    assert!(run.status == 1 && run.err.ends_with("not opened: inside of 8 containers\n"), "{}", run.err);
}

#[test]
fn a_member_of_an_archive_is_selected_by_its_name() {
    let sandbox = sandbox();
    sandbox.file("aaaa", "aaaa\n").file("bbbb", "bbbb\n");
    let keys = "triple=x-y-z,arch=gfx90a,kind=openmp";
    for (content, name) in [("aaaa", "a.o"), ("bbbb", "b.o")] {
        called(&sandbox, TOOL, &format!("-o {name} --image=file={content},{keys}")).ok();
    }
    let members = ["a.o", "b.o"].map(|name| (name, sandbox.read(name)));
    sandbox.file("lib.a", archive(&members));
    for tool in [TOOL, LATER, UNSPECIFIED] {
        for (member, content) in [("a.o", "aaaa\n"), ("b.o", "bbbb\n")] {
            called(&sandbox, tool, &format!("lib.a --image=member={member},{keys},file=out")).ok();
            assert_eq!(sandbox.read("out"), content.as_bytes(), "{tool} {member}");
        }
    }
    let run = called(&sandbox, TOOL, &format!("lib.a --image={keys},file=both"));
    assert!(run.status == 0 && run.err.contains("Multiple inputs match to a single file, 'both'"), "{}", run.err);
    std::fs::remove_file(sandbox.path("out")).unwrap();
    called(&sandbox, "llvm-offload-binary-22", "a.o --image=member=a.o,file=out");
    assert!(!sandbox.path("out").exists(), "a string of the image for LLVM 22");
}

/// Returns a static library without a symbol table.
fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let name = format!("{name}/");
        bytes.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len()).bytes());
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

#[test]
fn llvm_24_compresses_and_reads_several_binaries_back_to_back() {
    let sandbox = sandbox();
    for tool in [LATER, UNSPECIFIED] {
        for options in
            ["", "--compression-format=zstd --compression-level=-5", "--compression-format=zlib --compression-level=9"]
        {
            called(&sandbox, tool, &format!("-o c --compress {options} --image=file=input.ll,arch=abc,triple=x-y-z"))
                .ok();
            assert_eq!(sandbox.read("c")[4..8], 3_u32.to_le_bytes(), "{tool} {options}");
            called(&sandbox, tool, "-o u --image=file=input.ll,arch=v").ok();
            sandbox.file("both", [sandbox.read("c"), sandbox.read("u")].concat());
            for keys in ["arch=abc,triple=x-y-z", "arch=v"] {
                called(&sandbox, tool, &format!("both --image=file=out,{keys}")).ok();
                assert_eq!(sandbox.read("out"), b"; a text\n", "{tool} {options} {keys}");
            }
        }
        let run =
            called(&sandbox, tool, "-o bad --compress --compression-format=zlib --compression-level=12 --image=file=u");
        let message = format!("{tool}: error: invalid zlib compression level 12; expected a value in [0, 9]\n");
        assert_eq!((run.status, run.err), (1, message));
    }
    assert_eq!(called(&sandbox, LATER, "both").ok(), "Extracted: both-x-y-z-abc.0.\nExtracted: both--v.1.\n");
}

#[test]
fn a_specified_release_has_only_its_own_options_and_versions() {
    let sandbox = sandbox();
    called(&sandbox, LATER, "-o c --compress --image=file=input.ll").ok();
    let cases: [(&str, &str, &str); 5] = [
        ("llvm-offload-binary-22", "-o x --compress --image=file=c", "Unknown command line argument '--compress'"),
        (TOOL, "-o x --compress --image=file=c", "Unknown command line argument '--compress'"),
        ("llvm-offload-binary-22", "plain --image=", "unsupported version 2 (supported: 1 in LLVM 22)"),
        (TOOL, "c --image=", "unsupported version 3 (supported: 1 and 2 in LLVM 23)"),
        ("llvm-offload-wrapper-22", "--kind=sycl -o x.bc c", "for the --kind option: Cannot find option named 'sycl'!"),
    ];
    for (tool, line, message) in cases {
        let run: Run = called(&sandbox, tool, line);
        assert!(run.status == 1 && run.err.contains(message), "{tool} {line}: {}", run.err);
    }
    assert_eq!(called(&sandbox, UNSPECIFIED, "plain").ok(), "", "as by LLVM 22, whose options suffice");
    called(&sandbox, UNSPECIFIED, "plain --image=file=out,arch=def").ok();
    assert_eq!(sandbox.read("out"), b"; a text\n");
}

/// The main branch of LLVM lists and unbundles such IDs as they are.
#[test]
fn clang_offload_bundler_keeps_subarchitectures_as_they_are() {
    let sandbox = sandbox();
    sandbox.file("host", "host").file("device", "device");
    let host = "host-x86_64-unknown-linux-gnu-";
    for id in ["hip-amdgpu9.4-amd-amdhsa--gfx9-4-generic:xnack+", "hip-amdgpu9.0a-amd-amdhsa--gfx90a"] {
        for tool in ["clang-offload-bundler-23", "clang-offload-bundler"] {
            let targets = format!("-targets={host},{id}");
            called(&sandbox, tool, &format!("-type=bc {targets} -input=host -input=device -output=b")).ok();
            assert_eq!(called(&sandbox, tool, "-type=bc -list -input=b").ok(), format!("{host}\n{id}\n"));
            called(&sandbox, tool, &format!("-type=bc -unbundle -targets={id} -input=b -output=out")).ok();
            assert_eq!(sandbox.read("out"), b"device", "{tool} {id}");
        }
        let run =
            called(&sandbox, "clang-offload-bundler-22", &format!("-type=bc -targets={id} -input=host -output=b"));
        assert!(run.status == 1 && run.err.contains(", unknown target triple 'amdgpu9."), "{}", run.err);
    }
}

#[test]
fn llvm_offload_wrapper_registers_sycl_binaries_by_address_and_size() {
    let sandbox = sandbox();
    let images = "--image=file=input.ll,triple=spirv64,kind=sycl --image=file=input.ll,triple=spir64,kind=sycl";
    called(&sandbox, TOOL, &format!("-o sycl {images}")).ok();
    for tool in ["llvm-offload-wrapper-23", "llvm-offload-wrapper"] {
        called(&sandbox, tool, "--kind=sycl --triple=x86_64-unknown-linux-gnu -o out.ll sycl").ok();
        let ir = String::from_utf8(sandbox.read("out.ll")).unwrap();
        for line in [
            "declare void @__sycl_register_lib(i8*, i64)",
            "declare void @__sycl_unregister_lib(i8*, i64)",
            "define internal void @sycl.descriptor_reg()",
            "call void @atexit(i8* bitcast (void ()* @sycl.descriptor_unreg",
        ] {
            assert!(ir.contains(line), "{tool}: {line} in\n{ir}");
        }
        let binary = ir.lines().find(|line| line.starts_with("@.sycl_offloading.binary = ")).unwrap();
        assert!(binary.contains("section \".llvm.offloading\"") && !ir.contains("llvm_offload_entries"), "{tool}");
        assert!(ir.contains(&format!("i64 {}", sandbox.read("sycl").len())), "{tool}");
        called(&sandbox, tool, "--kind=sycl --triple=x86_64-unknown-linux-gnu -o out.o sycl").ok();
        let (object, binary) = (sandbox.read("out.o"), sandbox.read("sycl"));
        assert!(object.windows(binary.len()).any(|bytes| bytes == binary), "{tool}: unchanged");
    }
    // Images without a container get one binary of the release's version.
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    for (abi, containers, version) in [("llvm22", 2, 1), ("llvm23", 1, 2), ("main", 1, 2)] {
        sandbox.fatbin(&format!("wrap --kind sycl --abi {abi} -o wrapped.o a b")).ok();
        let json = sandbox.fatbin("scan --json wrapped.o").ok();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let found = json["files"][0]["containers"].as_array().unwrap();
        assert_eq!((found.len(), &found[0]["version"]), (containers, &version.into()), "{abi}");
    }
}

#[test]
fn images_of_openmp_are_in_binaries_of_the_version_of_the_release() {
    let sandbox = sandbox();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    sandbox.fatbin("pack --format-version 1 -o one --image file=a,kind=openmp").ok();
    sandbox.fatbin("pack --format-version 2 -o two --image file=a,kind=openmp").ok();
    for (abi, version) in [("llvm16", 1), ("llvm22", 1), ("llvm23", 2), ("llvm24", 2)] {
        for input in ["a", "one", "two"] {
            sandbox.fatbin(&format!("wrap --kind openmp --abi {abi} -o wrapped.o {input}")).ok();
            let json: serde_json::Value = serde_json::from_str(&sandbox.fatbin("scan --json wrapped.o").ok()).unwrap();
            let container = &json["files"][0]["containers"][0];
            let found = (&container["version"], &container["images"][0]["arch"]);
            assert_eq!(found, (&version.into(), &"gfx90a".into()), "{abi}: {input}");
            sandbox.fatbin("verify wrapped.o").ok();
        }
    }
}

#[test]
fn llvm_offload_wrapper_has_a_section_for_relocatable_links() {
    let sandbox = sandbox();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let section = |options: &str| {
        called(&sandbox, "llvm-offload-wrapper-23", &format!("--kind=openmp {options} -o out.ll a")).ok();
        let ir = String::from_utf8(sandbox.read("out.ll")).unwrap();
        let image = ir.lines().find(|line| line.contains(".llvm.offloading")).unwrap().to_owned();
        image.split('"').rev().nth(1).unwrap().to_owned()
    };
    assert_eq!(section(""), ".llvm.offloading");
    assert_eq!(section("--relocatable"), ".llvm.offloading.relocatable");
}

#[test]
fn placeholders_are_retained_since_llvm_24() {
    let sandbox = sandbox();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    // SHF_ALLOC is 2, SHF_GNU_RETAIN 0x200000.
    for (abi, flags) in [("llvm22", 2), ("llvm23", 2), ("llvm24", 0x20_0002), ("main", 0x20_0002)] {
        sandbox.fatbin(&format!("wrap --kind openmp --abi {abi} --host x86_64-unknown-linux-gnu -o out.o a")).ok();
        let object = sandbox.read("out.o");
        assert_eq!(section_flags(&object, b"llvm_offload_entries\0"), flags, "{abi}");
    }
}

/// Returns the flags of a section of a 64-bit ELF file.
fn section_flags(object: &[u8], name: &[u8]) -> u64 {
    let number = |at: usize, size: usize| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&object[at..at + size]);
        u64::from_le_bytes(bytes)
    };
    let (headers, count, strings) = (number(0x28, 8) as usize, number(0x3c, 2) as usize, number(0x3e, 2) as usize);
    let header = |index: usize| headers + index * 64;
    let names = number(header(strings) + 24, 8) as usize;
    let found = (0..count).find(|&index| object[names + number(header(index), 4) as usize..].starts_with(name));
    number(header(found.unwrap()) + 8, 8)
}

#[cfg(target_os = "linux")]
#[test]
fn link_reads_binaries_of_every_version() {
    let sandbox = sandbox();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    for version in [1, 2, 3] {
        let images = "--image file=a,kind=openmp --image file=b,kind=openmp";
        sandbox.fatbin(&format!("pack --format-version {version} {images} -o in")).ok();
        sandbox.fatbin("link --emit-fatbin-only -- ld in -o out").ok();
        let listed = sandbox.fatbin("scan out").ok();
        assert!(listed.contains(" gfx90a ") && listed.contains(" sm_90 "), "version {version}: {listed}");
    }
    for codec in ["zstd", "zlib"] {
        sandbox.fatbin(&format!("pack --compress={codec} --image file=a,kind=hip -o compressed")).ok();
        sandbox.fatbin("link --emit-fatbin-only -- ld compressed -o out").ok();
        sandbox.fatbin("extract out --to image").ok();
        assert_eq!(sandbox.read("image"), sandbox.read("a"), "{codec}");
    }
    // Cut after the header, and with a wrong size.
    let mut bytes = sandbox.read("compressed");
    bytes.truncate(100);
    sandbox.file("cut", &bytes);
    let run = sandbox.fatbin("link --emit-fatbin-only -- ld cut -o out2");
    assert!(run.status == 2 && run.err.starts_with("fatbin: cut: offload binary"), "{}", run.err);
}
