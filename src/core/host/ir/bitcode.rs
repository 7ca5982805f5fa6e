//! A module as LLVM bitcode.
//!
//! Source: LLVM Bitcode File Format document; `llvm/include/llvm/Bitcode/LLVMBitCodes.h` of LLVM 14. Releases from 5 on
//! read version 2 of the module, which has a separate string table for names.

use std::borrow::Cow;
use std::collections::HashMap;

use super::bitstream::{BitWriter, ByteForm};
use super::content::content_runs;
use super::module::{
    BinaryOperation, BlockLabel, ConstantForm, Conversion, Instruction, IrConstant, IrFunction, IrModule, IrType,
    IrValue, Linkage, Predicate, TypeId,
};
use crate::format::bitcode::{MAGIC, MODULE_BLOCK};
use crate::host::plan::{Data, ObjectPlan};

/// IDs of the blocks besides the module's.
const CONSTANTS_BLOCK: u64 = 11;
const FUNCTION_BLOCK: u64 = 12;
const IDENTIFICATION_BLOCK: u64 = 13;
const TYPE_BLOCK: u64 = 17;
const STRTAB_BLOCK: u64 = 23;

/// Width of abbreviation IDs of every block, in bits.
const WIDTH: u32 = 3;

/// Code of the record with an array's bytes, `CST_CODE_STRING`.
const BYTES: u64 = 8;

/// Code of the record with all names, `STRTAB_BLOB`.
const NAMES: u64 = 1;

/// Codes of instructions.
const BINARY: u64 = 2;
const CAST: u64 = 3;
const RETURN: u64 = 10;
const BRANCH: u64 = 11;
const PHI: u64 = 16;
const LOAD: u64 = 20;
const COMPARE: u64 = 28;
const CALL: u64 = 34;
const GEP: u64 = 43;
const STORE: u64 = 44;

/// Code and operands of a record.
type Record = (u64, Vec<u64>);

/// A module and the stream that it is written to.
struct Bitcode<'plan> {
    module: &'plan IrModule,
    plan: &'plan ObjectPlan<'plan>,
    stream: BitWriter<'plan>,
    /// Names of variables and functions, back to back.
    names: String,
    /// Sections of variables and functions.
    sections: Vec<&'plan str>,
}

/// Returns a module as bitcode; `plan` has the bytes of its sections.
pub fn write<'plan>(module: &'plan IrModule, plan: &'plan ObjectPlan<'plan>) -> BitWriter<'plan> {
    let stream = BitWriter::new(MAGIC);
    let mut bitcode = Bitcode { module, plan, stream, names: String::new(), sections: Vec::new() };
    bitcode.identification();
    bitcode.stream.enter(MODULE_BLOCK, WIDTH);
    bitcode.module_header();
    bitcode.types();
    bitcode.section_names();
    bitcode.variables();
    bitcode.functions();
    bitcode.constants();
    for function in &module.functions {
        if !function.blocks.is_empty() {
            bitcode.function(function);
        }
    }
    bitcode.stream.exit();
    bitcode.string_table();
    bitcode.stream
}

