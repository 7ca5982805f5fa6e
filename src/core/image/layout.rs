//! The bytes of an image by category, section and kernel. Each byte is counted once.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Range;

use object::read::elf::SectionHeader;
use object::{Object, ObjectSection};

use super::category::Category;
use super::elf::{AnyElf, Elf, Width, with_elf};
use super::{ptx, spirv};
use crate::base::bytes::{NameMap, View, claimed, entries_size, size_of_range, total};
use crate::base::range::range_at;
use crate::format::ImageKind;
use crate::format::metal_library::MetalLibrary;
use crate::format::patch_tokens::Program;

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

/// Owner of bytes in an image. In this order, the code of a kernel precedes its other bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteOwner {
    /// Index of the kernel; `None` for bytes of no kernel.
    pub kernel: Option<usize>,
    pub category: Category,
    /// Index of the name of the section; `None` for bytes of no section.
    pub section: Option<usize>,
}

/// Ranges of an image by category and section.
#[derive(Debug, Default)]
pub struct Layout {
    /// Names of sections. The sections of the kernels of a cubin have one name.
    pub sections: Vec<String>,
    ranges: Vec<Range<u64>>,
    /// Category and section of each range.
    uses: Vec<(Category, Option<usize>)>,
    /// Category of all other bytes.
    rest: Category,
}

impl Layout {
    /// Reads the layout of an image, which is all of `view`. An image that cannot be read has undivided bytes.
    pub fn read(image_kind: ImageKind, view: View<'_>) -> Layout {
        match image_kind {
            ImageKind::Elf => match AnyElf::read(view) {
                Ok(elf) => with_elf!(elf, elf => Layout::of_elf(&elf)),
                Err(_) => Layout::default(),
            },
            ImageKind::Ptx => Layout::of_ranges(ptx::debug_lines(view.data()), Category::Debug, Category::Undivided),
            ImageKind::SpirV => {
                let (ranges, categories): (Vec<_>, Vec<_>) = spirv::categories(view).into_iter().unzip();
                let uses = categories.into_iter().map(|category| (category, None)).collect();
                Layout { ranges, uses, ..Layout::default() }
            }
            ImageKind::PatchTokens => match Program::read(view) {
                Ok(program) => {
                    let codes = program.kernels.iter().map(|kernel| kernel.code.range_in(view)).collect();
                    Layout::of_ranges(codes, Category::Code, Category::Attributes)
                }
                Err(_) => Layout::default(),
            },
            ImageKind::MetalLibrary => match MetalLibrary::read(view) {
                Ok(library) => {
                    let functions = library.functions().map_while(Result::ok);
                    let modules = functions.map(|function| function.module.range_in(view)).collect();
                    Layout::of_ranges(modules, Category::Undivided, Category::Metadata)
                }
                Err(_) => Layout::default(),
            },
            _ => Layout::default(),
        }
    }

    fn of_ranges(ranges: Vec<Range<u64>>, category: Category, rest: Category) -> Layout {
        Layout { uses: vec![(category, None); ranges.len()], ranges, rest, sections: Vec::new() }
    }

    fn of_elf<W: Width>(elf: &Elf<'_, W>) -> Layout {
        let mut layout = Layout { rest: Category::Padding, ..Layout::default() };
        let header = elf.file.elf_header();
        let endian = elf.file.endian();
        let segments = size_of_val(elf.file.elf_program_headers()) as u64;
        let sections = entries_size(elf.file.elf_section_table().len() as u64, size_of::<W::SectionHeader>() as u64);
        let tables = [(header.e_phoff(endian).into(), segments), (header.e_shoff(endian).into(), sections)];
        for (start, size) in [(0, size_of_val(header) as u64)].into_iter().chain(tables) {
            layout.ranges.push(range_at(start, size));
            layout.uses.push((Category::Headers, None));
        }
        let mut numbers = NameMap::default();
        for section in elf.file.sections() {
            let Some((offset, size)) = elf.file_range(&section) else { continue };
            let name = section.name_bytes().unwrap_or_default();
            let fields = section.elf_section_header();
            let category = Category::of_section(name, fields.sh_type(endian), fields.sh_flags(endian));
            let name = common_name(&String::from_utf8_lossy(name)).to_owned();
            let number = *numbers.entry(name.clone()).or_insert_with(|| {
                layout.sections.push(name);
                layout.sections.len().abs_diff(1)
            });
            layout.ranges.push(range_at(offset, size));
            layout.uses.push((category, Some(number)));
        }
        layout
    }

