//! A module under construction: its types, its constants, and the addresses of the plan's symbols.

use super::module::{ConstantForm, Interner, IrConstant, IrModule, IrType, IrValue, TypeId};
use crate::host::code::{Call, Value};
use crate::host::hosts::{Host, ObjectFormat};
use crate::host::layout::TEXT;
use crate::host::plan::ObjectPlan;
use crate::host::symbol::{SymbolAddress, SymbolId};
use crate::host::systems::mach_o_section;

/// Returns the name of a section in the object format of a triple.
fn section_name<'name>(name: &'name str, triple: &str) -> &'name str {
    let is_mach_o = triple.parse().is_ok_and(|host: Host| host.format() == ObjectFormat::MachO);
    if is_mach_o { mach_o_section(name) } else { name }
}

/// A module under construction.
pub struct ModuleBuilder<'plan> {
    pub plan: &'plan ObjectPlan<'plan>,
    pub module: IrModule,
    /// Variable or function of each symbol.
    pub values: Vec<IrValue>,
}

impl<'plan> ModuleBuilder<'plan> {
    /// Creates an empty module.
    pub fn new(plan: &'plan ObjectPlan<'plan>, triple: &str) -> Self {
        let module = IrModule {
            triple: triple.to_owned(),
            source_name: plan.source_name,
            code_section: section_name(TEXT, triple),
            types: Interner::default(),
            constants: Interner::default(),
            variables: Vec::new(),
            functions: Vec::new(),
        };
        ModuleBuilder { plan, module, values: Vec::new() }
    }

    /// Returns the name of a section in the object format of the module's triple.
    pub fn section_name<'name>(&self, name: &'name str) -> &'name str {
        section_name(name, &self.module.triple)
    }

    /// Returns a symbol's variable or function.
    pub fn value_of(&self, symbol: SymbolId) -> IrValue {
        self.values[symbol.0]
    }

    /// Returns an address as a pointer to bytes.
    pub fn address(&mut self, address: SymbolAddress) -> IrValue {
        let pointer = self.pointer_to_byte();
        let value = self.bitcast(self.values[address.symbol.0], pointer);
        if address.offset == 0 {
            return value;
        }
        let offset = self.integer(64, address.offset as i64);
        self.constant(pointer, ConstantForm::Offset(value, offset))
    }

    /// Returns an address as a pointer of another type.
    pub fn bitcast(&mut self, value: IrValue, pointer: TypeId) -> IrValue {
        if self.module.type_of(value, &[]) == pointer {
            return value;
        }
        self.constant(pointer, ConstantForm::Bitcast(value))
    }

    /// Returns the type of the function that a call calls, or of the plan's functions.
    ///
    /// Addresses are pointers, and everything else has 64 bits: the machines' C ABIs pass an `int` like that, with its
    /// sign extended.
    pub fn function_type(&mut self, call: Option<&Call>) -> TypeId {
        let pointer = self.pointer_to_byte();
        let number = self.integer_type(64);
        let parameters = call.iter().flat_map(|call| &call.arguments).map(|argument| match argument {
            Value::Address(_) | Value::Local(_) => pointer,
            Value::Integer(_) | Value::Variable(_) | Value::Field(_) => number,
        });
        let parameters = parameters.collect();
        let result = match call {
            Some(Call { result: Some(_), .. }) => pointer,
            _ => self.intern(IrType::Void),
        };
        self.intern(IrType::Function(result, parameters))
    }

    /// Returns the type of a pointer to bytes.
    pub fn pointer_to_byte(&mut self) -> TypeId {
        let byte = self.integer_type(8);
        self.intern(IrType::Pointer(byte))
    }

    /// Returns the type of an integer of this number of bits.
    pub fn integer_type(&mut self, bits: u32) -> TypeId {
        self.intern(IrType::Integer(bits))
    }

    /// Returns the type of this number of bytes.
    pub fn array_type(&mut self, size: u64) -> TypeId {
        let byte = self.integer_type(8);
        self.intern(IrType::Array(size, byte))
    }

    /// Returns an integer of this number of bits.
    pub fn integer(&mut self, bits: u32, value: i64) -> IrValue {
        let integer = self.integer_type(bits);
        self.constant(integer, ConstantForm::Integer(value))
    }

    /// Returns a constant.
    pub fn constant(&mut self, constant_type: TypeId, form: ConstantForm) -> IrValue {
        IrValue::Constant(self.module.constants.intern(IrConstant { constant_type, form }))
    }

    /// Returns a type.
    pub fn intern(&mut self, ir_type: IrType) -> TypeId {
        TypeId(self.module.types.intern(ir_type))
    }
}
