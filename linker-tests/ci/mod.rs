//! Integrations for other projects: the GitHub action ([`action`], [`program`]), the schema of policies in editors
//! ([`policy_schema`]), the pre-commit hook ([`pre_commit`]) and the CMake function ([`cmake`]). Each is used like its users do, with a policy that passes and one that fails.

mod action;
mod cmake;
mod policy_schema;
mod pre_commit;
mod program;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::tools::path_with;
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    type Test = fn(&Path) -> Result<()>;
    let tests: [(&str, Test); 12] = [
        ("action/kept", action::a_passing_policy_is_reported_everywhere),
        ("action/broken", action::a_violated_policy_fails_after_the_reports),
        ("action/nothing", action::a_pattern_that_matches_nothing_fails),
        ("action/unreadable", action::an_invalid_policy_writes_no_report_for_code_scanning),
        ("action/comment", action::sizes_are_compared_and_written_for_a_comment),
        ("action/program", program::the_program_of_a_release_is_downloaded_and_its_checksum_verified),
        ("policy-schema", policy_schema::taplo_reports_wrong_keys_with_their_lines),
        ("pre-commit", pre_commit::the_hook_checks_committed_files),
        ("cmake/makefiles", cmake::a_build_with_makefiles_fails_with_the_policy),
        ("cmake/ninja", cmake::a_build_with_ninja_fails_with_the_policy),
        ("cmake/embed-makefiles", cmake::embedded_files_are_part_of_a_build_with_makefiles),
        ("cmake/embed-ninja", cmake::embedded_files_are_part_of_a_build_with_ninja),
    ];
    let trial = |(name, test): (&str, Test)| {
        let name = name.to_owned();
        Trial::ignorable_test(format!("ci/{name}"), move || completion(test(&fresh_directory("ci", &name)?)))
    };
    tests.into_iter().map(trial).collect()
}

/// Returns a policy that requires code for a processor; the fixture is for gfx90a.
fn policy(arch: &str) -> String {
    format!("[archs]\nrequire = [\"{arch}\"]\n")
}

/// Makes a directory with a code object, under a name with a space, and a policy.
fn project(directory: &Path, arch: &str) -> Result<()> {
    std::fs::create_dir_all(directory.join("dist/in here"))?;
    std::fs::copy(fixture("answer-gfx90a.hsaco")?, directory.join("dist/in here/a.hsaco"))?;
    std::fs::write(directory.join("gpu.toml"), policy(arch))?;
    Ok(())
}

/// Returns `PATH` with the directory of the program under test at the front.
fn path_with_program() -> Result<std::ffi::OsString> {
    path_with(Path::new(fatbin_program()).parent().context("the program is in a directory")?)
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Exit status and output of a command.
struct Ended {
    status: i32,
    text: String,
}

fn end(command: &mut Command) -> Result<Ended> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok(Ended { status: output.status.code().context("ended by a signal")?, text })
}

impl Ended {
    fn must_be(&self, status: i32, said: &str) -> Result<()> {
        ensure!(
            self.status == status && self.text.contains(said),
            "status {}, not {status} with {said:?}:\n{}",
            self.status,
            self.text
        );
        Ok(())
    }
}
