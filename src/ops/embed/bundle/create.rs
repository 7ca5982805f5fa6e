//! `bundle`: combines files for several targets.

use std::path::{Path, PathBuf};
use std::time::Instant;

use aho_corasick::AhoCorasick;

use super::CompressionStats;
use super::error::{BundleError, Result};
use crate::embed::wrap::TargetOverride;
use fatbin_core::base::codec::Compression;
use fatbin_core::base::content::Content;
use fatbin_core::base::error::{Error, Malformed};
use fatbin_core::base::io::{FileSet, Input, Output, OutputKind, Sink};
use fatbin_core::format::bundle::{self, BundleForm, FileType, HOST_CONTENT, MAGIC, section_name, text};
use fatbin_core::format::{DeviceImage, ccob};
use fatbin_core::host::rewrite::{self, NewSection};
use fatbin_core::target::{BundleEntryId, IdStyle, OffloadKind, compatibility};

/// Options for writing a bundle.
#[derive(Debug, Clone)]
pub struct BundleOptions {
    /// Type of the files, which determines the form of the bundle.
    pub file_type: FileType,
    /// Alignment of code objects in a binary bundle, at least 1.
    pub alignment: u64,
    /// Compression, and the version of the compressed form.
    pub compression: Option<(Compression, ccob::Version)>,
    /// File to write.
    pub output: PathBuf,
    /// Accepts an input as the output, and writes an existing output in place.
    pub replaces_inputs: bool,
}

/// A file and its ID.
#[derive(Debug)]
pub struct BundleInput {
    /// ID of the entry.
    pub id: String,
    /// The file.
    pub input: Input,
}

/// Result of writing a bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct BundleSummary {
    /// Size of the output, in bytes.
    pub size: u64,
    /// Figures of the compression; absent where the bundle is not compressed.
    pub compressed: Option<CompressionStats>,
}

/// Rejects IDs that exclude each other in a bundle: equal IDs, two hosts, or target IDs of one processor where only one
/// sets a feature.
pub fn check_composition(ids: &[String]) -> Result<()> {
    let targets: Vec<String> = ids.iter().map(|id| target(id)).collect();
    for (index, id) in ids.iter().enumerate() {
        if targets[..index].contains(&targets[index]) {
            return Err(BundleError::DuplicateTarget { id: id.clone() });
        }
    }
    let mut hosts = ids.iter().filter(|id| is_host(id)).cloned();
    if let (Some(one), Some(other)) = (hosts.next(), hosts.next()) {
        return Err(BundleError::SeveralHosts { one, other });
    }
    match compatibility::conflicting_entries(&ids.iter().map(String::as_str).collect::<Vec<_>>()) {
        Some((one, other)) => Err(BundleError::ConflictingTargets { one, other }),
        None => Ok(()),
    }
}

/// Rejects files whose headers contradict the target of their IDs.
pub fn check_contents(files: &[BundleInput]) -> Result<()> {
    for BundleInput { id, input } in files {
        let Some(id) = BundleEntryId::parse(id).filter(|id| id.kind != OffloadKind::Host) else { continue };
        let stated = TargetOverride { triple: Some(id.triple.to_owned()), arch: id.target_id.map(str::to_owned) };
        stated.check_against(&DeviceImage::identify(input.view()), input.path())?;
    }
    Ok(())
}

/// Canonical spelling of an ID's target.
fn target(id: &str) -> String {
    let target = BundleEntryId::parse(id).and_then(|id| IdStyle::Legacy.id(&id).ok());
    target.unwrap_or_else(|| id.to_owned())
}

fn is_host(id: &str) -> bool {
    BundleEntryId::parse(id).is_some_and(|id| id.kind == OffloadKind::Host)
}

/// Returns a bundle.
pub fn bundle_to_vec(files: &[BundleInput], options: &BundleOptions) -> Result<Vec<u8>> {
    let (content, _) = content(files, options)?;
    let Some((how, version)) = options.compression else { return Ok(content.to_vec()) };
    check_size(&content, version, &options.output)?;
    let mut stream = Vec::new();
    let written = ccob::compress(&content, how, version, &mut stream, &mut |_| {});
    let written = written.map_err(|error| Error::io(&options.output, "write")(std::io::Error::other(error)))?;
    Ok([written.header, stream].concat())
}

/// Returns the bundle before compression, and the index of the host's object if the bundle is an object.
fn content<'data>(files: &'data [BundleInput], options: &BundleOptions) -> Result<(Content<'data>, Option<usize>)> {
    let ids: Vec<&str> = files.iter().map(|file| file.id.as_str()).collect();
    bundle::check_ids(&ids).map_err(|malformed| Error::UnreadableOutput { path: options.output.clone(), malformed })?;
    let (content, host) = match options.file_type.form {
        BundleForm::Archive => return Err(BundleError::UnsupportedType { file_type: options.file_type.name }),
        BundleForm::Text { comment } => (texts(files, comment)?, None),
        BundleForm::Binary => (binary(files, options)?, None),
        BundleForm::Object => match host_object(files)? {
            Some(host) => (object(files, host)?, Some(host)),
            None => (binary(files, options)?, None),
        },
    };
    if let (Some(host), Some(_)) = (host, options.compression) {
        return Err(BundleError::CompressedObject { path: files[host].input.path().to_owned() });
    }
    Ok((content, host))
}

