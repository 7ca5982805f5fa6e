//! `fatbin extract`: file names, contents, and conflicts between files.

use crate::Sandbox;

#[test]
fn extracts_unchanged_images_under_descriptive_names() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a-xnack+.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("wrap --kind openmp -o w.o a b").ok();
    let out = sandbox.fatbin("extract w.o -o out").ok();
    let names = ["w.o.0-openmp-amdgcn-amd-amdhsa-gfx90a_xnack+.hsaco", "w.o.1-openmp-nvptx64-nvidia-cuda-sm_90.cubin"];
    assert_eq!(out, names.map(|name| format!("out/{name}\n")).concat());
    for (name, image) in names.iter().zip(["a", "b"]) {
        assert_eq!(sandbox.read(&format!("out/{name}")), sandbox.read(image));
    }
}

#[test]
fn separates_images_of_files_with_the_same_name() {
    let sandbox = Sandbox::new();
    for folder in ["one", "two"] {
        std::fs::create_dir(sandbox.path(folder)).unwrap();
    }
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    sandbox.fatbin("wrap --kind openmp -o one/w.o a").ok();
    sandbox.fatbin("wrap --kind openmp -o two/w.o a").ok();
    let out = sandbox.fatbin("extract one/w.o two/w.o -o out").ok();
    let name = "out/w.o.0-openmp-amdgcn-amd-amdhsa-gfx90a.hsaco";
    assert_eq!(out, format!("{name}\n{name}~2\n"));
}

#[test]
fn exits_with_1_when_there_is_nothing_to_extract() {
    let sandbox = Sandbox::new();
    let run = sandbox.file("text", "nothing").fatbin("extract text -o out");
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (1, "", ""));
}

#[test]
fn does_not_extract_the_host_entry_of_a_bundle() {
    let sandbox = Sandbox::new();
    let entries =
        [("host-x86_64-unknown-linux-gnu-", &b"\x7fELF host"[..]), ("hipv4-amdgcn-amd-amdhsa--gfx906", b"device code")];
    sandbox.file("bundle", fatbin_core::format::bundle::write(&entries, 4096).unwrap().to_vec());
    let table = sandbox.fatbin("scan bundle").ok();
    assert!(table.starts_with("bundle: raw, 8203 bytes, 1 device image\n"), "{table}");
    assert!(table.contains("host-object"), "{table}");
    let out = sandbox.fatbin("extract bundle -o out").ok();
    assert_eq!(out, "out/bundle.0-hip-amdgcn-amd-amdhsa-gfx906.bin\n");
    assert_eq!(sandbox.read(out.trim()), b"device code");
}

/// Returns images of three targets, one of them twice.
fn packed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-gfx90a-xnack+.hsaco", "x");
    sandbox.fixture("answer-sm_90.cubin", "b").fixture("answer-sm_80.ptx", "p");
    let images = ["a,kind=hip", "x,kind=hip,note=first", "b,kind=cuda", "p,kind=cuda,note=second", "a,kind=openmp"];
    let images = images.map(|image| format!("--image file={image} ")).concat();
    sandbox.fatbin(&format!("pack -o out {images}")).ok();
    sandbox
}

#[test]
fn each_filter_selects_matching_images() {
    let sandbox = packed();
    let cases = [
        ("--kind cuda", vec!["out.2", "out.3"]),
        ("--kind hip --kind openmp", vec!["out.0", "out.1", "out.4"]),
        ("--triple amdgcn-amd-amdhsa --kind hip", vec!["out.0", "out.1"]),
        ("--arch gfx90a", vec!["out.0", "out.4"]),
        ("--arch gfx90a:xnack+", vec!["out.1"]),
        ("--device gfx90a:sramecc+:xnack+", vec!["out.0", "out.1", "out.4"]),
        ("--device gfx90a:xnack-", vec!["out.0", "out.4"]),
        ("--device sm_90", vec!["out.2", "out.3"]),
        ("--device sm_86", vec!["out.3"]),
        ("--key note=first", vec!["out.1"]),
        ("--key note=first --key note=second", vec!["out.1", "out.3"]),
    ];
    for (selection, expected) in cases {
        let out = sandbox.fatbin(&format!("extract out -o images {selection}")).ok();
        let stems: Vec<&str> = out.lines().map(|line| &line["images/".len().."images/out.0".len()]).collect();
        assert_eq!(stems, expected, "{selection}");
    }
}

