//! Metal libraries.

use crate::Sandbox;
use crate::check::wheel;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer.metallib", "a.metallib");
    sandbox
}

#[test]
fn libraries_are_listed_inspected_and_extracted() {
    let sandbox = sandbox();
    let expected = "\
a.metallib: raw, 1871 bytes, 1 device image
  CONTAINER  SECTION  KIND  TRIPLE                    ARCH   IMAGE     OFFSET  SIZE
  metallib   -        -     air64-apple-macosx14.0.0  macos  metallib     0x0  1871
";
    assert_eq!(sandbox.fatbin("scan a.metallib").ok(), expected);
    assert!(sandbox.fatbin("inspect a.metallib").ok().contains("1648  3.1  answer_kernel"));
    sandbox.fatbin("extract a.metallib -o out --name {number}").ok();
    assert_eq!(sandbox.read("out/0"), sandbox.read("a.metallib"));
}

#[test]
fn metal_compiles_a_library_for_its_system_only() {
    let sandbox = sandbox();
    let run = sandbox.fatbin("select --device macos a.metallib");
    assert!(run.ok().contains("it is compiled from AIR at load time"));
    for device in ["ios", "sm_90"] {
        assert_eq!(sandbox.fatbin(&format!("select --device {device} a.metallib")).status, 1, "{device}");
    }
    assert!(sandbox.fatbin("requires a.metallib").ok().contains("macOS 14.0"));
}

#[test]
fn a_system_may_have_a_patch_level() {
    let sandbox = sandbox();
    let mut bytes = sandbox.read("a.metallib");
    bytes[12..16].copy_from_slice(&[26, 0, 6, 2]);
    sandbox.file("a.metallib", bytes);
    assert!(sandbox.fatbin("requires a.metallib").ok().contains("macOS 26.6.2 or newer"));
    assert!(sandbox.fatbin("requires --json a.metallib").ok().contains("\"26.6.2\""));
    assert!(sandbox.fatbin("scan a.metallib").ok().contains("air64-apple-macosx26.6.2"));
    assert!(sandbox.fatbin("a.metallib").ok().contains("macOS 26.6.2"));
}

/// Returns the library for a release of macOS, with a function in a version of the language.
fn library(sandbox: &Sandbox, release: [u8; 4], language: [u8; 4]) -> Vec<u8> {
    let mut bytes = sandbox.read("a.metallib");
    bytes[12..16].copy_from_slice(&release);
    let version = bytes.windows(4).position(|tag| tag == b"VERS").unwrap() + 10;
    bytes[version..version + 4].copy_from_slice(&language);
    bytes
}

#[test]
fn the_language_of_a_function_may_need_a_newer_system_than_the_library() {
    let sandbox = sandbox();
    sandbox.file("b.metallib", library(&sandbox, [26, 0, 0, 0], [4, 0, 1, 0]));
    let requires = sandbox.fatbin("requires b.metallib").ok();
    let sentence = "On macos: macOS 26.0 or newer to load; macOS 27.0 or newer for all functions.";
    assert!(requires.contains(sentence), "{requires}");
    let inspection = sandbox.fatbin("inspect b.metallib").ok();
    assert!(inspection.contains("  1648  4.1  answer_kernel\n"), "{inspection}");
    assert!(sandbox.fatbin("inspect --json b.metallib").ok().contains("\"language\": \"4.1\""));
    assert!(sandbox.fatbin("scan -v b.metallib").ok().contains("Metal language 4.1"));
    // A version that is newer than the table, and the version of the fixture.
    sandbox.file("c.metallib", library(&sandbox, [26, 0, 0, 0], [5, 0, 0, 0]));
    assert!(sandbox.fatbin("requires c.metallib").ok().contains("newer than macOS 27.0"));
    assert!(sandbox.fatbin("requires a.metallib").ok().contains("On macos: macOS 14.0 or newer."));
}

