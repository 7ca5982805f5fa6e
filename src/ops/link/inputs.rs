//! The input files on a host linker's command line, and the device images in a file.
//!
//! Libraries are searched like linkers search them. A file that does not exist, a shared library and a file without
//! device code contribute nothing, because the value of an unknown option looks like an input. Source:
//! clang-linker-wrapper 22.1.8.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use object::elf;

use super::elf_type::elf_type;
use super::error::{LinkError, Result};
use super::groups::Target;
use super::host_line::{HostLine, HostWord, Meaning};
use super::options::{LinkOptions, Spelling};
use super::program_line::{InputState, InputStates};
use super::words::joined;
use super::{bundled, directives};
use fatbin_core::base::archive::ArchiveFormat;
use fatbin_core::base::bytes::View;
use fatbin_core::base::error::{Cause, Malformed};
use fatbin_core::base::io::{Access, FileIdentity, Input, file_identity, os_string};
use fatbin_core::format::offload_binary::{self, OffloadBinary, OffloadBinaryContents, OffloadBinaryEntry, Version};
use fatbin_core::format::{bitcode, bundle, ccob};
use fatbin_core::scan::{self, InputSlice, OpenOptions, Source};
use fatbin_core::target::subarch;

/// A file of the host linker that may have device images: an input, or a member of an archive.
#[derive(Debug)]
pub struct HostFile {
    slice: InputSlice,
    /// Decoded offload binaries: from bitcode, and compressed ones. The file does not contain them in this form.
    decoded: OnceLock<Input>,
    /// True for an archive member that is linked only if needed.
    is_lazy: bool,
}

/// A device image in a host file.
#[derive(Debug, Clone)]
pub struct DeviceInput<'data> {
    /// The image and its properties.
    pub entry: OffloadBinaryEntry<'data>,
    /// The host file.
    pub file: &'data HostFile,
    /// Number of the host file.
    pub index: usize,
    /// True if the image is linked only with other images of its target.
    pub is_lazy: bool,
}

/// A word that concerns libraries.
#[derive(Debug)]
pub struct Library<'line> {
    /// The word.
    pub word: &'line HostWord,
    /// Numbers of the files in the library.
    pub files: Range<usize>,
}

/// Inputs of a host linker.
#[derive(Debug, Default)]
pub struct Inputs<'line> {
    /// Files that may have device images, in their order.
    pub files: Vec<HostFile>,
    /// Words that concern libraries. The link for a CPU as a device shares them with the link of the program.
    pub libraries: Vec<Library<'line>>,
    /// Archives, with the numbers of their members. A linker takes a member once, even if the line repeats the archive.
    archives: HashMap<FileIdentity, Range<usize>>,
}

/// Opens the inputs, and the members of archives. `further` are files that the linker finds by itself.
pub fn open<'line>(options: &'line LinkOptions, further: &[PathBuf]) -> Result<Inputs<'line>> {
    let mut inputs = Inputs::default();
    let mut further = further.to_vec();
    let mut states = InputStates::new(&options.line);
    for word in &options.line.words {
        states.apply(&word.meaning, word.text());
        let InputState { takes_all, is_static } = states.now;
        let path = match &word.meaning {
            Meaning::Input(path) | Meaning::WholeInput(path) => Some(input(options, path)),
            Meaning::Library(name) => match library(options, name, is_static)? {
                // The linker has found it in a directory that the line does not name.
                None => named(&further, &library_names(name, &options.host, is_static)),
                found => found,
            },
            Meaning::WholeArchive(_) | Meaning::LibraryDirectory(_) | Meaning::RunPath(_) => None,
            Meaning::Sysroot(_) | Meaning::Output(_) | Meaning::Relocatable | Meaning::Other => continue,
        };
        let is_whole = takes_all || matches!(word.meaning, Meaning::WholeInput(_));
        let first = inputs.files.len();
        further.retain(|found| path.as_ref() != Some(found));
        let is_library = match path.filter(|path| path.is_file()) {
            Some(path) => inputs.add(&path, is_whole, options)?,
            None => false,
        };
        if is_library || !matches!(word.meaning, Meaning::Input(_)) {
            inputs.libraries.push(Library { word, files: first..inputs.files.len() });
        }
    }
    for path in further {
        inputs.add(&path, false, options)?;
    }
    if options.spelling == Spelling::AsWritten {
        let objects = inputs.files.iter().filter(|file| !file.is_lazy());
        let names: BTreeSet<OsString> = objects.flat_map(|file| directives::libraries(file.view())).collect();
        let paths = names.iter().map(|name| input(options, name));
        for path in paths.filter(|path| path.is_file()) {
            inputs.add(&path, false, options)?;
        }
    }
    Ok(inputs)
}

