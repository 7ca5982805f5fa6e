//! Objects of hosts that are bitcode, of every release of clang and of rustc. Objects without device code are host
//! files. Other objects have the same device images as the object that is not bitcode.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, in_path, llvm_tool};
use crate::harness::trial::{completion, fresh_directory};
use crate::linker_wrapper::kernel;

const RELEASES: [&str; 5] = ["14", "15", "16", "19", "22"];

/// First release whose objects of HIP have offload binaries instead of bundles.
const FIRST_WITH_OFFLOAD_BINARIES: u32 = 16;

/// Options of clang for HIP without its headers and libraries, and without an identifier that depends on the other options.
const HIP: [&str; 9] =
    ["-x", "hip", "-nogpulib", "-nogpuinc", "-fuse-cuid=none", "-O1", "-c", "k.hip", "--offload-arch=gfx90a"];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for release in RELEASES {
        trials.push(trial(format!("plain-{release}"), move |directory| plain(directory, release)));
        trials.push(trial(format!("hip-{release}"), move |directory| hip(directory, release)));
    }
    trials.push(trial("rust".to_owned(), rust));
    trials.push(trial("fat-lto".to_owned(), fat_lto));
    trials
}

fn trial(name: String, test: impl Fn(&Path) -> Result<()> + Send + 'static) -> Trial {
    Trial::ignorable_test(format!("host-bitcode/{name}"), move || {
        completion(fresh_directory("host-bitcode", &name).and_then(|directory| test(&directory)))
    })
}

fn fatbin(directory: &Path) -> Step {
    Step::new(directory, fatbin_program())
}

/// An object that also holds its bitcode has its device code twice. Both are listed, the bytes are counted once, and no
/// change to one copy is left to be undone by a link that takes the other.
fn fat_lto(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("k.hip"), kernel("hip"))?;
    for release in ["19", "22"] {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        for (driver, options) in
            [("old", &["--offload-arch=gfx906"][..]), ("new", &["--offload-new-driver", "-fgpu-rdc"])]
        {
            let object = format!("{driver}-{release}.o");
            let compile = Step::new(directory, &clang).args(HIP).args(options).args(["-flto", "-ffat-lto-objects"]);
            compile.args(["-o", &object]).run()?;
            let scan = fatbin(directory).args(["scan", &object]).run()?.stdout;
            let (own, copy) = scan.split_once(&format!("{object}!.llvm.lto: bitcode, ")).context(scan.clone())?;
            ensure!(own.matches("gfx90a").count() == copy.matches("gfx90a").count(), "{scan}");
            let size = std::fs::metadata(directory.join(&object))?.len();
            let sizes = fatbin(directory).args(["size", &object]).run()?.stdout;
            ensure!(sizes.starts_with(&format!("2 files: {size} bytes\n")), "{size}: {sizes}");
            fatbin(directory).args(["verify", &object]).run()?;
            let changes =
                ["prune --keep gfx90a", "strip --device-debug", "transcode --to plain", "replace --image 0=k.hip"];
            for words in changes {
                let change = fatbin(directory).args(words.split(' ')).args(["-o", "changed", &object]).run();
                let error = change.err().with_context(|| format!("{words} {object} changed one copy"))?.to_string();
                ensure!(error.contains(".llvm.lto holds the images again"), "{words}: {error}");
                ensure!(!directory.join("changed").exists(), "{words} left an output");
            }
        }
    }
    Ok(())
}

/// Requires that a file has no device code for any command, without any error.
fn is_host_file(directory: &Path, file: &str) -> Result<()> {
    std::fs::write(directory.join("policy.toml"), "[archs]\n")?;
    let commands =
        ["scan", "inspect", "verify", "check --policy policy.toml", "select --device x86_64", "extract -o out"];
    for words in commands {
        let run = command(fatbin_program()).current_dir(directory).args(words.split(' ')).arg(file).output()?;
        let text = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
        ensure!(run.status.code() == Some(1), "{words} {file}: {:?}\n{text}", run.status);
    }
    Ok(())
}

/// Puts a file into a static library.
fn library(directory: &Path, members: &[&str], name: &str) -> Result<()> {
    Step::new(directory, Tool::Ar.path()?).args(["rc", name]).args(members).run().map(drop)
}

/// Writes a file with the wrapper that Apple's compilers put around bitcode.
fn wrap(directory: &Path, file: &str, wrapped: &str) -> Result<()> {
    let bitcode = std::fs::read(directory.join(file))?;
    let header = [0x0b17_c0de, 0, 20, u32::try_from(bitcode.len())?, 7].map(u32::to_le_bytes).concat();
    std::fs::write(directory.join(wrapped), [header, bitcode].concat())?;
    Ok(())
}

