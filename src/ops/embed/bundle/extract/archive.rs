//! `unbundle` of an archive of bundles: writes one archive for each target, with the code that serves the target.
//!
//! The outputs are inputs of device linkers. They contain all files that serve the target, not only the best one of
//! each bundle: in a library, any of them may be needed. Members keep the order of the archive and get the exact names
//! that clang-offload-bundler gives them, because builds rely on them.
//!
//! Only names are kept in memory. Bytes in the archive are copied from there; decompressed bytes and files of thin
//! archives are first copied into one temporary file.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use super::matching::{check_entries, serves};
use super::stream::each_piece_of;
use super::{Explain, UnbundleOptions, create_outputs};
use crate::embed::bundle::error::{BundleError, Result};
use crate::embed::bundle::file::{BundleFile, FileEntry, Location, extract_host};
use crate::embed::bundle::members::{BundleMember, each_member};
use fatbin_core::base::archive;
use fatbin_core::base::error::{self, Error};
use fatbin_core::base::io::{Input, Output, Sink, commit_all};
use fatbin_core::target::compatibility::Fit;
use fatbin_core::target::{BundleEntryId, compatibility};

/// Rejects an archive if one of its bundles has target IDs that exclude each other. Code for both would be selected for
/// one device.
pub fn check_archive(input: &Input) -> Result<()> {
    each_member(input, &mut |member| {
        let check = &mut |bundle: BundleFile<'_>| {
            let ids: Vec<&str> = bundle.entries.iter().map(|entry| entry.id.as_str()).collect();
            match compatibility::conflicting_entries(&ids) {
                Some((one, other)) => Err(BundleError::ConflictingEntries { path: member.path.clone(), one, other }),
                None => Ok(()),
            }
        };
        member.each_bundle(check).map(|_| ())
    })?;
    Ok(input.check_unchanged()?)
}

/// Writes one archive for each target. All outputs appear, or none.
pub fn unbundle_archive(
    input: &Input,
    options: &UnbundleOptions,
    explain: &mut Explain,
    moved: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut outputs = create_outputs(input, options, Output::create)?;
    let directory = outputs.first().map_or_else(std::env::temp_dir, Output::directory);
    let mut collected = None;
    let temporary = Input::from_temp_file(input.path(), &directory, input.access(), |file| {
        collected = Some(collect(input, options, file, explain));
        Ok(())
    })?;
    let archives = collected.expect("the closure has run")?;
    for ((members, target), output) in archives.iter().zip(&options.targets).zip(&mut outputs) {
        let mut sink = Sink::new([input, &temporary]);
        let named = members.iter().map(|member| (member.name.clone(), member.bytes(input, &temporary)));
        archive::write(named, &mut sink).map_err(Error::io(&target.output, "write"))?;
        sink.write_with_progress(output, moved)?;
    }
    Ok(commit_all(outputs, [input])?)
}

/// A member to be written.
#[derive(Clone)]
struct NewMember {
    name: String,
    location: NewLocation,
}

/// Location of its bytes.
#[derive(Clone)]
enum NewLocation {
    InArchive(Range<u64>),
    TemporaryFile(Range<u64>),
}

impl NewMember {
    fn bytes<'a>(&self, archive: &'a Input, temporary: &'a Input) -> &'a [u8] {
        let (input, range) = match &self.location {
            NewLocation::InArchive(range) => (archive, range),
            NewLocation::TemporaryFile(range) => (temporary, range),
        };
        // Both files are mapped, and each range was found in the archive or written to the temporary file.
        &input.view().data()[range.start as usize..range.end as usize]
    }
}

