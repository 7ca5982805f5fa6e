//! `wrap`: from files with device images to a file with a host object that registers them.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::embed::llvm::{NEWEST, Release};
use crate::embed::wrap::{
    EmbeddedForm, LargeImages, OffloadEntry, SourceImage, TargetOverride, WrapError, WrapperBuilder, WrapperFormat,
    embedded, matching,
};
use fatbin_core::base::error::{Error, Result};
use fatbin_core::base::io::{Access, FileSet, Input, Output, OutputKind, OutputPath, Sink};
use fatbin_core::host::Host;
use fatbin_core::target::OffloadKind;

impl WrapperBuilder<'_> {
    /// Writes the output to a file. An existing file is replaced when the new one is complete. `inputs` are files that
    /// must neither be the output nor change before it is complete, such as the images.
    pub fn write_file<'i>(
        &self,
        path: &Path,
        inputs: impl IntoIterator<Item = &'i Input, IntoIter: Clone>,
    ) -> Result<(), WrapError> {
        let inputs = inputs.into_iter();
        let mut output = Output::update(FileSet::of_inputs(inputs.clone()).output(path, OutputKind::Code)?)?;
        self.write_to(&mut output).map_err(|error| match error {
            WrapError::Write(cause) => Error::io(path, "write")(cause).into(),
            error => error,
        })?;
        Ok(output.commit(inputs)?)
    }
}

/// Input files, output file and properties of an object to write.
#[derive(Debug, Clone)]
pub struct WrapOptions {
    /// Runtime that the images are registered with.
    pub kind: OffloadKind,
    /// Access to all inputs.
    pub access: Access,
    /// Images, in the order that the runtime sees.
    pub images: Vec<ImageFile>,
    /// Triple of the host; default: the triple of `matching`, or the machine that this program was built for.
    pub host: Option<String>,
    /// True if IR may be for any host that LLVM knows. IR depends on the host only by the triple.
    pub any_host: bool,
    /// Release of LLVM whose runtime registers the images; default: the release of `matching`, or the newest.
    pub release: Option<Release>,
    /// Host object that the result will be linked with.
    pub matching: Option<PathBuf>,
    /// Form of the images, see [`WrapperBuilder::form`].
    pub form: EmbeddedForm,
    /// Placement of the images.
    pub large: LargeImages,
    /// Entries for host programs that no offload compiler has compiled.
    pub entries: Vec<OffloadEntry>,
    /// See `WrapperBuilder::keep_entries`.
    pub keep_entries: bool,
    /// True if the object becomes part of another object and its device code must not be linked again.
    pub relocatable: bool,
    /// File to write.
    pub output: PathBuf,
    /// Format of the output; by default, its name determines the format.
    pub format: WrapperFormat,
}

/// A file with an image, and the properties that the user specified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Properties that the user specified.
    pub target: TargetOverride,
}

/// Properties of a written object, with the defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrapSummary {
    /// Name of the release.
    pub abi: &'static str,
    /// Triple of the host.
    pub host: String,
    /// True if the images are among the large sections.
    pub large: bool,
}

impl WrapOptions {
    /// Returns options with every default.
    pub fn new(kind: OffloadKind, images: Vec<ImageFile>, output: PathBuf) -> Self {
        WrapOptions {
            kind,
            access: Access::read(),
            images,
            host: None,
            any_host: false,
            release: None,
            matching: None,
            form: EmbeddedForm::OffloadBinary,
            large: LargeImages::Auto,
            entries: Vec::new(),
            keep_entries: false,
            relocatable: false,
            format: WrapperFormat::of_path(&output),
            output,
        }
    }
}

/// Writes the object or the IR. The kernel copies the images from file to file; this reads only their headers.
pub fn wrap(options: &WrapOptions) -> Result<WrapSummary, WrapError> {
    wrap_into(inputs(options).output(&options.output, OutputKind::Code)?, options)
}

/// Like [`wrap`], for a tool that truncates an existing output.
pub fn wrap_updating(options: &WrapOptions) -> Result<WrapSummary, WrapError> {
    wrap_into(inputs(options).updating(true).output(&options.output, OutputKind::Code)?, options)
}

fn inputs(options: &WrapOptions) -> FileSet {
    let images = options.images.iter().map(|image| image.path.as_path());
    FileSet::of_paths(images.chain(options.matching.as_deref()))
}

/// Like [`wrap`], into an output that is none of the inputs.
pub fn wrap_into(output: OutputPath, options: &WrapOptions) -> Result<WrapSummary, WrapError> {
    let inputs: Vec<Input> =
        options.images.iter().map(|image| Input::open(&image.path, options.access)).collect::<Result<_>>()?;
    let matching = options.matching.as_ref().map(|path| Input::open(path, options.access)).transpose()?;
    let matched = match &matching {
        Some(input) => Some(matching::read(input.view(), input.path(), options.kind)?),
        None => None,
    };
    let matched_host = matched.as_ref().map(|matched| matched.host);
    let host = match options.host.as_deref().or(matched_host) {
        Some(host) => host,
        None => Host::native()?.triple(),
    };
    if let (Some(found), Some(path)) = (matched_host, &options.matching)
        && !found.parse::<Host>()?.links_with(host.parse()?)
    {
        return Err(WrapError::HostMismatch { path: path.clone(), specified: host.to_owned(), found });
    }

    let mut wrapper = match options.format {
        WrapperFormat::Bitcode | WrapperFormat::Text if options.any_host => {
            WrapperBuilder::for_any_host(options.kind, host)?
        }
        _ => WrapperBuilder::for_triple(options.kind, host)?,
    };
    wrapper.release = options.release.or(matched.as_ref().map(|matched| matched.release)).unwrap_or(NEWEST);
    if let (Some(matched), Some(path)) = (&matched, &options.matching)
        && !matched.release.wrapper.shares_entries(&wrapper.release.wrapper, options.kind)
    {
        let (abi, needed) = (wrapper.release.name, matched.release.name);
        return Err(WrapError::OtherEntries { path: path.clone(), abi, needed });
    }
    for (input, image) in inputs.iter().zip(&options.images) {
        let path = input.path();
        let view = input.view();
        let target = image.target.clone();
        wrapper.images.push(SourceImage { path, view, target });
    }
    if options.form == EmbeddedForm::OffloadBinary {
        wrapper.images.iter().try_for_each(embedded::check_content)?;
    }
    if options.relocatable {
        wrapper = wrapper.for_relocatable_link();
    }
    wrapper.form = options.form;
    wrapper.large = options.large;
    wrapper.format = options.format;
    wrapper.entries = options.entries.clone();
    wrapper.keep_entries = options.keep_entries;
    wrapper.keep = matched.map(|matched| matched.entry_symbols).unwrap_or_default();

    let mut output = Output::update(output)?;
    let large = write(&wrapper, &inputs, &mut output).map_err(|error| match error {
        WrapError::Write(source) => Error::io(&options.output, "write")(source).into(),
        error => error,
    })?;
    output.commit(inputs.iter().chain(&matching))?;
    Ok(WrapSummary { abi: wrapper.release.name, host: host.to_owned(), large })
}

/// Writes the output, and returns whether the images are among the large sections.
fn write(wrapper: &WrapperBuilder, inputs: &[Input], output: &mut Output) -> Result<bool, WrapError> {
    if wrapper.format == WrapperFormat::Text {
        wrapper.write_to(&mut BufWriter::new(output))?;
        return Ok(false);
    }
    let mut sink = Sink::new(inputs);
    let large = wrapper.emit(&mut sink)?;
    sink.write_to(output)?;
    Ok(large)
}
