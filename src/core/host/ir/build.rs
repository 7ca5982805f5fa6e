//! The module of a plan: a variable or a function for each symbol.

use std::collections::HashSet;

use super::builder::ModuleBuilder;
use super::function::FunctionBuilder;
use super::module::{ConstantForm, IrFunction, IrModule, IrType, IrValue, IrVariable, Linkage, SectionBytes, TypeId};
use crate::host::code::{Call, Step, Value};
use crate::host::plan::{Data, Field, ObjectPlan, PlanSection, SectionKind};
use crate::host::symbol::{Definition, Symbol, SymbolId};

/// Default sections of a compiler for data, under these names or the names of another object format.
const DEFAULT_SECTIONS: [&str; 3] = [".rodata", ".data.rel.ro", ".bss"];

/// Returns the module of a plan for a machine.
pub fn build(plan: &ObjectPlan, triple: &str) -> IrModule {
    let mut builder = ModuleBuilder::new(plan, triple);
    builder.declare();
    builder.define_variables();
    for (index, symbol) in plan.symbols.iter().enumerate() {
        if let (Definition::Function(function), IrValue::Function(at)) = (symbol.definition, builder.values[index]) {
            let (blocks, locals) = FunctionBuilder::new(&mut builder).build(&plan.functions[function].steps);
            let function = &mut builder.module.functions[at];
            (function.blocks, function.locals) = (blocks, locals);
        }
    }
    builder.add_arrays();
    builder.module
}

