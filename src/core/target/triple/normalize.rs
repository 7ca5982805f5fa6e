//! Normalization of triples: `<arch>-<vendor>-<os>-<environment>`.
//!
//! Users omit parts (`x86_64-linux-gnu`), leave them empty (`amdgcn-amd-amdhsa-`), or write them in another order. To
//! make IDs of one target equal texts, LLVM moves every word that it knows to its place and fills empty places with
//! `unknown`; a reader of its bundles must do the same. The rules were derived from the behavior of 22.1.8: see the
//! table of the test.

use std::fmt;

use super::names;
use crate::target::subarch::Subarch;

const UNKNOWN: &str = "unknown";

/// Number of parts.
const PARTS: usize = 4;

/// A triple in its normal form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triple {
    parts: [String; PARTS],
}

/// Parts that must be equal for code of one triple to be code for another: the names without versions. `None` for an
/// unknown word.
type Meaning<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, Option<&'a str>);

impl Triple {
    /// Normalizes a triple of up to four parts. Text after the fourth part is ignored.
    pub fn normalize(text: &str) -> Triple {
        let mut words: Vec<&str> = text.splitn(PARTS + 1, '-').take(PARTS).collect();
        words.resize(PARTS, "");
        sort(&mut words);
        let mut parts = [0, 1, 2, 3].map(|part| match words[part] {
            "" => UNKNOWN.to_owned(),
            word => word.to_owned(),
        });
        // Alternative names of an environment.
        if let Some(version) = parts[3].strip_prefix("androideabi") {
            parts[3] = format!("android{version}");
        }
        if parts[1] == "suse" && parts[3] == "gnueabi" {
            parts[3].push_str("hf");
        }
        let unsaid = names::environment(&parts[3]).is_none() && names::format(&parts[3]).is_none_or(|it| it == "coff");
        let windows = match parts[2].as_str() {
            system if system.starts_with("mingw") => Some("gnu"),
            system if is_cygwin(system) => Some("cygnus"),
            system if names::system(system) == Some("windows") => unsaid.then_some("msvc").or(Some("")),
            _ => None,
        };
        if let Some(environment) = windows {
            parts[2] = "windows".to_owned();
            if !environment.is_empty() {
                parts[3] = environment.to_owned();
            }
        }
        Triple { parts }
    }

    /// Returns whether code for one triple is code for the other: both have the same architecture, vendor, system and
    /// environment. Alternative names and versions are ignored. Subarchitectures of AMD's GPUs must be compatible.
    pub fn is_compatible_with(&self, other: &Triple) -> bool {
        let [own, others] = [self, other].map(|triple| Subarch::of(&triple.parts[0]));
        let subarchs_fit = own.zip(others).is_none_or(|(own, other)| own.is_compatible_with(other));
        subarchs_fit && self.meaning() == other.meaning()
    }

    /// Returns the operating system, without its version; `None` for an unknown one.
    pub fn system(&self) -> Option<&'static str> {
        names::system(&self.parts[2])
    }

    fn meaning(&self) -> Meaning<'_> {
        let [architecture, vendor, system, environment] = &self.parts;
        (
            names::architecture(architecture),
            names::vendor(vendor),
            names::system(system),
            names::environment(environment),
        )
    }
}

impl fmt::Display for Triple {
    /// Formats four parts; AMD's HSA runtime expects an empty fourth part.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [architecture, vendor, system, environment] = &self.parts;
        let environment = if names::system(system) == Some("amdhsa") { "" } else { environment };
        write!(f, "{architecture}-{vendor}-{system}-{environment}")
    }
}

fn is_cygwin(word: &str) -> bool {
    word.starts_with("cygwin") || word.starts_with("msys")
}

fn belongs(word: &str, part: usize) -> bool {
    match part {
        0 => names::architecture(word).is_some(),
        1 => names::vendor(word).is_some(),
        2 => names::system(word).is_some() || word.starts_with("mingw") || is_cygwin(word),
        _ => names::environment(word).is_some() || names::format(word).is_some(),
    }
}

/// Returns whether a triple begins with a known architecture, which compilation requires.
pub fn names_architecture(text: &str) -> bool {
    text.split('-').next().is_some_and(|word| names::architecture(word).is_some())
}

/// Moves every known word to the place of its part. The other words shift and keep their order.
fn sort(words: &mut Vec<&str>) {
    let mut settled = [0, 1, 2, 3].map(|part| belongs(words[part], part));
    // An environment replaces a file format in the last place.
    settled[3] = names::environment(words[3]).is_some();
    for part in 0..PARTS {
        if settled[part] {
            continue;
        }
        let free = |at: usize| at >= PARTS || !settled[at];
        let Some(mut at) = (0..words.len()).find(|&at| free(at) && belongs(words[at], part)) else { continue };
        if at > part {
            let word = std::mem::take(&mut words[at]);
            insert_at(words, &settled, part, word);
        }
        while at < part {
            insert_at(words, &settled, at, "");
            at += 1;
            while at < PARTS && settled[at] {
                at += 1;
            }
        }
        settled[part] = true;
    }
    // The word means that there is no system; it is not a vendor of that name.
    if settled == [true, false, false, true] && words[1] == "none" && words[2].is_empty() {
        words.swap(1, 2);
    }
}

