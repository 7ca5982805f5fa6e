//! Names that compilers generate anew for each build: identifiers of translation units, and names of temporary files.
//!
//! They are derived from paths, process numbers or the clock, and are part of the names of static functions and
//! variables. Two builds of one source therefore differ in them. Sources: output of nvcc 13.0 and 13.5
//! (`__nv_static_25__debbe712_4_k_cu_3c7ab8be_x`, `tmpxft_00006241_00000000-6_k.ptx`), and clang's `CodeGenModule.cpp`
//! (`__hip_cuid_…`, `.static.…`, `.intern.…`), and output of clang 14 to 22 for OpenMP: device and inode of the source file
//! (`__omp_offloading_fe00_99435b_main_l3`).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::{Captures, Regex};

use crate::base::bytes::NameMap;

/// Pattern of generated names. The groups `a` and `b` are the generated parts of an identifier, and `temporary` is the
/// name of a temporary file.
static GENERATED: LazyLock<Regex> = LazyLock::new(|| {
    let nvcc = "_(?<a>[0-9a-f]{8})_[0-9]{1,3}_[0-9A-Za-z_]{1,200}?_(?<b>[0-9a-f]{8}(?:_[0-9]+)?)";
    let clang = r"(?:__hip_cuid_|\.static\.|\.intern\.|__static__|__intern__)(?<c>[0-9a-f]{8,32})";
    let openmp = "__omp_offloading_(?<d>[0-9a-f]{1,16})_(?<e>[0-9a-f]{1,16})_";
    let temporary = "(?<temporary>tmpxft_[0-9a-f]{8}_[0-9a-f]{8}[-_][0-9a-f]+)";
    Regex::new(&format!("(?-u){temporary}|{openmp}|{nvcc}|{clang}")).expect("valid pattern")
});

/// Minimum number of hexadecimal digits in a generated part. It follows `_` or `.`.
const DIGITS: usize = 8;

/// Quick check for generated names: true if digits follow `_` or `.` anywhere. Few texts have any, and most of the time
/// would be spent in the regular expression. One of so many digits in a row is at a multiple of their number.
fn may_have_generated_names(text: &[u8]) -> bool {
    memmem::find(text, OPENMP).is_some() || has_digits(text)
}

/// Start of the names of OpenMP's kernels, whose numbers may have few digits.
const OPENMP: &[u8] = b"__omp_offloading_";

fn has_digits(text: &[u8]) -> bool {
    (0..text.len()).step_by(DIGITS).filter_map(|at| text.split_at_checked(at)).any(|(before, after)| {
        let mut after = after.iter().map(|byte| is_digit(*byte));
        if after.next() != Some(true) {
            return false;
        }
        let mut before = before.iter().rev().take(DIGITS).zip(1..=DIGITS);
        let first = before.find(|(byte, _)| !is_digit(**byte));
        first.is_some_and(|(byte, digits)| is_separator(*byte) && (digits..DIGITS).all(|_| after.next() == Some(true)))
    })
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b'_' | b'.')
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Generated names in a text.
#[derive(Debug, Default)]
pub struct GeneratedNames {
    /// Identifiers of translation units.
    pub modules: BTreeSet<Vec<u8>>,
    /// Names of temporary files.
    pub temporaries: BTreeSet<Vec<u8>>,
}

impl GeneratedNames {
    /// Adds the names in a text.
    pub fn collect(&mut self, text: &[u8]) {
        if !may_have_generated_names(text) {
            return;
        }
        for captures in GENERATED.captures_iter(text) {
            if let Some(name) = captures.name("temporary") {
                self.temporaries.insert(name.as_bytes().to_vec());
            }
            for group in ["a", "b", "c", "d", "e"] {
                self.modules.extend(captures.name(group).map(|name| name.as_bytes().to_vec()));
            }
        }
    }
}

/// True if a text has generated names.
pub fn has_generated_names(text: &[u8]) -> bool {
    may_have_generated_names(text) && GENERATED.is_match(text)
}

/// Replaces each generated name in a text by `*`, which no name contains.
pub fn without_generated_names(text: &[u8]) -> Cow<'_, [u8]> {
    if !may_have_generated_names(text) {
        return Cow::Borrowed(text);
    }
    GENERATED.replace_all(text, |captures: &Captures<'_>| {
        let whole = captures.get(0).expect("group of every match");
        let mut replaced = Vec::new();
        let mut at = whole.start();
        for group in ["temporary", "a", "b", "c", "d", "e"] {
            let Some(part) = captures.name(group) else { continue };
            replaced.extend(text.get(at..part.start()).unwrap_or_default());
            replaced.push(b'*');
            at = part.end();
        }
        replaced.extend(text.get(at..whole.end()).unwrap_or_default());
        replaced
    })
}

/// Names of sections without generated names. Compilers write several sections for a function, each named with a prefix
/// and the name of the function.
#[derive(Default)]
pub struct SectionNames<'name>(NameMap<&'name [u8], Cow<'name, [u8]>>);

