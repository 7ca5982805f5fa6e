//! Link hygiene: the wrapper object does not affect the rest of the program.
//!
//! Tested are section garbage collection and folding ([`sections`]), exceptions through the object's frames
//! ([`unwinding`]), the properties of a hardened link ([`hardened`]), and images so large that other sections could be out
//! of reach ([`large`]). Two objects in one link are the case `two-objects`.

mod hardened;
mod large;
mod sections;
mod unwinding;

use std::path::{Path, PathBuf};

use anyhow::Result;
use libtest_mimic::Trial;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool};
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    type Test = fn(&Path, Linker) -> Result<()>;
    let tests: [(&str, Test); 4] = [
        ("gc-sections", sections::survive_collection),
        ("icf", sections::survive_folding),
        ("unwinding", unwinding::exceptions_pass),
        ("hardened", hardened::marks_stay),
    ];
    let mut trials = vec![Trial::ignorable_test("link_hygiene/large", || {
        completion(large::more_than_two_gib(&fresh_directory("link_hygiene", "large")?))
    })];
    for (name, test) in tests {
        for linker in Linker::ALL {
            // bfd does not support folding.
            if name == "icf" && linker == Linker::Bfd {
                continue;
            }
            let run =
                move || completion(test(&fresh_directory(&format!("link_hygiene/{name}"), linker.name())?, linker));
            trials.push(Trial::ignorable_test(format!("link_hygiene/{name}/{}", linker.name()), run));
        }
    }
    trials
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/link_hygiene").join(name)
}

fn cc(directory: &Path) -> Result<Step> {
    Ok(Step::new(directory, Tool::Cc.path()?))
}

fn wrap(directory: &Path, kind: &str) -> Step {
    Step::new(directory, fatbin_program()).args(["wrap", "--allow-missing-kernels", "--kind", kind])
}
