//! The pages about codes and rules, in Markdown.

use crate::texts::text;
use fatbin_ops::check::Rule;

/// Names of pages about errors, then the page about the rules of `check`.
const PAGES: &str = "command-line bytes files images names bundles selection changes policies links rules";

/// A page.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Title.
    pub title: &'static str,
    text: &'static str,
}

/// A section, about one code or rule.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Name of the code or rule.
    pub name: &'static str,
    /// Description in a few words.
    pub title: &'static str,
    /// Text after the heading.
    pub body: &'static str,
}

/// Returns all pages.
pub fn pages() -> impl Iterator<Item = Page> {
    PAGES.split(' ').map(|name| {
        let text = text(&format!("errors/{name}"));
        let (heading, text) = text.split_once('\n').unwrap_or((text, ""));
        Page { title: heading.trim_start_matches("# "), text }
    })
}

impl Page {
    /// Returns the sections, in order.
    pub fn sections(self) -> impl Iterator<Item = Section> {
        self.text.split("\n## ").skip(1).map(|text| {
            let (heading, body) = text.split_once('\n').unwrap_or((text, ""));
            let (name, title) = heading.split_once(": ").unwrap_or((heading, ""));
            Section { name, title, body: body.trim() }
        })
    }
}

/// Returns the text about a rule.
pub fn rule_help(rule: Rule) -> &'static str {
    let mut sections = pages().flat_map(Page::sections);
    sections.find(|section| section.name == rule.name()).map_or("", |section| section.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::Code;

    #[test]
    fn every_code_and_every_rule_has_a_section_in_their_order() {
        let names: Vec<&str> = pages().flat_map(Page::sections).map(|section| section.name).collect();
        let rules = Rule::ALL.iter().map(|rule| rule.name());
        let expected: Vec<&str> = Code::ALL.iter().map(|code| code.name()).chain(rules).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn every_section_has_a_title_and_a_remedy() {
        for section in pages().flat_map(Page::sections) {
            assert!(!section.title.is_empty() && section.body.contains("\nRemedy: "), "{}", section.name);
        }
    }

    #[test]
    fn codes_begin_with_the_number_of_their_page() {
        for (number, page) in pages().take(PAGES.split(' ').count() - 1).enumerate() {
            for section in page.sections() {
                assert!(section.name.starts_with(&format!("E{number:02}")), "{}: {}", page.title, section.name);
            }
        }
    }
}
