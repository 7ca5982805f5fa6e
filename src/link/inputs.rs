//! From the words of a host linker's command line to the device images in its inputs.
//!
//! Libraries are searched like linkers search them. A file that does not exist, a shared library and a file without device code
//! contribute nothing: words that are the value of an unknown option look like inputs. Source: clang-linker-wrapper 22.1.8.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use object::elf;

use super::elf_type::elf_type;
use super::error::{LinkError, Result};
use super::groups::Target;
use super::host_line::{HostLine, HostWord, Meaning};
use super::options::{LinkOptions, Spelling};
use super::words::joined;
use crate::base::archive::ArchiveFormat;
use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};
use crate::base::io::{Access, Input};
use crate::format::bitcode;
use crate::format::offload_binary::{self, OffloadBinary, OffloadBinaryContents, OffloadBinaryEntry, Version};
use crate::scan::{self, Archives, InputSlice, OpenOptions, Source};
use crate::target::subarch;

/// A file of the host linker that may have device images: an input, or a member of an archive.
#[derive(Debug)]
pub struct HostFile {
    slice: InputSlice,
    /// Offload binaries that are not stored in the file as they are: those of bitcode, and compressed ones.
    decoded: OnceLock<Input>,
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

/// Inputs of a host linker.
#[derive(Debug)]
pub struct Inputs<'line> {
    /// Files that may have device images, in their order.
    pub files: Vec<HostFile>,
    /// Words that concern libraries, which the link for a CPU as a device shares with that of the program.
    pub libraries: Vec<&'line HostWord>,
}

/// Opens the inputs, and the members of archives.
pub fn open(options: &LinkOptions) -> Result<Inputs<'_>> {
    let (mut inputs, mut takes_all) = (Inputs { files: Vec::new(), libraries: Vec::new() }, false);
    for word in &options.line.words {
        let path = match &word.meaning {
            Meaning::Input(path) | Meaning::WholeInput(path) => Some(input(options, path)),
            Meaning::Library(name) => library(options, name)?,
            Meaning::WholeArchive(on) => {
                takes_all = *on;
                None
            }
            Meaning::LibraryDirectory(_) | Meaning::RunPath(_) => None,
            Meaning::Sysroot(_) | Meaning::Output(_) | Meaning::Relocatable | Meaning::Other => continue,
        };
        let is_whole = takes_all || matches!(word.meaning, Meaning::WholeInput(_));
        let is_library = match path.filter(|path| path.is_file()) {
            Some(path) => inputs.add(&path, is_whole, options)?,
            None => false,
        };
        if is_library || !matches!(word.meaning, Meaning::Input(_)) {
            inputs.libraries.push(word);
        }
    }
    Ok(inputs)
}

impl Inputs<'_> {
    /// Opens a file, and returns whether it is a static or a shared library.
    fn add(&mut self, path: &Path, takes_all: bool, options: &LinkOptions) -> Result<bool> {
        let input = Input::open_file(path.to_owned(), options.access)?.with_limits(options.limits);
        // The device images of a shared library, or of a program of its form, are linked already.
        if elf_type(input.view()) == Some(elf::ET_DYN) {
            return Ok(true);
        }
        let is_archive = ArchiveFormat::of(input.view()).is_some_and(ArchiveFormat::is_library);
        let open = OpenOptions { archives: Archives::Libraries, limits: options.limits, access: options.access };
        let mut outcome = Ok(is_archive);
        scan::expand_input(input, path, open, &mut |slice| match slice {
            Ok(slice) => {
                let is_lazy = slice.member.is_some() && !takes_all;
                self.files.push(HostFile { slice, decoded: OnceLock::new(), is_lazy });
            }
            Err(error) => outcome = Err(error.into()),
        });
        outcome
    }
}

/// Returns the path of an input. Microsoft's linker searches libraries by their file names.
fn input(options: &LinkOptions, name: &OsStr) -> PathBuf {
    let path = Path::new(name);
    let is_library = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("lib"));
    let found = if is_library && !path.is_file() { find_file(&options.line, &[name.to_owned()]) } else { None };
    found.unwrap_or_else(|| path.to_owned())
}

/// Returns the path of a library. A compiler that calls the linker searches further directories, so that one which is not in
/// those of the command line is left to it.
fn library(options: &LinkOptions, name: &OsStr) -> Result<Option<PathBuf>> {
    match (find_library(&options.line, name), options.spelling) {
        (None, Spelling::Respelled) => Err(LinkError::MissingLibrary { name: name.to_owned() }),
        (found, Spelling::AsWritten | Spelling::Respelled) => Ok(found),
    }
}

/// Returns the library with a name: `x` is `libx.so` or `libx.a`, whichever is in an earlier directory, and `:x` is `x`.
pub fn find_library(line: &HostLine, name: &OsStr) -> Option<PathBuf> {
    let names = match name.as_encoded_bytes().strip_prefix(b":") {
        Some(file) => vec![crate::base::io::os_string(file)],
        None => [".so", ".a"]
            .map(|extension| {
                let mut file = joined("lib", name);
                file.push(extension);
                file
            })
            .into(),
    };
    find_file(line, &names)
}

