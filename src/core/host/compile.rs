//! Compilation of steps to machine code, for any architecture that implements [`Assembler`].
//!
//! Nothing is optimized, because a constructor runs once. One reading of this file must be enough to check every
//! architecture.

use super::assembler::{Assembler, CompiledFunction, Frame, Register};
use super::code::{Call, Function, LoadedField, Local, Part, Step, Value, Width};

/// Compiles a function with a fresh assembler.
pub fn compile<A: Assembler + Default>(function: &Function) -> CompiledFunction {
    let mut assembler = A::default();
    let frame = frame_of::<A>(&function.steps);
    assembler.prologue(frame);
    steps(&mut assembler, &function.steps);
    assembler.epilogue(frame);
    std::mem::take(assembler.buffer()).finish::<A>()
}

fn register_of(local: Local) -> Register {
    Register::Local(match local {
        Local::Handle => 0,
        Local::Entry => 1,
    })
}

/// Returns the stack requirements of steps, including nested ones.
fn frame_of<A: Assembler>(steps: &[Step]) -> Frame {
    let mut frame = Frame::default();
    let mut local = |local: Local| {
        let Register::Local(index) = register_of(local) else { return };
        frame.locals = frame.locals.max(index + 1);
    };
    let mut inner = Frame::default();
    let mut stack_arguments = 0;
    for step in steps {
        match step {
            Step::Call(call) => {
                if let Some(result) = call.result {
                    local(result);
                }
                stack_arguments = stack_arguments.max(call.arguments.iter().skip(A::ARGUMENT_REGISTERS).count());
            }
            Step::Store { from, .. } => local(*from),
            Step::ForEach { element, body, .. } => {
                local(*element);
                inner = inner.max(frame_of::<A>(body));
            }
            Step::When { body, .. } => inner = inner.max(frame_of::<A>(body)),
        }
    }
    Frame { locals: frame.locals, stack_arguments }.max(inner)
}

impl Frame {
    fn max(self, other: Frame) -> Frame {
        Frame {
            locals: self.locals.max(other.locals),
            stack_arguments: self.stack_arguments.max(other.stack_arguments),
        }
    }
}

fn steps<A: Assembler>(assembler: &mut A, list: &[Step]) {
    for step in list {
        match step {
            Step::Call(call) => self::call(assembler, call),
            Step::Store { to, from } => {
                assembler.address(Register::Scratch, *to);
                assembler.store(Register::Scratch, register_of(*from));
            }
            Step::ForEach { element, begin, end, size, body } => {
                let element = register_of(*element);
                let next = assembler.buffer().label();
                let done = assembler.buffer().label();
                assembler.address(element, *begin);
                assembler.buffer().place(next);
                assembler.address(Register::Scratch, *end);
                assembler.jump_if_not_below(element, Register::Scratch, done);
                steps(assembler, body);
                assembler.add(element, *size);
                assembler.jump(next);
                assembler.buffer().place(done);
            }
            Step::When { value, is, body } => {
                let otherwise = assembler.buffer().label();
                self::value(assembler, Register::Scratch, *value);
                assembler.jump_if(Register::Scratch, is.negated(), otherwise);
                steps(assembler, body);
                assembler.buffer().place(otherwise);
            }
        }
    }
}

/// Compiles a call. No value depends on an argument register, so they can be filled in any order.
fn call<A: Assembler>(assembler: &mut A, call: &Call) {
    for (index, &argument) in call.arguments.iter().enumerate() {
        if index < A::ARGUMENT_REGISTERS {
            value(assembler, Register::Argument(index), argument);
        } else {
            value(assembler, Register::Scratch, argument);
            assembler.store_stack_argument(index - A::ARGUMENT_REGISTERS, Register::Scratch);
        }
    }
    assembler.call(call.callee);
    if let Some(result) = call.result {
        assembler.copy(register_of(result), Register::Result);
    }
}

fn value<A: Assembler>(assembler: &mut A, to: Register, value: Value) {
    match value {
        Value::Integer(value) => assembler.integer(to, value),
        Value::Address(address) => assembler.address(to, address),
        Value::Local(local) => assembler.copy(to, register_of(local)),
        Value::Variable(address) => {
            assembler.address(to, address);
            assembler.load(to, to, 0, Width::U64);
        }
        Value::Field(LoadedField { of, offset, width, part }) => {
            assembler.load(to, register_of(of), offset, width);
            match part {
                Part::All => {}
                Part::Bits { first, count } => assembler.extract_bits(to, first, count),
                Part::SignedLow32 => assembler.sign_extend(to),
            }
        }
    }
}
