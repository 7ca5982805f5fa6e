//! SPIR-V: entry points and their execution modes.
//!
//! A module consists of words: a header of five, then instructions that begin with their length and opcode. It does not
//! state the resource usage of kernels, which is known only after compilation for a device. Source: Khronos, SPIR-V
//! Specification, sections Physical Layout of a SPIR-V Module and Instruction, and Binary Form. The tables there have
//! the numbers.

use std::collections::{HashMap, HashSet};
use std::ops::{Range, RangeInclusive};

use super::category::Category;
use super::debug::{DebugInfo, DebugLevel};
use super::kernel::{Kernel, LocatedKernel, SourceLine};
use super::{Inspection, charge_kernel};
use crate::base::bytes::View;
use crate::format::spirv;

/// Opcodes.
const OP_STRING: u16 = 7;
const OP_LINE: u16 = 8;
const OP_NO_LINE: u16 = 317;
const OP_EXT_INST_IMPORT: u16 = 11;
const OP_EXT_INST: u16 = 12;
const OP_ENTRY_POINT: u16 = 15;
const OP_EXECUTION_MODE: u16 = 16;
const OP_FUNCTION: u16 = 54;

/// Execution models of compute: GLCompute and Kernel.
const COMPUTE_MODELS: [u32; 2] = [5, 6];

/// Execution modes: LocalSize and SubgroupSize, followed by literals.
const MODE_LOCAL_SIZE: u32 = 17;
const MODE_SUBGROUP_SIZE: u32 = 35;

/// Instruction sets that describe functions, variables and types.
const DEBUG_SETS: [&str; 2] = ["OpenCL.DebugInfo.100", "NonSemantic.Shader.DebugInfo.100"];

/// Categories of instructions other than code: source and names, capabilities and entry points, decorations, constants.
const CATEGORIES: [(RangeInclusive<u16>, Category); 11] = [
    (2..=8, Category::Debug),
    (10..=11, Category::Metadata),
    (14..=17, Category::Metadata),
    (41..=46, Category::Constants),
    (48..=52, Category::Constants),
    (71..=75, Category::Metadata),
    (OP_NO_LINE..=OP_NO_LINE, Category::Debug),
    (330..=330, Category::Debug),
    (331..=331, Category::Metadata),
    (332..=332, Category::Metadata),
    (5632..=5633, Category::Metadata),
];

/// Returns the ranges of a module that are not code.
pub fn categories(view: View<'_>) -> Vec<(Range<u64>, Category)> {
    let mut start = spirv::HEADER_SIZE;
    let mut ranges = vec![(0..start, Category::Headers)];
    let mut debug_sets = HashSet::new();
    for instruction in spirv::instructions(view).map_while(Result::ok) {
        let operands = || instruction.operands();
        if instruction.opcode == OP_EXT_INST_IMPORT
            && DEBUG_SETS.contains(&text(&operands().skip(1).collect::<Vec<_>>()).as_str())
        {
            debug_sets.extend(operands().next());
        }
        let is_debug =
            instruction.opcode == OP_EXT_INST && operands().nth(2).is_some_and(|set| debug_sets.contains(&set));
        let known = CATEGORIES.iter().find(|(opcodes, _)| opcodes.contains(&instruction.opcode));
        let category = if is_debug { Some(Category::Debug) } else { known.map(|(_, category)| *category) };
        let end = instruction.end();
        match (category, ranges.last_mut()) {
            (Some(category), Some((last, same))) if category == *same && last.end == start => last.end = end,
            (Some(category), _) => ranges.push((start..end, category)),
            (None, _) => {}
        }
        start = end;
    }
    ranges
}

/// Inspects a module.
pub fn inspect(view: View<'_>) -> Inspection {
    let mut module = SpirvModule::default();
    module.read(view);
    let problem = spirv::check(view).err();
    let SpirvModule { entries, functions, modes, strings, level, .. } = module;
    let found = entries.into_iter().map_while(|(function, name)| {
        let place = functions.get(&function).and_then(|&(file, line)| Some((strings.get(&file)?, line)));
        // Any number of kernels can refer to one file name.
        charge_kernel(view, [name.len(), place.map_or(0, |(file, _)| file.len())], 0).ok()?;
        let source = place.map(|(file, line)| SourceLine { file: file.clone(), line: line.into() });
        let ExecutionModes { required_threads, wave_size } = modes.get(&function).copied().unwrap_or_default();
        Some(LocatedKernel {
            kernel: Kernel { name, required_threads, wave_size, source, ..Default::default() },
            entry: None,
        })
    });
    let found = found.collect();
    Inspection::from_kernels(view, found, DebugInfo { level, units: Vec::new() }, problem.into_iter().collect())
}

#[derive(Default)]
struct SpirvModule {
    /// Function ids and names of the entry points. One function may be several entry points.
    entries: Vec<(u32, String)>,
    modes: HashMap<u32, ExecutionModes>,
    /// Source location of each function: the id of a file name, and a line. It is the last location stated before the
    /// function.
    functions: HashMap<u32, (u32, u32)>,
    strings: HashMap<u32, String>,
    line: Option<(u32, u32)>,
    level: DebugLevel,
}

impl SpirvModule {
    /// Reads all complete instructions.
    fn read(&mut self, view: View<'_>) {
        let mut operands = Vec::new();
        for instruction in spirv::instructions(view).map_while(Result::ok) {
            operands.clear();
            operands.extend(instruction.operands());
            self.instruction(instruction.opcode, &operands);
        }
    }

