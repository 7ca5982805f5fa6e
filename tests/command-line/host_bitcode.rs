//! Device images in the bitcode of a host, as compilers write it with `-flto`, and bitcode of hosts without any.

use fatbin::View;

use crate::{Run, Sandbox};

/// Kinds with an image for each, and hosts of each format.
const KINDS: [(&str, &str); 4] = [("openmp", "a.hsaco"), ("hip", "a.hsaco"), ("sycl", "a.hsaco"), ("cuda", "a.cubin")];
const HOSTS: [&str; 3] = ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc", "arm64-apple-macosx"];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a.hsaco").fixture("answer-sm_90.cubin", "a.cubin");
    sandbox
}

/// Returns what a command prints about `a.o` and `a.bc`. Both outputs name `a.o`, and offsets of the bytes are removed.
fn answers(sandbox: &Sandbox, command: &str) -> [(i32, String); 2] {
    ["a.o", "a.bc"].map(|name| {
        let Run { status, out, err, .. } = sandbox.fatbin(&format!("{command} {name}"));
        let words = format!("{out}{err}").replace("a.bc", "a.o");
        let is_place = |word: &&str| word.trim_end_matches(':').starts_with("0x");
        (status, words.split_whitespace().filter(|word| !is_place(word)).collect::<Vec<_>>().join(" "))
    })
}

#[test]
fn images_are_found_as_in_an_object() {
    for host in HOSTS {
        for (kind, image) in KINDS {
            let sandbox = sandbox();
            for name in ["a.o", "a.bc"] {
                sandbox.fatbin(&format!("wrap --kind {kind} --host {host} -o {name} {image}")).ok();
            }
            sandbox.file("p.toml", "[archs]\nrequire = [\"gfx90a\"]\n");
            let device = if kind == "cuda" { "sm_90" } else { "gfx90a" };
            for command in ["inspect", "verify", "check --policy p.toml", &format!("select --device {device}")] {
                let [object, bitcode] = answers(&sandbox, command);
                assert_eq!(object, bitcode, "{kind} {host}: {command}");
            }
            let table = |name: &str| {
                let table = sandbox.fatbin(&format!("scan --fast {name}")).ok();
                let rows = table.lines().skip(2).filter(|line| !line.contains("not searched")).map(|line| {
                    line.split_whitespace().filter(|cell| !cell.starts_with("0x")).collect::<Vec<_>>().join(" ")
                });
                rows.collect::<Vec<_>>()
            };
            assert_eq!(table("a.o"), table("a.bc"), "{kind} {host}");
            sandbox.fatbin("extract a.bc --to out").ok();
            assert_eq!(sandbox.read("out"), sandbox.read(image), "{kind} {host}");
        }
    }
}

#[test]
fn images_are_found_in_archives_and_in_a_wrapper() {
    let sandbox = sandbox();
    sandbox.fatbin("wrap --kind openmp -o a.bc a.hsaco").ok();
    let bitcode = sandbox.read("a.bc");
    let mut wrapped = [0x0b17_c0de_u32, 0, 20, bitcode.len() as u32, 7].map(u32::to_le_bytes).concat();
    wrapped.extend(&bitcode);
    let mut library = std::io::Cursor::new(Vec::new());
    let members = [("a.o".to_owned(), &bitcode[..]), ("wrapped.o".to_owned(), &wrapped)];
    fatbin_core::base::archive::write(members.into_iter(), &mut library).unwrap();
    sandbox.file("lib.a", library.into_inner());
    let table = sandbox.fatbin("scan lib.a").ok();
    for member in ["a.o", "wrapped.o"] {
        assert!(table.contains(&format!("lib.a!{member}: bitcode, ")), "{table}");
    }
    let names = sandbox.fatbin("extract -o out lib.a").ok();
    assert_eq!(names.lines().count(), 2);
    for name in names.lines() {
        assert_eq!(sandbox.read(name), sandbox.read("a.hsaco"), "{name}");
    }
    let size: u64 = bitcode.len() as u64;
    assert!(table.contains(&format!("lib.a!a.o: bitcode, {size} bytes, ")), "the size of the bitcode: {table}");
}

