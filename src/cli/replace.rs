//! `fatbin replace`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Status;
use super::editing::EditArguments;
use super::failure::{Context, Result, coded, ensure};
use super::forms::FormArguments;
use super::headings::SELECTION;
use super::known_names::unknown_name;
use super::session::Session;
use crate::codes::Code;
use crate::report;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::io::{Input, Output};
use fatbin_core::format::ImageKind;
use fatbin_core::format::ccob::Version as CcobVersion;
use fatbin_core::scan::filter::{ImageFilter, Predicate};
use fatbin_core::target::OffloadKind;
use fatbin_core::target::device::names_processor;
use fatbin_ops::edit::replace::{ImageSelector, NewImage, Replace};
use fatbin_ops::edit::transcode::{BundleForm, Transcoding};
use fatbin_ops::edit::{EditError, Effort, apply};

/// Replace device images in finished files
///
/// The new image gets the codec of the old one. In an executable or shared library the container stays in its place and
/// must not become larger, while sections of objects get the sizes of their containers. Images that change are
/// compressed more strongly until they fit. The result is scanned again and compared with the input before the output
/// gets its name.
///
/// Exit status: 0 if the output was written, 1 if the input has no device images, 2 for trouble.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Replace the image that SELECTOR selects by FILE; may be repeated
    ///
    /// SELECTOR is the number of the image, counted from 0 as for `extract --image`, or conditions that exactly one image meets,
    /// such as arch:gfx90a or arch:sm_90,image:ptx. The conditions are kind, triple, arch, id and image (elf, ptx,
    /// bitcode, ...).
    #[arg(long = "image", value_name = "SELECTOR=FILE", required = true, value_parser = parse_replacement,
          help_heading = SELECTION)]
    images: Vec<(ImageSelector, PathBuf)>,

    /// Accept images for a target other than the target of the replaced images
    #[arg(long, help_heading = SELECTION)]
    allow_other_target: bool,

    #[command(flatten)]
    forms: FormArguments,

    #[command(flatten)]
    edit: EditArguments,
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let replace = arguments.replacements(session)?;
    let images: Vec<&Path> = arguments.images.iter().map(|(_, path)| path.as_path()).collect();
    let mut editing = arguments.edit.start(session, &images)?;
    let mut text = String::new();
    let result = editing.apply(&replace, &mut |edited| {
        text += &report::replaced(edited.scan.file(), edited.new_file, &edited.edited.fates, &session.screen());
    });
    let applied = match result {
        Err(EditError::InFile { cause, path }) => match *cause {
            EditError::NoRoom { offset, needed, .. } => {
                let remedies = remedies(&arguments, session, replace, (offset, needed));
                return Err(coded(Code::NoRoom, format!("{}: {cause}{remedies}", path.display())));
            }
            cause => return Err(cause.in_file(&path).into()),
        },
        result => result?,
    };
    let Some(applied) = applied else { return Ok(Status::No) };
    replace.check_found()?;
    editing.finish("replace", &applied, &text)?;
    Ok(Status::Yes)
}

impl Arguments {
    /// Reads the new images.
    fn replacements(&self, session: &Session) -> Result<Replace> {
        let mut images = Vec::new();
        for (place, path) in &self.images {
            let input = Input::open(path, session.access())?;
            images.push(NewImage::read(place.clone(), &input)?);
        }
        let transcoding = self.forms.transcoding("replace")?;
        Ok(Replace { images, allow_other_target: self.allow_other_target, transcoding })
    }
}

/// Forms that may make a container smaller, with their names on the command line.
fn smaller_forms() -> [(&'static str, Transcoding); 3] {
    let none = Transcoding { bundle: None, offload_binary: None, codec: None, effort: Effort::Best };
    [
        ("lz4", Transcoding { codec: Some(Codec::Lz4), ..none }),
        ("zstd", Transcoding { codec: Some(Codec::Zstd), ..none }),
        ("ccob2", Transcoding { bundle: Some(BundleForm::Compressed(CcobVersion::Two)), ..none }),
    ]
}

/// Tries other forms of the container at an offset where there is not enough room. Returns the forms that fit, or else
/// the forms that are smaller.
fn remedies(arguments: &Arguments, session: &Session, mut replace: Replace, (offset, too_large): (u64, u64)) -> String {
    let mut fitting = Vec::new();
    let mut others = Vec::new();
    for (name, transcoding) in smaller_forms() {
        replace.transcoding = transcoding;
        let _ = replace.check_found();
        let input = arguments.edit.input();
        let Ok((input, mut trial)) =
            Input::open(input, session.access()).and_then(|it| Ok((it, Output::trial(input)?)))
        else {
            continue;
        };
        let mut size = None;
        let result = apply(input, &replace, arguments.edit.options(session), &mut trial, &mut |edited| {
            let container = edited.edited.containers.iter().find(|container| container.span.start == offset);
            size = container.map(|container| container.new_size);
        });
        match (result, size) {
            (Ok(_), Some(size)) => fitting.push(format!("--to {name} --best fits with {size} bytes")),
            (Err(EditError::InFile { cause, .. }), _) => {
                if let EditError::NoRoom { needed, .. } = *cause
                    && needed < too_large
                {
                    others.push(format!("--to {name} --best makes {needed} bytes"));
                }
            }
            _ => {}
        }
    }
    let remedies = if fitting.is_empty() { others } else { fitting };
    remedies.iter().map(|remedy| format!("; {remedy}")).collect()
}

/// Parses `SELECTOR=FILE`. A selector contains no `=`; a path may.
fn parse_replacement(text: &str) -> Result<(ImageSelector, PathBuf)> {
    let (selector, file) = text.split_once('=').with_context(|| format!("{text:?} is not SELECTOR=FILE"))?;
    ensure!(!file.is_empty(), "{text:?}: missing file");
    let file = Path::new(file).to_owned();
    if let Ok(index) = selector.parse() {
        return Ok((ImageSelector::Index(index), file));
    }
    let filter = selector.split(',').map(parse_predicate).collect::<Result<ImageFilter>>()?;
    Ok((ImageSelector::Filter(filter), file))
}

/// Returns a text itself, if it is the name of a processor.
fn example_arch(text: &str) -> &str {
    if names_processor(text) { text } else { "gfx90a" }
}

fn parse_predicate(text: &str) -> Result<Predicate> {
    let (key, value) = text
        .split_once(':')
        .with_context(|| format!("{text:?}: expected a number or KEY:VALUE, such as arch:{}", example_arch(text)))?;
    Ok(match key {
        "kind" => Predicate::Kind(
            OffloadKind::from_name(value)
                .ok_or_else(|| unknown_name(&format!("kind {value:?}"), value, &OffloadKind::names()))?,
        ),
        "triple" => Predicate::Triple(value.to_owned()),
        "arch" => Predicate::Arch(value.to_owned()),
        "id" => Predicate::Id(value.to_owned()),
        "image" => {
            let kind = ImageKind::ALL.into_iter().find(|kind| kind.name() == value);
            let unknown =
                || unknown_name(&format!("image format {value:?}"), value, &ImageKind::ALL.map(ImageKind::name));
            Predicate::Image(kind.ok_or_else(unknown)?)
        }
        _ => return Err(unknown_name(&format!("key {key:?}"), key, &["kind", "triple", "arch", "id", "image"])),
    })
}
