//! Sizes by labels, at several levels.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Label;
use fatbin_core::base::bytes::{size_of_range, total};

/// Bytes as they are stored, and decompressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Stored bytes.
    pub stored: u64,
    /// Decompressed bytes. Equal to the stored bytes if nothing is compressed.
    pub decompressed: u64,
}

impl Size {
    /// Size of bytes that are not compressed.
    pub fn plain(size: u64) -> Self {
        Size { stored: size, decompressed: size }
    }

    /// Adds another size.
    pub fn add(&mut self, other: Size) {
        self.stored = total([self.stored, other.stored]);
        self.decompressed = total([self.decompressed, other.decompressed]);
    }

    /// Returns what is left without a part.
    pub fn without(self, part: Size) -> Size {
        Size {
            stored: size_of_range(&(part.stored..self.stored)),
            decompressed: size_of_range(&(part.decompressed..self.decompressed)),
        }
    }
}

/// Code of kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Code {
    /// Number of kernels, each once for every image that has it.
    pub kernels: u64,
    /// Size of their code, decompressed.
    pub size: u64,
}

impl Code {
    fn add(&mut self, other: Code) {
        self.kernels = total([self.kernels, other.kernels]);
        self.size = total([self.size, other.size]);
    }
}

/// Sum of sizes, and the sums of the labels at the next level.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    size: Size,
    code: Code,
    children: HashMap<Label, Tree>,
}

/// A label with its size, and the labels of the next level, the largest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The label.
    pub label: Label,
    /// Its size.
    pub size: Size,
    /// Code of its kernels.
    pub code: Code,
    /// Its size in the compared file; absent without a comparison.
    pub before: Option<Size>,
    /// The next level.
    pub rows: Vec<Row>,
}

impl Tree {
    /// Adds bytes under a path of labels.
    pub fn add(&mut self, path: Vec<Label>, size: Size) {
        self.add_code(path, size, Code::default());
    }

    /// Adds the bytes of a kernel under a path of labels.
    pub fn add_code(&mut self, path: Vec<Label>, size: Size, code: Code) {
        if size == Size::default() {
            return;
        }
        let mut node = self;
        node.size.add(size);
        node.code.add(code);
        for label in path {
            node = node.children.entry(label).or_default();
            node.size.add(size);
            node.code.add(code);
        }
    }

    /// Adds all bytes of another tree.
    pub fn merge(&mut self, other: Tree) {
        self.size.add(other.size);
        self.code.add(other.code);
        for (label, tree) in other.children {
            self.children.entry(label).or_default().merge(tree);
        }
    }

    /// Sum of all bytes.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the rows, the largest first.
    pub fn rows(&self) -> Vec<Row> {
        let row = |(label, tree): (&Label, &Tree)| Row {
            label: label.clone(),
            size: tree.size,
            code: tree.code,
            before: None,
            rows: without_repetition(label, tree.rows()),
        };
        let mut rows: Vec<Row> = self.children.iter().map(row).collect();
        rows.sort_by_cached_key(|row| (Reverse(row.size), row.label.natural_order()));
        rows
    }

    /// Returns the rows of both trees, the largest change of stored bytes first.
    pub fn changes(&self, old: &Tree) -> Vec<Row> {
        let none = Tree::default();
        let added = self.children.keys().filter(|label| !old.children.contains_key(label));
        let row = |label: &Label| {
            let side = |tree: &'_ Tree| tree.children.get(label).map(|tree| tree.size).unwrap_or_default();
            let new = self.children.get(label).unwrap_or(&none);
            let rows = without_repetition(label, new.changes(old.children.get(label).unwrap_or(&none)));
            Row { label: label.clone(), size: new.size, code: new.code, before: Some(side(old)), rows }
        };
        let mut rows: Vec<Row> = old.children.keys().chain(added).map(row).collect();
        rows.sort_by_cached_key(|row| (Reverse(row.change().map(i128::unsigned_abs)), row.label.natural_order()));
        rows
    }
}

/// Returns the rows below a label. Bytes without a name have no name at the next level either, so they get no row
/// there.
fn without_repetition(label: &Label, rows: Vec<Row>) -> Vec<Row> {
    match rows.as_slice() {
        [row] if row.label == *label && matches!(label, Label::Rest(_)) => Vec::new(),
        _ => rows,
    }
}

impl Row {
    /// Change of the stored and of the decompressed bytes; 0 without a comparison.
    pub fn change(&self) -> [i128; 2] {
        let before = self.before.unwrap_or(self.size);
        let change = |new: u64, old: u64| i128::from(new).saturating_sub(i128::from(old));
        [change(self.size.stored, before.stored), change(self.size.decompressed, before.decompressed)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::size::Rest;

    fn name(name: &str) -> Label {
        Label::Name(name.to_owned())
    }

    fn tree(bytes: &[(&str, &str, u64)]) -> Tree {
        let mut tree = Tree::default();
        for (outer, inner, size) in bytes {
            tree.add(vec![name(outer), name(inner)], Size { stored: *size, decompressed: 2 * size });
        }
        tree
    }

    /// Returns rows as text: label, stored bytes, change, and the next level in parentheses.
    fn text(rows: &[Row]) -> String {
        let row = |row: &Row| {
            let [stored, _] = row.change();
            let inner = if row.rows.is_empty() { String::new() } else { format!("({})", text(&row.rows)) };
            format!("{} {} {stored:+}{inner}", row.label.text(), row.size.stored)
        };
        rows.iter().map(row).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn rows_are_sorted_by_size_and_then_by_name() {
        let mut all = tree(&[("sm_90", "f", 2), ("sm_100", "f", 3), ("sm_100", "g", 1)]);
        all.merge(tree(&[("sm_90", "g", 2)]));
        assert_eq!(text(&all.rows()), "sm_90 4 +0(f 2 +0, g 2 +0), sm_100 4 +0(f 3 +0, g 1 +0)");
        assert_eq!(all.size(), Size { stored: 8, decompressed: 16 });
    }

    #[test]
    fn changes_are_sorted_by_their_size() {
        let old = tree(&[("a", "f", 9), ("b", "f", 5)]);
        let new = tree(&[("b", "f", 6), ("c", "f", 4)]);
        assert_eq!(text(&new.changes(&old)), "a 0 -9(f 0 -9), c 4 +4(f 4 +4), b 6 +1(f 6 +1)");
    }

    #[test]
    fn bytes_without_a_name_have_one_row() {
        let mut tree = Tree::default();
        let rest = || Label::Rest(Rest::NotDeviceCode);
        tree.add(vec![rest(), rest()], Size::plain(7));
        tree.add(vec![name("a"), rest()], Size::plain(0));
        assert_eq!(text(&tree.rows()), "[not device code] 7 +0");
    }
}