#[test]
fn libraries_with_the_same_functions_are_alternatives() {
    let sandbox = sandbox();
    let older = sandbox.read("a.metallib");
    let newer = library(&sandbox, [26, 0, 2, 0], [4, 0, 0, 0]);
    let both = [&[0; 64][..], &older, &[0; 64], &newer].concat();
    sandbox.file("b.bin", &both[..]);
    let requires = sandbox.fatbin("requires b.bin").ok();
    for sentence in [
        "On macos: macOS 14.0 or newer.",
        "Images 0 and 1 have the same functions: a program loads one of them.",
        "For all images: macOS 26.2 or newer.",
    ] {
        assert!(requires.contains(sentence), "{requires}");
    }
    assert!(sandbox.fatbin("b.bin").ok().contains("macOS 14.0 or newer"));
    let document = sandbox.fatbin("requires --json b.bin").ok();
    crate::schema::check_document(&sandbox, "requires", &serde_json::from_str(&document).unwrap());
    let document = sandbox.fatbin("select --json --device macos b.bin").ok();
    crate::schema::check_document(&sandbox, "select", &serde_json::from_str(&document).unwrap());
    // The wheel loads on the system of its tag.
    sandbox.file("a-1-py3-none-macosx_14_0_arm64.whl", wheel(&[("a/b.bin", both.clone())]));
    sandbox.file("policy.toml", "images.platform-tag = true\n");
    sandbox.fatbin("check --policy policy.toml a-1-py3-none-macosx_14_0_arm64.whl").ok();
    // Another function is no alternative.
    let name = both.len() - newer.len() + newer.windows(6).position(|name| name == b"answer").unwrap();
    let mut other = both;
    other[name] = b'b';
    let requires = sandbox.file("c.bin", other).fatbin("requires c.bin").ok();
    assert!(requires.contains("On macos: macOS 26.2 or newer.") && !requires.contains("same functions"), "{requires}");
}

#[test]
fn policies_name_the_system() {
    let sandbox = sandbox();
    for (policy, status) in [
        ("[archs]\nrequire = ['macos']\ndevices = ['macos']\n", 0),
        ("[archs]\ndevices = ['ios']\n", 1),
        ("[archs]\nforbid = ['macos']\n", 1),
    ] {
        sandbox.file("policy.toml", policy);
        let run = sandbox.fatbin("check --policy policy.toml a.metallib");
        assert_eq!(run.status, status, "{policy}: {}{}", run.out, run.err);
    }
}

#[test]
fn a_changed_module_is_damaged() {
    let sandbox = sandbox();
    let mut bytes = sandbox.read("a.metallib");
    assert_eq!(sandbox.fatbin("verify a.metallib").status, 0);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(sandbox.path("b.metallib"), bytes).unwrap();
    let run = sandbox.fatbin("verify b.metallib");
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("not the SHA-256 of the module"), "{}", run.err);
}

/// An archive of compiled pipelines: the library, and a Mach-O file without load commands for a GPU.
pub fn archive(library: &[u8], processor: u32, subtype: u32) -> Vec<u8> {
    let mut code = [0xfeed_facf, processor, subtype, 13, 0, 0, 0, 0].map(u32::to_le_bytes).concat();
    code.extend_from_slice(b"machine code");
    let (at, size) = (48 + library.len() as u32, code.len() as u32);
    let records = [0x0100_0017, 12, 48, library.len() as u32, 0, processor, subtype, at, size, 0];
    [&[0xcbfe_babe, 2].map(u32::to_be_bytes).concat()[..], &records.map(u32::to_be_bytes).concat(), library, &code]
        .concat()
}

