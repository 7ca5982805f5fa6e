//! The GPUs of a machine, as the tools of its drivers list them.
//!
//! Formats: `nvidia-smi -L` and `nvidia-smi --query-gpu=name,compute_cap --format=csv` (driver 580), `rocminfo` and
//! `rocm_agent_enumerator` (ROCm 7), `vulkaninfo` with and without `--summary` (Vulkan-Tools 1.4), and a device on each
//! line.

use super::device::{Device, InvalidDevice};
use super::gpu_names;
use crate::base::code::{Code, Coded, ErrorClass};
use crate::base::short_text::ShortText;

/// A GPU that a machine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedGpu {
    /// Name of the device: `sm_90`, `gfx90a:sramecc+:xnack-`.
    pub device: String,
    /// Name of the GPU, if it is a known one.
    pub gpu: Option<&'static str>,
    /// Number of such GPUs.
    pub count: usize,
}

/// Reason why a list of GPUs cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMachine {
    /// A line names an unknown GPU.
    #[error("line {line}: {cause}")]
    Device {
        /// Number of the line, from 1.
        line: usize,
        /// Reason.
        cause: InvalidDevice,
    },
    /// A line is not in the format of the others.
    #[error("line {line}: not a line of {tool}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// Tool that writes the other lines.
        tool: &'static str,
    },
    /// No line names a GPU.
    #[error("names no GPU")]
    Empty,
}

#[doc(hidden)]
impl Coded for InvalidMachine {
    fn class(&self) -> ErrorClass {
        match self {
            InvalidMachine::Device { cause, .. } => cause.class(),
            InvalidMachine::Line { .. } | InvalidMachine::Empty => Code::UnknownDevice.into(),
        }
    }
}

/// Names of AMD's chips in the names of devices of Mesa's driver. Source: Mesa, `src/amd/common/amd_family.h` and
/// `src/amd/common/ac_gpu_info.c`. Later chips are named after their processors.
#[rustfmt::skip]
static CHIPS: [(ShortText<17>, ShortText<7>); 24] = [
    chip("FIJI", "gfx803"), chip("POLARIS10", "gfx803"), chip("POLARIS11", "gfx803"), chip("POLARIS12", "gfx803"),
    chip("VEGA10", "gfx900"), chip("RAVEN", "gfx902"), chip("VEGA12", "gfx904"), chip("VEGA20", "gfx906"),
    chip("RAVEN2", "gfx909"), chip("RENOIR", "gfx90c"), chip("NAVI10", "gfx1010"), chip("NAVI12", "gfx1011"),
    chip("NAVI14", "gfx1012"), chip("NAVI21", "gfx1030"), chip("NAVI22", "gfx1031"), chip("NAVI23", "gfx1032"),
    chip("VANGOGH", "gfx1033"), chip("NAVI24", "gfx1034"), chip("REMBRANDT", "gfx1035"),
    chip("RAPHAEL_MENDOCINO", "gfx1036"), chip("NAVI31", "gfx1100"), chip("NAVI32", "gfx1101"),
    chip("NAVI33", "gfx1102"), chip("PHOENIX", "gfx1103"),
];

const fn chip(name: &str, processor: &str) -> (ShortText<17>, ShortText<7>) {
    (ShortText::new(name), ShortText::new(processor))
}

/// Processor of a CPU in the output of `rocm_agent_enumerator`.
const NO_GPU: &str = "gfx000";

/// Beginning of the target IDs of `rocminfo`.
const ISA: &str = "amdgcn-amd-amdhsa--";

/// A GPU on a line.
type Found = Result<ListedGpu, InvalidMachine>;

/// A line with its number, without spaces around it.
type Line<'t> = (usize, &'t str);

/// Returns the different GPUs of a machine in the order of its list, each with its number.
pub fn gpus(text: &str) -> Result<Vec<ListedGpu>, InvalidMachine> {
    let lines: Vec<Line<'_>> = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty()).collect();
    let has = |word: &str| lines.iter().any(|(_, line)| line.contains(word));
    let found: Vec<Found> = if has("HSA Agents") {
        rocminfo(&lines)
    } else if has("deviceName") {
        vulkaninfo(&lines)
    } else if has("(UUID: ") {
        nvidia_smi_list(&lines)
    } else if lines.first().is_some_and(|(_, line)| line.contains("compute_cap") || capability(line).is_some()) {
        nvidia_smi_table(&lines)
    } else {
        lines.iter().filter(|(_, line)| *line != NO_GPU).map(|(line, name)| named(*line, name)).collect()
    };
    let mut gpus: Vec<ListedGpu> = Vec::new();
    for gpu in found {
        let gpu = gpu?;
        match gpus.iter_mut().find(|known| known.device == gpu.device && known.gpu == gpu.gpu) {
            Some(known) => known.count += 1,
            None => gpus.push(gpu),
        }
    }
    if gpus.is_empty() { Err(InvalidMachine::Empty) } else { Ok(gpus) }
}

