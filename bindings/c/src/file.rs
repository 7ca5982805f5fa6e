//! Files: their containers and images, and the bytes of images.

use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::ptr;

use fatbin_rs::scan::{OpenOptions, Options, Source, each_input};
use fatbin_rs::{Access, View};

use crate::error::{Failure, Result, free, guard};
use crate::open_scan::OpenScan;
use crate::pointers::{self, handle, lend};
use crate::records::{Container, ContainerIndices, Image, Records};
use crate::strings::c_string;

/// Maps the file into memory instead of reading it. No process may write or truncate it until it is freed: its bytes would
/// change behind the pointers of fatbin_file_read, and a truncated file ends the program with SIGBUS.
pub const FATBIN_OPEN_MAP: u32 = 1;

/// Hashes each image with SHA-256, which reads and decompresses all of them.
pub const FATBIN_OPEN_HASH: u32 = 2;

/// Finds only containers that headers and registration structures lead to, without a search of all bytes.
pub const FATBIN_OPEN_FAST: u32 = 4;

/// A file, or an archive with its members, and the device images in it.
#[derive(Debug)]
pub struct File {
    members: Vec<Member>,
    records: Records,
    problems: Vec<CString>,
}

/// A scanned file or member of an archive.
#[derive(Debug)]
pub struct Member {
    pub scan: OpenScan,
    pub containers: ContainerIndices,
    /// Number of images of the members before it.
    pub first_image: usize,
}

impl File {
    fn open(path: &Path, flags: u32) -> Result<Self> {
        let options = options(flags)?;
        // SAFETY: the caller has promised it with FATBIN_OPEN_MAP.
        let map = || unsafe { Access::map() };
        let access = if flags & FATBIN_OPEN_MAP == 0 { Access::read() } else { map() };
        let mut opened = File { members: Vec::new(), records: Records::default(), problems: Vec::new() };
        let (mut count, mut errors) = (0, Vec::new());
        each_input(path, OpenOptions::new(access), &mut |input| {
            count += 1;
            if let Err(error) = input.and_then(|input| opened.add(input, options)) {
                errors.push(error);
            }
        })?;
        // The error of the only file is that of the call; those of members are problems of the archive.
        match (count, errors.pop()) {
            (1, Some(error)) => return Err(error.into()),
            (_, last) => errors.extend(last),
        }
        opened.problems.extend(errors.iter().map(|error| c_string(&error.to_string())));
        Ok(opened)
    }

    fn open_memory(bytes: &'static [u8], flags: u32) -> Result<Self> {
        let mut opened = File { members: Vec::new(), records: Records::default(), problems: Vec::new() };
        opened.add(View::new(bytes), options(flags & !FATBIN_OPEN_MAP)?)?;
        Ok(opened)
    }

    /// Scans a file or member, and keeps it if it has images.
    fn add(&mut self, source: impl Source + 'static, options: Options) -> fatbin_rs::Result<()> {
        let scan = OpenScan::new(source, options)?;
        self.problems.extend(scan.file().reported_errors().map(|error| c_string(&error.to_string())));
        let first_image = self.records.images.len();
        let containers = self.records.add(scan.file(), scan.images());
        if !scan.file().containers.is_empty() {
            self.members.push(Member { scan, containers, first_image });
        }
        Ok(())
    }

    /// The files and members with containers, in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the member that has an image, and the number of the image in it.
    fn member_of(&mut self, index: usize) -> Result<(&mut Member, usize)> {
        let count = self.records.images.len();
        if index >= count {
            return Err(Failure::argument(format_args!("index: {index} is out of range ({count} images)")));
        }
        let place = self.members.partition_point(|member| member.first_image <= index).saturating_sub(1);
        for (other, member) in self.members.iter_mut().enumerate() {
            if other != place {
                member.scan.release();
            }
        }
        let member = &mut self.members[place];
        let number = index - member.first_image;
        Ok((member, number))
    }

    /// Reads the line table of an image.
    pub fn source_index(&mut self, index: usize) -> Result<fatbin_rs::image::SourceIndex> {
        let (member, number) = self.member_of(index)?;
        Ok(member.scan.images()[number].source_index()?)
    }

    /// Returns the bytes of an image, which are kept until the next call.
    fn read(&mut self, index: usize) -> Result<&[u8]> {
        let (member, number) = self.member_of(index)?;
        member.scan.read(number)?;
        Ok(member.scan.bytes())
    }
}

