//! The steps of a plan's function as instructions.

use super::builder::ModuleBuilder;
use super::module::{
    BinaryOperation, BlockLabel, ConstantForm, Conversion, Instruction, IrBlock, IrType, IrValue, Predicate, TypeId,
};
use crate::host::code::{Call, Comparison, LoadedField, Local, Part, Step, Value, Width};
use crate::host::symbol::SymbolAddress;

/// A function under construction.
pub struct FunctionBuilder<'build, 'plan> {
    module: &'build mut ModuleBuilder<'plan>,
    blocks: Vec<IrBlock>,
    locals: Vec<TypeId>,
    labels: usize,
    handle: Option<IrValue>,
    entry: Option<IrValue>,
}

impl<'build, 'plan> FunctionBuilder<'build, 'plan> {
    pub fn new(module: &'build mut ModuleBuilder<'plan>) -> Self {
        FunctionBuilder { module, blocks: Vec::new(), locals: Vec::new(), labels: 0, handle: None, entry: None }
    }

    /// Returns the blocks of the steps, and the types of the instructions' results.
    pub fn build(mut self, steps: &[Step]) -> (Vec<IrBlock>, Vec<TypeId>) {
        let first = self.label();
        self.place(first);
        self.steps(steps);
        self.push(Instruction::Return);
        (self.blocks, self.locals)
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Call(call) => self.call(call),
                Step::Store { to, from } => {
                    let pointer = self.address_of_pointer(*to);
                    let value = self.local(*from);
                    self.push(Instruction::Store { pointer, value, size: 8 });
                }
                Step::ForEach { element, begin, end, size, body } => {
                    self.for_each(*element, (*begin, *end), *size, body);
                }
                Step::When { value, is, body } => {
                    let (predicate, constant) = match *is {
                        Comparison::Equal(constant) => (Predicate::Equal, constant),
                        Comparison::NotEqual(constant) => (Predicate::NotEqual, constant),
                    };
                    let left = self.value(*value);
                    let right = self.module.integer(64, constant.into());
                    let condition = self.compare(predicate, left, right);
                    let then = self.label();
                    let otherwise = self.label();
                    self.push(Instruction::Branch { condition, then, otherwise });
                    self.place(then);
                    self.steps(body);
                    self.push(Instruction::Jump(otherwise));
                    self.place(otherwise);
                }
            }
        }
    }

    fn call(&mut self, call: &Call) {
        let arguments = call.arguments.iter().map(|&argument| self.value(argument)).collect();
        let function_type = self.module.function_type(Some(call));
        let callee = self.module.value_of(call.callee);
        let instruction = Instruction::Call { callee, function_type, arguments };
        match call.result {
            None => self.push(instruction),
            Some(local) => {
                let pointer = self.module.pointer_to_byte();
                let result = self.push_with_result(instruction, pointer);
                *self.slot(local) = Some(result);
            }
        }
    }

    /// A loop that tests its condition before each iteration.
    fn for_each(&mut self, element: Local, (begin, end): (SymbolAddress, SymbolAddress), size: u32, body: &[Step]) {
        let test = self.label();
        let first = self.label();
        let done = self.label();
        let begin = self.module.address(begin);
        let end = self.module.address(end);
        let before = self.current().label;
        self.push(Instruction::Jump(test));

        self.place(test);
        let phi_type = self.module.pointer_to_byte();
        let incoming = vec![(begin, before)];
        let pointer = self.push_with_result(Instruction::Phi { phi_type, incoming }, phi_type);
        let condition = self.compare(Predicate::Below, pointer, end);
        self.push(Instruction::Branch { condition, then: first, otherwise: done });

        self.place(first);
        *self.slot(element) = Some(pointer);
        self.steps(body);
        let bytes = self.module.integer(64, size.into());
        let next = self.push_with_result(Instruction::Offset { pointer, bytes }, phi_type);
        let last = self.current().label;
        self.push(Instruction::Jump(test));
        let block = self.blocks.iter_mut().find(|block| block.label == test);
        if let Some(Instruction::Phi { incoming, .. }) = block.and_then(|block| block.instructions.first_mut()) {
            incoming.push((next, last));
        }
        self.place(done);
    }

    /// Returns an address or a local as a pointer to bytes, and everything else as an integer of 64 bits.
    fn value(&mut self, value: Value) -> IrValue {
        match value {
            Value::Integer(value) => self.module.integer(64, value.into()),
            Value::Address(address) => self.module.address(address),
            Value::Local(local) => self.local(local),
            Value::Variable(address) => {
                let number = self.module.integer_type(64);
                let pointer_type = self.module.intern(IrType::Pointer(number));
                let address = self.module.address(address);
                let pointer = self.module.bitcast(address, pointer_type);
                self.push_with_result(Instruction::Load { pointer, loaded_type: number, size: 8 }, number)
            }
            Value::Field(field) => self.field(field),
        }
    }

    fn field(&mut self, field: LoadedField) -> IrValue {
        let size = match field.width {
            Width::U16 => 2,
            Width::U32 => 4,
            Width::U64 => 8,
        };
        let byte_pointer = self.module.pointer_to_byte();
        let loaded_type = self.module.integer_type(8 * size);
        let pointer_type = self.module.intern(IrType::Pointer(loaded_type));
        let pointer = self.local(field.of);
        let bytes = self.module.integer(64, field.offset.into());
        let pointer = self.push_with_result(Instruction::Offset { pointer, bytes }, byte_pointer);
        let pointer = self.cast(Conversion::Bitcast, pointer, pointer_type);
        let load = Instruction::Load { pointer, loaded_type, size: size.into() };
        let mut value = self.push_with_result(load, loaded_type);
        let number = self.module.integer_type(64);
        if field.width != Width::U64 {
            value = self.cast(Conversion::ZeroExtend, value, number);
        }
        match field.part {
            Part::All => value,
            Part::Bits { first, count } => {
                let first = self.module.integer(64, first.into());
                let mask = self.module.integer(64, (1 << count) - 1);
                let shifted = self.binary(BinaryOperation::ShiftRight, value, first);
                self.binary(BinaryOperation::And, shifted, mask)
            }
            Part::SignedLow32 => {
                let word = self.module.integer_type(32);
                let low = self.cast(Conversion::Truncate, value, word);
                self.cast(Conversion::SignExtend, low, number)
            }
        }
    }

    /// Returns the address of a variable that holds a pointer.
    fn address_of_pointer(&mut self, address: SymbolAddress) -> IrValue {
        let pointer = self.module.pointer_to_byte();
        let pointer_type = self.module.intern(IrType::Pointer(pointer));
        let address = self.module.address(address);
        self.module.bitcast(address, pointer_type)
    }

    fn cast(&mut self, conversion: Conversion, value: IrValue, to: TypeId) -> IrValue {
        self.push_with_result(Instruction::Cast { conversion, value, to }, to)
    }

    fn binary(&mut self, operation: BinaryOperation, left: IrValue, right: IrValue) -> IrValue {
        let number = self.module.integer_type(64);
        self.push_with_result(Instruction::Binary { operation, left, right }, number)
    }

    fn compare(&mut self, predicate: Predicate, left: IrValue, right: IrValue) -> IrValue {
        let bit = self.module.integer_type(1);
        self.push_with_result(Instruction::Compare { predicate, left, right }, bit)
    }

    /// Returns the value of a local, null before the step that sets it.
    fn local(&mut self, local: Local) -> IrValue {
        let pointer = self.module.pointer_to_byte();
        match *self.slot(local) {
            Some(value) => value,
            None => self.module.constant(pointer, ConstantForm::Zero),
        }
    }

    fn slot(&mut self, local: Local) -> &mut Option<IrValue> {
        match local {
            Local::Handle => &mut self.handle,
            Local::Entry => &mut self.entry,
        }
    }

    fn label(&mut self) -> BlockLabel {
        self.labels += 1;
        BlockLabel(self.labels - 1)
    }

    fn place(&mut self, label: BlockLabel) {
        self.blocks.push(IrBlock { label, instructions: Vec::new() });
    }

    fn current(&mut self) -> &mut IrBlock {
        self.blocks.last_mut().expect("a block was placed")
    }

    fn push(&mut self, instruction: Instruction) {
        self.current().instructions.push(instruction);
    }

    fn push_with_result(&mut self, instruction: Instruction, result: TypeId) -> IrValue {
        self.push(instruction);
        self.locals.push(result);
        IrValue::Local(self.locals.len() - 1)
    }
}
