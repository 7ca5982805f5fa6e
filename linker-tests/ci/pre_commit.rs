//! The hook, run by pre-commit from a repository that contains only the hook's definition.

use std::path::Path;

use anyhow::Result;

use super::{end, path_with_program, policy, project, root};
use crate::harness::command::command;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

const HOOKS: &str = ".pre-commit-hooks.yaml";

/// Settings of git instead of the user's, who may sign commits or have hooks.
const GIT_SETTINGS: [(&str, &str); 2] = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];

pub fn the_hook_checks_committed_files(directory: &Path) -> Result<()> {
    let (program, git) = (Tool::PreCommit.path()?, Tool::Git.path()?);
    let (hooks, work) = (directory.join("hooks"), directory.join("work"));
    std::fs::create_dir_all(&hooks)?;
    std::fs::copy(root().join(HOOKS), hooks.join(HOOKS))?;
    project(&work, "gfx90a")?;
    std::fs::write(work.join("kernels.txt"), "no device code, and no file for the hook")?;
    for repository in [&hooks, &work] {
        let git =
            || GIT_SETTINGS.into_iter().fold(Step::new(repository, &git), |step, (name, value)| step.env(name, value));
        git().args(["init", "--quiet"]).run()?;
        git().args(["add", "."]).run()?;
        let author = ["-c", "user.name=test", "-c", "user.email=test@example.org"];
        git().args(author).args(["commit", "--quiet", "--message", "all"]).run()?;
    }
    let path = path_with_program()?;
    let run = || {
        let mut command = command(&program);
        command.envs(GIT_SETTINGS);
        command.arg("try-repo").arg(&hooks).args(["fatbin-check-installed", "--all-files", "--color", "never"]);
        end(command.current_dir(&work).env("PATH", &path).env("PRE_COMMIT_HOME", directory.join("home")))
    };
    run()?.must_be(0, "Passed")?;
    std::fs::write(work.join("gpu.toml"), policy("gfx942"))?;
    let ended = run()?;
    ended.must_be(1, "Failed")?;
    ended.must_be(1, "dist/in here/a.hsaco")?;
    ended.must_be(1, "exit code: 1")
}
