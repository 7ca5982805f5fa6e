//! Sizes of device code by arch in a Markdown report, and their change since another build.

use std::collections::{BTreeSet, HashMap};

use super::markdown_escape::escape;
use crate::report::screen::human_size;
use fatbin_core::base::bytes::total;
use fatbin_core::scan::inventory::File;
use fatbin_core::target::natural_order;
use fatbin_ops::check::lock::Lock;

/// Maximum number of archs in the table. More are a build for every processor that exists.
const MAX_ROWS: usize = 60;

/// Sizes of the device code of a build.
#[derive(Debug)]
pub struct CodeSizes {
    /// Number of images and decompressed bytes, by arch and form of code.
    archs: HashMap<String, (u64, u64)>,
    /// Bytes of all containers; `None` if a lock does not record them.
    stored: Option<u64>,
}

impl Default for CodeSizes {
    fn default() -> Self {
        CodeSizes { archs: HashMap::new(), stored: Some(0) }
    }
}

impl CodeSizes {
    /// Returns the sizes of the images in files.
    pub fn of_files<'a>(files: impl Iterator<Item = &'a File>) -> CodeSizes {
        let mut sizes = CodeSizes::default();
        files.for_each(|file| sizes.add(file));
        sizes
    }

    /// Adds the images of a file.
    pub fn add(&mut self, file: &File) {
        for image in file.device_images() {
            self.add_image(image.arch_and_form(), image.decompressed_size());
        }
        let stored = total(file.containers.iter().map(|container| container.size));
        self.stored = self.stored.map(|sum| total([sum, stored]));
    }

    /// Returns the sizes in a lock.
    pub fn of_lock(lock: &Lock) -> CodeSizes {
        let mut sizes = CodeSizes::default();
        for image in lock.images() {
            let target = &image.target;
            let label = match (target.arch.as_ref().or(target.triple.as_ref()), target.image.as_str()) {
                (Some(arch), "elf") => arch.clone(),
                (Some(arch), form) => format!("{arch} {form}"),
                (None, form) => form.to_owned(),
            };
            sizes.add_image(label, image.size);
        }
        sizes.stored = lock.files.iter().try_fold(0, |sum: u64, file| sum.checked_add(file.stored?));
        sizes
    }

    fn add_image(&mut self, arch: String, size: Option<u64>) {
        let (images, sum) = self.archs.entry(arch).or_default();
        *images += 1;
        *sum = total([*sum, size.unwrap_or(0)]);
    }

    /// Number of images, and their decompressed bytes.
    fn total(&self) -> (u64, u64) {
        let images = self.archs.values().map(|(images, _)| images).sum();
        (images, total(self.archs.values().map(|(_, size)| *size)))
    }

    /// Formats the table of sizes, with a column of changes since `before`; nothing if there is no device code.
    pub fn to_markdown(&self, before: Option<&CodeSizes>) -> String {
        let archs = self.archs.keys().chain(before.iter().flat_map(|before| before.archs.keys()));
        let mut archs: Vec<&String> = archs.collect::<BTreeSet<_>>().into_iter().collect();
        archs.sort_by_cached_key(|arch| natural_order(arch));
        if archs.is_empty() {
            return String::new();
        }
        let mut text = "\n| arch | images | decompressed |".to_owned();
        text += if before.is_some() { " change |\n|---|--:|--:|--:|\n" } else { "\n|---|--:|--:|\n" };
        for arch in archs.iter().take(MAX_ROWS) {
            let figures = |sizes: &CodeSizes| sizes.archs.get(*arch).copied();
            text += &row(&escape(arch), figures(self), before.map(figures));
        }
        let omitted = archs.iter().skip(MAX_ROWS).count();
        text += &row("all", Some(self.total()), before.map(|before| Some(before.total())));
        if let Some(stored) = self.stored {
            let before = before.and_then(|before| before.stored);
            let change = before.map(|before| format!(" ({})", change(stored, before))).unwrap_or_default();
            text += &format!("\nas stored: {}{change}\n", human_size(stored));
        }
        if omitted > 0 {
            text += &format!("\n{omitted} of {} archs are not shown.\n", archs.len());
        }
        text
    }
}

/// Formats a row: images and bytes now, and before if they are compared.
fn row(arch: &str, now: Option<(u64, u64)>, before: Option<Option<(u64, u64)>>) -> String {
    let (images, size) = now.unwrap_or_default();
    let change = match (now, before) {
        (_, None) => String::new(),
        (Some(_), Some(None)) => " new |".to_owned(),
        (None, Some(_)) => " removed |".to_owned(),
        (Some(_), Some(Some((_, before)))) => format!(" {} |", change(size, before)),
    };
    format!("| {arch} | {images} | {} |{change}\n", human_size(size))
}

/// Formats a change in bytes and in percent.
fn change(now: u64, before: u64) -> String {
    let sign = if now < before { '-' } else { '+' };
    match now.abs_diff(before) {
        0 => "none".to_owned(),
        bytes if before == 0 => format!("{sign}{}", human_size(bytes)),
        bytes => format!("{sign}{} ({sign}{:.1} %)", human_size(bytes), 100.0 * bytes as f64 / before as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(archs: &[(&str, u64)], stored: Option<u64>) -> CodeSizes {
        let mut sizes = CodeSizes { stored, ..CodeSizes::default() };
        for (arch, size) in archs {
            sizes.add_image((*arch).to_owned(), Some(*size));
        }
        sizes
    }

    #[test]
    fn compares_archs_in_natural_order() {
        let before = sizes(&[("sm_90", 2048), ("sm_75", 10)], Some(1000));
        let now = sizes(&[("sm_100", 100), ("sm_90", 1024), ("sm_90", 512)], Some(1000));
        let expected = "\n| arch | images | decompressed | change |\n|---|--:|--:|--:|\n\
            | sm\\_75 | 0 | 0 B | removed |\n\
            | sm\\_90 | 2 | 1.5 KiB | -512 B (-25.0 %) |\n\
            | sm\\_100 | 1 | 100 B | new |\n\
            | all | 3 | 1.6 KiB | -422 B (-20.5 %) |\n\
            \nas stored: 1000 B (none)\n";
        assert_eq!(now.to_markdown(Some(&before)), expected);
        let alone = now.to_markdown(None);
        assert!(alone.contains("\n| sm\\_90 | 2 | 1.5 KiB |\n") && !alone.contains("change"), "{alone}");
        assert_eq!(CodeSizes::default().to_markdown(None), "");
    }

    #[test]
    fn states_how_many_archs_are_not_shown() {
        let names: Vec<String> = (0..100).map(|number| format!("sm_{number}")).collect();
        let archs: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let text = sizes(&archs, None).to_markdown(None);
        assert!(text.ends_with("| all | 100 | 100 B |\n\n40 of 100 archs are not shown.\n"), "{text}");
    }
}
