//! The release of LLVM that a drop-in behaves as.
//!
//! Compilers call their tools without a version, and older compilers need the formats and rules of their release. The
//! release comes from the first of these that states one: the version suffix of the program's name, the environment
//! variable `FATBIN_LLVM`, the directory of links that contains the program, and the last release whose compiler calls
//! a tool of this name.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::Tool;
use super::llvm_options::{self, Line, Stop, Tool as LlvmTool};
use fatbin_core::base::spelling::enumerated;
use fatbin_ops::embed::llvm::{NEWEST, RELEASES, Release};

/// Environment variable with a release.
const VARIABLE: &str = "FATBIN_LLVM";

/// File in a directory of links. It names the release of all links in the directory.
pub const RELEASE_FILE: &str = "fatbin-llvm";

/// Maximum number of links to follow from the program's name, like the operating system's own limit.
const MOST_LINKS: usize = 40;

/// The release that a drop-in behaves as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandIn {
    /// The release.
    pub release: Release,
    /// False if nothing specifies the release. A compiler of any release may then be the caller.
    pub is_specified: bool,
}

impl StandIn {
    /// Determines the release of a tool that was called as `program`, whose name ends in the version `suffix`.
    pub(super) fn determine(tool: Tool, program: &OsStr, suffix: Option<u32>) -> Result<StandIn, String> {
        let specified = match (suffix, std::env::var_os(VARIABLE).filter(|value| !value.is_empty())) {
            (Some(number), _) => Some(Release::numbered(number)),
            (None, Some(value)) => {
                Some(parse(&value.to_string_lossy()).map_err(|message| format!("{VARIABLE}: {message}"))?)
            }
            (None, None) => of_links(program)?,
        };
        Ok(StandIn { release: specified.unwrap_or_else(|| default_release(tool)), is_specified: specified.is_some() })
    }

    /// Returns the release for a call that needs a property. If nothing specifies the release, it is the first release
    /// with the property, if that is later.
    pub fn release_with(&self, has_property: impl Fn(&Release) -> bool) -> Release {
        if self.is_specified || has_property(&self.release) {
            return self.release;
        }
        self.later_releases().find(has_property).unwrap_or(self.release)
    }

    /// Parses a command line with the options of the release. If nothing specifies the release, a line that it rejects
    /// may be for a later release.
    pub fn parse(
        &self,
        tool: fn(&Release) -> &'static LlvmTool<'static>,
        program: &OsStr,
        arguments: &[OsString],
    ) -> Result<(Line, Release), Stop> {
        let own = llvm_options::parse(tool(&self.release), program, arguments);
        if own.is_err() && !self.is_specified {
            let parsed = |release: Release| {
                llvm_options::parse(tool(&release), program, arguments).ok().map(|line| (line, release))
            };
            if let Some(later) = self.later_releases().find_map(parsed) {
                return Ok(later);
            }
        }
        own.map(|line| (line, self.release))
    }

    fn later_releases(&self) -> impl Iterator<Item = Release> {
        RELEASES.into_iter().skip_while(|release| release.name != self.release.name).skip(1)
    }
}

/// Parses a release that a user specifies.
pub fn parse(text: &str) -> Result<Release, String> {
    Release::parse(text).ok_or_else(|| {
        let known: Vec<&str> = Release::names().collect();
        format!("unknown release of LLVM {text:?} (known: {})", enumerated(&known))
    })
}

/// Default release of a tool: the last release whose compiler calls it by its name without a version. The exception is
/// clang-offload-packager: LLVM 21 still calls it, but numbers offload kinds like LLVM 22.
fn default_release(tool: Tool) -> Release {
    match tool {
        Tool::ClangOffloadWrapper => NEWEST.of_clang_offload_wrapper(),
        Tool::ClangOffloadPackager => Release::numbered(20),
        Tool::LlvmOffloadWrapper | Tool::LlvmOffloadBinary | Tool::OffloadBundler | Tool::LinkerWrapper => NEWEST,
        Tool::Objdump | Tool::Readobj | Tool::Objcopy => NEWEST,
        // The tools of NVIDIA and ROCm have no release of LLVM.
        Tool::Fatbinary | Tool::Cuobjdump | Tool::RocObjLs | Tool::RocObjExtract => NEWEST,
    }
}

