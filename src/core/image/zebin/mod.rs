//! Intel's zebin: kernels from the section `.ze_info`, which is YAML.
//!
//! Source: Intel, compute-runtime, `zeinfo.h` and its documentation of zebin; files of ocloc 22.43 (`.ze_info` 1.20).

use std::collections::HashMap;

use object::ObjectSection;

use super::charge_kernel;
use super::elf::Elf;
use super::kernel::{Kernel, LocatedKernel, Parameter};
use super::yaml::{Event, events, three_numbers};
use crate::base::bytes::{Resource, View, text_work, total};
use crate::base::error::{Cause, Malformed};

/// Section with the description of the kernels.
const ZE_INFO: &str = ".ze_info";

/// Prefix of the sections with the code of the kernels.
const TEXT: &str = ".text.";

/// Returns the kernels of a zebin.
pub fn kernels(elf: &Elf<'_>, problems: &mut Vec<Malformed>) -> Vec<LocatedKernel> {
    let Some(section) = elf.section(ZE_INFO) else {
        let cause = Cause::Described("missing".to_owned());
        problems.push(elf.view.malformed(ZE_INFO, 0, cause));
        return Vec::new();
    };
    let info = match elf.bytes(&section).and_then(described) {
        Ok(info) => info,
        Err(problem) => {
            problems.push(problem);
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for kernel in info.kernels {
        let texts = kernel.parameters.iter().filter_map(|parameter| parameter.name.as_ref()).chain([&kernel.name]);
        if charge_kernel(elf.view, texts.map(String::len), kernel.parameters.len()).is_err() {
            break;
        }
        let code = elf.section(&format!("{TEXT}{}", kernel.name));
        let code_size = code.map(|section| section.size());
        found.push(LocatedKernel { kernel: Kernel { code_size, ..kernel }, entry: None });
    }
    found
}

/// The kernels of a description.
#[derive(Debug, Default)]
struct ZeInfo {
    kernels: Vec<Kernel>,
    /// Memory of a thread in the buffers of the current kernel.
    buffer: Option<(bool, u64)>,
    argument: Argument,
    /// Names of arguments by the name of the kernel and the index of the argument.
    names: HashMap<(String, u64), String>,
    /// Kernel and index that the next name of an argument belongs to.
    named_kernel: String,
    named_index: u64,
    /// Arguments of each kernel, by their indexes.
    arguments: Vec<Vec<(u64, Parameter)>>,
}

/// An argument that is being read.
#[derive(Debug, Default, Clone, Copy)]
struct Argument {
    index: Option<u64>,
    offset: u64,
    size: u64,
}

/// Reads a description.
fn described(view: View<'_>) -> Result<ZeInfo, Malformed> {
    view.charge(ZE_INFO, Resource::Work, text_work(view.data().len()).saturating_mul(4))?;
    let text = std::str::from_utf8(view.data()).map_err(|_| view.malformed(ZE_INFO, 0, Cause::Unreadable))?;
    // Values become numbers and names. There are fewer of them than bytes.
    view.charge(ZE_INFO, Resource::Memory, view.size())?;
    let mut info = ZeInfo::default();
    for event in events(text) {
        info.event(&event);
    }
    info.end_argument();
    info.end_buffer();
    info.join();
    Ok(info)
}

/// Adds memory of each thread. The sizes are numbers in a text.
fn add_scratch(kernel: &mut Kernel, size: u64) {
    kernel.scratch = Some(total(kernel.scratch.into_iter().chain([size])));
}

impl ZeInfo {
    fn event(&mut self, event: &Event<'_>) {
        let path: Vec<&str> = event.path.clone();
        if event.begins_item {
            match path.as_slice() {
                ["kernels"] => {
                    self.end_argument();
                    self.end_buffer();
                    self.kernels.push(Kernel::default());
                    self.arguments.push(Vec::new());
                }
                ["kernels", "payload_arguments"] => self.end_argument(),
                ["kernels", "per_thread_memory_buffers"] => self.end_buffer(),
                _ => {}
            }
        }
        let number = || event.value.parse::<u64>().ok();
        match (path.as_slice(), event.key) {
            (["kernels"], "name") => {
                if let Some(kernel) = self.kernels.last_mut() {
                    kernel.name = event.value.to_owned();
                }
            }
            (["kernels", "execution_env"], key) => self.environment(key, event.value),
            (["kernels", "payload_arguments"], "arg_index") => self.argument.index = number(),
            (["kernels", "payload_arguments"], "offset") => self.argument.offset = number().unwrap_or_default(),
            (["kernels", "payload_arguments"], "size") => self.argument.size = number().unwrap_or_default(),
            (["kernels", "per_thread_memory_buffers"], "type") => {
                self.buffer =
                    Some((event.value == "scratch" || event.value == "global", self.buffer.unwrap_or_default().1));
            }
            (["kernels", "per_thread_memory_buffers"], "size") => {
                self.buffer = Some((self.buffer.unwrap_or_default().0, number().unwrap_or_default()));
            }
            (["kernels_misc_info"], "name") => self.named_kernel = event.value.to_owned(),
            (["kernels_misc_info", "args_info"], "index") => self.named_index = number().unwrap_or(u64::MAX),
            (["kernels_misc_info", "args_info"], "name") => {
                self.names.insert((self.named_kernel.clone(), self.named_index), event.value.to_owned());
            }
            _ => {}
        }
    }

    fn environment(&mut self, key: &str, value: &str) {
        let Some(kernel) = self.kernels.last_mut() else { return };
        let number = || value.parse::<u64>().ok();
        match key {
            "grf_count" => kernel.registers = number(),
            "simd_size" => kernel.wave_size = number(),
            "slm_size" => kernel.shared = number(),
            "private_size" | "spill_size" => {
                add_scratch(kernel, number().unwrap_or_default());
            }
            "required_work_group_size" => kernel.required_threads = three_numbers(value),
            _ => {}
        }
    }

    /// Adds the argument that was read. A pointer has up to three descriptions, but only one states its position.
    fn end_argument(&mut self) {
        let Argument { index, offset, size } = std::mem::take(&mut self.argument);
        let (Some(index), Some(arguments)) = (index, self.arguments.last_mut()) else { return };
        let new = Parameter { name: None, offset, size };
        match arguments.iter_mut().find(|(known, _)| *known == index) {
            Some((_, known)) if known.size == 0 => *known = new,
            Some(_) => {}
            None => arguments.push((index, new)),
        }
    }

    /// Adds a buffer of the current kernel, unless its environment states the sizes.
    fn end_buffer(&mut self) {
        if let (Some((true, size)), Some(kernel)) = (self.buffer.take(), self.kernels.last_mut()) {
            add_scratch(kernel, size);
        }
    }

    /// Joins the kernels, their arguments and the names of the arguments.
    fn join(&mut self) {
        for (kernel, mut arguments) in self.kernels.iter_mut().zip(std::mem::take(&mut self.arguments)) {
            arguments.sort_by_cached_key(|(index, _)| *index);
            for (index, parameter) in arguments {
                let name = self.names.remove(&(kernel.name.clone(), index));
                kernel.parameters.push(Parameter { name, ..parameter });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the output of ocloc 22.43 for two kernels.
    const INFO: &str = "---\nversion:         '1.20'\nkernels:\n  - name:            'fill'\n    user_attributes:\n      \
        reqd_work_group_size: [ 16, 2, 1 ]\n    execution_env:\n      disable_mid_thread_preemption: true\n      grf_count:       128\n      \
        required_work_group_size: [ 16, 2, 1 ]\n      simd_size:       32\n      slm_size: 4096\n    payload_arguments:\n      \
        - arg_type:        global_id_offset\n        offset:          0\n        size:            12\n      - arg_type:        \
        arg_bypointer\n        offset:          0\n        size:            0\n        arg_index:       0\n        addrmode:        \
        stateful\n      - arg_type:        arg_bypointer\n        offset:          40\n        size:            8\n        arg_index:       \
        0\n      - arg_type:        arg_byvalue\n        offset:          48\n        size:            4\n        arg_index:       1\n    \
        per_thread_payload_arguments:\n      - arg_type:        local_id\n        offset:          0\n        size:            192\n    \
        per_thread_memory_buffers:\n      - type:            scratch\n        usage:           spill_fill_space\n        size:            256\n\
        \x20 - name:            saxpy\n    execution_env:\n      grf_count:       256\n      simd_size:       16\n      private_size: 64\n      \
        spill_size: 32\nkernels_misc_info:\n  - name:            fill\n    args_info:\n      - index:           1\n        name:            n\n        \
        type_name:       'int;4'\n      - index: 0\n        name: p\n...\n";

    #[test]
    fn reads_kernels_and_their_arguments() {
        let info = described(View::new(INFO.as_bytes())).unwrap();
        let parameter = |name: &str, offset, size| Parameter { name: Some(name.to_owned()), offset, size };
        let fill = Kernel {
            name: "fill".to_owned(),
            registers: Some(128),
            wave_size: Some(32),
            shared: Some(4096),
            scratch: Some(256),
            required_threads: Some([16, 2, 1]),
            parameters: vec![parameter("p", 40, 8), parameter("n", 48, 4)],
            ..Default::default()
        };
        let saxpy = Kernel {
            name: "saxpy".to_owned(),
            registers: Some(256),
            wave_size: Some(16),
            scratch: Some(96),
            ..Default::default()
        };
        assert_eq!(info.kernels, [fill, saxpy]);
    }

    #[test]
    fn any_text_is_read_without_a_panic() {
        for end in 0..INFO.len() {
            let _ = described(View::new(&INFO.as_bytes()[..end]));
        }
        for text in
            ["kernels:", "kernels: []", "  - name: x\nkernels:\n - a: b", "- - -", ":", "kernels:\n  - name: [", "\t-"]
        {
            let _ = described(View::new(text.as_bytes()));
        }
        assert!(described(View::new(b"\xff")).is_err());
    }

    #[test]
    fn lists_have_three_numbers() {
        for (list, expected) in
            [("[ 16, 2, 1 ]", Some([16, 2, 1])), ("[1,2,3]", Some([1, 2, 3])), ("[ 1, 2 ]", None), ("1", None)]
        {
            assert_eq!(three_numbers(list), expected, "{list}");
        }
    }
}