impl<'name> SectionNames<'name> {
    /// Both parts of a name without generated names: the prefix of the section, and the name of the function.
    pub fn stable(&mut self, name: &'name [u8]) -> [&[u8]; 2] {
        // A generated name that begins before the first `_` does not extend beyond that `_` if `Z` follows it.
        let first = name.iter().position(|&byte| byte == b'_');
        let is_name = |at: &usize| name.get(*at..).is_some_and(|rest| rest.starts_with(b"_Z"));
        let at = first.filter(is_name).unwrap_or_default();
        let (section, function) = name.split_at_checked(at).unwrap_or_default();
        for part in [section, function] {
            self.0.entry(part).or_insert_with(|| without_generated_names(part));
        }
        [section, function].map(|part| self.0.get(part).map_or(part, Cow::as_ref))
    }
}

/// Name of a kernel without generated parts.
pub fn stable_name(name: &str) -> Cow<'_, str> {
    match without_generated_names(name.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(name),
        Cow::Owned(replaced) => Cow::Owned(String::from_utf8_lossy(&replaced).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_generated_parts_only() {
        let cases = [
            ("__nv_static_25__debbe712_4_k_cu_3c7ab8be__Z4statPi", "__nv_static_25__*_4_k_cu_*__Z4statPi"),
            ("_ZN36_GLOBAL__N__debbe712_4_k_cu_3c7ab8be4anonEPi", "_ZN36_GLOBAL__N__*_4_k_cu_*4anonEPi"),
            ("_INTERNAL_6f12ab34_9_my_file_cu_0a1b2c3d_1234_x", "_INTERNAL_*_9_my_file_cu_*_x"),
            (" -o tmpxft_00006241_00000000-8_k.sm_90.cubin", " -o *_k.sm_90.cubin"),
            ("__hip_cuid_2f000285385a2995", "__hip_cuid_*"),
            ("_ZL1x.static.2f000285385a2995", "_ZL1x.static.*"),
            ("__omp_offloading_fe00_99435b_main_l3", "__omp_offloading_*_*_main_l3"),
            ("__omp_offloading_main_l3", "__omp_offloading_main_l3"),
            ("_Z4tmplIfEvPT_", "_Z4tmplIfEvPT_"),
            ("gemm_f16_128_deadbeef_64", "gemm_f16_128_deadbeef_64"),
        ];
        for (name, expected) in cases {
            assert_eq!(stable_name(name), expected);
            assert_eq!(stable_name(expected), expected, "a replaced name has no generated parts");
        }
    }

    #[test]
    fn a_text_with_generated_names_may_have_them_wherever_they_are() {
        let names = [
            "_debbe712_4_k_cu_3c7ab8be_f",
            "__hip_cuid_2f000285385a2995",
            "x.static.2f000285385a2995",
            "x.intern.2f000285",
            "x__static__2f000285",
            "x__intern__2f000285",
            "tmpxft_00006241_00000000-6",
        ];
        for name in names {
            for (before, after) in (0..20).flat_map(|before| (0..10).map(move |after| (before, after))) {
                for filling in ["-", "_", "a"] {
                    let text = [&filling.repeat(before), name, &filling.repeat(after)].concat();
                    let is_match = GENERATED.is_match(text.as_bytes());
                    assert!(may_have_generated_names(text.as_bytes()) || !is_match, "{text}");
                    assert!(is_match || filling == "a", "{text}");
                }
            }
        }
        for text in ["", "_", "debbe712_", "_debbe71_", "-debbe712_", "_DEBBE712_", ".static.", "_debbe71.2"] {
            assert!(!may_have_generated_names(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn collects_identifiers_and_temporaries_apart() {
        let mut names = GeneratedNames::default();
        names.collect(b"tmpxft_00006241_00000000-6_k.ptx\0_debbe712_4_k_cu_3c7ab8be_x\0__hip_cuid_2f000285385a2995\0");
        assert_eq!((names.modules.len(), names.temporaries.len()), (3, 1));
        assert!(has_generated_names(b"__hip_cuid_2f000285385a2995") && !has_generated_names(b"_Z4plainPi"));
    }

    #[test]
    fn names_of_sections_are_stable_as_a_whole() {
        let mut names = SectionNames::default();
        let functions = [
            "",
            "_Z4plainPi",
            "plain",
            "_ZN36_GLOBAL__N__debbe712_4_k_cu_3c7ab8be4anonEPi",
            "__nv_static_25__debbe712_4_k_cu_3c7ab8be__Z4statPi",
            "_Z_debbe712_4_x",
        ];
        let sections = [
            "",
            ".text.",
            ".nv.constant0.",
            ".static.2f000285",
            ".static.2f000285.",
            ".rel.text.tmpxft",
            "tmpxft_00006241_00000000-6_k",
            "_INTERNAL_6f12ab34_9_my_file",
        ];
        for (section, function) in sections.iter().flat_map(|section| functions.map(|function| (section, function))) {
            let name = [section, function].concat().into_bytes();
            let name: &'static [u8] = name.leak();
            assert_eq!(names.stable(name).concat(), without_generated_names(name).into_owned(), "{section}{function}");
        }
    }
}
