//! Text about the contents of cubins: resources and symbols.

use super::request::Dump;
use fatbin_core::base::bytes::View;
use fatbin_core::base::error::Malformed;
use fatbin_core::image::ConstantBank;
use fatbin_core::image::cubin_listing::{CubinSymbol, FunctionUsage, resource_usage, symbols};

/// Types of symbols: System V ABI, and NVIDIA's types from 10 on. Others are `?`.
const TYPES: [(u8, &str); 9] = [
    (0, "NOTYPE"),
    (1, OBJECT),
    (2, FUNC),
    (4, "FILE"),
    (5, "COMMON"),
    (10, "CUDA_TEXTURE"),
    (11, "CUDA_SAMPLER"),
    (12, "CUDA_SURFACE"),
    (13, CUDA_OBJECT),
];

const OBJECT: &str = "OBJECT";
const FUNC: &str = "FUNC";
const CUDA_OBJECT: &str = "CUDA_OBJECT";

const BINDINGS: [&str; 3] = ["LOCAL", "GLOBAL", "WEAK"];
const VISIBILITIES: [&str; 4] = ["DEFAULT", "INTERNAL", "HIDDEN", "PROTECTED"];

/// Word for values unknown to the tool.
const UNKNOWN: &str = "?";

/// Memory spaces of variables: the upper three bits of `st_other`.
const MEMORIES: [(u8, &str); 5] =
    [(0x20, "GLOBAL"), (0x40, "SHARED"), (0x60, "LOCAL"), (0x80, "CONSTANT"), (0xa0, "RESERVED_SHARED")];
const MEMORY_MASK: u8 = 0xe0;

/// Other bits of `st_other`. The first one depends on the type.
const ENTRY: u8 = 0x10;
const OBSCURE: u8 = 0x8;
const UNIFIED: u8 = 0x4;
const VISIBILITY: u8 = 0x3;

/// Resource usage of a cubin, and the requested functions that are missing from it.
pub fn usage_text(cubin: View<'_>, dump: &Dump) -> Result<(String, Vec<String>), Malformed> {
    let usage = resource_usage(cubin)?;
    let banks = |banks: &[ConstantBank]| -> String {
        banks.iter().map(|bank| format!(" CONSTANT[{}]:{}", bank.bank, bank.size)).collect()
    };
    let mut text = format!("\nResource usage:\n Common:\n  GLOBAL:{}{}\n", usage.global, banks(&usage.constant_banks));
    let requested = dump.functions.as_deref().unwrap_or_default();
    let is_requested = |function: &&FunctionUsage| match (dump.function_index, &dump.functions) {
        (Some(number), _) => function.number == number,
        (None, Some(names)) => names.iter().any(|name| name == function.name.as_bytes()),
        (None, None) => true,
    };
    for function in usage.functions.iter().filter(is_requested) {
        let FunctionUsage { name, registers, shared, local, .. } = function;
        let stack = function.stack.map_or("UNKNOWN".to_owned(), |stack| stack.to_string());
        text += &format!(
            " Function {name}:\n  REG:{registers} STACK:{stack} SHARED:{shared} LOCAL:{local}{} TEXTURE:0 SURFACE:0 \
             SAMPLER:0\n",
            banks(&function.constant_banks)
        );
    }
    let has = |name: &&Vec<u8>| usage.functions.iter().any(|function| function.name.as_bytes() == name.as_slice());
    let missing = requested.iter().filter(|name| !has(name));
    Ok((text, missing.map(|name| String::from_utf8_lossy(name).into_owned()).collect()))
}

/// Text of a cubin's symbols.
pub fn symbols_text(cubin: View<'_>) -> Result<String, Malformed> {
    let lines = symbols(cubin)?;
    Ok(lines.iter().fold("\nsymbols:\n".to_owned(), |text, symbol| text + &symbol_line(symbol)))
}

fn symbol_line(symbol: &CubinSymbol<'_>) -> String {
    let symbol_type = TYPES.iter().find(|(number, _)| *number == symbol.symbol_type).map_or(UNKNOWN, |(_, name)| name);
    let binding = BINDINGS.get(usize::from(symbol.binding)).unwrap_or(&UNKNOWN);
    let visibility = VISIBILITIES.get(usize::from(symbol.other & VISIBILITY)).unwrap_or(&UNKNOWN);
    let other = other_text(symbol.other, symbol_type);
    let defined = if symbol.is_defined { ' ' } else { 'U' };
    format!("{symbol_type:<14}{binding:<8}{visibility:<11}{other:<34}{defined}  {}\n", symbol.name)
}

