//! How kernels run on a device, in the words of the first screen.

use super::style::Meaning;
use super::text::printable;
use crate::analyze::coverage::CoverageCell;
use crate::target::runs_on::LoadMethod;

/// Formats how the kernels run on a device: the most frequent way, then the others with their numbers. Where most kernels
/// have no code, the number of the others is more than the way.
pub fn verdict(cells: &[(CoverageCell<'_>, usize)]) -> (String, Meaning) {
    let sum = |is_counted: fn(CoverageCell<'_>) -> bool| -> usize {
        cells.iter().filter(|(cell, _)| is_counted(*cell)).map(|(_, kernels)| kernels).sum()
    };
    let gaps = sum(|cell| cell == CoverageCell::Gap);
    let none = sum(is_none);
    // Code of several architectures, such as sm_100 and sm_100f, is equally native.
    let mut ways: Vec<(String, Meaning, usize)> = Vec::new();
    for &(cell, kernels) in cells.iter().filter(|(cell, _)| *cell != CoverageCell::Gap && !is_none(*cell)) {
        let (text, meaning) = phrase(cell);
        match ways.iter_mut().find(|(known, ..)| *known == text) {
            Some((.., count)) => *count += kernels,
            None => ways.push((text, meaning, kernels)),
        }
    }
    let Some((first, others)) = ways.split_first() else {
        let text = if gaps > 0 { format!("{gaps} missing") } else { "nothing".to_owned() };
        return (text, Meaning::Bad);
    };
    let (text, meaning, kernels) = first;
    let is_few = none > *kernels;
    let mut parts = vec![if is_few { format!("only {kernels} {text}") } else { text.clone() }];
    parts.extend(others.iter().map(|(text, _, kernels)| format!("{kernels} {text}")));
    let rest = [(if is_few { 0 } else { none }, "without code"), (gaps, "missing")];
    parts.extend(rest.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    let meaning = match parts.len() {
        _ if gaps > 0 || is_few => Meaning::Bad,
        1 => *meaning,
        _ => Meaning::Unsure,
    };
    (parts.join(", "), meaning)
}

pub fn is_none(cell: CoverageCell<'_>) -> bool {
    matches!(cell, CoverageCell::None | CoverageCell::OtherPlatform)
}

fn phrase(cell: CoverageCell<'_>) -> (String, Meaning) {
    match cell {
        CoverageCell::Runs { method: LoadMethod::Exact, .. } => ("native".to_owned(), Meaning::Usual),
        CoverageCell::Runs { method, arch } => match (method.compiled_from(), arch) {
            // Its architecture is the name of the device.
            (Some(language @ "AIR"), _) => (format!("by {language}"), Meaning::Unsure),
            (Some(language), Some(arch)) => (format!("by {language} {}", printable(arch)), Meaning::Unsure),
            (Some(language), None) => (format!("by {language}"), Meaning::Unsure),
            (None, arch) => (format!("by {}", printable(arch.unwrap_or("compatible code"))), Meaning::Good),
        },
        CoverageCell::Unknown => ("unknown".to_owned(), Meaning::Unsure),
        CoverageCell::Unlinked => ("to be linked".to_owned(), Meaning::Unsure),
        CoverageCell::None | CoverageCell::OtherPlatform => ("nothing".to_owned(), Meaning::Bad),
        CoverageCell::Gap => ("missing".to_owned(), Meaning::Bad),
    }
}
