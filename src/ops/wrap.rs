//! `wrap`: device images into a host object that registers them.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::host;
use crate::io::{Input, Output, Sink};
use crate::target::OffloadKind;
use crate::wrap::abi::{self, Generation};
use crate::wrap::{self, EmbeddedImage, Embedding, Entry, Form, Request, Stated, matching};

/// What to wrap, and how.
#[derive(Debug, Clone)]
pub struct WrapOptions {
    pub kind: OffloadKind,
    /// In the order in which the runtime will see them.
    pub images: Vec<ImageFile>,
    /// The triple of the machine that the object is for; else that of `matching`, else what this program was built for.
    pub host: Option<String>,
    /// The ABI generation; else that of `matching`, else the newest release.
    pub abi: Option<Generation>,
    /// A host object that the result will be linked with.
    pub matching: Option<PathBuf>,
    /// What is put around OpenMP's and SYCL's images; for CUDA and HIP, anything but an offload binary means that the one
    /// input is a fat binary whatever it looks like. Generations that know no offload binaries embed images as they are.
    pub form: Form,
    pub large: LargeImages,
    /// Entries for host programs that no compiler has given any.
    pub entries: Vec<Entry>,
    pub output: PathBuf,
}

/// A file with an image, and what the user said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFile {
    pub path: PathBuf,
    pub stated: Stated,
}

/// Whether images are put where large sections stand, out of the way of code and data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LargeImages {
    /// If together they have at least `LARGE` bytes.
    Auto,
    Always,
    Never,
}

/// Code reaches 2 GiB in either direction; this leaves as much to the rest of the program.
const LARGE: u64 = 1 << 30;

/// What was chosen where the user left it open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub abi: &'static str,
    /// The triple of the host.
    pub host: String,
    pub large: bool,
}

impl WrapOptions {
    /// What is done where nothing else is said.
    pub fn new(kind: OffloadKind, images: Vec<ImageFile>, output: PathBuf) -> Self {
        WrapOptions {
            kind,
            images,
            host: None,
            abi: None,
            matching: None,
            form: Form::OffloadBinary,
            large: LargeImages::Auto,
            entries: Vec::new(),
            output,
        }
    }
}

/// Writes the object. The images are moved from file to file; none of their bytes is read but for the headers.
pub fn wrap(options: &WrapOptions) -> Result<Chosen> {
    let inputs: Vec<Input> = options.images.iter().map(|image| Input::open(&image.path)).collect::<Result<_>>()?;
    let matched = match &options.matching {
        Some(path) => Some(matching::read(&Input::open(path)?, options.kind)?),
        None => None,
    };
    for input in inputs.iter().map(Input::path).chain(options.matching.as_deref()) {
        refuse_same_file(input, &options.output)?;
    }
    let generation = options.abi.or(matched.as_ref().map(|matched| matched.generation)).unwrap_or(abi::NEWEST);
    let matched_host = matched.as_ref().map(|matched| matched.host);
    let host = options.host.as_deref().or(matched_host).unwrap_or(host::native_triple());
    let architecture = host::for_triple(host)?;
    if let (Some(found), Some(path)) = (matched_host, &options.matching)
        && host::for_triple(found)?.machine != architecture.machine
    {
        return Err(Error::HostMismatch { path: path.clone(), stated: host.to_owned(), found });
    }
    let images = embed(options, &inputs, &generation, host)?;
    let size: u64 = images.iter().map(|image| image.content.size()).sum();
    let large = match options.large {
        LargeImages::Auto => size >= LARGE,
        LargeImages::Always => true,
        LargeImages::Never => false,
    };
    let entries = options.entries.clone();
    if let Some(name) = repeated(&entries) {
        return Err(Error::DuplicateEntry { name });
    }
    let keep = matched.map(|matched| matched.entry_symbols).unwrap_or_default();
    let request = Request { kind: options.kind, generation, images, entries, keep, large };
    let plan = wrap::plan(request).ok_or_else(|| kind_unknown(options.kind, &generation))?;

    let mut sink = Sink::new(&inputs);
    host::emit(&plan, architecture, &mut sink)
        .map_err(|cause| Error::Emission { path: options.output.clone(), cause })?;
    let mut output = Output::create(&options.output)?;
    sink.write_to(&mut output)?;
    output.commit()?;
    Ok(Chosen { abi: generation.name, host: host.to_owned(), large })
}

fn embed<'data>(
    options: &WrapOptions,
    inputs: &'data [Input],
    generation: &Generation,
    host: &str,
) -> Result<Vec<EmbeddedImage<'data>>> {
    let stated = options.images.iter().map(|image| &image.stated);
    let inputs: Vec<(&Input, &Stated)> = inputs.iter().zip(stated).collect();
    if matches!(options.kind, OffloadKind::Cuda | OffloadKind::Hip) {
        let raw = options.form != Form::OffloadBinary;
        return Ok(vec![wrap::fat_binary(&inputs, options.kind, raw, host)?]);
    }
    let form = match (options.form, generation.images) {
        (Form::OffloadBinary, abi::ImageSection::Rodata) => Form::Raw,
        (form, _) => form,
    };
    let mut images = Vec::new();
    for (input, stated) in inputs {
        images.extend(wrap::embed(input, stated, Embedding { kind: options.kind, form })?);
    }
    Ok(images)
}

/// The first name that two entries have.
fn repeated(entries: &[Entry]) -> Option<String> {
    let twice = |&(index, entry): &(usize, &Entry)| entries[..index].iter().any(|other| other.name == entry.name);
    entries.iter().enumerate().find(twice).map(|(_, entry)| entry.name.clone())
}

fn kind_unknown(kind: OffloadKind, generation: &Generation) -> Error {
    let known = Generation::that_know(kind).join(", ");
    Error::KindUnknownToAbi { abi: generation.name, kind: kind.name(), known }
}

/// The output would replace the input; that is never what was meant.
fn refuse_same_file(input: &Path, output: &Path) -> Result<()> {
    match same_file::is_same_file(input, output) {
        Ok(true) => Err(Error::SameFile { path: output.to_owned() }),
        // An output that does not exist yet is the ordinary case; anything else wrong with it is found on writing.
        Ok(false) | Err(_) => Ok(()),
    }
}
