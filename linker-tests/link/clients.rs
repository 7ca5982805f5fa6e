//! Command lines of clang 15, 16 and 19 with their clang-linker-wrapper and with fatbin's: where the reference links, so does fatbin, and
//! the images have the same kernels. `docs/features.md` has the result of a larger table.

use std::path::Path;
use std::process::Output;

use anyhow::{Context, Result, ensure};

use super::releases::images;
use super::{fatbin, inputs};
use crate::harness::command::command;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::linker_wrapper::kernel;
use crate::runtimes::{directories_of, openmp_library};

const RELEASES: [&str; 3] = ["15", "16", "19"];

const LEVELS: [&str; 8] = ["", "-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Og"];

/// Spellings of words for the device linker. LLVM 15 passes them to ld.lld, LLVM 16 to ld.lld after splitting them at commas, and LLVM 19
/// to clang; text before `=` is a triple.
const WORDS: [&str; 13] = [
    "--build-id=none",
    "-Wl,--build-id=none",
    "-Xlinker -Xoffload-linker --gc-sections",
    "-O3",
    "-v",
    "-g",
    "-L.",
    "-z,notext",
    "-Wl,-Map=x.map",
    "-Wl,--gc-sections,--print-gc-sections",
    "-s",
    "-nostdlib",
    "-Wl,-z,notext",
];

/// Both linker wrappers of a release.
pub struct Pair {
    release: &'static str,
    clang: String,
    /// Directories of the tool, and of its replacement.
    directories: [String; 2],
}

impl Pair {
    pub fn new(directory: &Path, release: &'static str) -> Result<Pair> {
        let links = format!("links-{release}");
        fatbin(directory).args(["install-links", "--llvm", release, &links]).run()?;
        llvm_tool("clang-linker-wrapper", release, &format!("clang-tools-{release}"))?;
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?.display().to_string();
        Ok(Pair { release, clang, directories: [format!("/usr/lib/llvm-{release}/bin"), links] })
    }

    /// Links with a side: 0 is the reference. Few files may be open.
    pub fn link(&self, directory: &Path, side: usize, words: &str) -> Result<Output> {
        let line = format!("ulimit -n 256; exec {} -B {} {words}", self.clang, self.directories[side]);
        command("sh").current_dir(directory).args(["-c", &line]).output().with_context(|| line)
    }

    /// Requires that fatbin links what the reference links; returns whether it does.
    pub fn same(&self, directory: &Path, words: &str) -> Result<bool> {
        let theirs = self.link(directory, 0, &format!("{words} -o theirs.so"))?;
        if !theirs.status.success() {
            return Ok(false);
        }
        let ours = self.link(directory, 1, &format!("{words} -o ours.so"))?;
        let text = String::from_utf8_lossy(&ours.stderr);
        ensure!(ours.status.success(), "{}: clang-{} {words}\n{text}", directory.display(), self.release);
        let [theirs, ours] = ["theirs.so", "ours.so"].map(|name| images(directory, name));
        let (theirs, ours) = (theirs?, ours?);
        ensure!(theirs == ours, "clang-{} {words}:\n{theirs}\n{ours}", self.release);
        Ok(true)
    }

    fn compile_hip(&self, directory: &Path, options: &[&str]) -> Result<()> {
        let source = kernel("hip").replace("*to = 42;", "*to = helper(41);");
        let declaration = "__attribute__((device)) int helper(int);\n";
        std::fs::write(directory.join("kernel.hip"), format!("{declaration}{source}"))?;
        std::fs::write(directory.join("helper.hip"), inputs::HELPER)?;
        for name in ["kernel", "helper"] {
            let step = Step::new(directory, &self.clang).args(inputs::RDC).args(["-fPIC", "-O1", "-c"]).args(options);
            step.args(["--offload-arch=gfx90a", &format!("{name}.hip"), "-o", &format!("{name}.o")]).run()?;
        }
        Ok(())
    }
}

const HIP: &str = "--offload-link --offload-new-driver -shared -nostdlib kernel.o helper.o";

/// Device code is optimized during the link at every level.
pub fn optimization(directory: &Path) -> Result<()> {
    for release in RELEASES {
        let pair = Pair::new(directory, release)?;
        pair.compile_hip(directory, &["-foffload-lto"])?;
        for level in LEVELS {
            ensure!(pair.same(directory, &format!("{level} -foffload-lto {HIP}"))?, "clang-{release} {level}");
        }
        bitcode_for_cpus(directory, &pair)?;
    }
    Ok(())
}

/// Bitcode for a CPU runs under the runtime of the release.
fn bitcode_for_cpus(directory: &Path, pair: &Pair) -> Result<()> {
    let release = pair.release;
    let libraries =
        [openmp_library(release, "libomp.so.5")?, openmp_library(release, &format!("libomptarget.so.{release}"))?];
    std::fs::write(directory.join("openmp.c"), inputs::OPENMP)?;
    let search = libraries[1].parent().context("a library is in a directory")?.display().to_string();
    for level in ["", "-O2"] {
        let words = format!("-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -foffload-lto {level} -Wl,--no-as-needed");
        let files = format!("openmp.c '{}' '{}' -L'{search}'", libraries[0].display(), libraries[1].display());
        let output = pair.link(directory, 1, &format!("{words} {files} -o program"))?;
        ensure!(output.status.success(), "clang-{release} {words}\n{}", String::from_utf8_lossy(&output.stderr));
        let run = Step::new(directory, directory.join("program")).env("OMP_TARGET_OFFLOAD", "MANDATORY");
        let done = run.env("LD_LIBRARY_PATH", directories_of(&[&libraries[0], &libraries[1]])).run()?;
        ensure!(done.stdout == "42\n", "{}", done.error("expected 42"));
    }
    Ok(())
}