/// Inserts a word at an index that may be occupied. Displaced words move to the next free places.
fn insert_at<'text>(words: &mut Vec<&'text str>, settled: &[bool; PARTS], mut at: usize, mut word: &'text str) {
    loop {
        while at < PARTS && settled[at] {
            at += 1;
        }
        if at >= words.len() {
            words.push(word);
            return;
        }
        word = std::mem::replace(&mut words[at], word);
        if word.is_empty() {
            return;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalizes_like_the_reference() {
        let cases = [
            ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"),
            ("x86_64--linux-gnu", "x86_64-unknown-linux-gnu"),
            ("x86_64-linux-gnu-", "x86_64-unknown-linux-gnu"),
            ("x86_64-linux-gnu", "x86_64-unknown-linux-gnu"),
            ("x86_64--linux-", "x86_64-unknown-linux-unknown"),
            ("x86_64-linux-unknown-gnu", "x86_64-unknown-linux-gnu"),
            ("x86_64-linux-foo-gnu", "x86_64-unknown-linux-gnu"),
            ("x86_64-gnu-linux-unknown", "x86_64-unknown-linux-gnu"),
            ("x86_64-linux-gnu-elf", "x86_64-unknown-linux-gnu"),
            ("x86_64-freebsd13--", "x86_64-unknown-freebsd13-unknown"),
            ("arm-none-eabi-", "arm-unknown-none-eabi"),
            ("arm-none-foo-gnu", "arm-none-foo-gnu"),
            ("amd64-foo-none-windows", "amd64-foo-windows-msvc"),
            ("armv7a-none-linux-gnueabihf", "armv7a-none-linux-gnueabihf"),
            ("aarch64-none-elf-", "aarch64-unknown-none-elf"),
            ("riscv64-unknown-elf-", "riscv64-unknown-unknown-elf"),
            ("aarch64-unknown-linux-androideabi29", "aarch64-unknown-linux-android29"),
            ("x86_64-win32--", "x86_64-unknown-windows-msvc"),
            ("x86_64-pc-windows-", "x86_64-pc-windows-msvc"),
            ("x86_64-pc-windows-elf", "x86_64-pc-windows-elf"),
            ("x86_64-w64-windows-gnu", "x86_64-w64-windows-gnu"),
            ("i686-pc-mingw32-", "i686-pc-windows-gnu"),
            ("i686-pc-cygwin-", "i686-pc-windows-cygnus"),
            ("x86_64-apple-macosx10.15-", "x86_64-apple-macosx10.15-unknown"),
            ("amdgcn-amd-amdhsa", "amdgcn-amd-amdhsa-"),
            ("amdgcn-amd-amdhsa-unknown", "amdgcn-amd-amdhsa-"),
            ("amdgcn--amdhsa-", "amdgcn-unknown-amdhsa-"),
            ("amdgpu9.0a-amd-amdhsa", "amdgpu9.0a-amd-amdhsa-"),
            ("amdgpu9.4--amdpal", "amdgpu9.4-unknown-amdpal-unknown"),
            ("amdgpu-amdhsa", "amdgpu-unknown-amdhsa-"),
            ("amdgcn-amd-amdpal-", "amdgcn-amd-amdpal-unknown"),
            ("nvptx64-nvidia-cuda-", "nvptx64-nvidia-cuda-unknown"),
            ("spirv64---", "spirv64-unknown-unknown-unknown"),
            ("x86_64-foo-bar-baz", "x86_64-foo-bar-baz"),
            ("", "unknown-unknown-unknown-unknown"),
        ];
        for (text, normal) in cases {
            assert_eq!(Triple::normalize(text).to_string(), normal, "{text}");
            assert_eq!(Triple::normalize(normal).to_string(), normal, "{normal} is already normalized");
        }
    }

    #[test]
    fn all_names_of_an_architecture_are_known() {
        for known in [
            "amdgcn",
            "amdgpu",
            "amdgpu9.0a",
            "amdgpu9.99",
            "x86_64",
            "amd64",
            "ppc64le",
            "armv7a",
            "spirv64v1.6",
            "nvptx64",
            "wasm32",
        ] {
            assert!(names_architecture(&format!("{known}-unknown-linux-gnu")), "{known}");
        }
        for unknown in ["x86", "loongarch", "x86_64foo", "riscv", "", "linux"] {
            assert!(!names_architecture(&format!("{unknown}-unknown-linux-gnu")), "{unknown}");
        }
    }

    #[test]
    fn triples_match_by_meaning() {
        let pairs = [
            ("x86_64-unknown-linux-gnu", "amd64-foo-linux-gnu2", true),
            ("i386-unknown-linux-gnu", "i686-unknown-linux-gnu", true),
            ("x86_64-unknown-freebsd13-", "x86_64-unknown-freebsd14-", true),
            ("aarch64-unknown-linux-android", "arm64-unknown-linux-android29", true),
            ("x86_64-pc-windows-msvc", "x86_64-pc-win32-", true),
            ("x86_64-unknown-linux-foo", "x86_64-unknown-linux-", true),
            ("amdgcn-amd-amdhsa", "amdgpu9.0a-amd-amdhsa", true),
            ("amdgpu-amd-amdhsa", "amdgpu9.0a-amd-amdhsa", true),
            ("amdgpu9.4-amd-amdhsa", "amdgpu9.42-amd-amdhsa", true),
            ("amdgpu9.42-amd-amdhsa", "amdgpu9.50-amd-amdhsa", false),
            ("amdgpu9.42-amd-amdhsa", "amdgpu9.42-amd-amdpal", false),
            ("x86_64-pc-linux-gnu", "x86_64-unknown-linux-gnu", false),
            ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", false),
            ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-", false),
            ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", false),
            ("aarch64-unknown-linux-gnu", "arm64e-unknown-linux-gnu", false),
        ];
        for (one, other, fits) in pairs {
            let a = Triple::normalize(one);
            let b = Triple::normalize(other);
            assert_eq!((a.is_compatible_with(&b), b.is_compatible_with(&a)), (fits, fits), "{one} and {other}");
        }
    }
}
