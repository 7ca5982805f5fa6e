//! Members of a zip file that are unpacked and scanned in parallel, such as the libraries of a wheel.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::InputSlice;
use super::expand::{Expansion, OpenArchive, OpenOptions, charge, each_input, expand_input};
use crate::base::archive::zip::entry::STORED;
use crate::base::archive::zip::reader::ZipReader;
use crate::base::archive::{self, MemberContent};
use crate::base::bytes::{Budget, MAX_NESTING};
use crate::base::error::{Malformed, Result};
use crate::base::file_path::FilePath;
use crate::base::io::{FileUri, Input, SharedSpool};
use crate::base::parallel::{map_stream, threads};

/// Number of batches that may be opened before the results of the first are taken, if there are not more threads.
const WINDOW: usize = 16;

/// Largest number of compressed bytes in a batch of several members, and the number that a smaller member counts as.
const BATCH_SIZE: u64 = 128 << 10;
const SMALLEST: u64 = 4 << 10;

/// Reads an input, and passes on its results.
type Work<'a, R> = dyn Fn(Result<InputSlice>, &mut dyn FnMut(R)) + Sync + 'a;

/// Calls `work` with each input of a path and a function for its results, like [`each_input`], and `take` with the
/// results in order. Members of a zip file are opened in parallel, with its share of the threads for `files` files.
pub fn map_inputs<R: Send>(
    path: &Path,
    options: OpenOptions,
    files: usize,
    work: &Work<'_, R>,
    take: &mut dyn FnMut(R),
) -> Result<()> {
    if FileUri::parse(path).is_some() {
        return each_input(path, options, &mut |slice| work(slice, take));
    }
    let input = Input::open(path, options.access)?.with_limits(options.limits);
    if !archive::ArchiveFormat::of(input.view()).is_some_and(archive::ArchiveFormat::is_zip) {
        expand_input(input, path, options, &mut |slice| work(slice, take));
        return Ok(());
    }
    // One thread opens the same batches, because a limit must not depend on the number of threads. Counting the
    // processors opens files, which another file is not worth.
    let workers = threads().checked_div(files).unwrap_or(1);
    let slice = InputSlice::whole(FilePath::new(input.path()), input);
    let package = Package::read(&slice, path, options);
    if let Err(malformed) = package.and_then(|package| package.map(workers, work, take)) {
        work(Err(malformed.in_file(slice.path.printed())), take);
    }
    Ok(())
}

/// A zip file.
struct Package<'a> {
    slice: &'a InputSlice,
    path: &'a Path,
    options: OpenOptions,
    zip: ZipReader<'a>,
    /// Spools that no thread uses.
    spools: Mutex<Vec<SharedSpool>>,
}

impl<'a> Package<'a> {
    fn read(slice: &'a InputSlice, path: &'a Path, options: OpenOptions) -> Result<Self, Malformed> {
        let input = slice.input();
        let zip = ZipReader::read(input.view(), &slice.path, options.record_use, &|size| input.count_read(size))?;
        Ok(Package { slice, path, options, zip, spools: Mutex::default() })
    }

    /// Opens the members, after the contradictions of the file. An error is the reason why the remaining members cannot be located.
    ///
    /// Each batch has a part of the budget, whose use is charged in the order of the members. The members of a batch that
    /// does not fit are opened again, one after another: results must not depend on timing.
    fn map<R: Send>(&self, workers: usize, work: &Work<'_, R>, take: &mut dyn FnMut(R)) -> Result<(), Malformed> {
        let input = self.slice.input();
        for contradiction in self.zip.contradictions(&|size| input.count_read(size))? {
            work(Err(contradiction.in_file(self.slice.path.printed())), take);
        }
        let files = self.zip.directory.entries.files(&|size| input.count_read(size))?;
        let batches = self.batches(&files);
        let is_exhausted = AtomicBool::new(input.budget().exhaustion().is_some());
        let open = |batch: &&[usize], send: &mut dyn FnMut(Option<(Vec<R>, Budget)>)| {
            send(if is_exhausted.load(Ordering::Relaxed) { None } else { self.open_ahead(batch, work) });
        };
        let mut next = batches.iter();
        let mut result = Ok(());
        let _ = map_stream(batches.iter(), workers, workers.max(WINDOW), open, &mut |opened| {
            let Some(batch) = next.next() else { return ControlFlow::Break(()) };
            if let Some((results, _)) = opened.filter(|(_, part)| input.budget().charge_fitting_part(part)) {
                results.into_iter().for_each(&mut *take);
                return ControlFlow::Continue(());
            }
            for &index in *batch {
                match self.open(index, &mut |slice| work(slice, take)) {
                    Ok(ControlFlow::Continue(())) => {}
                    end => {
                        result = end.map(|_| ());
                        return ControlFlow::Break(());
                    }
                }
            }
            is_exhausted.store(input.budget().exhaustion().is_some(), Ordering::Relaxed);
            ControlFlow::Continue(())
        });
        result
    }

