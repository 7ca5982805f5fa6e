//! The options that filter images, shared by all commands that can work on some of a file's images.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::devices::ALL;
use super::failure::{Context, Result, bail, coded, ensure, parser};
use super::headings::SELECTION;
use super::known_names::{self, unknown_name};
use super::value_enum::offload_kind;
use crate::codes::Code;
use fatbin_core::format::ContainerType;
use fatbin_core::scan::filter::{ImageFilter, KernelPattern, Predicate};
use fatbin_core::target::{OffloadKind, gpu_names};

/// Filters for images. Values of one option are alternatives; an image must match every option that is given.
#[derive(Debug, Args)]
pub struct FilterArguments {
    /// Only images of this offload kind
    #[arg(help_heading = SELECTION, long, value_name = "KIND", value_parser = offload_kind(), ignore_case = true)]
    kind: Vec<OffloadKind>,

    /// Only images with this triple
    #[arg(help_heading = SELECTION, long, value_name = "TRIPLE", value_parser = NonEmptyStringValueParser::new())]
    triple: Vec<String>,

    /// Only images for this processor with these features, such as gfx90a:xnack+ or sm_90a
    #[arg(help_heading = SELECTION, long, value_name = "ARCH", value_parser = known_names::arch(), hide_possible_values = true)]
    arch: Vec<String>,

    /// Only images that run on this device, such as H100, sm_90 or gfx90a:xnack+
    ///
    /// Such images are for the same or a generic processor with no conflicting feature, or are PTX for an earlier one.
    #[arg(help_heading = SELECTION, long = "device", alias = "compatible-with", value_name = "DEVICE", value_delimiter = ',',
          value_parser = known_names::device(device), hide_possible_values = true)]
    runs_on: Vec<String>,

    /// Only the image of this number, as reports and the names of extracted files have it
    #[arg(help_heading = SELECTION, long = "image", value_name = "NUMBER")]
    number: Vec<usize>,

    /// Only images whose container records KEY=VALUE
    #[arg(help_heading = SELECTION, long, value_name = "KEY=VALUE", value_parser = parse_key)]
    key: Vec<(String, String)>,

    /// Only images in a container of this type, at any depth
    #[arg(help_heading = SELECTION, long, value_name = "TYPE", value_parser = parse_container, long_help = containers_help())]
    container: Vec<ContainerType>,

    /// Only images with a kernel whose name matches REGEX
    ///
    /// The expression is matched against the mangled and the demangled name, and may match any part of it.
    #[arg(help_heading = SELECTION, long, value_name = "REGEX", value_parser = parser(kernel_pattern))]
    kernel: Vec<KernelPattern>,
}

/// Value of `--kind`.
impl FilterArguments {
    /// Returns the filter that the options describe.
    pub fn filter(&self) -> ImageFilter {
        let kinds = self.kind.iter().map(|kind| Predicate::Kind(*kind));
        let triples = self.triple.iter().cloned().map(Predicate::Triple);
        let archs = self.arch.iter().cloned().map(Predicate::Arch);
        let running = self.runs_on.iter().cloned().map(Predicate::CompatibleWith);
        let numbers = self.number.iter().copied().map(Predicate::Number);
        let keys = self.key.iter().cloned().map(|(key, value)| Predicate::Key(key, value));
        let containers = self.container.iter().copied().map(Predicate::Container);
        let kernels = self.kernel.iter().cloned().map(Predicate::Kernel);
        let of_container = running.chain(numbers).chain(keys).chain(containers);
        kinds.chain(triples).chain(archs).chain(of_container).chain(kernels).collect()
    }
}

/// Returns the device of a GPU, or the name as it is: devices and archs are accepted.
fn device(name: &str) -> Result<String> {
    ensure!(!name.is_empty(), "expected a device");
    ensure!(!name.eq_ignore_ascii_case(ALL), "expected a device; omit the option for all images");
    Ok(gpu_names::named(name).map_or(name, |(_, device)| device).to_owned())
}

fn kernel_pattern(text: &str) -> Result<KernelPattern> {
    KernelPattern::parse(text)
        .map_err(|error| coded(Code::InvalidPattern, format!("invalid regular expression: {error}")))
}

fn container_names() -> String {
    ContainerType::ALL.map(ContainerType::name).join(", ")
}

fn containers_help() -> String {
    format!("Only images in a container of this type, at any depth: {}", container_names())
}

fn parse_container(name: &str) -> Result<ContainerType> {
    ContainerType::named(name).ok_or_else(|| unknown_name("type", name, &ContainerType::ALL.map(ContainerType::name)))
}

fn parse_key(text: &str) -> Result<(String, String)> {
    let (key, value) = text.split_once('=').with_context(|| format!("{text:?} is not KEY=VALUE"))?;
    if key.is_empty() {
        bail!("{text:?}: missing key");
    }
    Ok((key.to_owned(), value.to_owned()))
}
