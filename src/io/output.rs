//! Outputs that appear only when they are complete.
//!
//! An output is written to a temporary file in the same directory, which gets its final name when it is complete. A failure,
//! a full disk or a signal leaves an existing file as it was, and never a half-written one in its place. Pipes and open files
//! get the bytes when all of them are known, too.
//!
//! [`Output::update`] is for outputs that other programs truncate and write in place.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

#[cfg(feature = "cli")]
use super::attributes::{Attribute, Attributes};
use super::destination::{self, Destination};
use super::existing::{Existing, reserve};
use super::temporary::Temporary;
use super::undo::Undo;
use crate::error::{Error, Result};
#[cfg(feature = "cli")]
use crate::io::Access;
use crate::io::Input;

/// A file that is being written. Dropping it without [`Output::commit`] removes it.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    target: OutputTarget,
    /// Number of bytes written so far.
    size: u64,
}

/// Size of a block that file systems share between files, and of a page of the page cache, in bytes.
const BLOCK: u64 = 4096;

/// Number of bytes that are mapped at a time. Half and four times this size are not faster.
const WINDOW: u64 = 1 << 20;

#[derive(Debug)]
enum OutputTarget {
    /// A temporary file that gets the final path, or whose bytes an existing file gets that keeps its mode, owner and hard
    /// links.
    File(Temporary, Option<Box<Existing>>),
    /// A temporary file whose bytes are copied to a pipe, a socket or an open file.
    Stream { bytes: File, to: File },
    /// A device such as `/dev/null`, which is written at once.
    Device(File),
}

impl Output {
    /// Creates an output at a path that the user specified. A symbolic link is followed, and the file it refers to is
    /// replaced or created; devices, pipes and open files such as `/dev/stdout` are written in place. `-` is standard output.
    pub fn create(path: &Path) -> Result<Output> {
        Self::at(path, |file| Self::temporary(&file))
    }

    /// Creates an output like [`Self::create`]. An existing file keeps its owner and hard links, too, and must be writable;
    /// its directory need not be. Only a file with several hard links, or of another owner, is written in place, when the
    /// output is complete.
    pub fn update(path: &Path) -> Result<Output> {
        Self::at(path, |file| {
            if !file.is_file() {
                return Self::temporary(&file);
            }
            let existing = Existing::open(&file).map_err(Error::io(path, "write"))?;
            let elsewhere = std::env::temp_dir().join(file.file_name().unwrap_or_default());
            let output = Self::temporary(&file).or_else(|_| Self::temporary(&elsewhere))?;
            let OutputTarget::File(temporary, _) = output.target else { unreachable!("created as a file") };
            Ok(Output { path: file, target: OutputTarget::File(temporary, Some(Box::new(existing))), size: 0 })
        })
    }

    /// Creates an output at the place that a path leads to.
    fn at(path: &Path, create: impl FnOnce(PathBuf) -> Result<Output>) -> Result<Output> {
        match Destination::of(path).map_err(Error::io(path, "write"))? {
            Destination::Directory => Err(Error::NotAFile { path: path.to_owned(), found: "a directory" }),
            Destination::Special(name, to) => Self::special(name, to),
            Destination::File(file) => create(file),
        }
    }

    /// Creates an output with the file name `name` in `directory`, and never elsewhere: a symbolic link of that name is
    /// replaced, not followed.
    pub fn create_in(directory: &Path, name: impl AsRef<OsStr>) -> Result<Output> {
        let name = name.as_ref();
        debug_assert!(Path::new(name).file_name().is_some_and(|file| file == name), "{name:?} is not a bare name");
        Self::temporary(&directory.join(name))
    }

    /// Gives the output the mode of a new file, even if it replaces another: for tools that are known for that.
    pub fn with_new_mode(mut self) -> Output {
        if let OutputTarget::File(file, _) = &mut self.target {
            file.keep_mode();
        }
        self
    }

    fn temporary(path: &Path) -> Result<Output> {
        let file = Temporary::create(destination::directory(path)).map_err(Error::io(path, "create"))?;
        Ok(Output { path: path.to_owned(), target: OutputTarget::File(file, None), size: 0 })
    }

    fn special(path: PathBuf, to: File) -> Result<Output> {
        let target = if destination::is_device(&to) { OutputTarget::Device(to) } else { Self::stream(&path, to)? };
        Ok(Output { path, target, size: 0 })
    }

    fn stream(path: &Path, to: File) -> Result<OutputTarget> {
        let bytes = tempfile::tempfile().map_err(Error::io(path, "create a temporary file"))?;
        Ok(OutputTarget::Stream { bytes, to })
    }

