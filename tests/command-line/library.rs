//! The library, used as in the examples.

use fatbin::{Scan, View};

use crate::Sandbox;

macro_rules! example {
    ($name:ident, $path:literal) => {
        #[allow(dead_code, reason = "main is not called")]
        #[path = $path]
        mod $name;
    };
}

example!(check, "../../examples/check.rs");
example!(extract, "../../examples/extract.rs");
example!(list, "../../examples/list.rs");
example!(produce, "../../examples/produce.rs");
example!(scan, "../../examples/scan.rs");
example!(select, "../../examples/select.rs");
example!(wrap, "../../examples/wrap.rs");

/// A host object with an image for gfx90a and one for sm_90.
fn sandbox() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("wrap --kind openmp -o w.o a b").ok();
    let path = sandbox.path("w.o").to_str().unwrap().to_owned();
    (sandbox, path)
}

#[test]
fn list_prints_the_images_of_a_file() {
    let ((sandbox, path), mut text) = (sandbox(), Vec::new());
    list::list(&path, &mut text).unwrap();
    let size = sandbox.read("b").len();
    let expected = format!(
        "{path}: openmp amdgcn-amd-amdhsa gfx90a, 3456 bytes\n{path}: openmp nvptx64-nvidia-cuda sm_90, {size} bytes\n"
    );
    assert_eq!(String::from_utf8(text).unwrap(), expected);
    assert!(list::list("/nowhere/at/all", &mut Vec::new()).is_err());
}

#[test]
fn scan_counts_the_images_below_a_directory() {
    let (sandbox, _) = sandbox();
    let counts = scan::count(&[sandbox.path(".")]).unwrap();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("gfx90a".to_owned(), 2), ("sm_90".to_owned(), 2)]);
    assert!(scan::count(&["/nowhere/at/all".into()]).is_err());
}

#[test]
fn extract_writes_the_images_of_an_arch() {
    let (sandbox, path) = sandbox();
    assert_eq!(extract::extract(path.as_ref(), "sm_90", &sandbox.path(".")).unwrap(), 1);
    assert_eq!(sandbox.read("1.cubin"), sandbox.read("b"));
}

#[test]
fn wrap_writes_an_object_that_scan_reads() {
    let (sandbox, mut object) = (sandbox().0, Vec::new());
    wrap::wrap("a", &sandbox.read("a"), &mut object).unwrap();
    let scan = Scan::new(View::new(&object)).unwrap();
    let images: Vec<_> = scan.images().map(|image| image.bytes().unwrap().to_vec()).collect();
    assert_eq!(images, [sandbox.read("a")]);
}

#[test]
fn produce_writes_what_a_device_runs() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "cubin").fixture("answer-sm_80.ptx", "ptx");
    let paths = ["ptx", "cubin"].map(|name| sandbox.path(name).to_str().unwrap().to_owned());
    let container = produce::produce("H100", &paths).unwrap();
    let scan = Scan::new(View::new(&container)).unwrap();
    let images: Vec<_> = scan.images().map(|image| image.bytes().unwrap().to_vec()).collect();
    assert_eq!(images, [sandbox.read("cubin")]);
    assert!(produce::produce("gfx90a", &paths).is_err());
}

#[test]
fn check_returns_the_findings_of_a_policy() {
    let (_sandbox, path) = sandbox();
    let findings = |policy| check::check(policy, &[path.clone().into()]).unwrap();
    assert_eq!(findings("archs.require = ['gfx90a', 'sm_90']"), Vec::<String>::new());
    assert_eq!(findings("archs.require = ['gfx942']"), ["no code for gfx942"]);
    assert!(check::check("no policy", &[]).is_err());
}

#[test]
fn select_prints_the_image_for_a_device() {
    let ((_sandbox, path), mut text) = (sandbox(), Vec::new());
    select::print_selections(&path, "sm_90", &mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), format!("{path}: libomptarget selects image 1\n"));
}

#[test]
fn bytes_in_memory_are_scanned_without_a_file() {
    let bytes = crate::fixture("answer-sm_90.cubin");
    let scan = Scan::new(View::new(&bytes)).unwrap();
    let archs: Vec<_> = scan.file().device_images().map(|image| image.arch.as_deref()).collect();
    assert_eq!(archs, [Some("sm_90")]);
}
