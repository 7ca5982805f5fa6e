//! Wrappers: host objects that register device images.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::path::PathBuf;

use fatbin_rs::embed::{OffloadEntry, Release, TargetOverride, WrapError, WrapperFormat};
use fatbin_rs::{Access, Host, Input, OffloadKind, View, WrapperBuilder};

use crate::error::{Failure, Result, free, guard};
use crate::pointers::{self, handle, lend};

/// Images and entries for a host object that registers them when its program or library is loaded.
#[derive(Debug)]
pub struct Wrapper {
    kind: OffloadKind,
    host: String,
    release: Option<Release>,
    images: Vec<WrapperImage>,
    entries: Vec<OffloadEntry>,
    object: Vec<u8>,
}

#[derive(Debug)]
struct WrapperImage {
    name: PathBuf,
    bytes: ImageSource,
    target: TargetOverride,
}

#[derive(Debug)]
enum ImageSource {
    File(Input),
    /// Bytes of the caller, who keeps them until the wrapper is freed.
    Memory(&'static [u8]),
}

impl WrapperImage {
    fn view(&self) -> View<'_> {
        match &self.bytes {
            ImageSource::File(input) => input.view(),
            ImageSource::Memory(bytes) => View::new(bytes),
        }
    }
}

impl Wrapper {
    fn new(kind: &str, host: Option<&str>, abi: Option<&str>) -> Result<Self> {
        let kind = OffloadKind::from_name(kind).filter(|kind| *kind != OffloadKind::Host).ok_or_else(|| {
            Failure::argument(format_args!("kind: unknown kind {kind:?} (available: openmp, cuda, hip, sycl)"))
        })?;
        let host = match host {
            Some(host) => host,
            None => Host::native().map_err(WrapError::from)?.triple(),
        };
        host.parse::<Host>().map_err(WrapError::from)?;
        let release = abi.map(|abi| {
            let available = || Release::names().collect::<Vec<_>>().join(", ");
            let unknown = || Failure::argument(format_args!("abi: unknown ABI {abi:?} (available: {})", available()));
            Release::named(abi).ok_or_else(unknown)
        });
        let release = release.transpose()?;
        let (host, images, entries, object) = (host.to_owned(), Vec::new(), Vec::new(), Vec::new());
        Ok(Wrapper { kind, host, release, images, entries, object })
    }

    fn builder(&self, format: WrapperFormat) -> Result<WrapperBuilder<'_>> {
        let mut wrapper = WrapperBuilder::for_triple(self.kind, &self.host).map_err(WrapError::from)?;
        wrapper.release = self.release.unwrap_or(wrapper.release);
        wrapper.format = format;
        wrapper.entries.clone_from(&self.entries);
        for image in &self.images {
            wrapper.image_for(&image.name, image.view(), image.target.clone());
        }
        Ok(wrapper)
    }
}

/// Begins a host object. `kind` is "openmp", "cuda", "hip" or "sycl". `host` is the triple of the host, or NULL for the machine
/// of this library. `abi` is the release of LLVM whose host objects and runtime are used, such as "llvm22", or NULL for the newest.
/// Free the result with fatbin_wrapper_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_wrapper_new(
    kind: *const c_char,
    host: *const c_char,
    abi: *const c_char,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Wrapper>> {
    guard(error, None, || {
        // SAFETY: a string, as the header requires.
        let kind = unsafe { pointers::text(kind, "kind") }?;
        // SAFETY: a string or NULL, as the header requires.
        let host = unsafe { pointers::optional_text(host, "host") }?;
        // SAFETY: as above.
        let abi = unsafe { pointers::optional_text(abi, "abi") }?;
        Ok(Some(Box::new(Wrapper::new(kind, host, abi)?)))
    })
}

/// Frees a wrapper with the object that it holds. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_wrapper_free(wrapper: Option<Box<Wrapper>>) {
    free(wrapper);
}