/// Names of the bits of `st_other`.
fn other_text(other: u8, symbol_type: &str) -> String {
    let mut unknown = 0;
    let mut names = Vec::new();
    let memory = other & MEMORY_MASK;
    match MEMORIES.iter().find(|(bits, _)| *bits == memory) {
        Some((_, name)) => names.push(*name),
        None => unknown |= memory,
    }
    match symbol_type {
        _ if other & ENTRY == 0 => {}
        FUNC => names.push("ENTRY"),
        OBJECT | CUDA_OBJECT => names.push("UNIFIED_OBJECT"),
        _ => unknown |= ENTRY,
    }
    for (bit, name) in [(UNIFIED, "UNIFIED_FUNC"), (OBSCURE, "OBSCURE")] {
        if other & bit != 0 {
            names.push(name);
        }
    }
    let unknown_text = format!("UNKNOWN({unknown:#x})");
    if unknown != 0 {
        names.push(&unknown_text);
    }
    if names.is_empty() { "-".to_owned() } else { names.join("|") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that cuobjdump 13.5 prints for a cubin with each value.
    #[test]
    fn prints_symbols_as_cuobjdump_does() {
        let line = |symbol_type, binding, other, is_defined| {
            symbol_line(&CubinSymbol { name: "k", symbol_type, binding, other, is_defined })
        };
        let cases = [
            ((2, 1, 0x10, true), "FUNC          GLOBAL  DEFAULT    ENTRY                                k\n"),
            ((1, 2, 0, false), "OBJECT        WEAK    DEFAULT    -                                 U  k\n"),
            ((0, 2, 0xa0, true), "NOTYPE        WEAK    DEFAULT    RESERVED_SHARED                      k\n"),
            ((13, 0, 0x81, true), "CUDA_OBJECT   LOCAL   INTERNAL   CONSTANT                             k\n"),
            ((10, 3, 0, false), "CUDA_TEXTURE  ?       DEFAULT    -                                 U  k\n"),
        ];
        for ((symbol_type, binding, other, is_defined), expected) in cases {
            assert_eq!(line(symbol_type, binding, other, is_defined), expected);
        }
        let others = [
            (0xff, "FUNC", "ENTRY|UNIFIED_FUNC|OBSCURE|UNKNOWN(0xe0)"),
            (0xbc, "FUNC", "RESERVED_SHARED|ENTRY|UNIFIED_FUNC|OBSCURE"),
            (0xc0, "FUNC", "UNKNOWN(0xc0)"),
            (0x10, "OBJECT", "UNIFIED_OBJECT"),
            (0x10, "NOTYPE", "UNKNOWN(0x10)"),
            (0x2b, "FUNC", "GLOBAL|OBSCURE"),
        ];
        for (other, symbol_type, expected) in others {
            assert_eq!(other_text(other, symbol_type), expected, "{other:#x}");
        }
    }

    #[test]
    fn prints_the_resources_of_requested_functions() {
        let cubin = View::new(include_bytes!("../../../fixtures/answer-sm_90.cubin"));
        let all = "\nResource usage:\n Common:\n  GLOBAL:0\n Function answer_kernel:\n  REG:8 STACK:0 SHARED:0 LOCAL:0 \
                   CONSTANT[0]:536 TEXTURE:0 SURFACE:0 SAMPLER:0\n";
        assert_eq!(usage_text(cubin, &Dump::default()).unwrap(), (all.to_owned(), vec![]));
        let names = |names: &[&str]| Dump {
            functions: Some(names.iter().map(|name| name.as_bytes().to_vec()).collect()),
            ..Dump::default()
        };
        let (text, missing) = usage_text(cubin, &names(&["a", "answer_kernel"])).unwrap();
        assert_eq!((text.as_str(), missing), (all, vec!["a".to_owned()]));
        let (text, _) = usage_text(cubin, &names(&["a"])).unwrap();
        assert_eq!(text, "\nResource usage:\n Common:\n  GLOBAL:0\n");
    }
}
