//! CUDA fat binaries: entries of kept images stay byte for byte, and groups are compressed again if one of their images
//! changes.

use super::effort::{self, Unit};
use super::{Fate, check_count};
use crate::edit::Result;
use crate::edit::decision::{Effort, Recompression};
use fatbin_core::base::bytes::View;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::content::Content;
use fatbin_core::base::parallel::map_parallel;
use fatbin_core::format::cuda_fatbin::{self, PlainEntry, StoredEntry, stored_entries};
use fatbin_core::scan::inventory::Container;

/// An entry of the new container.
enum NewEntry<'data> {
    /// The bytes of the old one.
    Same(Content<'data>),
    /// An entry that changes, and the codec that it had.
    Changed(PlainEntry<'data>, Codec),
}

/// Writes a container with the images that are left. With `encoding`, all entries that can be compressed get this
/// codec. `Some(None)` is no codec.
pub fn write<'data>(
    view: View<'data>,
    container: &Container,
    fates: Vec<Fate<'data>>,
    encoding: Option<Option<Recompression>>,
    workers: usize,
) -> Result<Content<'data>> {
    let entries = stored_entries(view)?;
    check_count(view, entries.iter().map(StoredEntry::image_count).sum(), &fates)?;
    let mut fates = fates.into_iter();
    let entries = entries.into_iter().map(|entry| {
        let images = fates.by_ref().take(entry.image_count()).collect::<Vec<_>>();
        (entry, images)
    });
    match encoding {
        Some(how) => transcoded(&entries.collect::<Vec<_>>(), how, workers),
        None => same_codecs(entries, container.size),
    }
}

/// Writes the entries with their codecs. Entries that change are compressed more strongly until the container has at
/// most `goal` bytes.
fn same_codecs<'data>(
    entries: impl Iterator<Item = (StoredEntry<'data>, Vec<Fate<'data>>)>,
    goal: u64,
) -> Result<Content<'data>> {
    let mut new = Vec::new();
    for (entry, images) in entries {
        if images.iter().all(|image| *image == Fate::Keep) {
            new.push(NewEntry::Same(entry.verbatim()));
        } else if let Some(plain) = entry.plain(&images)? {
            new.push(NewEntry::Changed(plain, entry.codec()));
        }
    }
    let mut best: Option<Content<'data>> = None;
    for step in 0..effort::steps(Unit::Entry) {
        let content = cuda_fatbin::write_entries(at_step(&new, step)?);
        if best.as_ref().is_none_or(|best| content.size() < best.size()) {
            best = Some(content);
        }
        let is_compressed =
            |entry: &NewEntry<'_>| matches!(entry, NewEntry::Changed(_, codec) if *codec != Codec::None);
        if best.as_ref().is_some_and(|best| best.size() <= goal) || !new.iter().any(is_compressed) {
            break;
        }
    }
    Ok(best.unwrap_or_default())
}

/// Writes all entries. Entries that change are compressed at a step of their codec's levels.
fn at_step<'data>(entries: &[NewEntry<'data>], step: usize) -> Result<Content<'data>> {
    let mut content = Content::new();
    for entry in entries {
        content.append(match entry {
            NewEntry::Same(bytes) => bytes.clone(),
            NewEntry::Changed(plain, Codec::None) if !plain.is_group() => plain.stored(None)?,
            NewEntry::Changed(plain, codec) => plain.stored(Some(effort::at_step(*codec, Unit::Entry, step)))?,
        });
    }
    Ok(content)
}

/// Writes the entries with a codec, in parallel. Entries that have the codec already stay unless a level is requested.
fn transcoded<'data>(
    entries: &[(StoredEntry<'data>, Vec<Fate<'data>>)],
    how: Option<Recompression>,
    workers: usize,
) -> Result<Content<'data>> {
    let mut result = Ok(Content::new());
    let encode = |(entry, images): &(StoredEntry<'data>, Vec<Fate<'data>>)| encode(entry, images, how);
    map_parallel(entries, workers, encode, &mut |new| {
        if let Ok(content) = &mut result {
            match new {
                Ok(entry) => content.append(entry),
                Err(error) => result = Err(error),
            }
        }
    });
    result.map(cuda_fatbin::write_entries)
}

fn encode<'data>(
    entry: &StoredEntry<'data>,
    images: &[Fate<'data>],
    how: Option<Recompression>,
) -> Result<Content<'data>> {
    let codec = how.map_or(Codec::None, |how| how.codec);
    let is_kept = images.iter().all(|image| *image == Fate::Keep);
    let has_codec = entry.codec() == codec && how.is_none_or(|how| how.effort == Effort::Fit);
    if is_kept && (has_codec || !entry.is_compressible()) {
        return Ok(entry.verbatim());
    }
    let Some(plain) = entry.plain(images)? else { return Ok(Content::new()) };
    match how {
        Some(how) if entry.is_compressible() => effort::compress(how, Unit::Entry, u64::MAX, |how| {
            let entry = plain.stored(Some(how))?;
            let size = entry.size();
            Ok((entry, size))
        }),
        _ => Ok(plain.stored(None)?),
    }
}
