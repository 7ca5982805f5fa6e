//! `fatbin wrap`: inputs and the objects written.

use crate::Sandbox;

#[test]
fn reads_unspecified_metadata_from_the_image() {
    let sandbox = Sandbox::new();
    for image in ["answer-x86_64.so", "answer-gfx90a-xnack+.hsaco", "answer-sm_90.cubin", "answer-sm_80.ptx"] {
        sandbox.fixture(image, image);
    }
    sandbox
        .fatbin(
            "wrap --kind openmp -o w.o answer-x86_64.so answer-gfx90a-xnack+.hsaco answer-sm_90.cubin answer-sm_80.ptx",
        )
        .ok();
    let columns: Vec<Vec<String>> = sandbox
        .fatbin("scan w.o")
        .ok()
        .lines()
        .skip(2)
        .map(|line| line.split_whitespace().skip(2).take(4).map(str::to_owned).collect())
        .collect();
    let expected = [
        ["openmp", "x86_64-unknown-linux-gnu", "-", "elf"],
        ["openmp", "amdgcn-amd-amdhsa", "gfx90a:xnack+", "elf"],
        ["openmp", "nvptx64-nvidia-cuda", "sm_90", "elf"],
        ["openmp", "nvptx64-nvidia-cuda", "sm_80", "ptx"],
    ];
    assert_eq!(columns, expected);
}

#[test]
fn specified_metadata_overrides_that_of_the_image() {
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer-gfx90a.hsaco", "a")
        .fatbin("wrap --kind openmp -o w.o --image file=a,arch=gfx90a:sramecc+")
        .ok();
    assert!(sandbox.fatbin("scan w.o").ok().contains("gfx90a:sramecc+"));
}

#[test]
fn output_is_independent_of_paths() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    here.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o w.o a").ok();
    there.fixture("answer-gfx90a.hsaco", "other-name").fatbin("wrap --kind openmp -o x.o ./other-name").ok();
    assert_eq!(here.read("w.o"), there.read("x.o"));
}

#[test]
fn embeds_a_file_of_offload_binaries_unchanged() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("wrap --kind openmp -o w.o a b").ok();
    // The section of an object is such a file: copy its contents.
    let object = sandbox.read("w.o");
    let start = object.windows(4).position(|w| w == [0x10, 0xff, 0x10, 0xad]).unwrap();
    let size = |at: usize| u64::from_le_bytes(object[at + 8..at + 16].try_into().unwrap()) as usize;
    let first = size(start);
    let end = start + first + size(start + first);
    sandbox.file("packed", &object[start..end]);
    sandbox.fatbin("wrap --kind openmp -o again.o packed").ok();
    assert_eq!(sandbox.read("again.o"), object);

    let run = sandbox.fatbin("wrap --kind openmp -o again.o --image file=packed,arch=gfx90a");
    assert_eq!(run.status, 2);
    let message = "packed: arch=gfx90a does not apply to a container, whose entries have their own; omit it";
    assert_eq!(run.err, format!("fatbin: {message}\n"));
}

#[test]
fn embeds_raw_bytes_that_scan_still_finds() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp --raw -o w.o a").ok();
    let table = sandbox.fatbin("scan w.o").ok();
    assert!(table.contains("device-elf"), "{table}");
    sandbox.fatbin("extract w.o -o out").ok();
    assert_eq!(sandbox.read("out/w.o.0-amdgcn-amd-amdhsa-gfx90a.hsaco"), sandbox.read("a"));
}

#[test]
fn requires_a_triple_for_unknown_content_unless_raw() {
    let sandbox = Sandbox::new();
    sandbox.file("a", "what is this");
    let run = sandbox.fatbin("wrap --kind openmp -o w.o a");
    assert_eq!(run.status, 2);
    assert_eq!(
        run.err,
        "fatbin: a: is no device image: neither ELF, bitcode, SPIR-V nor PTX; specify --image file=a,triple=TRIPLE\n"
    );
    sandbox.fatbin("wrap --kind openmp -o w.o --raw a").ok();
}

