//! Which of a file's images are meant.
//!
//! Criteria of one kind are alternatives (two archs: either), criteria of different kinds must all hold. And each must be
//! met by something: a release that asks for two archs and silently gets one is the failure that nobody notices.

use crate::error::{Error, Result};
use crate::format::ImageKind;
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
    fn is_met_by(&self, image: &Image) -> bool {
        match self {
            Criterion::Kind(kind) => image.kind == Some(*kind),
            Criterion::Triple(triple) => image.triple.as_ref() == Some(triple),
            Criterion::Arch(arch) => image.arch.as_ref().is_some_and(|own| same_arch(own, arch)),
            Criterion::CompatibleWith(arch) => {
                let is_ptx = image.image_kind == ImageKind::Ptx;
                image.arch.as_ref().is_some_and(|own| serves(own, is_ptx, arch))
            }
            Criterion::Key(key, value) => image.string(key) == Some(value),
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
        }
    }
}

impl Selection {
    /// Whether the image is meant.
    pub fn accepts(&self, image: &Image) -> bool {
        self.0.iter().all(|criterion| {
            let mut alternatives = self.0.iter().filter(|other| criterion.is_alternative_to(other));
            alternatives.any(|alternative| alternative.is_met_by(image))
        })
    }

    /// The criteria that none of the images that are meant meets.
    pub fn unmet<'a>(&'a self, images: &[&Image]) -> Vec<&'a Criterion> {
        let meant: Vec<&&Image> = images.iter().filter(|image| self.accepts(image)).collect();
        self.0.iter().filter(|criterion| !meant.iter().any(|image| criterion.is_met_by(image))).collect()
    }

    /// An error if any criterion is met by none of the images.
    pub fn check(&self, images: &[&Image]) -> Result<()> {
        let unmet: Vec<String> = self.unmet(images).iter().map(ToString::to_string).collect();
        if unmet.is_empty() {
            return Ok(());
        }
        Err(Error::NothingMatches { asked: unmet.join(" and "), there: describe(images) })
    }
}

/// What there is instead, without repetition.
fn describe(images: &[&Image]) -> String {
    let mut there: Vec<String> = images.iter().map(|image| target(image)).collect();
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
