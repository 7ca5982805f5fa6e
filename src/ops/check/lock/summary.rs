//! Summaries of locks, for readers: a line for each architecture of a file, and one for each family of kernels.
//!
//! ```text
//! fatbin.lock-summary/1
//!
//! file lib/libsaxpy.so size=22376 stored=3600 images=2 kernels=2
//!   arch gfx90a images=1 size=3456 kernels=1 code_size=32
//!   arch gfx942 images=1 size=3456 kernels=1 code_size=36
//!   family saxpy names=1 kernels=2 code_size=68
//! ```
//!
//! A family is the instances of a template and the overloads of a function; `names` is the number of these. `archs` is
//! written where a family is not in all architectures of the file. `code_size` is the total of all kernels with a known
//! code size: PTX has none. A summary has no hashes, so it is not compared.

use std::collections::{BTreeMap, BTreeSet};

use super::size::sum;
use super::text::{number, quoted, write_file_entry};
use super::{KernelName, LockedFile, LockedImage, LockedKernel};
use fatbin_core::image::family;
use fatbin_core::target::natural_order;

/// The first line: format and version.
pub const HEADER: &str = "fatbin.lock-summary/1";

const NOTE: &str = "# For readers; `fatbin diff` compares locks, which are written without --summary.\n";

/// The first lines of a summary.
pub fn head() -> String {
    format!("{HEADER}\n{NOTE}")
}

/// Writes the entries of a file.
pub fn write_file(text: &mut String, file: &LockedFile) {
    write_file_entry(text, file);
    let kernels = file.images.iter().map(|image| image.kernels.len()).sum::<usize>();
    *text += &format!(" images={} kernels={kernels}\n", file.images.len());
    let mut archs: BTreeMap<_, Vec<&LockedImage>> = BTreeMap::new();
    for image in &file.images {
        archs.entry((natural_order(arch(image)), &image.target.image)).or_default().push(image);
    }
    for ((_, format), images) in &archs {
        write_arch(text, format, images);
    }
    let all: BTreeSet<&str> = file.images.iter().filter(|image| !image.kernels.is_empty()).map(arch).collect();
    for (name, family) in families(file) {
        *text += &format!("  family {} names={} kernels={}", quoted(&name), family.names.len(), family.kernels);
        number(text, "code_size", family.code_size);
        if family.archs != all {
            let mut archs: Vec<&str> = family.archs.into_iter().collect();
            archs.sort_by_cached_key(|arch| natural_order(arch));
            *text += &format!(" archs={}", quoted(&archs.join(",")));
        }
        *text += "\n";
    }
}

fn write_arch(text: &mut String, format: &str, images: &[&LockedImage]) {
    *text += &format!("  arch {}", quoted(images.first().map_or("-", |image| arch(image))));
    if format != "elf" {
        *text += &format!(" image={}", quoted(format));
    }
    *text += &format!(" images={}", images.len());
    number(text, "stored", sum(images.iter().map(|image| image.stored)));
    number(text, "size", sum(images.iter().map(|image| image.size)));
    let kernels = || images.iter().flat_map(|image| &image.kernels);
    *text += &format!(" kernels={}", kernels().count());
    number(text, "code_size", known_sum(kernels().map(LockedKernel::code_size)));
    *text += "\n";
}

fn arch(image: &LockedImage) -> &str {
    image.target.arch.as_deref().unwrap_or("-")
}

/// Kernels of a family in a file.
#[derive(Default)]
struct Family<'a> {
    names: BTreeSet<&'a KernelName>,
    archs: BTreeSet<&'a str>,
    kernels: u64,
    code_size: Option<u64>,
}

fn families(file: &LockedFile) -> BTreeMap<String, Family<'_>> {
    let mut by_name: BTreeMap<&KernelName, Family<'_>> = BTreeMap::new();
    for image in &file.images {
        for kernel in &image.kernels {
            let family = by_name.entry(&kernel.name).or_default();
            family.names.insert(&kernel.name);
            family.archs.insert(arch(image));
            family.kernels = family.kernels.saturating_add(1);
            family.code_size = known_sum([family.code_size, kernel.code_size()]);
        }
    }
    let mut families: BTreeMap<String, Family<'_>> = BTreeMap::new();
    for (name, kernels) in by_name {
        let known = families.entry(family(name.demangled().unwrap_or(name.as_str()))).or_default();
        known.names.extend(kernels.names);
        known.archs.extend(kernels.archs);
        known.kernels = [known.kernels, kernels.kernels].iter().sum();
        known.code_size = known_sum([known.code_size, kernels.code_size]);
    }
    families
}

/// Returns the sum of the known sizes; `None` if none is known.
fn known_sum(sizes: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    sizes.into_iter().flatten().reduce(u64::saturating_add)
}
