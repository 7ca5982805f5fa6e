//! Metal libraries: the functions that programs look up by name, and the sizes of their modules.
//!
//! AIR does not state resource usage, which is known only after compilation for a GPU. Sources: see
//! [`crate::format::metal_library`].

use super::debug::DebugInfo;
use super::kernel::{Kernel, LocatedKernel};
use super::{Inspection, charge_kernel};
use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::format::metal_library::{FunctionType, MetalLibrary};

/// Inspects a library.
pub fn inspect(view: View<'_>) -> Inspection {
    let mut found = Vec::new();
    let problems = functions(view, &mut found).err().into_iter().collect();
    Inspection::from_kernels(view, found, DebugInfo::default(), problems)
}

/// Appends the functions to `found`.
fn functions(view: View<'_>, found: &mut Vec<LocatedKernel>) -> Result<(), Malformed> {
    for function in MetalLibrary::read(view)?.functions() {
        let function = function?;
        // Functions that other functions call.
        if matches!(function.function_type, FunctionType::Unqualified | FunctionType::External) {
            continue;
        }
        charge_kernel(view, [function.name.len()], 0)?;
        let code_size = Some(function.module.size());
        let language = function.language;
        let kernel = Kernel { name: function.name.to_owned(), code_size, language, ..Default::default() };
        found.push(LocatedKernel { kernel, entry: None });
    }
    Ok(())
}
