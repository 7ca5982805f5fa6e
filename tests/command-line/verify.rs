//! `fatbin verify`: intact and damaged device code.

use crate::{Run, Sandbox};

/// Returns a directory with `good`, an object with two images, one of them in a compressed bundle.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b").file("none", "");
    let targets = "--target host-x86_64-unknown-linux-gnu=none --target hipv4-amdgcn-amd-amdhsa--gfx90a=a";
    sandbox.fatbin(&format!("bundle --type o --compress -o bundle {targets}")).ok();
    sandbox.fatbin("wrap --kind openmp -o good a b").ok();
    sandbox
}

fn damaged(sandbox: &Sandbox, name: &str, bytes: Vec<u8>) -> String {
    let Run { status, out, err } = sandbox.file(name, bytes).fatbin(&format!("verify {name}"));
    assert_eq!((status, err.lines().count()), (2, 1), "{out}{err}");
    assert!(out.ends_with(", 1 problem\n"), "{out}");
    err
}

#[test]
fn prints_a_line_per_intact_file() {
    let sandbox = sandbox();
    let expected = "good: 2 device images, intact\nbundle: 1 device image, intact\na: 1 device image, intact\n";
    assert_eq!(sandbox.fatbin("verify good bundle a").ok(), expected);
}

#[test]
fn reports_images_of_unknown_form() {
    let sandbox = sandbox();
    sandbox.file("bits", "some bits").fatbin("pack -o packed a --image file=bits,triple=spir64,kind=sycl").ok();
    let expected = "packed: 2 device images, no damage found, 1 of unknown format\n";
    assert_eq!(sandbox.fatbin("verify packed").ok(), expected);
}

#[test]
fn exits_with_1_for_no_images_and_with_2_for_unreadable_files() {
    let sandbox = sandbox();
    let run = sandbox.file("text", "nothing").fatbin("verify text");
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (1, "text: no device images\n", ""));
    assert_eq!(sandbox.fatbin("verify text good").status, 0);
    let run = sandbox.fatbin("verify missing good");
    assert_eq!((run.status, run.out.as_str()), (2, "good: 2 device images, intact\n"));
}

#[test]
fn reports_a_wrong_stored_hash() {
    let sandbox = sandbox();
    let mut bytes = sandbox.read("bundle");
    // After magic, version, method and two sizes of 64 bits (version 3).
    bytes[24] ^= 1;
    let message = damaged(&sandbox, "bad", bytes);
    assert!(message.starts_with("fatbin: bad: compressed bundle hash at 0x18: hash mismatch: stored 0x"), "{message}");
}

#[test]
fn reports_headers_beyond_the_end_of_an_image_at_their_file_offset() {
    let sandbox = sandbox();
    sandbox.fatbin("pack -o packed --image file=a,kind=hip").ok();
    let mut bytes = sandbox.read("packed");
    let image = bytes.windows(4).position(|bytes| bytes == b"\x7fELF").unwrap();
    bytes[image + 0x28..image + 0x30].copy_from_slice(&4000_u64.to_le_bytes());
    sandbox.file("bad", &bytes);
    assert_eq!(sandbox.fatbin("scan bad").status, 0, "what is in an image is not scanned");
    let message = damaged(&sandbox, "bad", bytes);
    let place = format!("ELF section header offset at {:#x}: offset 4000 with size 832", image + 0x28);
    assert_eq!(message, format!("fatbin: bad: {place} is out of bounds (3456 bytes available)\n"));
}

#[test]
fn reports_code_for_another_target_than_the_container_states() {
    let sandbox = sandbox();
    sandbox.fatbin("pack -o packed --image file=a,kind=hip").ok();
    let mut bytes = sandbox.read("packed");
    let arch = bytes.windows(7).position(|bytes| bytes == b"gfx90a\0").unwrap();
    bytes[arch..arch + 6].copy_from_slice(b"gfx942");
    let message = damaged(&sandbox, "bad", bytes);
    assert_eq!(message, "fatbin: bad: image 0: the container states gfx942, the image's own header gfx90a\n");
}
