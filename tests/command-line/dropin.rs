//! The program under the names of LLVM tools.

use crate::program::write_program;
use crate::{Run, Sandbox};

/// Runs the program under another name, with arguments separated by white space.
pub fn called(sandbox: &Sandbox, name: &str, arguments: &str) -> Run {
    let link = sandbox.path(&format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !link.exists() {
        // Not a copy: a program that this process still has open, or a command that another test starts, cannot be run.
        #[cfg(unix)]
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fatbin"), &link).unwrap();
        #[cfg(not(unix))]
        std::fs::hard_link(env!("CARGO_BIN_EXE_fatbin"), &link).unwrap();
    }
    let mut run = crate::run(sandbox.command(&link).args(arguments.split_whitespace()));
    // Messages begin with the path of the tool.
    run.err = run.err.replace(link.to_str().unwrap(), name);
    run
}

#[test]
fn clang_offload_wrapper_registers_each_target_id() {
    let sandbox = Sandbox::new();
    sandbox
        .fixture("answer-gfx90a.hsaco", "gfx90a-binary.out")
        .fixture("answer-gfx90a-xnack+.hsaco", "xnack-binary.out");
    let documented = "-target x86_64-unknown-linux-gnu -o host-wrapper.o --offload-arch=gfx90a gfx90a-binary.out \
                      --offload-arch=gfx90a:xnack+ xnack-binary.out";
    called(&sandbox, "clang-offload-wrapper", documented).ok();
    let ours =
        "wrap --kind openmp --abi aomp --host x86_64-unknown-linux-gnu -o ours.o gfx90a-binary.out xnack-binary.out";
    sandbox.fatbin(ours).ok();
    assert_eq!(sandbox.read("host-wrapper.o"), sandbox.read("ours.o"));
    let object = String::from_utf8_lossy(&sandbox.read("ours.o")).into_owned();
    assert!(object.contains("gfx90a\0gfx90a:xnack+\0"), "the list of target ids has no gaps");
}

#[test]
fn clang_offload_wrapper_adds_notes_to_images() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    for (option, has_notes) in [("", false), ("--add-omp-offload-notes", true)] {
        called(&sandbox, "clang-offload-wrapper-14", &format!("-o out.o --target=x86_64-unknown-linux-gnu {option} a"))
            .ok();
        let found = sandbox.read("out.o").windows(14).any(|bytes| bytes == b"LLVMOMPOFFLOAD");
        assert_eq!(found, has_notes, "{option}");
    }
}

#[test]
fn clang_linker_wrapper_names_options_that_it_lacks() {
    let sandbox = Sandbox::new();
    for option in ["--bitcode-library", "--builtin-bitcode"] {
        let run = called(&sandbox, "clang-linker-wrapper-16", &format!("--linker-path=ld {option}=x -o out"));
        assert_eq!(run.status, 1, "{}", run.err);
        assert!(run.err.contains(option), "{}", run.err);
    }
}

#[test]
fn version_suffix_selects_the_abi() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-x86_64.so", "a");
    let cases = [
        ("clang-offload-wrapper-10", "--target=x86_64-unknown-linux-gnu", "openmp", "llvm10"),
        ("clang-offload-wrapper-15", "--target x86_64-unknown-linux-gnu", "openmp", "llvm14"),
        ("llvm-offload-wrapper-21.1", "-kind openmp -triple=x86_64-unknown-linux-gnu", "openmp", "llvm21"),
        ("x86_64-linux-gnu-llvm-offload-wrapper", "--kind=hip --triple=x86_64-unknown-linux-gnu", "hip", "llvm22"),
    ];
    for (name, arguments, kind, abi) in cases {
        called(&sandbox, name, &format!("{arguments} -o theirs.o a")).ok();
        sandbox
            .fatbin(&format!("wrap --kind {kind} --abi {abi} --raw --host x86_64-unknown-linux-gnu -o ours.o a"))
            .ok();
        assert_eq!(sandbox.read("theirs.o"), sandbox.read("ours.o"), "{name}");
    }
}

