//! The bytes of an image by its sections.

use object::{Object, ObjectSection};

use super::elf::Elf;
use crate::base::bytes::{View, total};
use crate::format::ImageKind;

/// Sections of cubins that exist once for each kernel or function, whose name follows.
const PER_KERNEL: [&str; 8] = [
    ".text.",
    ".nv.info.",
    ".nv.shared.",
    ".nv.local.",
    ".rel.text.",
    ".rela.text.",
    ".nv.capmerc.text.",
    ".nv.merc.nv.info.",
];

/// Returns the names of the sections of an ELF image and the bytes that each takes in the file. The sections of the
/// kernels of a cubin have one name. Other images have no sections.
pub fn section_bytes(image_kind: ImageKind, view: View<'_>) -> Vec<(String, u64)> {
    let elf = if image_kind == ImageKind::Elf { Elf::read(view).ok() } else { None };
    let mut sections: Vec<(String, u64)> = Vec::new();
    for section in elf.iter().flat_map(|elf| elf.file.sections()) {
        let Some((_, size)) = section.file_range().filter(|(_, size)| *size > 0) else { continue };
        let name = String::from_utf8_lossy(section.name_bytes().unwrap_or_default());
        let name = common_name(&name);
        match sections.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum = total([*sum, size]),
            None => sections.push((name.to_owned(), size)),
        }
    }
    sections
}

/// Cuts the name of the kernel.
fn common_name(name: &str) -> &str {
    let prefix = PER_KERNEL.iter().find(|prefix| name.starts_with(**prefix)).copied();
    // `.nv.constant0.KERNEL`
    let constant = || {
        let (_, kernel) = name.strip_prefix(".nv.constant")?.split_once('.')?;
        name.strip_suffix(kernel)
    };
    prefix.or_else(constant).map_or(name, |prefix| prefix.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_kernels_have_one_name() {
        let cases = [
            (".text._Z1fv", ".text"),
            (".nv.constant0._Z1fv", ".nv.constant0"),
            (".nv.constant3", ".nv.constant3"),
            (".nv.info._Z1fv", ".nv.info"),
            (".nv.info", ".nv.info"),
            (".symtab", ".symtab"),
        ];
        for (name, expected) in cases {
            assert_eq!(common_name(name), expected);
        }
    }

    #[test]
    fn lists_the_sections_of_images() {
        let view = View::new(include_bytes!("../../fixtures/answer-sm_90.cubin"));
        let sections = section_bytes(ImageKind::Elf, view);
        for name in [".text", ".symtab", ".strtab", ".nv.info"] {
            assert!(sections.iter().any(|(known, size)| known == name && *size > 0), "{name}: {sections:?}");
        }
        assert!(sections.iter().map(|(_, size)| size).sum::<u64>() < view.size());
        assert!(section_bytes(ImageKind::Ptx, view).is_empty());
    }
}
