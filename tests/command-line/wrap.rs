//! `fatbin wrap`: what it takes and what comes out.

use crate::Scene;

#[test]
fn what_is_not_said_is_read_from_the_image() {
    let scene = Scene::new();
    for image in ["answer-x86_64.so", "answer-gfx90a-xnack+.hsaco", "answer-sm_90.cubin", "answer-sm_80.ptx"] {
        scene.fixture(image, image);
    }
    scene
        .fatbin(
            "wrap --kind openmp -o w.o answer-x86_64.so answer-gfx90a-xnack+.hsaco answer-sm_90.cubin answer-sm_80.ptx",
        )
        .ok();
    let columns: Vec<Vec<String>> = scene
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
fn what_is_said_is_taken_over_what_the_image_says() {
    let scene = Scene::new();
    scene
        .fixture("answer-gfx90a.hsaco", "a")
        .fatbin("wrap --kind openmp -o w.o --image file=a,arch=gfx90a:sramecc+")
        .ok();
    assert!(scene.fatbin("scan w.o").ok().contains("gfx90a:sramecc+"));
}

#[test]
fn the_same_images_give_the_same_bytes_whatever_the_paths_are() {
    let (here, there) = (Scene::new(), Scene::new());
    here.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o w.o a").ok();
    there.fixture("answer-gfx90a.hsaco", "other-name").fatbin("wrap --kind openmp -o x.o ./other-name").ok();
    assert_eq!(here.read("w.o"), there.read("x.o"));
}

#[test]
fn a_file_of_offload_binaries_is_embedded_as_it_is() {
    let scene = Scene::new();
    scene.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    scene.fatbin("wrap --kind openmp -o w.o a b").ok();
    // The section of an object is such a file: cut it out.
    let object = scene.read("w.o");
    let start = object.windows(4).position(|w| w == [0x10, 0xff, 0x10, 0xad]).unwrap();
    let size = |at: usize| u64::from_le_bytes(object[at + 8..at + 16].try_into().unwrap()) as usize;
    let first = size(start);
    let end = start + first + size(start + first);
    scene.file("packed", &object[start..end]);
    scene.fatbin("wrap --kind openmp -o again.o packed").ok();
    assert_eq!(scene.read("again.o"), object);

    let run = scene.fatbin("wrap --kind openmp -o again.o --image file=packed,arch=gfx90a");
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("fatbin: packed: arch gfx90a was stated, but this file is a container"), "{}", run.err);
}

#[test]
fn raw_embeds_the_bytes_and_scan_still_finds_the_image() {
    let scene = Scene::new();
    scene.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp --raw -o w.o a").ok();
    let table = scene.fatbin("scan w.o").ok();
    assert!(table.contains("device-elf"), "{table}");
    scene.fatbin("extract w.o -o out").ok();
    assert_eq!(scene.read("out/w.o.0-amdgcn-amd-amdhsa-gfx90a.elf"), scene.read("a"));
}

#[test]
fn an_image_of_unknown_content_needs_its_triple_said_unless_it_is_embedded_raw() {
    let scene = Scene::new();
    scene.file("a", "what is this");
    let run = scene.fatbin("wrap --kind openmp -o w.o a");
    assert_eq!(run.status, 2);
    assert_eq!(run.err, "fatbin: a: its header does not name a target triple; say --image file=a,triple=TRIPLE\n");
    scene.fatbin("wrap --kind openmp -o w.o --image file=a,triple=spirv64-intel-unknown").ok();
    scene.fatbin("wrap --kind openmp -o w.o --raw a").ok();
}

#[test]
fn an_object_can_be_written_to_a_device() {
    let scene = Scene::new();
    scene.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind openmp -o /dev/null a").ok();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_large_image_stands_where_the_kernel_moves_it_fastest() {
    let scene = Scene::new();
    scene.file("large", vec![1; 3 << 20]);
    scene.fatbin("wrap --kind openmp -o w.o --image file=large,triple=amdgcn-amd-amdhsa").ok();
    let object = scene.read("w.o");
    let image = object.windows(16).position(|bytes| bytes == [1; 16]).unwrap();
    assert_eq!(image, 64 << 10);
    assert!(object.len() < (3 << 20) + (64 << 10) + 4096);
    scene.fatbin("extract w.o -o out").ok();
    assert_eq!(scene.read("out/w.o.0-openmp-amdgcn-amd-amdhsa.bin"), scene.read("large"));
}

#[test]
fn the_host_is_the_machine_of_the_object() {
    let scene = Scene::new();
    scene.fixture("answer-gfx90a.hsaco", "a");
    // The machine numbers of the ELF specifications; that of IBM Z is in big-endian order.
    let hosts = [
        ("x86_64-unknown-linux-gnu", [62, 0]),
        ("aarch64-linux-gnu", [183, 0]),
        ("riscv64-unknown-linux-musl", [243, 0]),
        ("ppc64le-linux", [21, 0]),
        ("s390x-ibm-linux-gnu", [0, 22]),
        ("loongarch64-unknown-linux-gnu", [2, 1]),
    ];
    for (host, machine) in hosts {
        scene.fatbin(&format!("wrap --kind openmp -o w.o --host {host} a")).ok();
        assert_eq!(scene.read("w.o")[18..20], machine, "{host}");
        assert!(scene.fatbin("scan w.o").ok().contains("gfx90a"), "{host}");
    }
}

#[test]
fn a_host_without_code_for_it_is_refused() {
    let scene = Scene::new();
    scene.fixture("answer-gfx90a.hsaco", "a");
    let run = scene.fatbin("wrap --kind openmp -o w.o --host mips64-unknown-linux-gnu a");
    assert_eq!(run.status, 2);
    assert_eq!(
        run.err,
        "fatbin: mips64-unknown-linux-gnu: is no supported host; supported are x86_64, aarch64, riscv64, powerpc64le, \
         s390x, loongarch64 with linux, linux-gnu, linux-musl\n"
    );
    assert_eq!(scene.names(), ["a"]);
}
