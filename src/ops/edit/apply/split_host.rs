//! Files of an input whose device code is in kpack archives, where an edit of the file does not reach it.

use std::path::Path;

use super::part::Part;
use super::{ApplyOptions, SplitHost};
use fatbin_core::scan::KpackSearch;
use fatbin_core::scan::inventory::{File, WrapperKind};

/// Returns the archives of a file if its wrappers load code from archives; `None` for other files.
pub fn split_host(part: &Part<'_>, file: &File, options: ApplyOptions) -> Option<SplitHost> {
    let is_split = file.wrappers.iter().any(|wrapper| wrapper.kind == WrapperKind::HipSplitByKpack);
    if !is_split && file.kpack.is_empty() {
        return None;
    }
    let mut found = file.clone();
    let search = KpackSearch { limits: options.limits, access: options.access, ..KpackSearch::default() };
    search.run(&mut found, part.path_on_disk(), part.bytes());
    let archives = found.kpack.iter().flat_map(|it| &it.archives).map(|archive| archive.path.clone());
    let mut archives: Vec<String> = archives.collect();
    if archives.is_empty() {
        let directory = file.path.printed().parent().unwrap_or(Path::new(""));
        let expected = |path: &String| directory.join(path).to_string_lossy().into_owned();
        archives.extend(file.kpack.iter().flat_map(|it| &it.search_paths).map(expected));
    }
    Some(SplitHost { path: file.path.to_string(), archives })
}
