//! The C source of `--embedded-fatbin`: the container as data, and the structure that registers it in the CUDA runtime.

use super::{ToolFailure, write_failure};
use fatbin_core::base::error::Result;
use fatbin_core::base::io::Output;

/// Words of the container per line.
const WORDS_PER_LINE: usize = 4;

/// Number of bytes that are written at once.
const PIECE: usize = 1 << 20;

/// Form of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceForm {
    /// Text at the end of the names of the data, the structure and its section.
    pub id_suffix: String,
    /// True for relocatable code: another section, and a structure with an external name.
    pub is_relocatable: bool,
    /// True for linked code, which refers to the containers that it was linked from.
    pub is_linked: bool,
    /// False if the data is an array of C.
    pub uses_asm: bool,
}

/// Writes the source for a container.
pub fn write(form: &SourceForm, container: &[u8], to: &mut Output) -> Result<(), ToolFailure> {
    let written = write_source(form, container, to);
    written.map_err(|error| write_failure(&error))
}

fn write_source(form: &SourceForm, container: &[u8], to: &mut Output) -> Result<()> {
    let suffix = form.id_suffix.as_str();
    let section = if form.is_relocatable { "__nv_relfatbin" } else { ".nv_fatbin" };
    to.write(
        format!(
            "#ifndef __SKIP_INTERNAL_FATBINARY_HEADERS\n\
             #include \"fatbinary_section.h\"\n\
             #endif\n\
             #define __CUDAFATBINSECTION  \".nvFatBinSegment{suffix}\"\n\
             #define __CUDAFATBINDATASECTION  \"{section}\"\n"
        )
        .as_bytes(),
    )?;
    let words: Vec<u64> = container.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
    if form.uses_asm {
        write_assembly(section, suffix, &words, to)?;
    } else {
        write_array(suffix, &words, to)?;
    }
    let (version, prelinked) = if form.is_linked { (2, "(void**)__cudaPrelinkedFatbins") } else { (1, "0") };
    let declaration = if form.is_relocatable {
        "#undef __FATIDNAME_CORE\n\
         #undef __FATIDNAME\n\
         #define __FATIDNAME_CORE(x) __fatbinwrap##x\n\
         #define __FATIDNAME(x) __FATIDNAME_CORE(x)\n\
         extern const __fatBinC_Wrapper_t __FATIDNAME(__NV_MODULE_ID)"
            .to_owned()
    } else {
        format!("static const __fatBinC_Wrapper_t __fatDeviceText{suffix}")
    };
    to.write(
        format!(
            "#ifdef __cplusplus\n\
             extern \"C\" {{\n\
             #endif\n\
             {declaration} __attribute__ ((aligned (8))) __attribute__ ((section (__CUDAFATBINSECTION)))= \n\
             \t{{ 0x466243b1, {version}, fatbinData{suffix}, {prelinked} }};\n\
             #undef __CUDAFATBINDATASECTION\n\
             #undef __CUDAFATBINSECTION\n\
             #ifdef __cplusplus\n\
             }}\n\
             #endif\n"
        )
        .as_bytes(),
    )
}

/// Writes the container as a statement of the assembler.
fn write_assembly(section: &str, suffix: &str, words: &[u64], to: &mut Output) -> Result<()> {
    let start = format!("asm(\n\".section {section}, \\\"a\\\"\\n\"\n\".align 8\\n\"\n\"fatbinData{suffix}:\\n\"\n");
    to.write(start.as_bytes())?;
    write_lines(words, to, |line| {
        // Matches the tool's last line.
        let separator = if line.len() < WORDS_PER_LINE { ", " } else { "," };
        let words: Vec<String> = line.iter().map(|word| format!("{word:#018x}")).collect();
        format!("\".quad {}\\n\"\n", words.join(separator))
    })?;
    to.write(
        format!(
            "\".text\\n\");\n\
             #ifdef __cplusplus\n\
             extern \"C\" {{\n\
             #endif\n\
             extern const unsigned long long fatbinData{suffix}[{}];\n\
             #ifdef __cplusplus\n\
             }}\n\
             #endif\n",
            words.len()
        )
        .as_bytes(),
    )
}

/// Writes the container as an array.
fn write_array(suffix: &str, words: &[u64], to: &mut Output) -> Result<()> {
    to.write(
        format!(
            "#ifdef __cplusplus\n\
             extern \"C\" {{\n\
             #endif\n\n\
             static const unsigned long long fatbinData{suffix}[] __attribute__ ((section (__CUDAFATBINDATASECTION)))= {{"
        )
        .as_bytes(),
    )?;
    write_lines(words, to, |line| {
        let words: Vec<String> = line.iter().map(|word| format!("{word:#018x}ull")).collect();
        // Matches the tool's full lines and last line.
        let end = if line.len() < WORDS_PER_LINE { "" } else { ",\n" };
        words.join(",") + end
    })?;
    to.write(
        b"\n};\n\n\
          #ifdef __cplusplus\n\
          }\n\
          #endif\n\n",
    )
}

fn write_lines(words: &[u64], to: &mut Output, line: impl Fn(&[u64]) -> String) -> Result<()> {
    let mut text = String::new();
    for words in words.chunks(WORDS_PER_LINE) {
        text += &line(words);
        if text.len() > PIECE {
            to.write(text.as_bytes())?;
            text.clear();
        }
    }
    to.write(text.as_bytes())
}