/// Returns the device of a name. A name in words, which may be unknown, is the name of the GPU.
fn device(line: usize, name: &str, words: &str) -> Found {
    let devices = Device::parse(name).map_err(|cause| InvalidMachine::Device { line, cause })?;
    let known = |words: &str| gpu_names::named(words).filter(|(_, device)| is_processor_of(device, name));
    let device = match (gpu_names::named(name), devices.as_slice()) {
        (Some((_, device)), _) if Device::of_code(name).is_err() => device.to_owned(),
        (_, [device @ Device::Nvidia(_)]) => device.to_string(),
        _ => name.to_owned(),
    };
    let gpu = gpu_names::named(name).or_else(|| known(words)).map(|(gpu, _)| gpu);
    Ok(ListedGpu { device, gpu, count: 1 })
}

fn is_processor_of(processor: &str, name: &str) -> bool {
    name == processor || name.strip_prefix(processor).is_some_and(|rest| rest.starts_with(':'))
}

fn named(line: usize, name: &str) -> Found {
    device(line, name, "")
}

/// `GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-…)`. Lines about parts of a GPU follow the line about the GPU.
fn nvidia_smi_list(lines: &[Line<'_>]) -> Vec<Found> {
    let gpus = lines.iter().filter(|(_, text)| !text.starts_with("MIG "));
    let gpu = |&(line, text): &Line<'_>| {
        let name = text.strip_prefix("GPU ").and_then(|rest| rest.split_once(": ")?.1.split_once(" (UUID: "));
        let (name, _) = name.ok_or(InvalidMachine::Line { line, tool: "nvidia-smi -L" })?;
        named(line, name)
    };
    gpus.map(gpu).collect()
}

/// The last column of a line, if it is a compute capability.
fn capability(line: &str) -> Option<&str> {
    let (_, last) = line.rsplit_once(',')?;
    let (major, minor) = last.trim().split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(major) && is_number(minor)).then_some(last.trim())
}

/// Rows of `name, compute_cap`, in the order of the first line if it has names of columns.
fn nvidia_smi_table(lines: &[Line<'_>]) -> Vec<Found> {
    let header: Vec<&str> = lines.first().map_or(Vec::new(), |(_, line)| line.split(',').map(str::trim).collect());
    let place = |name: &str| header.iter().position(|column| *column == name);
    let number = place("compute_cap");
    let name = if number.is_some() { place("name").or(place("gpu_name")) } else { Some(0) };
    let rows = lines.iter().skip(usize::from(number.is_some()));
    let row = |&(line, text): &Line<'_>| {
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        let cell = |place: Option<usize>| cells.get(place?).copied();
        let number = number.or(Some(1)).and_then(|place| cell(Some(place)));
        let number = number.ok_or(InvalidMachine::Line { line, tool: "nvidia-smi --query-gpu" })?;
        let digits = format!("sm_{}", number.replace('.', ""));
        device(line, if number.contains('.') { &digits } else { number }, cell(name).unwrap_or_default())
    };
    rows.map(row).collect()
}

/// The agents of `rocminfo` that are GPUs. The target ID of an agent has its features.
fn rocminfo(lines: &[Line<'_>]) -> Vec<Found> {
    let is_first =
        |line: &str| line.strip_prefix("Agent ").is_some_and(|rest| rest.bytes().all(|it| it.is_ascii_digit()));
    let mut agents: Vec<Vec<Line<'_>>> = Vec::new();
    for line in lines {
        if is_first(line.1) {
            agents.push(Vec::new());
        } else if let Some(agent) = agents.last_mut() {
            agent.push(*line);
        }
    }
    let of_agent = |agent: &Vec<Line<'_>>| {
        let values = |key: &'static str| {
            agent.iter().filter_map(move |(line, text)| {
                let (found, value) = text.split_once(':')?;
                (found == key).then_some((*line, value.trim()))
            })
        };
        if values("Device Type").all(|(_, value)| value != "GPU") {
            return None;
        }
        let isa = values("Name").find_map(|(line, name)| Some((line, name.strip_prefix(ISA)?)));
        let (line, name) = isa.or_else(|| values("Name").next())?;
        let words = values("Marketing Name").next().map_or("", |(_, name)| name);
        Some(device(line, name, words))
    };
    agents.iter().filter_map(of_agent).collect()
}