#[test]
fn wrappers_write_llvm_ir_where_it_will_be_compiled() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-x86_64.so", "a");
    let cases = [
        ("clang-offload-wrapper-14", "-target x86_64-pc-linux-gnu", "openmp", "llvm14"),
        ("llvm-offload-wrapper", "--kind=hip --triple=x86_64-pc-linux-gnu", "hip", "llvm22"),
    ];
    for (name, arguments, kind, abi) in cases {
        for (suffix, beginning) in [("bc", "BC"), ("ll", "source_filename"), ("o", "\u{7f}ELF")] {
            called(&sandbox, name, &format!("{arguments} -o theirs.{suffix} a")).ok();
            let host = "--host x86_64-pc-linux-gnu";
            sandbox.fatbin(&format!("wrap --kind {kind} --abi {abi} --raw {host} -o ours.{suffix} a")).ok();
            let written = sandbox.read(&format!("theirs.{suffix}"));
            assert!(written == sandbox.read(&format!("ours.{suffix}")), "{name}: {suffix}");
            assert!(written.starts_with(beginning.as_bytes()), "{name}: {suffix}");
        }
    }
}

/// Offload kind in the first entry of a binary.
pub fn offload_kind(sandbox: &Sandbox, path: &str) -> u16 {
    let bytes = sandbox.read(path);
    let entry = usize::from(bytes[16]);
    u16::from_le_bytes([bytes[entry + 2], bytes[entry + 3]])
}

#[cfg(unix)]
#[test]
fn release_is_that_of_the_name_then_the_variable_then_the_directory() {
    let sandbox = Sandbox::new();
    sandbox.file("a.o", "x").fatbin("install-links --llvm 21 links").ok();
    assert_eq!(sandbox.read("links/fatbin-llvm"), b"llvm21\n");
    let name = |name: &str| sandbox.path("links").join(name);
    std::fs::rename(name("clang-offload-packager"), name("packager")).unwrap();
    for link in ["clang-offload-packager", "clang-offload-packager-20", "clang-offload-packager-22.1"] {
        std::os::unix::fs::symlink("packager", name(link)).unwrap();
    }
    let cases = [
        ("clang-offload-packager", None, 4),
        ("clang-offload-packager", Some("20"), 3),
        ("clang-offload-packager", Some(""), 4),
        ("clang-offload-packager-20", Some("22"), 3),
        ("clang-offload-packager-22.1", Some("llvm15"), 4),
    ];
    for (link, variable, kind) in cases {
        let mut command = sandbox.command(name(link));
        command.args(["-o", "out", "--image=file=a.o,triple=t,kind=hip"]);
        crate::run(command.envs(variable.map(|value| ("FATBIN_LLVM", value)))).ok();
        assert_eq!(offload_kind(&sandbox, "out"), kind, "{link}, {variable:?}");
    }
    // Without a release, the link has the name of a tool that LLVM 20 called last with these numbers.
    sandbox.fatbin("install-links links").ok();
    assert!(!name("fatbin-llvm").exists());
    let mut command = sandbox.command(name("clang-offload-packager"));
    crate::run(command.args(["-o", "out", "--image=file=a.o,triple=t,kind=hip"])).ok();
    assert_eq!(offload_kind(&sandbox, "out"), 3);

    let run = crate::run(command.env("FATBIN_LLVM", "x"));
    let message = "error: FATBIN_LLVM: unknown release of LLVM \"x\" (known: llvm10 to ";
    assert!(run.status == 1 && run.err.contains(message), "{}", run.err);
    for release in ["nineteen", "9"] {
        let run = sandbox.fatbin(&format!("install-links --llvm {release} links"));
        let message = format!("unknown release of LLVM \"{release}\" (known: llvm10 to ");
        assert!(run.status == 2 && run.err.contains(&message), "{}", run.err);
    }
    let run = sandbox.fatbin("install-links --for ./a.o links");
    assert!(run.status == 2 && run.err.starts_with("fatbin: ./a.o: cannot run"), "{}", run.err);
}

