//! Names of GPUs as people know them: `H100` is a device `sm_90`, `MI300X` a device `gfx942`.
//!
//! Sources, November 2026: NVIDIA, pages CUDA GPU Compute Capability and Legacy CUDA GPUs; Rubin: release notes of CUDA
//! 13.4 and vLLM 0.27. AMD: ROCm, GPU hardware specifications, and LLVM, AMDGPU usage guide, Processors, column Example
//! Products; MI455X: rocjitsu's configurations. Intel: compute-runtime, `devices` of each platform, and DPC++,
//! documentation of `-fsycl-targets`.

use super::intel;
use crate::base::short_text::{ShortText, words};
use crate::base::spelling::Suggestions;

/// The GPUs of an architecture.
struct Gpus {
    /// Name of their devices.
    device: ShortText<17>,
    /// Names of GPUs, separated by commas. The first stands for the others where a device is printed.
    names: &'static str,
}

const fn row(device: &str, names: &'static str) -> Gpus {
    Gpus { device: ShortText::new(device), names }
}

impl Gpus {
    fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.names.split(", ")
    }
}

/// Every GPU with a name, by device. A new GPU is a name in its row.
#[rustfmt::skip]
static GPUS: [Gpus; 57] = [
    row("sm_30", "K10, GTX 680, GTX 770"),
    row("sm_35", "K40, K20, GTX 780 Ti, GTX Titan"),
    row("sm_37", "K80"),
    row("sm_50", "GTX 750 Ti, GTX 750, M10"),
    row("sm_52", "M60, M40, M6, GTX 980 Ti, GTX 980, GTX 970, GTX 960, GTX 950, GTX Titan X"),
    row("sm_53", "Jetson Nano, Jetson TX1"),
    row("sm_60", "P100, Quadro GP100"),
    row("sm_61", "P40, P4, Titan Xp, GTX 1080 Ti, GTX 1080, GTX 1070 Ti, GTX 1070, GTX 1060, GTX 1050 Ti, GTX 1050, \
         Quadro P6000, Quadro P5000, Quadro P4000, Quadro P2000"),
    row("sm_62", "Jetson TX2"),
    row("sm_70", "V100, Titan V, Quadro GV100"),
    row("sm_72", "Xavier, Jetson AGX Xavier, Jetson Xavier NX"),
    row("sm_75", "T4, RTX 2080 Ti, RTX 2080, RTX 2070, RTX 2060, GTX 1660 Ti, GTX 1660, GTX 1650, Titan RTX, \
         Quadro RTX 8000, Quadro RTX 6000, Quadro RTX 5000, Quadro RTX 4000, T1000, T600, T400"),
    row("sm_80", "A100, A30, A800"),
    row("sm_86", "RTX 3090, RTX 3090 Ti, RTX 3080 Ti, RTX 3080, RTX 3070 Ti, RTX 3070, RTX 3060 Ti, RTX 3060, \
         RTX 3050 Ti, RTX 3050, A40, A16, A10, A10G, A2, RTX A6000, RTX A5500, RTX A5000, RTX A4500, RTX A4000, \
         RTX A3000, RTX A2000"),
    row("sm_87", "Orin, Jetson AGX Orin, Jetson Orin NX, Jetson Orin Nano"),
    row("sm_89", "RTX 4090, RTX 4080 Super, RTX 4080, RTX 4070 Ti Super, RTX 4070 Ti, RTX 4070 Super, RTX 4070, \
         RTX 4060 Ti, RTX 4060, RTX 4050, L4, L20, L40, L40S, RTX 6000 Ada, RTX 5000 Ada, RTX 4500 Ada, \
         RTX 4000 Ada, RTX 4000 SFF Ada, RTX 2000 Ada"),
    row("sm_90", "H100, H200, H800, H20, GH200"),
    row("sm_100", "B200, GB200, B100"),
    row("sm_103", "B300, GB300"),
    row("sm_107", "Rubin"),
    row("sm_110", "Thor, Jetson T5000, Jetson T4000, Jetson AGX Thor"),
    row("sm_120", "RTX 5090, RTX 5080, RTX 5070 Ti, RTX 5070, RTX 5060 Ti, RTX 5060, RTX 5050, RTX PRO 6000, \
         RTX PRO 5000, RTX PRO 4500, RTX PRO 4000, RTX PRO 2000"),
    row("sm_121", "GB10, DGX Spark"),

    row("gfx803", "Radeon RX 580, Radeon RX 570, Radeon RX 480, Radeon R9 Fury, MI6, MI8"),
    row("gfx900", "MI25, Radeon RX Vega 64, Radeon RX Vega 56"),
    row("gfx906", "MI50, MI60, Radeon VII"),
    row("gfx908", "MI100"),
    row("gfx90a", "MI250X, MI250, MI210"),
    row("gfx942", "MI300X, MI300A, MI325X, MI308X"),
    row("gfx950", "MI355X, MI350X"),
    row("gfx1010", "RX 5700 XT, RX 5700, RX 5600 XT, Radeon PRO W5700"),
    row("gfx1011", "Radeon PRO V520, Radeon PRO 5600M"),
    row("gfx1012", "RX 5500 XT, RX 5500, RX 5300, Radeon PRO W5500"),
    row("gfx1030", "RX 6900 XT, RX 6950 XT, RX 6800 XT, RX 6800, Radeon PRO W6800, Radeon PRO V620"),
    row("gfx1031", "RX 6700 XT, RX 6750 XT, RX 6700, RX 6800M, RX 6700M"),
    row("gfx1032", "RX 6600 XT, RX 6600, RX 6650 XT, Radeon PRO W6600"),
    row("gfx1033", "Steam Deck"),
    row("gfx1034", "RX 6500 XT, RX 6400, Radeon PRO W6500, Radeon PRO W6400"),
    row("gfx1035", "Radeon 680M, Radeon 660M"),
    row("gfx1036", "Radeon 610M"),
    row("gfx1100", "RX 7900 XTX, RX 7900 XT, RX 7900 GRE, Radeon PRO W7900, Radeon PRO W7800"),
    row("gfx1101", "RX 7800 XT, RX 7700 XT, Radeon PRO W7700, Radeon PRO V710"),
    row("gfx1102", "RX 7600, RX 7600 XT, RX 7700S, Radeon PRO W7600, Radeon PRO W7500"),
    row("gfx1103", "Radeon 780M, Radeon 760M, Radeon 740M"),
    row("gfx1150", "Radeon 890M, Radeon 880M"),
    row("gfx1151", "Radeon 8060S, Radeon 8050S, Radeon 8040S, Strix Halo"),
    row("gfx1152", "Radeon 860M, Radeon 840M"),
    row("gfx1153", "Radeon 820M"),
    row("gfx1200", "RX 9060 XT, RX 9060"),
    row("gfx1201", "RX 9070 XT, RX 9070, RX 9070 GRE, Radeon AI PRO R9700"),
    row("gfx1250", "MI455X"),

    row("intel_gpu_acm_g10", "Arc A770, Arc A750, Arc A580, Flex 170"),
    row("intel_gpu_acm_g11", "Arc A380, Arc A310, Flex 140"),
    row("intel_gpu_pvc", "Max 1550, Max 1100"),
    row("intel_gpu_arl_h", "Arc 140T, Arc 130T"),
    row("intel_gpu_bmg_g21", "Arc B580, Arc B570, Arc PRO B60, Arc PRO B50"),
    row("intel_gpu_lnl_m", "Arc 140V, Arc 130V"),
];

