//! The bytes of an image that belong to one kernel alone, and a hash of its code.
//!
//! In ELF files, they are the function, AMD's kernel descriptor, and the sections whose names end with the name of the
//! kernel, as ptxas and Intel's compilers write them. In PTX, they are the text of the kernel. All other bytes, such as
//! symbols, shared functions and debug information, belong to no kernel.

use std::collections::BTreeMap;
use std::ops::Range;

use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};
use sha2::{Digest, Sha256};

use super::category::Category;
use super::code_hash::{BYTES_PER_STEP, instructions};
use super::elf::{AnyElf, Elf, ElfSection, Width, with_elf};
use super::generated_names::without_generated_names;
use super::layout::{ByteOwner, Layout};
use super::{Demangler, Inspection, Kernel, kernels, ptx};
use crate::base::bytes::{NameMap, Resource, View, claimed, size_of_range, text_work, total};
use crate::base::error::Malformed;
use crate::format::ImageKind;
use crate::format::metal_library::MetalLibrary;
use crate::format::patch_tokens::Program;

/// Bytes of a kernel in an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelBytes {
    /// Name that the runtime looks up.
    pub name: String,
    /// Demangled name, if it differs.
    pub demangled: Option<String>,
    /// Number of bytes that belong to this kernel alone.
    pub size: u64,
    /// Size of its code.
    pub code_size: u64,
    /// SHA-256 of its code and constants. Symbols are hashed by name instead of by number, and the name of the kernel
    /// itself is left out. Equal kernels of two images therefore have equal hashes. Absent if it was not requested, or
    /// if the image does not state which bytes are the code.
    pub body: Option<[u8; 32]>,
}

impl KernelBytes {
    /// Name for readers.
    pub fn shown(&self) -> &str {
        self.demangled.as_ref().unwrap_or(&self.name)
    }
}

/// The kernels of an image, and what is found of each.
struct Found<'k> {
    /// Index of each kernel by its name.
    numbers: NameMap<&'k str, usize>,
    /// In the order of the kernels.
    ranges: Vec<Ranges>,
    bodies: Bodies,
}

impl Found<'_> {
    /// Ranges of the kernel with a name, if its code was not found yet.
    fn without_code(&mut self, name: &str) -> Option<&mut Ranges> {
        let &number = self.numbers.get(name)?;
        self.ranges.get_mut(number).filter(|it| it.code_size.is_none())
    }
}

/// Ranges of the bytes of a kernel.
#[derive(Debug, Default)]
struct Ranges {
    /// Code first.
    own: Vec<Range<u64>>,
    code_size: Option<u64>,
    /// Hash of the code, if it was requested.
    body: Option<Sha256>,
}

/// Sets the number of bytes that belong to each kernel of an image, which is all of `view`, and to none. Errors are
/// ignored, because the inspection has reported them.
pub fn set_own_sizes(image_kind: ImageKind, view: View<'_>, inspection: &mut Inspection) {
    let (ranges, _) = ranges(image_kind, view, &inspection.kernels, Bodies::Skip);
    let owned = owned(&ranges, view);
    for (kernel, size) in inspection.kernels.iter_mut().zip(sizes(&owned, ranges.len())) {
        kernel.own_size = Some(size);
    }
    let mut outside = BTreeMap::<Category, u64>::new();
    for (owner, size) in Layout::read(image_kind, view).owners(owned, view.size()) {
        if owner.kernel.is_none() {
            let sum = outside.entry(owner.category).or_default();
            *sum = total([*sum, size]);
        }
    }
    inspection.outside_kernels = outside.into_iter().collect();
}

/// What is wanted of the bytes of an image.
#[derive(Debug, Clone, Copy)]
pub struct ByteOptions {
    pub bodies: Bodies,
    /// Bytes are told apart by kernel.
    pub by_kernel: bool,
    /// Bytes are told apart by category and section.
    pub by_category: bool,
}

/// Work on the code of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bodies {
    /// Their code is hashed.
    Hash,
    /// Their code is not read.
    Skip,
}