    /// Directory for temporary files that are needed to write this output.
    pub fn directory(&self) -> PathBuf {
        match &self.target {
            OutputTarget::File(file, _) => file.directory().to_owned(),
            OutputTarget::Stream { .. } | OutputTarget::Device(_) => std::env::temp_dir(),
        }
    }

    /// Reserves disk space for an output of `size` bytes. A full file system is then reported before minutes of copying,
    /// and blocks are allocated only once: replacing a 300 MB file on ext4 took half as long.
    pub fn reserve(&mut self, size: u64) -> Result<()> {
        match &self.target {
            OutputTarget::File(file, _) => reserve(file.file(), size).map_err(Error::io(&self.path, "write")),
            OutputTarget::Stream { .. } | OutputTarget::Device(_) => Ok(()),
        }
    }

    /// Makes the first bytes replaceable until the output is complete: what a device gets is kept in a temporary file until then.
    pub fn rewritable(mut self) -> Result<Output> {
        if let OutputTarget::Device(to) = self.target {
            self.target = Self::stream(&self.path, to)?;
        }
        Ok(self)
    }

    /// Replaces the first bytes, for a header that is known only when everything else is written.
    ///
    /// # Panics
    /// If the output is not [`Self::rewritable`].
    pub fn replace_start(&mut self, header: &[u8]) -> Result<()> {
        assert!(!matches!(self.target, OutputTarget::Device(_)), "devices are written at once");
        let file = self.file();
        let replaced =
            file.rewind().and_then(|()| file.write_all(header)).and_then(|()| file.seek(SeekFrom::End(0)).map(drop));
        replaced.map_err(Error::io(&self.path, "write"))
    }

