//! The ABI of wrapper objects: the properties that a wrapper object and the host objects in its link must share.
//!
//! Clang writes the offload entries into the host objects, the wrapper passes them to the runtime; section names, entry
//! layout and the way to unregister changed from release to release.
//!
//! Sources: objects made by the tools of LLVM 14, 15, 16, 19 and 22; section names in the libraries of 20 and 21;
//! LLVM's source for 10 to 13, 17, 18, 23 and the main branch of autumn 2026; the Clang Offload Wrapper document for
//! `aomp`.

use fatbin_core::target::OffloadKind;

/// Properties of wrapper objects that the host objects of their link must share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrapperAbi {
    /// Layout of the offload entries.
    pub entries: EntryLayout,
    /// True if the entries of all kinds share one section.
    pub one_entry_section: bool,
    /// Form of the placeholder's name: see [`WrapperAbi::placeholder`].
    pub(super) placeholder: PlaceholderName,
    /// True if the placeholder's section is marked to survive `--gc-sections`.
    pub retain: bool,
    /// Bounds of the entries in COFF objects; `None` where the tools of the release write objects that cannot be
    /// linked.
    pub coff: Option<CoffBounds>,
    /// Source file name that the release's tool records in the object.
    pub source_name: &'static str,
    /// Section of OpenMP's images.
    pub images: ImageSection,
    /// True if OpenMP's descriptor refers to the offload binary around each image: the runtimes of LLVM 15 to 17 read
    /// the processor there, and take an image without it for any device.
    pub registers_binaries: bool,
    /// Priority of OpenMP's constructor. Up to 100 is reserved; host objects register their requirements with 0.
    pub(super) openmp_priority: u16,
    /// Priority of the constructor for CUDA and HIP; `None` where the tools of the release support neither.
    pub(super) cuda_hip_priority: Option<u16>,
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

/// Bounds of the entries in COFF objects. A linker sorts the contributions to a section by the part of their names
/// after `$`: the first bound is in `$OA`, clang's entries are in `$OE`, and the last bound is in `$OZ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoffBounds {
    /// Arrays without elements (LLVM 19 to 23).
    Empty,
    /// One entry of zeros each, because linkers may leave an empty contribution out; the entries begin after the first
    /// (main).
    ZeroEntry,
}

/// Section of OpenMP's images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageSection {
    /// `.rodata`, with the images unchanged.
    Rodata,
    /// `.llvm.offloading`, each image in an offload binary.
    Offloading,
}

/// When the images are unregistered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unregister {
    /// By a destructor with this priority.
    FiniArray(u16),
    /// By a function that the constructor passes to `atexit`. Such functions run before any destructor, so the runtime
    /// is still loaded; in a library they also run when it is closed.
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

/// Form of the placeholder's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceholderName {
    /// `__dummy.omp_offloading.entry`
    Entry,
    /// `__dummy.` and the section's name
    Section,
}

/// Prefix that clang puts before an entry's name to make its symbol.
const ENTRY_SYMBOL: &str = ".offloading.entry.";

/// Prefix of the symbol of an entry in LLVM 17 and before.
const OLD_ENTRY_SYMBOL: &str = ".omp_offloading.entry.";

/// Every prefix that clang has used for the symbols of entries.
pub const ENTRY_SYMBOLS: [&str; 2] = [OLD_ENTRY_SYMBOL, ENTRY_SYMBOL];

impl WrapperAbi {
    /// Returns the section of the offload entries of a kind; a C identifier, so that linkers define `__start_` and
    /// `__stop_` for it.
    pub fn entry_section(&self, kind: OffloadKind) -> &'static str {
        match kind {
            _ if self.one_entry_section => "llvm_offload_entries",
            OffloadKind::Cuda => "cuda_offloading_entries",
            OffloadKind::Hip => "hip_offloading_entries",
            _ => "omp_offloading_entries",
        }
    }

    /// Returns whether wrappers of both releases register the same entries of a kind.
    pub fn shares_entries(&self, other: &WrapperAbi, kind: OffloadKind) -> bool {
        self.entries == other.entries && self.entry_section(kind) == other.entry_section(kind)
    }

    /// Returns the name of the placeholder, an object of size zero that keeps the entry section in the link when no
    /// host object has entries.
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

    /// Returns the priority of the constructor for a kind; `None` if this release does not support the kind.
    pub fn constructor_priority(&self, kind: OffloadKind) -> Option<u16> {
        match kind {
            OffloadKind::OpenMp => Some(self.openmp_priority),
            OffloadKind::Cuda | OffloadKind::Hip => self.cuda_hip_priority,
            OffloadKind::Sycl => self.sycl.map(|sycl| match sycl {
                SyclAbi::Descriptor => 1,
                SyclAbi::OffloadBinaries => 101,
            }),
            OffloadKind::Musa | OffloadKind::Host => None,
        }
    }

    /// Returns whether this release has a wrapper for a kind.
    pub fn supports(&self, kind: OffloadKind) -> bool {
        self.constructor_priority(kind).is_some()
    }
}