fn ranges(
    image_kind: ImageKind,
    view: View<'_>,
    kernels: &[Kernel],
    bodies: Bodies,
) -> (Vec<Ranges>, Result<(), Malformed>) {
    let ranges = kernels.iter().map(|_| Ranges::default()).collect();
    let mut found = Found { numbers: NameMap::default(), ranges, bodies };
    for (number, kernel) in kernels.iter().enumerate() {
        found.numbers.entry(kernel.name.as_str()).or_insert(number);
    }
    let result = match image_kind {
        ImageKind::Elf => in_elf(view, &mut found),
        ImageKind::Ptx => in_ptx(view, &mut found),
        ImageKind::MetalLibrary => in_metal_library(view, &mut found),
        ImageKind::PatchTokens => in_program(view, &mut found),
        _ => Ok(()),
    };
    (found.ranges, result)
}

/// Ranges of the kernels by their indexes, sorted. Bytes of several kernels belong to the first.
fn owned(ranges: &[Ranges], view: View<'_>) -> Vec<(usize, Range<u64>)> {
    let all = ranges.iter().enumerate().flat_map(|(number, it)| it.own.iter().map(move |own| (number, own.clone())));
    let (numbers, all): (Vec<usize>, Vec<Range<u64>>) = all.unzip();
    let claimed = claimed(&all, &(0..view.size())).into_iter();
    claimed.filter_map(|(index, own)| Some((*numbers.get(index)?, own))).collect()
}

/// Number of bytes in the ranges of each kernel.
fn sizes(owned: &[(usize, Range<u64>)], count: usize) -> Vec<u64> {
    let mut sizes = vec![0; count];
    for (number, range) in owned {
        if let Some(size) = sizes.get_mut(*number) {
            *size = total([*size, size_of_range(range)]);
        }
    }
    sizes
}

/// The bytes of an image by what they are for.
#[derive(Debug, Default)]
pub struct ImageBreakdown {
    pub kernels: Vec<KernelBytes>,
    /// Names of sections.
    pub sections: Vec<String>,
    /// Bytes of each owner, sorted. They add up to the size of the image.
    pub owners: Vec<(ByteOwner, u64)>,
}

/// Divides the bytes of an image, which is all of `view`, and returns the inspection that found the kernels.
pub fn image_breakdown(
    image_kind: ImageKind,
    view: View<'_>,
    options: ByteOptions,
    demangler: &Demangler,
) -> (ImageBreakdown, Inspection) {
    let mut inspection = kernels(image_kind, view, demangler);
    let (ranges, found) = ranges(image_kind, view, &inspection.kernels, options.bodies);
    let owned = owned(&ranges, view);
    let sizes = sizes(&owned, ranges.len());
    let layout = if options.by_category { Layout::read(image_kind, view) } else { Layout::default() };
    let owners = layout.owners(if options.by_kernel { owned } else { Vec::new() }, view.size());
    let kernels = inspection.kernels.iter().zip(ranges).zip(sizes).map(|((kernel, ranges), size)| KernelBytes {
        name: kernel.name.clone(),
        demangled: kernel.demangled.clone(),
        size,
        code_size: ranges.code_size.unwrap_or_default(),
        body: ranges.body.map(|hash| hash.finalize().into()),
    });
    let kernels = kernels.collect();
    inspection.problems.extend(found.err());
    (ImageBreakdown { kernels, sections: layout.sections, owners }, inspection)
}

/// Hashes of the code of kernels of an image, which is all of `view`, in the order of the kernels; see
/// [`KernelBytes::body`].
pub fn kernel_codes(
    image_kind: ImageKind,
    view: View<'_>,
    kernels: &[Kernel],
) -> Result<Vec<Option<[u8; 32]>>, Malformed> {
    let (ranges, found) = ranges(image_kind, view, kernels, Bodies::Hash);
    found?;
    Ok(ranges.into_iter().map(|ranges| ranges.body.map(|hash| hash.finalize().into())).collect())
}

/// Suffix of the symbols of AMD's kernel descriptors, and the size of a descriptor.
const DESCRIPTOR_SUFFIX: &str = ".kd";
const DESCRIPTOR_SIZE: u64 = 64;