/// Only the program knows the format of code for targets that have no table here.
#[test]
fn refuses_unknown_content_for_a_gpu_unless_raw() {
    let sandbox = Sandbox::new();
    sandbox.file("a", "what is this");
    let gpus = [
        ("openmp", "triple=amdgcn-amd-amdhsa", "AMD"),
        ("openmp", "arch=gfx90a", "AMD"),
        ("openmp", "triple=nvptx64-nvidia-cuda,arch=sm_90", "NVIDIA"),
        ("hip", "triple=amdgcn-amd-amdhsa,arch=gfx90a", "AMD"),
        ("cuda", "triple=nvptx64-nvidia-cuda,arch=sm_90", "NVIDIA"),
        ("sycl", "triple=spir64_gen-unknown-unknown", "SPIR-V"),
    ];
    for (kind, target, platform) in gpus {
        let run = sandbox.fatbin(&format!("wrap --kind {kind} -o w.o --image file=a,{target}"));
        let reason = format!("is no code for {platform} devices: neither ELF, bitcode, SPIR-V nor PTX");
        assert_eq!(run.err, format!("fatbin: a: {reason}; use --raw to embed it unchanged\n"), "{kind} {target}");
        assert_eq!((run.status, sandbox.path("w.o").exists()), (2, false), "{kind} {target}");
    }
    for target in ["triple=ve-unknown-linux-gnu", "triple=x86_64-unknown-linux-gnu"] {
        sandbox.fatbin(&format!("wrap --kind openmp -o w.o --image file=a,{target}")).ok();
    }
    sandbox.fatbin("wrap --kind openmp --raw -o w.o --image file=a,triple=amdgcn-amd-amdhsa").ok();
}

#[test]
fn writes_an_object_to_a_device() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o /dev/null a").ok();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn aligns_large_images_for_fast_copies() {
    let sandbox = Sandbox::new();
    sandbox.file("large", vec![1; 3 << 20]);
    sandbox.fatbin("wrap --kind openmp -o w.o --image file=large,triple=ve-unknown-linux-gnu").ok();
    let object = sandbox.read("w.o");
    let image = object.windows(16).position(|bytes| bytes == [1; 16]).unwrap();
    assert_eq!(image, 64 << 10);
    assert!(object.len() < (3 << 20) + (64 << 10) + 4096);
    sandbox.fatbin("extract w.o -o out").ok();
    assert_eq!(sandbox.read("out/w.o.0-openmp-ve-unknown-linux-gnu.bin"), sandbox.read("large"));
}

#[test]
fn host_option_sets_the_machine_of_the_object() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    // Machine numbers of the ELF specifications; IBM Z is big-endian.
    let hosts = [
        ("x86_64-unknown-linux-gnu", [62, 0]),
        ("aarch64-linux-gnu", [183, 0]),
        ("riscv64-unknown-linux-musl", [243, 0]),
        ("ppc64le-linux", [21, 0]),
        ("s390x-ibm-linux-gnu", [0, 22]),
        ("loongarch64-unknown-linux-gnu", [2, 1]),
    ];
    for (host, machine) in hosts {
        sandbox.fatbin(&format!("wrap --kind openmp -o w.o --host {host} a")).ok();
        assert_eq!(sandbox.read("w.o")[18..20], machine, "{host}");
        assert!(sandbox.fatbin("scan w.o").ok().contains("gfx90a"), "{host}");
    }
}