/// Returns the file with one of these names, whichever is in an earlier directory for libraries.
fn find_file(line: &HostLine, names: &[OsString]) -> Option<PathBuf> {
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
            let inside = crate::base::io::os_string(inside);
            let inside = Path::new(&inside);
            root.unwrap_or(Path::new("")).join(inside.strip_prefix("/").unwrap_or(inside))
        }
        None => directory.to_owned(),
    }
}

/// Section with images that are linked and registered, in an object that an earlier link has written.
const LINKED: &[u8] = b".llvm.offloading.relocatable";

/// Returns the device images of the files that are not linked yet, in their order.
pub fn device_inputs(files: &[HostFile]) -> Result<Vec<DeviceInput<'_>>> {
    let mut inputs = Vec::new();
    for file in files {
        let entries = file.binaries()?;
        let entries = entries_with_image(&entries).map_err(|malformed| malformed.in_file(Path::new(file.path())))?;
        inputs.extend(entries.into_iter().map(|entry| DeviceInput { entry, file }));
    }
    Ok(inputs)
}

/// Returns the offload binaries of a file whose images are not linked yet.
fn read_binaries(view: View<'_>) -> Result<Vec<OffloadBinary<'_>>, Malformed> {
    scan::offload_binaries_in(view, Version::Three, &|section| section != LINKED)
}

/// Returns offload binaries back to back, those decompressed that are compressed; nothing if none is.
fn decompressed(binaries: &[OffloadBinary<'_>]) -> Result<Vec<u8>, Malformed> {
    let is_compressed = |binary: &OffloadBinary<'_>| matches!(binary.contents, OffloadBinaryContents::Compressed(_));
    let mut bytes = Vec::new();
    if binaries.iter().any(is_compressed) {
        for binary in binaries {
            match &binary.contents {
                OffloadBinaryContents::Compressed(compressed) => bytes.extend(compressed.decompress()?),
                OffloadBinaryContents::Entries(_) => bytes.extend(binary.view.data()),
            }
        }
    }
    Ok(bytes)
}

/// Returns the entries with an image.
fn entries_with_image<'data>(binaries: &[OffloadBinary<'data>]) -> Result<Vec<OffloadBinaryEntry<'data>>, Malformed> {
    let mut entries = Vec::new();
    for binary in binaries {
        if let OffloadBinaryContents::Compressed(_) = binary.contents {
            let cause = Cause::Described("compressed more than once".to_owned());
            return Err(binary.view.malformed("offload binary inflated size", INFLATED_SIZE_OFFSET, cause));
        }
        let with_image = binary.entries().iter().filter(|entry| !entry.is_metadata(binary.version));
        entries.extend(with_image.cloned());
    }
    Ok(entries)
}

/// Offset of the field with the decompressed size of an offload binary.
const INFLATED_SIZE_OFFSET: u64 = 32;

impl HostFile {
    /// Path, or `ARCHIVE!MEMBER`.
    pub fn path(&self) -> &str {
        &self.slice.path
    }

    /// Path of the file, or name of the member.
    pub fn name(&self) -> &Path {
        Path::new(self.slice.member.as_deref().unwrap_or(&self.slice.path))
    }

    /// Path of the archive of a member.
    pub fn archive(&self) -> Option<&str> {
        self.slice.path.strip_suffix(self.slice.member.as_deref()?)?.strip_suffix('!')
    }

    /// Returns whether the host linker takes the file only if it needs it.
    pub fn is_lazy(&self) -> bool {
        self.is_lazy
    }

    /// Bytes of the file.
    pub fn view(&self) -> View<'_> {
        self.slice.view()
    }

    /// Path of a file of device images, which is nothing to a host linker.
    pub fn device_file(&self) -> Option<&OsStr> {
        let is_device_file = self.slice.member.is_none() && self.slice.view().starts_with(&offload_binary::MAGIC);
        is_device_file.then(|| OsStr::new(&self.slice.path))
    }

    /// The open file with the device images.
    pub fn input(&self) -> &Input {
        self.decoded.get().unwrap_or_else(|| self.slice.input())
    }

    /// Returns the offload binaries, which are decoded into a file without a name where they are not stored as they are.
    fn binaries(&self) -> Result<Vec<OffloadBinary<'_>>> {
        let (view, path) = (self.slice.view(), Path::new(self.path()));
        let in_file = |malformed: Malformed| malformed.in_file(path);
        let (stored, decoded) = if bitcode::is_bitcode(view) {
            (Vec::new(), bitcode::embedded::offload_binaries(view).map_err(in_file)?)
        } else {
            let stored = read_binaries(view).map_err(in_file)?;
            let decoded = decompressed(&stored).map_err(in_file)?;
            (stored, decoded)
        };
        if decoded.is_empty() {
            return Ok(stored);
        }
        let write = |file: &mut File| file.write_all(&decoded);
        let input = Input::from_temp_file(path, &std::env::temp_dir(), Access::read(), write)?;
        Ok(read_binaries(self.decoded.get_or_init(|| input).view()).map_err(in_file)?)
    }
}

impl<'data> DeviceInput<'data> {
    /// Target of the image.
    pub fn target(&self) -> Target<'data> {
        let text = |key| self.entry.string(key).unwrap_or_default();
        let (triple, arch) = (text("triple"), text("arch"));
        let arch = subarch::stated_arch(triple, Some(arch)).unwrap_or(arch);
        Target { triple, arch, is_lazy: self.file.is_lazy() }
    }
}
