//! A policy written from a good build: what holds of it now is what is demanded from now on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::facts::{FileFacts, ImageCode, ImageFacts};
use super::policy::{PolicyTarget, Size};
use crate::codec::Codec;
use crate::inspect::DebugLevel;
use crate::survey::SurveyedFile;
use crate::target::order;

/// More than there is by a tenth: a budget that has to be raised with every commit is soon ignored.
const HEADROOM_DIVISOR: u64 = 10;

/// A policy that these files pass; `None` where there is no device code.
pub fn generate_policy(files: &[&SurveyedFile]) -> Option<String> {
    let facts: Vec<FileFacts<'_>> =
        files.iter().map(|file| FileFacts::new(file)).filter(|it| !it.images.is_empty()).collect();
    let common = common_archs(&facts)?;
    let mut text = "# Written by fatbin check --init from a build that was taken to be good.\n".to_owned();
    let paths: BTreeSet<String> = facts.iter().map(|facts| pattern(facts.path())).collect();
    text += &format!("must-hold = {}\n", list(paths));
    text += "\n[archs]\n# In every file.\n";
    text += &format!("require = {}\n", list(common.iter().cloned()));
    let mut codes = facts.iter().flat_map(|facts| &facts.images).map(|image| &image.code);
    if codes.all(is_nameable) {
        let all: Vec<String> = sorted(facts.iter().flat_map(targets).collect());
        text += &format!("# In any file.\nonly = {}\n", list(all));
    }
    text += &sizes(&facts);
    text += &images(&facts);
    text += &exceptions(&facts, &common);
    Some(text)
}

/// What each file has code for. Empty where files have nothing in common.
fn common_archs(facts: &[FileFacts<'_>]) -> Option<Vec<String>> {
    let (first, others) = facts.split_first()?;
    let others: Vec<BTreeSet<String>> = others.iter().map(targets).collect();
    let mut common = targets(first);
    common.retain(|target| others.iter().all(|other| other.contains(target)));
    Some(sorted(common))
}

/// What a file has code for, as far as a policy has names for it.
fn targets(facts: &FileFacts<'_>) -> BTreeSet<String> {
    let named = facts.images.iter().filter_map(|image| match &image.code {
        ImageCode::For(target) => PolicyTarget::parse(&target.to_string()).ok(),
        _ => None,
    });
    named.map(|target| target.to_string()).collect()
}

/// Whether a policy can name it, if it has to.
fn is_nameable(code: &ImageCode) -> bool {
    match code {
        ImageCode::For(target) => PolicyTarget::parse(&target.to_string()).is_ok(),
        ImageCode::Intermediate(_) | ImageCode::Empty => true,
        ImageCode::Unknown => false,
    }
}

fn sizes(facts: &[FileFacts<'_>]) -> String {
    let with_headroom = |size: u64| Size(size.saturating_add(size / HEADROOM_DIVISOR)).rounded_up();
    let stored = facts.iter().map(FileFacts::stored);
    let (total, largest) = (stored.clone().fold(0, u64::saturating_add), stored.max().unwrap_or(0));
    let mut text = "\n[sizes]\n# A tenth more than there is.\n".to_owned();
    text += &format!("total = \"{}\"\nfile = \"{}\"\n", exact(with_headroom(total)), exact(with_headroom(largest)));
    text
}

/// A size as it can be read again: to the byte where no unit has it.
fn exact(size: Size) -> String {
    let text = size.to_string();
    if Size::parse(&text) == Some(size) { text } else { format!("{} B", size.0) }
}

fn images(facts: &[FileFacts<'_>]) -> String {
    let images: Vec<&ImageFacts<'_>> =
        facts.iter().flat_map(|it| &it.images).filter(|it| it.code != ImageCode::Empty).collect();
    let mut text = String::new();
    let inspections = || images.iter().map(|image| image.inside.inspection.as_ref());
    let is_whole = |it: &crate::inspect::Inspection| it.not_inspected.is_none() && it.problems.is_empty();
    if inspections().all(|it| it.is_some_and(is_whole)) {
        text += "intact = true\n";
        let most = inspections().flatten().map(|it| it.debug.level).max().unwrap_or_default();
        if most < DebugLevel::Full {
            let _ = writeln!(text, "debug = \"{}\"", most.name());
        }
    }
    if images.iter().all(|image| image.inside.build_paths.as_ref().is_some_and(Vec::is_empty)) {
        text += "build-paths = false\n";
    }
    let codecs = || images.iter().map(|image| image.codec);
    if codecs().all(|codec| codec.is_some_and(|codec| codec != Codec::Opaque)) {
        text += "compressed = true\n";
    }
    if text.is_empty() { text } else { format!("\n[images]\n{text}") }
}

/// For each file what it has beyond what all have; of files that are called alike, what all of them have.
fn exceptions(facts: &[FileFacts<'_>], common: &[String]) -> String {
    let mut by_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for facts in facts {
        let own = targets(facts);
        let known = by_name.entry(pattern(facts.path())).or_insert_with(|| own.clone());
        known.retain(|target| own.contains(target));
    }
    let mut text = String::new();
    for (pattern, targets) in by_name {
        let own = sorted(targets);
        if own != common {
            let _ = write!(text, "\n[files.{}]\narchs.require = {}\n", quoted(&pattern), list(own));
        }
    }
    text
}

/// A pattern for a file wherever it is: its name, with what has a meaning in patterns taken literally.
fn pattern(path: &str) -> String {
    let name = path.rsplit(['/', '!']).next().unwrap_or(path);
    globset::escape(name)
}

fn sorted(names: BTreeSet<String>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort_by_cached_key(|name| order(name));
    names
}

fn list(names: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", names.into_iter().map(|name| quoted(&name)).collect::<Vec<_>>().join(", "))
}

/// A basic string of TOML, which is a string of JSON but for one character.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