    /// Returns the batches of members that a thread opens: many small members, or one. A stored member is a part of
    /// the package's bytes, which have one budget, and is opened in the order of the members.
    fn batches<'f>(&self, files: &'f [usize]) -> Vec<&'f [usize]> {
        // A limit must not be reached earlier than without threads.
        let uncharged = self.slice.input().budget().part();
        let packed_size = |index: usize| {
            let entry = self.zip.directory.entries.get_charging(index, &uncharged).ok();
            let entry = entry.filter(|entry| entry.fields.method != STORED);
            self.slice.input().count_read(entry.as_ref().map_or(0, |entry| entry.size));
            entry.map_or(u64::MAX, |entry| entry.fields.compressed.value.max(SMALLEST))
        };
        let mut left = BATCH_SIZE;
        let is_same_batch = |&index: &usize, &next: &usize| {
            let rest = left.checked_sub(packed_size(index)).filter(|rest| packed_size(next) <= *rest);
            left = rest.unwrap_or(BATCH_SIZE);
            rest.is_some()
        };
        files.chunk_by(is_same_batch).collect()
    }

    /// Opens members in any order, with a part of the budget. `None` if that is not possible.
    fn open_ahead<R>(&self, batch: &[usize], work: &Work<'_, R>) -> Option<(Vec<R>, Budget)> {
        let input = self.slice.input();
        let budget = input.budget().part();
        let mut results = Vec::new();
        for &index in batch {
            let entry = self.zip.directory.entries.get_charging(index, &budget).ok()?;
            let view = input.view().charging(&budget);
            let member = self.zip.member(view, &entry, &|size| input.count_read(size)).ok()?;
            charge(view, &member).ok().filter(|()| matches!(member.content, MemberContent::Packed(_)))?;
            self.expand(&budget, &mut |slice| work(slice, &mut |result| results.push(result)), |expansion, archive| {
                expansion.member(archive, member);
            });
        }
        Some((results, budget))
    }

    /// Opens a member after all members before it. Breaks if the budget does not allow opening more.
    fn open(&self, index: usize, take: &mut dyn FnMut(Result<InputSlice>)) -> Result<ControlFlow<()>, Malformed> {
        let input = self.slice.input();
        let entry = self.zip.directory.entries.get(index)?;
        let member = self.zip.member(input.view(), &entry, &|size| input.count_read(size))?;
        let mut flow = ControlFlow::Continue(());
        self.expand(input.budget(), take, |expansion, archive| {
            expansion.charged_member(archive, member);
            if expansion.is_exhausted {
                flow = ControlFlow::Break(());
            }
        });
        Ok(flow)
    }

    /// Calls `open` with a spool that no other thread uses.
    fn expand(
        &self,
        budget: &Budget,
        take: &mut dyn FnMut(Result<InputSlice>),
        open: impl FnOnce(&mut Expansion<'_>, &mut OpenArchive<'_>),
    ) {
        let spools = || self.spools.lock().unwrap_or_else(PoisonError::into_inner);
        let spool = spools().pop().unwrap_or_else(SharedSpool::new);
        let mut archive = OpenArchive { slice: self.slice, path: self.path, inner: MAX_NESTING - 1, spool, budget };
        open(&mut Expansion { options: self.options, take, is_exhausted: false }, &mut archive);
        spools().push(archive.spool);
    }
}
