//! `fatbin transcode`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use clap::Args;

use super::Status;
use super::editing::EditArguments;
use super::failure::{Context, Result, coded};
use super::forms::FormArguments;
use super::headings::JUDGEMENT;
use super::session::Session;
use crate::codes::Code;
use crate::report;
use fatbin_core::base::spelling::enumerated;
use fatbin_core::format::readers::Reader;
use fatbin_ops::edit::transcode::{available, check_readers, first_readers, requested};

/// Store device images in another form, such as compressed
///
/// The images stay the same, and each is compared with the input before the output gets its name. In executables and
/// libraries the containers stay at their offsets, and space that is left becomes zeros; objects become smaller. A
/// container that gets larger than its place is an error. Containers stay as they are if nothing is requested for their
/// type.
///
/// Prints the releases of ROCm, LLVM and CUDA that are needed to read the result.
///
/// Exit status: 0 if the output was written, 1 if the input has no such container, 2 for trouble.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    forms: FormArguments,

    /// Refuse a result that this release cannot read, such as rocm-6.2, llvm-19 or cuda-12.2; may be repeated
    #[arg(long, value_name = "RELEASE", value_parser = parse_reader, help_heading = JUDGEMENT)]
    readable_by: Vec<Reader>,

    #[command(flatten)]
    edit: EditArguments,
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    if arguments.forms.is_empty() {
        return Err(coded(
            Code::MissingArgument,
            "transcode: no form given; specify --to plain, ccob2, ccob3, v1, v2, v3, none, lz4, zstd or zlib",
        ));
    }
    let transcoding = arguments.forms.transcoding("transcode")?;
    let mut editing = arguments.edit.start(session, &[])?;
    let mut count = 0;
    let mut forms = Forms::new();
    let mut text = String::new();
    let mut readable = Ok(());
    let applied = editing.apply(&transcoding, &mut |edited| {
        let file = edited.scan.file();
        let new_file = edited.new_file;
        let changed = requested(file, &transcoding);
        count += changed;
        for (container, names) in available(file) {
            forms.entry(container).or_default().extend(names);
        }
        // An archive may have files that --to is not about.
        if changed > 0 {
            text += &report::transcoded(file, new_file, changed, &first_readers(new_file), &session.screen());
        }
        let checked = check_readers(new_file, &arguments.readable_by);
        if let (Ok(()), Err(error)) = (&readable, checked) {
            readable = Err(error.in_file(file.path.printed()));
        }
    })?;
    let Some(applied) = applied else { return Ok(Status::No) };
    if count == 0 {
        let input = arguments.edit.input().display();
        let described = described(&forms);
        editing.problems.report(anyhow!("{input}: {described}; no output was written"));
        return Ok(Status::No);
    }
    readable?;
    editing.finish("transcode", &applied, &text)?;
    Ok(Status::Yes)
}

/// Names of the forms that the containers of each type take.
type Forms = BTreeMap<&'static str, BTreeSet<&'static str>>;

/// Describes containers that take none of the requested forms.
fn described(forms: &Forms) -> String {
    let described = forms.iter().map(|(container, names)| {
        let names: Vec<&str> = names.iter().copied().collect();
        match names.as_slice() {
            [] => format!("the code is {container}, which has no other form"),
            names => format!("the code is in {container}, which takes --to {}", enumerated(names)),
        }
    });
    described.collect::<Vec<_>>().join("; ")
}

fn parse_reader(text: &str) -> Result<Reader> {
    Reader::parse(text).context("expected a release, for example rocm-6.2, llvm-19 or cuda-12.2")
}
