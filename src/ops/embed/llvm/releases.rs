//! The table of releases.

use super::bundler::{BundlerRules, CompressionRules, FileOptions, IdForm};
use super::kinds::KindNumbers;
use super::linker::{DeviceWords, LinkerRules};
use super::offload_wrapper::OffloadWrapperRules;
use super::packager::{Extraction, PackagerRules, PackedFiles, RequiredKeys, StringOrder};
use super::wrapper_abi::{
    CoffBounds, EntryLayout, FlagRules, ImageSection, PlaceholderName, SyclAbi, Unregister, WrapperAbi,
};
use fatbin_core::format::{ccob, offload_binary::Version};
use fatbin_core::target::OffloadKind;

/// A release of LLVM, its main branch, or AMD's compiler before it used LLVM's wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Release {
    /// Name on the command line.
    pub name: &'static str,
    /// Major version of LLVM; `None` for a row that is not a release.
    #[doc(hidden)]
    pub number: Option<u32>,
    /// Numbers of the offload kinds.
    #[doc(hidden)]
    pub kinds: KindNumbers,
    /// True if the tools read triples with a subarchitecture, `amdgpu9.0a-amd-amdhsa`. Source: llvm-project pull
    /// request 206480.
    #[doc(hidden)]
    pub reads_subarchs: bool,
    /// Wrapper objects.
    #[doc(hidden)]
    pub wrapper: WrapperAbi,
    /// The packager of offload binaries.
    #[doc(hidden)]
    pub packager: PackagerRules,
    /// The bundler of files for several targets.
    #[doc(hidden)]
    pub bundler: BundlerRules,
    /// The wrapper that is called llvm-offload-wrapper.
    #[doc(hidden)]
    pub offload_wrapper: OffloadWrapperRules,
    /// The linker of device code.
    #[doc(hidden)]
    pub linker: LinkerRules,
}

/// LLVM 11 to 14, the tool clang-offload-wrapper; the other rows list their differences from an earlier one.
const LLVM_14: Release = Release {
    name: "llvm14",
    number: Some(14),
    kinds: KindNumbers::Counted,
    reads_subarchs: false,
    wrapper: WrapperAbi {
        entries: EntryLayout::Old,
        one_entry_section: false,
        placeholder: PlaceholderName::Entry,
        retain: false,
        coff: None,
        source_name: "offload.wrapper.object",
        images: ImageSection::Rodata,
        registers_binaries: false,
        openmp_priority: 1,
        cuda_hip_priority: None,
        unregister: Unregister::FiniArray(1),
        flags: FlagRules::Word,
        sycl: None,
        image_info: false,
    },
    // The packager of LLVM 15; LLVM 14 has none.
    packager: PackagerRules {
        version: Version::One,
        reads: Version::One,
        extracts_all: false,
        has_members: false,
        has_compression: false,
        required_keys: RequiredKeys::FileAndTriple,
        packed_files: PackedFiles::One,
        string_order: StringOrder::StringMaps,
        extraction: Extraction::Unsupported,
        numbers_all: false,
        is_renamed: false,
    },
    bundler: BundlerRules {
        ids: IdForm::AsWritten,
        file_options: FileOptions::Lists,
        has_hipi: false,
        has_hip_openmp: false,
        rejects_conflicts: false,
        has_archive_check: false,
        compression: None,
    },
    // The rules of LLVM 21; LLVM 14 has no such tool.
    offload_wrapper: OffloadWrapperRules { is_extended: false },
    // The rules of LLVM 15; LLVM 14 has no such tool.
    linker: LinkerRules {
        is_replaced: false,
        has_own_lto: true,
        links_nvptx_bitcode: false,
        device_words: DeviceWords::Linker,
        has_codegen_level: false,
        shares_inputs: false,
        prints_all_steps: false,
        resolves_symbols: true,
        separates_features: false,
        hip: "hipv4",
        host_id: "host-x86_64-unknown-linux",
    },
};

/// LLVM 15, the first release with clang-linker-wrapper and clang-offload-packager.
const LLVM_15: Release = Release {
    name: "llvm15",
    number: Some(15),
    wrapper: WrapperAbi {
        source_name: "offload.wrapper.module",
        images: ImageSection::Offloading,
        registers_binaries: true,
        cuda_hip_priority: Some(1),
        ..LLVM_14.wrapper
    },
    bundler: BundlerRules { file_options: FileOptions::Repeated, has_hip_openmp: true, ..LLVM_14.bundler },
    linker: LinkerRules { is_replaced: true, ..LLVM_14.linker },
    ..LLVM_14
};

