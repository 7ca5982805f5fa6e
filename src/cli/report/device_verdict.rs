//! How kernels run on a device, in the words of the first screen.

use console::measure_text_width;

use super::style::Meaning;
use super::text::{printable, shorten};
use fatbin_core::target::runs_on::LoadMethod;
use fatbin_ops::analyze::coverage::{Absence, CoverageCell};

/// Formats how the kernels run on a device, in clauses: the most frequent way, then the others with their numbers, the
/// worst last. Where most kernels have no code, the first clause states how many have some.
pub fn verdict(cells: &[(CoverageCell<'_>, usize)]) -> (Vec<String>, Meaning) {
    let sum = |is_counted: fn(CoverageCell<'_>) -> bool| -> usize {
        cells.iter().filter(|(cell, _)| is_counted(*cell)).map(|(_, kernels)| kernels).sum()
    };
    let gaps = sum(|cell| cell == CoverageCell::Gap(Absence::Absent));
    let stubs = sum(|cell| matches!(cell, CoverageCell::Gap(Absence::Stub(_))));
    let none = sum(is_none);
    // Code of several architectures, such as sm_100 and sm_100f, is equally native.
    let mut ways: Vec<(String, Meaning, usize)> = Vec::new();
    for &(cell, kernels) in cells.iter().filter(|(cell, _)| !cell.is_gap() && !is_none(*cell)) {
        let (text, meaning) = phrase(cell);
        match ways.iter_mut().find(|(known, ..)| *known == text) {
            Some((.., count)) => *count += kernels,
            None => ways.push((text, meaning, kernels)),
        }
    }
    let Some((first, others)) = ways.split_first() else {
        let lacking = [(stubs, "without a body"), (gaps, "missing")];
        let lacking = lacking.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let lacking: Vec<String> = lacking.collect();
        return (if lacking.is_empty() { vec!["nothing".to_owned()] } else { lacking }, Meaning::Bad);
    };
    let (text, meaning, kernels) = first;
    let is_few = none > *kernels;
    let mut parts = vec![if is_few { format!("only {kernels} {text}") } else { text.clone() }];
    parts.extend(others.iter().map(|(text, _, kernels)| format!("{kernels} {text}")));
    let rest = [(if is_few { 0 } else { none }, "without code"), (stubs, "without a body"), (gaps, "missing")];
    parts.extend(rest.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    let meaning = match parts.len() {
        _ if gaps > 0 || is_few => Meaning::Bad,
        1 => *meaning,
        _ => Meaning::Unsure,
    };
    (parts, meaning)
}

/// Formats the clauses about a device on at most one line: where they are longer, the first and the last.
pub fn on_one_line(title: &str, clauses: &[String], width: usize) -> String {
    let text = format!("{title} {}", clauses.join(", "));
    match clauses {
        [first, _, .., last] if measure_text_width(&text) > width => {
            shorten(&format!("{title} {first}, …, {last}"), width)
        }
        _ => shorten(&text, width),
    }
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
        CoverageCell::Gap(_) => ("missing".to_owned(), Meaning::Bad),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_clauses_are_one_line_with_the_worst() {
        let clauses = ["native", "3229 by PTX sm_80", "2517 without code", "3 missing"].map(str::to_owned);
        for (count, width, expected) in [
            (4, 80, "B200 sm_100 native, 3229 by PTX sm_80, 2517 without code, 3 missing"),
            (4, 60, "B200 sm_100 native, …, 3 missing"),
            (3, 45, "B200 sm_100 native, …, 2517 without code"),
            (2, 20, "B200 sm_10…PTX sm_80"),
            (1, 20, "B200 sm_100 native"),
        ] {
            assert_eq!(on_one_line("B200 sm_100", &clauses[..count], width), expected);
        }
    }
}