    /// Writes bytes that are in memory.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.size += bytes.len() as u64;
        self.file().write_all(bytes).map_err(Error::io(&self.path, "write"))
    }

    /// Appends zeros, as a hole if `as_hole` is set and the file system has holes.
    pub fn write_zeros(&mut self, size: u64, as_hole: bool) -> Result<()> {
        let is_file = !matches!(self.target, OutputTarget::Device(_));
        self.size += size;
        let end = self.size;
        let file = self.file();
        let written = if as_hole && is_file {
            // The end of the file must move, too, if nothing follows.
            file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end)).map(drop))
        } else {
            io::copy(&mut io::repeat(0).take(size), file).map(drop)
        };
        written.map_err(Error::io(&self.path, "write"))
    }

    /// Appends `size` bytes from `offset` of `input`.
    ///
    /// If the bytes have the same offset in their block in both files, the kernel copies them on Linux
    /// (`copy_file_range`): some file systems then share the blocks between the files, others copy the bytes once.
    /// Otherwise nothing can be shared and each page overlaps two; writing from a mapping, a window at a time, is then
    /// faster (ext4, 100 MB: 0.93 of the time of `cp`; `copy_file_range` takes 1.17, reading into a buffer 1.06 to 1.19).
    /// The position of the input file is not used, so several outputs may copy from one input at the same time.
    pub fn copy(&mut self, input: &Input, offset: u64, size: u64) -> Result<()> {
        if let Some(bytes) = input.in_memory(offset, size) {
            return self.write(bytes);
        }
        let is_file = !matches!(self.target, OutputTarget::Device(_));
        if is_file && size > WINDOW && self.size % BLOCK != offset % BLOCK {
            return self.copy_windows(input, offset..offset + size);
        }
        let copied = self.copy_range(input, offset, size);
        self.copy_windows(input, offset + copied..offset + size)
    }

    /// Lets the kernel copy bytes, and returns their number: 0 if it does not support these files. Errors are reported
    /// when the rest is written.
    #[cfg(target_os = "linux")]
    fn copy_range(&mut self, input: &Input, offset: u64, size: u64) -> u64 {
        let Some(file) = input.file() else { return 0 };
        let (mut from, mut copied) = (offset, 0);
        while copied < size {
            let rest = usize::try_from(size - copied).unwrap_or(usize::MAX);
            match rustix::fs::copy_file_range(file, Some(&mut from), self.file(), None, rest) {
                Ok(1..) => copied = from - offset,
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) | Err(_) => break,
            }
        }
        self.size += copied;
        copied
    }

    /// Other systems have no such call.
    #[cfg(not(target_os = "linux"))]
    fn copy_range(&mut self, _input: &Input, _offset: u64, _size: u64) -> u64 {
        0
    }

    fn copy_windows(&mut self, input: &Input, mut rest: Range<u64>) -> Result<()> {
        while !rest.is_empty() {
            let window = WINDOW.min(rest.end - rest.start);
            let written = self.write(&input.window(rest.start, window)?);
            if written.is_err() {
                // The system reports bytes that are gone as an invalid address.
                input.check_unchanged()?;
            }
            written?;
            rest.start += window;
        }
        Ok(())
    }

    /// Returns what was written so far as an input, which is to be verified before [`Self::commit`].
    #[cfg(feature = "cli")]
    pub fn written(&mut self, access: Access) -> Result<Input> {
        if let OutputTarget::Device(_) = self.target {
            return Err(Error::NotAFile { path: self.path.clone(), found: "a device, which cannot be read again" });
        }
        let path = self.path.clone();
        let file = self.file().try_clone().map_err(Error::io(&path, "read"))?;
        Input::of_temp_file(&path, file, access)
    }

    /// Gives the output the mode of a file and these attributes, if it is a file; returns those that it could not get. Everything
    /// must be written before.
    #[cfg(feature = "cli")]
    pub fn set_attributes(&mut self, from: &Attributes, which: &[Attribute]) -> Result<Vec<(Attribute, io::Error)>> {
        let OutputTarget::File(file, _) = &mut self.target else { return Ok(Vec::new()) };
        file.keep_mode();
        from.copy_to(file.file(), which).map_err(Error::io(&self.path, "set the mode of"))
    }

    /// Completes the output and gives it its final name, unless one of the inputs that it was made from has changed.
    pub fn commit<'a>(self, inputs: impl IntoIterator<Item = &'a Input>) -> Result<()> {
        check_all(inputs)?;
        self.finish()
    }

    fn finish(self) -> Result<()> {
        let Output { path, target, .. } = self;
        match target {
            OutputTarget::File(file, Some(existing)) => {
                existing.replace(file, &path).map_err(Error::io(&path, "write"))
            }
            OutputTarget::File(file, None) => file.persist(&path).map_err(Error::io(&path, "replace")),
            OutputTarget::Stream { mut bytes, mut to } => {
                let copied = bytes.rewind().and_then(|()| io::copy(&mut bytes, &mut to));
                copied.map(drop).map_err(Error::io(&path, "write"))
            }
            OutputTarget::Device(mut file) => file.flush().map_err(Error::io(&path, "write")),
        }
    }

    /// Prepares the restoration of a file that the output replaces.
    fn undo(&self) -> Result<Option<Undo>> {
        let OutputTarget::File(file, existing) = &self.target else { return Ok(None) };
        let in_place = existing.as_ref().map_or(Ok(false), |existing| existing.is_written_in_place(file, &self.path));
        let undo = in_place.and_then(|in_place| Undo::of(&self.path, in_place));
        undo.map(Some).map_err(Error::io(&self.path, "replace"))
    }

    fn file(&mut self) -> &mut File {
        match &mut self.target {
            OutputTarget::File(file, _) => file.file_mut(),
            OutputTarget::Stream { bytes, .. } => bytes,
            OutputTarget::Device(file) => file,
        }
    }
}

/// Completes several outputs: all of them, or none. Files that were replaced are restored if a later output fails; pipes
/// come last, because what is written to them cannot be taken back.
pub fn commit_all<'a>(outputs: Vec<Output>, inputs: impl IntoIterator<Item = &'a Input>) -> Result<()> {
    check_all(inputs)?;
    let is_file = |output: &Output| matches!(output.target, OutputTarget::File(..));
    let (files, streams): (Vec<_>, Vec<_>) = outputs.into_iter().partition(is_file);
    let last = files.len() + streams.len();
    let mut undone = Vec::new();
    for (number, output) in files.into_iter().chain(streams).enumerate() {
        let undo = if number + 1 < last { output.undo() } else { Ok(None) };
        match undo.and_then(|undo| output.finish().map(|()| undo)) {
            Ok(undo) => undone.extend(undo),
            Err(error) => {
                // Each file is restored, whether or not another can be.
                let restored: Vec<Result<()>> = undone.into_iter().rev().map(Undo::restore).collect();
                return restored.into_iter().find(Result::is_err).unwrap_or(Err(error));
            }
        }
    }
    Ok(())
}

fn check_all<'a>(inputs: impl IntoIterator<Item = &'a Input>) -> Result<()> {
    inputs.into_iter().try_for_each(Input::check_unchanged)
}

/// For writers of text; their errors lack the path.
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.size += bytes.len() as u64;
        self.file().write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
