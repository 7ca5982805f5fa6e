//! Which machine a target triple means, as far as there is code for it.

use object::Endianness;

use super::architecture::Architecture;
use super::machines::{AARCH64, LOONGARCH64, POWERPC64LE, RISCV64, S390X, X86_64};
use crate::error::{Error, Result};
use crate::target::triple;

/// The supported machines with their names in triples, the usual one first; the others are LLVM's
/// (`llvm/lib/TargetParser/Triple.cpp`, `parseArch`).
const MACHINES: [(&[&str], &Architecture); 6] = [
    (&["x86_64", "amd64"], &X86_64),
    (&["aarch64", "arm64"], &AARCH64),
    (&["riscv64"], &RISCV64),
    (&["powerpc64le", "ppc64le"], &POWERPC64LE),
    (&["s390x", "systemz"], &S390X),
    (&["loongarch64"], &LOONGARCH64),
];

/// What may follow the machine and a vendor. Other environments change the ABI (`gnux32`, `gnu_ilp32`, `gnusf`) or the
/// C library so much (`android`) that nothing here was tried on them.
const SYSTEMS: [&[&str]; 3] = [&["linux"], &["linux", "gnu"], &["linux", "musl"]];

/// The architecture for a triple like `aarch64-unknown-linux-gnu`; the vendor may be any or missing.
pub fn for_triple(triple: &str) -> Result<&'static Architecture> {
    let parts: Vec<&str> = triple.split('-').collect();
    let machine = MACHINES.iter().find(|(names, _)| names.contains(&parts[0]));
    let is_system = |rest: Option<&[&str]>| rest.is_some_and(|rest| SYSTEMS.contains(&rest));
    match machine {
        Some((_, architecture)) if is_system(parts.get(1..)) || is_system(parts.get(2..)) => Ok(architecture),
        _ => Err(Error::UnsupportedHost { triple: triple.to_owned(), supported: supported() }),
    }
}

/// The machine that this program was built for; x86-64 where that is none of those supported.
pub fn native() -> &'static Architecture {
    // Rust calls both byte orders of Power by one name.
    let (name, endianness) = match (std::env::consts::ARCH, cfg!(target_endian = "little")) {
        ("powerpc64", true) => ("powerpc64le", Endianness::Little),
        (name, true) => (name, Endianness::Little),
        (name, false) => (name, Endianness::Big),
    };
    let found = MACHINES.iter().find(|(names, machine)| names.contains(&name) && machine.endianness == endianness);
    found.map_or(&X86_64, |(_, machine)| machine)
}

/// The triple of [`native`].
pub fn native_triple() -> &'static str {
    let native = native();
    triple::of_machine(native.machine, native.endianness == Endianness::Little).unwrap_or("x86_64-unknown-linux-gnu")
}

fn supported() -> String {
    let names: Vec<&str> = MACHINES.iter().map(|(names, _)| names[0]).collect();
    let systems: Vec<String> = SYSTEMS.iter().map(|system| system.join("-")).collect();
    format!("{} with {}", names.join(", "), systems.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_triple_finds_its_machine() {
        for (names, architecture) in MACHINES {
            for name in names {
                for rest in
                    ["linux", "linux-gnu", "linux-musl", "unknown-linux-gnu", "pc-linux", "ibm-linux-musl", "-linux"]
                {
                    let triple = format!("{name}-{rest}");
                    let found = for_triple(&triple).unwrap_or_else(|error| panic!("{error}"));
                    assert_eq!(found.machine, architecture.machine, "{triple}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_supported_is_refused_with_a_list_of_what_is() {
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
            let Err(error) = for_triple(triple) else { panic!("{triple} is taken") };
            let message = error.to_string();
            for (names, _) in MACHINES {
                assert!(message.contains(names[0]), "{message}");
            }
            assert!(message.starts_with(&format!("{triple}: ")) && !message.contains('\n'), "{message}");
        }
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn the_native_machine_is_this_one() {
        assert_eq!(native().machine, object::elf::EM_X86_64);
    }
}
