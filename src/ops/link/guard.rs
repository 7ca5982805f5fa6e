//! The guard of a link: no device code is lost silently.
//!
//! The output's entries name kernels. The output's images must have these kernels, and its entries must be those of the
//! objects. A file that the host linker has found by itself must have no device code.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use aho_corasick::AhoCorasick;
use object::elf;

use super::account::{AccountedInput, InputState};
use super::device::DeviceLinker;
use super::device_code::DeviceCode;
use super::elf_type::elf_type;
use super::error::Result;
use super::host_entries::HostEntries;
use super::inputs::{self, HostFile};
use super::linked_entries::LinkedKernel;
use super::linked_image::LinkedImage;
use super::missing_kernels::{self, MissingKernel};
use super::options::{EntryCheck, LinkOptions};
use super::trace::{self, TracedFiles};
use super::{bundled, linked_entries};
use crate::embed::llvm::RELEASES;
use crate::embed::llvm::wrapper_abi::WrapperAbi;
use crate::embed::wrap::host_entries::{self, HostEntry};
use fatbin_core::base::file_path::FilePath;
use fatbin_core::base::io::{FileIdentity, Input, file_identity};
use fatbin_core::format::{ImageKind, bundle, ccob, offload_binary};
use fatbin_core::scan::{self, InputSlice, OpenOptions, Options, Scan, Source};
use fatbin_core::target::OffloadKind;

/// The file that the host linker has written.
#[derive(Debug)]
pub struct LinkedOutput {
    slice: InputSlice,
    /// Kernels in the entries that the wrappers register.
    registered: Vec<LinkedKernel>,
    /// Kernels in entries of other releases.
    others: Vec<LinkedKernel>,
}

impl LinkedOutput {
    /// Opens the output and reads its entries; `None` if the linker has written no file.
    pub fn open(output: &Path, entries: &HostEntries, options: &LinkOptions) -> Result<Option<LinkedOutput>> {
        if !output.is_file() {
            return Ok(None);
        }
        let input = Input::open_file(output.to_owned(), options.access)?.with_limits(options.limits);
        let slice = InputSlice::whole(FilePath::new(output), input);
        let own = entries.abis();
        let has_other_sections = |abi: &WrapperAbi| {
            let kinds = [OffloadKind::OpenMp, OffloadKind::Cuda, OffloadKind::Hip];
            kinds.iter().all(|&kind| own.iter().all(|own| own.entry_section(kind) != abi.entry_section(kind)))
        };
        let others: Vec<WrapperAbi> =
            RELEASES.iter().map(|release| release.wrapper).filter(has_other_sections).collect();
        Ok(Some(LinkedOutput {
            registered: linked_entries::linked_kernels(slice.view(), &own),
            others: linked_entries::linked_kernels(slice.view(), &others),
            slice,
        }))
    }