/// Collects the members of the archive for each target.
fn collect(
    input: &Input,
    options: &UnbundleOptions,
    temporary: &mut File,
    explain: &mut Explain,
) -> Result<Vec<Vec<NewMember>>> {
    let mut collection = Collection {
        archive: input,
        options,
        temporary: TemporaryFile { path: input.path(), file: temporary, size: 0 },
        archives: vec![Vec::new(); options.targets.len()],
        available: BTreeSet::new(),
    };
    each_member(input, &mut |member| {
        member.each_bundle(&mut |bundle| collection.add(member, &bundle, explain)).map(|_| ())
    })?;
    let Collection { archives, available, .. } = collection;
    let targets = options.targets.iter().zip(&archives);
    let mut missing: Vec<String> =
        targets.filter(|(_, members)| members.is_empty()).map(|(target, _)| target.id.clone()).collect();
    if missing.is_empty() || options.allow_missing {
        return Ok(archives);
    }
    missing.sort_unstable();
    let available = available.into_iter().collect();
    Err(BundleError::MissingTargets { path: input.path().to_owned(), missing, available })
}

struct Collection<'a> {
    archive: &'a Input,
    options: &'a UnbundleOptions,
    temporary: TemporaryFile<'a>,
    archives: Vec<Vec<NewMember>>,
    /// IDs of all entries.
    available: BTreeSet<String>,
}

impl Collection<'_> {
    /// Adds the entries of a bundle that serve targets.
    fn add(&mut self, member: &BundleMember, bundle: &BundleFile<'_>, explain: &mut Explain) -> Result<()> {
        check_entries(&member.path, bundle)?;
        self.available.extend(bundle.entries.iter().map(|entry| entry.id.clone()));
        let served = self.served(member, bundle, explain);
        let mut in_stream: Vec<Range<u64>> = served.iter().filter_map(|(entry, _)| entry.range_in_stream()).collect();
        in_stream.sort_by_cached_key(|range| range.start);
        let stream_at = self.temporary.size;
        if let (Some(ccob), false) = (&bundle.ccob, in_stream.is_empty()) {
            let parts: Vec<_> = in_stream.iter().cloned().map(|range| (range, ())).collect();
            each_piece_of(ccob, &member.path, parts, &mut |(), piece| self.temporary.write(piece), &mut |_| ())?;
        }
        for (entry, targets) in served {
            let location = match &entry.location {
                Location::InStream(range) => {
                    // The parts are stored in the order of the stream, back to back.
                    let before = in_stream.iter().take_while(|other| other.start < range.start);
                    let start = stream_at + before.map(|other| other.end - other.start).sum::<u64>();
                    NewLocation::TemporaryFile(start..start + (range.end - range.start))
                }
                other => self.place(other, member)?,
            };
            let name = member_name(member.name, &entry.id);
            for target in targets {
                self.archives[target].push(NewMember { name: name.clone(), location: location.clone() });
            }
        }
        Ok(())
    }

    /// Returns the entries of a bundle that serve targets, with the indexes of these targets.
    fn served<'b, 'data>(
        &self,
        member: &BundleMember,
        bundle: &'b BundleFile<'data>,
        explain: &mut Explain,
    ) -> Vec<(&'b FileEntry<'data>, Vec<usize>)> {
        let mut served = Vec::new();
        for entry in &bundle.entries {
            let mut targets = Vec::new();
            for (index, target) in self.options.targets.iter().enumerate() {
                let mut fit = |id: &str| {
                    let verdict = serves(&entry.id, id, self.options.rules);
                    explain(&member.path, &entry.id, id, &verdict);
                    verdict.ok()
                };
                let is_served = match (fit(&target.id), &target.fallback) {
                    (None, Some(fallback)) => fit(fallback) == Some(Fit::Exact),
                    (found, _) => found.is_some(),
                };
                if is_served {
                    targets.push(index);
                }
            }
            if !targets.is_empty() {
                served.push((entry, targets));
            }
        }
        served
    }

    /// Returns the location of bytes outside of the stream. Copies them to the temporary file unless they are in the
    /// archive.
    fn place(&mut self, location: &Location<'_>, member: &BundleMember) -> Result<NewLocation> {
        Ok(match location {
            Location::InFile(view) => match self.archive.offset_of(view.data()) {
                Some(start) => NewLocation::InArchive(start..start + view.size()),
                None => self.temporary.put([view.data()].into_iter(), member.input)?,
            },
            Location::Decompressed(bytes) => self.temporary.put([bytes.as_slice()].into_iter(), member.input)?,
            Location::HostObject(object) => {
                let host = extract_host(*object).map_err(|malformed| malformed.in_file(&member.path))?;
                self.temporary.put(host.runs(), member.input)?
            }
            Location::InStream(_) => unreachable!("located by the caller"),
        })
    }
}