impl<'plan> Bitcode<'plan> {
    fn identification(&mut self) {
        const STRING: u64 = 1;
        const EPOCH: u64 = 2;
        self.stream.enter(IDENTIFICATION_BLOCK, WIDTH);
        self.stream.text(STRING, concat!(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")));
        self.stream.record(EPOCH, [0]);
        self.stream.exit();
    }

    fn module_header(&mut self) {
        const VERSION: u64 = 1;
        const TRIPLE: u64 = 2;
        const SOURCE_FILENAME: u64 = 16;
        self.stream.record(VERSION, [2]);
        self.stream.text(TRIPLE, &self.module.triple);
        self.stream.text(SOURCE_FILENAME, self.module.source_name);
    }

    fn types(&mut self) {
        const NUMENTRY: u64 = 1;
        const VOID: u64 = 2;
        const INTEGER: u64 = 7;
        const POINTER: u64 = 8;
        const ARRAY: u64 = 11;
        const STRUCT: u64 = 18;
        const FUNCTION: u64 = 21;
        let types = self.module.types.items();
        self.stream.enter(TYPE_BLOCK, WIDTH);
        self.stream.record(NUMENTRY, [types.len() as u64]);
        let structure = |is_packed, fields: &[TypeId]| [is_packed].into_iter().chain(fields.iter().map(id)).collect();
        for ir_type in types {
            let (code, operands): Record = match ir_type {
                IrType::Void => (VOID, vec![]),
                IrType::Integer(bits) => (INTEGER, vec![u64::from(*bits)]),
                IrType::Pointer(to) => (POINTER, vec![id(to), 0]),
                IrType::Array(count, element) => (ARRAY, vec![*count, id(element)]),
                IrType::Packed(fields) => (STRUCT, structure(1, fields)),
                IrType::Struct(fields) => (STRUCT, structure(0, fields)),
                IrType::Function(result, parameters) => {
                    let is_variadic = 0;
                    (FUNCTION, [is_variadic, id(result)].into_iter().chain(parameters.iter().map(id)).collect())
                }
            };
            self.stream.record(code, operands);
        }
        self.stream.exit();
    }

    fn section_names(&mut self) {
        const SECTIONNAME: u64 = 5;
        let of_variables = self.module.variables.iter().filter_map(|variable| variable.section.as_deref());
        for section in of_variables.chain([self.module.code_section]) {
            if !self.sections.contains(&section) {
                self.sections.push(section);
                self.stream.text(SECTIONNAME, section);
            }
        }
    }

    /// Returns the number of a section; 0 is none.
    fn section(&self, name: Option<&str>) -> u64 {
        name.and_then(|name| self.sections.iter().position(|&section| section == name))
            .map_or(0, |index| index as u64 + 1)
    }

    /// Adds a name, and returns its position and size.
    fn name(&mut self, name: &str) -> [u64; 2] {
        let position = self.names.len() as u64;
        self.names.push_str(name);
        [position, name.len() as u64]
    }

    fn variables(&mut self) {
        const GLOBALVAR: u64 = 7;
        const HAS_VALUE_TYPE: u64 = 1 << 1;
        let module = self.module;
        for variable in &module.variables {
            let [position, size] = self.name(&variable.name);
            let initializer = variable.initializer.map_or(0, |value| self.number(value) + 1);
            let section = self.section(variable.section.as_deref());
            let is_constant = u64::from(variable.is_constant) | HAS_VALUE_TYPE;
            let (linkage, visibility) = linkage(variable.linkage);
            let alignment = alignment(variable.alignment);
            let value_type = id(&variable.value_type);
            let start = [position, size, value_type, is_constant, initializer, linkage, alignment, section, visibility];
            // Not thread-local; the address is significant.
            self.stream.record(GLOBALVAR, start.into_iter().chain([0, 0]));
        }
    }

    fn functions(&mut self) {
        const FUNCTION: u64 = 8;
        let module = self.module;
        for function in &module.functions {
            let [position, size] = self.name(&function.name);
            let is_declaration = function.blocks.is_empty();
            let (linkage, visibility) = linkage(if is_declaration { Linkage::External } else { Linkage::Internal });
            let section = if is_declaration { 0 } else { self.section(Some(module.code_section)) };
            let convention = 0;
            let attributes = 0;
            let alignment = 0;
            let start = [position, size, id(&function.function_type), convention, is_declaration.into(), linkage];
            self.stream.record(FUNCTION, start.into_iter().chain([attributes, alignment, section, visibility]));
        }
    }

    fn constants(&mut self) {
        const SETTYPE: u64 = 1;
        let module = self.module;
        self.stream.enter(CONSTANTS_BLOCK, WIDTH);
        self.stream.define_bytes(BYTES, ByteForm::Array);
        for constant in module.constants.items() {
            self.stream.record(SETTYPE, [id(&constant.constant_type)]);
            if let ConstantForm::Bytes(bytes) = &constant.form {
                let size = bytes.range.end - bytes.range.start;
                // The type again, in an odd number of bits: the bytes begin at a byte after at most seven times, and
                // can be copied from the input.
                while !self.stream.is_array_aligned(size) {
                    self.stream.record(SETTYPE, [id(&constant.constant_type)]);
                }
                if let Data::Bytes(content) = &self.plan.sections[bytes.section].data {
                    let runs = content_runs(content, bytes.range.start, size).map(Cow::Borrowed);
                    self.stream.bytes(ByteForm::Array, size, runs);
                }
                continue;
            }
            let (code, operands) = self.constant(constant);
            self.stream.record(code, operands);
        }
        self.stream.exit();
    }

    /// Returns the record of a constant other than bytes, which have a different record.
    fn constant(&self, constant: &IrConstant) -> Record {
        const NULL: u64 = 2;
        const INTEGER: u64 = 4;
        const AGGREGATE: u64 = 7;
        const CE_CAST: u64 = 11;
        const INBOUNDS_GEP: u64 = 20;
        match &constant.form {
            ConstantForm::Zero | ConstantForm::Bytes(_) => (NULL, vec![]),
            ConstantForm::Integer(value) => (INTEGER, vec![signed(*value)]),
            ConstantForm::Aggregate(elements) => {
                (AGGREGATE, elements.iter().map(|&element| self.number(element)).collect())
            }
            ConstantForm::Bitcast(value) => {
                let from = self.module.type_of(*value, &[]);
                (CE_CAST, vec![conversion(Conversion::Bitcast), id(&from), self.number(*value)])
            }
            ConstantForm::Offset(base, offset) => {
                let operands = [*base, *offset].map(|value| [id(&self.module.type_of(value, &[])), self.number(value)]);
                (INBOUNDS_GEP, [id(&self.byte())].into_iter().chain(operands.into_iter().flatten()).collect())
            }
        }
    }

    fn function(&mut self, function: &IrFunction) {
        const DECLAREBLOCKS: u64 = 1;
        self.stream.enter(FUNCTION_BLOCK, WIDTH);
        self.stream.record(DECLAREBLOCKS, [function.blocks.len() as u64]);
        let indices = function.blocks.iter().enumerate().map(|(index, block)| (block.label, index as u64)).collect();
        let mut locals = 0;
        for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
            let (code, operands) = self.instruction(instruction, locals, &indices);
            self.stream.record(code, operands);
            locals += u64::from(self.module.has_result(instruction));
        }
        self.stream.exit();
    }

    /// Returns the record of an instruction after `locals` results. Operands are distances to the values.
    fn instruction(&self, instruction: &Instruction, locals: u64, blocks: &HashMap<BlockLabel, u64>) -> Record {
        let next = self.first_local() + locals;
        let distance = |value: &IrValue| next - self.number(*value);
        match instruction {
            Instruction::Call { callee, function_type, arguments } => {
                let has_explicit_type = 1 << 15;
                let start = [0, has_explicit_type, id(function_type), distance(callee)];
                (CALL, start.into_iter().chain(arguments.iter().map(distance)).collect())
            }
            Instruction::Load { pointer, loaded_type, size } => {
                (LOAD, vec![distance(pointer), id(loaded_type), alignment(*size), 0])
            }
            Instruction::Store { pointer, value, size } => {
                (STORE, vec![distance(pointer), distance(value), alignment(*size), 0])
            }
            Instruction::Offset { pointer, bytes } => {
                let is_in_bounds = 1;
                (GEP, vec![is_in_bounds, id(&self.byte()), distance(pointer), distance(bytes)])
            }
            Instruction::Cast { conversion: by, value, to } => (CAST, vec![distance(value), id(to), conversion(*by)]),
            Instruction::Binary { operation, left, right } => {
                (BINARY, vec![distance(left), distance(right), binary_operation(*operation)])
            }
            Instruction::Compare { predicate: by, left, right } => {
                (COMPARE, vec![distance(left), distance(right), predicate(*by)])
            }
            Instruction::Phi { phi_type, incoming } => {
                // The value of a loop's last block follows.
                let distance = |value: IrValue| signed(next.wrapping_sub(self.number(value)) as i64);
                let operands = incoming.iter().flat_map(|&(value, label)| [distance(value), blocks[&label]]);
                (PHI, [id(phi_type)].into_iter().chain(operands).collect())
            }
            Instruction::Jump(label) => (BRANCH, vec![blocks[label]]),
            Instruction::Branch { condition, then, otherwise } => {
                (BRANCH, vec![blocks[then], blocks[otherwise], distance(condition)])
            }
            Instruction::Return => (RETURN, vec![]),
        }
    }

    /// Number of a value: variables first, then functions, constants, and results of instructions.
    fn number(&self, value: IrValue) -> u64 {
        let module = self.module;
        let index = match value {
            IrValue::Variable(index) => index,
            IrValue::Function(index) => module.variables.len() + index,
            IrValue::Constant(index) => module.variables.len() + module.functions.len() + index,
            IrValue::Local(index) => return self.first_local() + index as u64,
        };
        index as u64
    }

    fn first_local(&self) -> u64 {
        let module = self.module;
        (module.variables.len() + module.functions.len() + module.constants.items().len()) as u64
    }

    fn byte(&self) -> TypeId {
        let index = self.module.types.items().iter().position(|ir_type| *ir_type == IrType::Integer(8));
        TypeId(index.expect("an offset is between pointers to bytes"))
    }

    fn string_table(&mut self) {
        self.stream.enter(STRTAB_BLOCK, WIDTH);
        self.stream.define_bytes(NAMES, ByteForm::Blob);
        let names = std::mem::take(&mut self.names).into_bytes();
        self.stream.bytes(ByteForm::Blob, names.len() as u64, [Cow::Owned(names)].into_iter());
        self.stream.exit();
    }
}

fn id(ir_type: &TypeId) -> u64 {
    ir_type.0 as u64
}

/// Encodes an alignment as its binary logarithm plus one; 0 stands for the alignment of the type.
fn alignment(bytes: u64) -> u64 {
    if bytes == 0 { 0 } else { u64::from(bytes.ilog2()) + 1 }
}

/// Returns the numbers of linkage and visibility.
fn linkage(linkage: Linkage) -> (u64, u64) {
    match linkage {
        Linkage::External => (0, 0),
        Linkage::Hidden => (0, 1),
        Linkage::Weak => (7, 0),
        Linkage::Internal => (3, 0),
        Linkage::Appending => (2, 0),
    }
}

fn conversion(conversion: Conversion) -> u64 {
    match conversion {
        Conversion::Truncate => 0,
        Conversion::ZeroExtend => 1,
        Conversion::SignExtend => 2,
        Conversion::Bitcast => 11,
    }
}

fn binary_operation(operation: BinaryOperation) -> u64 {
    match operation {
        BinaryOperation::ShiftRight => 8,
        BinaryOperation::And => 10,
    }
}

fn predicate(predicate: Predicate) -> u64 {
    match predicate {
        Predicate::Equal => 32,
        Predicate::NotEqual => 33,
        Predicate::Below => 36,
    }
}

/// Returns a number with its sign in the lowest bit.
fn signed(value: i64) -> u64 {
    if value < 0 { value.unsigned_abs() << 1 | 1 } else { (value as u64) << 1 }
}
