//! Target ids: `<processor>(:<feature>(+|-))*`, what a code object runs on.
//!
//! A feature that an id does not name works either way. People may write alternative names of a processor and features in
//! any order; what tools write and compare is the canonical form: the primary name, features in alphabetical order.
//! Source: Clang Offload Bundler document, section Target ID; what a feature may be set on, clang 22.1.8.

use std::fmt;

use super::nvptx;
use super::processors::{OTHERS, PROCESSORS, Processor};

/// A target id in its canonical form. Processors without features, NVIDIA's among them, are ids that set none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetId<'text> {
    processor: &'text str,
    /// By name, in alphabetical order.
    features: Vec<Feature<'text>>,
}

/// A feature and the setting that the code needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Feature<'text> {
    pub name: &'text str,
    pub on: bool,
}

/// Why a text is no target id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTargetId {
    #[error("{processor:?} is no processor that is known{}", hint(.closest))]
    UnknownProcessor { processor: String, closest: Option<&'static str> },
    #[error("feature {feature:?} ends in neither + nor -")]
    NoSign { feature: String },
    #[error("{processor} has no feature {feature:?} to set; it has {}", list(.known))]
    UnknownFeature { processor: String, feature: String, known: &'static [&'static str] },
    #[error("feature {feature} is set twice")]
    RepeatedFeature { feature: String },
}

fn hint(closest: &Option<&str>) -> String {
    closest.map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl<'text> TargetId<'text> {
    /// Reads an id in any form.
    pub fn parse(text: &'text str) -> Result<Self, InvalidTargetId> {
        let (written, features) = cut(text);
        let amd = Processor::named(written);
        if amd.is_none() && nvptx::Arch::parse(written).is_none() && !OTHERS.contains(&written) {
            let (processor, closest) = (written.to_owned(), closest(written));
            return Err(InvalidTargetId::UnknownProcessor { processor, closest });
        }
        let known = amd.map_or(&[][..], |processor| processor.features);
        let processor = amd.map_or(written, |processor| processor.name);
        let mut id = TargetId { processor, features: Vec::new() };
        for feature in features {
            let owned = |text: &str| text.to_owned();
            let (name, on) = match (feature.strip_suffix('+'), feature.strip_suffix('-')) {
                (Some(name), _) => (name, true),
                (_, Some(name)) => (name, false),
                _ => return Err(InvalidTargetId::NoSign { feature: owned(feature) }),
            };
            if !known.contains(&name) {
                let (processor, feature) = (owned(processor), owned(name));
                return Err(InvalidTargetId::UnknownFeature { processor, feature, known });
            }
            if id.feature(name).is_some() {
                return Err(InvalidTargetId::RepeatedFeature { feature: owned(name) });
            }
            id.features.push(Feature { name, on });
        }
        id.features.sort_unstable();
        Ok(id)
    }

    /// The processor's primary name.
    pub fn processor(&self) -> &'text str {
        self.processor
    }

    /// What is set, in alphabetical order.
    pub fn features(&self) -> &[Feature<'text>] {
        &self.features
    }

    /// The setting of a feature; `None` where the id leaves it open.
    pub fn feature(&self, name: &str) -> Option<bool> {
        self.features.iter().find(|feature| feature.name == name).map(|feature| feature.on)
    }
}

impl fmt::Display for TargetId<'_> {
    /// The canonical form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.processor)?;
        self.features.iter().try_for_each(|feature| write!(f, ":{feature}"))
    }
}

impl fmt::Display for Feature<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, if self.on { '+' } else { '-' })
    }
}

/// The processor and the features of an id as they are written, whether they exist or not.
pub fn cut(text: &str) -> (&str, impl Iterator<Item = &str>) {
    let mut parts = text.split(':');
    (parts.next().unwrap_or_default(), parts)
}

/// The one processor whose name is a single slip of the keyboard away; none where there are several.
fn closest(written: &str) -> Option<&'static str> {
    let names = PROCESSORS
        .iter()
        .flat_map(|processor| [processor.name].into_iter().chain(processor.alternatives.iter().copied()));
    let mut near = names.filter(|name| is_misspelling(name, written));
    let first = near.next()?;
    near.next().is_none().then_some(first)
}

/// Returns whether the texts differ in one letter; never without the feature `check`, which has the crate for it.
fn is_misspelling(name: &str, written: &str) -> bool {
    #[cfg(feature = "check")]
    return strsim::osa_distance(name, written) == 1;
    #[cfg(not(feature = "check"))]
    return name.is_empty() && written.is_empty();
}

#[cfg(all(test, feature = "check"))]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_id_has_one_canonical_form() {
        let forms = [
            ("gfx906", "gfx906"),
            ("gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-"),
            ("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
            ("fiji", "gfx803"),
            ("carrizo:xnack+", "gfx801:xnack+"),
            ("gfx9-4-generic:xnack+", "gfx9-4-generic:xnack+"),
            ("gfx940", "gfx940"),
            ("sm_90a", "sm_90a"),
            ("sm_100f", "sm_100f"),
            ("amdgcnspirv", "amdgcnspirv"),
        ];
        for (text, canonical) in forms {
            assert_eq!(TargetId::parse(text).map(|id| id.to_string()), Ok(canonical.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_an_id_is_named() {
        let wrong = [
            ("", "\"\" is no processor that is known"),
            ("gfx9O6", "\"gfx9O6\" is no processor that is known; did you mean gfx906?"),
            ("fuji", "\"fuji\" is no processor that is known; did you mean fiji?"),
            ("gfx90", "\"gfx90\" is no processor that is known"),
            ("GFX906", "\"GFX906\" is no processor that is known"),
            ("sm_", "\"sm_\" is no processor that is known"),
            ("gfx906:xnack", "feature \"xnack\" ends in neither + nor -"),
            ("gfx906:", "feature \"\" ends in neither + nor -"),
            ("gfx906:bogus+", "gfx906 has no feature \"bogus\" to set; it has sramecc, xnack"),
            ("gfx900:sramecc+", "gfx900 has no feature \"sramecc\" to set; it has xnack"),
            ("gfx1250:xnack+", "gfx1250 has no feature \"xnack\" to set; it has none"),
            ("sm_80:xnack+", "sm_80 has no feature \"xnack\" to set; it has none"),
            ("gfx906:xnack+:xnack-", "feature xnack is set twice"),
        ];
        for (text, message) in wrong {
            assert_eq!(TargetId::parse(text).unwrap_err().to_string(), message, "{text}");
        }
    }
}
