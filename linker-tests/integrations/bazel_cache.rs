//! Bazel with a cache on disk. An object that fatbin writes again, in another directory and with another number of
//! threads, has the same bytes, so the link is not run again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::Tool;
use crate::harness::trial::without_spaces;

/// Bazel's description of the build. The file `threads` is an input of `wrap`, so that its action runs again when only
/// the number of threads differs. `link` sees no more than the outputs of `wrap`.
const BUILD: &str = r#"
genrule(
    name = "wrap",
    srcs = ["answer-gfx90a.hsaco", "answer-sm_90.cubin", "threads"],
    outs = ["packed", "bundle", "kernels.o", "embedded.o"],
    cmd = """
        export FATBIN_THREADS=$$(cat $(location threads))
        gfx90a=$(location answer-gfx90a.hsaco) sm_90=$(location answer-sm_90.cubin)
        '@fatbin@' pack --compress -o $(location packed) $$gfx90a $$sm_90
        '@fatbin@' bundle --type o --compress --target host-x86_64-unknown-linux-gnu=/dev/null \
            --target hip-amdgcn-amd-amdhsa--gfx90a=$$gfx90a -o $(location bundle)
        '@fatbin@' wrap --kind openmp -o $(location kernels.o) $$gfx90a $$sm_90
        '@fatbin@' embed --symbol packed=$(location packed) -o $(location embedded.o)
    """,
)

genrule(
    name = "link",
    srcs = ["packed", "bundle", "kernels.o", "embedded.o"],
    outs = ["program"],
    cmd = "@ld@ -r -o $@ $(location kernels.o) $(location embedded.o) && cat $(location packed) $(location bundle) >> $@",
)
"#;

/// Bazel 4 refuses workspaces in paths with spaces.
pub fn links_of_equal_objects_come_from_the_cache(directory: &Path) -> Result<()> {
    without_spaces(directory, links_come_from_the_cache_in)
}

fn links_come_from_the_cache_in(directory: &Path) -> Result<()> {
    let (bazel, ld) = (Tool::Bazel.path()?, Tool::Bfd.path()?);
    let build = BUILD.replace("@fatbin@", fatbin_program()).replace("@ld@", &ld.display().to_string());
    let mut programs = Vec::new();
    // The first build fills the cache. That of another object, with the last image instead of all, must not come from it.
    for (name, threads, build, expected) in [
        ("first", "1", build.clone(), ["2 local", "processes"]),
        ("second", "7", build.clone(), ["1 local", "1 remote cache hit"]),
        ("third", "2", build.replace("kernels.o) $$gfx90a", "kernels.o)"), ["2 local", "processes"]),
    ] {
        let (workspace, root) = (directory.join(name), directory.join(format!("{name}-root")));
        let built = Workspace { bazel: &bazel, workspace, root }.build(threads, &build)?;
        for words in expected {
            ensure!(built.0.report.contains(words), built.0.error(format!("{name}: {words} is expected")));
        }
        programs.push(built.1);
    }
    ensure!(programs[0] == programs[1] && programs[0] != programs[2], "the programs");
    Ok(())
}

/// A workspace with a separate output directory. Workspaces share only the cache.
struct Workspace<'a> {
    bazel: &'a Path,
    workspace: PathBuf,
    root: PathBuf,
}

impl Workspace<'_> {
    /// Builds the program from nothing, and returns Bazel's report and the program.
    fn build(&self, threads: &str, build: &str) -> Result<(Done, Vec<u8>)> {
        fs::create_dir(&self.workspace)?;
        for (name, text) in [("WORKSPACE", ""), ("BUILD", build), ("threads", threads)] {
            fs::write(self.workspace.join(name), text)?;
        }
        for fixture in ["answer-gfx90a.hsaco", "answer-sm_90.cubin"] {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture);
            fs::copy(source, self.workspace.join(fixture))?;
        }
        let built = self
            .bazel()
            .args(["build", "--color=no", "--spawn_strategy=local", "--disk_cache=../cache", "//:link"])
            .run();
        let program = fs::read(self.workspace.join("bazel-bin/program"));
        // The server would stay, and the outputs are not writable.
        self.bazel().args(["clean", "--expunge"]).run()?;
        Ok((built?, program.context("the program")?))
    }

    fn bazel(&self) -> Step {
        let root = format!("--output_user_root={}", self.root.display());
        Step::new(&self.workspace, self.bazel).args(["--nohome_rc", &root])
    }
}
