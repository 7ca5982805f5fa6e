//! Outputs that appear only when they are complete.
//!
//! An output is written to a temporary file in the same directory, which gets its final name when it is complete. After
//! a failure, a full disk or a signal, an existing file is as it was, and never half-written. Pipes and open files also
//! get the bytes only when all of them are known.
//!
//! [`Output::update`] is for outputs that other programs truncate and write in place.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::attributes::{Attribute, Attributes};
use super::destination::{self, Destination};
use super::existing::{Existing, reserve};
use super::extended_attributes::LostAttribute;
use super::file_set::{FileSet, OutputKind, OutputPath, Replaced};
use super::temporary::Temporary;
use crate::base::activity::Work;
use crate::base::error::{Error, Result};
use crate::base::io::{Access, Input};

/// A file that is being written. Dropping it without [`Output::commit`] removes it.
#[derive(Debug)]
pub struct Output {
    pub(super) place: OutputPlace,
    pub(super) target: OutputTarget,
    /// Number of bytes written so far.
    size: u64,
}

/// Size of a block that file systems share between files, and of a page of the page cache, in bytes.
const BLOCK: u64 = 4096;

/// Number of bytes that are mapped at a time. Half and four times this size are not faster.
const WINDOW: u64 = 1 << 20;

/// Destination of an output.
#[derive(Debug)]
pub struct OutputPlace {
    /// The destination itself: a file that is not a symbolic link, or the name of an open file.
    pub path: PathBuf,
    /// The path that was specified for it.
    pub specified: PathBuf,
    pub kind: OutputKind,
    pub replaced: Replaced,
    pub files: FileSet,
}

#[derive(Debug)]
pub enum OutputTarget {
    /// A temporary file that gets the final path, or whose bytes an existing file gets. The existing file keeps its
    /// mode, owner and hard links.
    File(Temporary, Option<Box<Existing>>),
    /// A temporary file whose bytes are copied to a pipe, a socket or an open file.
    Stream { bytes: File, to: File },
    /// A device such as `/dev/null`, which is written at once.
    Device(File),
}

impl OutputPlace {
    fn new(path: OutputPath) -> (OutputPlace, Destination) {
        let OutputPath { path: specified, destination, kind, replaced, files } = path;
        let path = match &destination {
            Destination::File(path) | Destination::Special(path, _) => path.clone(),
            Destination::Directory => specified.clone(),
        };
        (OutputPlace { path, specified, kind, replaced, files }, destination)
    }
}

impl Output {
    /// Creates an output. Devices, pipes and open files are written in place.
    pub fn create(path: OutputPath) -> Result<Output> {
        let (place, destination) = OutputPlace::new(path);
        match destination {
            Destination::Directory => Err(Error::NotAFile { path: place.specified, found: "a directory" }),
            Destination::Special(_, to) => Self::special(place, to),
            Destination::File(_) => Self::temporary(place),
        }
    }

    /// Creates an output that never gets a name, for a change that is only tried. It is in the directory of `input`, or
    /// where temporary files are if that is not writable.
    pub fn trial(input: &Path) -> Result<Output> {
        let name = format!(".fatbin-trial-{}", std::process::id());
        let in_directory =
            |directory: &Path| Self::create(FileSet::new().output(&directory.join(&name), OutputKind::Code)?);
        in_directory(destination::directory(input)).or_else(|_| in_directory(&std::env::temp_dir()))
    }

    /// Creates an output like [`Self::create`], but in a set for tools that truncate their outputs, an existing file
    /// also keeps its owner and hard links. It must be writable; its directory need not be. Only a file with several
    /// hard links, or of another owner, is written in place, when the output is complete.
    pub fn update(path: OutputPath) -> Result<Output> {
        let Destination::File(file) = &path.destination else { return Self::create(path) };
        if !path.is_updated() || !file.is_file() {
            return Self::create(path);
        }
        let existing = Existing::open(file).map_err(Error::io(&path.path, "write"))?;
        let place = OutputPlace::new(path).0;
        let elsewhere = std::env::temp_dir();
        let temporary = Temporary::create(destination::directory(&place.path));
        let temporary =
            temporary.or_else(|_| Temporary::create(&elsewhere)).map_err(Error::io(&place.path, "create"))?;
        Ok(Output { place, target: OutputTarget::File(temporary, Some(Box::new(existing))), size: 0 })
    }

    /// Gives the output the mode of a new file, even if it replaces another, to match tools that do so.
    pub fn with_new_mode(mut self) -> Output {
        if let OutputTarget::File(file, _) = &mut self.target {
            file.keep_mode();
        }
        self
    }

    fn temporary(place: OutputPlace) -> Result<Output> {
        let file = Temporary::create(destination::directory(&place.path)).map_err(Error::io(&place.path, "create"))?;
        Ok(Output { place, target: OutputTarget::File(file, None), size: 0 })
    }

