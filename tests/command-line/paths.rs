//! Names of files with `!`, with `\` and without UTF-8: `!` also separates an archive from its members in reports.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::zip_files::{entry, zip_of};
use crate::{Sandbox, fixture};

/// Writes a file with an image at each path.
fn images(sandbox: &Sandbox, paths: &[&str]) {
    for path in paths {
        std::fs::create_dir_all(sandbox.path(path).parent().unwrap()).unwrap();
        sandbox.file(path, fixture("answer-gfx90a.hsaco"));
    }
}

#[test]
fn directories_are_packages_whatever_their_names() {
    let sandbox = Sandbox::new();
    images(&sandbox, &["a!1/x.co", "a!2/x.co", "a!2/y.co"]);
    let expected = "\
MI210 gfx90a: 3 libraries: 3 native
  PACKAGE  FILES  VERDICT
  a!1          1  native
  a!2          2  native
";
    assert_eq!(sandbox.fatbin("select --device MI210 a!1 a!2").ok(), expected);
}

#[test]
fn templates_take_the_member_from_the_archive_alone() {
    let sandbox = Sandbox::new();
    let zip = zip_of(&[entry("lib/a!b.co", fixture("answer-gfx90a.hsaco"))]);
    std::fs::create_dir(sandbox.path("d!1")).unwrap();
    sandbox.file("d!1/w!.zip", zip);
    let run = sandbox.fatbin("extract -o out --name {file}+{member}.{extension} d!1/w!.zip");
    assert_eq!(run.ok(), "out/w_.zip+lib_a_b.co.hsaco\n");
}

#[test]
fn patterns_match_the_name_of_a_file_or_its_path_in_an_archive() {
    let sandbox = Sandbox::new();
    sandbox.file("w.zip", zip_of(&[entry("lib/a!b.co", fixture("answer-gfx90a.hsaco"))]));
    for (pattern, status) in [("a!b.co", 0), ("lib/a!b.co", 0), ("w.zip!lib/a!b.co", 0), ("b.co", 1), ("a", 1)] {
        sandbox.file("p.toml", format!("must-hold = [\"{pattern}\"]\n"));
        assert_eq!(sandbox.fatbin("check --policy p.toml w.zip").status, status, "{pattern}");
    }
}

#[test]
fn a_policy_that_is_written_for_a_file_passes_whatever_its_name() {
    let sandbox = Sandbox::new();
    for name in ["a!b.co", r"a\b.co", "a[1].co", "{a,b}.co", "a?.co"] {
        images(&sandbox, &[name]);
        let policy = sandbox.fatbin(&format!("check --init {name}")).ok();
        sandbox.file("p.toml", policy);
        sandbox.fatbin(&format!("check --policy p.toml {name}")).ok();
    }
}

#[test]
fn names_that_are_not_utf8_stay_apart() {
    let sandbox = Sandbox::new();
    let paths: Vec<PathBuf> =
        [b"x\xff.co", b"x\xfe.co"].map(|name| PathBuf::from(OsString::from_vec(name.to_vec()))).into();
    for path in &paths {
        std::fs::write(sandbox.directory.path().join(path), fixture("answer-gfx90a.hsaco")).unwrap();
    }
    // Each name has its own entry.
    let lock = sandbox.fatbin("lock -o - .").ok();
    for name in [r"./x\\xff.co", r"./x\\xfe.co"] {
        assert_eq!(lock.matches(name).count(), 1, "{name}: {lock}");
    }
    let size = fixture("answer-gfx90a.hsaco").len() as f64 / 512.0;
    let screen = sandbox.fatbin(".").ok();
    assert!(screen.starts_with(&format!(".: {size:.1} KiB, 2 files")), "{screen}");
}