#[test]
fn archives_of_pipelines_have_a_library_and_code_for_a_gpu() {
    let sandbox = sandbox();
    let library = sandbox.read("a.metallib");
    for (processor, subtype, arch) in [
        (0x0100_0013, 0x212, "applegpu_g13s"),
        (0x0100_0013, 9999, "applegpu_9999"),
        (0x0100_0014, 5002, "amdgpu_5002"),
        (0x0100_0015, 590_342, "intelgpu_590342"),
    ] {
        let bytes = archive(&library, processor, subtype);
        sandbox.file("a.bin", &bytes[..]);
        let table = sandbox.fatbin("scan a.bin").ok();
        assert!(table.starts_with("a.bin: raw, 1963 bytes, 2 device images\n"), "{table}");
        for image in [&["macos", "metallib", "0x30", "1871"][..], &[arch, "metal-binary", "0x77f", "44"]] {
            let is_row = |line: &&str| image.iter().all(|word| line.split_whitespace().any(|it| it == *word));
            assert_eq!(table.lines().filter(is_row).count(), 1, "{table}");
        }
        sandbox.fatbin("verify a.bin").ok();
        sandbox.fatbin("extract a.bin -o out --name {number} --force").ok();
        assert_eq!((sandbox.read("out/0"), sandbox.read("out/1")), (library.clone(), bytes[0x77f..].to_vec()));
        // A slice is device code as a file, too.
        let table = sandbox.fatbin("scan out/1").ok();
        assert!(table.contains("1 device image\n") && table.contains(arch), "{table}");
        for (archs, status) in [("'macos'", 1), (&format!("'macos', '{arch}'"), 0)] {
            sandbox.file("policy.toml", format!("archs.only = [{archs}]\narchs.devices = ['macos']\n"));
            let run = sandbox.fatbin("check --policy policy.toml a.bin");
            assert_eq!(run.status, status, "{archs}: {}{}", run.out, run.err);
        }
    }
    // Code for another processor than the record states.
    let mut bytes = archive(&library, 0x0100_0013, 0x212);
    bytes[0x77f + 8] ^= 1;
    sandbox.file("b.bin", &bytes[..]);
    let run = sandbox.fatbin("scan b.bin");
    assert_eq!(run.status, 2);
    assert!(run.out.contains("1 device image\n"), "the library is found without the archive: {}", run.out);
    assert_eq!(run.err, "fatbin: b.bin: Mach-O processor at 0x783: not the processor of the slice\n");
}

#[test]
fn libraries_load_on_every_system_that_the_wheel_allows() {
    let sandbox = sandbox();
    let library = sandbox.read("a.metallib");
    let cases = [
        ("a-1-py3-none-macosx_14_0_arm64.whl", 0, ""),
        ("a-1-py3-none-macosx_15_0_universal2.whl", 0, ""),
        ("a-1-py3-none-linux_x86_64.whl", 0, ""),
        (
            "a-1-py3-none-macosx_11_0_arm64.whl",
            1,
            "image 0 (macos) at 0x0: needs macOS 14.0, but the wheel is for macosx_11_0_arm64",
        ),
        ("a-1-py3-none-macosx_14_0_arm64.macosx_13_3_x86_64.whl", 1, "but the wheel is for macosx_13_3_x86_64"),
        ("a-1-py3-none-any.whl", 1, "needs macOS 14.0, but the wheel is for any"),
        (
            "a.zip",
            2,
            "undecided: platform-tag: image 0 (macos) at 0x0: needs macOS 14.0, and no wheel states what it is for",
        ),
    ];
    for (name, status, message) in cases {
        sandbox.file(name, wheel(&[("a/a.metallib", library.clone())]));
        sandbox.file("policy.toml", "images.platform-tag = true\n");
        let run = sandbox.fatbin(&format!("check --policy policy.toml {name}"));
        assert_eq!(run.status, status, "{name}: {}{}", run.out, run.err);
        assert!(run.out.contains(message), "{name}: {}", run.out);
    }
    sandbox.file("policy.toml", "images.platform-tag = true\nfiles.'a.metallib'.images.platform-tag = false\n");
    sandbox.fatbin("check --policy policy.toml a-1-py3-none-macosx_11_0_arm64.whl").ok();
}