#[test]
fn host_option_selects_objects_for_windows() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    // Machine numbers of PE Format.
    for (host, machine) in [
        ("x86_64-pc-windows-msvc", [0x64, 0x86]),
        ("aarch64-pc-windows-msvc", [0x64, 0xaa]),
        ("x86_64-w64-mingw32", [0x64, 0x86]),
    ] {
        for abi in ["llvm19", "llvm22", "llvm24", "main"] {
            for (kind, container) in [("openmp", "offload-binary"), ("hip", "bundle")] {
                assert_eq!(
                    sandbox.fatbin(&format!("wrap --kind {kind} --abi {abi} -o w.obj --host {host} a")).status,
                    0
                );
                assert_eq!(sandbox.read("w.obj")[..2], machine, "{host}");
                let found = sandbox.fatbin("scan w.obj").ok();
                assert!(found.contains("gfx90a") && found.contains(container), "{host}: {found}");
                sandbox.fatbin("verify w.obj").ok();
            }
        }
    }
    let run = sandbox.fatbin("wrap --kind hip --abi llvm18 -o old.obj --host x86_64-pc-windows-msvc a");
    assert_eq!(
        (run.status, run.err.as_str()),
        (
            2,
            "fatbin: --abi llvm18: host x86_64-pc-windows-msvc is not supported (available for it: llvm19, llvm20, llvm21, \
             llvm22, llvm23, llvm24, main)\n"
        )
    );
    let run = sandbox.fatbin("wrap --kind hip --large-images always -o old.obj --host x86_64-pc-windows-msvc a");
    let message = "fatbin: --large-images always: objects for x86_64-pc-windows-msvc have no large sections; omit it\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
}

#[test]
fn host_option_selects_objects_for_macos() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    // The magic of 64-bit Mach-O, then the type of the processor.
    for (host, cpu) in [("x86_64-apple-darwin23.1.0", [7, 0, 0, 1]), ("arm64-apple-macosx14.0", [12, 0, 0, 1])] {
        for abi in ["llvm21", "llvm22", "main"] {
            for (kind, container) in [("openmp", "offload-binary"), ("hip", "bundle")] {
                for entry in ["", "--allow-missing-kernels --entry kernel"] {
                    sandbox.fatbin(&format!("wrap --kind {kind} --abi {abi} {entry} -o w.o --host {host} a")).ok();
                    assert_eq!(sandbox.read("w.o")[..8], [[0xcf, 0xfa, 0xed, 0xfe], cpu].concat(), "{host}");
                    let found = sandbox.fatbin("scan w.o").ok();
                    assert!(found.contains("gfx90a") && found.contains(container), "{host}: {found}");
                    sandbox.fatbin("verify w.o").ok();
                }
            }
        }
    }
    let run = sandbox.fatbin("wrap --kind hip --abi llvm20 -o old.o --host arm64-apple-macosx a");
    let message = "fatbin: --abi llvm20: host arm64-apple-macosx is not supported (available for it: llvm21, llvm22, llvm23, llvm24, main)\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
    // An object without entries has the placeholder in the section that clang uses.
    sandbox.fatbin("wrap --kind hip -o entries.o --host arm64-apple-macosx a").ok();
    let run = sandbox.fatbin("wrap --kind hip --match entries.o -v -o w.o a");
    assert_eq!(run.err, "fatbin: w.o: ABI llvm22, host arm64-apple-macosx\nfatbin: w.o: 1 image: ROCm 6.3\n");
}

#[test]
fn rejects_unsupported_hosts() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let run = sandbox.fatbin("wrap --kind openmp -o w.o --host mips64-unknown-linux-gnu a");
    assert_eq!(run.status, 2);
    assert_eq!(
        run.err,
        "fatbin: mips64-unknown-linux-gnu: unsupported host (available: x86_64, aarch64, riscv64, powerpc64le, s390x, \
         loongarch64 with linux, linux-gnu, linux-musl; x86_64, aarch64 with windows, windows-msvc, win32; x86_64 with \
         windows-gnu, mingw32; x86_64, aarch64 with macosx, macos, darwin)\n"
    );
    assert_eq!(sandbox.names(), ["a"]);
}

/// Returns kind, triple, arch and image kind of each row that `scan` prints.
fn images(sandbox: &Sandbox, file: &str) -> Vec<Vec<String>> {
    let table = sandbox.fatbin(&format!("scan {file}")).ok();
    table.lines().skip(2).map(|line| line.split_whitespace().skip(2).take(4).map(str::to_owned).collect()).collect()
}

