//! CUDA's tile kernels that are registered with a fat binary without images.
//!
//! With `--enable-tile`, nvcc writes a second fat binary for tile kernels, its wrapper and a function that registers
//! them. For sm_75, which cannot run them, that fat binary is empty, and nvcc succeeds without a warning. Source: output
//! of nvcc 13.5.37 for sm_75 to sm_100.

use object::read::{File, Object, ObjectSection, ObjectSymbol};
use object::{RelocationTarget, SymbolKind};

use fatbin_core::base::bytes::{ObjectBytes, Resource, View};
use fatbin_core::base::error::Malformed;

/// Name of nvcc's function that registers tile kernels, without the mangling around it.
const REGISTER_ALL: &str = "__nv_cudaEntityRegisterCallback_tile";

/// Function that it calls for each kernel.
const REGISTER_ONE: &str = "__cudaRegisterFunction";

/// Section with the wrapper of the fat binary for tile kernels.
pub const WRAPPER_SECTION: &str = ".nvFatBinSegmentAlt";

/// The tile kernels that an object registers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TileKernels {
    /// Number of kernels.
    pub count: usize,
    /// Symbol of the host function of the first that other objects see.
    pub first: Option<String>,
}

/// Reads the relocations of the function that registers tile kernels.
pub fn read<'a>(file: &File<'a, ObjectBytes<'a>>, view: View<'_>) -> Result<TileKernels, Malformed> {
    let mut found = TileKernels::default();
    // Variables of the function have its name, too.
    let mut functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let Some(function) = functions.find(|symbol| symbol.name().is_ok_and(|name| name.contains(REGISTER_ALL))) else {
        return Ok(found);
    };
    let Some(section) = function.section_index().and_then(|index| file.section_by_index(index).ok()) else {
        return Ok(found);
    };
    let Some(end) = function.address().checked_add(function.size()) else { return Ok(found) };
    for (offset, relocation) in section.relocations() {
        view.charge("relocation", Resource::Work, 1)?;
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        if !(function.address()..end).contains(&offset) {
            continue;
        }
        let Ok(symbol) = file.symbol_by_index(index) else { continue };
        match symbol.name() {
            Ok(REGISTER_ONE) => found.count = found.count.saturating_add(1),
            Ok(name) if found.first.is_none() && symbol.is_global() => found.first = Some(name.to_owned()),
            _ => {}
        }
    }
    Ok(found)
}
