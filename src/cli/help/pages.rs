//! The pages of the book in the program.

use crate::texts::texts;

/// Name of the page that lists the other pages of its directory.
const INDEX: &str = "README";

/// Directories of pages, and single pages, in the order of the book, with their titles.
pub const CHAPTERS: [(&str, &str); 4] =
    [("tasks", "Tasks"), ("guide", "Guide"), ("formats", "Formats"), ("features", "Comparison")];

/// All pages.
pub struct Pages;

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// Path below `docs`, without the extension.
    pub path: &'a str,
    /// Text in Markdown.
    pub text: &'a str,
}

impl Pages {
    /// Returns all pages, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = Page<'_>> {
        let pages = texts().map(|(path, text)| Page { path, text });
        pages.filter(|page| CHAPTERS.iter().any(|(chapter, _)| *chapter == page.directory()))
    }

    /// Returns the page with a name. The name is its path, its path in the repository, a directory, or the last part of
    /// the path if that is unique.
    pub fn find(&self, name: &str) -> Option<Page<'_>> {
        let name = name.strip_prefix("docs/").unwrap_or(name);
        let name = name.strip_suffix(".md").unwrap_or(name).trim_end_matches('/');
        let index = format!("{name}/{INDEX}");
        if let Some(page) = self.iter().find(|page| page.path == name || page.path == index) {
            return Some(page);
        }
        let mut named = self.iter().filter(|page| page.name() == name);
        let first = named.next();
        if named.next().is_none() { first } else { None }
    }

    /// Returns the pages of a directory in the order of its index.
    pub fn chapter(&self, directory: &str) -> Vec<Page<'_>> {
        let Some(index) = self.find(directory) else { return Vec::new() };
        let position = |page: &Page<'_>| index.text.find(&format!("]({}.md)", page.name()));
        let is_listed = |page: &Page<'_>| page.directory() == directory && page.name() != INDEX;
        let mut pages: Vec<Page<'_>> = self.iter().filter(is_listed).collect();
        pages.sort_by_cached_key(|page| position(page).unwrap_or(usize::MAX));
        pages
    }

    /// Returns the pages that the index of the guide lists for a command.
    pub fn about_command(&self, command: &str) -> Vec<Page<'_>> {
        let Some(index) = self.find("guide") else { return Vec::new() };
        let command = format!("`{command}`");
        let rows = index.text.lines().filter(|line| line.starts_with("| [") && line.contains(&command));
        let links = rows.filter_map(|row| Some(row.split_once("](")?.1.split_once(".md)")?.0));
        links.filter_map(|name| self.find(&format!("guide/{name}"))).collect()
    }
}

impl<'a> Page<'a> {
    /// Returns the last part of the path.
    pub fn name(&self) -> &'a str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    fn directory(&self) -> &'a str {
        self.path.split('/').next().unwrap_or_default()
    }

    /// Returns the heading of the page.
    pub fn title(&self) -> &'a str {
        self.text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
    }
}
