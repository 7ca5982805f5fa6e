//! Kernels of code with patch tokens for Intel's GPUs.
//!
//! Tokens have the figures of zebin's description. Source: see [`crate::format::patch_tokens`].

use std::collections::BTreeMap;

use super::debug::DebugInfo;
use super::kernel::{Kernel, LocatedKernel, Parameter};
use super::{Inspection, charge_kernel};
use crate::base::bytes::{Cursor, View, total};
use crate::format::patch_tokens::{Program, ProgramKernel, Token, tokens};

/// Numbers of tokens.
const LOCAL_MEMORY: u32 = 15;
const DATA_PARAMETER: u32 = 17;
const THREAD_STATE: u32 = 18;
const EXECUTION_ENVIRONMENT: u32 = 23;
const ARGUMENT_INFO: u32 = 26;
const POINTERS: [u32; 3] = [30, 31, 46];
const PRIVATE_MEMORY: u32 = 38;

/// Kinds of a data parameter that are arguments of the kernel: by value, the place of local memory, and a sampler.
const ARGUMENT_PARAMETERS: [u32; 3] = [1, 8, 14];

/// Inspects a program.
pub fn inspect(view: View<'_>) -> Inspection {
    let program = match Program::read(view) {
        Ok(program) => program,
        Err(problem) => return Inspection { problems: vec![problem], ..Default::default() },
    };
    let mut found = Vec::new();
    for described in &program.kernels {
        let kernel = kernel(described);
        let names = kernel.parameters.iter().filter_map(|parameter| parameter.name.as_ref()).map(String::len);
        if charge_kernel(view, names.chain([kernel.name.len()]), kernel.parameters.len()).is_err() {
            break;
        }
        found.push(LocatedKernel { kernel, entry: None });
    }
    Inspection::from_kernels(view, found, DebugInfo::default(), Vec::new())
}

fn kernel(described: &ProgramKernel<'_>) -> Kernel {
    let mut kernel = Kernel { name: described.name.to_owned(), ..Default::default() };
    kernel.code_size = Some(described.code.size());
    let mut arguments = BTreeMap::<u32, Parameter>::new();
    let mut scratch = Vec::new();
    for token in tokens(described.tokens).map_while(Result::ok) {
        match token.number {
            LOCAL_MEMORY => kernel.shared = token.word(1).map(u64::from),
            THREAD_STATE => scratch.extend(token.word(1).map(u64::from)),
            PRIVATE_MEMORY => scratch.extend(token.word(3).map(u64::from)),
            EXECUTION_ENVIRONMENT => environment(&token, &mut kernel),
            ARGUMENT_INFO => {
                if let Some(number) = token.word(0) {
                    argument(&mut arguments, number).name = argument_name(&token);
                }
            }
            DATA_PARAMETER if token.word(0).is_some_and(|kind| ARGUMENT_PARAMETERS.contains(&kind)) => {
                place(&mut arguments, &token, 1);
            }
            number if POINTERS.contains(&number) => place(&mut arguments, &token, 0),
            _ => {}
        }
    }
    kernel.scratch = Some(total(scratch)).filter(|&size| size > 0);
    kernel.parameters = arguments.into_values().collect();
    kernel
}

fn argument(arguments: &mut BTreeMap<u32, Parameter>, number: u32) -> &mut Parameter {
    arguments.entry(number).or_insert(Parameter { name: None, offset: 0, size: 0 })
}

/// Sets the place of an argument. Its number is at an index of the token, and its offset and size are the words 2 and 3.
/// A structure has a token for each of its parts.
fn place(arguments: &mut BTreeMap<u32, Parameter>, token: &Token<'_>, number_index: u64) {
    let (Some(number), Some(offset), Some(size)) = (token.word(number_index), token.word(2), token.word(3)) else {
        return;
    };
    let argument = argument(arguments, number);
    let offset = u64::from(offset);
    let end = total([offset, u64::from(size)]);
    let (start, end) = match argument.size {
        0 => (offset, end),
        size => (argument.offset.min(offset), total([argument.offset, size]).max(end)),
    };
    argument.offset = start;
    argument.size = end.saturating_sub(start);
}

/// Reads the name of an argument. The sizes of five texts precede the texts; the name is the third, and ends with NUL.
fn argument_name(token: &Token<'_>) -> Option<String> {
    let mut cursor = Cursor::new(token.contents);
    cursor.take("patch token", 24).ok()?;
    for index in [1, 2] {
        cursor.take("patch token", token.word(index)?.into()).ok()?;
    }
    let name = cursor.take("patch token", token.word(3)?.into()).ok()?;
    name.c_string("argument name", 0).ok().map(str::to_owned)
}

fn environment(token: &Token<'_>, kernel: &mut Kernel) {
    let word = |index| token.word(index).filter(|&value| value > 0).map(u64::from);
    if let (Some(x), Some(y), Some(z)) = (word(0), word(1), word(2)) {
        kernel.required_threads = Some([x, y, z]);
    }
    kernel.wave_size = word(3);
    kernel.registers = word(20);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernel_and_its_argument() {
        let inspection = inspect(View::new(include_bytes!("../../../fixtures/answer-gen9.gen")));
        let [kernel] = &inspection.kernels[..] else { panic!("one kernel") };
        assert_eq!((kernel.name.as_str(), inspection.problems), ("answer_kernel", Vec::new()));
        assert_eq!((kernel.registers, kernel.wave_size, kernel.shared), (Some(128), Some(32), None));
        let [argument] = &kernel.parameters[..] else { panic!("one argument") };
        assert_eq!((argument.name.as_deref(), argument.size), (Some("result"), 8));
    }
}
