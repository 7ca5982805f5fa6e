//! Which of a file's images are meant.
//!
//! Criteria of one kind are alternatives (two archs: either), criteria of different kinds must all hold. And each must be
//! met by something: a release that asks for two archs and silently gets one is the failure that nobody notices.

use regex::Regex;

use crate::error::{Error, Result};
use crate::format::{ContainerType, ImageKind};
use crate::inspect::Kernel;
use crate::inventory::Image;
use crate::target::{OffloadKind, TargetId, compatibility, nvptx};

/// What is asked of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Criterion {
    Kind(OffloadKind),
    Triple(String),
    /// Exactly this processor with exactly these features, in whatever order.
    Arch(String),
    /// Whatever a device or a request of this arch can take.
    CompatibleWith(String),
    /// A key of the container with this value.
    Key(String, String),
    /// In a container of this type, at any depth.
    Container(ContainerType),
    /// Holds a kernel that is called so.
    Kernel(KernelName),
}

/// A kernel's name, or a regular expression for it.
#[derive(Debug, Clone)]
pub struct KernelName {
    text: String,
    pattern: Regex,
}

impl KernelName {
    /// A regular expression in the syntax of the `regex` crate. It may match anywhere in a name.
    pub fn parse(text: &str) -> Result<Self, regex::Error> {
        Ok(KernelName { text: text.to_owned(), pattern: Regex::new(text)? })
    }

    /// Whether one of the kernel's names, mangled or demangled, is this text or matches it as a pattern.
    pub fn is_met_by(&self, kernel: &Kernel) -> bool {
        let names = [Some(&kernel.name), kernel.demangled.as_ref()];
        names.into_iter().flatten().any(|name| *name == self.text || self.pattern.is_match(name))
    }
}

impl PartialEq for KernelName {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for KernelName {}

/// An image and what else a criterion may be about.
pub struct Candidate<'a> {
    pub image: &'a Image,
    /// The types of the containers around it.
    pub containers: Vec<ContainerType>,
    /// Which of the selection's criteria about kernels it meets; nothing is known before it was looked into.
    pub kernels: Option<Vec<&'a KernelName>>,
}

/// Whether two archs are one, however they are written.
fn same_arch(a: &str, b: &str) -> bool {
    match (TargetId::parse(a), TargetId::parse(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

fn serves(image: &str, is_ptx: bool, requested: &str) -> bool {
    match (nvptx::Arch::parse(image), nvptx::Arch::parse(requested)) {
        (Some(image), Some(device)) => image.runs_on(device, is_ptx),
        _ => compatibility::serves(image, requested).is_ok(),
    }
}

/// All that is asked; nothing means every image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection(pub Vec<Criterion>);

impl Criterion {
    fn is_met_by(&self, candidate: &Candidate<'_>) -> bool {
        let image = candidate.image;
        match self {
            Criterion::Kind(kind) => image.kind == Some(*kind),
            Criterion::Triple(triple) => image.triple.as_ref() == Some(triple),
            Criterion::Arch(arch) => image.arch.as_ref().is_some_and(|own| same_arch(own, arch)),
            Criterion::CompatibleWith(arch) => {
                let is_ptx = image.image_kind == ImageKind::Ptx;
                image.arch.as_ref().is_some_and(|own| serves(own, is_ptx, arch))
            }
            Criterion::Key(key, value) => image.string(key) == Some(value),
            Criterion::Container(container) => candidate.containers.contains(container),
            Criterion::Kernel(name) => candidate.kernels.as_ref().is_none_or(|met| met.contains(&name)),
        }
    }

    /// Whether the two are alternatives. Values of different keys are not.
    fn is_alternative_to(&self, other: &Criterion) -> bool {
        match (self, other) {
            (Criterion::Key(key, _), Criterion::Key(other, _)) => key == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// As the user wrote it.
impl std::fmt::Display for Criterion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Criterion::Kind(kind) => write!(formatter, "kind {}", kind.name()),
            Criterion::Triple(triple) => write!(formatter, "triple {triple}"),
            Criterion::Arch(arch) => write!(formatter, "arch {arch}"),
            Criterion::CompatibleWith(arch) => write!(formatter, "an arch compatible with {arch}"),
            Criterion::Key(key, value) => write!(formatter, "{key}={value}"),
            Criterion::Container(container) => write!(formatter, "container {}", container.name()),
            Criterion::Kernel(name) => write!(formatter, "kernel {}", name.text),
        }
    }
}

impl Selection {
    /// Whether the image is meant; whether it may be, where it was not looked into for kernels.
    pub fn accepts(&self, candidate: &Candidate<'_>) -> bool {
        self.0.iter().all(|criterion| {
            let mut alternatives = self.0.iter().filter(|other| criterion.is_alternative_to(other));
            alternatives.any(|alternative| alternative.is_met_by(candidate))
        })
    }

    /// What is asked of kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelName> {
        self.0.iter().filter_map(|criterion| match criterion {
            Criterion::Kernel(name) => Some(name),
            _ => None,
        })
    }

    /// The criteria that none of the images that are meant meets.
    fn unmet(&self, images: &[Candidate<'_>]) -> Vec<&Criterion> {
        let meant: Vec<&Candidate> = images.iter().filter(|image| self.accepts(image)).collect();
        self.0.iter().filter(|criterion| !meant.iter().any(|image| criterion.is_met_by(image))).collect()
    }

    /// An error if any criterion is met by none of the images.
    pub fn check(&self, images: &[Candidate<'_>]) -> Result<()> {
        let unmet: Vec<String> = self.unmet(images).iter().map(ToString::to_string).collect();
        if unmet.is_empty() {
            return Ok(());
        }
        Err(Error::NothingMatches { asked: unmet.join(" and "), there: describe(images) })
    }
}

/// What there is instead, without repetition.
fn describe(images: &[Candidate<'_>]) -> String {
    let mut there: Vec<String> = images.iter().map(|candidate| target(candidate.image)).collect();
    there.sort_unstable();
    there.dedup();
    if there.is_empty() { "no device images".to_owned() } else { there.join(", ") }
}

/// Kind, triple and arch of an image, in the words that select it.
pub fn target(image: &Image) -> String {
    let said = [image.kind.map(|kind| kind.name()), image.triple.as_deref(), image.arch.as_deref()];
    let said: Vec<&str> = said.into_iter().flatten().collect();
    if said.is_empty() { "an image that says nothing of itself".to_owned() } else { said.join(" ") }
}