#[test]
fn install_links_asks_a_compiler_for_its_release() {
    let sandbox = Sandbox::new();
    let compiler = |text: &str| {
        write_program(&sandbox.path("clang"), format!("#!/bin/sh\necho '{text}'\n")).unwrap();
        sandbox.fatbin("install-links --for ./clang links")
    };
    compiler("Debian clang version 16.0.6 (15~deb12u1)").ok();
    assert_eq!(sandbox.read("links/fatbin-llvm"), b"llvm16\n");
    let run = compiler("Apple clang version 17.0.0");
    let message = "fatbin: ./clang --version: expected \"clang version N\"; specify the release with --llvm\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
}

#[test]
fn prints_help_version_and_errors_like_llvm() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-x86_64.so", "a").fixture("answer-x86_64.so", "b");
    let name = "llvm-offload-wrapper";
    let help = called(&sandbox, name, "--help").ok();
    assert!(
        help.contains("USAGE: llvm-offload-wrapper [options] Wrap input from <file>\n") && help.contains("    =hip "),
        "{help}"
    );
    assert!(called(&sandbox, name, "-version").ok().starts_with("fatbin "));
    let mistakes = [
        ("-o x a", "for the --kind option: must be specified at least once!"),
        ("--kind=foo -o x a", "for the --kind option: Cannot find option named 'foo'!"),
        ("--kind=openmp -o x", "Not enough positional command line arguments specified!\nMust specify at least 1 "),
        ("--kind=cuda -o x a b", "error: CUDA / HIP offloading uses a single fatbinary or offload bundle"),
        ("--kind=openmp --kin a", "Unknown command line argument '--kin'.  Try: 'llvm-offload-wrapper --help'\n"),
        ("--kind=openmp -bogus", "Unknown command line argument '-bogus'.  Try: 'llvm-offload-wrapper --help'"),
        ("--kind=openmp -o x missing", "error: missing: cannot open: no such file or directory"),
        ("--kind=openmp -triple=sparc-sun-solaris -o x a", "error: sparc-sun-solaris: "),
    ];
    for (arguments, message) in mistakes {
        let run = called(&sandbox, name, arguments);
        assert_eq!(run.status, 1, "{arguments}");
        assert!(run.err.starts_with(&format!("{name}: {message}")), "{arguments}: {}", run.err);
        assert!(!sandbox.path("x").exists());
    }
    let run = called(&sandbox, "clang-offload-wrapper", "-o x --offload-arch=gfx90a a b");
    assert_eq!(run.err, "clang-offload-wrapper: error: 1 --offload-arch for 2 inputs\n");
}

#[cfg(target_os = "linux")]
#[test]
fn help_survives_a_closed_pipe_and_a_full_disk() {
    let sandbox = Sandbox::new();
    called(&sandbox, "llvm-offload-binary", "--version").ok();
    let help = |open: &str| {
        let run = sandbox.shell(&format!("{open}; ./llvm-offload-binary --help >&4"));
        (run.status, run.err)
    };
    let message = "LLVM ERROR: IO failure on output stream: No space left on device\n";
    assert_eq!(help("exec 4>/dev/full"), (1, message.to_owned()));
    // The shell closes the only reader. A command of another test could inherit one of this process.
    assert_eq!(help("mkfifo pipe; exec 3<>pipe 4>pipe 3<&-"), (1, String::new()));
}

#[cfg(unix)]
#[test]
fn install_links_replaces_links_and_nothing_else() {
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        let out = sandbox.fatbin("install-links tools/bin").ok();
        assert!(out.lines().any(|line| line == "tools/bin/llvm-offload-binary"), "{out}");
        for link in out.lines() {
            let version = crate::run(sandbox.command(sandbox.path(link)).arg("--version")).ok();
            assert!(version.starts_with("fatbin "), "{link}: {version}");
        }
        assert_eq!(std::fs::read_dir(sandbox.path("tools/bin")).unwrap().count(), out.lines().count());
    }
    std::fs::create_dir(sandbox.path("other")).unwrap();
    sandbox.file("other/llvm-offload-wrapper", "a program");
    let run = sandbox.fatbin("install-links other");
    assert_eq!(run.err, "fatbin: other/llvm-offload-wrapper: already exists and is not a link; remove it first\n");
    assert_eq!((run.status, std::fs::read_dir(sandbox.path("other")).unwrap().count()), (2, 1));
}

