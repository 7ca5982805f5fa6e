//! Containers, objects and changed files in memory.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use fatbin_rs::embed::{
    BundleBuilder, CudaFatbinBuilder, OffloadBinaryBuilder, ProducerError, Release, TargetOverride, embed_bytes,
    unbundle,
};
use fatbin_rs::{Codec, ContainerForm, Editor, Host, Input, OffloadKind};

use crate::error::{Failure, Result, free, guard};
use crate::pointers::{self, handle, lend};

/// Bytes in memory, and what a function that produces needs to know about them. Strings may be NULL. This record does not grow.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Source {
    /// The bytes. They must not change during the call.
    pub data: *const u8,
    /// Number of bytes.
    pub size: usize,
    /// Name in messages; in a bundle the target ID, in an object the symbol, in a CUDA fat binary the identifier.
    pub name: *const c_char,
    /// Target triple of an image for an offload binary, if its header does not state it.
    pub triple: *const c_char,
    /// Processor of an image, if its header does not state it.
    pub arch: *const c_char,
    /// Options of an image in a CUDA fat binary, for the driver's compiler.
    pub options: *const c_char,
}

/// Bytes that a function has produced.
#[derive(Debug)]
pub struct Bytes(Vec<u8>);

/// A source with its strings.
struct Given {
    bytes: &'static [u8],
    name: Option<&'static str>,
    triple: Option<&'static str>,
    arch: Option<&'static str>,
    options: Option<&'static str>,
}

impl Given {
    fn input(&self) -> Input {
        Input::from_bytes(self.name.filter(|name| !name.is_empty()).unwrap_or("memory"), self.bytes)
    }

    fn name(&self) -> Result<&'static str> {
        handle(self.name, "name")
    }
}

/// Runs the code behind a function that produces bytes.
fn produce(
    error: Option<&mut MaybeUninit<*mut Failure>>,
    call: impl FnOnce() -> Result<Vec<u8>>,
) -> Option<Box<Bytes>> {
    guard(error, None, || Ok(Some(Box::new(Bytes(call()?)))))
}

/// Returns the sources of the caller. They are not used after the call.
///
/// # Safety
///
/// `sources` is NULL, or points to `count` records whose pointers meet the requirements of [`pointers`].
unsafe fn given(sources: *const Source, count: usize, name: &str) -> Result<Vec<Given>> {
    // SAFETY: the caller promises `count` records.
    let sources = unsafe { pointers::array(sources, count, name) }?;
    let mut all = Vec::new();
    for source in sources {
        // SAFETY: the caller promises bytes and strings.
        all.push(unsafe {
            Given {
                bytes: pointers::array(source.data, source.size, "data")?,
                name: pointers::optional_text(source.name, "name")?,
                triple: pointers::optional_text(source.triple, "triple")?,
                arch: pointers::optional_text(source.arch, "arch")?,
                options: pointers::optional_text(source.options, "options")?,
            }
        });
    }
    Ok(all)
}

/// Returns one source of the caller.
///
/// # Safety
///
/// As for [`given`].
unsafe fn one(source: *const Source, name: &str) -> Result<Input> {
    // SAFETY: the caller promises a record.
    let mut sources = unsafe { given(source, 1, name) }?;
    Ok(sources.remove(0).input())
}

/// Returns `count` strings.
///
/// # Safety
///
/// `texts` is NULL, or points to `count` strings.
unsafe fn texts(texts: *const *const c_char, count: usize, name: &str) -> Result<Vec<&'static str>> {
    // SAFETY: the caller promises `count` pointers.
    let texts = unsafe { pointers::array(texts, count, name) }?;
    // SAFETY: the caller promises that each is a string.
    texts.iter().map(|text| unsafe { pointers::text(*text, name) }).collect()
}

/// Returns the codec of this name, such as "zstd" or "zstd-19", and its level; none for NULL.
///
/// # Safety
///
/// As for [`pointers::text`].
unsafe fn codec_named(name: *const c_char) -> Result<(Option<Codec>, Option<i32>)> {
    // SAFETY: the caller promises a string or NULL.
    let Some(name) = unsafe { pointers::optional_text(name, "codec") }? else { return Ok((None, None)) };
    let unknown = || Failure::argument(format_args!("codec: unknown codec {name:?}"));
    let (codec, level) = match name.split_once('-') {
        Some((codec, level)) => (codec, Some(level.parse().map_err(|_| unknown())?)),
        None => (name, None),
    };
    let known = [Codec::Zstd, Codec::Zlib, Codec::Lz4].into_iter().find(|known| known.name() == codec);
    Ok((Some(known.ok_or_else(unknown)?), level))
}

