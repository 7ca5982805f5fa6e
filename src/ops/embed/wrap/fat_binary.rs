//! The CUDA and HIP wrapper: one fat binary, registered by a constructor that then registers every kernel and variable.
//!
//! CUDA and HIP differ only in names, a magic, and a call that only CUDA has. The wrapper structure is 24 bytes, see
//! [`fat_binary_wrapper`].
//! Source: objects made by clang-linker-wrapper and llvm-offload-wrapper of LLVM 15 to 22; prototypes in
//! `clang/lib/CodeGen/CGCUDANV.cpp`.

use super::{Request, entries, registration};
use crate::embed::llvm::wrapper_abi::{FlagRules, Unregister, WrapperAbi};
use fatbin_core::base::content::Content;
use fatbin_core::format::bundle;
use fatbin_core::format::fat_binary_wrapper::{self, FatBinaryWrapper};
use fatbin_core::host::{
    Call, Comparison, Data, Definition, Field, Local, ObjectFormat, ObjectPlan, Part, PlanSection, Scope, SectionKind,
    Step, SymbolId, Value,
};
use fatbin_core::target::OffloadKind;

/// Names of the same things in CUDA and HIP.
struct Names {
    /// Part of the names of local symbols: `.cuda.fatbin_reg`.
    local: &'static str,
    /// Prefix of the runtime's functions: `__cudaRegisterFatBinary`.
    runtime: &'static str,
    /// Magic and sections.
    wrapper: FatBinaryWrapper,
    /// Alignment of the fat binary in bytes. LLVM's wrapper library sets none, so CUDA's gets 16; clang aligns the fat
    /// binary of a single file, and HIP's loader maps pages.
    alignment: u64,
    /// True if a call ends the registration.
    has_end: bool,
    /// True if surfaces and textures can be registered: libcudart 12 and 13 no longer have those functions.
    has_surfaces: bool,
}

const CUDA: Names = Names {
    local: "cuda",
    runtime: "__cuda",
    wrapper: fat_binary_wrapper::CUDA,
    alignment: 16,
    has_end: true,
    has_surfaces: false,
};

const HIP: Names = Names {
    local: "hip",
    runtime: "__hip",
    wrapper: fat_binary_wrapper::HIP,
    alignment: bundle::HIP_ALIGNMENT,
    has_end: false,
    has_surfaces: true,
};

impl Names {
    /// Returns the sections of the fat binary and of the wrapper structure.
    fn sections(&self, format: ObjectFormat) -> (String, String) {
        let wrapper = &self.wrapper;
        match format {
            ObjectFormat::Elf | ObjectFormat::Coff => {
                (wrapper.container_section.to_owned(), wrapper.section.to_owned())
            }
            ObjectFormat::MachO => {
                let [container, structure] = [wrapper.mach_o_container_section, wrapper.mach_o_section]
                    .map(|(segment, name)| format!("{segment},{name}"));
                (container, structure)
            }
        }
    }
}

