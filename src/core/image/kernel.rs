//! Kernels and their resource usage, for all kinds of images.
//!
//! Sizes are in bytes. Fields are named after the figures that the vendors' tools print. If the vendors use different
//! terms for the same figure, one field covers both.

use crate::base::bytes::total;
use crate::target::metal::Language;

/// A kernel. A figure is absent if the image does not state it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Kernel {
    /// Name that the runtime looks up.
    pub name: String,
    /// Demangled name, if it differs.
    pub demangled: Option<String>,
    /// Registers of a thread: 32-bit registers (NVIDIA), or general registers (Intel).
    pub registers: Option<u64>,
    /// Limit on registers that the compiler was given.
    pub max_registers: Option<u64>,
    /// Vector registers of a work-item. Includes accumulation registers if the processor has one register file for both
    /// (AMD).
    pub vgprs: Option<u64>,
    /// Accumulation vector registers, which `vgprs` includes if both share a register file (AMD).
    pub agprs: Option<u64>,
    /// Scalar registers of a wavefront (AMD).
    pub sgprs: Option<u64>,
    /// Vector registers spilled to memory or to other registers (AMD).
    pub vgpr_spills: Option<u64>,
    /// Scalar registers spilled to memory or to other registers (AMD).
    pub sgpr_spills: Option<u64>,
    /// Private memory of a work-item or thread: AMD's scratch, NVIDIA's stack, including registers spilled to it.
    pub scratch: Option<u64>,
    /// True if more scratch may be needed than stated: the stack grows at run time, or functions are not linked yet.
    pub scratch_is_minimum: bool,
    /// Statically allocated memory of a work-group: AMD's LDS, NVIDIA's shared memory. Excludes memory that the launch
    /// requests.
    pub shared: Option<u64>,
    /// Constant banks of the kernel itself (NVIDIA).
    pub constant_banks: Vec<ConstantBank>,
    /// Declared parameters in order, without parameters that the compiler adds.
    pub parameters: Vec<Parameter>,
    /// Size of all parameters, including parameters that the compiler adds: AMD's kernarg segment.
    pub parameter_size: Option<u64>,
    /// Number of work-items or threads that execute in lockstep.
    pub wave_size: Option<u64>,
    /// Maximum number of work-items or threads of a work-group.
    pub max_threads: Option<u64>,
    /// Required shape of a work-group.
    pub required_threads: Option<[u64; 3]>,
    /// Minimum number of work-groups to fit on a multiprocessor at once (PTX).
    pub min_blocks: Option<u64>,
    /// Size of its machine code, without called functions.
    pub code_size: Option<u64>,
    /// Number of bytes of the image that belong to this kernel alone: code, constants, attributes, relocations. Only
    /// set by [`inspect_with_own_sizes`](super::inspect_with_own_sizes).
    #[doc(hidden)]
    pub own_size: Option<u64>,
    /// Version of the Metal language that it is compiled from (Apple).
    #[doc(hidden)]
    pub language: Option<Language>,
    /// What it does, if it has no body.
    #[doc(hidden)]
    pub stub: Option<Stub>,
    /// First line of its source, according to the debug information.
    pub source: Option<SourceLine>,
}

impl Kernel {
    /// Returns the number of spilled registers, of both sorts.
    #[doc(hidden)]
    pub fn spills(&self) -> Option<u64> {
        match (self.vgpr_spills, self.sgpr_spills) {
            (None, None) => None,
            (vector, scalar) => Some(total(vector.into_iter().chain(scalar))),
        }
    }
}

/// What a kernel without a body does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stub {
    /// It ends.
    Exit,
    /// It traps.
    Trap,
}

impl Stub {
    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Stub::Exit => "exit",
            Stub::Trap => "trap",
        }
    }

    /// The verb that says what the kernel does.
    pub fn verb(self) -> &'static str {
        match self {
            Stub::Exit => "ends at once",
            Stub::Trap => "traps",
        }
    }
}

/// A bank of constant memory, as numbered by cuobjdump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct ConstantBank {
    /// Number of the bank.
    pub bank: u32,
    /// Size, in bytes.
    pub size: u64,
}

/// A parameter and its location in the parameter memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Parameter {
    /// Name, if the image states it.
    pub name: Option<String>,
    /// Offset, in bytes.
    pub offset: u64,
    /// Size, in bytes.
    pub size: u64,
}

/// A line in a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct SourceLine {
    /// Path of the file. It includes the directories that the debug information states.
    pub file: String,
    /// Line number.
    pub line: u64,
}

/// A kernel and the address of its code. Debug information refers to the kernel by this address.
#[derive(Debug)]
pub struct LocatedKernel {
    pub kernel: Kernel,
    pub entry: Option<u64>,
}