/// Writes a bundle. The files are copied without being read, unless the bundle is compressed.
pub fn bundle(files: &[BundleInput], options: &BundleOptions, moved: &mut dyn FnMut(u64)) -> Result<BundleSummary> {
    let (content, host) = content(files, options)?;
    // Tools that add sections replace the object; the others truncate it.
    let set = FileSet::of_inputs(files.iter().map(|file| &file.input));
    let set = set.accepting_inputs(options.replaces_inputs).updating(options.replaces_inputs);
    let path = set.output(&options.output, OutputKind::Code)?;
    let output = if host.is_some() { Output::create(path)? } else { Output::update(path)? };
    match options.compression {
        None => write_plain(files, &content, output, moved),
        Some((how, version)) => write_compressed(files, &content, (how, version), output, &options.output, moved),
    }
}

fn write_plain(
    files: &[BundleInput],
    content: &Content,
    mut output: Output,
    moved: &mut dyn FnMut(u64),
) -> Result<BundleSummary> {
    let mut sink = Sink::new(files.iter().map(|file| &file.input));
    content.runs().for_each(|run| sink.push(run));
    sink.write_with_progress(&mut output, moved)?;
    output.commit(files.iter().map(|file| &file.input))?;
    Ok(BundleSummary { size: content.size(), compressed: None })
}

fn write_compressed(
    files: &[BundleInput],
    content: &Content,
    (how, version): (Compression, ccob::Version),
    output: Output,
    path: &Path,
    moved: &mut dyn FnMut(u64),
) -> Result<BundleSummary> {
    check_size(content, version, path)?;
    let start = Instant::now();
    let mut output = output.rewritable()?;
    // The header states the size of the stream and takes its place at the end.
    output.write(&vec![0; version.header_size() as usize])?;
    let written = ccob::compress(content, how, version, &mut output, moved);
    let written = written.map_err(|error| Error::io(path, "write")(std::io::Error::other(error)))?;
    output.replace_start(&written.header)?;
    let time = start.elapsed();
    output.commit(files.iter().map(|file| &file.input))?;
    let stats = CompressionStats {
        version: version.number(),
        codec: how.codec,
        level: Some(how.level),
        full_size: content.size(),
        stored_size: written.stored_size,
        hash: written.hash,
        time,
    };
    Ok(BundleSummary { size: written.size, compressed: Some(stats) })
}

fn check_size(content: &Content, version: ccob::Version, path: &Path) -> Result<()> {
    let size = content.size();
    if size <= version.largest_size() {
        return Ok(());
    }
    Err(BundleError::TooLargeForVersion { path: path.to_owned(), size, version: version.number() })
}

fn named(files: &[BundleInput]) -> Vec<(&str, &[u8])> {
    files.iter().map(|file| (file.id.as_str(), file.input.view().data())).collect()
}

fn binary<'data>(files: &'data [BundleInput], options: &BundleOptions) -> Result<Content<'data>> {
    let too_large = || Error::TooLarge { path: options.output.clone() };
    Ok(bundle::write(&named(files), options.alignment).ok_or_else(too_large)?)
}

fn texts<'data>(files: &'data [BundleInput], comment: &str) -> Result<Content<'data>> {
    let marker = text::end_marker(comment);
    for file in files {
        if has_line(&file.input, &marker)? {
            let marker = String::from_utf8_lossy(&marker).trim().to_owned();
            return Err(BundleError::ContainsMarker { path: file.input.path().to_owned(), marker });
        }
    }
    Ok(text::write(&named(files), comment))
}

/// Returns whether a line of the file begins with these bytes.
fn has_line(input: &Input, start: &[u8]) -> Result<bool> {
    let bytes = &[b"\n", start].concat();
    let searcher = AhoCorasick::new([bytes]).expect("one short text");
    let mut found = input.view().starts_with(start);
    input.blocks(0..input.size(), bytes.len() - 1, |_, block| found |= searcher.is_match(block))?;
    Ok(found)
}

/// Returns the index of the host's object; `None` where there is none, or the host's file is not an object.
fn host_object(files: &[BundleInput]) -> Result<Option<usize>> {
    let host = files.iter().position(|file| is_host(&file.id));
    Ok(host.filter(|&host| rewrite::object_format(files[host].input.view()).is_some()))
}

fn object(files: &[BundleInput], host: usize) -> Result<Content<'_>> {
    let object = files[host].input.view();
    let path = files[host].input.path();
    let broken = |malformed: Malformed| BundleError::from(malformed.in_file(path));
    if !rewrite::sections_named(object, MAGIC).map_err(broken)?.is_empty() {
        return Err(BundleError::AlreadyBundled { path: path.to_owned() });
    }
    let names: Vec<String> = files.iter().map(|file| section_name(&file.id)).collect();
    let sections: Vec<NewSection> = files
        .iter()
        .zip(&names)
        .enumerate()
        .map(|(index, (file, name))| NewSection {
            name,
            // The host's object contains all sections; its own section only marks it.
            content: if index == host { HOST_CONTENT } else { file.input.view().data() },
        })
        .collect();
    rewrite::with_sections(object, &sections).map_err(broken)
}
