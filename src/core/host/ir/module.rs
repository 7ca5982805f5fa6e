//! A module of LLVM IR as data: as much of the language as a plan of a host object requires.
//!
//! Pointers have types, as before LLVM 17: every release since 10 reads such modules, while LLVM 14 rejects pointers
//! without types. Structures are packed, because a plan contains its padding.
//!
//! Source: LLVM Language Reference.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

/// A module.
#[derive(Debug)]
pub struct IrModule {
    /// Triple of the machine.
    pub triple: String,
    /// Name of the source file.
    pub source_name: &'static str,
    /// Section of the functions.
    pub code_section: &'static str,
    /// Types, each after the types that it refers to.
    pub types: Interner<IrType>,
    /// Constants, each after the constants that it refers to.
    pub constants: Interner<IrConstant>,
    /// Variables.
    pub variables: Vec<IrVariable>,
    /// Functions.
    pub functions: Vec<IrFunction>,
}

/// Index of a type in its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeId(pub usize);

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IrType {
    /// No value.
    Void,
    /// An integer of this number of bits.
    Integer(u32),
    /// A pointer to a type.
    Pointer(TypeId),
    /// This number of elements of a type.
    Array(u64, TypeId),
    /// Fields without gaps.
    Packed(Vec<TypeId>),
    /// Fields with the gaps that the machine requires, for the arrays that LLVM itself reads.
    Struct(Vec<TypeId>),
    /// A function: its result and its parameters.
    Function(TypeId, Vec<TypeId>),
}

/// A variable. Its value has the type of a pointer to `value_type`.
#[derive(Debug)]
pub struct IrVariable {
    /// Name of the variable, unique in the module.
    pub name: String,
    /// Type of its contents.
    pub value_type: TypeId,
    /// Contents; `None` if the variable is defined elsewhere.
    pub initializer: Option<IrValue>,
    /// True if the program does not change it.
    pub is_constant: bool,
    /// Visibility in the link.
    pub linkage: Linkage,
    /// Alignment in bytes; 0 for the alignment of the type.
    pub alignment: u64,
    /// Section, unless the variable is in the default section for its kind.
    pub section: Option<String>,
}

/// Visibility in the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// Defined elsewhere.
    External,
    /// Defined elsewhere in the same program or library.
    Hidden,
    /// Defined elsewhere, or 0.
    Weak,
    /// Defined here for this module alone.
    Internal,
    /// An array that LLVM concatenates.
    Appending,
}

/// A function.
#[derive(Debug)]
pub struct IrFunction {
    /// Name of the function, unique in the module.
    pub name: String,
    /// Type of the function.
    pub function_type: TypeId,
    /// Basic blocks in order, each ending with a jump or a return; empty if the function is defined elsewhere.
    pub blocks: Vec<IrBlock>,
    /// Types of the results of the instructions that have one, in order.
    pub locals: Vec<TypeId>,
}

/// A basic block.
#[derive(Debug)]
pub struct IrBlock {
    /// Label of the block, unique in the function.
    pub label: BlockLabel,
    /// Instructions in order.
    pub instructions: Vec<Instruction>,
}

/// Label of a basic block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockLabel(pub usize);

/// A constant and its type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IrConstant {
    /// Type of the constant.
    pub constant_type: TypeId,
    /// Value of the constant.
    pub form: ConstantForm,
}

/// Value of a constant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ConstantForm {
    /// Zeros.
    Zero,
    /// An integer.
    Integer(i64),
    /// An array of bytes of one of the plan's sections.
    Bytes(SectionBytes),
    /// Elements of an array, or fields.
    Aggregate(Vec<IrValue>),
    /// An address as a pointer of another type.
    Bitcast(IrValue),
    /// An address of bytes, and a number of bytes to add.
    Offset(IrValue, IrValue),
}

/// Bytes of one of the plan's sections.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SectionBytes {
    /// Index of the section.
    pub section: usize,
    /// Range in the section.
    pub range: Range<u64>,
}