fn in_elf(view: View<'_>, found: &mut Found<'_>) -> Result<(), Malformed> {
    // The inspection has reported the same errors.
    let Ok(elf) = AnyElf::read(view) else { return Ok(()) };
    with_elf!(elf, elf => in_sections(&elf, found))
}

fn in_sections(elf: &Elf<'_, impl Width>, found: &mut Found<'_>) -> Result<(), Malformed> {
    let view = elf.view;
    let mut constants = Vec::new();
    for function in elf.functions() {
        let section = function.section.and_then(|index| elf.file.section_by_index(index).ok());
        let bodies = found.bodies;
        if let (Some(ranges), Some(section)) = (found.without_code(function.name), section)
            && let Some(code) = range_in(&section, elf.without_base(function.entry), function.size, elf)
        {
            ranges.own.push(code.clone());
            ranges.code_size = Some(function.size);
            if bodies == Bodies::Hash {
                ranges.body = Some(code_hash(elf, &section, code.clone(), function.name)?);
            }
        }
    }
    for section in elf.file.sections() {
        let name = section.name().unwrap_or_default();
        view.charge("ELF section", Resource::Work, text_work(name.len()))?;
        let Some((prefix, number)) = kernel_of_section(name, &found.numbers) else { continue };
        if elf.file_range(&section).is_none() {
            continue;
        }
        let Some(ranges) = found.ranges.get_mut(number) else { continue };
        ranges.own.push(elf.bytes(&section)?.range_in(view));
        if prefix.starts_with(CONSTANTS) && ranges.body.is_some() {
            constants.push((number, section.index()));
        }
    }
    for (number, index) in constants {
        let section = elf.file.section_by_index(index);
        if let (Ok(section), Some(hash)) = (section, found.ranges.get_mut(number).and_then(|it| it.body.as_mut())) {
            update(hash, elf.bytes(&section)?)?;
        }
    }
    described(elf, found)
}

/// Prefix of the sections with the constants of a kernel in cubins.
const CONSTANTS: &str = ".nv.constant";

/// Adds the kernel descriptors of AMD's code objects.
fn described(elf: &Elf<'_, impl Width>, found: &mut Found<'_>) -> Result<(), Malformed> {
    let mut is_known = vec![false; found.ranges.len()];
    for symbol in elf.file.symbols().chain(elf.file.dynamic_symbols()) {
        elf.charge_symbol(&symbol)?;
        let name = symbol.name().ok().and_then(|name| name.strip_suffix(DESCRIPTOR_SUFFIX));
        let Some(&number) = name.and_then(|name| found.numbers.get(name)) else { continue };
        let section = symbol.section_index().and_then(|index| elf.file.section_by_index(index).ok());
        let (Some(ranges), Some(is_known)) = (found.ranges.get_mut(number), is_known.get_mut(number)) else { continue };
        if let (Some(section), false) = (section, *is_known) {
            *is_known = true;
            ranges.own.extend(range_in(&section, symbol.address(), DESCRIPTOR_SIZE, elf));
        }
    }
    Ok(())
}

/// Maximum number of dots that precede the name of a kernel in the name of a section: `.rela.nv.constant2.` has three.
const MAX_DOTS: usize = 6;

/// Returns the kernel whose name ends the name of a section, and the prefix before it.
fn kernel_of_section<'a>(name: &'a str, numbers: &NameMap<&str, usize>) -> Option<(&'a str, usize)> {
    let dots = name.match_indices('.').map(|(at, _)| at).skip(1).take(MAX_DOTS);
    dots.filter_map(|at| name.split_at_checked(at))
        .find_map(|(prefix, rest)| Some((prefix, *numbers.get(rest.strip_prefix('.')?)?)))
}