#[test]
fn fatbinary_writes_the_container_of_pack() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").file("b", ".version 8.8\n.target sm_90\n.global .b32 x;\n");
    let images = "--image3=kind=elf,sm=90,file=a --image3=kind=ptx,sm=90,file=b";
    let cases = [
        ("--compress-mode=none", ""),
        ("--compress-all", "--compress"),
        ("--compress-mode=size", "--compress --level 19"),
        ("--compress-mode=speed -c", "--compress=lz4"),
    ];
    for (theirs, ours) in cases {
        called(&sandbox, "fatbinary", &format!("--create=theirs {theirs} {images}")).ok();
        sandbox.fatbin(&format!("pack --kind cuda -o ours {ours} a b")).ok();
        assert_eq!(sandbox.read("theirs"), sandbox.read("ours"), "{theirs}");
    }
    let run = called(&sandbox, "fatbinary", "--create=none -bogus");
    assert_eq!((run.status, run.err.as_str()), (1, "fatbinary fatal   : Unknown option 'bogus'\n"));
    let run = called(&sandbox, "fatbinary", "--create=none --image3=kind=ptx,sm=sm_90,file=b");
    assert_eq!((run.status, run.err.as_str()), (1, "\nnvFatbin error: invalid architecture\n"));
    assert!(!sandbox.path("none").exists());
}

#[test]
fn cuobjdump_lists_and_extracts_the_images_of_a_container() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").file("b", ".version 8.8\n.target sm_75\n.global .b32 x;\n");
    sandbox.fatbin("pack --kind cuda -o fat.x a b").ok();
    let out = called(&sandbox, "cuobjdump", "-lelf -lptx fat.x").ok();
    assert_eq!(out, "ELF file    1: fat.1.sm_90.cubin\nPTX file    1: fat.1.sm_75.ptx\n");
    called(&sandbox, "cuobjdump", "-xelf all -xptx sm_75 fat.x").ok();
    assert_eq!(sandbox.read("fat.1.sm_90.cubin"), sandbox.read("a"));
    assert_eq!(sandbox.read("fat.1.sm_75.ptx"), sandbox.read("b"));
    let out = called(&sandbox, "cuobjdump", "-res-usage -arch sm_90 fat.x").ok();
    assert!(out.contains(" Function answer_kernel:\n  REG:8 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:536 "), "{out}");

    let run = called(&sandbox, "cuobjdump", "-lptx a");
    assert!(run.status == 0 && run.err.contains("No PTX file found to extract from '/"), "{}", run.err);
    let run = called(&sandbox, "cuobjdump", "b");
    assert!(run.status == 255 && run.err.ends_with("/b' does not contain device code\n"), "{}", run.err);
    let run = called(&sandbox, "cuobjdump", "-sass fat.x");
    assert!(run.status == 1 && run.err.contains("use NVIDIA's cuobjdump or nvdisasm"), "{}", run.err);
}

#[test]
fn install_links_adds_tools_that_compilers_do_not_call() {
    let sandbox = Sandbox::new();
    let links = sandbox.fatbin("install-links links").ok();
    assert!(!links.contains("cuobjdump"), "{links}");
    let more = sandbox.fatbin("install-links --with cuobjdump,roc-obj links").ok();
    assert_eq!(more.lines().count(), links.lines().count() + 3);
    assert!(more.ends_with("links/cuobjdump\nlinks/roc-obj-ls\nlinks/roc-obj-extract\n"), "{more}");
    let run = sandbox.fatbin("install-links --with cuda-gdb links");
    assert!(run.status == 2 && run.err.contains("cuobjdump, roc-obj"), "{}", run.err);
}