#[test]
fn reports_filters_without_match_and_writes_nothing() {
    let sandbox = packed();
    let available = "cuda nvptx64-nvidia-cuda sm_80, cuda nvptx64-nvidia-cuda sm_90, hip amdgcn-amd-amdhsa gfx90a, \
                 hip amdgcn-amd-amdhsa gfx90a:xnack+, openmp amdgcn-amd-amdhsa gfx90a";
    let cases = [
        ("--arch gfx9000", "arch gfx9000"),
        ("--arch gfx90a --arch gfx908", "arch gfx908"),
        ("--arch sm_90 --kind hip", "kind hip and arch sm_90"),
        ("--triple amdgcn", "triple amdgcn"),
        ("--device sm_75", "device sm_75"),
        ("--key note=third", "note=third"),
        ("--key note=first --key other=x", "note=first and other=x"),
        ("--kind sycl", "kind sycl"),
    ];
    for (selection, asked) in cases {
        let run = sandbox.fatbin(&format!("extract out -o images {selection}"));
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{selection}");
        let suggestion = if asked == "arch gfx9000" { "; did you mean gfx90a?" } else { "" };
        assert_eq!(run.err, format!("fatbin: out: no image matches {asked}; available: {available}{suggestion}\n"));
        assert!(!sandbox.path("images").exists());
    }
}

#[test]
fn writes_one_image_to_a_named_file_or_names_the_candidates() {
    let sandbox = packed();
    sandbox.fatbin("extract out --arch sm_90 --to image").ok();
    assert_eq!(sandbox.read("image"), sandbox.read("b"));
    let run = sandbox.fatbin("extract out --arch gfx90a --to image");
    let message = "fatbin: image: more than one image matches: out hip amdgcn-amd-amdhsa gfx90a, \
                   out openmp amdgcn-amd-amdhsa gfx90a; select one of them, or write to a directory with -o\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
    assert_eq!(sandbox.read("image"), sandbox.read("b"), "still what was there");
}

#[test]
fn writes_a_library_per_target() {
    let sandbox = packed();
    let out = sandbox.fatbin("extract out --archive -o libraries").ok();
    let names = [
        "cuda-nvptx64-nvidia-cuda-sm_80.a",
        "cuda-nvptx64-nvidia-cuda-sm_90.a",
        "hip-amdgcn-amd-amdhsa-gfx90a.a",
        "hip-amdgcn-amd-amdhsa-gfx90a_xnack+.a",
        "openmp-amdgcn-amd-amdhsa-gfx90a.a",
    ];
    assert_eq!(out, names.map(|name| format!("libraries/{name}\n")).concat());
    let bytes = sandbox.read("libraries/cuda-nvptx64-nvidia-cuda-sm_90.a");
    let members = fatbin_core::base::archive::members(fatbin::View::new(&bytes)).unwrap().unwrap();
    let [member] = members.as_slice() else { panic!("{} members", members.len()) };
    let fatbin_core::base::archive::MemberContent::Here(view) = member.content else { panic!("a thin archive") };
    assert_eq!(view.data(), sandbox.read("b"));
    // A linker finds the kernel in the symbol table.
    assert!(String::from_utf8_lossy(&bytes[..400]).contains("answer"), "no symbol");
}

#[test]
fn names_images_of_library_members_after_the_library() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    sandbox.fatbin("wrap --kind openmp -o w.o a").ok();
    let mut library = std::io::Cursor::new(Vec::new());
    let object = sandbox.read("w.o");
    let members = [("text".to_owned(), &b"nothing"[..]), ("one.o".to_owned(), &object), ("one.o".to_owned(), &object)];
    fatbin_core::base::archive::write(members.into_iter(), &mut library).unwrap();
    sandbox.file("lib.a", library.into_inner());
    let table = sandbox.fatbin("scan lib.a").ok();
    assert!(table.contains("lib.a!one.o: elf, ") && !table.contains("lib.a!text"), "{table}");
    let out = sandbox.fatbin("extract lib.a -o images").ok();
    let name = "images/lib.a_one.o.0-openmp-amdgcn-amd-amdhsa-gfx90a.hsaco";
    assert_eq!(out, format!("{name}\n{name}~2\n"));
    assert_eq!(sandbox.read(name), sandbox.read("a"));
}

#[test]
fn extracts_other_files_when_one_is_damaged() {
    let sandbox = packed();
    sandbox.file("bad", [0x10, 0xff, 0x10, 0xad, 0x0a]);
    let run = sandbox.fatbin("extract bad out -o images");
    assert_eq!((run.status, run.out.lines().count()), (2, 5));
    assert_eq!(run.err, "fatbin: bad: offload binary version at 0x4: truncated: need 4 bytes, 1 available\n");
    let run = sandbox.file("m.bc", crate::BITCODE).fatbin("extract m.bc");
    assert_eq!((run.status, run.err.as_str()), (2, "fatbin: m.bc: bitcode at 0x0: invalid record\n"));
}