    /// Kernels in the entries of the output that none of its images has.
    pub fn missing_kernels(&self, files: &[HostFile], images: &[LinkedImage<'_>]) -> Result<Vec<MissingKernel>> {
        let LinkedOutput { slice, registered, .. } = self;
        let kernel = |kind, name| MissingKernel { path: slice.path.to_string(), kind, name };
        let mut used: Vec<MissingKernel> =
            registered.iter().map(|entry| kernel(entry.kind, entry.name.clone())).collect();
        if used.is_empty() {
            let entries = host_entries::read(slice.view(), slice.path.printed())?;
            let kernels = entries.into_iter().filter(|entry| entry.is_kernel);
            used = kernels.map(|entry| kernel(entry.kind, entry.name)).collect();
        }
        let missing = missing_kernels::without_available(used, images, std::iter::once(slice));
        missing.into_iter().map(|kernel| name_origin(kernel, files)).collect()
    }

    /// Kernels of the linked kinds in the entries of objects that the wrappers do not register: the linker has dropped
    /// them, or has found an object of another release by itself. Only programs and libraries in ELF are judged: their
    /// linkers concatenate entries, and drop none but by `--gc-sections`.
    pub fn unregistered(&self, kinds: &[OffloadKind], files: &[HostFile]) -> Result<Vec<MissingKernel>> {
        if !matches!(elf_type(self.slice.view()), Some(elf::ET_EXEC | elf::ET_DYN)) {
            return Ok(Vec::new());
        }
        let registered: HashSet<(OffloadKind, &str)> =
            self.registered.iter().map(|entry| (entry.kind, entry.name.as_str())).collect();
        let mut missing = Vec::new();
        for LinkedKernel { kind, name } in self.others.iter().filter(|kernel| kinds.contains(&kernel.kind)) {
            let kernel = MissingKernel { path: self.slice.path.to_string(), kind: *kind, name: name.clone() };
            missing.push(name_origin(kernel, files)?);
        }
        for file in files.iter().filter(|file| !file.is_lazy()) {
            let entries = host_entries::read(file.view(), Path::new(file.path()))?;
            let is_lost = |entry: &HostEntry| {
                entry.is_kernel
                    && kinds.contains(&entry.kind)
                    && !registered.contains(&(entry.kind, entry.name.as_str()))
            };
            missing.extend(entries.into_iter().filter(is_lost).map(|entry| MissingKernel {
                path: file.path().to_owned(),
                kind: entry.kind,
                name: entry.name,
            }));
        }
        Ok(missing)
    }
}

/// Input with an image for a GPU that no runtime loads, because its format is unknown; `None` if the output has none.
/// clang up to 19 stores the assembly text of `-S` as the image.
pub fn unknown_image(output: &LinkedOutput, files: &[HostFile]) -> Option<(String, String)> {
    let target = unknown_target(&output.slice)?;
    let origin = files.iter().find(|file| unknown_target(file.slice()).as_ref() == Some(&target));
    let path = origin.map_or_else(|| output.slice.path.to_string(), |file| file.path().to_owned());
    Some((path, target))
}

/// Target of the first image for a GPU in a registered container whose format is unknown.
fn unknown_target(slice: &InputSlice) -> Option<String> {
    let structure_only = Options::default().with_structure_only(true);
    let scan = Scan::with_options(slice.clone(), structure_only, None).ok()?;
    let is_gpu = |triple: &str| DeviceLinker::of(triple).is_some_and(|linker| !linker.assembles_text);
    let unknown = scan.images().find(|image| {
        let is_empty = image.size == Some(0);
        image.image_kind == ImageKind::Unknown && !is_empty && image.triple.as_deref().is_some_and(is_gpu)
    })?;
    Some(unknown.arch.clone().or_else(|| unknown.triple.clone()).unwrap_or_default())
}

/// Inputs whose images are not linked, although the linker takes them and no other image of their kind is linked.
pub fn lost(
    account: Vec<AccountedInput>,
    files: &[HostFile],
    code: &DeviceCode<'_>,
    images: &[LinkedImage<'_>],
) -> Vec<AccountedInput> {
    let has_image = |kind: u16| {
        OffloadKind::from_bit(kind).is_none_or(|kind| images.iter().any(|image| image.kinds.contains(&kind)))
    };
    let paths: HashSet<&str> = code
        .inputs
        .iter()
        .filter(|input| !has_image(input.entry.offload_kind))
        .filter_map(|input| files.get(input.index))
        .map(HostFile::path)
        .collect();
    let is_lost = |input: &AccountedInput| input.state == InputState::NotLinked && paths.contains(input.path.as_str());
    account.into_iter().filter(is_lost).collect()
}

/// Names the input with the entry of a kernel in place of the output.
fn name_origin(kernel: MissingKernel, files: &[HostFile]) -> Result<MissingKernel> {
    for file in files {
        let entries = host_entries::read(file.view(), Path::new(file.path()))?;
        if entries.iter().any(|entry| entry.kind == kernel.kind && entry.name == kernel.name) {
            return Ok(MissingKernel { path: file.path().to_owned(), ..kernel });
        }
    }
    Ok(kernel)
}

/// Files with device code or entries that the linker has read and the command line does not name.
pub fn found_by_linker(
    traced: Option<&TracedFiles>,
    files: &[HostFile],
    objects: &[PathBuf],
    options: &LinkOptions,
) -> Result<Vec<PathBuf>> {
    if options.is_dry_run || options.entry_check == EntryCheck::Off {
        return Ok(Vec::new());
    }
    let traced =
        traced.map_or_else(|| trace::of_scripts(&options.line, options.access), |traced| Ok(traced.clone()))?;
    let archives = files.iter().filter_map(|file| file.archive().map(Path::new));
    let own = files.iter().map(|file| file.slice().input().path());
    let objects = objects.iter().map(PathBuf::as_path);
    let mut known: HashSet<FileIdentity> = archives.chain(own).chain(objects).filter_map(file_identity).collect();
    let magics = AhoCorasick::new([
        &offload_binary::MAGIC[..],
        bundle::MAGIC,
        &ccob::MAGIC,
        b"offload_entries",
        b"offloading_entries",
    ]);
    let magics = magics.expect("the patterns are few and short");
    let mut found = Vec::new();
    // GNU ld also lists the members of thin archives.
    let (archives, others): (Vec<_>, Vec<_>) = traced.paths.iter().partition(|path| is_thin(path));
    for path in archives.into_iter().chain(others) {
        if file_identity(path).is_none_or(|identity| known.contains(&identity)) {
            continue;
        }
        let input = Input::open_file(path.clone(), options.access)?.with_limits(options.limits);
        let is_shared = elf_type(input.view()) == Some(elf::ET_DYN);
        if is_shared || !is_thin(path) && !magics.is_match(input.view().data()) {
            continue;
        }
        let files = expand(input, path, options);
        if has_device_code(&files)? {
            found.push(path.clone());
            known.extend(files.iter().filter_map(|file| file_identity(file.slice().input().path())));
        }
    }
    Ok(found)
}

/// True for an archive that only names its members.
fn is_thin(path: &Path) -> bool {
    let mut start = [0; THIN_MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *THIN_MAGIC
}

const THIN_MAGIC: &[u8; 8] = b"!<thin>\n";

/// Opens a file, or the members of an archive that can be opened.
fn expand(input: Input, path: &Path, options: &LinkOptions) -> Vec<HostFile> {
    let open = OpenOptions::libraries(options.access).with_limits(options.limits);
    let mut files = Vec::new();
    scan::expand_input(input, path, open, &mut |slice| files.extend(slice.ok().map(|it| HostFile::new(it, false))));
    files
}

fn has_device_code(files: &[HostFile]) -> Result<bool> {
    for file in files {
        let path = Path::new(file.path());
        let bundled = bundled::read(file.bundle()?).map_err(|malformed| malformed.in_file(path))?;
        if !inputs::entries(file)?.is_empty()
            || !bundled.entries.is_empty()
            || bundled.sycl.is_some()
            || !host_entries::read(file.view(), path)?.is_empty()
        {
            return Ok(true);
        }
    }
    Ok(false)
}
