//! Libraries of each kind by each linker, damaged by real tools: what `fatbin verify` says, next to what the loader of this
//! system and runtimes that print their images do.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::{fatbin, trial};
use crate::harness::command::command;
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Missing, Tool, in_path};

/// Prints the first bytes of each image that is registered.
const RUNTIME: &str = r#"
#include <stdio.h>
#include <string.h>
struct wrapper { unsigned magic, version; const char *binary; void *unused; };
struct image { const char *start, *end; void *entries[2]; };
struct descriptor { int count; struct image *images; };
static void *handle;
static void show(const char *what, const char *bytes) { unsigned first; memcpy(&first, bytes, 4); printf("%s %08x\n", what, first); }
void **__hipRegisterFatBinary(struct wrapper *it) { show("hip", it->binary); return &handle; }
void **__cudaRegisterFatBinary(struct wrapper *it) { show("cuda", it->binary); return &handle; }
void __tgt_register_lib(struct descriptor *it) { for (int i = 0; i < it->count; i++) show("openmp", it->images[i].start); }
void __tgt_unregister_lib(void *it) {}
void __hipUnregisterFatBinary(void *it) {}
void __cudaUnregisterFatBinary(void *it) {}
void __cudaRegisterFatBinaryEnd(void *it) {}
void __hipRegisterFunction() {}
void __hipRegisterVar() {}
void __hipRegisterManagedVar() {}
void __hipRegisterSurface() {}
void __hipRegisterTexture() {}
void __cudaRegisterFunction() {}
void __cudaRegisterVar() {}
void __cudaRegisterManagedVar() {}
void __cudaRegisterSurface() {}
void __cudaRegisterTexture() {}
"#;

const LOADER: &str = r#"
#include <dlfcn.h>
int main(int count, char **names) { return !dlopen(names[1], RTLD_NOW | RTLD_GLOBAL) || !dlopen(names[2], RTLD_NOW); }
"#;

/// A kind, its image, and the section of its containers.
const KINDS: [(&str, &str, &str); 3] = [
    ("cuda", "answer-sm_90.cubin", ".nv_fatbin"),
    ("hip", "answer-gfx90a.hsaco", ".hip_fatbin"),
    ("openmp", "answer-gfx90a.hsaco", ".llvm.offloading"),
];

/// Commands of a shell that change the copy `after.so`. `$SECTION` holds the containers.
const CHANGES: [&str; 8] = [
    "strip -s after.so",
    "strip -R .comment after.so",
    "$PATCHELF --set-rpath '$ORIGIN/../a/long/directory/of/libraries/that/needs/a/move' after.so",
    "$PATCHELF --set-soname libgpu-0123abcd.so.1.2.3 --add-needed libm.so.6 after.so",
    "$PATCHELF --set-rpath '$ORIGIN/../a/long/directory/of/libraries/that/needs/a/move' after.so && strip -s after.so",
    "objcopy -R $SECTION after.so",
    "objcopy --strip-debug --add-gnu-debuglink=before.so after.so",
    "objcopy -O binary -j $SECTION after.so contents && truncate -s 20000 contents && \
     objcopy --update-section $SECTION=contents after.so",
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for linker in Linker::ALL {
        let test = move |directory: &Path| verify_agrees_with_the_loader(directory, linker);
        trials.push(trial(format!("host-half/{}", linker.name()), test));
    }
    trials.push(trial("host-half/zeroed".to_owned(), zeroed_memory_is_missed));
    trials.push(trial("host-half/icf".to_owned(), merged_stubs_are_seen));
    trials.push(trial("host-half/android".to_owned(), packed_relocations_are_read));
    trials
}

fn verify_agrees_with_the_loader(directory: &Path, linker: Linker) -> Result<()> {
    let patchelf = Tool::Patchelf.path()?;
    for (name, text) in [("runtime.c", RUNTIME), ("loader.c", LOADER)] {
        fs::write(directory.join(name), text)?;
    }
    let cc = || Ok::<_, anyhow::Error>(Step::new(directory, Tool::Cc.path()?));
    cc()?.args(["-w", "-shared", "-fPIC", "-o", "libruntime.so", "runtime.c"]).run()?;
    cc()?.args(["-o", "loader", "loader.c", "-ldl"]).run()?;
    for (kind, image, section) in KINDS {
        fatbin(directory).args(["wrap", "--kind", kind, "-o", "wrapped.o"]).arg(fixture(image)?).run()?;
        cc()?.args(linker.cc_flags()?).args(["-shared", "-o", "before.so", "wrapped.o"]).run()?;
        let healthy = registered(directory, "before.so")?.context("the loader refuses what the linker wrote")?;
        ensure!(healthy.starts_with(kind) && is_intact(directory, "before.so")?, "{kind}: {healthy}");
        for change in CHANGES {
            fs::copy(directory.join("before.so"), directory.join("after.so"))?;
            let shell = Step::new(directory, "sh").args(["-e", "-c", change]).env("PATCHELF", &patchelf);
            shell.env("SECTION", section).run()?;
            // The segments of the output overlap, and the loader maps one over the other or refuses them.
            let is_garbled = change.contains("--update-section");
            let works = !is_garbled && registered(directory, "after.so")?.as_ref() == Some(&healthy);
            let says = is_intact(directory, "after.so")?;
            ensure!(works == says, "{kind}: {change}: works: {works}, intact: {says}");
        }
    }
    Ok(())
}