/// Words about libraries for the link of a CPU as a device. Libraries with device code are parts of the program. Their
/// host code does not belong in the image. clang-linker-wrapper does not consider this.
pub fn device_libraries<'line>(
    libraries: &[Library<'line>],
    inputs: &[DeviceInput<'_>],
    spelling: Spelling,
) -> Vec<&'line HostWord> {
    let is_for_device = |library: &&Library<'_>| match spelling {
        Spelling::Respelled => true,
        Spelling::AsWritten => {
            let has_device_code = inputs.iter().any(|input| library.files.contains(&input.index));
            !has_device_code && !matches!(library.word.meaning, Meaning::WholeArchive(_))
        }
    };
    libraries.iter().filter(is_for_device).map(|library| library.word).collect()
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
        let identity = if is_archive { file_identity(path) } else { None };
        if let Some(known) = identity.as_ref().and_then(|identity| self.archives.get(identity)) {
            let members = self.files.get_mut(known.clone()).unwrap_or_default();
            for member in members {
                member.is_lazy &= !takes_all;
            }
            return Ok(true);
        }
        let first = self.files.len();
        let open = OpenOptions::libraries(options.access).with_limits(options.limits);
        let mut outcome = Ok(is_archive);
        scan::expand_input(input, path, open, &mut |slice| match slice {
            Ok(slice) => {
                let is_lazy = slice.path.member().is_some() && !takes_all;
                self.files.push(HostFile::new(slice, is_lazy));
            }
            Err(error) => outcome = Err(error.into()),
        });
        self.archives.extend(identity.map(|identity| (identity, first..self.files.len())));
        outcome
    }
}

/// Path of an input. Microsoft's linker searches libraries by their file names.
fn input(options: &LinkOptions, name: &OsStr) -> PathBuf {
    let path = Path::new(name);
    let is_library = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("lib"));
    let found = if is_library && !path.is_file() { find_file(&options.line, &[name.to_owned()]) } else { None };
    found.unwrap_or_else(|| path.to_owned())
}

/// Path of a library. A compiler that calls the linker searches further directories. A library that is not in the
/// directories of the command line is therefore left to the compiler.
fn library(options: &LinkOptions, name: &OsStr, is_static: bool) -> Result<Option<PathBuf>> {
    match options.spelling {
        // The tool searches shared libraries in a static link, too.
        Spelling::Respelled => match find_library(&options.line, name) {
            None => Err(LinkError::MissingLibrary { name: name.to_owned() }),
            found => Ok(found),
        },
        Spelling::AsWritten => Ok(find_file(&options.line, &library_names(name, &options.host, is_static))),
    }
}

/// File names of a library, in the search order of a linker for the host.
fn library_names(name: &OsStr, host: &str, is_static: bool) -> Vec<OsString> {
    if let Some(file) = name.as_encoded_bytes().strip_prefix(b":") {
        return vec![os_string(file)];
    }
    let named = |prefix: &str, extension: &str| {
        let mut file = joined(prefix, name);
        file.push(extension);
        file
    };
    let is_windows = ["windows", "mingw", "cygwin"].iter().any(|system| host.contains(system));
    let (shared, archives): (&[_], &[_]) = if is_windows {
        (&[("lib", ".dll.a"), ("", ".dll.a"), ("lib", ".so")], &[("lib", ".a"), ("", ".lib"), ("lib", ".lib")])
    } else {
        (&[("lib", ".so")], &[("lib", ".a")])
    };
    let shared = if is_static { &[] } else { shared };
    shared.iter().chain(archives).map(|(prefix, extension)| named(prefix, extension)).collect()
}

/// The path with one of these file names.
fn named(paths: &[PathBuf], names: &[OsString]) -> Option<PathBuf> {
    let has_name =
        |path: &&PathBuf| path.file_name().is_some_and(|own| names.iter().any(|name| name.as_os_str() == own));
    paths.iter().find(has_name).cloned()
}

