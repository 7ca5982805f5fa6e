//! Filters of images: `--arch`, `--kind`, `--kernel` and similar options.
//!
//! Predicates of one kind are alternatives (two archs: either). Predicates of different kinds must all hold. Every
//! predicate must also match some image: if a release requests two archs and silently gets one, no test notices.

mod apply;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use regex::bytes::Regex;

use crate::base::code::{Code, Coded, ErrorClass};
use crate::base::error::Error;
use crate::base::pattern;
use crate::base::spelling::Suggestions;
use crate::format::{ContainerType, ImageKind};
use crate::image::Kernel;
use crate::scan::inventory::Image;
use crate::target::device::{names_processor, processor_names};
use crate::target::nvcc_names::NvidiaCode;
use crate::target::{OffloadKind, compatibility, intel, nvptx, subarch, target_id, triple};

pub use crate::base::pattern::PatternError;
pub use apply::{FilterResult, FilterRun, FoundImage, apply};

/// Reason why a filter cannot be applied to an image, or accepts none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A file or an image could not be read.
    #[error(transparent)]
    Input(#[from] Error),
    /// No image meets a predicate.
    #[error("no image matches {predicates}; available: {available}{suggestions}")]
    NoMatch {
        /// The predicates that no image meets.
        predicates: String,
        /// Kind, triple and arch of the available images.
        available: String,
        /// Triples and archs of these images, and processor names, if they are similar to the values of the filter.
        #[doc(hidden)]
        suggestions: Suggestions,
    },
    /// The kernels of an image are not known.
    #[error("{}: image {number}: not inspected for kernels: {why}", path.display())]
    KernelsUnknown {
        /// The file.
        path: PathBuf,
        /// Index of the image in the file.
        number: usize,
        /// The reason.
        why: &'static str,
    },
    /// A pattern for kernels is invalid.
    #[error(transparent)]
    #[doc(hidden)]
    Pattern(PatternError),
}

#[doc(hidden)]
impl Coded for FilterError {
    fn class(&self) -> ErrorClass {
        match self {
            FilterError::Input(error) => error.class(),
            FilterError::NoMatch { .. } => Code::NoMatch.into(),
            FilterError::KernelsUnknown { .. } => Code::KernelsUnknown.into(),
            FilterError::Pattern(error) => error.class(),
        }
    }
}

/// A condition on an image.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Predicate {
    /// The offload kind.
    Kind(OffloadKind),
    /// The target triple.
    Triple(String),
    /// The processor with exactly these features, in any order; `compute_80` is PTX, and `lto_80` is LTO-IR.
    Arch(String),
    /// Code that runs on a device of this arch.
    CompatibleWith(String),
    /// A key of the container with this value.
    Key(String, String),
    /// A container of this type around the image, at any depth.
    Container(ContainerType),
    /// The bundle entry ID.
    Id(String),
    /// The format of the image.
    Image(ImageKind),
    /// A kernel in the image.
    Kernel(KernelPattern),
    /// The index among the device images of its file.
    Number(usize),
}

/// Name of a kernel, or a regular expression for it.
#[derive(Debug, Clone)]
pub struct KernelPattern {
    text: String,
    pattern: Regex,
}

impl KernelPattern {
    /// Parses a regular expression in the syntax of the `regex` crate, without Unicode. It may match anywhere in a
    /// name.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        Ok(KernelPattern { text: text.to_owned(), pattern: pattern::regex(text)? })
    }

    /// True if the mangled or the demangled name of the kernel equals the text or matches the pattern.
    pub fn matches(&self, kernel: &Kernel) -> bool {
        let names = [Some(&kernel.name), kernel.demangled.as_ref()];
        names.into_iter().flatten().any(|name| *name == self.text || self.pattern.is_match(name.as_bytes()))
    }
}

impl PartialEq for KernelPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for KernelPattern {}

/// An image, with everything that predicates examine.
#[derive(Debug)]
pub struct FilterCandidate<'a> {
    /// Entry of the image in the inventory.
    pub image: &'a Image,
    /// Index among the device images of the file.
    pub number: usize,
    /// Types of the containers around it.
    pub containers: Vec<ContainerType>,
    /// Patterns of the filter that match kernels of the image; `None` before the image is inspected.
    pub kernels: Option<Vec<&'a KernelPattern>>,
}

