//! The library, used as in the example.

use fatbin::bytes::View;
use fatbin::scan::Scan;

use crate::Sandbox;

#[allow(dead_code, reason = "main is for people")]
#[path = "../../examples/list.rs"]
mod example;

#[test]
fn example_lists_the_images_of_a_file() {
    let scene = Sandbox::new();
    scene.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    scene.fatbin("wrap --kind openmp -o w.o a b").ok();
    let (path, mut text) = (scene.path("w.o"), Vec::new());
    let path = path.to_str().unwrap();
    example::list(path, &mut text).unwrap();
    let size = scene.read("b").len();
    let expected = format!(
        "{path}: openmp amdgcn-amd-amdhsa gfx90a, 3456 bytes\n{path}: openmp nvptx64-nvidia-cuda sm_90, {size} bytes\n"
    );
    assert_eq!(String::from_utf8(text).unwrap(), expected);
    assert!(example::list("/nowhere/at/all", &mut Vec::new()).is_err());
}

#[test]
fn scans_bytes_in_memory() {
    let bytes = crate::fixture("answer-sm_90.cubin");
    let scan = Scan::new(View::new(&bytes)).unwrap();
    let archs: Vec<_> = scan.file().device_images().map(|image| image.arch.as_deref()).collect();
    assert_eq!(archs, [Some("sm_90")]);
}