/// `deviceName = AMD Radeon RX 6600 XT (RADV NAVI23)`, after the type of the device. Processors of the host are no GPUs.
fn vulkaninfo(lines: &[Line<'_>]) -> Vec<Found> {
    let mut is_host = false;
    let mut found = Vec::new();
    for (line, text) in lines {
        let Some((key, value)) = text.split_once('=') else { continue };
        match key.trim() {
            "deviceType" => is_host = value.trim().ends_with("_CPU"),
            "deviceName" if !is_host => found.push(vulkan_device(*line, value.trim())),
            _ => {}
        }
    }
    found
}

fn vulkan_device(line: usize, name: &str) -> Found {
    let split = if name.ends_with(')') { name.split_once(" (") } else { None };
    let Some((words, driver)) = split else { return named(line, name) };
    let Some(chip) = driver.strip_prefix("RADV ").map(|chip| chip.trim_end_matches(')')) else {
        return named(line, words);
    };
    let chip = chip.split_once(',').map_or(chip, |(chip, _)| chip);
    match CHIPS.iter().find(|(known, _)| *known == *chip) {
        Some((_, processor)) => device(line, processor, words),
        None if chip.starts_with("GFX") => {
            let processor = chip.split('_').next().unwrap_or(chip).to_ascii_lowercase();
            device(line, &processor, words)
        }
        None => named(line, words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> String {
        match gpus(text) {
            Ok(gpus) => {
                let gpu = |it: ListedGpu| format!("{} {} {}", it.count, it.gpu.unwrap_or("-"), it.device);
                gpus.into_iter().map(gpu).collect::<Vec<_>>().join("; ")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn lines_about_the_host_and_parts_of_gpus_are_no_gpus() {
        let smi = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d)\n  MIG 1g.5gb Device 0: (UUID: MIG-1)\n";
        assert_eq!(listed(smi), "1 A100 sm_80");
        assert_eq!(listed("gfx000\ngfx1030\ngfx1030\n"), "2 - gfx1030");
        let vulkan = "deviceType = PHYSICAL_DEVICE_TYPE_CPU\ndeviceName = llvmpipe (LLVM 19, 256 bits)\n";
        assert_eq!(listed(vulkan), "names no GPU");
        assert_eq!(listed(""), "names no GPU");
    }

    #[test]
    fn tables_have_their_columns_in_any_order_and_may_lack_names() {
        let cases = [
            ("name, compute_cap\nNVIDIA H100 80GB HBM3, 9.0\nNVIDIA H100 80GB HBM3, 9.0\n", "2 H100 sm_90"),
            ("NVIDIA GeForce RTX 5090, 12.0\n", "1 RTX 5090 sm_120"),
            ("compute_cap, name\n8.9, Unreleased Board\n", "1 - sm_89"),
            ("name, compute_cap\nNVIDIA H100, [N/A]\n", "line 2: unknown device \"[N/A]\""),
            ("name, compute_cap\nNVIDIA H100\n", "line 2: not a line of nvidia-smi --query-gpu"),
            ("name, compute_cap\nFuture, 99.0\n", "line 2: unknown device \"sm_990\""),
        ];
        for (text, expected) in cases {
            let found = listed(text);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }

    #[test]
    fn vulkan_devices_are_known_by_chip_or_by_name() {
        let cases = [
            ("AMD Radeon RX 7900 XTX (RADV NAVI31)", "1 RX 7900 XTX gfx1100"),
            ("AMD Radeon Graphics (RADV GFX1103_R1)", "1 - gfx1103"),
            ("AMD Radeon RX 6600 XT", "1 RX 6600 XT gfx1032"),
            ("Intel(R) Arc(tm) A770 Graphics (DG2)", "1 Arc A770 intel_gpu_acm_g10"),
            ("NVIDIA GeForce RTX 3080", "1 RTX 3080 sm_86"),
            ("Intel(R) UHD Graphics 770 (ADL-S GT1)", "line 2: unknown device \"Intel(R) UHD Graphics 770\""),
        ];
        for (name, expected) in cases {
            let found = listed(&format!("deviceType = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU\n\tdeviceName = {name}\n"));
            assert!(found.starts_with(expected), "{name}: {found}");
        }
    }

    #[test]
    fn every_chip_has_a_processor() {
        for (chip, processor) in &CHIPS {
            assert!(Device::parse(processor).is_ok(), "{chip:?}");
        }
    }
}
