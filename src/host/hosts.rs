//! The table of hosts: every machine that host objects can be written for.
//!
//! A new host is a row in [`hosts!`] and a file in `machines`. Triples, `--host`, `--match`, the help text and the lists of
//! the tests follow from the row, or do not compile until they list the host.

use object::Endianness;

use super::architecture::Architecture;
use super::error::HostError;
use super::machines::{AARCH64, LOONGARCH64, POWERPC64LE, RISCV64, S390X, X86_64};
use crate::target::triple;

/// Declares [`Host`] and everything that lists its variants.
macro_rules! hosts {
    ($($(#[$doc:meta])+ $host:ident => $architecture:ident,)+) => {
        /// A machine that host objects can be written for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Host {
            $($(#[$doc])+ $host,)+
        }

        impl Host {
            /// Every host, the most common first.
            pub const ALL: [Host; [$(Host::$host),+].len()] = [$(Host::$host),+];

            /// Returns the machine's numbers and its code generator.
            pub(super) fn architecture(self) -> &'static Architecture {
                match self {
                    $(Host::$host => &$architecture,)+
                }
            }

            /// Returns the triple of the host under Linux with the GNU C library, as LLVM normalizes it.
            pub fn triple(self) -> &'static str {
                match self {
                    $(Host::$host => const { linux_triple(&$architecture) },)+
                }
            }
        }
    };
}

hosts! {
    /// x86-64.
    X86_64 => X86_64,
    /// 64-bit Arm, little-endian.
    Aarch64 => AARCH64,
    /// 64-bit RISC-V.
    Riscv64 => RISCV64,
    /// 64-bit Power, little-endian.
    Powerpc64le => POWERPC64LE,
    /// IBM Z.
    S390x => S390X,
    /// 64-bit LoongArch.
    Loongarch64 => LOONGARCH64,
}

/// Returns the triple of a machine; fails to compile where `target::triple` has none.
const fn linux_triple(architecture: &Architecture) -> &'static str {
    let is_little_endian = matches!(architecture.endianness, Endianness::Little);
    triple::of_machine(architecture.machine, is_little_endian).expect("a row in target::triple")
}

/// Operating system and environment that may follow the machine and a vendor. Other environments change the ABI (`gnux32`,
/// `gnu_ilp32`, `gnusf`) or the C library so much (`android`) that nothing here was tried on them.
const SYSTEMS: [&[&str]; 3] = [&["linux"], &["linux", "gnu"], &["linux", "musl"]];

impl Host {
    /// Parses a triple like `aarch64-unknown-linux-gnu`; the vendor may be any or missing, and the machine may have any of
    /// the names that LLVM knows for it.
    pub fn from_triple(triple: &str) -> Result<Host, HostError> {
        let parts: Vec<&str> = triple.split('-').collect();
        let is_system = |rest: Option<&[&str]>| rest.is_some_and(|rest| SYSTEMS.contains(&rest));
        let machine = triple::architecture(triple);
        let host = Host::ALL.into_iter().find(|host| Some(host.name()) == machine);
        match host {
            Some(host) if is_system(parts.get(1..)) || is_system(parts.get(2..)) => Ok(host),
            _ => Err(HostError::UnsupportedTriple { triple: triple.to_owned(), available: Host::supported() }),
        }
    }

    /// Returns the machine that this program was built for, or an error if it is not a supported host.
    pub fn native() -> Result<Host, HostError> {
        let endianness = if cfg!(target_endian = "little") { Endianness::Little } else { Endianness::Big };
        let native = Host::ALL.into_iter().find(|host| {
            // Rust has one name for both byte orders of Power.
            let name = host.name();
            let name = name.strip_suffix("le").unwrap_or(name);
            name == std::env::consts::ARCH && host.architecture().endianness == endianness
        });
        native.ok_or_else(|| HostError::UnsupportedNative {
            machine: std::env::consts::ARCH,
            available: Host::supported(),
        })
    }

    /// Returns the name of the machine, with which its triples begin.
    pub fn name(self) -> &'static str {
        let triple = self.triple();
        triple.split_once('-').map_or(triple, |(name, _)| name)
    }

    /// Returns the supported triples for messages: machines, then operating systems with environments.
    pub fn supported() -> String {
        let names = Host::ALL.map(Host::name);
        let systems = SYSTEMS.map(|system| system.join("-"));
        format!("{} with {}", names.join(", "), systems.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_test_of_its_jumps() {
        let tests = include_str!("machines/tests.rs");
        for host in Host::ALL {
            assert!(tests.contains(&format!("fn {}()", host.name())), "no test for {}", host.name());
        }
    }

    #[test]
    fn parses_every_spelling_of_a_triple() {
        let aliases = [("amd64", Host::X86_64), ("arm64", Host::Aarch64), ("ppc64le", Host::Powerpc64le)];
        let names = Host::ALL.map(|host| (host.name(), host)).into_iter().chain(aliases);
        for (name, host) in names.chain([("systemz", Host::S390x)]) {
            for rest in
                ["linux", "linux-gnu", "linux-musl", "unknown-linux-gnu", "pc-linux", "ibm-linux-musl", "-linux"]
            {
                let triple = format!("{name}-{rest}");
                let found = Host::from_triple(&triple).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(found, host, "{triple}");
            }
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
            "x86_64-pc-windows-msvc",
            "arm64-apple-macosx",
            "aarch64-unknown-linux-android",
            "x86_64-a-b-linux-gnu",
            "amdgcn-amd-amdhsa",
        ];
        for triple in others {
            let Err(error) = Host::from_triple(triple) else { panic!("{triple} is accepted") };
            let message = error.to_string();
            for host in Host::ALL {
                assert!(message.contains(host.name()), "{message}");
            }
            assert!(message.starts_with(&format!("{triple}: ")) && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn parses_its_own_triples() {
        for host in Host::ALL {
            assert_eq!(Host::from_triple(host.triple()).unwrap(), host);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_native_host_is_the_one_that_tests_run_on() {
        let expected = cfg!(target_arch = "x86_64").then_some(Host::X86_64);
        assert!(expected.is_none() || Host::native().ok() == expected);
    }
}