#[test]
fn cuda_registers_one_fat_binary_of_cubins_and_ptx() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "cubin").fixture("answer-sm_80.ptx", "ptx");
    sandbox.fatbin("wrap --kind cuda -o w.o cubin ptx").ok();
    let nvptx = "nvptx64-nvidia-cuda";
    assert_eq!(images(&sandbox, "w.o"), [["cuda", nvptx, "sm_90", "elf"], ["cuda", nvptx, "sm_80", "ptx"]]);
    sandbox.fatbin("extract w.o -o out").ok();
    assert_eq!(sandbox.read("out/w.o.0-cuda-nvptx64-nvidia-cuda-sm_90.cubin"), sandbox.read("cubin"));
    assert_eq!(sandbox.read("out/w.o.1-cuda-nvptx64-nvidia-cuda-sm_80.ptx"), sandbox.read("ptx"));
}

#[test]
fn hip_registers_one_bundle_with_a_host_entry_and_aligned_code_objects() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-gfx90a-xnack+.hsaco", "b");
    // No two of them differ only in whether a feature is specified: runtimes could not choose between such images.
    sandbox.fatbin("wrap --kind hip --host x86_64-unknown-linux-gnu -o w.o --image file=a,arch=gfx90a:xnack- b").ok();
    let run = sandbox.fatbin("wrap --kind hip -o conflict.o a b");
    let ids = "hipv4-amdgcn-amd-amdhsa--gfx90a and hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+";
    let message =
        format!("fatbin: conflicting targets {ids}: all entries for a processor must set the same features\n");
    assert_eq!((run.status, run.err, sandbox.path("conflict.o").exists()), (2, message, false));
    let (host, amdgcn) = ("x86_64-unknown-linux-gnu", "amdgcn-amd-amdhsa");
    let expected = [
        ["host", host, "-", "empty"],
        ["hip", amdgcn, "gfx90a:xnack-", "elf"],
        ["hip", amdgcn, "gfx90a:xnack+", "elf"],
    ];
    assert_eq!(images(&sandbox, "w.o"), expected);
    let bundle = sandbox.read("w.o");
    let start = bundle.windows(24).position(|bytes| bytes == b"__CLANG_OFFLOAD_BUNDLE__").unwrap();
    assert_eq!(start % 4096, 0);
    assert_eq!(&bundle[start + 4096..start + 4100], b"\x7fELF");
}

#[test]
fn embeds_an_existing_fat_binary_unchanged() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    for (kind, image, magic) in [("hip", "a", &b"__CLANG_OFFLOAD_BUNDLE__"[..]), ("cuda", "b", b"\x50\xed\x55\xba")] {
        sandbox.fatbin(&format!("wrap --kind {kind} -o w.o {image}")).ok();
        let object = sandbox.read("w.o");
        let start = object.windows(magic.len()).position(|bytes| bytes == magic).unwrap();
        let document: serde_json::Value = serde_json::from_str(&sandbox.fatbin("scan --json w.o").ok()).unwrap();
        let size = document["files"][0]["containers"][0]["size"].as_u64().unwrap() as usize;
        sandbox.file("fatbin", &object[start..start + size]);
        sandbox.fatbin(&format!("wrap --kind {kind} -o again.o fatbin")).ok();
        assert_eq!(sandbox.read("again.o"), object, "{kind}");
    }
}