impl ModuleBuilder<'_> {
    /// Adds a variable or a function for each symbol, without contents.
    fn declare(&mut self) {
        let names = unique_names(&self.plan.symbols);
        // Its size is unknown, so that no compiler concludes anything from it.
        let unknown = self.array_type(0);
        self.intern(IrType::Pointer(unknown));
        for (index, (symbol, name)) in self.plan.symbols.iter().zip(names).enumerate() {
            let linkage = match symbol.definition {
                Definition::Undefined => Linkage::External,
                Definition::UndefinedWeak => Linkage::Weak,
                Definition::UndefinedHidden => Linkage::Hidden,
                Definition::Data { .. } | Definition::Function(_) => Linkage::Internal,
            };
            let call = find_call(self.plan.functions.iter().flat_map(|function| &function.steps), SymbolId(index));
            let function_type = match (symbol.definition, call) {
                (Definition::Function(_), _) => Some(self.function_type(None)),
                (Definition::Undefined, Some(call)) => Some(self.function_type(Some(call))),
                _ => None,
            };
            let value = match function_type {
                Some(function_type) => {
                    self.intern(IrType::Pointer(function_type));
                    self.module.functions.push(IrFunction { name, function_type, blocks: vec![], locals: vec![] });
                    IrValue::Function(self.module.functions.len() - 1)
                }
                None => self.variable(name, unknown, None, linkage),
            };
            self.values.push(value);
        }
    }

    /// Adds a variable in no particular section.
    fn variable(
        &mut self,
        name: String,
        value_type: TypeId,
        initializer: Option<IrValue>,
        linkage: Linkage,
    ) -> IrValue {
        let is_constant = false;
        let variable = IrVariable { name, value_type, initializer, is_constant, linkage, alignment: 0, section: None };
        self.module.variables.push(variable);
        IrValue::Variable(self.module.variables.len() - 1)
    }

    /// Completes the variables of the symbols that the plan's sections define.
    fn define_variables(&mut self) {
        let plan = self.plan;
        // Types first, because contents refer to variables.
        let mut contents = Vec::new();
        for (symbol, &value) in plan.symbols.iter().zip(&self.values.clone()) {
            let (Definition::Data { section, offset, size }, IrValue::Variable(at)) = (symbol.definition, value) else {
                continue;
            };
            let section_of = &plan.sections[section.0];
            let fields = self.fields_of(section.0, offset, size);
            let value_type = match &fields {
                Some(fields) => self.fields_type(fields),
                None => self.array_type(size),
            };
            self.intern(IrType::Pointer(value_type));
            let section_name = self.section_name(&section_of.name).to_owned();
            let variable = &mut self.module.variables[at];
            variable.value_type = value_type;
            variable.is_constant = !matches!(section_of.data, Data::Zero(_));
            variable.alignment = alignment_at(section_of, offset);
            let is_default = DEFAULT_SECTIONS.contains(&section_of.name.as_str());
            variable.section = (!is_default).then_some(section_name);
            let bytes = SectionBytes { section: section.0, range: offset..offset + size };
            contents.push((at, value_type, fields, bytes));
        }
        for (at, value_type, fields, bytes) in contents {
            let is_zero = bytes.range.is_empty() || matches!(plan.sections[bytes.section].data, Data::Zero(_));
            let form = match fields {
                _ if is_zero => ConstantForm::Zero,
                Some(fields) => ConstantForm::Aggregate(fields.iter().map(|&field| self.field(field)).collect()),
                None => ConstantForm::Bytes(bytes),
            };
            self.module.variables[at].initializer = Some(self.constant(value_type, form));
        }
    }

    /// Returns the fields of a symbol, `None` if its section has bytes. The last symbol of a section also refers to the
    /// symbols that the section keeps.
    fn fields_of(&self, section: usize, offset: u64, size: u64) -> Option<Vec<Field>> {
        let section = &self.plan.sections[section];
        let Data::Fields(all) = &section.data else { return None };
        let mut position = 0;
        let mut fields = Vec::new();
        for &field in all {
            if (offset..offset + size).contains(&position) {
                fields.push(field);
            }
            position += field_size(field);
        }
        if offset + size == position {
            fields.extend(section.keep.iter().map(|symbol| Field::Pointer(symbol.start())));
        }
        Some(fields)
    }

    fn fields_type(&mut self, fields: &[Field]) -> TypeId {
        let types = fields.iter().map(|&field| match field {
            Field::Pointer(_) => self.pointer_to_byte(),
            _ => self.integer_type(field_size(field) as u32 * 8),
        });
        let types = types.collect();
        self.intern(IrType::Packed(types))
    }

    fn field(&mut self, field: Field) -> IrValue {
        let value = match field {
            Field::U8(value) => value.into(),
            Field::U16(value) => value.into(),
            Field::U32(value) => value.into(),
            Field::U64(value) => value as i64,
            Field::Pointer(address) => return self.address(address),
        };
        self.integer(field_size(field) as u32 * 8, value)
    }

    /// Adds the arrays that LLVM reads: constructors, destructors, and variables without a reference to them, which
    /// must remain.
    fn add_arrays(&mut self) {
        let mut constructors = Vec::new();
        let mut destructors = Vec::new();
        for section in &self.plan.sections {
            let (list, priority) = match section.kind {
                SectionKind::Constructors(priority) => (&mut constructors, priority),
                SectionKind::Destructors(priority) => (&mut destructors, priority),
                _ => continue,
            };
            let Data::Fields(fields) = &section.data else { continue };
            list.extend(fields.iter().filter_map(|field| match field {
                Field::Pointer(address) => Some((priority, address.symbol)),
                _ => None,
            }));
        }
        self.function_array("llvm.global_ctors", constructors);
        self.function_array("llvm.global_dtors", destructors);

        let referenced = references(self.plan);
        let mut used = Vec::new();
        let mut retained = Vec::new();
        for (index, symbol) in self.plan.symbols.iter().enumerate() {
            let Definition::Data { section, .. } = symbol.definition else { continue };
            match self.plan.sections[section.0].kind {
                _ if referenced.contains(&index) => {}
                SectionKind::Retained => retained.push(SymbolId(index)),
                _ => used.push(SymbolId(index)),
            }
        }
        self.used_array("llvm.compiler.used", used);
        self.used_array("llvm.used", retained);
    }

    fn function_array(&mut self, name: &str, functions: Vec<(u16, SymbolId)>) {
        let number = self.integer_type(32);
        let pointer = self.pointer_to_byte();
        let function = self.function_type(None);
        let function_pointer = self.intern(IrType::Pointer(function));
        let element = self.intern(IrType::Struct(vec![number, function_pointer, pointer]));
        let null = self.constant(pointer, ConstantForm::Zero);
        let elements: Vec<IrValue> = functions
            .into_iter()
            .map(|(priority, symbol)| {
                let fields = vec![self.integer(32, priority.into()), self.values[symbol.0], null];
                self.constant(element, ConstantForm::Aggregate(fields))
            })
            .collect();
        self.appending_array(name, element, elements, None);
    }

    fn used_array(&mut self, name: &str, symbols: Vec<SymbolId>) {
        let element = self.pointer_to_byte();
        let elements = symbols.into_iter().map(|symbol| self.address(symbol.start())).collect();
        self.appending_array(name, element, elements, Some("llvm.metadata"));
    }

    fn appending_array(&mut self, name: &str, element: TypeId, elements: Vec<IrValue>, section: Option<&str>) {
        if elements.is_empty() {
            return;
        }
        let array = self.intern(IrType::Array(elements.len() as u64, element));
        let initializer = self.constant(array, ConstantForm::Aggregate(elements));
        let value = self.variable(name.to_owned(), array, Some(initializer), Linkage::Appending);
        if let IrValue::Variable(at) = value {
            self.module.variables[at].section = section.map(str::to_owned);
        }
    }
}

