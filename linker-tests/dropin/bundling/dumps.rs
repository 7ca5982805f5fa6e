//! Dumps of `.hip_fatbin`: several bundles back to back, as scripts obtain them from libraries by llvm-objcopy.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::dropin::{Call, DirectoryEntry, Pair, Side};
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Flags of the compiler, and whether the tool can read the dump.
const DUMPS: [(&str, bool); 2] = [("--no-offload-compress", true), ("--offload-compress", false)];

const ARCHS: [&str; 2] = ["gfx906", "gfx90a"];

/// Checks that both programs extract code of the first bundle, and that the drop-in states how many follow.
pub fn give_their_first_bundle(pair: &Pair) -> Result<()> {
    for (flag, is_readable) in DUMPS {
        dump(&pair.directory, flag)?;
        for arch in ARCHS {
            let call = format!("-type=o -unbundle -targets=hipv4-amdgcn-amd-amdhsa--{arch} -input=../dump -output=x");
            let (theirs, ours) = pair.both(&Call::line(&call))?;
            let difference = || pair.difference(&Call::line(&call), &theirs, &ours);
            ensure!(theirs.status == i32::from(!is_readable) && ours.status == 0, "{}", difference());
            ensure!(theirs.left == ours.left || !is_readable, "{}", difference());
            let warning = "../dump: 2 bundles follow the first bundle at 0x";
            let remedy = "use fatbin extract to extract all images";
            let is_warned = ours.err.lines().count() == 1 && ours.err.contains(warning) && ours.err.contains(remedy);
            ensure!(is_warned, "{}", difference());
            let Some(DirectoryEntry::File { bytes, .. }) = ours.left.get("x") else {
                anyhow::bail!("{}", difference())
            };
            let own = std::fs::read(pair.directory.join(format!("first-{arch}")))?;
            ensure!(*bytes == own, "{call}: not the code of the first file");
        }
        let listed = pair.call(Side::Ours, &Call::line("-type=o -list -input=../dump"))?;
        let devices = ARCHS.map(|arch| format!("hipv4-amdgcn-amd-amdhsa--{arch}\n"));
        ensure!(listed.out == format!("host-x86_64-unknown-linux-gnu-\n{}", devices.concat()), "{}", listed.out);
    }
    Ok(())
}

/// Links three files with code for two devices, and writes the section with their bundles to `dump`.
fn dump(directory: &Path, flag: &str) -> Result<()> {
    let names = ["first", "second", "third"];
    for name in names {
        let variable = format!("__attribute__((device)) int {name} = 42;\n");
        std::fs::write(directory.join(format!("{name}.hip")), variable)?;
        let clang = Step::new(directory, Tool::Clang.path()?).args(["-x", "hip", "--no-offload-new-driver"]);
        let clang = clang.args(ARCHS.map(|arch| format!("--offload-arch={arch}")));
        let clang = clang.args(["-nogpulib", "-nogpuinc", "-fPIC", "-c", flag, "-o"]);
        clang.args([format!("{name}.o"), format!("{name}.hip")]).run()?;
    }
    let ld = Step::new(directory, Tool::Cc.path()?).args(["-shared", "-Wl,-z,undefs", "-nostdlib", "-o", "library.so"]);
    ld.args(names.map(|name| format!("{name}.o"))).run()?;
    let objcopy = |from: &str, to: &str| {
        let objcopy = Step::new(directory, Tool::Objcopy.path()?).args(["-O", "binary", "--set-section-flags"]);
        objcopy.args([".hip_fatbin=alloc", "--only-section=.hip_fatbin", from, to]).run().map(drop)
    };
    objcopy("library.so", "dump")?;
    objcopy("first.o", "first.bundle")?;
    for arch in ARCHS {
        let fatbin = Step::new(directory, fatbin_program()).arg("unbundle");
        let target = format!("hipv4-amdgcn-amd-amdhsa--{arch}=first-{arch}");
        fatbin.args(["--target", &target, "first.bundle"]).run()?;
    }
    Ok(())
}
