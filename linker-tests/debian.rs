//! Debian's names and parts for each host, one table for `tests/hosts` and `linker-tests/matrix`.
//!
//! The `match` over [`Host`] does not compile until it has an arm for every host.

use fatbin::Host;

/// Tools and libraries that Debian 12 has for a host.
pub struct DebianHost {
    /// Debian's triple, which also begins the names of its tools and directories.
    pub triple: &'static str,
    /// Debian's name of the architecture, if it has a C library for it.
    pub architecture: Option<&'static str>,
    /// Emulator of the package `qemu-user`.
    pub emulator: &'static str,
    /// Path of the dynamic linker; empty without a C library.
    #[allow(dead_code, reason = "tests/hosts links with a compiler, which has the path")]
    pub dynamic_linker: &'static str,
    /// Names of the linkers that support the host. GNU's linkers come in one package per machine. gold was never ported to
    /// RISC-V and LoongArch; Debian 12 has no bfd for LoongArch, and its mold (1.10) does not support it.
    pub linkers: &'static [&'static str],
}

const ALL_LINKERS: &[&str] = &["lld", "bfd", "mold", "gold"];

/// Returns the row of a host; `None` for one without Linux.
pub const fn debian(host: Host) -> Option<DebianHost> {
    Some(match host {
        Host::X86_64 => DebianHost {
            triple: "x86_64-linux-gnu",
            architecture: Some("amd64"),
            emulator: "qemu-x86_64",
            dynamic_linker: "/lib64/ld-linux-x86-64.so.2",
            linkers: ALL_LINKERS,
        },
        Host::Aarch64 => DebianHost {
            triple: "aarch64-linux-gnu",
            architecture: Some("arm64"),
            emulator: "qemu-aarch64",
            dynamic_linker: "/lib/ld-linux-aarch64.so.1",
            linkers: ALL_LINKERS,
        },
        Host::Riscv64 => DebianHost {
            triple: "riscv64-linux-gnu",
            architecture: Some("riscv64"),
            emulator: "qemu-riscv64",
            dynamic_linker: "/lib/ld-linux-riscv64-lp64d.so.1",
            linkers: &["lld", "bfd", "mold"],
        },
        Host::Powerpc64le => DebianHost {
            triple: "powerpc64le-linux-gnu",
            architecture: Some("ppc64el"),
            emulator: "qemu-ppc64le",
            dynamic_linker: "/lib64/ld64.so.2",
            linkers: ALL_LINKERS,
        },
        Host::S390x => DebianHost {
            triple: "s390x-linux-gnu",
            architecture: Some("s390x"),
            emulator: "qemu-s390x",
            dynamic_linker: "/lib/ld64.so.1",
            linkers: ALL_LINKERS,
        },
        Host::Loongarch64 => DebianHost {
            triple: "loongarch64-linux-gnu",
            architecture: None,
            emulator: "qemu-loongarch64",
            dynamic_linker: "",
            linkers: &["lld"],
        },
        Host::X86_64WindowsMsvc
        | Host::Aarch64WindowsMsvc
        | Host::X86_64WindowsGnu
        | Host::X86_64Macos
        | Host::Aarch64Macos => return None,
        _ => panic!("a host without a row"),
    })
}
