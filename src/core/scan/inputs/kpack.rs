//! The kpack archives of a host file, found on disk by the paths in its marker.
//!
//! HIP's loader resolves relative paths against the directory of the file and replaces the first `@GFXARCH@` by the
//! target IDs of the devices. Here, no device is known, so each archive with any text at this position of its name is
//! opened. Source: ROCm/rocm-kpack at e3483286, `runtime/src` (archive discovery).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::base::bytes::{Limits, Resource, View};
use crate::base::error::{Cause, Malformed, Result};
use crate::base::io::{Access, Input};
use crate::format::kpack::{ARCH_PLACEHOLDER, KpackArchive};
use crate::scan::inventory::{File, FoundArchive, KpackReference};
use crate::scan::search::findings::order_errors;

/// Search for archives.
#[derive(Debug, Clone, Default)]
pub struct KpackSearch {
    /// Archives to search instead of the archives in the markers, like `ROCM_KPACK_PATH`.
    pub paths: Vec<PathBuf>,
    /// Archives to search before the others, like `ROCM_KPACK_PATH_PREFIX`.
    pub prefix: Vec<PathBuf>,
    /// Limits on reading each archive.
    pub limits: Limits,
    /// Access to archives.
    pub access: Access,
}

/// Maximum number of archives that are opened for a file. Archives exist for some 50 processors, with variants for
/// target features.
const MAX_ARCHIVES: usize = 256;

/// Field in errors.
const ARCHIVES: &str = "kpack archives";

impl KpackSearch {
    /// Finds the archives of a file. `path` is its path on disk; `None` for a member of an archive. If the device code
    /// of a file is not found, the file has an error.
    pub fn run(&self, file: &mut File, path: Option<&Path>, view: View<'_>) {
        let mut references = std::mem::take(&mut file.kpack);
        for reference in &mut references {
            let malformed = |why| view.malformed(ARCHIVES, reference.offset, Cause::Described(why));
            if path.is_none() && self.paths.is_empty() && self.prefix.is_empty() {
                let paths = reference.search_paths.join(", ");
                let why = format!("not searched for a member of an archive; unpack it with the archives ({paths})");
                file.errors.push(malformed(why));
                continue;
            }
            let (archives, errors) = self.archives(reference, path, view);
            reference.archives = archives;
            file.errors.extend(errors);
            file.errors.extend(defect(reference, path, view));
        }
        file.kpack = references;
        order_errors(&mut file.errors);
    }

    /// Returns the readable archives of a reference, and the errors of the others.
    fn archives(
        &self,
        reference: &KpackReference,
        path: Option<&Path>,
        view: View<'_>,
    ) -> (Vec<FoundArchive>, Vec<Malformed>) {
        let mut archives = Vec::new();
        let mut errors = Vec::new();
        let mut opened = BTreeSet::new();
        for (search_path, archive) in self.candidates(reference, path, view) {
            // A path can be spelled in many ways.
            if !opened.insert(archive.canonicalize().unwrap_or_else(|_| archive.clone())) {
                continue;
            }
            if opened.len() > MAX_ARCHIVES {
                let why = Cause::Described(format!("refers to more than {MAX_ARCHIVES} archives"));
                errors.push(view.malformed(ARCHIVES, reference.offset, why));
                break;
            }
            match self.read(&archive, &search_path, reference) {
                Ok(found) => archives.push(found),
                Err(error) => {
                    errors.push(view.malformed(ARCHIVES, reference.offset, Cause::Described(error.to_string())));
                }
            }
        }
        (archives, errors)
    }

    /// Returns the path of each existing archive, after the search path with the archive's text filled in.
    fn candidates(&self, reference: &KpackReference, path: Option<&Path>, view: View<'_>) -> Vec<(String, PathBuf)> {
        let specified = |path: &PathBuf| (path.to_string_lossy().into_owned(), path.clone());
        let specified: Vec<(String, PathBuf)> = self.prefix.iter().chain(&self.paths).map(specified).collect();
        // The directory of an archive member is unknown.
        let Some(path) = path else { return specified };
        if !self.paths.is_empty() {
            return specified;
        }
        let directory = directory(path);
        let mut candidates = Vec::new();
        for template in &reference.search_paths {
            match template.split_once(ARCH_PLACEHOLDER) {
                None => candidates.push((template.clone(), directory.join(template))),
                Some((before, after)) => {
                    for arch in arches_on_disk(&directory, before, after, view) {
                        let search_path = format!("{before}{arch}{after}");
                        let archive = directory.join(&search_path);
                        candidates.push((search_path, archive));
                    }
                }
            }
        }
        candidates.retain(|(_, archive)| archive.is_file());
        specified.into_iter().chain(candidates).collect()
    }

    fn read(&self, path: &Path, search_path: &str, reference: &KpackReference) -> Result<FoundArchive> {
        let input = Input::open_file(path.to_owned(), self.access)?.with_limits(self.limits);
        let archive = KpackArchive::read(input.view()).map_err(|error| error.in_file(path))?;
        let code = archive.entries.iter().filter_map(|entry| {
            let (kernel_name, index) = entry.binary()?;
            (kernel_name == reference.kernel_name).then(|| (index, entry.arch.to_owned()))
        });
        let mut code: Vec<(u32, String)> = code.collect();
        code.sort_unstable();
        let found = FoundArchive {
            path: path.to_string_lossy().into_owned(),
            search_path: search_path.to_owned(),
            arches: archive.arches.iter().map(|&arch| arch.to_owned()).collect(),
            code,
        };
        input.check_unchanged().map(|()| found)
    }
}

/// Error of a reference without archives, or with code objects that no archive has.
fn defect(reference: &KpackReference, path: Option<&Path>, view: View<'_>) -> Option<Malformed> {
    let KpackReference { offset, kernel_name, search_paths, archives, .. } = reference;
    let missing: Vec<String> = reference.missing().map(|index| format!("#{index}")).collect();
    let cause = if archives.is_empty() {
        let directory = path.map(directory).unwrap_or_default();
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
        Cause::NotFound { files: search_paths.join(", "), directory: directory.to_owned() }
    } else if missing.is_empty() {
        return None;
    } else {
        Cause::Described(format!("no archive has {} of {kernel_name}", missing.join(", ")))
    };
    Some(view.malformed(ARCHIVES, *offset, cause))
}

/// Directory of a file as the loader knows it, with symbolic links to the file followed.
fn directory(path: &Path) -> PathBuf {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
    let followed = if is_link { path.canonicalize().ok() } else { None };
    followed.as_deref().unwrap_or(path).parent().unwrap_or(Path::new("")).to_owned()
}

/// Lists the texts between `before` and `after` for paths that may exist on disk, sorted.
fn arches_on_disk(directory: &Path, before: &str, after: &str, view: View<'_>) -> Vec<String> {
    let (parent, prefix) = before.rsplit_once('/').map_or(("", before), |(parent, prefix)| (parent, prefix));
    let suffix = after.split('/').next().unwrap_or_default();
    // An absolute path in the root directory has no parent.
    let parent = if before.starts_with('/') && parent.is_empty() { "/" } else { parent };
    let parent = directory.join(parent);
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { &parent };
    let mut arches = Vec::new();
    for entry in std::fs::read_dir(parent).into_iter().flatten().filter_map(Result::<_, std::io::Error>::ok) {
        if view.charge(ARCHIVES, Resource::Work, 1).is_err() {
            break;
        }
        let name = entry.file_name();
        let arch = name.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_suffix(suffix));
        arches.extend(arch.filter(|arch| !arch.is_empty()).map(str::to_owned));
    }
    arches.sort_unstable();
    arches
}