/// Devices that people ask about, whether or not a file has code for them.
static CURRENT: [ShortText<17>; 19] = words(
    "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121 gfx90a gfx942 gfx950 gfx1030 gfx1100 \
     gfx1201 intel_gpu_acm_g10 intel_gpu_pvc intel_gpu_bmg_g21",
);

/// Words that drivers and shops write around a name: vendors, brands, forms of a board, memory.
static NOISE: [ShortText<11>; 28] = words(
    "NVIDIA AMD INTEL GEFORCE TESLA RADEON INSTINCT ARC JETSON R TM GPU GRAPHICS LAPTOP GENERATION BLACKWELL \
     WORKSTATION SERVER EDITION PCIE NVL SXM2 SXM3 SXM4 SXM5 HBM2E HBM3 HBM3E",
);

/// Longest name that is looked up. The time for suggestions depends on it.
const MAX_LENGTH: usize = 64;

/// Words before the number of a professional card: `AMD Radeon PRO W7900` is `W7900`.
static LEADING: [ShortText<6>; 4] = words("PRO AI DATA CENTER");

/// Returns the letters and digits of a name that distinguish it: `NVIDIA GeForce RTX-4090` is `RTX4090`.
fn key(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    let is_size = |word: &str| {
        word.strip_suffix("GB").is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit()))
    };
    let words = upper.split(|it: char| !it.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.filter(|word| !NOISE.iter().any(|noise| *noise == **word) && !is_size(word));
    words.skip_while(|word| LEADING.iter().any(|leading| *leading == **word)).collect()
}