const LLVM_16: Release = Release {
    name: "llvm16",
    number: Some(16),
    packager: PackagerRules {
        extraction: Extraction::Files,
        numbers_all: true,
        string_order: StringOrder::DenseAndStringMap,
        ..LLVM_15.packager
    },
    bundler: BundlerRules { has_hipi: true, rejects_conflicts: true, ..LLVM_15.bundler },
    linker: LinkerRules { device_words: DeviceWords::CommaSeparated, ..LLVM_15.linker },
    ..LLVM_15
};

const LLVM_17: Release = Release {
    name: "llvm17",
    number: Some(17),
    packager: PackagerRules {
        extraction: Extraction::FilesAndArchives,
        numbers_all: false,
        packed_files: PackedFiles::PerValue,
        string_order: StringOrder::DenseMap,
        ..LLVM_16.packager
    },
    bundler: BundlerRules { ids: IdForm::Completed, ..LLVM_16.bundler },
    linker: LinkerRules {
        device_words: DeviceWords::Compiler,
        has_codegen_level: true,
        shares_inputs: true,
        hip: "hip",
        host_id: "host-x86_64-unknown-linux--",
        ..LLVM_16.linker
    },
    ..LLVM_16
};

const LLVM_18: Release = Release {
    name: "llvm18",
    number: Some(18),
    wrapper: WrapperAbi {
        placeholder: PlaceholderName::Section,
        flags: FlagRules::Bits,
        registers_binaries: false,
        ..LLVM_17.wrapper
    },
    bundler: BundlerRules { has_archive_check: true, compression: Some(COMPRESSION_18), ..LLVM_17.bundler },
    ..LLVM_17
};

/// LLVM 18 uses zstd's default level; later releases set a level.
const COMPRESSION_18: CompressionRules = CompressionRules {
    version: ccob::Version::One,
    level: 5,
    has_levels: false,
    has_versions: false,
    smallest_file: 20,
};

const COMPRESSION_19: CompressionRules =
    CompressionRules { version: ccob::Version::Two, level: 3, has_levels: true, ..COMPRESSION_18 };

const COMPRESSION_20: CompressionRules = CompressionRules { has_versions: true, ..COMPRESSION_19 };

const COMPRESSION_21: CompressionRules = CompressionRules { smallest_file: 8, ..COMPRESSION_20 };

const LLVM_19: Release = Release {
    name: "llvm19",
    number: Some(19),
    wrapper: WrapperAbi {
        openmp_priority: 101,
        cuda_hip_priority: Some(101),
        unregister: Unregister::AtExit,
        coff: Some(CoffBounds::Empty),
        ..LLVM_18.wrapper
    },
    bundler: BundlerRules { compression: Some(COMPRESSION_19), ..LLVM_18.bundler },
    linker: LinkerRules { links_nvptx_bitcode: true, ..LLVM_18.linker },
    ..LLVM_18
};

const LLVM_20: Release = Release {
    name: "llvm20",
    number: Some(20),
    wrapper: WrapperAbi { entries: EntryLayout::New, flags: FlagRules::BitsAndManaged, ..LLVM_19.wrapper },
    bundler: BundlerRules { compression: Some(COMPRESSION_20), ..LLVM_19.bundler },
    linker: LinkerRules { has_own_lto: false, device_words: DeviceWords::Linker, ..LLVM_19.linker },
    ..LLVM_19
};

const LLVM_21: Release = Release {
    name: "llvm21",
    number: Some(21),
    kinds: KindNumbers::Bits,
    wrapper: WrapperAbi { one_entry_section: true, ..LLVM_20.wrapper },
    bundler: BundlerRules { ids: IdForm::FourParts, compression: Some(COMPRESSION_21), ..LLVM_20.bundler },
    linker: LinkerRules { resolves_symbols: false, host_id: "host-x86_64-unknown-linux-gnu-", ..LLVM_20.linker },
    ..LLVM_20
};

const LLVM_22: Release = Release {
    name: "llvm22",
    number: Some(22),
    wrapper: WrapperAbi { sycl: Some(SyclAbi::Descriptor), ..LLVM_21.wrapper },
    packager: PackagerRules { required_keys: RequiredKeys::File, is_renamed: true, ..LLVM_21.packager },
    bundler: BundlerRules {
        compression: Some(CompressionRules { version: ccob::Version::Three, ..COMPRESSION_21 }),
        ..LLVM_21.bundler
    },
    ..LLVM_21
};

