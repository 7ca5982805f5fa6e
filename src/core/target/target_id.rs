//! Target IDs: `<processor>(:<feature>(+|-))*`, the target of a code object.
//!
//! Code works with either setting of a feature that an ID does not list. Users may write alternative names of a
//! processor and features in any order; tools write and compare the canonical form: the primary name, features in
//! alphabetical order. Source: Clang Offload Bundler document, section Target ID; the features of each processor, clang
//! 22.1.8.

use std::fmt;

use super::nvptx;
use super::processors::{OTHERS, PROCESSORS, Processor};
use super::subarch::Subarch;
use crate::base::code::{Code, Coded, ErrorClass};
use crate::base::spelling::edit_distance;

/// A target ID in its canonical form. Processors without features, including NVIDIA's, are IDs that set none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetId<'text> {
    processor: &'text str,
    /// Features by name, in alphabetical order.
    features: Vec<Feature<'text>>,
}

/// A feature and the setting that the code requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Feature<'text> {
    /// Name of the feature.
    pub name: &'text str,
    /// Required setting.
    pub on: bool,
}

/// Reason why a text is not a target ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTargetId {
    /// The processor is unknown.
    #[error("unknown processor {processor:?}{}", hint(.processor, .closest))]
    UnknownProcessor {
        /// Name of the processor.
        processor: String,
        /// A known processor with a similar name.
        closest: Option<&'static str>,
    },
    /// A feature has no setting.
    #[error("feature {feature:?} must end in + or -")]
    NoSign {
        /// The feature.
        feature: String,
    },
    /// The processor does not support the feature.
    #[error("{processor} does not support feature {feature:?} (supported: {})", list(.known))]
    UnknownFeature {
        /// The processor.
        processor: String,
        /// The feature.
        feature: String,
        /// Features that the processor supports.
        known: &'static [&'static str],
    },
    /// A feature is set twice.
    #[error("duplicate feature {feature}")]
    RepeatedFeature {
        /// The feature.
        feature: String,
    },
}

impl Coded for InvalidTargetId {
    fn class(&self) -> ErrorClass {
        match self {
            InvalidTargetId::UnknownProcessor { .. }
            | InvalidTargetId::NoSign { .. }
            | InvalidTargetId::UnknownFeature { .. }
            | InvalidTargetId::RepeatedFeature { .. } => Code::InvalidTargetId.into(),
        }
    }
}

/// Maximum number of processors that a hint lists.
const MAX_LISTED: usize = 8;

/// Returns the name that is meant, or the names that begin as an incomplete name of AMD's processors.
fn hint(written: &str, closest: &Option<&str>) -> String {
    if let Some(name) = closest {
        return format!("; did you mean {name}?");
    }
    let has_digit = written.strip_prefix("gfx").is_some_and(|number| !number.is_empty());
    let names: Vec<&str> = PROCESSORS.iter().map(|it| &*it.name).filter(|name| name.starts_with(written)).collect();
    if !has_digit || names.is_empty() {
        return String::new();
    }
    let more = if names.len() > MAX_LISTED { ", ..." } else { "" };
    format!("; known: {}{more}", names.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", "))
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl<'text> TargetId<'text> {
    /// Parses an ID in any form.
    pub fn parse(text: &'text str) -> Result<Self, InvalidTargetId> {
        let (written, features) = cut(text);
        let amd = Processor::named(written).or_else(|| Subarch::processor_named(written));
        if amd.is_none() && nvptx::Arch::parse(written).is_none() && !OTHERS.contains(&written) {
            let processor = written.to_owned();
            let closest = closest(written);
            return Err(InvalidTargetId::UnknownProcessor { processor, closest });
        }
        let known = amd.map_or(&[][..], Processor::features);
        let processor = amd.map_or(written, |processor| &*processor.name);
        let mut id = TargetId { processor, features: Vec::new() };
        for feature in features {
            let owned = |text: &str| text.to_owned();
            let (name, on) = match (feature.strip_suffix('+'), feature.strip_suffix('-')) {
                (Some(name), _) => (name, true),
                (_, Some(name)) => (name, false),
                _ => return Err(InvalidTargetId::NoSign { feature: owned(feature) }),
            };
            if !known.contains(&name) {
                let processor = owned(processor);
                let feature = owned(name);
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

    /// Primary name of the processor.
    pub fn processor(&self) -> &'text str {
        self.processor
    }

    /// Features that are set, in alphabetical order.
    pub fn features(&self) -> &[Feature<'text>] {
        &self.features
    }

    /// Returns the setting of a feature; `None` where the ID leaves it open.
    pub fn feature(&self, name: &str) -> Option<bool> {
        self.features.iter().find(|feature| feature.name == name).map(|feature| feature.on)
    }
}

impl fmt::Display for TargetId<'_> {
    /// Formats the canonical form.
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

/// Splits an ID into the processor and the features as they are written, without checking them.
pub fn cut(text: &str) -> (&str, impl Iterator<Item = &str>) {
    let mut parts = text.split(':');
    (parts.next().unwrap_or_default(), parts)
}

/// Returns the processor whose name is one typing error away; `None` if there are none or several.
fn closest(written: &str) -> Option<&'static str> {
    let mut near = Processor::all_names().filter(|name| edit_distance(name, written, 1).is_some());
    let first = near.next()?;
    near.next().is_none().then_some(first)
}

#[cfg(test)]
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
            ("amdgpu9.50:xnack+", "gfx950:xnack+"),
            ("amdgpu9.4", "gfx9-4-generic"),
            ("sm_90a", "sm_90a"),
            ("sm_100f", "sm_100f"),
            ("amdgcnspirv", "amdgcnspirv"),
        ];
        for (text, canonical) in forms {
            assert_eq!(TargetId::parse(text).map(|id| id.to_string()), Ok(canonical.to_owned()), "{text}");
        }
    }

    #[test]
    fn errors_state_the_cause() {
        let wrong = [
            ("", "unknown processor \"\""),
            ("gfx9O6", "unknown processor \"gfx9O6\"; did you mean gfx906?"),
            ("fuji", "unknown processor \"fuji\"; did you mean fiji?"),
            (
                "gfx90",
                "unknown processor \"gfx90\"; known: gfx900, gfx902, gfx904, gfx906, gfx908, gfx909, gfx90a, gfx90c",
            ),
            ("GFX906", "unknown processor \"GFX906\""),
            ("sm_", "unknown processor \"sm_\""),
            ("amdgpu9.5", "unknown processor \"amdgpu9.5\""),
            ("amdgpu7", "unknown processor \"amdgpu7\""),
            ("gfx906:xnack", "feature \"xnack\" must end in + or -"),
            ("gfx906:", "feature \"\" must end in + or -"),
            ("gfx906:bogus+", "gfx906 does not support feature \"bogus\" (supported: sramecc, xnack)"),
            ("gfx900:sramecc+", "gfx900 does not support feature \"sramecc\" (supported: xnack)"),
            ("gfx1250:xnack+", "gfx1250 does not support feature \"xnack\" (supported: none)"),
            ("sm_80:xnack+", "sm_80 does not support feature \"xnack\" (supported: none)"),
            ("gfx906:xnack+:xnack-", "duplicate feature xnack"),
        ];
        for (text, message) in wrong {
            assert_eq!(TargetId::parse(text).unwrap_err().to_string(), message, "{text}");
        }
    }
}