/// Returns the file range of `size` bytes at an address in a section.
pub fn range_in<W: Width>(
    section: &ElfSection<'_, '_, W>,
    address: u64,
    size: u64,
    elf: &Elf<'_, W>,
) -> Option<Range<u64>> {
    let (start, stored) = elf.file_range(section)?;
    // In relocatable files and cubins, addresses are offsets in the section.
    let offset = if elf.has_section_bases() { address } else { address.checked_sub(section.address())? };
    let end = offset.checked_add(size).filter(|&end| end <= stored)?;
    Some(start.checked_add(offset)?..start.checked_add(end)?)
}

/// Hashes the code of a function and its relocations, including the names of the symbols that they refer to.
fn code_hash<W: Width>(
    elf: &Elf<'_, W>,
    section: &ElfSection<'_, '_, W>,
    code: Range<u64>,
    own_name: &str,
) -> Result<Sha256, Malformed> {
    let mut hash = Sha256::new();
    let code = elf.view.between("function", code)?;
    update(&mut hash, code)?;
    let start = code.range_in(elf.bytes(section)?).start;
    for (offset, relocation) in section.relocations() {
        elf.view.charge("relocation", Resource::Work, 1)?;
        let Some(offset) = offset.checked_sub(start).filter(|&offset| offset < code.size()) else { continue };
        let target = match relocation.target() {
            RelocationTarget::Symbol(index) => elf.file.symbol_by_index(index).ok(),
            _ => None,
        };
        let name = target.and_then(|symbol| symbol.name_bytes().ok()).unwrap_or_default();
        elf.view.charge("relocation", Resource::Work, text_work(name.len()))?;
        hash.update(offset.to_le_bytes());
        if let RelocationFlags::Elf { r_type } = relocation.flags() {
            hash.update(r_type.0.to_le_bytes());
        }
        hash.update(relocation.addend().to_le_bytes());
        let name = if name == own_name.as_bytes() { b"" } else { name };
        hash.update(without_generated_names(name));
    }
    Ok(hash)
}

/// Hashes bytes. If parts of a file overlap, this can exceed the budget.
fn update(hash: &mut Sha256, bytes: View<'_>) -> Result<(), Malformed> {
    bytes.charge("section", Resource::Work, bytes.size() / BYTES_PER_STEP)?;
    hash.update(bytes.size().to_le_bytes());
    hash.update(bytes.data());
    Ok(())
}

fn in_ptx(view: View<'_>, found: &mut Found<'_>) -> Result<(), Malformed> {
    // Replacing invalid bytes would change the ranges.
    let Ok(text) = std::str::from_utf8(view.data()) else { return Ok(()) };
    for (name, range) in ptx::bodies(text) {
        let bodies = found.bodies;
        let (Some(ranges), Some(body)) = (found.without_code(name), text.get(range.clone())) else { continue };
        view.charge("PTX function", Resource::Work, range.len() as u64 / BYTES_PER_STEP)?;
        if bodies == Bodies::Hash {
            let mut hash = Sha256::new();
            // Parameters contain the name of the kernel, too.
            instructions(&without_generated_names(body.replace(name, "").as_bytes()), &mut hash);
            ranges.body = Some(hash);
        }
        ranges.code_size = Some(range.len() as u64);
        ranges.own.push(range.start as u64..range.end as u64);
    }
    Ok(())
}

fn in_metal_library(view: View<'_>, found: &mut Found<'_>) -> Result<(), Malformed> {
    let mut functions = MetalLibrary::read(view)?.functions();
    functions.try_for_each(|it| it.and_then(|it| add(found, it.name, it.module, it.module.range_in(view))))
}

fn in_program(view: View<'_>, found: &mut Found<'_>) -> Result<(), Malformed> {
    Program::read(view)?.kernels.iter().try_for_each(|it| add(found, it.name, it.code, it.whole.range_in(view)))
}