const LLVM_23: Release = Release {
    name: "llvm23",
    number: Some(23),
    reads_subarchs: true,
    wrapper: WrapperAbi { sycl: Some(SyclAbi::OffloadBinaries), ..LLVM_22.wrapper },
    packager: PackagerRules {
        version: Version::Two,
        reads: Version::Two,
        extracts_all: true,
        has_members: true,
        ..LLVM_22.packager
    },
    offload_wrapper: OffloadWrapperRules { is_extended: true },
    ..LLVM_22
};

/// LLVM 24, the main branch in autumn 2026.
const LLVM_24: Release = Release {
    name: "llvm24",
    number: Some(24),
    wrapper: WrapperAbi { retain: true, coff: Some(CoffBounds::ZeroEntry), ..LLVM_23.wrapper },
    packager: PackagerRules { reads: Version::Three, has_compression: true, ..LLVM_23.packager },
    linker: LinkerRules { separates_features: true, prints_all_steps: true, ..LLVM_23.linker },
    ..LLVM_23
};

/// Every row: the releases, oldest first, then the rows that are not releases.
pub const RELEASES: [Release; 17] = [
    Release {
        name: "llvm10",
        number: Some(10),
        wrapper: WrapperAbi { openmp_priority: 0, ..LLVM_14.wrapper },
        ..LLVM_14
    },
    Release { name: "llvm11", number: Some(11), ..LLVM_14 },
    Release { name: "llvm12", number: Some(12), ..LLVM_14 },
    Release { name: "llvm13", number: Some(13), ..LLVM_14 },
    LLVM_14,
    LLVM_15,
    LLVM_16,
    LLVM_17,
    LLVM_18,
    LLVM_19,
    LLVM_20,
    LLVM_21,
    LLVM_22,
    LLVM_23,
    LLVM_24,
    Release { name: "main", number: None, ..LLVM_24 },
    Release { name: "aomp", number: None, wrapper: WrapperAbi { image_info: true, ..LLVM_14.wrapper }, ..LLVM_14 },
];

/// The default release: the newest whose tools every test compares with. LLVM 23 has no packages for Debian yet.
pub const NEWEST: Release = LLVM_22;

