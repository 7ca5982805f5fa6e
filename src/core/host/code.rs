//! Functions as steps, before compilation: the few steps that registering device images takes.
//!
//! A constructor calls a runtime with addresses, constants and fields of offload entries, and loops over the entries.
//! The steps cover exactly that: no expressions, no types, two locals. [`super::compile`] walks the steps; an
//! architecture's assembler has an instruction or two for each.

use super::symbol::{SymbolAddress, SymbolId};

/// A function without arguments and without a result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Steps in order.
    pub steps: Vec<Step>,
}

/// One step of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Calls a C function.
    Call(Call),
    /// Stores a local into the 64-bit variable at an address.
    Store {
        /// Address of the variable.
        to: SymbolAddress,
        /// Local to store.
        from: Local,
    },
    /// Runs `body` with `element` at `begin`, at `begin` + `size` and so on, as long as it is below `end`.
    ForEach {
        /// Local that holds the address of the element.
        element: Local,
        /// Address of the first element.
        begin: SymbolAddress,
        /// Address after the last element.
        end: SymbolAddress,
        /// Size of an element in bytes.
        size: u32,
        /// Steps for each element.
        body: Vec<Step>,
    },
    /// Runs `body` if the comparison holds.
    When {
        /// Left side of the comparison.
        value: Value,
        /// Comparison with a constant.
        is: Comparison,
        /// Steps to run.
        body: Vec<Step>,
    },
}

/// A call of a C function; arguments are integers and pointers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Function to call.
    pub callee: SymbolId,
    /// Arguments in order.
    pub arguments: Vec<Value>,
    /// Local for the 64-bit result, if it is used.
    pub result: Option<Local>,
}

/// A 64-bit variable that keeps its value across calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Local {
    /// Handle that the runtime returned for a fat binary.
    Handle,
    /// Offload entry of a loop's iteration.
    Entry,
}

/// An argument, or the left side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// An integer, sign-extended to 64 bits, as the C ABIs of most 64-bit machines require.
    Integer(i32),
    /// An even address; IBM Z has no instruction for odd ones.
    Address(SymbolAddress),
    /// The value of a local.
    Local(Local),
    /// The 64-bit variable at an address.
    Variable(SymbolAddress),
    /// A field of the structure that a local points to.
    Field(LoadedField),
}

/// A field of the structure that a local points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedField {
    /// Local that points to the structure.
    pub of: Local,
    /// Offset in the structure, in bytes.
    pub offset: u32,
    /// Size of the field.
    pub width: Width,
    /// Part of the field that is used.
    pub part: Part,
}

/// Size of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
    /// Eight bytes.
    U64,
}

/// Part of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole field.
    All,
    /// `count` bits from bit `first` on, as an unsigned number.
    Bits {
        /// Lowest bit.
        first: u32,
        /// Number of bits.
        count: u32,
    },
    /// The low 32 bits as a signed number.
    SignedLow32,
}

/// A comparison with a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Equal to the constant.
    Equal(i32),
    /// Not equal to the constant.
    NotEqual(i32),
}

impl Comparison {
    /// Returns `equal` or `not_equal`, a machine's code for the comparison, and the constant.
    pub fn parts<T>(self, equal: T, not_equal: T) -> (T, i32) {
        match self {
            Comparison::Equal(value) => (equal, value),
            Comparison::NotEqual(value) => (not_equal, value),
        }
    }

    /// Returns the comparison that holds exactly where this one does not.
    pub fn negated(self) -> Self {
        match self {
            Comparison::Equal(value) => Comparison::NotEqual(value),
            Comparison::NotEqual(value) => Comparison::Equal(value),
        }
    }
}

impl Function {
    /// Creates a function of these steps.
    pub fn new(steps: Vec<Step>) -> Self {
        Function { steps }
    }
}

impl Step {
    /// Creates a call whose result is unused.
    pub fn call(callee: SymbolId, arguments: Vec<Value>) -> Self {
        Step::Call(Call { callee, arguments, result: None })
    }
}