/// Adds the code of a kernel that is in one place, and its own bytes.
fn add(found: &mut Found<'_>, name: &str, code: View<'_>, own: Range<u64>) -> Result<(), Malformed> {
    let is_hashed = found.bodies == Bodies::Hash;
    let Some(ranges) = found.without_code(name) else { return Ok(()) };
    if is_hashed {
        code.charge("kernel", Resource::Work, code.size() / BYTES_PER_STEP)?;
        ranges.body = Some(Sha256::new_with_prefix(code.data()));
    }
    ranges.code_size = Some(code.size());
    ranges.own.push(own);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::elf::Header64;
    use super::*;

    const ALL: ByteOptions = ByteOptions { bodies: Bodies::Hash, by_kernel: true, by_category: true };

    fn of(kind: ImageKind, bytes: &[u8]) -> Vec<KernelBytes> {
        let (found, inspection) = image_breakdown(kind, View::new(bytes), ALL, &Demangler::default());
        assert_eq!(inspection.problems, []);
        assert_eq!(found.owners.iter().map(|(_, size)| size).sum::<u64>(), bytes.len() as u64);
        found.kernels
    }

    #[test]
    fn bytes_of_a_kernel_are_its_code_and_its_sections() {
        let cubin = include_bytes!("../../../fixtures/answer-sm_90.cubin");
        let [kernel] = &of(ImageKind::Elf, cubin)[..] else { panic!("one kernel") };
        let elf = Elf::<Header64>::read(View::new(cubin)).unwrap();
        let own = elf.file.sections().filter(|it| it.name().is_ok_and(|name| name.ends_with(&kernel.name)));
        let own: u64 = own.filter_map(|it| it.file_range()).map(|(_, size)| size).sum();
        assert_eq!(kernel.size, own);
        let inspection = crate::image::inspect_with_own_sizes(ImageKind::Elf, View::new(cubin));
        assert_eq!(inspection.kernels[0].own_size, Some(own));
        assert!(kernel.body.is_some() && kernel.code_size > 0 && kernel.code_size < own);

        let hsaco = include_bytes!("../../../fixtures/answer-gfx90a.hsaco");
        let [kernel] = &of(ImageKind::Elf, hsaco)[..] else { panic!("one kernel") };
        assert_eq!(kernel.size, kernel.code_size + DESCRIPTOR_SIZE);
        assert!(kernel.body.is_some());
    }

    #[test]
    fn kernels_of_ptx_are_equal_whatever_their_names() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry f(.param .u64 f_param_0) { // here\n ret; }\n\
                    .entry g(.param .u64 g_param_0) {\n ret; }\n.entry h() { exit; }\n";
        let [f, g, h] = &of(ImageKind::Ptx, text.as_bytes())[..] else { panic!("three kernels") };
        assert!(f.body.is_some() && f.body != h.body);
        assert_eq!(g.size, ".entry g(.param .u64 g_param_0) {\n ret; }".len() as u64);
        assert_ne!(f.body, g.body, "a comment at the end of a line");
        let plain = text.replace(" // here", "");
        let [f, g, _] = &of(ImageKind::Ptx, plain.as_bytes())[..] else { panic!("three kernels") };
        assert_eq!(f.body, g.body);
    }

    #[test]
    fn sections_belong_to_the_kernel_at_the_end_of_their_names() {
        let numbers = NameMap::from_iter([("f", 0), ("a.f", 1)]);
        let cases = [
            (".text.f", Some((".text", 0))),
            (".rela.nv.constant0.a.f", Some((".rela.nv.constant0", 1))),
            (".text.g", None),
            (".f", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(kernel_of_section(name, &numbers), expected, "{name}");
        }
    }

    #[test]
    fn truncated_and_damaged_images_do_not_panic() {
        for bytes in [
            &include_bytes!("../../../fixtures/answer-sm_90.cubin")[..],
            include_bytes!("../../../fixtures/answer-gfx90a.hsaco"),
        ] {
            for at in (0..bytes.len()).step_by(7) {
                image_breakdown(ImageKind::Elf, View::new(&bytes[..at]), ALL, &Demangler::default());
                let mut broken = bytes.to_vec();
                broken[at] ^= 0xff;
                let (found, _) = image_breakdown(ImageKind::Elf, View::new(&broken), ALL, &Demangler::default());
                assert_eq!(found.owners.iter().map(|(_, size)| size).sum::<u64>(), bytes.len() as u64);
                for kernel in found.kernels {
                    assert!(kernel.size <= bytes.len() as u64);
                }
            }
        }
    }
}
