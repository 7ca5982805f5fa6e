//! `fatbin extract`: names, bytes, and what happens when files meet.

use crate::Scene;

#[test]
fn images_come_out_as_they_went_in_under_names_that_say_what_they_are() {
    let scene = Scene::new();
    scene.fixture("answer-gfx90a-xnack+.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    scene.fatbin("wrap --kind openmp -o w.o a b").ok();
    let out = scene.fatbin("extract w.o -o out").ok();
    let names = ["w.o.0-openmp-amdgcn-amd-amdhsa-gfx90a_xnack+.elf", "w.o.1-openmp-nvptx64-nvidia-cuda-sm_90.elf"];
    assert_eq!(out, names.map(|name| format!("out/{name}\n")).concat());
    for (name, image) in names.iter().zip(["a", "b"]) {
        assert_eq!(scene.read(&format!("out/{name}")), scene.read(image));
    }
}

#[test]
fn two_files_of_the_same_name_keep_their_images_apart() {
    let scene = Scene::new();
    for folder in ["one", "two"] {
        std::fs::create_dir(scene.path(folder)).unwrap();
    }
    scene.fixture("answer-gfx90a.hsaco", "a");
    scene.fatbin("wrap --kind openmp -o one/w.o a").ok();
    scene.fatbin("wrap --kind openmp -o two/w.o a").ok();
    let out = scene.fatbin("extract one/w.o two/w.o -o out").ok();
    let name = "out/w.o.0-openmp-amdgcn-amd-amdhsa-gfx90a.elf";
    assert_eq!(out, format!("{name}\n{name}~2\n"));
}

#[test]
fn nothing_to_extract_has_an_exit_status_of_its_own() {
    let scene = Scene::new();
    let run = scene.file("text", "nothing").fatbin("extract text -o out");
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (1, "", ""));
}

#[test]
fn the_hosts_entry_of_a_bundle_is_listed_but_not_extracted() {
    let scene = Scene::new();
    let entries =
        [("host-x86_64-unknown-linux-gnu-", &b"\x7fELF host"[..]), ("hipv4-amdgcn-amd-amdhsa--gfx906", b"device code")];
    scene.file("bundle", fatbin::format::bundle::write(&entries, 4096).unwrap().to_vec());
    let table = scene.fatbin("scan bundle").ok();
    assert!(table.starts_with("bundle: raw, 8203 bytes, 1 device image\n"), "{table}");
    assert!(table.contains("host-object"), "{table}");
    let out = scene.fatbin("extract bundle -o out").ok();
    assert_eq!(out, "out/bundle.0-hip-amdgcn-amd-amdhsa-gfx906.bin\n");
    assert_eq!(scene.read(out.trim()), b"device code");
}
