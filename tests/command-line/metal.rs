//! Metal libraries.

use crate::Sandbox;

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
    assert!(sandbox.fatbin("inspect a.metallib").ok().contains("1648  answer_kernel"));
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