/// What a library registers; `None` if the loader refuses it.
fn registered(directory: &Path, library: &str) -> Result<Option<String>> {
    let words = ["./libruntime.so".to_owned(), format!("./{library}")];
    let output = command(directory.join("loader")).args(words).current_dir(directory).output()?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

fn is_intact(directory: &Path, library: &str) -> Result<bool> {
    let mut verify = command(crate::harness::fatbin_program());
    let status = verify.args(["verify", library]).current_dir(directory).output()?.status.code();
    ensure!(status.is_some_and(|status| status < 3), "{status:?}");
    Ok(status == Some(0))
}

/// strip after patchelf takes the zeroed memory of a program that mold links.
fn zeroed_memory_is_missed(directory: &Path) -> Result<()> {
    let patchelf = Tool::Patchelf.path()?;
    let text = format!(
        "{RUNTIME}\nlong zeroed[4];\nint main(void) {{ puts(zeroed[0] ? \"not zero\" : \"zero\"); return 0; }}\n"
    );
    fs::write(directory.join("program.c"), text)?;
    fatbin(directory).args(["wrap", "--kind", "hip", "-o", "wrapped.o"]).arg(fixture("answer-gfx90a.hsaco")?).run()?;
    for linker in Linker::ALL {
        let link = Step::new(directory, Tool::Cc.path()?).args(linker.cc_flags()?);
        link.args(["-w", "-no-pie", "-o", "before", "program.c", "wrapped.o"]).run()?;
        fs::copy(directory.join("before"), directory.join("after"))?;
        let long = "/some/long/directory/of/libraries/that/needs/a/move";
        Step::new(directory, &patchelf).args(["--add-needed", "libm.so.6", "--add-rpath", long, "after"]).run()?;
        Step::new(directory, "strip").arg("after").run()?;
        let print = |name: &str| command(directory.join(name)).output();
        let works = print("before")?.stdout == print("after")?.stdout;
        ensure!(
            is_intact(directory, "before")? && is_intact(directory, "after")? == works,
            "{}: {works}",
            linker.name()
        );
    }
    Ok(())
}

/// Two stubs with the same code are one function, and the runtime finds one of their kernels for both.
fn merged_stubs_are_seen(directory: &Path) -> Result<()> {
    let text = "void launch(void);\nvoid first__device_stub__(void) { launch(); }\nvoid second__device_stub__(void) { launch(); }\n\
                void (*stubs[])(void) = {first__device_stub__, second__device_stub__};\n";
    fs::write(directory.join("stubs.c"), text)?;
    fatbin(directory).args(["wrap", "--kind", "cuda", "-o", "wrapped.o"]).arg(fixture("answer-sm_90.cubin")?).run()?;
    let options = ["-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fno-ipa-icf", "-c", "stubs.c"];
    Step::new(directory, Tool::Cc.path()?).args(options).run()?;
    for linker in [Linker::Gold, Linker::Lld, Linker::Mold] {
        for (icf, expected) in [("none", true), ("all", false)] {
            let link = Step::new(directory, Tool::Cc.path()?).args(linker.cc_flags()?);
            let words = ["-shared", "-o", "lib.so", "stubs.o", "wrapped.o"];
            link.args(words).arg(format!("-Wl,--icf={icf}")).run()?;
            ensure!(is_intact(directory, "lib.so")? == expected, "{} --icf={icf}", linker.name());
        }
    }
    Ok(())
}

/// Only Android's loader reads this form.
fn packed_relocations_are_read(directory: &Path) -> Result<()> {
    let readelf: PathBuf = in_path("readelf").ok_or_else(|| Missing::new("readelf", "binutils"))?;
    for (kind, image, _) in KINDS {
        fatbin(directory).args(["wrap", "--kind", kind, "-o", "wrapped.o"]).arg(fixture(image)?).run()?;
        let link = Step::new(directory, Tool::Cc.path()?).args(Linker::Lld.cc_flags()?);
        link.args(["-shared", "-Wl,--pack-dyn-relocs=android", "-o", "lib.so", "wrapped.o"]).run()?;
        let dynamic = Step::new(directory, &readelf).args(["-dW", "lib.so"]).run()?.stdout;
        ensure!(dynamic.contains("0x0000000060000011"), "{dynamic}");
        ensure!(is_intact(directory, "lib.so")?, "{kind}");
    }
    Ok(())
}
