//! The table of hosts: every machine and system that host objects can be written for.
//!
//! A new host is a row in [`hosts!`]; a new machine also a file in `machines`. Triples, `--host`, `--match`, the help
//! text and the lists of the tests follow from the row, or fail until they list the host.

use std::str::FromStr;

use object::Endianness;

use super::architecture::{Architecture, CoffMachine, MachOMachine};
use super::error::HostError;
use super::machines::{
    AARCH64, AARCH64_COFF, AARCH64_MACHO, LOONGARCH64, POWERPC64LE, RISCV64, S390X, X86_64, X86_64_COFF, X86_64_MACHO,
};
use super::systems::{LINUX, MACOS, System, WINDOWS_GNU, WINDOWS_MSVC, WindowsRuntime};
use crate::base::spelling::Suggestions;
use crate::target::triple;

/// Emitter of a host's objects, with the description of the machine that it needs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Emitter {
    /// Emits ELF.
    Elf(&'static Architecture),
    /// Emits COFF for a C runtime.
    Coff(&'static CoffMachine, WindowsRuntime),
    /// Emits Mach-O.
    MachO(&'static MachOMachine),
}

/// Format of a host's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// ELF.
    Elf,
    /// COFF, the objects of Windows.
    Coff,
    /// Mach-O, the objects of macOS.
    MachO,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostRow {
    /// Emitter of its objects.
    pub emitter: Emitter,
    /// Operating system and C library.
    pub system: &'static System,
    /// Triple, as LLVM normalizes it.
    pub triple: &'static str,
}

/// Declares [`Host`] and everything that lists its variants.
macro_rules! hosts {
    ($($(#[$doc:meta])+ $host:ident => $row:expr,)+) => {
        /// A machine and a system that host objects can be written for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Host {
            $($(#[$doc])+ $host,)+
        }

        impl Host {
            /// Every host, the most common first.
            pub const ALL: &[Host] = &[$(Host::$host),+];

            /// Returns the row of the table.
            pub(super) fn row(self) -> HostRow {
                match self {
                    $(Host::$host => const { $row },)+
                }
            }
        }
    };
}

hosts! {
    /// x86-64 under Linux.
    X86_64 => linux(&X86_64),
    /// 64-bit Arm, little-endian, under Linux.
    Aarch64 => linux(&AARCH64),
    /// 64-bit RISC-V under Linux.
    Riscv64 => linux(&RISCV64),
    /// 64-bit Power, little-endian, under Linux.
    Powerpc64le => linux(&POWERPC64LE),
    /// IBM Z under Linux.
    S390x => linux(&S390X),
    /// 64-bit LoongArch under Linux.
    Loongarch64 => linux(&LOONGARCH64),
    /// x86-64 under Windows, with Microsoft's C runtime.
    X86_64WindowsMsvc => msvc(&X86_64_COFF, "x86_64-pc-windows-msvc"),
    /// 64-bit Arm under Windows, with Microsoft's C runtime.
    Aarch64WindowsMsvc => msvc(&AARCH64_COFF, "aarch64-pc-windows-msvc"),
    /// x86-64 under Windows, with the C runtime of MinGW-w64.
    X86_64WindowsGnu => HostRow {
        emitter: Emitter::Coff(&X86_64_COFF, WindowsRuntime::Gnu),
        system: &WINDOWS_GNU,
        triple: "x86_64-w64-windows-gnu",
    },
    /// x86-64 under macOS.
    X86_64Macos => macos(&X86_64_MACHO, "x86_64-apple-macosx"),
    /// 64-bit Arm under macOS.
    Aarch64Macos => macos(&AARCH64_MACHO, "arm64-apple-macosx"),
}

/// Returns the row of a machine under Linux with the GNU C library; fails to compile where `target::triple` has no
/// triple for it.
const fn linux(architecture: &'static Architecture) -> HostRow {
    let is_little_endian = matches!(architecture.endianness, Endianness::Little);
    let triple = triple::of_machine(architecture.elf.machine, is_little_endian).expect("a row in target::triple");
    HostRow { emitter: Emitter::Elf(architecture), system: &LINUX, triple }
}

/// Returns the row of a machine under Windows with Microsoft's C runtime.
const fn msvc(machine: &'static CoffMachine, triple: &'static str) -> HostRow {
    HostRow { emitter: Emitter::Coff(machine, WindowsRuntime::Msvc), system: &WINDOWS_MSVC, triple }
}

/// Returns the row of a machine under macOS.
const fn macos(machine: &'static MachOMachine, triple: &'static str) -> HostRow {
    HostRow { emitter: Emitter::MachO(machine), system: &MACOS, triple }
}

impl Host {
    /// Returns the machine and system that this program was built for, or an error if they are not a supported host.
    pub fn native() -> Result<Host, HostError> {
        let endianness = if cfg!(target_endian = "little") { Endianness::Little } else { Endianness::Big };
        let native = Host::ALL.iter().copied().find(|host| {
            // Rust has one name for both byte orders of Power.
            let name = host.name();
            let name = name.strip_suffix("le").unwrap_or(name);
            let row = host.row();
            row.system.is_native && name == std::env::consts::ARCH && row.emitter.endianness() == endianness
        });
        native.ok_or_else(|| HostError::UnsupportedNative {
            machine: std::env::consts::ARCH,
            available: Host::supported(),
        })
    }

    /// Returns the triple of the host, as LLVM normalizes it.
    pub fn triple(self) -> &'static str {
        self.row().triple
    }

    /// Returns the format of the host's objects.
    #[doc(hidden)]
    pub fn format(self) -> ObjectFormat {
        match self.row().emitter {
            Emitter::Elf(_) => ObjectFormat::Elf,
            Emitter::Coff(..) => ObjectFormat::Coff,
            Emitter::MachO(_) => ObjectFormat::MachO,
        }
    }

    /// Returns a number in the byte order of the machine.
    #[doc(hidden)]
    pub fn u64_bytes(self, number: u64) -> [u8; 8] {
        match self.row().emitter.endianness() {
            Endianness::Little => number.to_le_bytes(),
            Endianness::Big => number.to_be_bytes(),
        }
    }

    /// Returns whether compilers assume that the address of each symbol is even: IBM Z loads addresses with an
    /// instruction that counts in units of two bytes (ELF Application Binary Interface, s390x Supplement).
    #[doc(hidden)]
    pub fn has_even_symbols(self) -> bool {
        self == Host::S390x
    }

    /// Returns whether C++ has the names of Microsoft's compiler instead of the Itanium ABI's.
    #[doc(hidden)]
    pub fn has_microsoft_names(self) -> bool {
        matches!(self.row().emitter, Emitter::Coff(_, WindowsRuntime::Msvc))
    }

    /// Returns whether objects of both hosts can be linked with each other.
    #[doc(hidden)]
    pub fn links_with(self, other: Host) -> bool {
        self.name() == other.name() && self.format() == other.format()
    }

    /// Returns the name of the machine, the first part of its triples.
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        let triple = self.triple();
        triple::architecture(triple).unwrap_or(triple)
    }

    /// Returns the names of all machines.
    #[doc(hidden)]
    pub fn machines() -> Vec<&'static str> {
        let mut names = Vec::new();
        for name in Host::ALL.iter().copied().map(Host::name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the supported triples for messages: for each group of systems, the machines, then the systems.
    #[doc(hidden)]
    pub fn supported() -> String {
        let mut groups: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
        for host in Host::ALL.iter().copied() {
            let systems = host.row().system.names();
            match groups.iter_mut().find(|(_, of_group)| *of_group == systems) {
                Some((machines, _)) => machines.push(host.name()),
                None => groups.push((vec![host.name()], systems)),
            }
        }
        let groups =
            groups.iter().map(|(machines, systems)| format!("{} with {}", machines.join(", "), systems.join(", ")));
        groups.collect::<Vec<_>>().join("; ")
    }
}

/// Parses a triple like `aarch64-unknown-linux-gnu`; the vendor may be any or missing, and the machine may have any of
/// the names that LLVM knows for it.
impl FromStr for Host {
    type Err = HostError;

    fn from_str(triple: &str) -> Result<Host, HostError> {
        let parts: Vec<&str> = triple.split('-').collect();
        let machine = triple::architecture(triple);
        let is_host = |host: &Host| {
            let is_system = |rest: Option<&[&str]>| rest.is_some_and(|rest| host.row().system.has_spelling(rest));
            Some(host.name()) == machine && (is_system(parts.get(1..)) || is_system(parts.get(2..)))
        };
        Host::ALL.iter().copied().find(is_host).ok_or_else(|| HostError::UnsupportedTriple {
            triple: triple.to_owned(),
            suggestions: suggested_hosts(triple, machine),
            available: Host::supported(),
        })
    }
}

impl Emitter {
    fn endianness(self) -> Endianness {
        match self {
            Emitter::Elf(architecture) => architecture.endianness,
            Emitter::Coff(machine, _) => machine.architecture.endianness,
            Emitter::MachO(machine) => machine.architecture.endianness,
        }
    }
}

/// Suggests the hosts with a machine, if a triple consists of its name, or else the hosts with similar triples.
fn suggested_hosts(triple: &str, machine: Option<&str>) -> Suggestions {
    let of_machine = Host::ALL.iter().copied().filter(|host| !triple.contains('-') && Some(host.name()) == machine);
    let of_machine: Vec<String> = of_machine.map(|host| host.triple().to_owned()).collect();
    if of_machine.is_empty() {
        return Suggestions::new(triple, Host::ALL.iter().copied().map(Host::triple));
    }
    Suggestions(of_machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_test_of_its_jumps() {
        let tests = include_str!("machines/tests.rs");
        for host in Host::ALL.iter().copied() {
            assert!(tests.contains(&format!("fn {}()", host.name())), "no test for {}", host.name());
        }
    }

    #[test]
    fn parses_every_spelling_of_a_triple() {
        let aliases = [("amd64", Host::X86_64), ("arm64", Host::Aarch64), ("ppc64le", Host::Powerpc64le)];
        let linux = Host::ALL.iter().copied().filter(|host| host.format() == ObjectFormat::Elf);
        let names = linux.map(|host| (host.name(), host)).chain(aliases);
        for (name, host) in names.chain([("systemz", Host::S390x)]) {
            for rest in
                ["linux", "linux-gnu", "linux-musl", "unknown-linux-gnu", "pc-linux", "ibm-linux-musl", "-linux"]
            {
                let triple = format!("{name}-{rest}");
                let found = triple.parse::<Host>().unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(found, host, "{triple}");
            }
        }
    }

    #[test]
    fn parses_every_spelling_of_windows_and_macos() {
        for (triple, host) in [
            ("x86_64-pc-windows-msvc", Host::X86_64WindowsMsvc),
            ("x86_64-pc-windows-msvc19.44.35211", Host::X86_64WindowsMsvc),
            ("x86_64-windows", Host::X86_64WindowsMsvc),
            ("amd64-pc-win32", Host::X86_64WindowsMsvc),
            ("aarch64-pc-windows-msvc", Host::Aarch64WindowsMsvc),
            ("arm64-unknown-windows-msvc", Host::Aarch64WindowsMsvc),
            ("x86_64-w64-windows-gnu", Host::X86_64WindowsGnu),
            ("x86_64-pc-windows-gnu", Host::X86_64WindowsGnu),
            ("x86_64-w64-mingw32", Host::X86_64WindowsGnu),
            ("x86_64-apple-macosx", Host::X86_64Macos),
            ("x86_64-apple-darwin23.1.0", Host::X86_64Macos),
            ("arm64-apple-macosx14.0", Host::Aarch64Macos),
            ("aarch64-apple-macos", Host::Aarch64Macos),
        ] {
            let found = triple.parse::<Host>().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(found, host, "{triple}");
        }
    }

    #[test]
    fn rejects_an_unsupported_triple_with_a_list_of_the_supported_ones() {
        let others = [
            "",
            "x86_64",
            "linux",
            "i686-unknown-linux-gnu",
            "powerpc64-unknown-linux-gnu",
            "aarch64_be-unknown-linux-gnu",
            "x86_64-unknown-linux-gnux32",
            "i686-pc-windows-msvc",
            "arm64ec-pc-windows-msvc",
            "aarch64-w64-windows-gnu",
            "x86_64-pc-windows-cygnus",
            "riscv64-pc-windows-msvc",
            "x86_64-pc-windows-msvc-elf",
            "arm64e-apple-macosx",
            "arm64-apple-ios",
            "x86_64-apple-macosx-macabi",
            "aarch64-unknown-linux-android",
            "x86_64-a-b-linux-gnu",
            "amdgcn-amd-amdhsa",
        ];
        for triple in others {
            let Err(error) = triple.parse::<Host>() else { panic!("{triple} is accepted") };
            let message = error.to_string();
            for host in Host::ALL.iter().copied() {
                assert!(message.contains(host.name()), "{message}");
            }
            assert!(message.starts_with(&format!("{triple}: ")) && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn parses_its_own_triples() {
        for host in Host::ALL.iter().copied() {
            assert_eq!(host.triple().parse::<Host>().unwrap(), host);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_native_host_is_the_one_that_tests_run_on() {
        let expected = cfg!(target_arch = "x86_64").then_some(Host::X86_64);
        assert!(expected.is_none() || Host::native().ok() == expected);
    }
}