/// Passes the bytes to the caller. They are valid until `bytes` is freed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_bytes_data(bytes: Option<&Bytes>, size: Option<&mut MaybeUninit<usize>>) -> *const u8 {
    let mut data = MaybeUninit::new(std::ptr::null());
    let mut unused = MaybeUninit::uninit();
    lend(bytes.map_or(&[], |bytes| &bytes.0), &mut data, size.unwrap_or(&mut unused));
    // SAFETY: it was written when it was created.
    unsafe { data.assume_init() }
}

/// Frees bytes. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_bytes_free(bytes: Option<Box<Bytes>>) {
    free(bytes);
}

/// Packs images for `kind` ("openmp", "cuda", "hip" or "sycl") into an offload binary. `abi` is the release of LLVM whose tools read
/// it, or NULL for the newest; `codec` is "zstd" or "zlib", with a level as in "zstd-19", or NULL. Free the result with
/// fatbin_bytes_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_pack(
    kind: *const c_char,
    abi: *const c_char,
    codec: *const c_char,
    images: *const Source,
    count: usize,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Bytes>> {
    produce(error, || {
        // SAFETY: strings and records, as the header requires.
        let (kind, abi, (codec, level), images) = unsafe {
            let kind = pointers::text(kind, "kind")?;
            (kind, pointers::optional_text(abi, "abi")?, codec_named(codec)?, given(images, count, "images")?)
        };
        let unknown = |what: &str, name: &str| Failure::argument(format_args!("{what}: unknown {what} {name:?}"));
        let mut builder = OffloadBinaryBuilder::new();
        if let Some(abi) = abi {
            builder.release = Release::named(abi).ok_or_else(|| unknown("abi", abi))?;
        }
        builder.compression = codec;
        builder.level = level;
        let kind = OffloadKind::from_name(kind).ok_or_else(|| unknown("kind", kind))?;
        for image in &images {
            let target = TargetOverride::new(image.triple.map(str::to_owned), image.arch.map(str::to_owned));
            builder.image_for(kind, image.input(), target);
        }
        Ok(builder.build()?)
    })
}

/// Packs cubins, PTX, LTO-IR and Tile IR into a CUDA fat binary. `codec` is "zstd" or "lz4", with a level as in "zstd-19", or NULL.
/// With `concat`, the images of a sort are compressed as one. nvFatbin.h has the interface of NVIDIA's library for this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_pack_cuda(
    codec: *const c_char,
    concat: bool,
    images: *const Source,
    count: usize,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Bytes>> {
    produce(error, || {
        // SAFETY: a string or NULL, and records, as the header requires.
        let ((codec, level), images) = unsafe { (codec_named(codec)?, given(images, count, "images")?) };
        let mut builder = CudaFatbinBuilder::new();
        builder.compression = codec;
        builder.level = level;
        builder.concat = concat;
        for image in &images {
            let (name, options) = (image.name.unwrap_or_default(), image.options.unwrap_or_default());
            builder.image_for(image.input(), image.arch, name, options);
        }
        Ok(builder.build()?)
    })
}

/// Bundles files of a type, such as "o" or "bc", with target IDs as their names. `codec` is "zstd" or "zlib", with a level as
/// in "zstd-19", or NULL; `version` is the version of the compressed form, 2 or 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_bundle(
    file_type: *const c_char,
    codec: *const c_char,
    version: u16,
    entries: *const Source,
    count: usize,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Bytes>> {
    produce(error, || {
        // SAFETY: strings and records, as the header requires.
        let (file_type, (codec, level), entries) = unsafe {
            (pointers::text(file_type, "file_type")?, codec_named(codec)?, given(entries, count, "entries")?)
        };
        let mut builder = BundleBuilder::new(file_type);
        builder.compression = codec;
        builder.level = level;
        builder.version = version;
        for entry in &entries {
            builder.entry(entry.name()?, entry.input());
        }
        Ok(builder.build()?)
    })
}