/// True if a triple matches the triple of a filter. A filter with a subarchitecture accepts both spellings of the
/// target. A filter without one accepts all code for AMD's GPUs.
fn same_triple(own: &str, arch: Option<&str>, filter: &str) -> bool {
    let with_processor = match arch {
        Some(arch) if subarch::is_amdgpu(own) => subarch::triple_of_processor(own, arch),
        _ => None,
    };
    own == filter || triple::are_compatible(with_processor.as_deref().unwrap_or(own), filter)
}

fn serves(image: &str, is_ptx: bool, requested: &str) -> bool {
    match (nvptx::Arch::parse(image), NvidiaCode::parse(requested)) {
        (Some(image), Some(device)) => image.runs_on(device.arch, is_ptx),
        _ if intel::is_name(requested) => intel::serves(image, requested),
        _ => compatibility::serves(image, requested).is_ok(),
    }
}

/// A filter of images. The empty filter accepts every image. Values of one kind are alternatives (two archs: either);
/// values of different kinds must all hold. Every value must match some image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageFilter(pub(crate) Vec<Predicate>);

impl fmt::Display for ImageFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let predicates: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&predicates.join(" and "))
    }
}

impl Predicate {
    fn is_met_by(&self, candidate: &FilterCandidate<'_>) -> bool {
        let image = candidate.image;
        match self {
            Predicate::Kind(kind) => image.kind == Some(*kind),
            Predicate::Triple(triple) => {
                image.triple.as_ref().is_some_and(|own| same_triple(own, image.arch.as_deref(), triple))
            }
            Predicate::Arch(arch) => image.has_arch_name(arch),
            Predicate::CompatibleWith(arch) => {
                let is_ptx = image.image_kind == ImageKind::Ptx;
                image.arch.as_ref().is_some_and(|own| serves(own, is_ptx, arch))
            }
            Predicate::Key(key, value) => image.string(key) == Some(value),
            Predicate::Id(id) => image.id.as_ref() == Some(id),
            Predicate::Image(kind) => image.image_kind == *kind,
            Predicate::Number(number) => candidate.number == *number,
            Predicate::Container(container) => candidate.containers.contains(container),
            Predicate::Kernel(name) => candidate.kernels.as_ref().is_none_or(|met| met.contains(&name)),
        }
    }

    /// Suggests names that are similar to an unknown one, from the images, or else from known processors.
    fn suggestions(&self, images: &[Image]) -> Suggestions {
        let of_images = |written: &str, value: fn(&Image) -> Option<&String>| {
            Suggestions::new(written, images.iter().filter_map(value))
        };
        match self {
            Predicate::Triple(triple) => of_images(triple, |image| image.triple.as_ref()),
            Predicate::Id(id) => of_images(id, |image| image.id.as_ref()),
            // An arch that no image has would not match, either.
            Predicate::Arch(arch) if !names_processor(arch) => of_images(arch, |image| image.arch.as_ref()),
            Predicate::CompatibleWith(device) if !names_processor(device) => {
                let near = of_images(device, |image| image.arch.as_ref());
                let processor = target_id::cut(device).0;
                if near.0.is_empty() { Suggestions::new(processor, processor_names()) } else { near }
            }
            _ => Suggestions::default(),
        }
    }

    /// True if two predicates are alternatives. Values of different keys are not.
    fn is_alternative_to(&self, other: &Predicate) -> bool {
        match (self, other) {
            (Predicate::Key(key, _), Predicate::Key(other, _)) => key == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// As written on the command line.
impl std::fmt::Display for Predicate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Predicate::Kind(kind) => write!(formatter, "kind {}", kind.name()),
            Predicate::Triple(triple) => write!(formatter, "triple {triple}"),
            Predicate::Arch(arch) => write!(formatter, "arch {arch}"),
            Predicate::CompatibleWith(arch) => write!(formatter, "device {arch}"),
            Predicate::Key(key, value) => write!(formatter, "{key}={value}"),
            Predicate::Id(id) => write!(formatter, "id {id}"),
            Predicate::Image(kind) => write!(formatter, "image {}", kind.name()),
            Predicate::Container(container) => write!(formatter, "container {}", container.name()),
            Predicate::Kernel(name) => write!(formatter, "kernel {}", name.text),
            Predicate::Number(number) => write!(formatter, "number {number}"),
        }
    }
}

#[doc(hidden)]
impl FromIterator<Predicate> for ImageFilter {
    fn from_iter<I: IntoIterator<Item = Predicate>>(predicates: I) -> Self {
        ImageFilter(predicates.into_iter().collect())
    }
}