/// Adds fat binary, wrapper structure and functions for CUDA or HIP.
pub fn add<'data>(plan: &mut ObjectPlan<'data>, mut request: Request<'data>, priority: u16) {
    let names = if request.kind == OffloadKind::Cuda { &CUDA } else { &HIP };
    let (container_section, wrapper_section) = names.sections(request.format);
    let content = request.images.pop().map(|image| image.content).unwrap_or_default();
    if request.fat_binary_symbols.is_alone {
        container(plan, names, container_section, content, &request);
        return;
    }
    let tables = entry_tables(plan, &request);
    let fat_binary = container(plan, names, container_section, content, &request);

    let mut keep = super::weak_references(plan, &request.keep);
    keep.extend(tables.iter().filter_map(|table| table.bounds.keep));
    let section = plan.next_section();
    let wrapper = plan.symbol(".fatbin_wrapper", Definition::Data { section, offset: 0, size: 24 });
    let version = Field::U32(fat_binary_wrapper::VERSION);
    let fields = vec![Field::U32(names.wrapper.magic), version, Field::Pointer(fat_binary.start()), Field::U64(0)];
    let section = PlanSection::new(wrapper_section, SectionKind::Writable, 8, Data::Fields(fields));
    plan.section(PlanSection { keep, ..section });

    let section = plan.next_section();
    let definition = Definition::Data { section, offset: 0, size: 8 };
    let handle = plan.symbol(format!(".{}.binary_handle", names.local), definition).start();
    plan.section(PlanSection::new(".bss", SectionKind::Writable, 8, Data::Zero(8)));

    let mut function = |name: &str| plan.reference(&format!("{}{name}", names.runtime), Definition::Undefined);
    let register_binary = function("RegisterFatBinary");
    let unregister_binary = function("UnregisterFatBinary");
    let mut register = vec![
        Step::Call(Call {
            callee: register_binary,
            arguments: vec![Value::Address(wrapper.start())],
            result: Some(Local::Handle),
        }),
        Step::Store { to: handle, from: Local::Handle },
    ];
    for EntryTable { bounds, abi, kind_number } in tables {
        register.push(Step::ForEach {
            element: Local::Entry,
            begin: bounds.begin,
            end: bounds.end,
            size: abi.entries.size(),
            body: register_entry(plan, names, kind_number, &abi),
        });
    }
    if names.has_end {
        let end = plan.reference(&format!("{}RegisterFatBinaryEnd", names.runtime), Definition::Undefined);
        register.push(Step::call(end, vec![Value::Local(Local::Handle)]));
    }
    let unregister = vec![Step::call(unregister_binary, vec![Value::Variable(handle)])];
    let functions = (format!(".{}.fatbin_reg", names.local), format!(".{}.fatbin_unreg", names.local));
    let functions = (functions.0.as_str(), functions.1.as_str());
    registration::functions(plan, functions, priority, Unregister::AtExit, register, unregister);
}

/// Entries of the host objects of one or more releases.
struct EntryTable {
    bounds: entries::Bounds,
    abi: WrapperAbi,
    kind_number: u16,
}

/// Adds the sections of the entries of the request's release, and of further ones. One fat binary serves them all, so
/// that a variable of the device is one variable for all host objects.
fn entry_tables(plan: &mut ObjectPlan<'_>, request: &Request<'_>) -> Vec<EntryTable> {
    let mut tables = vec![entry_table(plan, request)];
    for release in &request.further_releases {
        let (abi, kind_number) = (release.wrapper, release.kinds.number(request.kind));
        let further = Request { abi, kind_number, entries: Vec::new(), ..request.clone() };
        tables.push(entry_table(plan, &further));
    }
    tables
}

fn entry_table(plan: &mut ObjectPlan<'_>, request: &Request<'_>) -> EntryTable {
    EntryTable { bounds: entries::section(plan, request), abi: request.abi, kind_number: request.kind_number }
}

/// Adds the section of the fat binary, and returns its symbol.
fn container<'data>(
    plan: &mut ObjectPlan<'data>,
    names: &Names,
    name: String,
    content: Content<'data>,
    request: &Request<'data>,
) -> SymbolId {
    let section = plan.next_section();
    let definition = Definition::Data { section, offset: 0, size: content.size() };
    let fat_binary = plan.symbol(".fatbin_image", definition);
    for name in &request.fat_binary_symbols.fat_binaries {
        plan.scoped_symbol(name, definition, Scope::Hidden);
    }
    let section = PlanSection::new(name, SectionKind::ReadOnly, names.alignment, Data::Bytes(content));
    plan.section(PlanSection { large: request.large, ..section });
    handles(plan, &request.fat_binary_symbols.handles);
    fat_binary
}