/// `-Xoffload-linker` in each spelling.
pub fn device_words(directory: &Path) -> Result<()> {
    for (release, at_least) in RELEASES.into_iter().zip([8, 9, 11]) {
        let pair = Pair::new(directory, release)?;
        pair.compile_hip(directory, &[])?;
        let mut linked = 0;
        for word in WORDS {
            linked += u32::from(pair.same(directory, &format!("-Xoffload-linker {word} {HIP}"))?);
        }
        ensure!(linked >= at_least, "clang-{release}: the reference links with {linked} spellings only");
    }
    Ok(())
}

/// Two definitions of a device symbol: the reference takes the first without a word, the linker of the device reports them.
pub fn duplicate_symbols(directory: &Path) -> Result<()> {
    for release in RELEASES {
        let pair = Pair::new(directory, release)?;
        pair.compile_hip(directory, &[])?;
        let words = format!("{HIP} -Wl,-z,muldefs helper.o -o out.so");
        let theirs = pair.link(directory, 0, &words)?;
        ensure!(theirs.status.success(), "{release}: {}", String::from_utf8_lossy(&theirs.stderr));
        let ours = pair.link(directory, 1, &words)?;
        let text = String::from_utf8_lossy(&ours.stderr);
        ensure!(!ours.status.success() && text.contains("duplicate symbol: helper(int)"), "{release}: {text}");
    }
    Ok(())
}

/// More inputs than files that may be open.
pub fn many_inputs(directory: &Path) -> Result<()> {
    let pair = Pair::new(directory, "19")?;
    pair.compile_hip(directory, &[])?;
    let mut words = String::new();
    for number in 0..600 {
        std::fs::copy(directory.join("helper.o"), directory.join(format!("{number}.o")))?;
        words += &format!("{number}.o ");
    }
    std::fs::write(directory.join("inputs"), &words)?;
    let ar = Step::new(directory, Tool::Ar.path()?).args(["rcs", "--thin", "libthin.a", "@inputs"]);
    ar.run()?;
    std::fs::write(directory.join("plain.c"), "")?;
    Step::new(directory, Tool::Cc.path()?).args(["-c", "plain.c"]).run()?;
    for number in 0..600 {
        std::fs::copy(directory.join("plain.o"), directory.join(format!("{number}-plain.o")))?;
    }
    let plain: Vec<String> = (0..600).map(|number| format!("{number}-plain.o")).collect();
    std::fs::write(directory.join("plain"), plain.join(" "))?;
    for words in ["@plain", "libthin.a"] {
        let output = pair.link(directory, 1, &format!("{HIP} {words} -o out.so"))?;
        ensure!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        let found = images(directory, "out.so")?;
        ensure!(found.contains("_Z6kernelPi"), "{words}: {found}");
    }
    Ok(())
}

/// The printed module of a link is LLVM IR, with every byte of the images.
pub fn printed_module(directory: &Path) -> Result<()> {
    let release = "22";
    let pair = Pair::new(directory, release)?;
    pair.compile_hip(directory, &[])?;
    let output = pair.link(directory, 1, &format!("-Wl,--print-wrapped-module {HIP} -o out.so"))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Warnings of the driver precede the module.
    let printed = String::from_utf8_lossy(&output.stderr);
    let start = printed.find("source_filename").context("no module")?;
    std::fs::write(directory.join("printed.ll"), printed.get(start..).unwrap_or_default())?;
    Step::new(directory, Tool::Opt.path()?).args(["-S", "printed.ll", "-o", "read.ll"]).run()?;
    Ok(())
}

/// With `--gc-sections`, ld.lld drops the entries of every program, and then rejects the references to them. An option of ld.lld keeps the
/// entries.
pub fn gc_sections(directory: &Path) -> Result<()> {
    let pair = Pair::new(directory, "22")?;
    for options in [&[][..], &["-flto"]] {
        pair.compile_hip(directory, options)?;
        let line = "--offload-link --offload-new-driver -nostdlib kernel.o helper.o -fuse-ld=lld";
        let words = format!("{line} {} -Wl,-e,main,--unresolved-symbols=ignore-all,--gc-sections", options.concat());
        for side in [0, 1] {
            let output = pair.link(directory, side, &format!("{words} -o dropped.so"))?;
            let text = String::from_utf8_lossy(&output.stderr);
            let message = text.lines().find(|line| line.contains("undefined hidden symbol: __st"));
            ensure!(message.is_some_and(|line| line.ends_with("_llvm_offload_entries")), "{options:?} {side}: {text}");
        }
        ensure!(
            pair.same(directory, &format!("{words},-z,nostart-stop-gc"))?,
            "{options:?}: not linked by the reference"
        );
    }
    Ok(())
}

/// The help is the reference's, to the letter.
pub fn help(directory: &Path) -> Result<()> {
    for release in ["15", "16", "19", "22"] {
        Pair::new(directory, release)?;
        let theirs = llvm_tool("clang-linker-wrapper", release, &format!("clang-tools-{release}"))?;
        let ours = directory.join(format!("links-{release}/clang-linker-wrapper"));
        for option in ["--help", "--help-hidden"] {
            let [theirs, ours] = [&theirs, &ours].map(|program| Step::new(directory, program).arg(option).run());
            let (theirs, ours) = (theirs?, ours?);
            ensure!(theirs.stdout == ours.stdout, "{}", ours.error(format!("expected:\n{}", theirs.stdout)));
        }
    }
    Ok(())
}
