//! Images as files in a directory. Their names are known before anything is written, so several threads can write the
//! images of one file. Results are reported in order.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use super::batches::{Batch, plan_batches};
use super::error::ExtractError;
use super::job::{ExtractJob, by_file};
use super::{ExtractObserver, ExtractOptions, ExtractedFile};
use crate::base::error::{Error, Result};
use crate::base::io::{FileSet, Output, OutputKind, OutputName};
use crate::base::parallel::{Turns, map_parallel, threads};
use crate::scan::images::stream_memory::StreamMemory;
use crate::scan::{InputSlice, Scan};

/// Writes every image to a separate file below `directory`.
pub fn write_files(
    jobs: &[ExtractJob<'_>],
    names: &[OutputName],
    (directory, set): (&Path, &FileSet),
    options: &ExtractOptions,
    observer: &mut dyn ExtractObserver,
    refused: &mut Vec<ExtractError>,
) -> Result<(), ExtractError> {
    set.create_directory(directory)?;
    let mut start = 0;
    for jobs in by_file(jobs) {
        let names = &names[start..start + jobs.len()];
        start += jobs.len();
        match jobs[0].scanned.open() {
            Ok(scan) => {
                let writer = FileWriter { scan: &scan, jobs, names, directory, set, options, has_failed: false.into() };
                writer.write_all(observer, refused)?;
            }
            Err(error) => refused.push(error.into()),
        }
    }
    Ok(())
}

/// Writes the images of one file.
struct FileWriter<'a> {
    scan: &'a Scan<InputSlice>,
    jobs: &'a [ExtractJob<'a>],
    /// Outputs of the jobs, below the directory.
    names: &'a [OutputName],
    directory: &'a Path,
    set: &'a FileSet,
    options: &'a ExtractOptions,
    /// An output could not be written, so no thread writes another.
    has_failed: AtomicBool,
}

/// Result of some jobs.
#[derive(Default)]
struct BatchOutcome {
    written: Vec<WrittenImage>,
    refused: Vec<ExtractError>,
    /// Error that prevented an output from being written.
    failed: Option<Error>,
}

struct WrittenImage {
    /// Index of the job.
    job: usize,
    size: u64,
    sha256: Option<[u8; 32]>,
}

impl FileWriter<'_> {
    fn write_all(
        &self,
        observer: &mut dyn ExtractObserver,
        refused: &mut Vec<ExtractError>,
    ) -> Result<(), ExtractError> {
        let most = if self.jobs.len() > 1 { threads() } else { 1 };
        let (workers, batches) = plan_batches(self.jobs, most);
        let mut failed = None;
        let memory = StreamMemory::default();
        let turns = Turns::default();
        let write = |batch: &Batch<'_>| self.write_batch(batch, &turns, &memory);
        map_parallel(&batches, workers, write, &mut |outcome: BatchOutcome| {
            for image in outcome.written {
                let job = &self.jobs[image.job];
                let name = self.names[image.job].as_path();
                let size = image.size;
                let sha256 = image.sha256;
                observer.image(&ExtractedFile { scanned: job.scanned, nested: &job.found.nested, name, size, sha256 });
            }
            refused.extend(outcome.refused);
            failed = failed.take().or(outcome.failed);
        });
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    fn write_batch(&self, batch: &Batch<'_>, turns: &Turns, memory: &StreamMemory) -> BatchOutcome {
        let mut outcome = BatchOutcome::default();
        let mut taken = memory.take(0);
        let turn = turns.of(batch.index);
        let form = self.options.form();
        let images = self.scan.read_at_turn(&batch.images, &batch.first_reads, &turn, &mut taken.buffers, form);
        drop(turn);
        for (job, image) in batch.jobs.clone().zip(images) {
            if self.has_failed.load(Ordering::Relaxed) {
                break;
            }
            match image {
                Ok(image) => {
                    self.write_image(job, image.get(self.scan.view()), &mut outcome);
                    taken.buffers.extend(image.into_buffer());
                }
                Err(malformed) => outcome.refused.push(malformed.in_file(self.scan.file().path.printed()).into()),
            }
        }
        outcome
    }

    fn write_image(&self, job: usize, bytes: &[u8], outcome: &mut BatchOutcome) {
        if let Err(error) = self.write_one(&self.names[job], bytes) {
            self.has_failed.store(true, Ordering::Relaxed);
            outcome.failed = Some(error);
            return;
        }
        let sha256 = self.options.index.map(|_| Sha256::digest(bytes).into());
        outcome.written.push(WrittenImage { job, size: bytes.len() as u64, sha256 });
    }

    fn write_one(&self, name: &OutputName, bytes: &[u8]) -> Result<()> {
        let output = Output::create(self.set.output_in(self.directory, name, OutputKind::Code)?)?;
        output.commit_bytes(self.scan.source().input(), bytes)
    }
}
