//! Giving outputs their names: one, or several together.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use super::destination::directory;
use super::directory_locks::DirectoryLocks;
use super::file_set::Replaced;
use super::hold::{self, Hold};
use super::journal::{Journal, JournalEntry};
use super::output::{Output, OutputPlace, OutputTarget};
use super::temporary::Temporary;
use super::undo::Undo;
use crate::base::error::{Error, Result};
use crate::base::io::Input;

/// Number of leading bytes to compare when a report would replace another.
const START: u64 = 16;

/// Number of bytes that are written to a stream at a time.
const PIECE: usize = 64 << 10;

impl Output {
    /// Completes the output and gives it its final name, unless one of the inputs that it was made from has changed.
    pub fn commit<'a>(self, inputs: impl IntoIterator<Item = &'a Input>) -> Result<()> {
        commit_all(vec![self], inputs)
    }

    fn finish(self) -> Result<()> {
        let Output { place, target, .. } = self;
        match target {
            OutputTarget::File(file, Some(existing)) => {
                existing.replace(file, &place.path).map_err(Error::io(&place.path, "write"))
            }
            OutputTarget::File(file, None) => place.give_to(file),
            OutputTarget::Stream { mut bytes, mut to } => {
                let copied = bytes.rewind().and_then(|()| copy_to_stream(&mut bytes, &mut to));
                copied.map_err(Error::io(&place.path, "write"))
            }
            OutputTarget::Device(mut file) => file.flush().map_err(Error::io(&place.path, "write")),
        }
    }

    fn is_file(&self) -> bool {
        matches!(self.target, OutputTarget::File(..))
    }

    /// Writes the bytes to the disk if they replace the input.
    fn sync_replacement(&self) -> Result<()> {
        match (&self.target, &self.place.replaced) {
            (OutputTarget::File(file, _), Replaced::Input(_)) => {
                file.file().sync_all().map_err(Error::io(&self.place.path, "write"))
            }
            _ => Ok(()),
        }
    }

    /// True if an existing file gets the bytes.
    fn is_in_place(&self) -> io::Result<bool> {
        match &self.target {
            OutputTarget::File(file, Some(existing)) => existing.is_written_in_place(file, &self.place.path),
            _ => Ok(false),
        }
    }

    fn journal_entry<'a>(&'a self, undo: &'a Undo) -> io::Result<JournalEntry<'a>> {
        let OutputTarget::File(file, _) = &self.target else { unreachable!("only files have names") };
        let is_in_place = self.is_in_place()?;
        Ok(JournalEntry { path: &self.place.path, backup: undo.backup(), new: file.file(), is_in_place })
    }
}

impl OutputPlace {
    /// Gives a file its name.
    fn give_to(self, file: Temporary) -> Result<()> {
        let OutputPlace { path, specified, kind, replaced, files } = self;
        let error = || Error::io(&path, "replace");
        let written = file.file().try_clone().map_err(error())?;
        match &replaced {
            Replaced::Any => {
                // In a searched directory, a report replaces only an earlier one of its kind.
                if files.check_again(&path, kind)? {
                    let is_similar = File::open(&path).and_then(|old| Ok(start(old)? == start(written.try_clone()?)?));
                    if !is_similar.map_err(error())? {
                        return Err(Error::SameFile { path: specified });
                    }
                }
                file.persist(&path).map_err(error())?;
            }
            Replaced::Input(state) => {
                let is_input = state.is_at(&specified);
                if !is_input || !file.swap(&path, |swapped| state.was_renamed_to(swapped)).map_err(error())? {
                    return Err(Error::Changed { path: specified });
                }
            }
        }
        files.add_written(&written);
        Ok(())
    }
}

/// Completes several outputs: all of them, or none. If an output fails, files that were replaced before it are
/// restored. Pipes come last, because bytes written to them cannot be taken back. Signals that end the program wait, and
/// so do other runs that write several files to one of the directories.
pub fn commit_all<'a>(outputs: Vec<Output>, inputs: impl IntoIterator<Item = &'a Input>) -> Result<()> {
    inputs.into_iter().try_for_each(Input::check_unchanged)?;
    let (files, streams): (Vec<_>, Vec<_>) = outputs.into_iter().partition(Output::is_file);
    if files.len() + streams.len() == 1 {
        let _hold = Hold::begin();
        return files.into_iter().chain(streams).try_for_each(commit_one);
    }
    let _locks = DirectoryLocks::acquire(files.iter().map(|output| directory(&output.place.path)))?;
    let _hold = Hold::begin();
    let mut undos = Vec::new();
    for output in &files {
        undos.push(Undo::plan(&output.place.path).map_err(Error::io(&output.place.path, "replace"))?);
    }
    let journal = record(&files, &undos)?;
    for (number, (output, undo)) in files.iter().zip(&mut undos).enumerate() {
        let is_in_place = output.is_in_place();
        let kept = is_in_place.and_then(|is_in_place| undo.keep(is_in_place));
        let is_copy = kept.map_err(Error::io(&output.place.path, "replace"))?;
        if let (Some(journal), true, Some(backup)) = (&journal, is_copy, undo.backup()) {
            journal.add_copy(number, backup);
        }
    }
    // Takes milliseconds. During that time, none of the files has its name.
    files.iter().try_for_each(Output::sync_replacement)?;
    let replaced = name_all(files, streams, undos)?;
    if let Some(journal) = &journal {
        journal.complete();
    }
    // The old files go first: recovery finds them by the record.
    drop(replaced);
    drop(journal);
    Ok(())
}

fn commit_one(output: Output) -> Result<()> {
    output.sync_replacement()?;
    output.finish()
}

/// Writes the record of a commit of several files.
fn record(files: &[Output], undos: &[Undo]) -> Result<Option<Journal>> {
    if files.len() < 2 {
        return Ok(None);
    }
    let mut entries = Vec::new();
    for (output, undo) in files.iter().zip(undos) {
        entries.push(output.journal_entry(undo).map_err(Error::io(&output.place.path, "replace"))?);
    }
    Ok(Journal::write(&entries))
}

/// Gives outputs their names, and returns the files that they replaced. After an error, restores those.
fn name_all(files: Vec<Output>, streams: Vec<Output>, undos: Vec<Undo>) -> Result<Vec<Undo>> {
    let mut remaining = undos.into_iter();
    let mut committed = Vec::new();
    for output in files.into_iter().chain(streams) {
        let undo = if output.is_file() { remaining.next() } else { None };
        if let Err(error) = output.finish() {
            // Each file is restored, even if another cannot be.
            let restored: Vec<Result<()>> = committed.into_iter().rev().map(Undo::restore).collect();
            restored.into_iter().collect::<Result<()>>()?;
            return Err(error);
        }
        committed.extend(undo);
    }
    Ok(committed)
}

/// Reads the first bytes of a file.
fn start(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(START).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Copies bytes to a stream, until a signal ends the program: the other end may never read them.
fn copy_to_stream(bytes: &mut File, to: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let size = bytes.read(&mut buffer)?;
        let mut rest = buffer.get(..size).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        while !rest.is_empty() {
            match to.write(rest) {
                _ if hold::is_waiting() => return Err(io::ErrorKind::Interrupted.into()),
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests;
