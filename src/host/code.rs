//! Functions before they are machine code: the few steps that registering device images takes.
//!
//! A runtime is called with addresses, constants and fields of offload entries; a loop goes over the entries. That is all
//! that a constructor does, so this is all that there is: no expressions, no types, two locals. [`super::compile`] walks
//! the steps, an architecture's assembler has an instruction or two for each.

use super::symbol::{Address, SymbolId};

/// A function without arguments and result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Function {
    pub steps: Vec<Step>,
}

/// One step of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Calls a C function.
    Call(Call),
    /// Stores a local into the 64-bit variable at an address.
    Store { to: Address, from: Local },
    /// Runs `body` with `element` at `begin`, at `begin` + `size` and so on, as long as it is below `end`.
    ForEach { element: Local, begin: Address, end: Address, size: u32, body: Vec<Step> },
    /// Runs `body` if the comparison holds.
    When { value: Value, is: Comparison, body: Vec<Step> },
}

/// A call of a C function; arguments are integers and pointers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub callee: SymbolId,
    pub arguments: Vec<Value>,
    /// Where a 64-bit result goes.
    pub result: Option<Local>,
}

/// A 64-bit variable that keeps its value over calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Local {
    /// What the runtime returned for a fat binary.
    Handle,
    /// The offload entry of a loop's round.
    Entry,
}

/// Something that an argument or a comparison can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Extended with its sign to 64 bits, as the C ABIs of most 64-bit machines want it.
    Integer(i32),
    /// An even one; IBM Z has no instruction for others.
    Address(Address),
    Local(Local),
    /// The 64-bit variable at an address.
    Variable(Address),
    Field(Field),
}

/// A field of the structure that a local points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub of: Local,
    /// In bytes.
    pub offset: u32,
    pub width: Width,
    pub part: Part,
}

/// How many bytes a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    U16,
    U32,
    U64,
}

/// What of a field is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    /// `count` bits from bit `first` on, as an unsigned number.
    Bits {
        first: u32,
        count: u32,
    },
    /// The low 32 bits as a signed number.
    SignedLow32,
}

/// A comparison with a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal(i32),
    NotEqual(i32),
}

impl Comparison {
    /// Returns the comparison that holds exactly where this one does not.
    pub fn negated(self) -> Self {
        match self {
            Comparison::Equal(value) => Comparison::NotEqual(value),
            Comparison::NotEqual(value) => Comparison::Equal(value),
        }
    }
}

impl Function {
    /// A function of these steps.
    pub fn new(steps: Vec<Step>) -> Self {
        Function { steps }
    }
}

impl Step {
    /// A call whose result nobody wants.
    pub fn call(callee: SymbolId, arguments: Vec<Value>) -> Self {
        Step::Call(Call { callee, arguments, result: None })
    }
}