fn plain(directory: &Path, release: &str) -> Result<()> {
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    std::fs::write(directory.join("plain.c"), "int f(int x) { return x + 1; }\n")?;
    let mut files = Vec::new();
    for lto in ["full", "thin"] {
        for (language, name) in [("c", "c"), ("c++", "cxx")] {
            let object = format!("{lto}-{name}.o");
            let compile = Step::new(directory, &clang).args(["-O1", "-x", language, "-c", "plain.c", "-o", &object]);
            compile.arg(format!("-flto={lto}")).run()?;
            let wrapped = format!("wrapped-{object}");
            wrap(directory, &object, &wrapped)?;
            files.extend([object, wrapped]);
        }
    }
    library(directory, &files.iter().map(String::as_str).collect::<Vec<_>>(), "library.a")?;
    files.push("library.a".to_owned());
    files.iter().try_for_each(|file| is_host_file(directory, file))
}

/// Device images are the same whether the host's part of an object is compiled or bitcode.
fn hip(directory: &Path, release: &str) -> Result<()> {
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    std::fs::write(directory.join("k.hip"), kernel("hip"))?;
    let number: u32 = release.parse()?;
    let mut forms: Vec<&[&str]> = vec![&[]];
    if number >= FIRST_WITH_OFFLOAD_BINARIES {
        forms.push(&["-fgpu-rdc", "--offload-new-driver"]);
    }
    for (index, form) in forms.into_iter().enumerate() {
        let compile = |lto: &[&str], object: &str| {
            Step::new(directory, &clang).args(HIP).args(form).args(lto).args(["-o", object]).run().map(drop)
        };
        let names: Vec<String> = ["object", "full", "thin", "wrapped"].map(|name| format!("{name}-{index}.o")).into();
        compile(&[], &names[0])?;
        compile(&["-flto=full"], &names[1])?;
        compile(&["-flto=thin"], &names[2])?;
        wrap(directory, &names[1], &names[3])?;
        let expected = images(directory, &names[0])?;
        ensure!(!expected.is_empty(), "{}: no image", names[0]);
        for name in &names[1..] {
            ensure!(images(directory, name)? == expected, "{name}: other images than {}", names[0]);
        }
        let archive = format!("library-{index}.a");
        library(directory, &[&names[1], &names[3]], &archive)?;
        ensure!(
            images(directory, &archive)? == [&expected[..], &expected].concat(),
            "{archive}: other images than twice {}",
            names[0]
        );
        let select = |name: &str| -> Result<String> {
            let answer = fatbin(directory).args(["inspect", name]).run()?.stdout;
            Ok(answer.replace(name, "OBJECT"))
        };
        ensure!(select(&names[0])? == select(&names[1])?, "{}: another answer than {}", names[1], names[0]);
    }
    Ok(())
}

/// Extracts the images of a file, and returns their bytes in the order of the file.
fn images(directory: &Path, file: &str) -> Result<Vec<Vec<u8>>> {
    let names = fatbin(directory).args(["extract", "-o", &format!("{file}-images"), file]).run()?.stdout;
    names.lines().map(|name| std::fs::read(directory.join(name)).with_context(|| name.to_owned())).collect()
}

/// Libraries of rustc, whose objects are bitcode or have it in a section.
fn rust(directory: &Path) -> Result<()> {
    let rustc = in_path("rustc").ok_or_else(|| Missing::by("rustc", "https://rustup.rs"))?;
    std::fs::write(directory.join("lib.rs"), "pub fn f(x: u32) -> u32 { x + 1 }\n#[no_mangle] pub fn g() {}\n")?;
    let forms: [(&str, &[&str]); 4] = [
        ("plugin.rlib", &["--crate-type", "rlib", "-C", "linker-plugin-lto"]),
        ("section.rlib", &["--crate-type", "rlib", "-C", "embed-bitcode=yes"]),
        ("plugin.a", &["--crate-type", "staticlib", "-C", "linker-plugin-lto", "-C", "panic=abort"]),
        ("module.bc", &["--crate-type", "lib", "--emit", "llvm-bc"]),
    ];
    for (name, options) in forms {
        Step::new(directory, &rustc).args(["--edition", "2021", "-O", "-o", name]).args(options).arg("lib.rs").run()?;
        is_host_file(directory, name)?;
    }
    Ok(())
}
