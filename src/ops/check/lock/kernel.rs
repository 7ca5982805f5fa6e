//! Kernels of locks. A library has the same kernel for many architectures, and its name may have thousands of
//! characters, so names and figures are in memory once. A demangled name follows from the name, and is computed when it
//! is printed.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash as StdHash, Hasher};
use std::sync::{Arc, OnceLock};

use fatbin_core::base::bytes::NameMap;
use fatbin_core::image::{Figure, Kernel, demangle, stable_name, without_versions};

/// The figures worth reviewing: a change of one may make a launch fail or slow. They are in the order of the fields of
/// a kernel's line.
pub const FIGURES: [Figure; 9] = [
    Figure::CodeSize,
    Figure::Registers,
    Figure::Vgprs,
    Figure::Agprs,
    Figure::Sgprs,
    Figure::VgprSpills,
    Figure::SgprSpills,
    Figure::Scratch,
    Figure::Shared,
];

/// First bytes of the hash of a kernel's code. The image has the whole hash of its code.
pub type KernelHash = [u8; 8];

/// A kernel, its resource usage and the hash of its code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedKernel {
    /// Name.
    pub name: KernelName,
    /// Resource usage.
    pub usage: Arc<KernelUsage>,
    /// Hash of its code, if the image states which bytes are its code. Locks of earlier builds have none.
    pub code: Option<KernelHash>,
}

/// Resource usage of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelUsage {
    /// Figures, in the order of [`FIGURES`].
    pub figures: [Option<u64>; FIGURES.len()],
    /// True if the kernel may need more scratch memory than the image states.
    pub scratch_is_minimum: bool,
}

/// Name of a kernel, and its demangled name. Clones share both.
#[derive(Clone)]
pub struct KernelName(Arc<NameText>);

struct NameText {
    name: Arc<str>,
    demangled: Demangled,
}

/// Demangled name of a kernel.
enum Demangled {
    /// The result of the demangler, once it was called.
    Computed(OnceLock<Option<Box<str>>>),
    /// Another name, or none, from a lock that was edited or written by another release.
    Stated(Option<Box<str>>),
}

impl KernelName {
    /// Creates a name. The demangler determines its demangled name.
    pub fn new(name: &str) -> Self {
        KernelName(Arc::new(NameText { name: name.into(), demangled: Demangled::Computed(OnceLock::new()) }))
    }

    /// Creates a name with this demangled name.
    pub fn with_demangled(name: &str, demangled: Option<&str>) -> Self {
        KernelName::new(name).restated(demangled)
    }

    /// Replaces the demangled name.
    fn restated(self, demangled: Option<&str>) -> Self {
        if self.demangled() == demangled {
            return self;
        }
        let stated = Demangled::Stated(demangled.map(Box::from));
        KernelName(Arc::new(NameText { name: Arc::clone(&self.0.name), demangled: stated }))
    }

    /// The name that the runtime looks the kernel up with.
    pub fn as_str(&self) -> &str {
        &self.0.name
    }

    /// Returns the demangled name, where it differs.
    pub fn demangled(&self) -> Option<&str> {
        match &self.0.demangled {
            Demangled::Computed(known) => known.get_or_init(|| demangle(self.as_str()).map(Into::into)).as_deref(),
            Demangled::Stated(stated) => stated.as_deref(),
        }
    }

    /// Returns the demangled name if it differs from the demangler's result. The inner `None` means that there is no
    /// demangled name.
    pub(super) fn stated(&self) -> Option<Option<&str>> {
        match &self.0.demangled {
            Demangled::Computed(_) => None,
            Demangled::Stated(stated) => Some(stated.as_deref()),
        }
    }

    /// Returns the demangled name without generated parts and without the versions of libraries; `None` if it contains
    /// no versions.
    pub(super) fn across_versions(&self) -> Option<String> {
        let stable = stable_name(self.demangled()?);
        let without = without_versions(&stable);
        (without != stable).then_some(without)
    }

    /// Returns the name without generated parts.
    pub(super) fn without_generated_parts(&self) -> Self {
        let demangled = self.demangled().map(stable_name);
        KernelName::with_demangled(&stable_name(self.as_str()), demangled.as_deref())
    }
}

impl PartialEq for KernelName {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for KernelName {}

impl PartialOrd for KernelName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KernelName {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        self.as_str().cmp(other.as_str()).then_with(|| self.stated().cmp(&other.stated()))
    }
}

impl StdHash for KernelName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KernelName").field(&self.as_str()).field(&self.stated()).finish()
    }
}

impl LockedKernel {
    /// Returns the size of its machine code, in bytes.
    pub fn code_size(&self) -> Option<u64> {
        self.usage.figures[0]
    }

    /// Returns the demangled name, or the name if it is not mangled.
    pub fn readable_name(&self) -> &str {
        self.name.demangled().unwrap_or(self.name.as_str())
    }
}

impl KernelUsage {
    /// Returns the figures that are known.
    pub fn known(&self) -> impl Iterator<Item = (Figure, u64)> {
        FIGURES.into_iter().zip(self.figures).filter_map(|(figure, value)| Some((figure, value?)))
    }

    pub(super) fn of(kernel: &Kernel) -> Self {
        KernelUsage {
            figures: FIGURES.map(|figure| figure.value(kernel)),
            scratch_is_minimum: kernel.scratch_is_minimum && kernel.scratch.is_some(),
        }
    }
}

/// Names and figures that are in use, so that equal ones are in memory once.
#[derive(Debug, Default)]
pub struct KernelPool {
    names: NameMap<Arc<str>, KernelName>,
    usages: HashSet<Arc<KernelUsage>>,
}

/// Number of names that are shared. The kernels of a package are not named alike.
const MAX_NAMES: usize = 1 << 16;

impl KernelPool {
    /// Forgets the names if they are many.
    pub fn limit(&mut self) {
        if self.names.len() > MAX_NAMES {
            *self = KernelPool::default();
        }
    }

    /// Returns a name. The demangler determines its demangled name.
    pub fn name(&mut self, name: &str) -> KernelName {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let new = KernelName::new(name);
        self.names.insert(Arc::clone(&new.0.name), new.clone());
        new
    }

    /// Returns a name with this demangled name.
    pub fn name_with(&mut self, name: &str, demangled: Option<&str>) -> KernelName {
        self.name(name).restated(demangled)
    }

    /// Returns the figures, shared with equal ones.
    pub fn usage(&mut self, usage: KernelUsage) -> Arc<KernelUsage> {
        if let Some(known) = self.usages.get(&usage) {
            return Arc::clone(known);
        }
        let new = Arc::new(usage);
        self.usages.insert(Arc::clone(&new));
        new
    }
}
