//! Hashes of kernels, which locks have.

use object::{Object, ObjectSection};

use super::{Bodies, ByteOptions, Demangler, image_breakdown};
use crate::base::bytes::View;
use crate::format::ImageKind;

const HASHES: ByteOptions = ByteOptions { bodies: Bodies::Hash, by_kernel: true, by_category: true };

/// A cubin whose code has the relocation of its `.debug_frame`.
fn relocated() -> Vec<u8> {
    let mut cubin = include_bytes!("../../../fixtures/answer-sm_90.cubin").to_vec();
    let file = object::File::parse(&*cubin).unwrap();
    let number = |name: &str| file.section_by_name(name).unwrap().index().0;
    let (code, relocations) = (number(".text.answer_kernel"), number(".rela.debug_frame"));
    let headers = u64::from_le_bytes(cubin[40..48].try_into().unwrap()) as usize;
    // `sh_info`, the section that the relocations are for.
    cubin[headers + relocations * 64 + 44] = code as u8;
    cubin
}

/// Locks have these hashes. A lock of an earlier build holds after an upgrade of a crate.
#[test]
fn hashes_of_code_are_the_same_in_every_build() {
    let cases: [(ImageKind, &[u8]); 4] = [
        (ImageKind::Elf, include_bytes!("../../../fixtures/answer-sm_90.cubin")),
        (ImageKind::Elf, &relocated()),
        (ImageKind::Elf, include_bytes!("../../../fixtures/answer-gfx90a.hsaco")),
        (ImageKind::Ptx, include_bytes!("../../../fixtures/answer-sm_80.ptx")),
    ];
    let hashes = cases.map(|(kind, bytes)| {
        let (found, _) = image_breakdown(kind, View::new(bytes), HASHES, &Demangler::default());
        let hash = found.kernels[0].body.unwrap();
        hash[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    });
    assert_eq!(hashes, ["de02133b54301ef7", "8f5d0993dfda019b", "fe8fa18f50b899a7", "5d4b89b26ca3c138"]);
}
