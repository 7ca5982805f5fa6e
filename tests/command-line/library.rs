//! The library, used as in the example.

use fatbin::bytes::View;
use fatbin::check::{Outcome, Policy};
use fatbin::ops;
use fatbin::scan::{Options, Scan};

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

#[test]
fn checks_paths_by_a_policy() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("lib")).unwrap();
    sandbox.fixture("answer-gfx90a.hsaco", "lib/a").fixture("answer-sm_90.cubin", "b").file("text", "nothing");
    let policy = Policy::parse("policy.toml", "archs.require = ['sm_90']").unwrap();
    let paths = ["b", "lib", "text"].map(|name| sandbox.path(name));
    let checked = ops::check_paths(&policy, &paths, Options::default());
    let inputs: Vec<usize> = checked.files.iter().map(|file| file.input).collect();
    assert_eq!(inputs, [0, 1, 2]);
    let violated = checked.verdict.evaluations.iter().filter(|it| it.outcome == Outcome::Violated);
    let violated: Vec<(&str, &str)> = violated.map(|it| (it.path.as_str(), it.rule.name())).collect();
    let (a, text) = (sandbox.path("lib/a"), sandbox.path("text"));
    let expected = [(a.to_str().unwrap(), "required-archs"), (text.to_str().unwrap(), "holds-device-code")];
    assert_eq!(violated, expected);
}

#[test]
fn locks_paths() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").file("broken", [0x10, 0xff, 0x10, 0xad]);
    let (lock, errors) = ops::lock_paths(&[sandbox.path("a")], Options::default());
    assert!(errors.is_empty() && lock.images().count() == 1, "{errors:?}");
    let (_, errors) = ops::lock_paths(&[sandbox.path("broken")], Options::default());
    assert_eq!(errors.len(), 1);
}
