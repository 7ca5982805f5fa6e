//! The spans of a file that hold device code, by processor, and the spans of the containers around it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Result;
use super::error::SplitProblem;
use fatbin_core::base::bytes::{Extent, View, size_of_range};
use fatbin_core::base::codec::is_compressed;
use fatbin_core::base::range::range_at;
use fatbin_core::scan::inventory::{Container, File, NestedImage};

/// Spans with code for one processor, with code for several that is compressed as one, or, without processors, the
/// headers and tables of containers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PartSpans {
    /// Processors.
    pub archs: BTreeSet<String>,
    /// Spans in the order of the file.
    pub spans: Vec<Range<u64>>,
    /// Number of images.
    pub images: usize,
}

/// Processors of the code in a span, and the number of images.
type Contents = (BTreeSet<String>, usize);

/// Returns the spans of containers: one part for each processor, in the order of their names, then the part with code
/// for several, then the part with everything else in containers. Zeros at the ends of the last part's spans are left
/// out.
///
/// An image is a span by itself. A compressed container is one span, because compressing its images again would not
/// give the same bytes. Images of a CUDA fat binary that are compressed together are one span, too.
pub fn parts(file: &File, view: View<'_>) -> Result<Vec<PartSpans>> {
    let mut spans: BTreeMap<(u64, u64), Contents> = BTreeMap::new();
    for nested in file.nested_images() {
        let range = span(&nested);
        if range.is_empty() {
            continue;
        }
        let (archs, images) = spans.entry((range.start, range.end)).or_default();
        archs.insert(arch(&nested));
        *images = images.saturating_add(1);
    }
    let mut end = 0;
    for &(start, own_end) in spans.keys() {
        if start < end {
            return Err(SplitProblem::Overlap.into());
        }
        end = own_end;
    }
    let rest = rest(file, view, spans.keys().copied())?;
    let mut parts = BTreeMap::<String, PartSpans>::new();
    let mut shared = PartSpans::default();
    for ((start, end), (archs, images)) in spans {
        let part = match archs.first() {
            Some(arch) if archs.len() == 1 => parts.entry(arch.clone()).or_default(),
            _ => &mut shared,
        };
        part.archs.extend(archs);
        part.spans.push(start..end);
        part.images = part.images.saturating_add(images);
    }
    let rest = PartSpans { spans: rest, ..PartSpans::default() };
    Ok(parts.into_values().chain([shared, rest]).filter(|part| !part.spans.is_empty()).collect())
}

/// Returns the spans of containers without the spans with code: host entries, headers and tables.
fn rest(file: &File, view: View<'_>, code: impl Iterator<Item = (u64, u64)>) -> Result<Vec<Range<u64>>> {
    let mut code = code.peekable();
    let mut rest = Vec::new();
    for container in file.containers.iter().filter_map(Container::range) {
        let mut at = container.start;
        while at < container.end {
            while code.next_if(|&(_, end)| end <= at).is_some() {}
            let next = code.peek().copied().filter(|&(start, _)| start < container.end);
            let (start, end) = next.unwrap_or((container.end, container.end));
            rest.extend(without_zeros(
                view.part("container", Extent { offset: at, size: size_of_range(&(at..start)) })?,
            ));
            at = end;
        }
    }
    Ok(rest)
}

/// Returns the range of a view without the zeros at its start and end; `None` if it has only zeros.
fn without_zeros(view: View<'_>) -> Option<Range<u64>> {
    let is_used = |byte: &u8| *byte != 0;
    let first = view.data().iter().position(is_used)? as u64;
    let last = view.data().iter().rposition(is_used)? as u64;
    Some(view.from(first).start()..view.from(last).from(1).start())
}

/// Returns the span of an image in the file. If a container around it is compressed, returns the span of the outermost
/// such container.
fn span(nested: &NestedImage<'_>) -> Range<u64> {
    match nested.containers.iter().find(|container| is_compressed(container.codec)) {
        Some(container) => container.range().unwrap_or(0..0),
        None => {
            let stored = nested.image.stored;
            range_at(stored.start, stored.size)
        }
    }
}

/// Returns the processor of an image, or its triple.
fn arch(nested: &NestedImage<'_>) -> String {
    let image = nested.image;
    image.arch.as_ref().or(image.triple.as_ref()).cloned().unwrap_or_else(|| "unknown".to_owned())
}