/// Returns the file of a bundle with exactly this target ID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_unbundle(
    bundle: *const Source,
    id: *const c_char,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Bytes>> {
    produce(error, || {
        // SAFETY: a record and a string, as the header requires.
        let (bundle, id) = unsafe { (one(bundle, "bundle")?, pointers::text(id, "id")?) };
        let entries = unbundle(&bundle)?;
        let available = entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>().join(", ");
        let entry = entries.into_iter().find(|entry| entry.id == id);
        let entry =
            entry.ok_or_else(|| Failure::argument(format_args!("id: no entry {id} (available: {available})")))?;
        Ok(entry.bytes)
    })
}

/// Returns a host object with files as data. A file `name` has the symbols `name` and `name_end`. `host` is a triple, or NULL for the
/// machine of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_embed(
    host: *const c_char,
    files: *const Source,
    count: usize,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Bytes>> {
    produce(error, || {
        // SAFETY: a string or NULL, and records, as the header requires.
        let (host, files) = unsafe { (pointers::optional_text(host, "host")?, given(files, count, "files")?) };
        let host: Host = host.map_or_else(Host::native, str::parse).map_err(ProducerError::from)?;
        let files = files.iter().map(|file| Ok((file.name()?, file.input()))).collect::<Result<Vec<_>>>()?;
        Ok(embed_bytes(host, &files)?)
    })
}

/// Returns a file without the images that no runtime selects on these devices, such as "H100", "sm_90" or "gfx90a:xnack+". All other
/// bytes stay as they are, and the result is compared with the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_prune(
    file: *const Source,
    devices: *const *const c_char,
    count: usize,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Bytes>> {
    produce(error, || {
        // SAFETY: a record and strings, as the header requires.
        let (file, devices) = unsafe { (one(file, "file")?, texts(devices, count, "devices")?) };
        Ok(Editor::new().prune(file, &devices)?)
    })
}

/// Returns a file without the images for these processors, such as "gfx90a", or "compute_80" for PTX alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_drop_archs(
    file: *const Source,
    archs: *const *const c_char,
    count: usize,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Bytes>> {
    produce(error, || {
        // SAFETY: a record and strings, as the header requires.
        let (file, archs) = unsafe { (one(file, "file")?, texts(archs, count, "archs")?) };
        Ok(Editor::new().drop_archs(file, &archs)?)
    })
}

/// Returns a file with its containers in other forms: "plain", "ccob2", "ccob3", "v1", "v2", "v3", "none", "lz4", "zstd" or "zlib", at
/// most one for each type of container. "level-19" and "best" are no forms: data is compressed at this level, or with the strongest
/// levels.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_transcode(
    file: *const Source,
    forms: *const *const c_char,
    count: usize,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Bytes>> {
    produce(error, || {
        // SAFETY: a record and strings, as the header requires.
        let (file, names) = unsafe { (one(file, "file")?, texts(forms, count, "forms")?) };
        let (mut editor, mut forms) = (Editor::new(), Vec::new());
        for name in names {
            let level = name.strip_prefix("level-").and_then(|level| level.parse().ok());
            match ContainerForm::from_name(name) {
                Some(form) => forms.push(form),
                None if level.is_some() => editor.level = level,
                None if name == "best" => editor.best = true,
                None => return Err(Failure::argument(format_args!("forms: unknown form {name:?}"))),
            }
        }
        Ok(editor.transcode(file, &forms)?)
    })
}

/// Returns a file in which image number `indexes[i]`, counted as by fatbin_file_image, is replaced by `images[i]`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_replace(
    file: *const Source,
    indexes: *const usize,
    images: *const Source,
    count: usize,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Bytes>> {
    produce(error, || {
        // SAFETY: `count` numbers and records, as the header requires.
        let (indexes, file, images) = unsafe {
            (pointers::array(indexes, count, "indexes")?, one(file, "file")?, given(images, count, "images")?)
        };
        let images: Vec<_> = indexes.iter().copied().zip(images.iter().map(Given::input)).collect();
        Ok(Editor::new().replace(file, &images)?)
    })
}