/// Returns the name of a GPU as the table has it, and the name of its device; `None` for an unknown name.
pub fn named(name: &str) -> Option<(&'static str, &'static str)> {
    if name.len() > MAX_LENGTH {
        return None;
    }
    let key = key(name);
    let mut named = GPUS.iter().flat_map(|row| row.names().map(move |name| (name, &*row.device)));
    named.find(|(name, _)| !key.is_empty() && self::key(name) == key)
}

/// Returns the best known GPU with the device of this name, which may have features.
pub fn gpu_of(device: &str) -> Option<&'static str> {
    let processor = device.split(':').next().unwrap_or(device);
    let is_intel = |name: &str| name.strip_prefix(intel::PREFIX) == Some(processor);
    GPUS.iter().find(|row| row.device == *processor || is_intel(&row.device))?.names().next()
}

/// Returns the names of the devices of all GPUs, by vendor.
pub fn devices() -> impl Iterator<Item = &'static str> {
    GPUS.iter().map(|row| &*row.device)
}

/// Returns whether people ask about the device of this name.
pub fn is_current(device: &str) -> bool {
    CURRENT.iter().any(|current| *current == *device)
}

/// Returns the names of all GPUs in a form that shells complete: words are joined by hyphens.
pub fn names() -> impl Iterator<Item = String> {
    GPUS.iter().flat_map(Gpus::names).map(|name| name.replace(' ', "-"))
}

/// Returns the longest name of a GPU that an unknown name begins with, as `RTX 4090 Ti` does.
pub fn beginning(written: &str) -> Option<String> {
    let key = key(written);
    let begins = |name: &&str| key.starts_with(&self::key(name)) && name.len() > 2;
    let longest = GPUS.iter().flat_map(Gpus::names).filter(begins).max_by_key(|name| name.len());
    longest.map(|name| name.replace(' ', "-"))
}

