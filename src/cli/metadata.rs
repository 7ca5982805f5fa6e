//! `fatbin metadata`.

use anyhow::anyhow;
use clap::Args;

use super::Status;
use super::failure::{Result, bail, coded, ensure};
use super::format::{Format, FormatArguments, among};
use super::headings::{OUTPUT, SELECTION};
use super::inputs::warn_of_archives;
use super::problems::Problems;
use super::scan_arguments::ScanArguments;
use super::session::Session;
use super::value_enum::{BACKENDS, one_of};
use crate::codes::Code;
use crate::report::{self, FileCode};
use fatbin_core::scan::Options;
use fatbin_ops::analyze::metadata::{Backend, DeviceCode, cuda_floor, distribution};
use fatbin_ops::analyze::survey::{Survey, SurveyOptions};
use fatbin_ops::analyze::vendored;

/// Print the package metadata that device code determines
///
/// The inputs are the files of one package: its libraries, its directory, or the package. What the code does not
/// determine is left out. `package.metadata = true` in a policy of `fatbin check` compares metadata with the code.
///
/// Exit status: 0 if metadata was printed, 1 if there is no device code, 2 if a file cannot be read or was not opened,
/// or if the format cannot describe the code. In that case nothing is printed, because it would be incomplete.
#[derive(Args)]
#[command(mut_arg("format", |option| {
    let formats = among(&[Format::Json, Format::HfKernels, Format::Pep825, Format::Conda, Format::Deb, Format::Rpm]);
    option.required_unless_present("json").value_parser(formats).help("Format of the metadata")
}))]
pub struct Arguments {
    #[command(flatten)]
    format: FormatArguments,

    /// Describe the code for this backend only
    #[arg(long, value_parser = one_of(BACKENDS), help_heading = SELECTION)]
    backend: Option<Backend>,

    /// Oldest CUDA version of a driver that the package supports, such as 12.8: __cuda of conda, and
    /// cuda_version_lower_bound of wheel variants [default: the version from `fatbin requires` for the preferred images of all devices]
    #[arg(help_heading = OUTPUT, long, value_name = "VERSION", value_parser = parse_version)]
    cuda: Option<String>,

    /// Label of the wheel variant, instead of the hash of its properties
    #[arg(help_heading = OUTPUT, long, value_parser = parse_label)]
    label: Option<String>,

    /// Package that exists for all devices, and as NAME-gfx942 and others for each, one of which is needed; repeatable
    ///
    /// For --format deb and rpm.
    #[arg(help_heading = OUTPUT, long, value_name = "NAME", value_parser = parse_package)]
    device_package: Vec<String>,

    #[command(flatten)]
    scan: ScanArguments,
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let problems = arguments.scan.problems.problems(session);
    let format = arguments.format.format();
    let (files, floor, status) = code_of_files(&arguments, &problems)?;
    if status == Status::Trouble || status == Status::Unknown {
        return Ok(status);
    }
    if status == Status::No && format != Format::Json {
        problems.report(coded(Code::NoImages, format!("{}: no device code", session.inputs())));
        return Ok(status);
    }
    let mut package = DeviceCode::default();
    for file in &files {
        package.merge(file.code.clone());
    }
    if let Some(backend) = arguments.backend {
        if !package.has(backend) {
            problems.report(anyhow!(
                "{}: no device code for {backend}; available: {}",
                session.inputs(),
                names(&package)
            ));
            return Ok(Status::No);
        }
        package.keep(backend);
    }
    let cuda = arguments.cuda.as_deref().or(floor.as_deref());
    let text = metadata(&arguments, &package, &files, cuda)?;
    let has_driver = matches!(format, Format::Pep825 | Format::Conda) && package.has(Backend::Cuda);
    if has_driver && cuda.is_none() {
        problems.warn(anyhow!("the oldest driver is not known; specify --cuda"));
    }
    if format != Format::Json {
        for image in &package.undetermined {
            let path = &image.path;
            let number = image.number;
            let reason = image.reason;
            problems.warn(anyhow!("{path}: image {number} {reason}; it is left out"));
        }
    }
    session.print(&text)?;
    Ok(status)
}

