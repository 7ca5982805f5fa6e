//! Giving outputs their names: one, or several together.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use super::file_set::Replaced;
use super::file_state::FileKey;
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

    /// Prepares the restoration of a file that the output replaces.
    fn undo(&self) -> Result<Undo> {
        let undo = self.is_in_place().and_then(|in_place| Undo::of(&self.place.path, in_place));
        undo.map_err(Error::io(&self.place.path, "replace"))
    }

    fn journal_entry(&self, undo: &Undo) -> JournalEntry {
        let OutputTarget::File(file, _) = &self.target else { unreachable!("only files have names") };
        let is_in_place = self.is_in_place().unwrap_or(true);
        let new = if is_in_place { None } else { FileKey::of_file(file.file()) };
        let new = new.map_or(JournalEntry::IN_PLACE.to_owned(), |key| key.to_text());
        JournalEntry { path: self.place.path.clone(), backup: undo.backup().map(ToOwned::to_owned), new }
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
/// restored. Pipes come last, because bytes written to them cannot be taken back. Signals that end the program wait.
pub fn commit_all<'a>(outputs: Vec<Output>, inputs: impl IntoIterator<Item = &'a Input>) -> Result<()> {
    inputs.into_iter().try_for_each(Input::check_unchanged)?;
    let _hold = Hold::begin();
    let (files, streams): (Vec<_>, Vec<_>) = outputs.into_iter().partition(Output::is_file);
    let has_undo = files.len() + streams.len() > 1;
    let mut undos = Vec::new();
    if has_undo {
        for output in &files {
            undos.push(output.undo()?);
        }
    }
    // Takes milliseconds. During that time, none of the files has its name.
    for output in &files {
        output.sync_replacement()?;
    }
    let entries: Vec<_> = files.iter().zip(&undos).map(|(output, undo)| output.journal_entry(undo)).collect();
    let journal = if entries.len() > 1 { Some(Journal::write(&entries)) } else { None };
    let mut remaining = undos.into_iter();
    let mut committed = Vec::new();
    for output in files.into_iter().chain(streams) {
        let undo = if output.is_file() { remaining.next() } else { None };
        if let Err(error) = output.finish() {
            // Each file is restored, even if another cannot be.
            let restored: Vec<Result<()>> = committed.into_iter().rev().map(Undo::restore).collect();
            drop(journal);
            return restored.into_iter().find(Result::is_err).unwrap_or(Err(error));
        }
        committed.extend(undo);
    }
    // While a file named in a record exists, the commit may be undone.
    drop(committed);
    drop(journal);
    Ok(())
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
