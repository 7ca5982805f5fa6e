//! Triples as people write them, brought into one form: `<arch>-<vendor>-<os>-<environment>`.
//!
//! Parts are left out (`x86_64-linux-gnu`) or empty (`amdgcn-amd-amdhsa-`), and stand in other places than their own. So
//! that ids of one target are equal texts, LLVM puts every word that it knows into its place and writes `unknown` where
//! nothing is said; whoever reads bundles that it made has to agree. How it does that was read off 22.1.8: see the table
//! of the test.

use std::fmt;

use super::names;

const UNKNOWN: &str = "unknown";

/// How many parts there are.
const PARTS: usize = 4;

/// A triple in its normal form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triple {
    parts: [String; PARTS],
}

/// What each part of two triples has to have in common for code of one to be code for the other: the names without
/// versions; `None` for a word that is not known.
type Meaning<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, Option<&'a str>);

impl Triple {
    /// Brings a triple of up to four parts into its normal form. What stands behind the fourth part is ignored.
    pub fn normalize(text: &str) -> Triple {
        let mut words: Vec<&str> = text.splitn(PARTS + 1, '-').take(PARTS).collect();
        words.resize(PARTS, "");
        sort(&mut words);
        let mut parts = [0, 1, 2, 3].map(|part| match words[part] {
            "" => UNKNOWN.to_owned(),
            word => word.to_owned(),
        });
        // Other names of one environment.
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

    /// Whether it is for AMD's HSA runtime, whose triples are written with an empty environment.
    pub fn is_amdhsa(&self) -> bool {
        names::system(&self.parts[2]) == Some("amdhsa")
    }

    /// Whether code of one is code for the other: the same architecture, vendor, system and environment, whatever they
    /// are called and whatever their versions.
    pub fn is_compatible_with(&self, other: &Triple) -> bool {
        self.meaning() == other.meaning()
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
    /// Four parts; AMD's runtimes want theirs with nothing behind the third dash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [architecture, vendor, system, environment] = &self.parts;
        let environment = if self.is_amdhsa() { "" } else { environment };
        write!(f, "{architecture}-{vendor}-{system}-{environment}")
    }
}

fn is_cygwin(word: &str) -> bool {
    word.starts_with("cygwin") || word.starts_with("msys")
}

/// Whether a word is known as this part.
fn belongs(word: &str, part: usize) -> bool {
    match part {
        0 => names::architecture(word).is_some(),
        1 => names::vendor(word).is_some(),
        2 => names::system(word).is_some() || word.starts_with("mingw") || is_cygwin(word),
        _ => names::environment(word).is_some() || names::format(word).is_some(),
    }
}

/// Whether a triple begins with an architecture that is known, as each has to that anything is compiled for.
pub fn names_architecture(text: &str) -> bool {
    text.split('-').next().is_some_and(|word| names::architecture(word).is_some())
}

/// Puts every word that is known as some part into that part's place; the others make room and keep their order.
fn sort(words: &mut Vec<&str>) {
    let mut settled = [0, 1, 2, 3].map(|part| belongs(words[part], part));
    // A file format in the last place gives way to an environment.
    settled[3] = names::environment(words[3]).is_some();
    for part in 0..PARTS {
        if settled[part] {
            continue;
        }
        let free = |at: usize| at >= PARTS || !settled[at];
        let Some(mut at) = (0..words.len()).find(|&at| free(at) && belongs(words[at], part)) else { continue };
        if at > part {
            let word = std::mem::take(&mut words[at]);
            make_room(words, &settled, part, word);
        }
        while at < part {
            make_room(words, &settled, at, "");
            at += 1;
            while at < PARTS && settled[at] {
                at += 1;
            }
        }
        settled[part] = true;
    }
    // No system at all, which is what the word means, and not a vendor of that name.
    if settled == [true, false, false, true] && words[1] == "none" && words[2].is_empty() {
        words.swap(1, 2);
    }
}

/// Puts a word where another may stand, which moves on to the next free place, and so on up to one that is empty.
fn make_room<'text>(words: &mut Vec<&'text str>, settled: &[bool; PARTS], mut at: usize, mut word: &'text str) {
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
    fn triples_get_the_form_that_the_reference_gives_them() {
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
            ("amdgcn-amd-amdpal-", "amdgcn-amd-amdpal-unknown"),
            ("nvptx64-nvidia-cuda-", "nvptx64-nvidia-cuda-unknown"),
            ("spirv64---", "spirv64-unknown-unknown-unknown"),
            ("x86_64-foo-bar-baz", "x86_64-foo-bar-baz"),
            ("", "unknown-unknown-unknown-unknown"),
        ];
        for (text, normal) in cases {
            assert_eq!(Triple::normalize(text).to_string(), normal, "{text}");
            assert_eq!(Triple::normalize(normal).to_string(), normal, "{normal} is in its normal form");
        }
    }

    #[test]
    fn an_architecture_is_known_by_all_its_names() {
        for known in ["x86_64", "amd64", "ppc64le", "armv7a", "spirv64v1.6", "nvptx64", "wasm32"] {
            assert!(names_architecture(&format!("{known}-unknown-linux-gnu")), "{known}");
        }
        for unknown in ["x86", "loongarch", "x86_64foo", "riscv", "", "linux"] {
            assert!(!names_architecture(&format!("{unknown}-unknown-linux-gnu")), "{unknown}");
        }
    }

    #[test]
    fn triples_match_by_what_they_mean() {
        let pairs = [
            ("x86_64-unknown-linux-gnu", "amd64-foo-linux-gnu2", true),
            ("i386-unknown-linux-gnu", "i686-unknown-linux-gnu", true),
            ("x86_64-unknown-freebsd13-", "x86_64-unknown-freebsd14-", true),
            ("aarch64-unknown-linux-android", "arm64-unknown-linux-android29", true),
            ("x86_64-pc-windows-msvc", "x86_64-pc-win32-", true),
            ("x86_64-unknown-linux-foo", "x86_64-unknown-linux-", true),
            ("x86_64-pc-linux-gnu", "x86_64-unknown-linux-gnu", false),
            ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", false),
            ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-", false),
            ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", false),
            ("aarch64-unknown-linux-gnu", "arm64e-unknown-linux-gnu", false),
        ];
        for (one, other, fits) in pairs {
            let (a, b) = (Triple::normalize(one), Triple::normalize(other));
            assert_eq!((a.is_compatible_with(&b), b.is_compatible_with(&a)), (fits, fits), "{one} and {other}");
        }
    }
}
