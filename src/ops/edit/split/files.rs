//! Splitting into plain files: one for each processor.
//!
//! A file for each image would be simpler, but libraries have thousands, and processors are what packages are made for.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Result;
use super::error::SplitProblem;
use super::index::{IndexFormat, IndexedFile, IndexedPart, IndexedSpan};
use super::parts::{PartSpans, parts};
use super::write::{PlannedSplit, SplitDirectory, file_name, part_name, written};
use crate::edit::patch::{Patch, Patches};
use fatbin_core::base::bytes::size_of_range;
use fatbin_core::base::content::Content;
use fatbin_core::base::io::Sink;
use fatbin_core::scan::{InputSlice, Scan, Source};

/// Name of the part with code for several processors.
const SHARED: &str = "shared";

/// Name of the part with the headers and tables of containers.
const CONTAINERS: &str = "containers";

/// Writes the host file and the parts. In the host file, zeros replace the containers. Nothing of a container stays: a
/// table would still list the images that are gone.
pub fn split(scan: &Scan<InputSlice>, directory: &mut SplitDirectory<'_>) -> Result<PlannedSplit> {
    let input = scan.source().input();
    let view = scan.source().view();
    let name = file_name(input)?;
    let parts = parts(scan.file(), view)?;
    let empty = |span: &Range<u64>| Patch::in_place(span.clone(), Content::new());
    let patches = parts.iter().flat_map(|part| &part.spans).filter_map(empty).collect();
    let patches = Patches::new(patches).ok_or(SplitProblem::Overlap)?;
    let host = directory.host(&name, input, patches)?;
    let original = IndexedFile::of(name.clone(), input)?;
    let mut planned = PlannedSplit::of_host(host, IndexFormat::Files, original, directory.path);
    let mut taken = BTreeSet::from([name.clone()]);
    for part in &parts {
        let part_name = part_name(&name, label(part), "part", &mut taken);
        let mut sink = Sink::new([input]);
        for span in &part.spans {
            sink.push(view.between("device code", span.clone())?.data());
        }
        let (output, file) = directory.output(&part_name, &sink)?;
        let archs: Vec<String> = part.archs.iter().cloned().collect();
        planned.outputs.push(output);
        planned.files.push(written(directory.path, &file, archs.clone(), part.images));
        planned.index.parts.push(IndexedPart { file, archs, spans: spans(part) });
    }
    Ok(planned)
}

/// Returns the part of a file name that distinguishes a part from others.
fn label(part: &PartSpans) -> &str {
    match part.archs.first() {
        None => CONTAINERS,
        Some(arch) if part.archs.len() == 1 => arch,
        Some(_) => SHARED,
    }
}

fn spans(part: &PartSpans) -> Vec<IndexedSpan> {
    let span = |span: &Range<u64>| {
        let offset = span.start;
        let size = size_of_range(span);
        IndexedSpan { offset, size, key: None, arch: None }
    };
    part.spans.iter().map(span).collect()
}