/// Returns the options of a scan with these flags.
fn options(flags: u32) -> Result<Options> {
    let unknown = flags & !(FATBIN_OPEN_MAP | FATBIN_OPEN_HASH | FATBIN_OPEN_FAST);
    if unknown != 0 {
        return Err(Failure::argument(format_args!("flags: unknown flag {unknown:#x}")));
    }
    let mut options = Options::for_answers();
    options.structure_only = flags & FATBIN_OPEN_FAST != 0;
    options.hash = flags & FATBIN_OPEN_HASH != 0;
    Ok(options)
}

/// Opens a file and finds the device images in it: an object, executable, library, container or image; a static library, wheel,
/// zip or tar file with all its members; or the range of a file that "file://PATH#offset=N&size=N" names. `flags` are 0 or a sum
/// of FATBIN_OPEN_*. Free the result with fatbin_file_free.
///
/// A file without images is not an error, and neither is one of which a part is damaged: see fatbin_file_problem_count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_file_open(
    path: *const c_char,
    flags: u32,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<File>> {
    guard(error, None, || {
        // SAFETY: a string, as the header requires.
        let path = unsafe { pointers::path(path, "path") }?;
        Ok(Some(Box::new(File::open(&path, flags)?)))
    })
}

/// Finds the device images in `size` bytes of memory, which must not change or be freed before the result is freed. Archives in
/// memory are not opened, but searched like any other bytes. The path of the file is "memory".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_file_open_memory(
    data: *const u8,
    size: usize,
    flags: u32,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<File>> {
    guard(error, None, || {
        // SAFETY: the header requires that the bytes stay until the file is freed.
        let bytes = unsafe { pointers::array(data, size, "data") }?;
        Ok(Some(Box::new(File::open_memory(bytes, flags)?)))
    })
}

/// Frees a file with all that belongs to it. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_file_free(file: Option<Box<File>>) {
    free(file);
}

/// Returns the number of containers, at any depth.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_file_container_count(file: Option<&File>) -> usize {
    file.map_or(0, |file| file.records.containers.len())
}

/// Writes the record of a container. Pass `sizeof *container` as the size. Returns false if the index is out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_file_container(
    file: Option<&File>,
    index: usize,
    container: *mut Container,
    container_size: usize,
) -> bool {
    let record = file.and_then(|file| file.records.containers.get(index));
    // SAFETY: the record of the caller has this size.
    record.is_some_and(|it| unsafe { pointers::write_record(it, container, container_size, "container") }.is_ok())
}

/// Returns the number of device images.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_file_image_count(file: Option<&File>) -> usize {
    file.map_or(0, |file| file.records.images.len())
}

/// Writes the record of an image. Pass `sizeof *image` as the size. Returns false if the index is out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_file_image(
    file: Option<&File>,
    index: usize,
    image: *mut Image,
    image_size: usize,
) -> bool {
    let record = file.and_then(|file| file.records.images.get(index));
    // SAFETY: the record of the caller has this size.
    record.is_some_and(|it| unsafe { pointers::write_record(it, image, image_size, "image") }.is_ok())
}

/// Returns the number of damaged containers and unreadable members. While it is not 0, the file may have images that were not
/// found.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_file_problem_count(file: Option<&File>) -> usize {
    file.map_or(0, |file| file.problems.len())
}

/// Returns the message about a problem, which is valid until the file is freed; NULL if the index is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_file_problem(file: Option<&File>, index: usize) -> *const c_char {
    file.and_then(|file| file.problems.get(index)).map_or(ptr::null(), |problem| problem.as_ptr())
}

/// Returns the bytes of an image, decompressed. They are valid until the next call of this function for the file, or until the
/// file is freed. An image that is stored uncompressed is not copied.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_file_read(
    file: Option<&mut File>,
    index: usize,
    data: Option<&mut MaybeUninit<*const u8>>,
    size: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> bool {
    guard(error, false, || {
        let (data, size) = (handle(data, "data")?, handle(size, "size")?);
        lend(&[], data, size);
        lend(handle(file, "file")?.read(index)?, data, size);
        Ok(true)
    })
}

/// Writes the bytes of an image, decompressed, to a file. An existing file is replaced when the new one is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_file_extract(
    file: Option<&mut File>,
    index: usize,
    path: *const c_char,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> bool {
    guard(error, false, || {
        // SAFETY: a string, as the header requires.
        let path: PathBuf = unsafe { pointers::path(path, "path") }?;
        let (member, number) = handle(file, "file")?.member_of(index)?;
        member.scan.images()[number].write_file(&path)?;
        Ok(true)
    })
}
