//! `unbundle` of one bundle: extracts the entry that serves each target best.

use std::ops::Range;
use std::time::Instant;

use super::matching::{check_entries, serves};
use super::stream::each_piece_of;
use super::{Explain, UnbundleOptions, create_outputs};
use crate::embed::bundle::CompressionStats;
use crate::embed::bundle::error::{BundleError, Result};
use crate::embed::bundle::file::{BundleFile, BundleFileError, BundleReader, FileEntry, Location, extract_host};
use fatbin_core::base::error;
use fatbin_core::base::io::{self, Input, Output, Sink};
use fatbin_core::format::ccob::Ccob;
use fatbin_core::target::compatibility::{Fit, KindRules};
use fatbin_core::target::{BundleEntryId, OffloadKind};

/// Extracts files from a bundle. All outputs appear, or none.
pub fn unbundle_file(
    input: &Input,
    options: &UnbundleOptions,
    explain: &mut Explain,
    moved: &mut dyn FnMut(u64),
) -> Result<Option<CompressionStats>> {
    let reader = BundleReader::of_input(input, options.file_type);
    let fail = BundleError::at(input.path(), options.file_type);
    let Some(bundle) = reader.read().map_err(&fail)? else {
        return if options.allow_missing {
            write_as_host(input, options).map(|()| None)
        } else {
            Err(fail(BundleFileError::NotABundle))
        };
    };
    if let Some(next) = bundle.next
        && !options.only_first
    {
        return Err(BundleError::SeveralBundles { path: input.path().to_owned(), offset: next.start() });
    }
    let selected = select_entries(input, &bundle, options, explain)?;
    let mut outputs = create_outputs(input, options, Output::update)?;
    let stats = write(input, &bundle, &selected, &mut outputs, moved)?;
    io::commit_all(outputs, [input])?;
    Ok(stats)
}

/// Returns the entry that serves each target best.
fn select_entries<'a, 'data>(
    input: &Input,
    bundle: &'a BundleFile<'data>,
    options: &UnbundleOptions,
    explain: &mut Explain,
) -> Result<Vec<Option<&'a FileEntry<'data>>>> {
    check_entries(input.path(), bundle)?;
    let mut selected = Vec::new();
    let mut missing = Vec::new();
    for target in &options.targets {
        let mut best = |id| best_entry(input, bundle, id, options.rules, explain);
        let exact = |(fit, entry)| (fit == Fit::Exact).then_some(entry);
        let entry = match (best(&target.id), &target.fallback) {
            (None, Some(fallback)) => best(fallback).and_then(exact),
            (found, _) => found.map(|(_, entry)| entry),
        };
        if entry.is_none() {
            missing.push(target.id.clone());
        }
        selected.push(entry);
    }
    if !missing.is_empty() && !options.allow_missing {
        let available = bundle.entries.iter().map(|entry| entry.id.clone()).collect();
        return Err(BundleError::MissingTargets { path: input.path().to_owned(), missing, available });
    }
    Ok(selected)
}

/// Returns the entry that serves an ID best, or the first of several equally good ones.
fn best_entry<'a, 'data>(
    input: &Input,
    bundle: &'a BundleFile<'data>,
    id: &str,
    rules: KindRules,
    explain: &mut Explain,
) -> Option<(Fit, &'a FileEntry<'data>)> {
    let mut best: Option<(Fit, &FileEntry)> = None;
    for entry in &bundle.entries {
        let verdict = serves(&entry.id, id, rules);
        explain(input.path(), &entry.id, id, &verdict);
        if let Ok(fit) = verdict
            && best.is_none_or(|(best, _)| fit < best)
        {
            best = Some((fit, entry));
        }
    }
    best
}

fn write(
    input: &Input,
    bundle: &BundleFile,
    selected: &[Option<&FileEntry>],
    outputs: &mut [Output],
    moved: &mut dyn FnMut(u64),
) -> Result<Option<CompressionStats>> {
    let start = Instant::now();
    let mut in_stream = Vec::new();
    for (entry, output) in selected.iter().zip(outputs) {
        match entry.map(|entry| &entry.location) {
            None => {}
            Some(Location::InStream(range)) => in_stream.push((range.clone(), output)),
            Some(Location::Decompressed(bytes)) => output.write(bytes)?,
            Some(Location::InFile(view)) => {
                let mut sink = Sink::new([input]);
                sink.push(view.data());
                sink.write_with_progress(output, moved)?;
            }
            Some(Location::HostObject(object)) => {
                let content = extract_host(*object).map_err(|malformed| malformed.in_file(input.path()))?;
                let mut sink = Sink::new([input]);
                content.runs().for_each(|run| sink.push(run));
                sink.write_with_progress(output, moved)?;
            }
        }
    }
    let Some(ccob) = &bundle.ccob else { return Ok(None) };
    if !in_stream.is_empty() {
        write_stream(input, ccob, in_stream, moved)?;
    }
    Ok(Some(CompressionStats::of_decompression(ccob, start.elapsed())))
}

/// Writes parts of a compressed bundle as they are decompressed.
fn write_stream(
    input: &Input,
    ccob: &Ccob,
    mut parts: Vec<(Range<u64>, &mut Output)>,
    moved: &mut dyn FnMut(u64),
) -> error::Result<()> {
    for (range, output) in &mut parts {
        output.reserve(range.end - range.start)?;
    }
    each_piece_of(ccob, input.path(), parts, &mut |output, piece| output.write(piece), moved)
}

/// Writes a file that is not a bundle as the host's, and nothing for the other targets.
fn write_as_host(input: &Input, options: &UnbundleOptions) -> Result<()> {
    let mut outputs = create_outputs(input, options, Output::update)?;
    for (target, output) in options.targets.iter().zip(&mut outputs) {
        if BundleEntryId::parse(&target.id).is_some_and(|id| id.kind == OffloadKind::Host) {
            let mut sink = Sink::new([input]);
            sink.push(input.view().data());
            sink.write_to(output)?;
        }
    }
    Ok(io::commit_all(outputs, [input])?)
}