/// Adds the handles of objects that register the fat binary by themselves.
fn handles(plan: &mut ObjectPlan<'_>, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let section = plan.next_section();
    for (offset, name) in (0..).step_by(HANDLE_SIZE as usize).zip(names) {
        plan.scoped_symbol(name, Definition::Data { section, offset, size: HANDLE_SIZE }, Scope::Hidden);
    }
    let size = HANDLE_SIZE * names.len() as u64;
    plan.section(PlanSection::new(HANDLE_SECTION, SectionKind::Writable, HANDLE_SIZE, Data::Zero(size)));
}

/// Section of the handles, and the size of each.
const HANDLE_SECTION: &str = ".hip_gpubin_handle";
const HANDLE_SIZE: u64 = 8;

/// Returns the steps for one entry: nothing for an entry of another kind, else the registration of a kernel or,
/// depending on its flags, of a variable.
fn register_entry(plan: &mut ObjectPlan, names: &Names, kind: u16, abi: &WrapperAbi) -> Vec<Step> {
    let layout = abi.entries;
    let body = vec![
        Step::When {
            value: layout.size_field(),
            is: Comparison::Equal(0),
            body: vec![register_function(plan, names, abi)],
        },
        Step::When {
            value: layout.size_field(),
            is: Comparison::NotEqual(0),
            body: register_variable(plan, names, abi),
        },
    ];
    match layout.kind() {
        Some(value) => vec![Step::When { value, is: Comparison::Equal(kind.into()), body }],
        None => body,
    }
}

/// Returns the call that registers a kernel, a function with the result `int`. Its arguments are the handle, the host
/// address, the device name twice, the thread limit -1, and five null pointers.
fn register_function(plan: &mut ObjectPlan, names: &Names, abi: &WrapperAbi) -> Step {
    let layout = abi.entries;
    let mut arguments = vec![Value::Local(Local::Handle), layout.address(), layout.name(), layout.name()];
    arguments.push(Value::Integer(-1));
    arguments.extend([Value::Integer(0); 5]);
    Step::call(runtime_function(plan, names, "RegisterFunction"), arguments)
}

/// Returns the steps for a variable by the type in its flags: 0 plain, 1 managed, 2 a surface, 3 a texture; others are
/// ignored.
fn register_variable(plan: &mut ObjectPlan, names: &Names, abi: &WrapperAbi) -> Vec<Step> {
    let layout = abi.entries;
    let rules = abi.flags;
    let handle = Value::Local(Local::Handle);
    let address = layout.address();
    let name = layout.name();
    let size = layout.size_field();
    let data = layout.data();
    let zero = Value::Integer(0);
    let bit = |first| match rules {
        FlagRules::Word => zero,
        FlagRules::Bits | FlagRules::BitsAndManaged => layout.flags(Part::Bits { first, count: 1 }),
    };
    let external = bit(3);
    let constant = bit(4);
    let normalized = bit(5);

    let mut calls = vec![(0, "RegisterVar", vec![handle, address, name, name, external, size, constant, zero])];
    if rules >= FlagRules::BitsAndManaged {
        calls.push((1, "RegisterManagedVar", vec![handle, layout.aux_address(), address, name, size, data]));
    }
    if rules >= FlagRules::Bits && names.has_surfaces {
        calls.push((2, "RegisterSurface", vec![handle, address, name, name, data, external]));
        calls.push((3, "RegisterTexture", vec![handle, address, name, name, data, normalized, external]));
    }
    let type_of_variable = match rules {
        FlagRules::Word => layout.flags(Part::All),
        FlagRules::Bits | FlagRules::BitsAndManaged => layout.flags(Part::Bits { first: 0, count: 3 }),
    };
    calls
        .into_iter()
        .map(|(number, function, arguments)| Step::When {
            value: type_of_variable,
            is: Comparison::Equal(number),
            body: vec![Step::call(runtime_function(plan, names, function), arguments)],
        })
        .collect()
}

fn runtime_function(plan: &mut ObjectPlan, names: &Names, name: &str) -> SymbolId {
    plan.reference(&format!("{}{name}", names.runtime), Definition::Undefined)
}