/// A reference to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IrValue {
    /// Address of a variable, by its index.
    Variable(usize),
    /// Address of a function, by its index.
    Function(usize),
    /// A constant, by its index.
    Constant(usize),
    /// Result of an instruction of the same function, by its number among those that have one.
    Local(usize),
}

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    /// Calls a function.
    Call { callee: IrValue, function_type: TypeId, arguments: Vec<IrValue> },
    /// Loads a naturally aligned value of `loaded_type`, `size` bytes.
    Load { pointer: IrValue, loaded_type: TypeId, size: u64 },
    /// Stores a naturally aligned value of `size` bytes.
    Store { pointer: IrValue, value: IrValue, size: u64 },
    /// Adds a number of bytes to a pointer to bytes.
    Offset { pointer: IrValue, bytes: IrValue },
    /// Converts a value.
    Cast { conversion: Conversion, value: IrValue, to: TypeId },
    /// Combines two integers.
    Binary { operation: BinaryOperation, left: IrValue, right: IrValue },
    /// Compares two values.
    Compare { predicate: Predicate, left: IrValue, right: IrValue },
    /// Takes the value that belongs to the preceding block.
    Phi { phi_type: TypeId, incoming: Vec<(IrValue, BlockLabel)> },
    /// Continues with a block.
    Jump(BlockLabel),
    /// Continues with one of two blocks.
    Branch { condition: IrValue, then: BlockLabel, otherwise: BlockLabel },
    /// Returns nothing.
    Return,
}

/// Conversion of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// To fewer bits.
    Truncate,
    /// To more bits, which are zero.
    ZeroExtend,
    /// To more bits, which repeat the sign.
    SignExtend,
    /// To a pointer of another type.
    Bitcast,
}

/// Combination of two integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOperation {
    /// Logical shift to the right.
    ShiftRight,
    /// Bitwise and.
    And,
}

/// Comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Predicate {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less, as unsigned numbers.
    Below,
}

/// A list of different values, each with an index.
#[derive(Debug)]
pub struct Interner<T> {
    items: Vec<T>,
    index_of: HashMap<T, usize>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { items: Vec::new(), index_of: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// Returns the index of a value, and adds it if it is missing.
    pub fn intern(&mut self, item: T) -> usize {
        if let Some(&index) = self.index_of.get(&item) {
            return index;
        }
        self.items.push(item.clone());
        self.index_of.insert(item, self.items.len() - 1);
        self.items.len() - 1
    }
}

impl<T> Interner<T> {
    /// Returns the values in the order of insertion.
    pub fn items(&self) -> &[T] {
        &self.items
    }
}

impl IrModule {
    /// Returns the type of a value in a function. `locals` has the types of the function's instruction results.
    ///
    /// # Panics
    /// If nothing refers to the type of a pointer to the variable or function.
    pub fn type_of(&self, value: IrValue, locals: &[TypeId]) -> TypeId {
        let pointee = match value {
            IrValue::Variable(index) => self.variables[index].value_type,
            IrValue::Function(index) => self.functions[index].function_type,
            IrValue::Constant(index) => return self.constant(index).constant_type,
            IrValue::Local(index) => return locals[index],
        };
        let index = self.types.index_of.get(&IrType::Pointer(pointee));
        TypeId(*index.expect("a pointer type for each variable and function"))
    }

    /// Returns whether an instruction has a result.
    pub fn has_result(&self, instruction: &Instruction) -> bool {
        match instruction {
            Instruction::Call { function_type, .. } => match &self.types.items()[function_type.0] {
                IrType::Function(result, _) => self.types.items()[result.0] != IrType::Void,
                _ => false,
            },
            Instruction::Store { .. } | Instruction::Jump(_) | Instruction::Branch { .. } | Instruction::Return => {
                false
            }
            Instruction::Load { .. }
            | Instruction::Offset { .. }
            | Instruction::Cast { .. }
            | Instruction::Binary { .. }
            | Instruction::Compare { .. }
            | Instruction::Phi { .. } => true,
        }
    }

    /// Returns a constant.
    pub fn constant(&self, index: usize) -> &IrConstant {
        &self.constants.items()[index]
    }
}