    /// Sums the bytes of each owner in an image of this size. The ranges of kernels are sorted, with the index of the
    /// kernel, and do not overlap. A byte in several sections belongs to the section that begins first.
    pub fn owners(&self, kernels: Vec<(usize, Range<u64>)>, size: u64) -> Vec<(ByteOwner, u64)> {
        let mut sums = BTreeMap::<ByteOwner, u64>::new();
        let mut ranges = claimed(&self.ranges, &(0..size)).into_iter().peekable();
        let mut kernels = kernels.into_iter().peekable();
        let mut at = 0;
        while at < size {
            let (range, range_end) = owner_at(&mut ranges, at, size);
            let (kernel, kernel_end) = owner_at(&mut kernels, at, size);
            let (category, section) = range.and_then(|it| self.uses.get(it)).copied().unwrap_or((self.rest, None));
            let end = range_end.min(kernel_end);
            let sum = sums.entry(ByteOwner { kernel, category, section }).or_default();
            *sum = total([*sum, size_of_range(&(at..end))]);
            at = end;
        }
        sums.into_iter().collect()
    }
}

/// Returns the owner of a byte, and the end of the bytes from there on that have the same owner. Ranges before the byte
/// are dropped.
fn owner_at(
    ranges: &mut Peekable<impl Iterator<Item = (usize, Range<u64>)>>,
    at: u64,
    size: u64,
) -> (Option<usize>, u64) {
    while ranges.next_if(|(_, range)| range.end <= at).is_some() {}
    match ranges.peek() {
        Some((owner, range)) if range.start <= at => (Some(*owner), range.end),
        Some((_, range)) => (None, range.start),
        None => (None, size),
    }
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
    use crate::format::DeviceImage;

    /// Bytes by category, as text. Checks that they add up.
    fn categories(bytes: &[u8]) -> Vec<String> {
        let view = View::new(bytes);
        let kind = DeviceImage::identify(view).image_kind;
        let owners = Layout::read(kind, view).owners(Vec::new(), view.size());
        assert_eq!(owners.iter().map(|(_, size)| size).sum::<u64>(), view.size());
        let mut sums = BTreeMap::new();
        for (owner, size) in owners {
            *sums.entry(owner.category.name(kind)).or_insert(0) += size;
        }
        sums.into_iter().map(|(name, size)| format!("{name} {size}")).collect()
    }

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
    fn bytes_of_elf_images_have_the_category_of_their_section() {
        let expected = [
            "attributes 120",
            "code 256",
            "constants 536",
            "debug 104",
            "headers 1304",
            "metadata 68",
            "notes 192",
            "padding 57",
            "relocations 24",
            "symbols 651",
        ];
        assert_eq!(categories(include_bytes!("../../../fixtures/answer-sm_90.cubin")), expected);
        let debug = categories(include_bytes!("../../../fixtures/answer-gfx90a-debug.hsaco"));
        assert!(debug.contains(&"code 1088".to_owned()) && debug.contains(&"debug 435".to_owned()), "{debug:?}");
        let zebin = categories(include_bytes!("../../../fixtures/answer-dg2.zebin"));
        assert!(zebin.contains(&"attributes 1271".to_owned()), "{zebin:?}");
    }

    #[test]
    fn other_images_have_undivided_bytes() {
        let text = b".version 8.0\n.target sm_80\n.entry f()\n{\n\t.loc 1 2 3\nret;\n}\n\t.file 1 \"k.cu\"\n\
                     .section .debug_str\n{\n.b8 0\n}\n";
        assert_eq!(categories(text), ["debug 58", "ptx 47"]);
        let metal = categories(include_bytes!("../../../fixtures/answer.metallib"));
        assert!(metal.len() == 2 && metal[1].starts_with("metallib "), "{metal:?}");
        assert_eq!(categories(include_bytes!("../../../fixtures/answer.tilebc")).len(), 1);
        assert_eq!(categories(b"\x7fELF, but damaged"), ["elf 17"]);
    }

    #[test]
    fn truncated_and_damaged_images_add_up() {
        for name in ["answer-sm_90-debug.cubin", "answer-gfx90a.hsaco", "answer-dg2.zebin", "answer.metallib"] {
            let bytes = std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
            for at in (0..bytes.len()).step_by(5) {
                categories(&bytes[..at]);
                let mut broken = bytes.clone();
                broken[at] ^= 0xff;
                categories(&broken);
            }
        }
    }

    #[test]
    fn bytes_belong_to_a_kernel_and_a_section() {
        let layout = Layout {
            sections: vec![".text".to_owned()],
            ranges: vec![0..4, 6..20, 8..10],
            uses: vec![(Category::Headers, None), (Category::Code, Some(0)), (Category::Data, None)],
            rest: Category::Padding,
        };
        let owner = |kernel, category, section| ByteOwner { kernel, category, section };
        let expected = [
            (owner(None, Category::Code, Some(0)), 4),
            (owner(None, Category::Headers, None), 4),
            (owner(None, Category::Padding, None), 6),
            (owner(Some(0), Category::Code, Some(0)), 4),
            (owner(Some(1), Category::Code, Some(0)), 6),
            (owner(Some(1), Category::Padding, None), 1),
        ];
        assert_eq!(layout.owners(vec![(0, 8..12), (1, 14..21)], 25), expected);
    }
}