impl Release {
    /// Returns the names of all rows, oldest first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        RELEASES.iter().map(|release| release.name)
    }

    /// Returns the row with a name, `llvm19` or `main`.
    pub fn named(name: &str) -> Option<Release> {
        RELEASES.into_iter().find(|release| release.name == name)
    }

    /// Returns the release with a major version. Older versions than the table's first behave like the first, and newer
    /// ones than its last like the main branch.
    #[doc(hidden)]
    pub fn numbered(number: u32) -> Release {
        let numbered = RELEASES.into_iter().find(|release| release.number.is_some_and(|known| known >= number));
        numbered.or_else(|| Release::named("main")).expect("the table has a row for the main branch")
    }

    /// Parses the name or the version of a release: `llvm19`, `main`, `19` or `19.1.7`. `None` for a release that is
    /// older than the table.
    #[doc(hidden)]
    pub fn parse(text: &str) -> Option<Release> {
        let oldest = RELEASES.first().and_then(|release| release.number);
        let major = || text.split('.').next()?.parse().ok().filter(|&major| Some(major) >= oldest);
        Release::named(text).or_else(|| major().map(Release::numbered))
    }

    /// Returns the release whose wrapper objects the release's clang-offload-wrapper creates. The last one, of LLVM 15,
    /// still creates objects of LLVM 14. The compiler of LLVM 15 uses clang-linker-wrapper by default.
    #[doc(hidden)]
    pub fn of_clang_offload_wrapper(self) -> Release {
        let is_its_own = self.number.is_some_and(|number| Some(number) <= LLVM_14.number);
        if is_its_own { self } else { LLVM_14 }
    }

    /// Returns the names of the releases with a wrapper for a kind, oldest first.
    #[doc(hidden)]
    pub fn wrapping(kind: OffloadKind) -> Vec<&'static str> {
        Release::names_where(|release| release.wrapper.supports(kind))
    }

    /// Returns the names of the releases that meet a condition, oldest first.
    pub(crate) fn names_where(is_match: impl Fn(&Release) -> bool) -> Vec<&'static str> {
        RELEASES.iter().filter(|release| is_match(release)).map(|release| release.name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OffloadKind::{Cuda, Hip, OpenMp, Sycl};

    #[test]
    fn uses_the_names_and_numbers_of_each_releases_tools() {
        #[rustfmt::skip]
        let rows = [
            ("llvm10", "omp_offloading_entries", "__dummy.omp_offloading.entry",   Some(0)),
            ("llvm14", "omp_offloading_entries", "__dummy.omp_offloading.entry",   Some(1)),
            ("llvm17", "omp_offloading_entries", "__dummy.omp_offloading.entry",   Some(1)),
            ("llvm18", "omp_offloading_entries", "__dummy.omp_offloading_entries", Some(1)),
            ("llvm19", "omp_offloading_entries", "__dummy.omp_offloading_entries", Some(101)),
            ("llvm20", "omp_offloading_entries", "__dummy.omp_offloading_entries", Some(101)),
            ("llvm21", "llvm_offload_entries",   "__dummy.llvm_offload_entries",   Some(101)),
            ("main",   "llvm_offload_entries",   "__dummy.llvm_offload_entries",   Some(101)),
            ("aomp",   "omp_offloading_entries", "__dummy.omp_offloading.entry",   Some(1)),
        ];
        for (name, section, placeholder, priority) in rows {
            let abi = Release::named(name).unwrap().wrapper;
            assert_eq!(abi.entry_section(OpenMp), section, "{name}");
            assert_eq!(abi.placeholder(OpenMp), placeholder, "{name}");
            assert_eq!(abi.constructor_priority(OpenMp), priority, "{name}");
        }
        let llvm20 = Release::named("llvm20").unwrap().wrapper;
        assert_eq!(llvm20.entry_section(Hip), "hip_offloading_entries");
        assert_eq!(llvm20.placeholder(Cuda), "__dummy.cuda_offloading_entries");
    }

    #[test]
    fn wraps_a_kind_from_its_first_release_on() {
        assert_eq!(Release::wrapping(Cuda)[0], "llvm15");
        assert!(!Release::wrapping(Hip).contains(&"aomp"));
        assert_eq!(Release::wrapping(Sycl), ["llvm22", "llvm23", "llvm24", "main"]);
        assert_eq!(Release::wrapping(OpenMp).len(), RELEASES.len());
    }

    #[test]
    fn llvm_15_to_17_register_offload_binaries() {
        for release in RELEASES {
            let expected = release.number.is_some_and(|number| (15..=17).contains(&number));
            assert_eq!(release.wrapper.registers_binaries, expected, "{}", release.name);
        }
    }

    #[test]
    fn numbers_of_offload_kinds_changed_with_llvm_21() {
        for (name, hip, sycl) in [("llvm15", 3, 0), ("llvm20", 3, 0), ("llvm21", 4, 8), ("main", 4, 8)] {
            let kinds = Release::named(name).unwrap().kinds;
            assert_eq!([OpenMp, Cuda, Hip, Sycl].map(|kind| kinds.number(kind)), [1, 2, hip, sycl], "{name}");
        }
    }

    #[test]
    fn placeholders_survive_gc_sections_since_llvm_24() {
        for (name, is_retained) in [("llvm22", false), ("llvm23", false), ("llvm24", true), ("main", true)] {
            assert_eq!(Release::named(name).unwrap().wrapper.retain, is_retained, "{name}");
        }
    }

    #[test]
    fn a_release_is_named_after_its_version() {
        for release in RELEASES {
            let is_release = release.name.starts_with("llvm");
            let name = release.number.map(|number| format!("llvm{number}"));
            assert_eq!(name, is_release.then(|| release.name.to_owned()));
        }
    }

    #[test]
    fn a_version_outside_of_the_table_is_the_nearest_row() {
        for (number, name) in
            [(3, "llvm10"), (10, "llvm10"), (14, "llvm14"), (19, "llvm19"), (24, "llvm24"), (25, "main")]
        {
            assert_eq!(Release::numbered(number).name, name, "{number}");
        }
    }

    #[test]
    fn parses_names_and_versions() {
        for (text, name) in
            [("19", "llvm19"), ("llvm19", "llvm19"), ("19.1.7", "llvm19"), ("main", "main"), ("99", "main")]
        {
            assert_eq!(Release::parse(text).unwrap().name, name, "{text}");
        }
        for text in ["", "0", "-1", "9", "9.0.1", "llvm", "LLVM19", "19x", "clang-19", "auto"] {
            assert_eq!(Release::parse(text), None, "{text}");
        }
    }

    #[test]
    fn clang_offload_wrapper_never_went_beyond_llvm_14() {
        for (name, wrapper) in [("llvm12", "llvm12"), ("llvm15", "llvm14"), ("main", "llvm14")] {
            assert_eq!(Release::named(name).unwrap().of_clang_offload_wrapper().name, wrapper, "{name}");
        }
    }

    #[test]
    fn names_are_unique() {
        for (index, release) in RELEASES.iter().enumerate() {
            assert!(RELEASES[..index].iter().all(|other| other.name != release.name), "{}", release.name);
        }
    }
}
