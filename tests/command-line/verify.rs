//! `fatbin verify`: intact and damaged device code.

use crate::{Run, Sandbox};

/// Returns a directory with `good`, an object with two images, one of them in a compressed bundle.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b").file("none", "");
    let targets = "--target host-x86_64-unknown-linux-gnu=none --target hipv4-amdgcn-amd-amdhsa--gfx90a=a";
    sandbox.fatbin(&format!("bundle --raw --type o --compress -o bundle {targets}")).ok();
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

#[test]
fn reports_what_hip_refuses_except_in_images_for_openmp() {
    let sandbox = sandbox();
    let mut bytes = sandbox.read("a");
    let owner = bytes.windows(7).position(|bytes| bytes == b"AMDGPU\0").unwrap();
    bytes[owner] = b'X';
    let message = damaged(&sandbox, "bad", bytes.clone());
    assert_eq!(message, "fatbin: bad: NT_AMDGPU_METADATA at 0x0: missing; HIP loads no code object without it\n");
    sandbox.fatbin("wrap --kind hip -o hip.o bad").ok();
    assert_eq!(sandbox.fatbin("verify hip.o").status, 2);
    sandbox.file("intact.toml", "images.intact = true\n");
    let run = sandbox.fatbin("check --policy intact.toml hip.o");
    assert!(run.status == 1 && run.out.contains("HIP loads no code object without it"), "{}", run.out);
    // libomptarget reads no metadata.
    sandbox.fatbin("wrap --kind openmp -o openmp.o bad").ok();
    assert_eq!(sandbox.fatbin("verify openmp.o").ok(), "openmp.o: 1 device image, intact\n");
}

#[test]
fn reports_a_wrapper_that_leads_to_no_container() {
    let sandbox = sandbox();
    sandbox.fatbin("wrap --kind cuda --host x86_64-unknown-linux-gnu -o good.o b").ok();
    assert_eq!(sandbox.fatbin("verify good.o").status, 0);
    let mut bytes = sandbox.read("good.o");
    // The addend of the relocation for the pointer: the container begins in its section.
    let wrapper = bytes.windows(8).position(|bytes| bytes == b"\xb1\x43\x62\x46\x01\0\0\0").unwrap();
    let relocation = (0..bytes.len() - 24).step_by(8).find(|&at| {
        bytes[at..at + 8] == 8_u64.to_le_bytes()
            && bytes[at + 8..at + 12] == 1_u32.to_le_bytes()
            && bytes[at + 16..at + 24] == [0; 8]
    });
    bytes[relocation.unwrap() + 16] = 64;
    let message = damaged(&sandbox, "bad.o", bytes);
    assert!(message.starts_with(&format!("fatbin: bad.o: cuda wrapper at {wrapper:#x}: registers 0x")), "{message}");
    assert!(message.ends_with(", where no container begins\n"), "{message}");
    for (policy, rule) in [
        ("images.intact = true", "valid"),
        ("images.registered = true", "wrappers"),
        ("archs.devices = ['sm_90']", "devices"),
    ] {
        sandbox.file("p.toml", policy);
        let run = sandbox.fatbin("check --policy p.toml bad.o");
        assert!(run.status == 1 && run.out.contains(rule), "{policy}: {}", run.out);
        assert_eq!(sandbox.fatbin("check --policy p.toml good.o").status, 0, "{policy}");
    }
    let run = sandbox.fatbin("select --device sm_90 bad.o");
    assert_eq!(
        (run.status, run.out.as_str()),
        (1, "bad.o: no code for NVIDIA devices; 1 container that no wrapper registers\n")
    );
    let matrix = sandbox.fatbin("inspect --matrix --device sm_90 bad.o").out;
    assert!(
        matrix.lines().any(|line| line.split_whitespace().eq(["H100", "sm_90", "0", "0", "0", "1", "0", "0"])),
        "{matrix}"
    );
}
