//! Joining: the original file, from a host file, its parts and their index.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::{SplitError, SplitProblem};
use super::index::{INDEX_NAME, Index, IndexedFile, IndexedPart};
use super::{Result, SplitOptions};
use crate::edit::patch::{Patch, Patches};
use crate::edit::signature::CheckedPatches;
use fatbin_core::base::bytes::{Extent, hexadecimal};
use fatbin_core::base::codec::{self, Codec};
use fatbin_core::base::content::Content;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{FileSet, Input, Output, OutputKind, Sink};
use fatbin_core::base::range::Cursor;
use fatbin_core::format::kpack::{KpackArchive, Scheme};

/// Writes the original of the split file in `directory` to `path`, or to a file of its name in the directory `path`.
/// Each part must match the index. The result must match it too, before it gets its name.
pub fn join(directory: &Path, path: &Path, options: SplitOptions) -> Result<()> {
    let index_path = directory.join(INDEX_NAME);
    let index = Input::open_file(index_path.clone(), options.access)?;
    let index = Index::parse(index.view().data()).map_err(|error| error.in_file(&index_path))?;
    if let Some(why) = &index.not_joinable {
        return Err(SplitError::from(SplitProblem::NotJoinable(why.clone())).in_file(&index_path));
    }
    let open = |file: &IndexedFile| {
        let path = file.file.existing_in(directory)?;
        let input = Input::open_file(path.clone(), options.access)?.with_limits(options.limits);
        file.verify(&input).map(|()| input).map_err(|error| error.in_file(&path))
    };
    let host = open(&index.host)?;
    let parts: Vec<Input> = index.parts.iter().map(|part| open(&part.file)).collect::<Result<_>>()?;
    let code: Vec<Vec<Cow<'_, [u8]>>> =
        index.parts.iter().zip(&parts).map(|(part, input)| part_code(part, input)).collect::<Result<_>>()?;
    let patches = patches(&index, &code, host.size()).map_err(|error| error.in_file(&index_path))?;
    let inputs = || parts.iter().chain([&host]);
    let mut sink = Sink::new(inputs()).with_slices(code.iter().flatten().map(AsRef::as_ref));
    CheckedPatches::restoring(patches).push_to(host.view(), &mut sink);
    let set = FileSet::of_inputs(inputs());
    set.add_input(&index_path);
    let place = if path.is_dir() {
        set.output_in(path, &index.file, OutputKind::Code)?
    } else {
        set.output(path, OutputKind::Code)?
    };
    let mut output = Output::create(place)?;
    sink.write_to(&mut output)?;
    let original = IndexedFile { file: index.file.clone(), size: index.size, sha256: index.sha256.clone() };
    let written = output.written(options.access)?;
    original.verify(&written).map_err(|error| error.in_file(written.path()))?;
    if let Some(mode) = index.mode {
        output.set_new_mode(mode)?;
    }
    Ok(output.commit(inputs())?)
}

/// Returns an error unless a host file and its parts give the original. The files have no names yet.
pub fn check(index: &Index, host: &Input, parts: &[Input]) -> Result<()> {
    if index.not_joinable.is_some() {
        return Ok(());
    }
    let code: Vec<Vec<Cow<'_, [u8]>>> =
        index.parts.iter().zip(parts).map(|(part, input)| part_code(part, input)).collect::<Result<_>>()?;
    let patches = patches(index, &code, host.size())?;
    let mut hash = Hasher { hash: Sha256::new(), inputs: parts.iter().chain([host]).collect() };
    patches.copy_to(host.view(), &mut hash).map_err(Error::io(host.path(), "read"))?;
    let found = hexadecimal(&hash.hash.finalize());
    if found != index.sha256 {
        let expected = index.sha256.clone();
        return Err(SplitProblem::Differs { what: "SHA-256 of the joined file", found, expected }.into());
    }
    Ok(())
}

/// A writer that hashes bytes of inputs, and releases their pages.
struct Hasher<'a> {
    hash: Sha256,
    inputs: Vec<&'a Input>,
}

/// Number of bytes that are hashed before pages are released.
const STEP: usize = 16 << 20;

impl io::Write for Hasher<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.get(..STEP).unwrap_or(bytes);
        self.hash.update(bytes);
        for input in &self.inputs {
            input.release();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the bytes of each span of a part.
fn part_code<'a>(part: &IndexedPart, input: &'a Input) -> Result<Vec<Cow<'a, [u8]>>> {
    let view = input.view();
    let read = || {
        let is_archive = part.spans.iter().any(|span| span.key.is_some());
        let archive = if is_archive { Some(KpackArchive::read(view)?) } else { None };
        let scheme = archive.as_ref().map(|archive| archive.scheme);
        let entries = archive.iter().flat_map(|archive| &archive.entries);
        let entries: BTreeMap<(&str, &str), _> = entries.map(|entry| ((entry.key, entry.arch), entry)).collect();
        let mut places = Cursor::at(0);
        let mut code = Vec::new();
        for span in &part.spans {
            let (Some(key), Some(arch)) = (&span.key, &span.arch) else {
                let place = places.take(span.size);
                code.push(Cow::Borrowed(view.part("part", Extent { offset: place.start, size: span.size })?.data()));
                continue;
            };
            let missing = || SplitProblem::NotJoinable(format!("no code object {key} for {arch}"));
            let entry = entries.get(&(key.as_str(), arch.as_str())).ok_or_else(missing)?;
            code.push(match scheme {
                Some(Scheme::ZstdPerKernel) => {
                    Cow::Owned(codec::decompress(Codec::Zstd, entry.stored, entry.original_size)?)
                }
                _ => Cow::Borrowed(entry.stored.data()),
            });
        }
        Ok(code)
    };
    read().map_err(|error: SplitError| error.in_file(input.path()))
}

/// Returns the changes from the host file to the original.
fn patches<'data>(index: &Index, code: &'data [Vec<Cow<'data, [u8]>>], host_size: u64) -> Result<Patches<'data>> {
    let invalid = |why: String| SplitError::from(SplitProblem::Index(why));
    if host_size != index.size {
        return Err(invalid(format!("the host file has {host_size} bytes, the original {}", index.size)));
    }
    let spans = index.parts.iter().flat_map(|part| &part.spans).zip(code.iter().flatten());
    let mut patches: Vec<(u64, u64, Content<'data>)> =
        spans.map(|(span, bytes)| (span.offset, span.size, Content::from(bytes.as_ref()))).collect();
    for bytes in &index.bytes {
        let content = Content::from(bytes.bytes()?);
        patches.push((bytes.offset, content.size(), content));
    }
    let patch = |(offset, size, content): (u64, u64, Content<'data>)| {
        let end = offset.checked_add(size).filter(|end| *end <= host_size && content.size() == size);
        let end =
            end.ok_or_else(|| invalid(format!("the span at {offset} has another size, or ends after the file")))?;
        Ok(Patch::resizing(offset..end, content))
    };
    let patches = patches.into_iter().map(patch).collect::<Result<_>>()?;
    Patches::new(patches).ok_or_else(|| invalid("spans overlap".to_owned()))
}
