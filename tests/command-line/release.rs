//! `scripts/release` without a build: names of its files, and the steps of the release workflow.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::write_program;
use crate::{Sandbox, run};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name)
}

/// Fills in a template of cargo-binstall.
fn fill(template: &str, target: &str) -> String {
    let suffix = if target.contains("windows") { ".exe" } else { "" };
    let values =
        [("repo", "REPO"), ("version", VERSION), ("target", target), ("bin", "fatbin"), ("binary-ext", suffix)];
    let fill_one = |text: String, (name, value): (&str, &str)| text.replace(&format!("{{ {name} }}"), value);
    values.into_iter().fold(template.to_owned(), fill_one)
}

#[test]
fn cargo_binstall_downloads_the_archives_of_the_script() {
    let manifest: toml::Table = include_str!("../../Cargo.toml").parse().unwrap();
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let value = |target: &str, name: &str| {
        let special = binstall["overrides"].get(target).and_then(|special| special.get(name));
        fill(special.unwrap_or(&binstall[name]).as_str().unwrap(), target)
    };
    let forms = run(Sandbox::new().command("python3").arg(script("release")).arg("--list")).ok();
    let rows: Vec<Vec<&str>> = forms.lines().map(|line| line.split(' ').collect()).collect();
    let archives: Vec<&[&str]> = rows.iter().filter_map(|row| row.get(1..4)).collect();
    assert!(archives.len() >= 4, "{forms}");
    for row in &archives {
        let (target, archive, program) = (row[0], row[1], row[2]);
        assert_eq!(value(target, "pkg-url"), format!("REPO/releases/download/v{VERSION}/{archive}"));
        assert_eq!(value(target, "bin-dir"), program);
        let format = if archive.ends_with(".zip") { "zip" } else { "tgz" };
        assert_eq!(value(target, "pkg-fmt"), format);
    }
    // Rust for Windows usually targets MSVC, and Rust for Linux may target musl. The programs run there.
    for (target, released) in [
        ("x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu"),
        ("x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"),
        ("aarch64-unknown-linux-musl", "aarch64-unknown-linux-gnu"),
    ] {
        for name in ["pkg-url", "pkg-fmt", "bin-dir"] {
            assert_eq!(value(target, name), value(released, name));
        }
    }
}

#[test]
fn the_tag_of_a_release_is_its_version() {
    let sandbox = Sandbox::new();
    let step = |tag: String| run(sandbox.command("bash").arg(script("ci/release-version")).arg(tag));
    assert_eq!(step(format!("v{VERSION}")).ok(), "");
    let wrong = step(format!("v{VERSION}.1"));
    assert!(wrong.status == 1 && wrong.out.contains("::error title=release::the tag v"), "{wrong:?}");
}

/// The step is run with a program in the place of GitHub's that prints its arguments.
#[test]
fn the_workflow_publishes_the_files_with_checksums_and_no_others() {
    let sandbox = Sandbox::new();
    let directory = sandbox.path("release");
    fs::create_dir(&directory).unwrap();
    for name in ["a.deb", "b.tar.gz", "unlisted"] {
        fs::write(directory.join(name), name).unwrap();
    }
    fs::create_dir(sandbox.path("bin")).unwrap();
    write_program(&sandbox.path("bin/gh"), "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
    sandbox.shell("cd release && sha256sum a.deb b.tar.gz > SHA256SUMS").ok();
    let publish = || {
        let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap());
        run(sandbox.command("bash").arg(script("ci/publish-release")).args(["v1.2", "release"]).env("PATH", path))
    };
    let printed = publish().ok();
    let arguments: Vec<&str> = printed.lines().collect();
    assert_eq!(arguments[..3], ["release", "create", "v1.2"]);
    assert!(arguments.contains(&"--draft"), "{printed}");
    let files: Vec<&str> = arguments.iter().copied().filter(|argument| argument.starts_with("release/")).collect();
    assert_eq!(files, ["release/a.deb", "release/b.tar.gz", "release/SHA256SUMS"]);
    fs::write(directory.join("a.deb"), "changed").unwrap();
    let changed = publish();
    assert!(changed.status == 1 && changed.out.contains("a.deb: FAILED"), "{changed:?}");
}
