//! The forms of a release that `scripts/release` links from the crates of the test build. They are checked by the script and
//! by the tools that users install them with. The programs for Windows and macOS take too long to build here.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::command::command;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, in_path};
use crate::harness::trial::{completion, fresh_directory};
use crate::native::{pkg_config, target_directory};

/// Forms that contain one program, which is built once.
const FORMS: [&str; 4] = ["x86_64-linux", "deb", "oci", "c-library"];

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn trials() -> Vec<Trial> {
    type Test = fn(&Path) -> Result<()>;
    let tests: [(&str, Test); 6] = [
        ("paths", the_flags_replace_paths),
        ("archive", the_archive_contains_a_program_that_runs_alone),
        ("deb", dpkg_installs_and_removes_the_packages),
        ("oci", skopeo_copies_the_image),
        ("c-library", programs_compile_with_the_unpacked_library),
        ("check", the_check_fails_on_changed_files),
    ];
    let trial = |(name, test): (&str, Test)| {
        let name = name.to_owned();
        Trial::ignorable_test(format!("release/{name}"), move || completion(test(&fresh_directory("release", &name)?)))
    };
    tests.into_iter().map(trial).collect()
}

/// Runs `scripts/release` with the forms.
fn release(arguments: &[&str]) -> Result<Output> {
    let mut command = command(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/release"));
    Ok(command.args(arguments).args(FORMS).output()?)
}

/// Returns the directory with the forms. The first call builds them.
fn forms() -> Result<PathBuf> {
    static ONE_BUILD: Mutex<bool> = Mutex::new(false);
    for (tool, package) in
        [("python3", "python3"), ("gcc", "gcc"), ("dpkg-deb", "dpkg"), ("readelf", "binutils"), ("git", "git")]
    {
        in_path(tool).ok_or_else(|| Missing::new(tool, package))?;
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release-forms");
    let mut is_built = ONE_BUILD.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_built {
        let output = release(&["--profile", "dev", "--out", directory.to_str().context("a path in UTF-8")?])?;
        ensure!(output.status.success(), "{output:?}");
        let printed = String::from_utf8(output.stdout)?;
        for line in [
            "x86_64-unknown-linux-gnu.tar.gz: ",
            "static, runs\n",
            "amd64.deb: ",
            "statements: 6 files",
            "an example runs with both",
        ] {
            ensure!(printed.contains(line), "{line}:\n{printed}");
        }
        *is_built = true;
    }
    Ok(directory)
}

/// The flags of a release replace the paths of this machine in Rust and C, in a small program.
fn the_flags_replace_paths(directory: &Path) -> Result<()> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let code = "import pathlib, sys; from forms import sample; sample.check(*map(pathlib.Path, sys.argv[1:]))";
    let step = Step::new(directory, python).env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts"));
    step.args(["-B", "-c", code]).arg(directory).arg(target_directory()?).run().map(drop)
}

/// An archive contains one directory, and its program works in an empty root directory, or where only root can change it, here.
fn the_archive_contains_a_program_that_runs_alone(directory: &Path) -> Result<()> {
    let name = format!("fatbin-{VERSION}-x86_64-unknown-linux-gnu");
    let archive = forms()?.join(format!("{name}.tar.gz"));
    Step::new(directory, "tar").arg("-xzf").arg(&archive).run()?;
    for file in ["LICENSE-MIT", "THIRD-PARTY.txt", "man/fatbin-scan.1", "completions/fatbin.bash", "README.md"] {
        ensure!(directory.join(&name).join(file).is_file(), "{name}.tar.gz lacks {file}");
    }
    let third_party = std::fs::read_to_string(directory.join(&name).join("THIRD-PARTY.txt"))?;
    for text in ["GNU C Library", "zstd-sys ", "Copyright (c) Meta Platforms"] {
        ensure!(third_party.contains(text), "THIRD-PARTY.txt lacks {text}");
    }
    let image = crate::harness::directives::fixture("answer-gfx90a.hsaco")?;
    let program = directory.join(&name).join("fatbin");
    let done = Step::new(directory, &program).arg("inspect").arg(image).run()?;
    ensure!(done.stdout.contains("answer_kernel"), done.error("no kernel"));
    Ok(())
}

/// dpkg installs the packages into a directory and removes them without a rest. The links lead to the program.
fn dpkg_installs_and_removes_the_packages(directory: &Path) -> Result<()> {
    let forms = forms()?;
    let packages = [format!("fatbin_{VERSION}_amd64.deb"), format!("fatbin-links_{VERSION}_all.deb")];
    let dpkg = || {
        let step = Step::new(directory, "dpkg").args(["--root=root", "--force-not-root", "--force-bad-path"]);
        step.arg("--log=/dev/null")
    };
    std::fs::create_dir_all(directory.join("root/var/lib/dpkg/updates"))?;
    std::fs::create_dir_all(directory.join("root/var/lib/dpkg/info"))?;
    std::fs::write(directory.join("root/var/lib/dpkg/status"), "")?;
    dpkg().arg("--install").args(packages.iter().map(|name| forms.join(name))).run()?;
    let lib = directory.join("root/usr/lib/fatbin");
    for (link, version, release) in [
        ("bin/llvm-offload-binary", VERSION, None),
        ("llvm-19/clang-linker-wrapper", "version 19 (fatbin)", Some("llvm19\n")),
    ] {
        let done = Step::new(directory, lib.join(link)).arg("--version").run()?;
        ensure!(done.stdout.contains(version), done.error("another version"));
        let record = lib.join(link).with_file_name("fatbin-llvm");
        ensure!(std::fs::read_to_string(record).ok().as_deref() == release, "{link}: another release");
    }
    for file in ["man/man1/fatbin.1.gz", "bash-completion/completions/fatbin", "doc/fatbin/copyright"] {
        ensure!(directory.join("root/usr/share").join(file).is_file(), "no file {file}");
    }
    dpkg().args(["--purge", "fatbin-links", "fatbin"]).run()?;
    ensure!(!directory.join("root/usr").exists(), "files are left in root/usr");
    Ok(())
}

/// skopeo, which verifies digests, reads the image, and its only layer contains the program.
fn skopeo_copies_the_image(directory: &Path) -> Result<()> {
    in_path("skopeo").ok_or_else(|| Missing::new("skopeo", "skopeo"))?;
    let archive = forms()?.join(format!("fatbin-{VERSION}-oci.tar"));
    let source = format!("oci-archive:{}:{VERSION}", archive.display());
    let skopeo = || Step::new(directory, "skopeo").env("TMPDIR", directory).arg("--insecure-policy");
    let done = skopeo().args(["inspect", "--config"]).arg(&source).run()?;
    let config: serde_json::Value = serde_json::from_str(&done.stdout)?;
    let [entry] = config["config"]["Entrypoint"].as_array().context("an entry point")?.as_slice() else {
        return Err(done.error("not one entry point"));
    };
    ensure!(config["architecture"] == "amd64" && config["config"]["WorkingDir"] == "/work", "{config}");
    skopeo().arg("copy").arg(&source).arg("dir:image").run()?;
    let manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(directory.join("image/manifest.json"))?)?;
    let [layer] = manifest["layers"].as_array().context("layers")?.as_slice() else {
        return Err(done.error("not one layer"));
    };
    let blob = layer["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:")).context("a digest")?;
    std::fs::create_dir(directory.join("root"))?;
    Step::new(directory, "tar").args(["-C", "root", "-xzf", &format!("image/{blob}")]).run()?;
    let program = directory.join("root").join(entry.as_str().context("a path")?.trim_start_matches('/'));
    let done = Step::new(directory, program).arg("--version").run()?;
    ensure!(done.stdout == format!("fatbin {VERSION}\n"), done.error("another version"));
    Ok(())
}