/// Device code of each file that has any, the oldest CUDA version of a driver that loads all of it, and the exit
/// status.
type PackageCode = (Vec<FileCode>, Option<String>, Status);

/// Reads the device code of the inputs. Reports errors.
fn code_of_files(arguments: &Arguments, problems: &Problems) -> Result<PackageCode> {
    let mut analyzed = Vec::<Survey>::new();
    let mut status = Status::No;
    let scanner = arguments.scan.limits.scanner(problems.session(), Options::default());
    let wanted = SurveyOptions { toolkit: true, empty_images: true, ..SurveyOptions::default() };
    let analyze = |_, outcome| Survey::of_outcome(outcome, &|_| wanted, &mut |_| ());
    arguments.scan.inputs.scan_and(&scanner, problems, &analyze, &mut |(survey, error)| {
        if let Some(error) = error {
            problems.report(error);
        }
        let file = &survey.file;
        status = status.and(if file.is_incomplete() { Status::Trouble } else { Status::No });
        analyzed.push(survey);
    })?;
    for library in vendored::take(&mut analyzed, |survey| &survey.file) {
        problems.warn(anyhow!("{}: left out, as a library of others", library.name));
    }
    let mut files = Vec::new();
    for file in analyzed.iter().map(|survey| &survey.file) {
        let code = DeviceCode::of_file(file);
        if !code.is_empty() {
            status = status.and(Status::Yes);
            files.push(FileCode { path: file.path.to_string(), code });
        }
    }
    warn_of_archives(analyzed.iter().map(|it| &it.file), problems);
    Ok((files, cuda_floor(&analyzed), status))
}

fn metadata(arguments: &Arguments, package: &DeviceCode, files: &[FileCode], cuda: Option<&str>) -> Result<String> {
    match arguments.format.format() {
        Format::HfKernels => match package.backends()[..] {
            [backend] => Ok(report::hugging_face_json(package, backend)),
            [] => bail!("no image states its target"),
            _ => bail!("device code for {}: metadata.json describes one of them; specify --backend", names(package)),
        },
        Format::Pep825 => {
            let is_described = package.has(Backend::Cuda) || !package.amd.is_empty();
            ensure!(is_described, "wheel variants have no properties for {}", names(package));
            Ok(report::wheel_variant_json(package, cuda, arguments.label.as_deref()))
        }
        Format::Conda => {
            let is_described = package.has(Backend::Cuda);
            ensure!(
                is_described,
                "conda has virtual packages for NVIDIA devices only; found code for {}",
                names(package)
            );
            Ok(report::conda_json(package, cuda))
        }
        format @ (Format::Deb | Format::Rpm) => {
            ensure!(distribution::describes(package), "no package has names for {} devices", names(package));
            let write = if format == Format::Deb { distribution::debian } else { distribution::rpm };
            Ok(write(package, &arguments.device_package))
        }
        _ => Ok(report::metadata_json(package, files, cuda)),
    }
}

/// Names of the backends that the code is for.
fn names(code: &DeviceCode) -> String {
    match code.backends()[..] {
        [] => "unknown devices".to_owned(),
        ref backends => backends.iter().map(|backend| backend.name()).collect::<Vec<_>>().join(" and "),
    }
}

fn parse_version(text: &str) -> Result<String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = text.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor));
    ensure!(is_version, "invalid CUDA version, expected one such as 12.8");
    Ok(text.to_owned())
}

/// Accepts the names that Debian and RPM accept.
fn parse_package(text: &str) -> Result<String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
    let is_name = text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_allowed);
    ensure!(is_name, "invalid name of a package, expected [A-Za-z0-9][A-Za-z0-9+-._]*");
    Ok(text.to_owned())
}

/// Accepts the labels of PEP 825. The label `null` belongs to the wheel without properties.
fn parse_label(text: &str) -> Result<String> {
    let is_allowed = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase() || b"._".contains(&byte);
    ensure!(!text.is_empty() && text != "null" && text.bytes().all(is_allowed), "invalid label, expected [0-9a-z._]+");
    Ok(text.to_owned())
}
