//! Intel's graphics processors, as zebin files state them.

use object::elf;

/// ELF machine of Intel's graphics processors (registry of ELF machines).
pub const EM_INTELGT: elf::Machine = elf::Machine(205);

/// Owner of the notes about the target, and their types: number of the product family, and version of its architecture (Intel,
/// compute-runtime, `zebin_elf.h`).
pub const NOTE_OWNER: &[u8] = b"IntelGT";
pub const NOTE_PRODUCT_FAMILY: u32 = 1;
pub const NOTE_PRODUCT_CONFIG: u32 = 6;

/// Names of the processors, as ocloc and DPC++ have them, by the number of the product family. Source: the output of ocloc
/// 22.43 for each name; from 1272 on intel-graphics-compiler, `igfxfmid.h`.
const PRODUCTS: [(u32, &str); 23] = [
    (16, "bdw"),
    (18, "skl"),
    (19, "kbl"),
    (20, "cfl"),
    (22, "apl"),
    (23, "glk"),
    (26, "icllp"),
    (27, "lkf"),
    (28, "ehl"),
    (29, "tgllp"),
    (30, "rkl"),
    (31, "adls"),
    (32, "adlp"),
    (33, "adln"),
    (1210, "dg1"),
    (1250, "xehp_sdv"),
    (1270, "dg2"),
    (1271, "pvc"),
    (1272, "mtl"),
    (1273, "arl"),
    (1274, "bmg"),
    (1275, "lnl"),
    (1300, "ptl"),
];

/// Returns the name of a product family; `None` for an unknown one.
pub fn product_name(number: u32) -> Option<&'static str> {
    PRODUCTS.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// Returns the version of an architecture in the form of ocloc, such as `12.55.8`: 10 bits, 8 bits and, after 8 bits that are
/// reserved, 6 bits (Intel, compute-runtime, `hw_ip_version`).
pub fn ip_version(config: u32) -> String {
    format!("{}.{}.{}", config >> 22, config >> 14 & 0xff, config & 0x3f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_have_unique_numbers_in_order_and_unique_names() {
        assert!(PRODUCTS.is_sorted_by(|(one, _), (other, _)| one < other));
        let names: std::collections::BTreeSet<_> = PRODUCTS.iter().map(|(_, name)| name).collect();
        assert_eq!(names.len(), PRODUCTS.len());
        assert_eq!((product_name(1271), product_name(1)), (Some("pvc"), None));
    }

    #[test]
    fn versions_have_three_parts() {
        assert_eq!(ip_version(12 << 22 | 55 << 14 | 8), "12.55.8");
        assert_eq!(ip_version(20 << 22 | 1 << 14 | 4), "20.1.4");
    }
}