    fn instruction(&mut self, opcode: u16, operands: &[u32]) {
        match (opcode, operands) {
            (OP_ENTRY_POINT, [model, function, name @ ..]) if COMPUTE_MODELS.contains(model) => {
                self.entries.push((*function, text(name)));
            }
            (OP_EXECUTION_MODE, [function, mode, literals @ ..]) => self.execution_mode(*function, *mode, literals),
            (OP_STRING, [id, string @ ..]) => {
                self.strings.insert(*id, text(string));
            }
            (OP_LINE, [file, line, ..]) => {
                self.line = Some((*file, *line));
                self.level = self.level.max(DebugLevel::Lines);
            }
            (OP_NO_LINE, _) => self.line = None,
            (OP_EXT_INST_IMPORT, [_, name @ ..]) if DEBUG_SETS.contains(&text(name).as_str()) => {
                self.level = DebugLevel::Full;
            }
            (OP_FUNCTION, [_, id, ..]) => {
                if let Some(line) = self.line {
                    self.functions.insert(*id, line);
                }
            }
            _ => {}
        }
    }

    fn execution_mode(&mut self, function: u32, mode: u32, literals: &[u32]) {
        let modes = self.modes.entry(function).or_default();
        match (mode, literals) {
            (MODE_LOCAL_SIZE, [x, y, z, ..]) => modes.required_threads = Some([*x, *y, *z].map(u64::from)),
            (MODE_SUBGROUP_SIZE, [size, ..]) => modes.wave_size = Some((*size).into()),
            _ => {}
        }
    }
}

/// Execution modes of a function.
#[derive(Default, Clone, Copy)]
struct ExecutionModes {
    required_threads: Option<[u64; 3]>,
    wave_size: Option<u64>,
}

/// Decodes a string: the bytes of the words in little-endian order, up to a NUL.
fn text(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::spirv::{HEADER_WORDS, MAGIC};

    const OP_MEMORY_MODEL: u16 = 14;
    const OP_FUNCTION_END: u16 = 56;

    /// An instruction of words.
    fn op(opcode: u16, operands: &[u32]) -> Vec<u32> {
        let first = (operands.len() as u32 + 1) << 16 | u32::from(opcode);
        [&[first], operands].concat()
    }

    fn string(text: &str) -> Vec<u32> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len() / 4 * 4 + 4, 0);
        bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    }

    /// Two kernels and a fragment shader; the first kernel has a size, a subgroup size and a line.
    fn module() -> Vec<u32> {
        let with = |front: &[u32], text: &str| [front, &string(text)].concat();
        [
            vec![MAGIC, 0x0001_0400, 0, 100, 0],
            op(OP_MEMORY_MODEL, &[2, 2]),
            op(OP_ENTRY_POINT, &[with(&[6, 1], "saxpy"), vec![40, 41]].concat()),
            op(OP_ENTRY_POINT, &with(&[6, 2], "fill")),
            op(OP_ENTRY_POINT, &with(&[4, 3], "fragment")),
            op(OP_EXECUTION_MODE, &[1, MODE_LOCAL_SIZE, 64, 2, 1]),
            op(OP_EXECUTION_MODE, &[1, MODE_SUBGROUP_SIZE, 16]),
            op(OP_STRING, &with(&[9], "/src/a.cl")),
            op(OP_LINE, &[9, 7, 1]),
            op(OP_FUNCTION, &[20, 1, 0, 21]),
            op(OP_FUNCTION_END, &[]),
            op(OP_NO_LINE, &[]),
            op(OP_FUNCTION, &[20, 2, 0, 21]),
            op(OP_FUNCTION_END, &[]),
            op(OP_FUNCTION, &[20, 3, 0, 21]),
            op(OP_FUNCTION_END, &[]),
        ]
        .concat()
    }

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn reads_entry_points_and_execution_modes() {
        let source = Some(SourceLine { file: "/src/a.cl".to_owned(), line: 7 });
        let saxpy = Kernel {
            name: "saxpy".to_owned(),
            required_threads: Some([64, 2, 1]),
            wave_size: Some(16),
            source,
            ..Default::default()
        };
        let fill = Kernel { name: "fill".to_owned(), ..Default::default() };
        let expected = Inspection::from_kernels(
            View::new(&[]),
            [saxpy, fill].map(|kernel| LocatedKernel { kernel, entry: None }).into(),
            DebugInfo { level: DebugLevel::Lines, units: Vec::new() },
            Vec::new(),
        );
        assert_eq!(inspect(View::new(&bytes(&module()))), expected);
        let swapped: Vec<u8> = module().iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(inspect(View::new(&swapped)), expected);
    }

    #[test]
    fn a_debug_instruction_set_is_full_debug_information() {
        let import = op(OP_EXT_INST_IMPORT, &[&[8], string("OpenCL.DebugInfo.100").as_slice()].concat());
        let words = [&module()[..HEADER_WORDS], &import].concat();
        assert_eq!(inspect(View::new(&bytes(&words))).debug.level, DebugLevel::Full);
    }

    #[test]
    fn reports_a_truncated_instruction_and_keeps_earlier_ones() {
        let mut words = module();
        words.push(9 << 16 | u32::from(OP_FUNCTION));
        let inspection = inspect(View::new(&bytes(&words)));
        let at = words.len() * 4 - 4;
        let message =
            format!("SPIR-V instruction's words at {at:#x}: offset 0 with size 9 is out of bounds (1 bytes available)");
        assert_eq!(inspection.problems[0].to_string(), message);
        assert_eq!(inspection.kernels.len(), 2);
        *words.last_mut().unwrap() = 0;
        assert_eq!(inspect(View::new(&bytes(&words))).problems.len(), 1, "an instruction of length 0 is invalid");
        let good = bytes(&module());
        for end in 0..good.len() {
            inspect(View::new(&good[..end]));
        }
    }
}