/// A module for a host, in the form of clang: it states its triple, and has no images.
fn plain(triple: &str) -> Vec<u8> {
    // The fields of a bitstream, from the lowest bit on: blocks have 4-byte sizes and end at 4 bytes.
    let mut bits: Vec<bool> = Vec::new();
    let mut fixed = |value: u64, width: u32| bits.extend((0..width).map(|at| value >> at & 1 == 1));
    // ID of a block, width of its abbreviation IDs, and the alignment before its size.
    fixed(1, 2);
    fixed(8, 8);
    fixed(4, 4);
    fixed(0, 18);
    let words = (4 + 6 + 12 + triple.len() as u64 * 12 + 4).div_ceil(32);
    fixed(words, 32);
    // A record without an abbreviation: its code, the number of its operands, the operands in groups of 5 bits.
    fixed(3, 4);
    fixed(2, 6);
    let mut variable = |value: u64| {
        fixed(value & 31 | 32, 6);
        fixed(value >> 5, 6);
    };
    variable(triple.len() as u64);
    triple.bytes().for_each(|byte| variable(byte.into()));
    fixed(0, 4);
    let mut bytes = b"BC\xc0\xde".to_vec();
    bits.resize(bits.len().next_multiple_of(32), false);
    bytes.extend(bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |value, &bit| value << 1 | u8::from(bit))));
    bytes
}

#[test]
fn bitcode_of_a_host_is_not_device_code() {
    let sandbox = Sandbox::new();
    sandbox.file("p.toml", "[archs]\n");
    for (triple, is_device) in [
        ("x86_64-pc-linux-gnu", false),
        ("aarch64-apple-macosx", false),
        ("wasm32-unknown-unknown", false),
        ("amdgcn-amd-amdhsa", true),
        ("nvptx64-nvidia-cuda", true),
        ("spir64-unknown-unknown", true),
    ] {
        let module = plain(triple);
        let mut library = std::io::Cursor::new(Vec::new());
        fatbin_core::base::archive::write([("a.o".to_owned(), &module[..])].into_iter(), &mut library).unwrap();
        sandbox.file("a.o", &module).file("lib.a", library.into_inner());
        for name in ["a.o", "lib.a"] {
            let statuses = |command: &str| sandbox.fatbin(&format!("{command} {name}")).status;
            let expected = if is_device { [0, 0] } else { [1, 1] };
            assert_eq!([statuses("scan"), statuses("check --policy p.toml")], expected, "{name} {triple}");
            let lists_one = sandbox.fatbin(&format!("scan {name}")).out.contains("1 device image");
            assert_eq!(lists_one, is_device, "{name} {triple}");
        }
        let found = fatbin::Scan::new(View::new(&module)).unwrap();
        let found = found.file();
        assert_eq!(found.errors, [], "{triple}");
    }
}

#[test]
fn images_in_bitcode_are_not_changed() {
    let sandbox = sandbox();
    sandbox.fatbin("wrap --kind openmp -o a.bc a.hsaco").ok();
    for command in ["prune --drop gfx90a -o out", "strip --device-debug -o out", "transcode --to v3 -o out"] {
        let run = sandbox.fatbin(&format!("{command} a.bc"));
        assert_eq!(run.status, 2, "{command}");
        assert!(
            run.err.starts_with("fatbin: a.bc: images in LLVM bitcode are not changed; "),
            "{command}: {}",
            run.err
        );
    }
    assert!(!sandbox.path("out").exists());
}

#[test]
fn damaged_bitcode_of_a_host_is_an_error() {
    let sandbox = sandbox();
    sandbox.fatbin("wrap --kind openmp -o a.bc a.hsaco").ok();
    let bitcode = sandbox.read("a.bc");
    for end in [20, bitcode.len() / 2, bitcode.len() - 8] {
        sandbox.file("cut.bc", &bitcode[..end]);
        for command in ["scan", "extract", "verify", "prune --drop gfx90a -o out"] {
            let run = sandbox.fatbin(&format!("{command} cut.bc"));
            assert_eq!(run.status, 2, "{command} {end}: {}", run.err);
            assert!(run.err.starts_with("fatbin: cut.bc: bitcode"), "{command} {end}: {}", run.err);
        }
    }
}
