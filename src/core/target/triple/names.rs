//! The words in triples that LLVM knows; any word that is not in these tables is unknown.
//!
//! Each table was derived from the behavior of clang-offload-bundler 22.1.8, which sorts the parts of a triple by kind:
//! it moves a known word to its place and leaves an unknown word where it is.

use crate::base::short_text::{ShortText, words};
use crate::target::subarch::{self, AMDGCN};

/// Architectures with several names; the first is the canonical one. Triples match only if their architectures are the
/// same under any of these names.
const SYNONYMS: [&[&str]; 18] = [
    &["i386", "i486", "i586", "i686", "i786", "i886", "i986"],
    &["x86_64", "amd64", "x86_64h"],
    &["powerpc", "ppc", "ppc32"],
    &["powerpcle", "ppcle", "ppc32le"],
    &["powerpc64", "ppu", "ppc64"],
    &["powerpc64le", "ppc64le"],
    &["aarch64", "arm64", "aarch64v8"],
    &["aarch64_32", "arm64_32"],
    &["mips", "mipseb", "mipsallegrex"],
    &["mipsisa32r6", "mipsr6"],
    &["mipsel", "mipsallegrexel"],
    &["mipsisa32r6el", "mipsr6el"],
    &["mips64", "mips64eb", "mipsn32"],
    &["mipsisa64r6", "mips64r6", "mipsn32r6"],
    &["mips64el", "mipsn32el"],
    &["s390x", "systemz"],
    &["sparcv9", "sparc64"],
    &["bpfel", "bpf", "bpf_le"],
];

/// Architectures with one name.
static ARCHITECTURES: [ShortText<14>; 53] = words(
    "powerpcspe aarch64_be aarch64_lfi arm64e arm64ec arm armeb thumb thumbeb xscale xscaleeb arc avr m68k msp430 \
     mipsisa64r6el mips64r6el mipsn32r6el r600 riscv32 riscv64 riscv32be riscv64be hexagon sparc sparcel tce tcele xcore \
     nvptx nvptx64 amdil amdil64 hsail hsail64 spir spir64 spirv spirv32 spirv64 lanai renderscript32 renderscript64 \
     shave ve wasm32 wasm64 csky loongarch32 loongarch64 dxil xtensa bpfeb",
);

/// Architectures followed by a version or a profile.
static FAMILIES: [ShortText<10>; 9] =
    words("armv armebv thumbv thumbebv kalimba spirv1. spirv32v1. spirv64v1. dxilv1.");

/// Returns the canonical name of an architecture; `None` for any other word.
pub fn architecture(word: &str) -> Option<&str> {
    if subarch::is_amdgpu(word) {
        return Some(AMDGCN);
    }
    if let Some(names) = SYNONYMS.iter().find(|names| names.contains(&word)) {
        return Some(names[0]);
    }
    let known = ARCHITECTURES.iter().any(|name| *name == *word) || FAMILIES.iter().any(|family| family.begins(word));
    known.then_some(word)
}

/// Vendors; only whole words match.
static VENDORS: [ShortText<6>; 16] = words("apple pc scei sie fsl ibm img mti nvidia csr amd mesa suse oe intel meta");

/// Operating systems; a version may follow, so a name precedes its own prefixes.
static SYSTEMS: [ShortText<11>; 47] = words(
    "darwin dragonfly freebsd fuchsia ios kfreebsd linux lv2 macosx macos managarm netbsd openbsd solaris uefi windows \
     win32 zos haiku rtems aix cuda nvcl amdhsa ps4 ps5 elfiamcu tvos watchos bridgeos driverkit xros visionos mesa3d \
     amdpal hermit hurd wasip1 wasip2 wasip3 wasi emscripten shadermodel liteos serenity vulkan cheriotrtos",
);

/// Environments; a version may follow, so a name precedes its own prefixes.
static ENVIRONMENTS: [ShortText<13>; 54] = words(
    "eabihf eabi gnuabin32 gnuabi64 gnueabihft64 gnueabihf gnueabit64 gnueabi gnuf32 gnuf64 gnusf gnux32 gnu_ilp32 gnut64 \
     gnu code16 android muslabin32 muslabi64 musleabihf musleabi muslf32 muslsf muslx32 muslwali musl msvc itanium cygnus \
     coreclr simulator macabi pixel vertex geometry hull domain compute library raygeneration intersection anyhit \
     closesthit miss callable mesh amplification rootsignature opencl ohos pauthtest llvm mlibc mtia",
);

/// Object file formats, which follow the environment or replace it.
static FORMATS: [ShortText<5>; 7] = words("elf coff macho wasm goff spirv xcoff");

/// Returns the vendor that a word names.
pub fn vendor(word: &str) -> Option<&'static str> {
    VENDORS.iter().find(|name| **name == *word).map(|name| &**name)
}

/// Returns the operating system that a word begins with.
pub fn system(word: &str) -> Option<&'static str> {
    let name = SYSTEMS.iter().find(|name| name.begins(word))?;
    Some(if *name == *"win32" { "windows" } else { name })
}

/// Returns the environment that a word begins with.
pub fn environment(word: &str) -> Option<&'static str> {
    ENVIRONMENTS.iter().find(|name| name.begins(word)).map(|name| &**name)
}

/// Returns the object file format that a word ends with.
pub fn format(word: &str) -> Option<&'static str> {
    FORMATS.iter().find(|name| word.ends_with(&***name)).map(|name| &**name)
}