/// Release of the first link whose directory or name has one, from the program's name to the program itself.
fn of_links(program: &OsStr) -> Result<Option<Release>, String> {
    let Some(mut link) = find(Path::new(program)) else { return Ok(None) };
    for _ in 0..MOST_LINKS {
        let directory = link.parent().unwrap_or(Path::new("")).to_owned();
        let file = directory.join(RELEASE_FILE);
        if let Ok(text) = fs::read_to_string(&file) {
            return parse(text.trim()).map(Some).map_err(|message| format!("{}: {message}", file.display()));
        }
        let Ok(target) = fs::read_link(&link) else { return Ok(None) };
        if let Some(number) = target.file_name().and_then(super::Called::parse).and_then(|called| called.suffix) {
            return Ok(Some(Release::numbered(number)));
        }
        link = directory.join(target);
    }
    Ok(None)
}

/// Path of a program. A name without a directory is searched in `PATH`.
fn find(program: &Path) -> Option<PathBuf> {
    if program.parent().is_some_and(|directory| directory != Path::new("")) {
        return Some(program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|candidate| candidate.is_file())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn finds_the_release_of_the_first_link_that_has_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["bin", "links", "empty"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("fatbin"), "").unwrap();
        fs::write(path("links").join(RELEASE_FILE), "llvm16\n").unwrap();
        symlink("../fatbin", path("links/clang-offload-bundler")).unwrap();
        symlink(path("links/clang-offload-bundler"), path("bin/clang-offload-bundler")).unwrap();
        symlink("../fatbin", path("bin/clang-offload-packager-15")).unwrap();
        symlink("clang-offload-packager-15", path("bin/clang-offload-packager")).unwrap();
        symlink("../fatbin", path("empty/clang-offload-packager")).unwrap();
        symlink("clang-offload-wrapper", path("empty/clang-offload-wrapper")).unwrap();
        let found = |name: &str| of_links(path(name).as_os_str()).unwrap().map(|release| release.name);
        assert_eq!(found("links/clang-offload-bundler"), Some("llvm16"));
        assert_eq!(found("bin/clang-offload-bundler"), Some("llvm16"));
        assert_eq!(found("bin/clang-offload-packager"), Some("llvm15"));
        for name in ["empty/clang-offload-packager", "empty/clang-offload-wrapper", "empty/missing"] {
            assert_eq!(found(name), None, "{name}");
        }
        fs::write(path("links").join(RELEASE_FILE), "x").unwrap();
        let message = of_links(path("links/clang-offload-bundler").as_os_str()).unwrap_err();
        assert!(message.contains("fatbin-llvm: unknown release of LLVM \"x\" (known: llvm10 to "), "{message}");
    }

    #[test]
    fn an_unspecified_release_is_the_first_one_that_a_call_needs() {
        let newest = StandIn { release: NEWEST, is_specified: false };
        assert_eq!(newest.release_with(|release| release.reads_subarchs).name, "llvm23");
        assert_eq!(newest.release_with(|release| release.bundler.has_hipi).name, NEWEST.name);
        assert_eq!(newest.release_with(|_| false).name, NEWEST.name);
        let specified = StandIn { is_specified: true, ..newest };
        assert_eq!(specified.release_with(|release| release.reads_subarchs).name, NEWEST.name);
    }

    #[test]
    fn a_suffix_specifies_the_release_and_the_name_a_default() {
        let stand_in = |tool, suffix| StandIn::determine(tool, OsStr::new("/nowhere/tool"), suffix).unwrap();
        let packager = stand_in(Tool::ClangOffloadPackager, Some(21));
        assert_eq!((packager.release.name, packager.is_specified), ("llvm21", true));
        let defaults = [
            (Tool::ClangOffloadWrapper, "llvm14"),
            (Tool::ClangOffloadPackager, "llvm20"),
            (Tool::LlvmOffloadBinary, "llvm22"),
            (Tool::OffloadBundler, "llvm22"),
        ];
        for (tool, name) in defaults {
            assert_eq!(default_release(tool).name, name, "{tool:?}");
        }
    }
}
