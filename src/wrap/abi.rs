//! ABI generations: the properties that a wrapper object and the host objects in its link must share.
//!
//! Clang writes the offload entries into the host objects, the wrapper hands them to the runtime; section names, entry
//! layout and the way to unregister changed from release to release. A generation is a row here; code that builds a plan
//! reads the row and never compares releases.
//!
//! Sources: objects made by the tools of LLVM 14, 15, 16, 19 and 22; section names in the libraries of 20 and 21;
//! LLVM's source for 10 to 13, 17, 18 and the main branch of autumn 2026; the Clang Offload Wrapper document for `aomp`.

use crate::target::OffloadKind;

/// An ABI generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generation {
    /// Name of the generation on the command line.
    pub name: &'static str,
    /// Major version of LLVM; `None` for a generation that is not a release.
    pub release: Option<u32>,
    /// Layout of the offload entries.
    pub entries: EntryLayout,
    /// True if the entries of all kinds share one section.
    pub one_entry_section: bool,
    /// Form of the placeholder's name: see [`Generation::placeholder`].
    placeholder: PlaceholderName,
    /// True if the placeholder's section is marked to survive `--gc-sections`.
    pub retain: bool,
    /// Source file name that the generation's tool records in the object.
    pub source_name: &'static str,
    /// Section of OpenMP's images.
    pub images: ImageSection,
    /// Priority of OpenMP's constructor. Up to 100 is reserved; host objects register their requirements with 0.
    openmp_priority: u16,
    /// Priority of the constructor for CUDA and HIP; `None` where the tools of the release support neither.
    cuda_hip_priority: Option<u16>,
    /// Unregistration of OpenMP's images. CUDA and HIP always used `atexit`.
    pub unregister: Unregister,
    /// Interpretation of an entry's flags for a variable of CUDA or HIP.
    pub flags: FlagRules,
    /// Interface of the SYCL runtime; `None` where the release has no wrapper for SYCL.
    pub sycl: Option<SyclAbi>,
    /// True if the target of each image is registered as well, as AMD's libomptarget of that time requires.
    pub image_info: bool,
}

/// Size and fields of an offload entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryLayout {
    /// 32 bytes, up to LLVM 19.
    Old,
    /// 56 bytes with version and kind, from LLVM 20 on.
    New,
}

/// Section of OpenMP's images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageSection {
    /// `.rodata`, with the images unchanged.
    Rodata,
    /// `.llvm.offloading`, each image in an offload binary.
    Offloading,
}

/// Time at which the images are unregistered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unregister {
    /// By a destructor with this priority.
    FiniArray(u16),
    /// By a function that the constructor passes to `atexit`. Such functions run before any destructor, so the runtime is
    /// still loaded; in a library they also run when it is closed.
    AtExit,
}

/// Interpretation of a variable's flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlagRules {
    /// The whole word is the type, and only plain variables are registered (LLVM 15 to 17).
    Word,
    /// Three bits of type and single bits for extern, constant and normalized (LLVM 18 on).
    Bits,
    /// As [`FlagRules::Bits`], and managed variables (LLVM 20 on).
    BitsAndManaged,
}

/// Argument of the SYCL runtime's registration function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyclAbi {
    /// A descriptor like OpenMP's (LLVM 22).
    Descriptor,
    /// The offload binaries themselves and their size (main).
    OffloadBinaries,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceholderName {
    /// `__dummy.omp_offloading.entry`
    Entry,
    /// `__dummy.` and the section's name
    Section,
}

/// LLVM 11 to 14, the tool clang-offload-wrapper; the other rows list their differences from an earlier one.
const LLVM_14: Generation = Generation {
    name: "llvm14",
    release: Some(14),
    entries: EntryLayout::Old,
    one_entry_section: false,
    placeholder: PlaceholderName::Entry,
    retain: false,
    source_name: "offload.wrapper.object",
    images: ImageSection::Rodata,
    openmp_priority: 1,
    cuda_hip_priority: None,
    unregister: Unregister::FiniArray(1),
    flags: FlagRules::Word,
    sycl: None,
    image_info: false,
};

/// LLVM 15 to 17, the tool clang-linker-wrapper.
const LLVM_15: Generation = Generation {
    name: "llvm15",
    release: Some(15),
    source_name: "offload.wrapper.module",
    images: ImageSection::Offloading,
    cuda_hip_priority: Some(1),
    ..LLVM_14
};

const LLVM_18: Generation = Generation {
    name: "llvm18",
    release: Some(18),
    placeholder: PlaceholderName::Section,
    flags: FlagRules::Bits,
    ..LLVM_15
};

const LLVM_19: Generation = Generation {
    name: "llvm19",
    release: Some(19),
    openmp_priority: 101,
    cuda_hip_priority: Some(101),
    unregister: Unregister::AtExit,
    ..LLVM_18
};

const LLVM_20: Generation = Generation {
    name: "llvm20",
    release: Some(20),
    entries: EntryLayout::New,
    flags: FlagRules::BitsAndManaged,
    ..LLVM_19
};

const LLVM_21: Generation = Generation { name: "llvm21", release: Some(21), one_entry_section: true, ..LLVM_20 };

const LLVM_22: Generation =
    Generation { name: "llvm22", release: Some(22), sycl: Some(SyclAbi::Descriptor), ..LLVM_21 };

/// Prefix of the symbol of an entry, which clang puts before the entry's name.
const ENTRY_SYMBOL: &str = ".offloading.entry.";

/// Prefix of the symbol of an entry in LLVM 17 and before.
const OLD_ENTRY_SYMBOL: &str = ".omp_offloading.entry.";