/// Temporary file for bytes that cannot be copied from the archive.
struct TemporaryFile<'a> {
    /// Path for errors.
    path: &'a Path,
    file: &'a mut File,
    size: u64,
}

impl TemporaryFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> error::Result<()> {
        self.size += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::io(self.path, "write a temporary file for"))
    }

    /// Appends runs as one range; runs that are part of `input` are not read through its mapping.
    fn put<'a>(&mut self, runs: impl Iterator<Item = &'a [u8]>, input: &Input) -> error::Result<NewLocation> {
        let start = self.size;
        for run in runs {
            match input.offset_of(run) {
                Some(offset) => self.copy(input, offset..offset + run.len() as u64)?,
                None => self.write(run)?,
            }
        }
        Ok(NewLocation::TemporaryFile(start..self.size))
    }

    fn copy(&mut self, input: &Input, range: Range<u64>) -> error::Result<()> {
        let mut written = Ok(());
        input.blocks(range, 0, |_, bytes| {
            if written.is_ok() {
                written = self.write(bytes);
            }
        })?;
        written
    }
}

/// Returns the name of an extracted file in the archive for a target: `<stem>-<id><stem><extension>`. Only the last
/// part of a member's path counts, and characters that would break the table of long names are replaced.
fn member_name(member: &str, id: &str) -> String {
    let file = member.rsplit(['/', '\\']).next().unwrap_or_default();
    let (stem, own_extension) = file.rfind('.').map_or((file, ""), |dot| file.split_at(dot));
    let device = BundleEntryId::parse(id).and_then(|id| id.target_id).unwrap_or_default();
    let extension = match device {
        amd if amd.contains("gfx") => ".bc",
        nvidia if nvidia.contains("sm_") => ".cubin",
        _ => own_extension,
    };
    let plain = |c: char| if c == ':' || c.is_control() { '_' } else { c };
    format!("{stem}-{id}{stem}{extension}").chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_names_combine_the_file_and_the_target() {
        let cases = [
            ("a.o", "hip-amdgcn-amd-amdhsa--gfx906", "a-hip-amdgcn-amd-amdhsa--gfx906a.bc"),
            ("a.b.o", "hip-amdgcn-amd-amdhsa--gfx90a:xnack+", "a.b-hip-amdgcn-amd-amdhsa--gfx90a_xnack+a.b.bc"),
            ("a:b.o", "openmp-nvptx64-nvidia-cuda--sm_70", "a_b-openmp-nvptx64-nvidia-cuda--sm_70a_b.cubin"),
            ("a.o", "host-x86_64-unknown-linux-gnu-", "a-host-x86_64-unknown-linux-gnu-a.o"),
            ("a", "host-x86_64-unknown-linux-gnu-", "a-host-x86_64-unknown-linux-gnu-a"),
            (".o", "hip-amdgcn-amd-amdhsa--", "-hip-amdgcn-amd-amdhsa--.o"),
            ("in/a/directory/a.o", "hip-amdgcn-amd-amdhsa--", "a-hip-amdgcn-amd-amdhsa--a.o"),
            ("a/\nb\n.o", "hip-amdgcn-amd-amdhsa--", "_b_-hip-amdgcn-amd-amdhsa--_b_.o"),
        ];
        for (member, id, expected) in cases {
            assert_eq!(member_name(member, id), expected);
        }
    }
}