    fn special(place: OutputPlace, to: File) -> Result<Output> {
        let is_device = destination::is_device(&to);
        let target = if is_device { OutputTarget::Device(to) } else { Self::stream(&place.path, to)? };
        Ok(Output { place, target, size: 0 })
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

    /// Reserves disk space for an output of `size` bytes. A full file system is then reported before minutes of
    /// copying, and blocks are allocated only once: replacing a 300 MB file on ext4 took half as long.
    pub fn reserve(&mut self, size: u64) -> Result<()> {
        match &self.target {
            OutputTarget::File(file, _) => reserve(file.file(), size).map_err(Error::io(&self.place.path, "write")),
            OutputTarget::Stream { .. } | OutputTarget::Device(_) => Ok(()),
        }
    }

    /// Makes the first bytes replaceable until the output is complete. The bytes for a device are kept in a temporary
    /// file until then.
    pub fn rewritable(mut self) -> Result<Output> {
        if let OutputTarget::Device(to) = self.target {
            self.target = Self::stream(&self.place.path, to)?;
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
        replaced.map_err(Error::io(&self.place.path, "write"))
    }

    /// Creates a complete output from bytes.
    pub fn of_bytes(path: OutputPath, bytes: &[u8]) -> Result<()> {
        let mut output = Output::create(path)?;
        output.write(bytes)?;
        output.commit([])
    }

    /// Writes bytes and commits. Bytes that `input` stores unchanged are copied from file to file. Other bytes are
    /// written from memory in one call, so reserving space is not worth it.
    pub fn commit_bytes(mut self, input: &Input, bytes: &[u8]) -> Result<()> {
        match input.offset_of(bytes) {
            Some(offset) => {
                self.reserve(bytes.len() as u64)?;
                self.copy(input, offset, bytes.len() as u64)?;
            }
            None => self.write(bytes)?,
        }
        self.commit([input])
    }

    /// Writes bytes that are in memory.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.size += bytes.len() as u64;
        Work::Written.record(bytes.len() as u64);
        self.file().write_all(bytes).map_err(Error::io(&self.place.path, "write"))
    }

    /// Appends zeros, as a hole if `as_hole` is set and the file system has holes.
    pub(crate) fn write_zeros(&mut self, size: u64, as_hole: bool) -> Result<()> {
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
        written.map_err(Error::io(&self.place.path, "write"))
    }

    /// Appends `size` bytes from `offset` of `input`.
    ///
    /// If the bytes have the same offset in their block in both files, the kernel copies them on Linux
    /// (`copy_file_range`): some file systems then share the blocks between the files, others copy the bytes once.
    /// Otherwise nothing can be shared and each page overlaps two; writing from a mapping, a window at a time, is then
    /// faster (ext4, 100 MB: 0.93 of the time of `cp`; `copy_file_range` takes 1.17, reading into a buffer 1.06 to
    /// 1.19). The position of the input file is not used, so several outputs may copy from one input at the same time.
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
        /// Maximum number of bytes in one call of the kernel, so that progress is seen.
        const COPIED: u64 = 64 << 20;
        let Some(file) = input.file() else { return 0 };
        let mut from = offset;
        let mut copied = 0;
        while copied < size {
            let rest = usize::try_from((size - copied).min(COPIED)).unwrap_or(usize::MAX);
            match rustix::fs::copy_file_range(file, Some(&mut from), self.file(), None, rest) {
                Ok(written @ 1..) => {
                    copied = from - offset;
                    Work::Written.record(written as u64);
                }
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
                // The system reports missing bytes as an invalid address.
                input.check_unchanged()?;
            }
            written?;
            rest.start += window;
        }
        Ok(())
    }

    /// Returns the bytes written so far as an input, for verification before [`Self::commit`].
    pub fn written(&mut self, access: Access) -> Result<Input> {
        if let OutputTarget::Device(_) = self.target {
            return Err(Error::NotAFile {
                path: self.place.path.clone(),
                found: "a device, which cannot be read again",
            });
        }
        let path = self.place.path.clone();
        let file = self.file().try_clone().map_err(Error::io(&path, "read"))?;
        Input::of_temp_file(&path, file, access)
    }

    /// Gives the output a mode without the bits of the umask, even if it replaces another file. The set-ID and sticky
    /// bits are left out.
    pub fn set_new_mode(&mut self, mode: u32) -> Result<()> {
        let OutputTarget::File(file, _) = &mut self.target else { return Ok(()) };
        file.set_new_mode(mode).map_err(Error::io(&self.place.path, "set the mode of"))
    }

    /// Gives the output the mode of a file and these attributes, if the output is a file. Returns the attributes that
    /// it could not get. Everything must be written before.
    pub fn set_attributes(&mut self, from: &Attributes, which: &[Attribute]) -> Result<Vec<LostAttribute>> {
        let OutputTarget::File(file, _) = &mut self.target else { return Ok(Vec::new()) };
        file.keep_mode();
        from.copy_to(file.file(), which).map_err(Error::io(&self.place.path, "set the mode of"))
    }

    fn file(&mut self) -> &mut File {
        match &mut self.target {
            OutputTarget::File(file, _) => file.file_mut(),
            OutputTarget::Stream { bytes, .. } => bytes,
            OutputTarget::Device(file) => file,
        }
    }
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
