//! The program as llvm-offload-binary or clang-offload-packager. `linker-tests/dropin` compares it with the tool itself.

use crate::Sandbox;
use crate::dropin::called;

const BINARY: &str = "llvm-offload-binary";

/// Returns a directory with `in.bin`, a binary of four images.
fn packed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("one.o", "image one").file("two.cubin", "image two").file("three.bc", "").file("four", "image four");
    let images = "--image=file=one.o,triple=t,arch=a1,kind=openmp --image=file=two.cubin,triple=t,arch=a2,kind=cuda \
                  --image=file=three.bc,triple=t,arch=a1 --image=file=four,triple=u";
    assert_eq!(called(&sandbox, BINARY, &format!("-o in.bin {images}")).ok(), "");
    sandbox
}

/// Returns the names of files that the program added.
fn new_names(sandbox: &Sandbox) -> Vec<String> {
    let old = ["one.o", "two.cubin", "three.bc", "four", "in.bin", BINARY];
    sandbox.names().into_iter().filter(|name| !old.contains(&name.as_str())).collect()
}

#[test]
fn extracts_packed_images_under_descriptive_names() {
    let sandbox = packed();
    called(&sandbox, BINARY, "in.bin --image=triple=t --image=triple=u,file=named").ok();
    assert_eq!(new_names(&sandbox), ["in-t-a1.0.o", "in-t-a1.2.bc", "in-t-a2.1.cubin", "named"]);
    for (name, content) in [("in-t-a1.0.o", "image one"), ("in-t-a2.1.cubin", "image two"), ("named", "image four")] {
        assert_eq!(sandbox.read(name), content.as_bytes(), "{name}");
    }
    assert_eq!(sandbox.read("in-t-a1.2.bc"), b"");
}

#[test]
fn fatbin_reads_the_output_of_the_drop_in() {
    let sandbox = packed();
    let listed = sandbox.fatbin("scan in.bin").ok();
    assert!(listed.contains("4 device images") && listed.contains("cuda") && listed.contains("a2"), "{listed}");
}

#[test]
fn extracts_nothing_without_images_or_matches() {
    let sandbox = packed();
    for arguments in ["in.bin", "in.bin --archive", "in.bin --image=triple=none,file=out", "one.o --image="] {
        assert_eq!(called(&sandbox, BINARY, arguments).ok(), "", "{arguments}");
        assert_eq!(new_names(&sandbox), [""; 0], "{arguments}");
    }
}

#[test]
fn keeps_the_last_of_several_images_for_one_file_with_a_warning() {
    let sandbox = packed();
    let run = called(&sandbox, BINARY, "in.bin --image=triple=t,file=out --image=kind=cuda,file=out");
    let warning = "llvm-offload-binary: warning: Multiple inputs match to a single file, 'out'\n";
    assert_eq!((run.status, run.err.as_str()), (0, warning));
    assert_eq!(sandbox.read("out"), b"image two");
}

#[test]
fn writes_a_library_for_one_target() {
    let sandbox = packed();
    for name in ["one.a", "two.a"] {
        called(&sandbox, BINARY, &format!("in.bin --archive --image=triple=t,file={name}")).ok();
    }
    assert_eq!(sandbox.read("one.a"), sandbox.read("two.a"));
    let library = String::from_utf8(sandbox.read("one.a")).unwrap();
    assert!(library.starts_with("!<arch>\nin.bin/") && library.contains("image two"), "{library}");
    let run = called(&sandbox, BINARY, "in.bin --archive --image=triple=t");
    assert_eq!((run.status, run.err.as_str()), (1, "llvm-offload-binary: error: Image must have a 'file' argument.\n"));
}

#[test]
fn warns_of_the_deprecated_name_only() {
    let sandbox = packed();
    let warning = "warning: 'clang-offload-packager' is deprecated. Use 'llvm-offload-binary' instead.\n";
    for (name, expected) in [
        ("clang-offload-packager", warning),
        ("x86_64-linux-gnu-clang-offload-packager", warning),
        ("clang-offload-packager-22", ""),
        ("llvm-offload-binary", ""),
    ] {
        sandbox.file("fatbin-llvm", "llvm22");
        let run = called(&sandbox, name, "-o out --image=file=one.o,triple=x");
        assert_eq!((run.status, run.err.as_str()), (0, expected), "{name}");
        sandbox.file("fatbin-llvm", "llvm21");
        let run = called(&sandbox, name, "-o out --image=file=one.o,triple=x");
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{name}");
    }
    // Neither does a command line that ends the parsing.
    assert!(called(&sandbox, "clang-offload-packager", "--help").ok().contains("clang-offload-packager [options]"));
}

#[test]
fn reports_errors_like_llvm_and_writes_nothing() {
    let sandbox = packed();
    let mistakes = [
        ("-o out --image=triple=x", "error: 'file' is a required image arguments"),
        ("-o out --image=file=missing", "error: No such file or directory"),
        ("-o out --image=file=.", "error: Is a directory"),
        ("-o no/out --image=file=one.o", "error: No such file or directory"),
        ("missing --image=", "error: 'missing': No such file or directory"),
        ("in.bin --image=file=.,triple=u", "error: Is a directory"),
        (
            "in.bin -o out",
            "error: Packaging to an output file and extracting from an input file are mutually exclusive.",
        ),
        ("in.bin more", "Too many positional arguments specified!\nCan specify at most 1 positional arguments: See: "),
        ("--imag=file=x", "Unknown command line argument '--imag=file=x'.  Try: 'llvm-offload-binary --help'\n"),
        ("-oout", "for the -o option: may not occur within a group!"),
    ];
    for (arguments, message) in mistakes {
        let run = called(&sandbox, BINARY, arguments);
        assert_eq!(run.status, 1, "{arguments}");
        assert!(run.err.starts_with(&format!("{BINARY}: {message}")), "{arguments}: {}", run.err);
        assert_eq!(new_names(&sandbox), [""; 0], "{arguments}");
    }
}

#[test]
fn reports_unreadable_inputs_with_file_offset_and_field() {
    let sandbox = packed();
    sandbox.file("cut.bin", &sandbox.read("in.bin")[..100]).file("host.bc", b"BC\xc0\xde");
    for (input, message) in [
        ("cut.bin", "error: cut.bin: offload binary size at 0x8: "),
        ("host.bc", "error: host.bc: bitcode at 0x0: no module"),
    ] {
        let run = called(&sandbox, BINARY, &format!("{input} --image="));
        assert_eq!(run.status, 1);
        assert!(run.err.starts_with(&format!("{BINARY}: {message}")), "{}", run.err);
    }
}

#[test]
fn names_from_a_binary_stay_in_the_directory() {
    let sandbox = packed();
    called(&sandbox, BINARY, "-o in.bin --image=file=one.o,triple=../../escaped,arch=/etc/passwd").ok();
    called(&sandbox, BINARY, "in.bin --image=").ok();
    assert_eq!(new_names(&sandbox), ["in-.._.._escaped-_etc_passwd.0.o"]);
}

#[cfg(unix)]
#[test]
fn replaces_a_link_and_keeps_its_target() {
    let sandbox = packed();
    sandbox.file("target", "old");
    std::os::unix::fs::symlink("target", sandbox.path("link")).unwrap();
    called(&sandbox, BINARY, "in.bin --image=triple=u,file=link").ok();
    assert!(!sandbox.path("link").is_symlink());
    assert_eq!((sandbox.read("link"), sandbox.read("target")), (b"image four".to_vec(), b"old".to_vec()));
}