/// Returns the directory of the unpacked archive with the C library. The first call unpacks it.
pub fn archive() -> Result<PathBuf> {
    static UNPACKED: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut unpacked = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(prefix) = &*unpacked {
        return Ok(prefix.clone());
    }
    let name = format!("libfatbin-{VERSION}-x86_64-unknown-linux-gnu");
    let directory = fresh_directory("release", "unpacked")?;
    Step::new(&directory, "tar").arg("-xzf").arg(forms()?.join(format!("{name}.tar.gz"))).run()?;
    Ok(unpacked.insert(directory.join(name)).clone())
}

/// pkg-config finds the library where its archive was unpacked, and CMake the package and the program.
fn programs_compile_with_the_unpacked_library(directory: &Path) -> Result<()> {
    let prefix = archive()?;
    let printed = pkg_config(directory, &prefix, &["--variable=includedir"])?;
    let header = Path::new(printed.first().context("a directory")?).join("fatbin.h");
    ensure!(
        header.canonicalize()? == prefix.join("include/fatbin.h").canonicalize()?,
        "another directory: {printed:?}"
    );
    let find = format!(
        "set(CMAKE_PREFIX_PATH \"{}\")\nfind_package(fatbin REQUIRED)\nmessage(STATUS \"is ${{FATBIN_PROGRAM}}\")\n\
        get_target_property(library fatbin::c IMPORTED_LOCATION)\nmessage(STATUS \"and ${{library}}\")\n",
        prefix.display()
    );
    let script = format!("cmake_minimum_required(VERSION 3.20)\nproject(example C)\n{find}");
    std::fs::write(directory.join("CMakeLists.txt"), script)?;
    let done = Step::new(directory, Tool::Cmake.path()?).args(["-S.", "-Bbuild"]).run()?;
    for (word, path) in [("is", "bin/fatbin"), ("and", "lib/libfatbin.so")] {
        let expected = format!("-- {word} {}", prefix.join(path).display());
        ensure!(done.stdout.contains(&expected), done.error(format!("expected: {expected}")));
    }
    Ok(())
}

/// A changed byte, an additional file and a missing file are errors.
fn the_check_fails_on_changed_files(directory: &Path) -> Result<()> {
    for entry in std::fs::read_dir(forms()?)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), directory.join(entry.file_name()))?;
        }
    }
    let check = |message: &str| -> Result<()> {
        let output = release(&["--check", directory.to_str().context("a path in UTF-8")?])?;
        let printed = String::from_utf8(output.stderr)?;
        ensure!(output.status.code() == Some(1) && printed.contains(message), "{message}: {printed}");
        Ok(())
    };
    let sums = directory.join("SHA256SUMS");
    let original = std::fs::read_to_string(&sums)?;
    std::fs::write(&sums, original.replacen(|c: char| c.is_ascii_digit(), "x", 1))?;
    check("SHA256SUMS: differs")?;
    std::fs::write(&sums, original)?;
    std::fs::write(directory.join("notes.txt"), "")?;
    check("the files of ")?;
    std::fs::rename(directory.join("notes.txt"), directory.join(format!("fatbin_{VERSION}_amd64.deb")))?;
    check("SHA256SUMS: differs")
}