/// Path of a library: `:x` is the file `x`, and `x` is `libx.so` or `libx.a`. An earlier directory takes precedence.
pub fn find_library(line: &HostLine, name: &OsStr) -> Option<PathBuf> {
    find_file(line, &library_names(name, "", false))
}

/// Path of a file with one of these names. An earlier directory for libraries takes precedence.
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

/// A `=` at the start of a directory stands for the root of the target's files.
fn below(root: Option<&Path>, directory: &Path) -> PathBuf {
    match directory.as_os_str().as_encoded_bytes().strip_prefix(b"=") {
        Some(inside) => {
            let inside = os_string(inside);
            let inside = Path::new(&inside);
            root.unwrap_or(Path::new("")).join(inside.strip_prefix("/").unwrap_or(inside))
        }
        None => directory.to_owned(),
    }
}

/// Section with images that are linked and registered, in an object that an earlier link has written.
const LINKED: &[u8] = b".llvm.offloading.relocatable";

/// Device images in the offload binaries of a file, without images that are linked already.
pub fn entries(file: &HostFile) -> Result<Vec<OffloadBinaryEntry<'_>>> {
    let binaries = file.binaries()?;
    Ok(entries_with_image(&binaries).map_err(|malformed| malformed.in_file(Path::new(file.path())))?)
}

/// Offload binaries of a file whose images are not linked yet.
fn read_binaries(view: View<'_>) -> Result<Vec<OffloadBinary<'_>>, Malformed> {
    scan::offload_binaries_in(view, Version::Three, &|section| section != LINKED)
}

/// Offload binaries back to back, decompressed; empty if none is compressed.
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
    /// Creates a file. `is_lazy` is true for an archive member that is linked only if needed.
    pub fn new(slice: InputSlice, is_lazy: bool) -> HostFile {
        HostFile { slice, decoded: OnceLock::new(), is_lazy }
    }

    /// Path, or `ARCHIVE!MEMBER`.
    pub fn path(&self) -> &str {
        &self.slice.path
    }

    /// Path of the file, or name of the member.
    pub fn name(&self) -> &Path {
        Path::new(self.slice.path.innermost())
    }

    /// Path of the archive of a member.
    pub fn archive(&self) -> Option<&str> {
        self.slice.path.archive()
    }

    /// True if the host linker takes the file only if it needs it.
    pub fn is_lazy(&self) -> bool {
        self.is_lazy
    }

    /// Bytes of the file.
    pub fn view(&self) -> View<'_> {
        self.slice.view()
    }

    /// The file for a scan.
    pub fn slice(&self) -> &InputSlice {
        &self.slice
    }

    /// Bytes of the file, decompressed if they are a compressed bundle.
    pub fn bundle(&self) -> Result<View<'_>> {
        let view = self.slice.view();
        let path = Path::new(self.path());
        match bundled::decompressed(view).map_err(|malformed| malformed.in_file(path))? {
            None => Ok(view),
            Some(bytes) => {
                let write = |file: &mut File| file.write_all(&bytes);
                let input = Input::from_temp_file(path, &std::env::temp_dir(), Access::read(), write)?;
                Ok(self.decoded.get_or_init(|| input).view())
            }
        }
    }

    /// True for a bundle, compressed or not.
    pub fn is_bundle(&self) -> bool {
        let view = self.slice.view();
        view.starts_with(bundle::MAGIC) || view.starts_with(&ccob::MAGIC)
    }

    /// Path of a file of device images. A host linker cannot use it.
    pub fn device_file(&self) -> Option<&OsStr> {
        let is_device_file =
            self.slice.path.member().is_none() && self.slice.view().starts_with(&offload_binary::MAGIC);
        is_device_file.then(|| self.slice.path.on_disk().as_os_str())
    }

    /// The open file with the device images.
    pub fn input(&self) -> &Input {
        self.decoded.get().unwrap_or_else(|| self.slice.input())
    }

    /// Offload binaries. If they are not stored unchanged, they are decoded into a file without a name.
    fn binaries(&self) -> Result<Vec<OffloadBinary<'_>>> {
        let view = self.slice.view();
        let path = Path::new(self.path());
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
        let triple = text("triple");
        let arch = text("arch");
        let arch = subarch::stated_arch(triple, Some(arch)).unwrap_or(arch);
        Target { triple, arch, is_lazy: self.is_lazy }
    }
}
