//! A kernel and what it takes of the device, whatever kind of image it stands in.
//!
//! Sizes are bytes. The names are those of the figures that both vendors' tools print; where the two have different words
//! for one thing, a field here is that thing.

/// A kernel. Every figure is absent where the image does not state it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernel {
    /// As the runtime looks it up.
    pub name: String,
    /// As its author wrote it, where that is something else.
    pub demangled: Option<String>,
    /// 32-bit registers of a thread (NVIDIA).
    pub registers: Option<u64>,
    /// The most registers that the compiler was to use.
    pub max_registers: Option<u64>,
    /// Vector registers of a work-item, of both kinds together where the processor has one file for both (AMD).
    pub vgprs: Option<u64>,
    /// Accumulation vector registers among them (AMD).
    pub agprs: Option<u64>,
    /// Scalar registers of a wavefront (AMD).
    pub sgprs: Option<u64>,
    /// Registers that did not fit and were stored to memory or to other registers (AMD).
    pub vgpr_spills: Option<u64>,
    pub sgpr_spills: Option<u64>,
    /// Private memory of a work-item or thread: AMD's scratch, NVIDIA's stack, with whatever was spilled to it.
    pub scratch: Option<u64>,
    /// More scratch may be needed than is stated: a stack that grows as the kernel runs, or functions to be linked yet.
    pub scratch_is_minimum: bool,
    /// Memory of a work-group that is fixed: AMD's LDS, NVIDIA's shared memory. What the launch adds is not in it.
    pub shared: Option<u64>,
    /// Constant banks of the kernel itself (NVIDIA).
    pub constant_banks: Vec<ConstantBank>,
    /// Its own parameters, without what the compiler adds for itself, in their order.
    pub parameters: Vec<Parameter>,
    /// All of the parameters' memory, with what the compiler adds: AMD's kernarg segment.
    pub parameter_size: Option<u64>,
    /// How many work-items or threads go in step.
    pub wave_size: Option<u64>,
    /// The most work-items or threads of a work-group that it may be launched with.
    pub max_threads: Option<u64>,
    /// The only shape of a work-group that it may be launched with.
    pub required_threads: Option<[u64; 3]>,
    /// How many work-groups are to fit onto a multiprocessor at once (PTX).
    pub min_blocks: Option<u64>,
    /// Size of its machine code, without the functions that it calls.
    pub code_size: Option<u64>,
    /// Where its source begins, if the debug information says so.
    pub source: Option<SourceLine>,
}

/// A bank of constant memory, the way cuobjdump numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConstantBank {
    pub bank: u32,
    pub size: u64,
}

/// Where a parameter stands among the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub name: Option<String>,
    pub offset: u64,
    pub size: u64,
}

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// With its folder, as far as the compiler knew it.
    pub file: String,
    pub line: u64,
}

/// A kernel and where its code begins, by which debug information knows it.
pub struct LocatedKernel {
    pub kernel: Kernel,
    pub entry: Option<u64>,
}