impl ImageFilter {
    /// Also accepts images of this kind; of no others, if it is the first.
    pub fn kind(self, kind: OffloadKind) -> Self {
        self.with(Predicate::Kind(kind))
    }

    /// Also accepts images for this target triple.
    pub fn triple(self, triple: impl Into<String>) -> Self {
        self.with(Predicate::Triple(triple.into()))
    }

    /// Also accepts images for this processor with exactly its features, in any order. `compute_80` is PTX, and
    /// `lto_80` is LTO-IR.
    pub fn arch(self, arch: impl Into<String>) -> Self {
        self.with(Predicate::Arch(arch.into()))
    }

    /// Also accepts images with a kernel whose mangled or demangled name is `pattern` or matches it, a regular
    /// expression in the syntax of the `regex` crate, without Unicode. It may match anywhere in a name.
    pub fn kernel(self, pattern: &str) -> Result<Self, FilterError> {
        Ok(self.with(Predicate::Kernel(KernelPattern::parse(pattern).map_err(FilterError::Pattern)?)))
    }

    fn with(mut self, predicate: Predicate) -> Self {
        self.0.push(predicate);
        self
    }

    /// Returns whether the filter accepts every image.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if the filter accepts the image, or may accept it because the image was not inspected for kernels.
    pub(crate) fn accepts(&self, candidate: &FilterCandidate<'_>) -> bool {
        self.0.iter().all(|predicate| {
            let mut alternatives = self.0.iter().filter(|other| predicate.is_alternative_to(other));
            alternatives.any(|alternative| alternative.is_met_by(candidate))
        })
    }

    /// The patterns for kernels.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = &KernelPattern> {
        self.0.iter().filter_map(|predicate| match predicate {
            Predicate::Kernel(name) => Some(name),
            _ => None,
        })
    }
}

/// Returns the error about predicates that no accepted image meets: what they could be met by are numbers up to `last`, or
/// images.
fn no_match(unmet: &[&Predicate], images: &[Image], last: Option<usize>) -> FilterError {
    let predicates: Vec<String> = unmet.iter().map(ToString::to_string).collect();
    let suggestions = unmet.iter().map(|predicate| predicate.suggestions(images)).find(|it| !it.0.is_empty());
    let available = match (unmet, last) {
        ([Predicate::Number(_)], Some(last)) => format!("numbers 0 to {last}"),
        _ => describe(images),
    };
    let suggestions = suggestions.unwrap_or_default();
    FilterError::NoMatch { predicates: predicates.join(" and "), available, suggestions }
}

/// Kind, triple and arch of every image, without duplicates.
fn describe(images: &[Image]) -> String {
    let available: BTreeSet<String> = images.iter().map(target).collect();
    if available.is_empty() {
        return "no device images".to_owned();
    }
    available.into_iter().collect::<Vec<_>>().join(", ")
}

/// Kind, triple and arch of an image, spelled as in a filter.
pub fn target(image: &Image) -> String {
    let known = [image.kind.map(OffloadKind::name), image.triple.as_deref(), image.arch.as_deref()];
    let known: Vec<&str> = known.into_iter().flatten().collect();
    if known.is_empty() { "an image without a target".to_owned() } else { known.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triple_is_met_by_both_spellings_of_the_target() {
        let legacy = "amdgcn-amd-amdhsa";
        let subarch = "amdgpu9.42-amd-amdhsa";
        let cases = [
            (legacy, Some("gfx942"), legacy, true),
            (legacy, Some("gfx942:xnack+"), subarch, true),
            (legacy, Some("gfx90a"), subarch, false),
            (legacy, Some("gfx942"), "amdgpu9.4-amd-amdhsa", true),
            (subarch, Some("gfx942"), legacy, true),
            (subarch, None, subarch, true),
            (subarch, None, "amdgpu9.50-amd-amdhsa", false),
            (subarch, None, "amdgcn-amd-amdpal", false),
            ("x86_64-unknown-linux-gnu", None, "amd64-unknown-linux-gnu", false),
        ];
        for (own, arch, filter, is_met) in cases {
            let image = Image { triple: Some(own.into()), arch: arch.map(str::to_owned), ..Image::default() };
            let candidate = FilterCandidate { image: &image, number: 0, containers: Vec::new(), kernels: None };
            assert_eq!(Predicate::Triple(filter.into()).is_met_by(&candidate), is_met, "{own} {arch:?} for {filter}");
        }
    }
}