/// Every prefix that clang has used for the symbols of entries.
pub const ENTRY_SYMBOLS: [&str; 2] = [OLD_ENTRY_SYMBOL, ENTRY_SYMBOL];

/// Every generation, oldest first; those that are not releases last.
pub const GENERATIONS: [Generation; 15] = [
    Generation { name: "llvm10", release: Some(10), openmp_priority: 0, ..LLVM_14 },
    Generation { name: "llvm11", release: Some(11), ..LLVM_14 },
    Generation { name: "llvm12", release: Some(12), ..LLVM_14 },
    Generation { name: "llvm13", release: Some(13), ..LLVM_14 },
    LLVM_14,
    LLVM_15,
    Generation { name: "llvm16", release: Some(16), ..LLVM_15 },
    Generation { name: "llvm17", release: Some(17), ..LLVM_15 },
    LLVM_18,
    LLVM_19,
    LLVM_20,
    LLVM_21,
    LLVM_22,
    Generation { name: "main", release: None, retain: true, sycl: Some(SyclAbi::OffloadBinaries), ..LLVM_22 },
    Generation { name: "aomp", release: None, image_info: true, ..LLVM_14 },
];

/// The newest release.
pub const NEWEST: Generation = newest_release();

const fn newest_release() -> Generation {
    // A loop, because iterators cannot be used in constants.
    let mut newest = GENERATIONS[0];
    let mut index = 1;
    while index < GENERATIONS.len() {
        if let (Some(release), Some(known)) = (GENERATIONS[index].release, newest.release)
            && release > known
        {
            newest = GENERATIONS[index];
        }
        index += 1;
    }
    newest
}

impl Generation {
    /// Returns the generation of a name.
    pub fn named(name: &str) -> Option<Generation> {
        GENERATIONS.into_iter().find(|generation| generation.name == name)
    }

    /// Returns the section of the offload entries of a kind; a C identifier, so that linkers define `__start_` and `__stop_`
    /// for it.
    pub fn entry_section(&self, kind: OffloadKind) -> &'static str {
        match kind {
            _ if self.one_entry_section => "llvm_offload_entries",
            OffloadKind::Cuda => "cuda_offloading_entries",
            OffloadKind::Hip => "hip_offloading_entries",
            _ => "omp_offloading_entries",
        }
    }

    /// Returns the name of the placeholder, an object of size zero that keeps the entry section in the link when no host
    /// object has entries.
    pub fn placeholder(&self, kind: OffloadKind) -> String {
        let section = self.entry_section(kind);
        match self.placeholder {
            PlaceholderName::Section => format!("__dummy.{section}"),
            PlaceholderName::Entry => format!("__dummy.{}.entry", section.trim_end_matches("_entries")),
        }
    }

    /// Returns the prefix of an entry's symbol.
    pub fn entry_symbol(&self) -> &'static str {
        match self.placeholder {
            PlaceholderName::Entry => OLD_ENTRY_SYMBOL,
            PlaceholderName::Section => ENTRY_SYMBOL,
        }
    }

    /// Returns the priority of the constructor for a kind; `None` if this generation does not support the kind.
    pub fn constructor_priority(&self, kind: OffloadKind) -> Option<u16> {
        match kind {
            OffloadKind::OpenMp => Some(self.openmp_priority),
            OffloadKind::Cuda | OffloadKind::Hip => self.cuda_hip_priority,
            OffloadKind::Sycl => self.sycl.map(|sycl| match sycl {
                SyclAbi::Descriptor => 1,
                SyclAbi::OffloadBinaries => 101,
            }),
            OffloadKind::Host => None,
        }
    }

    /// Returns whether this generation has a wrapper for a kind.
    pub fn supports(&self, kind: OffloadKind) -> bool {
        self.constructor_priority(kind).is_some()
    }

    /// Returns the names of the generations that support a kind, oldest first.
    pub fn supporting(kind: OffloadKind) -> Vec<&'static str> {
        let supporting = GENERATIONS.iter().filter(|generation| generation.supports(kind));
        supporting.map(|generation| generation.name).collect()
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
            let generation = Generation::named(name).unwrap();
            assert_eq!(generation.entry_section(OpenMp), section, "{name}");
            assert_eq!(generation.placeholder(OpenMp), placeholder, "{name}");
            assert_eq!(generation.constructor_priority(OpenMp), priority, "{name}");
        }
        let llvm20 = Generation::named("llvm20").unwrap();
        assert_eq!(llvm20.entry_section(Hip), "hip_offloading_entries");
        assert_eq!(llvm20.placeholder(Cuda), "__dummy.cuda_offloading_entries");
    }

    #[test]
    fn supports_a_kind_from_its_first_release_on() {
        assert_eq!(Generation::supporting(Cuda)[0], "llvm15");
        assert!(!Generation::supporting(Hip).contains(&"aomp"));
        assert_eq!(Generation::supporting(Sycl), ["llvm22", "main"]);
        assert_eq!(Generation::supporting(OpenMp).len(), GENERATIONS.len());
    }

    #[test]
    fn a_release_is_named_after_its_version() {
        for generation in GENERATIONS {
            let is_release = generation.name.starts_with("llvm");
            assert_eq!(
                generation.release.map(|release| format!("llvm{release}")),
                is_release.then(|| generation.name.to_owned())
            );
        }
        assert_eq!(NEWEST.name, "llvm22");
    }

    #[test]
    fn names_are_unique() {
        for (index, generation) in GENERATIONS.iter().enumerate() {
            assert!(GENERATIONS[..index].iter().all(|other| other.name != generation.name), "{}", generation.name);
        }
    }
}