#[test]
fn roc_obj_lists_and_extracts_code_objects() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    sandbox.fatbin("bundle --raw --type o --target hip-amdgcn-amd-amdhsa--gfx90a=a -o b").ok();
    let list = called(&sandbox, "roc-obj-ls", "b");
    let address = list.out.split_whitespace().last().unwrap();
    assert!(list.status == 0 && address.starts_with("file://b#offset=85&size="), "{}", list.out);
    assert!(list.err.starts_with("Warning:  This tool has been DEPRECATED."), "{}", list.err);
    let run = called(&sandbox, "roc-obj-extract", address);
    assert_eq!(run.status, 0, "{}", run.err);
    let name = address.trim_start_matches("file://").replace(['#', '&'], "-").replace('=', "");
    assert_eq!(sandbox.read(&format!("{name}.co")), sandbox.read("a"));

    sandbox.fatbin("bundle --raw --type o --compress --target hip-amdgcn-amd-amdhsa--gfx90a=a -o c").ok();
    let run = called(&sandbox, "roc-obj-ls", "c");
    assert!(run.status == 1 && run.out.is_empty() && run.err.contains("compressed"), "{}", run.err);
}

#[test]
fn llvm_tools_list_and_extract_bundles_and_refuse_everything_else() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    sandbox.fatbin("wrap --kind hip --host x86_64-unknown-linux-gnu -o b.o a").ok();
    let list = called(&sandbox, "llvm-readobj", "--offloading b.o").ok();
    let (_, address) = list.lines().nth(1).unwrap().split_once("gfx90a\t").unwrap();
    sandbox.fatbin(&format!("extract {address} --to c")).ok();
    assert_eq!(sandbox.read("c"), sandbox.read("a"));
    called(&sandbox, "llvm-objcopy", &format!("--dump-offload-bundle={address} b.o")).ok();
    let name = address.trim_start_matches("file://").replace(['#', '&'], "-").replace('=', "");
    assert_eq!(sandbox.read(&format!("{name}.co")), sandbox.read("a"));
    let out = called(&sandbox, "llvm-objdump", "--offloading --arch-name=gfx90a b.o").ok();
    let name = out.trim_end().rsplit_once(": ").unwrap().1;
    assert_eq!((out.lines().count(), sandbox.read(name)), (3, sandbox.read("a")), "{out}");

    let run = called(&sandbox, "llvm-objdump", "-d b.o");
    assert!(run.status == 1 && run.err.contains("unknown argument '-d': use LLVM's llvm-objdump"), "{}", run.err);
    let run = called(&sandbox, "llvm-objdump", "b.o");
    assert!(run.status == 2 && run.err.contains("nothing to do without --offloading"), "{}", run.err);
    let run = called(&sandbox, "llvm-objcopy", "--dump-offload-bundle=b.o");
    assert!(run.status == 1 && run.err.contains("expected file://PATH#offset=N&size=M"), "{}", run.err);
    let links = sandbox.fatbin("install-links --with llvm-obj links").ok();
    assert!(links.ends_with("links/llvm-objdump\nlinks/llvm-readobj\nlinks/llvm-objcopy\n"), "{links}");
}

/// As LLVM's tools write it: the other names have the new bytes, too.
#[cfg(unix)]
#[test]
fn a_file_with_several_names_is_written_in_place() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "image");
    sandbox.fixture("answer-x86_64.so", "out");
    std::fs::hard_link(sandbox.path("out"), sandbox.path("other")).unwrap();
    let arguments = "-type=o -targets=hip-amdgcn-amd-amdhsa--gfx90a -input=image -output=out";
    called(&sandbox, "clang-offload-bundler", arguments).ok();
    let written = sandbox.read("out");
    assert!(written != crate::fixture("answer-x86_64.so") && written == sandbox.read("other"));
}