#[test]
fn rejects_images_that_contradict_the_options() {
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer-gfx90a.hsaco", "hsaco")
        .fixture("answer-sm_90.cubin", "cubin")
        .fixture("answer-sm_80.ptx", "ptx");
    sandbox.fixture("answer-x86_64.so", "host.so").file("text", "hello");
    let hip = "HIP takes AMD code objects, or one offload bundle";
    let cuda = "CUDA takes cubins and PTX, or one CUDA fat binary";
    let cases = [
        ("--kind hip ptx", format!("ptx: is PTX; {hip}")),
        ("--kind hip hsaco host.so", format!("host.so: is elf for x86_64-unknown-linux-gnu; {hip}")),
        ("--kind cuda hsaco", format!("hsaco: is elf for amdgcn-amd-amdhsa, which HIP takes; {cuda}")),
        ("--kind cuda text", format!("text: is of unknown kind; {cuda}")),
        ("--kind cuda cubin cubin", "cubin: duplicate image for sm_90; a fat binary holds one per processor".to_owned()),
        ("--kind cuda --image file=cubin,arch=sm_80", "cubin: arch=sm_80 contradicts the image's header: sm_90".to_owned()),
        (
            "--kind cuda --abi llvm14 cubin",
            "--abi llvm14: cuda is not supported (available for cuda: llvm15, llvm16, llvm17, llvm18, llvm19, llvm20, llvm21, \
             llvm22, llvm23, llvm24, main)"
                .to_owned(),
        ),
        ("--kind sycl --abi llvm21 hsaco", "--abi llvm21: sycl is not supported (available for sycl: llvm22, llvm23, llvm24, main)".to_owned()),
        ("--kind openmp --allow-missing-kernels --entry k --entry k=other hsaco", "duplicate entry k".to_owned()),
        ("--kind openmp --match hsaco hsaco", "hsaco: no section of offload entries; specify the release with --abi".to_owned()),
        ("--kind openmp --match text hsaco", "text: not an object file: Could not read file magic".to_owned()),
    ];
    for (arguments, message) in cases {
        let run = sandbox.fatbin(&format!("wrap -o w.o {arguments}"));
        assert_eq!((run.status, run.err), (2, format!("fatbin: {message}\n")), "{arguments}");
        assert!(!sandbox.path("w.o").exists());
    }
}

#[test]
fn matches_objects_with_entries_written_by_fatbin() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    for (abi, host) in [
        ("llvm17", "aarch64-unknown-linux-gnu"),
        ("llvm19", "riscv64-unknown-linux-gnu"),
        ("llvm20", "s390x-unknown-linux-gnu"),
        ("llvm19", "x86_64-pc-windows-msvc"),
        ("llvm20", "aarch64-pc-windows-msvc"),
        ("llvm22", "x86_64-pc-windows-msvc"),
        ("llvm22", "x86_64-unknown-linux-gnu"),
    ] {
        let words = "wrap --allow-missing-kernels --kind openmp --entry k --entry l -o entries.o a";
        assert_eq!(sandbox.fatbin(&format!("{words} --abi {abi} --host {host}")).status, 0);
        let run = sandbox.fatbin("wrap --kind openmp --match entries.o -v -o w.o a");
        assert!(run.status == 0 && run.err.contains(&format!("fatbin: w.o: ABI {abi}, host {host}\n")), "{}", run.err);
    }
    let run = sandbox.fatbin("wrap --kind openmp --match entries.o --host aarch64-linux-gnu -o w.o a");
    assert_eq!(run.err, "fatbin: entries.o: host is x86_64-unknown-linux-gnu, not aarch64-linux-gnu\n");
    // A COFF object does not state its C runtime.
    sandbox
        .fatbin("wrap --allow-missing-kernels --kind openmp --host x86_64-pc-windows-msvc --entry k -o entries.o a")
        .ok();
    sandbox.fatbin("wrap --kind openmp --match entries.o --host x86_64-w64-windows-gnu -o w.o a").ok();
    let run = sandbox.fatbin("wrap --kind openmp --match entries.o --host x86_64-linux-gnu -o w.o a");
    assert_eq!(run.err, "fatbin: entries.o: host is x86_64-pc-windows-msvc, not x86_64-linux-gnu\n");
}

#[test]
fn reads_entries_from_a_file() {
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer-gfx90a.hsaco", "a")
        .file("entries", "# kernels\nk1\n\nk2=host_k2\n# variables\nv,size=8,flags=0x10\n");
    sandbox.fatbin("wrap --allow-missing-kernels --kind hip --entries entries -o file.o a").ok();
    sandbox.fatbin("wrap --allow-missing-kernels --kind hip --entry k1 --entry k2=host_k2 --entry v,size=8,flags=16 -o options.o a").ok();
    assert_eq!(sandbox.read("file.o"), sandbox.read("options.o"));
    let run = sandbox
        .file("entries", "k1\nv,size=big\n")
        .fatbin("wrap --allow-missing-kernels --kind hip --entries entries -o file.o a");
    assert_eq!(run.err, "fatbin: entries:2: size=big: not a number: invalid digit found in string\n");
}

