//! Problems of a link.

/// A problem of a link, or of the program that it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Kind.
    pub kind: ProblemKind,
    /// Effect on the link or the program.
    pub effect: Effect,
    /// Host file: a path, or `ARCHIVE!MEMBER`.
    pub path: String,
    /// Section of the host file.
    pub section: Option<String>,
    /// Offset in the host file, in bytes.
    pub offset: Option<u64>,
    /// Symbol.
    pub symbol: Option<String>,
    /// Number of places with the same problem. This is the first of them.
    pub count: usize,
    /// Cause.
    pub message: String,
    /// Remedy, as an imperative.
    pub remedy: String,
}

/// Kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// A relocation does not reach its target.
    RelocationOverflow,
    /// No wrapper registers a container.
    Unregistered,
    /// A wrapper registers something that no input defines.
    MissingImage,
    /// Several wrappers register one image, or the same entries.
    RegisteredTwice,
    /// An offload entry names a kernel that no image has.
    EntryWithoutKernel,
    /// An image has a kernel without an offload entry.
    KernelWithoutEntry,
    /// Objects have the same module ID.
    DuplicateModuleId,
    /// Objects with device code define the same symbol.
    SymbolCollision,
    /// The host half of an object is incomplete.
    DamagedObject,
    /// No input defines the function that launches a kernel.
    UndefinedStub,
    /// The device link is for other architectures than an object.
    MissingArch,
    /// No input of the device link defines a function or variable for an architecture.
    UndefinedDeviceSymbol,
    /// Images set a feature of a processor that others leave open.
    ConflictingTargets,
}

/// Effect of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The linker reports an error.
    LinkFails,
    /// The linker reports nothing, and the output does not work.
    BrokenOutput,
}

impl ProblemKind {
    /// All kinds.
    pub const ALL: [ProblemKind; 13] = [
        ProblemKind::RelocationOverflow,
        ProblemKind::Unregistered,
        ProblemKind::MissingImage,
        ProblemKind::RegisteredTwice,
        ProblemKind::EntryWithoutKernel,
        ProblemKind::KernelWithoutEntry,
        ProblemKind::DuplicateModuleId,
        ProblemKind::SymbolCollision,
        ProblemKind::DamagedObject,
        ProblemKind::UndefinedStub,
        ProblemKind::MissingArch,
        ProblemKind::UndefinedDeviceSymbol,
        ProblemKind::ConflictingTargets,
    ];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ProblemKind::RelocationOverflow => "relocation-overflow",
            ProblemKind::Unregistered => "unregistered",
            ProblemKind::MissingImage => "missing-image",
            ProblemKind::RegisteredTwice => "registered-twice",
            ProblemKind::EntryWithoutKernel => "entry-without-kernel",
            ProblemKind::KernelWithoutEntry => "kernel-without-entry",
            ProblemKind::DuplicateModuleId => "duplicate-module-id",
            ProblemKind::SymbolCollision => "symbol-collision",
            ProblemKind::DamagedObject => "damaged-object",
            ProblemKind::UndefinedStub => "undefined-stub",
            ProblemKind::MissingArch => "missing-arch",
            ProblemKind::UndefinedDeviceSymbol => "undefined-device-symbol",
            ProblemKind::ConflictingTargets => "conflicting-targets",
        }
    }
}

impl Effect {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Effect::LinkFails => "link-fails",
            Effect::BrokenOutput => "broken-output",
        }
    }
}