/// Adds the image in a file, which is read at once. `triple` and `arch` are NULL, or properties that the header of the image does
/// not have. The runtime sees images in the order in which they were added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_wrapper_add_file(
    wrapper: Option<&mut Wrapper>,
    path: *const c_char,
    triple: *const c_char,
    arch: *const c_char,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> bool {
    guard(error, false, || {
        // SAFETY: a string, as the header requires.
        let name = unsafe { pointers::path(path, "path") }?;
        // SAFETY: strings or NULL, as the header requires.
        let target = unsafe { target(triple, arch) }?;
        let bytes = ImageSource::File(Input::open(&name, Access::read())?);
        handle(wrapper, "wrapper")?.images.push(WrapperImage { name, bytes, target });
        Ok(true)
    })
}

/// Adds an image in memory, which must not change or be freed before the wrapper is freed. `name` is its name in messages. The
/// other arguments are those of fatbin_wrapper_add_file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_wrapper_add_memory(
    wrapper: Option<&mut Wrapper>,
    name: *const c_char,
    data: *const u8,
    size: usize,
    triple: *const c_char,
    arch: *const c_char,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> bool {
    guard(error, false, || {
        // SAFETY: a string, as the header requires.
        let name = unsafe { pointers::path(name, "name") }?;
        // SAFETY: strings or NULL, as the header requires.
        let target = unsafe { target(triple, arch) }?;
        // SAFETY: the header requires that the bytes stay until the wrapper is freed.
        let bytes = ImageSource::Memory(unsafe { pointers::array(data, size, "data") }?);
        handle(wrapper, "wrapper")?.images.push(WrapperImage { name, bytes, target });
        Ok(true)
    })
}

/// Adds an offload entry, for host programs that no offload compiler has compiled: the kernel or variable `name` of the image, which the
/// program refers to by the address of `host_symbol`, or of a symbol `name` if that is NULL. `size` is 0 for a kernel. The meaning of
/// `flags` depends on the ABI.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_wrapper_add_entry(
    wrapper: Option<&mut Wrapper>,
    name: *const c_char,
    host_symbol: *const c_char,
    size: u64,
    flags: u32,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> bool {
    guard(error, false, || {
        // SAFETY: a string, as the header requires.
        let name = unsafe { pointers::text(name, "name") }?;
        // SAFETY: a string or NULL, as the header requires.
        let host_symbol = unsafe { pointers::optional_text(host_symbol, "host_symbol") }?.unwrap_or(name);
        let mut entry = OffloadEntry::new(name, host_symbol);
        entry.size = size;
        entry.flags = flags;
        handle(wrapper, "wrapper")?.entries.push(entry);
        Ok(true)
    })
}

/// Writes the object to a file: LLVM bitcode if its name ends in ".bc", LLVM IR as text for ".ll", else an object for the linker.
/// An existing file is replaced when the new one is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_wrapper_write(
    wrapper: Option<&Wrapper>,
    path: *const c_char,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> bool {
    guard(error, false, || {
        // SAFETY: a string, as the header requires.
        let path = unsafe { pointers::path(path, "path") }?;
        handle(wrapper, "wrapper")?.builder(WrapperFormat::of_path(&path))?.write_file(&path, [])?;
        Ok(true)
    })
}

/// Returns the object for the linker in memory. It is valid until the next call of this function for the wrapper, or until the
/// wrapper is freed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_wrapper_object(
    wrapper: Option<&mut Wrapper>,
    data: Option<&mut MaybeUninit<*const u8>>,
    size: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> bool {
    guard(error, false, || {
        let (data, size) = (handle(data, "data")?, handle(size, "size")?);
        lend(&[], data, size);
        let wrapper = handle(wrapper, "wrapper")?;
        let mut object = Vec::new();
        wrapper.builder(WrapperFormat::Object)?.write_to(&mut object)?;
        wrapper.object = object;
        lend(&wrapper.object, data, size);
        Ok(true)
    })
}

/// Returns the properties of an image that the caller specified.
///
/// # Safety
///
/// As for [`pointers::text`], for both.
unsafe fn target(triple: *const c_char, arch: *const c_char) -> Result<TargetOverride> {
    // SAFETY: the caller promises it.
    let triple = unsafe { pointers::optional_text(triple, "triple") }?.map(str::to_owned);
    // SAFETY: the caller promises it.
    let arch = unsafe { pointers::optional_text(arch, "arch") }?.map(str::to_owned);
    Ok(TargetOverride::new(triple, arch))
}
