//! The program that the action gets: a released one, or one that it builds.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{Ended, end, path_with_program, root};
use crate::harness::command::command;
use crate::harness::program::write_program;

/// Stands for cargo, and writes a program that prints that it was built.
const CARGO: &str = r#"#!/bin/sh
for word; do [ "$last" = --root ] && root=$word; last=$word; done
mkdir -p "$root/bin"
printf '#!/bin/sh\necho built\n' > "$root/bin/fatbin"
chmod +x "$root/bin/fatbin"
"#;

/// Writes the release of this version as `scripts/release` does, for the runner's system.
const RELEASE: &str = r#"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$SOURCE/Cargo.toml" | head -n 1)
name=fatbin-$version-x86_64-unknown-linux-gnu
mkdir -p "releases/v$version/$name" bin
cp "$(command -v fatbin)" "releases/v$version/$name/fatbin"
cd "releases/v$version"
tar -czf "$name.tar.gz" "$name"
rm -r "$name"
sha256sum "$name.tar.gz" > SHA256SUMS
"#;

pub fn the_program_of_a_release_is_downloaded_and_its_checksum_verified(directory: &Path) -> Result<()> {
    let shell = |script: &str| {
        let mut shell = command("bash");
        shell.args(["-ec", script]).current_dir(directory).env("SOURCE", root()).env("PATH", path_with_program()?);
        end(&mut shell)
    };
    shell(RELEASE)?.must_be(0, "")?;
    write_program(&directory.join("bin/cargo"), CARGO)?;
    let releases = format!("file://{}", directory.join("releases").display()).replace(' ', "%20");
    let get = |variables: &[(&str, &str)]| -> Result<Ended> {
        shell("rm -rf runner; mkdir runner; : > output")?.must_be(0, "")?;
        let mut step = command("bash");
        let path = std::env::join_paths(
            [directory.join("bin")].into_iter().chain(std::env::split_paths(&path_with_program()?)),
        )?;
        step.arg(root().join("scripts/ci/get-program")).current_dir(directory).env("PATH", path);
        step.env("SOURCE", root()).env("RUNNER_TEMP", directory.join("runner")).env("RUNNER_OS", "Linux");
        step.env("RUNNER_ARCH", "X64").env("GITHUB_OUTPUT", directory.join("output"));
        end(step.envs(variables.iter().copied()))
    };
    let version = concat!("fatbin ", env!("CARGO_PKG_VERSION"));
    let program = || std::fs::read_to_string(directory.join("output"));
    get(&[("RELEASES", &releases)])?.must_be(0, version)?;
    ensure!(program()?.ends_with("-x86_64-unknown-linux-gnu/fatbin\n"), "{}", program()?);
    // Without a release for the system, of the version or at the address, the program is built.
    for (variables, reason) in [
        ([("RELEASES", "file:///none"), ("RUNNER_ARCH", "X64")], "no release at file:///none/v"),
        ([("RELEASES", &*releases), ("RUNNER_ARCH", "RISCV64")], "no release for Linux on RISCV64"),
        ([("RELEASES", &*releases), ("RUNNER_ARCH", "ARM64")], "SHA256SUMS does not list fatbin-"),
        ([("RELEASES", ""), ("RUNNER_ARCH", "X64")], "the address of the releases is not known"),
    ] {
        let ended = get(&variables)?;
        ended.must_be(0, "built")?;
        ensure!(ended.text.contains(&format!("::notice title=fatbin::{reason}")), "{}", ended.text);
        ensure!(program()?.ends_with("/fatbin/bin/fatbin\n"), "{}", program()?);
    }
    // A requested version is never replaced by another one.
    get(&[("RELEASES", &releases), ("VERSION", "9.9.9")])?
        .must_be(1, "::error title=fatbin::version 9.9.9: no release")?;
    shell("for archive in releases/*/*.gz; do printf x >> $archive; done")?.must_be(0, "")?;
    let damaged = get(&[("RELEASES", &releases)])?;
    damaged.must_be(1, ".tar.gz has SHA-256 ")?;
    ensure!(!damaged.text.contains("built"), "{}", damaged.text);
    Ok(())
}