#[test]
fn places_images_in_large_sections_on_request() {
    use object::read::{Object, ObjectSection};
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    for (when, expected) in
        [("always", ".lrodata.llvm.offloading"), ("never", ".llvm.offloading"), ("auto", ".llvm.offloading")]
    {
        let host = "--host x86_64-unknown-linux-gnu";
        sandbox.fatbin(&format!("wrap --kind openmp {host} --large-images {when} -o w.o a")).ok();
        let bytes = sandbox.read("w.o");
        let object = object::File::parse(&*bytes).unwrap();
        let section = object.section_by_name(expected).unwrap_or_else(|| panic!("{when}: no {expected}"));
        let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else {
            panic!("an ELF section has ELF flags")
        };
        // SHF_X86_64_LARGE
        assert_eq!(sh_flags.0 & 0x1000_0000 != 0, when == "always", "{when}");
        assert_eq!(images(&sandbox, "w.o"), [["openmp", "amdgcn-amd-amdhsa", "gfx90a", "elf"]]);
    }
}

#[test]
fn adds_producer_notes_to_images() {
    use object::read::{Object, ObjectSection};
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").file("text", "no ELF file");
    sandbox.fatbin("wrap --kind openmp --abi llvm14 --offload-notes -o w.o a").ok();
    // This generation stores images in .rodata without a container.
    let bytes = sandbox.read("w.o");
    let section = object::File::parse(&*bytes).unwrap().section_by_name(".rodata").unwrap().data().unwrap().to_vec();
    let image = object::File::parse(&*section).unwrap();
    let note = image.section_by_name(".note.openmp").unwrap().data().unwrap();
    assert!(note.windows(6).any(|text| text == b"fatbin"), "{note:?}");
    let run = sandbox.fatbin("wrap --kind openmp --abi llvm14 --offload-notes -o x.o text");
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("fatbin: text: ELF header at 0x0: "), "{}", run.err);
}

#[test]
fn name_of_the_output_selects_the_format() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let beginnings: [(&str, &[u8]); 6] = [
        ("-o w.o", b"\x7fELF"),
        ("-o w.bc", b"BC\xc0\xde"),
        ("-o w.ll", b"source_filename = \"offload.wrapper.module\"\ntarget triple = \"aarch64-linux-gnu\"\n"),
        ("--emit bitcode -o w.o", b"BC\xc0\xde"),
        ("--emit text -o w.bc", b"source_filename"),
        ("--emit object -o w.ll", b"\x7fELF"),
    ];
    for (options, beginning) in beginnings {
        sandbox.fatbin(&format!("wrap --kind openmp --host aarch64-linux-gnu {options} a")).ok();
        let written = sandbox.read(options.split(' ').next_back().unwrap());
        assert!(written.starts_with(beginning), "{options}: {:?}", String::from_utf8_lossy(&written[..40]));
    }
}

#[test]
fn llvm_ir_has_no_large_sections() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    let run = sandbox.fatbin("wrap --kind openmp --large-images always -o w.bc a");
    assert_eq!(run.status, 2);
    assert_eq!(run.err, "fatbin: --large-images always: LLVM IR has no large sections; omit it or use --emit object\n");
    assert!(!sandbox.path("w.bc").exists());
}

#[test]
fn rejects_a_name_with_a_nul_byte() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").file("entries", b"good\nbad\0name\n");
    for output in ["w.o", "w.bc", "w.ll"] {
        let run = sandbox.fatbin(&format!("wrap --allow-missing-kernels --kind hip --entries entries -o {output} a"));
        assert_eq!(
            (run.status, run.err.as_str()),
            (2, "fatbin: invalid name \"bad\\0name\" in an entry: contains a NUL byte\n")
        );
        assert!(!sandbox.path(output).exists());
    }
}