/// Returns a unique name for each symbol. Symbols that other objects define keep their names.
fn unique_names(symbols: &[Symbol]) -> Vec<String> {
    let is_own = |symbol: &Symbol| matches!(symbol.definition, Definition::Data { .. } | Definition::Function(_));
    let mut taken: HashSet<String> =
        symbols.iter().filter(|symbol| !is_own(symbol)).map(|symbol| symbol.name.clone()).collect();
    let mut next = 0;
    let names = symbols.iter().map(|symbol| {
        let mut name = symbol.name.clone();
        while is_own(symbol) && !taken.insert(name.clone()) {
            next += 1;
            name = format!("{}.{next}", symbol.name);
        }
        // LLVM interprets names with its own prefix; a leading byte 1, which the object omits, marks a name as
        // verbatim.
        let is_verbatim = name.starts_with("llvm.") || name.starts_with('\x01');
        if is_verbatim { format!("\x01{name}") } else { name }
    });
    names.collect()
}

fn find_call<'plan>(mut steps: impl Iterator<Item = &'plan Step>, symbol: SymbolId) -> Option<&'plan Call> {
    steps.find_map(|step| match step {
        Step::Call(call) => (call.callee == symbol).then_some(call),
        Step::ForEach { body, .. } | Step::When { body, .. } => find_call(body.iter(), symbol),
        Step::Store { .. } => None,
    })
}

/// Returns the indices of the symbols that data or code refers to.
fn references(plan: &ObjectPlan) -> HashSet<usize> {
    let mut found = HashSet::new();
    for section in &plan.sections {
        let Data::Fields(fields) = &section.data else { continue };
        found.extend(fields.iter().filter_map(|field| match field {
            Field::Pointer(address) => Some(address.symbol.0),
            _ => None,
        }));
    }
    for function in &plan.functions {
        references_of_steps(&function.steps, &mut found);
    }
    found
}

fn references_of_steps(steps: &[Step], found: &mut HashSet<usize>) {
    for step in steps {
        match step {
            Step::Call(call) => found.extend(call.arguments.iter().filter_map(|argument| match argument {
                Value::Address(address) | Value::Variable(address) => Some(address.symbol.0),
                Value::Integer(_) | Value::Local(_) | Value::Field(_) => None,
            })),
            Step::Store { to, .. } => {
                found.insert(to.symbol.0);
            }
            Step::ForEach { begin, end, body, .. } => {
                found.extend([begin.symbol.0, end.symbol.0]);
                references_of_steps(body, found);
            }
            Step::When { body, .. } => references_of_steps(body, found),
        }
    }
}

/// Returns the alignment of the bytes at an offset of a section: the section's or the offset's, if that is smaller.
fn alignment_at(section: &PlanSection, offset: u64) -> u64 {
    let of_offset = if offset == 0 { section.alignment } else { 1 << offset.trailing_zeros() };
    section.alignment.min(of_offset)
}

fn field_size(field: Field) -> u64 {
    match field {
        Field::U8(_) => 1,
        Field::U16(_) => 2,
        Field::U32(_) => 4,
        Field::U64(_) | Field::Pointer(_) => 8,
    }
}
