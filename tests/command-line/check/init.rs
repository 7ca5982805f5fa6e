//! `fatbin check --init`: a policy from a known-good build.

use super::{Sandbox, wheel};

#[test]
fn a_build_passes_its_generated_policy() {
    let scene = Sandbox::with_device_code();
    scene.file("a.whl", wheel(&[("lib/one.so", scene.read("both.o")), ("lib/two [x].so", scene.read("cuda.o"))]));
    for files in ["both.o", "both.o cuda.o hip.o", "v2.hipfb", "with-debug", "nameless", "bitcode", "opaque.o", "a.whl"]
    {
        let policy = scene.fatbin(&format!("check --init {files}")).ok();
        let run = scene.check(&policy, files);
        assert_eq!(run.status, 0, "{files}:\n{policy}\n{}{}", run.out, run.err);
    }
}

#[test]
fn a_reduced_build_fails_the_generated_policy() {
    let scene = Sandbox::with_device_code();
    let policy = scene.fatbin("check --init both.o cuda.o").ok();
    let expected = "\
# Written by fatbin check --init from a build that was taken to be good.
must-hold = [\"both.o\", \"cuda.o\"]

[archs]
# In every file.
require = [\"sm_90\"]
# In any file.
only = [\"compute_80\", \"gfx90a\", \"sm_90\"]

[sizes]
# A tenth more than there is.
total = \"12.2 kB\"
file = \"7.77 kB\"

[images]
intact = true
debug = \"none\"
build-paths = false

[files.\"both.o\"]
archs.require = [\"gfx90a\", \"sm_90\"]

[files.\"cuda.o\"]
archs.require = [\"compute_80\", \"sm_90\"]
";
    assert_eq!(policy, expected);
    scene.fatbin("wrap --kind openmp -o both.o sm90").ok();
    let run = scene.check(&policy, "both.o cuda.o");
    assert_eq!(run.status, 1);
    assert!(run.out.starts_with("both.o: required-archs: no code for gfx90a; there is sm_90\n"), "{}", run.out);
}

#[test]
fn does_not_generate_a_policy_from_nothing_or_from_a_damaged_build() {
    let scene = Sandbox::with_device_code();
    let run = scene.fatbin("check --init text");
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    for files in ["both.o missing", "both.o broken"] {
        let run = scene.fatbin(&format!("check --init {files}"));
        assert_eq!((run.status, run.out.as_str(), run.err.lines().count()), (2, "", 1), "{}", run.err);
    }
}