/// Returns names of GPUs that contain an unknown name, or else that are spelled like it.
pub fn suggestions(written: &str) -> Suggestions {
    let key = key(written);
    if key.len() < 2 || written.len() > MAX_LENGTH {
        return Suggestions::default();
    }
    let named = |is_match: &dyn Fn(&str) -> bool| -> Vec<String> {
        let names = GPUS.iter().flat_map(Gpus::names).filter(|name| is_match(&self::key(name)));
        names.take(3).map(|name| name.replace(' ', "-")).collect()
    };
    // Part of a name that ends in a digit is a number without its suffix or its series.
    let ends_in_digit = key.ends_with(|it: char| it.is_ascii_digit());
    let containing = named(&|name| ends_in_digit && key.len() > 2 && name.contains(&key));
    if !containing.is_empty() {
        return Suggestions(containing);
    }
    let keys = GPUS.iter().flat_map(Gpus::names).map(self::key);
    let Suggestions(near) = Suggestions::new(&key, keys);
    Suggestions(named(&|name| near.iter().any(|near| near == name)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::target::Device;

    #[test]
    fn every_name_is_unique_and_its_device_is_in_the_tables_of_targets() {
        let mut keys = BTreeSet::new();
        let mut devices = BTreeSet::new();
        for row in &GPUS {
            let device = &*row.device;
            assert!(devices.insert(device), "{device} has two rows");
            let parsed = Device::parse(device).unwrap_or_else(|error| panic!("{error}"));
            assert!(!parsed.is_empty(), "{device}");
            for name in row.names() {
                assert!(keys.insert(key(name)), "{name} is ambiguous");
                assert_eq!(named(name), Some((name, device)));
                assert_eq!(Device::parse(name), Ok(parsed.clone()), "{name}");
                assert_eq!(Device::parse(&name.replace(' ', "-")), Ok(parsed.clone()), "{name}");
            }
        }
    }

    #[test]
    fn no_name_of_a_device_is_the_name_of_a_gpu() {
        for name in crate::target::device::device_names() {
            assert!(Device::parse(&name).is_ok(), "{name}");
        }
        for device in devices() {
            assert_eq!(named(device), None, "{device}");
        }
        assert_eq!(devices().filter(|device| is_current(device)).count(), CURRENT.len());
    }

    #[test]
    fn names_are_read_as_drivers_and_people_write_them() {
        let cases = [
            ("NVIDIA H100 80GB HBM3", "sm_90"),
            ("NVIDIA A100-SXM4-80GB", "sm_80"),
            ("Tesla V100-SXM2-16GB", "sm_70"),
            ("NVIDIA GeForce RTX 3090 Laptop GPU", "sm_86"),
            ("rtx4090", "sm_89"),
            ("RTX-4090", "sm_89"),
            ("GTX 1080 Ti", "sm_61"),
            ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "sm_120"),
            ("NVIDIA RTX 6000 Ada Generation", "sm_89"),
            ("AMD Instinct MI300X", "gfx942"),
            ("mi250x", "gfx90a"),
            ("AMD Radeon RX 7900 XTX", "gfx1100"),
            ("AMD Radeon PRO W7900", "gfx1100"),
            ("R9700", "gfx1201"),
            ("Intel(R) Arc(TM) B580 Graphics", "intel_gpu_bmg_g21"),
            ("Intel(R) Data Center GPU Max 1550", "intel_gpu_pvc"),
        ];
        for (name, device) in cases {
            assert_eq!(named(name).map(|(_, device)| device), Some(device), "{name}");
        }
        for name in ["", "GPU", "NVIDIA", "RTX", "80GB", "hopper", "RTX 6000", &"H100 ".repeat(1000)] {
            assert_eq!(named(name), None, "{name}");
        }
    }

    #[test]
    fn unknown_names_lead_to_similar_ones() {
        let cases = [
            ("H10O", "; did you mean H100?"),
            ("RTX 6000", "; did you mean Quadro-RTX-6000 or RTX-6000-Ada?"),
            ("MI300", "; did you mean MI300X or MI300A?"),
            ("RTX-409O", "; did you mean RTX-4090?"),
            ("nonsense", ""),
            ("", ""),
        ];
        for (written, expected) in cases {
            assert_eq!(suggestions(written).to_string(), expected, "{written}");
        }
    }

    #[test]
    fn devices_have_the_name_of_their_best_known_gpu() {
        let cases = [
            ("sm_90", Some("H100")),
            ("gfx942:sramecc+:xnack-", Some("MI300X")),
            ("intel_gpu_pvc", Some("Max 1550")),
            ("pvc", Some("Max 1550")),
            ("sm_88", None),
            ("x86_64", None),
        ];
        for (device, gpu) in cases {
            assert_eq!(gpu_of(device), gpu, "{device}");
        }
    }
}
