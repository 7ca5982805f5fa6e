//! The example with Bazel.
//!
//! Bazel 4 fetches the rules for C and Java and the tools for coverage from GitHub, even for a program without tests.
//! Here they are Debian's rules for Java, and substitutes that lead to Bazel's built-in rules for C.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::{Example, path_without_rust};
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, Tool};
use crate::harness::trial::without_spaces;

const RULES_JAVA: &str = "/usr/share/bazel/rules/java";

/// Files of the substitutes.
const SUBSTITUTES: [(&str, &str); 5] = [
    ("rules_cc/WORKSPACE", ""),
    ("rules_cc/cc/BUILD", ""),
    (
        "rules_cc/cc/defs.bzl",
        "\
def cc_binary(**arguments):
    native.cc_binary(**arguments)

def cc_library(**arguments):
    native.cc_library(**arguments)

def cc_toolchain(**arguments):
    native.cc_toolchain(**arguments)

def cc_toolchain_suite(**arguments):
    native.cc_toolchain_suite(**arguments)
",
    ),
    ("coverage/WORKSPACE", ""),
    ("coverage/BUILD", "filegroup(name = \"coverage_report_generator\", visibility = [\"//visibility:public\"])\n"),
];

/// A workspace, and the directories next to it.
struct Workspace<'a> {
    bazel: PathBuf,
    clang: PathBuf,
    directory: &'a Path,
    /// Rules of the archive, which find its program.
    rules: PathBuf,
}

impl Workspace<'_> {
    fn bazel(&self) -> Step {
        let root = format!("--output_user_root={}", self.directory.join("root").display());
        Step::new(&self.directory.join("example"), &self.bazel).args(["--nohome_rc", &root])
    }

    /// Runs a command for a target of the example.
    fn run(&self, command: &str, target: &str) -> Result<Done> {
        let repositories = [
            ("rules_cc", self.directory.join("rules_cc")),
            ("rules_java", PathBuf::from(RULES_JAVA)),
            ("remote_coverage_tools", self.directory.join("coverage")),
            ("fatbin", self.rules.clone()),
        ];
        let options = repositories.map(|(name, path)| format!("--override_repository={name}={}", path.display()));
        let step = self.bazel().args([command, "--color=no", "--spawn_strategy=local", "--test_output=errors"]);
        step.args(options).arg(target).env("CC", &self.clang).env("PATH", path_without_rust()?).run()
    }
}

/// Bazel 4 refuses workspaces in paths with spaces.
pub fn builds_the_example(directory: &Path) -> Result<()> {
    without_spaces(directory, builds_in)
}

fn builds_in(directory: &Path) -> Result<()> {
    let (bazel, clang) = (Tool::Bazel.path()?, Tool::Clang.path()?);
    if !Path::new(RULES_JAVA).is_dir() {
        return Err(Missing::new(RULES_JAVA, "bazel-rules-java").into());
    }
    for (name, text) in SUBSTITUTES {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        fs::write(path, text)?;
    }
    fs::create_dir(directory.join("example"))?;
    let example = directory.join("example");
    let example = Example::copy_to(&example, "bazel-bin")?;
    let workspace = Workspace { bazel, clang, directory, rules: example.prefix.join("share/fatbin/bazel") };
    let result = check(&workspace, &example);
    // The server would stay, and the outputs are not writable.
    workspace.bazel().args(["clean", "--expunge"]).run()?;
    result
}

fn check(workspace: &Workspace, example: &Example) -> Result<()> {
    example.check(&|| workspace.run("build", "//:program"))?;
    workspace.run("test", "//:policy")?;
    example.edit("gpu.toml", "\"x86_64\"", "\"x86_64\", \"gfx942\"")?;
    let test = workspace.run("test", "//:policy");
    ensure!(test.is_err_and(|error| error.to_string().contains("no code for gfx942")), "the policy is not checked");
    Ok(())
}
