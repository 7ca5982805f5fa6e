//! From the words of a host linker's command line to the device images in its inputs.
//!
//! Libraries are searched like linkers search them. A file that does not exist, a shared library and a file without device code
//! contribute nothing: words that are the value of an unknown option look like inputs. Source: clang-linker-wrapper 22.1.8.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::FileKind;

use super::error::{LinkError, Result};
use super::groups::Target;
use super::host_line::{HostLine, HostWord, Meaning};
use crate::archive::ArchiveFormat;
use crate::bytes::{Limits, View};
use crate::format::offload_binary::{self, OffloadBinaryEntry};
use crate::io::{Access, Input};
use crate::scan::{self, Archives, InputSlice, OpenOptions, Source};

/// A file of the host linker that may have device images: an input, or a member of an archive.
#[derive(Debug)]
pub struct HostFile {
    slice: InputSlice,
    /// True for a member of an archive of which the linker takes what it needs.
    is_lazy: bool,
}

/// A device image in a host file.
#[derive(Debug, Clone)]
pub struct DeviceInput<'data> {
    /// The image and its properties.
    pub entry: OffloadBinaryEntry<'data>,
    /// The host file.
    pub file: &'data HostFile,
}

/// Opens the inputs, in their order, and the members of archives.
pub fn open(line: &HostLine, access: Access, limits: Limits) -> Result<Vec<HostFile>> {
    let mut files = Vec::new();
    let mut takes_all = false;
    for word in &line.words {
        let path = match &word.meaning {
            Meaning::WholeArchive(on) => {
                takes_all = *on;
                continue;
            }
            Meaning::Input(path) => PathBuf::from(path),
            Meaning::Library(name) => {
                find_library(line, name).ok_or_else(|| LinkError::MissingLibrary { name: name.clone() })?
            }
            _ => continue,
        };
        if path.is_file() {
            open_file(&path, takes_all, OpenOptions { archives: Archives::Libraries, limits, access }, &mut files)?;
        }
    }
    Ok(files)
}

fn open_file(path: &Path, takes_all: bool, options: OpenOptions, files: &mut Vec<HostFile>) -> Result<()> {
    let input = Input::open_file(path.to_owned(), options.access)?.with_limits(options.limits);
    if is_shared(input.view()) {
        return Ok(());
    }
    let mut outcome = Ok(());
    scan::expand_input(input, path, options, &mut |slice| match slice {
        Ok(slice) => {
            let is_lazy = slice.member.is_some() && !takes_all;
            files.push(HostFile { slice, is_lazy });
        }
        Err(error) => outcome = Err(error.into()),
    });
    outcome
}

/// Returns whether a file is a shared library or a program of its form: its device images are linked already.
fn is_shared(view: View<'_>) -> bool {
    const E_TYPE: u64 = 16;
    let is_elf = matches!(FileKind::parse(view.data()), Ok(FileKind::Elf32 | FileKind::Elf64));
    let is_big_endian = view.data().get(5) == Some(&elf::ELFDATA2MSB.0);
    let file_type = view.u16("ELF type", E_TYPE).map(|value| if is_big_endian { value.swap_bytes() } else { value });
    is_elf && file_type.is_ok_and(|value| value == elf::ET_DYN.0)
}

/// Returns the library with a name: `x` is `libx.so` or `libx.a`, whichever is in an earlier directory, and `:x` is `x`.
fn find_library(line: &HostLine, name: &OsStr) -> Option<PathBuf> {
    let names = match name.as_encoded_bytes().strip_prefix(b":") {
        Some(file) => vec![crate::io::os_string(file)],
        None => [".so", ".a"]
            .map(|extension| {
                let mut file = OsStr::new("lib").to_owned();
                file.push(name);
                file.push(extension);
                file
            })
            .into(),
    };
    let root = line.words.iter().find_map(|word| match &word.meaning {
        Meaning::Sysroot(root) => Some(Path::new(root)),
        _ => None,
    });
    line.words
        .iter()
        .filter_map(|word| match &word.meaning {
            Meaning::LibraryDirectory(directory) => Some(below(root, Path::new(directory))),
            _ => None,
        })
        .flat_map(|directory| names.iter().map(move |name| directory.join(name)))
        .find(|path| path.is_file())
}

/// Returns a directory, in which `=` at the start is the root of the target's files.
fn below(root: Option<&Path>, directory: &Path) -> PathBuf {
    match directory.as_os_str().as_encoded_bytes().strip_prefix(b"=") {
        Some(inside) => {
            let inside = crate::io::os_string(inside);
            let inside = Path::new(&inside);
            root.unwrap_or(Path::new("")).join(inside.strip_prefix("/").unwrap_or(inside))
        }
        None => directory.to_owned(),
    }
}

/// Returns the words that concern libraries, which the link for a CPU as a device shares with that of the program.
pub fn library_words(line: &HostLine) -> Vec<&HostWord> {
    let is_library_word = |word: &&HostWord| match &word.meaning {
        Meaning::Input(path) => is_library(Path::new(path)),
        Meaning::Library(_) | Meaning::LibraryDirectory(_) | Meaning::RunPath(_) | Meaning::WholeArchive(_) => true,
        Meaning::Sysroot(_) | Meaning::Output(_) | Meaning::Relocatable | Meaning::Other => false,
    };
    line.words.iter().filter(is_library_word).collect()
}

/// Returns whether a path leads to a static or a shared library.
fn is_library(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let Ok(input) = Input::open_file(path.to_owned(), Access::read()) else { return false };
    ArchiveFormat::of(input.view()).is_some_and(ArchiveFormat::is_library) || is_shared(input.view())
}

/// Section with images that are linked and registered, in an object that an earlier link has written.
const LINKED: &[u8] = b".llvm.offloading.relocatable";

/// Returns the device images of the files that are not linked yet, in their order.
pub fn device_inputs(files: &[HostFile]) -> Result<Vec<DeviceInput<'_>>> {
    let mut inputs = Vec::new();
    for file in files {
        let entries = scan::offload_binaries_in(file.slice.view(), &|section| section != LINKED);
        let entries = entries.map_err(|malformed| malformed.in_file(Path::new(&file.slice.path)))?;
        inputs.extend(entries.into_iter().map(|entry| DeviceInput { entry, file }));
    }
    Ok(inputs)
}

impl HostFile {
    /// Path, or `ARCHIVE!MEMBER`.
    pub fn path(&self) -> &str {
        &self.slice.path
    }

    /// Path of the file, or name of the member.
    pub fn name(&self) -> &Path {
        Path::new(self.slice.member.as_deref().unwrap_or(&self.slice.path))
    }

    /// Path of a file of device images, which is nothing to a host linker.
    pub fn device_file(&self) -> Option<&OsStr> {
        let is_device_file = self.slice.member.is_none() && self.slice.view().starts_with(&offload_binary::MAGIC);
        is_device_file.then(|| OsStr::new(&self.slice.path))
    }

    /// The open file.
    pub fn input(&self) -> &Input {
        self.slice.input()
    }
}

impl<'data> DeviceInput<'data> {
    /// Target of the image.
    pub fn target(&self) -> Target<'data> {
        let text = |key| self.entry.string(key).unwrap_or_default();
        Target { triple: text("triple"), arch: text("arch"), is_lazy: self.file.is_lazy }
    }
}
