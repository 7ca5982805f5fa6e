//! Images as members of static libraries, one for each kind, triple and arch.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::error::ExtractError;
use super::job::{ExtractJob, by_file};
use super::names::library_name;
use super::{ExtractObserver, ExtractOptions};
use crate::base::archive;
use crate::base::error::{Error, Result};
use crate::base::io::{FileSet, Input, Output, OutputKind, OutputName, Sink};
use crate::scan::InputSlice;

/// Bytes of a member: a part of a file, or bytes that were decompressed from one.
enum MemberBytes {
    InFile(InputSlice, Range<usize>),
    Decompressed(Vec<u8>),
}

/// Name and bytes of a member.
type Member = (String, MemberBytes);

impl MemberBytes {
    fn new(input: &InputSlice, bytes: &[u8]) -> Self {
        match input.input().offset_of(bytes) {
            Some(offset) => MemberBytes::InFile(input.clone(), offset as usize..offset as usize + bytes.len()),
            None => MemberBytes::Decompressed(bytes.to_vec()),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            MemberBytes::InFile(input, range) => &input.input().view().data()[range.clone()],
            MemberBytes::Decompressed(bytes) => bytes,
        }
    }

    fn input(&self) -> Option<&Input> {
        match self {
            MemberBytes::InFile(input, _) => Some(input.input()),
            MemberBytes::Decompressed(_) => None,
        }
    }
}

/// Writes the libraries in name order, each with its images in file order.
pub fn write_libraries(
    jobs: &[ExtractJob<'_>],
    names: &[OutputName],
    (directory, set): (&Path, &FileSet),
    options: &ExtractOptions,
    observer: &mut dyn ExtractObserver,
    refused: &mut Vec<ExtractError>,
) -> Result<(), ExtractError> {
    set.create_directory(directory)?;
    for (name, members) in &collect_members(jobs, names, options, refused) {
        write_library((directory, set), name, members)?;
        observer.library(name);
    }
    Ok(())
}

/// Returns the members of each library. A library is written in one go, so the files of all members stay open.
fn collect_members(
    jobs: &[ExtractJob<'_>],
    names: &[OutputName],
    options: &ExtractOptions,
    refused: &mut Vec<ExtractError>,
) -> BTreeMap<String, Vec<Member>> {
    let mut libraries: BTreeMap<String, Vec<Member>> = BTreeMap::new();
    let mut names = names.iter();
    for jobs in by_file(jobs) {
        let names = names.by_ref().take(jobs.len());
        let scan = match jobs[0].scanned.open() {
            Ok(scan) => scan,
            Err(error) => {
                names.for_each(drop);
                refused.push(error.into());
                continue;
            }
        };
        let reader = scan.reader();
        for (job, name) in jobs.iter().zip(names) {
            match job.read(&reader, options) {
                Ok(bytes) => {
                    let member = (name.to_string(), MemberBytes::new(scan.source(), &bytes));
                    libraries.entry(library_name(job.found.nested.image)).or_default().push(member);
                }
                Err(malformed) => refused.push(malformed.in_file(scan.file().path.printed()).into()),
            }
        }
    }
    libraries
}

fn write_library((directory, set): (&Path, &FileSet), name: &str, members: &[Member]) -> Result<()> {
    let inputs = || members.iter().filter_map(|(_, bytes)| bytes.input());
    let mut sink = Sink::new(inputs());
    let path = directory.join(name);
    let named = members.iter().map(|(name, bytes)| (name.clone(), bytes.bytes()));
    archive::write(named, &mut sink).map_err(Error::io(&path, "write"))?;
    let mut output = Output::create(set.output_in(directory, &OutputName::of(name), OutputKind::Code)?)?;
    sink.write_to(&mut output)?;
    output.commit(inputs())
}
