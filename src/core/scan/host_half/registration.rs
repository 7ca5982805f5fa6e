//! Calls that register images, next to what they register.

use super::imports::{HostRuntime, Imports};
use crate::base::error::{Cause, Malformed};
use crate::scan::inventory::{Wrapper, WrapperKind};

/// Returns the defects of the calls in a host file that register images: none for a file that defines the runtime.
pub fn defects(wrappers: &[Wrapper], imports: &Imports<'_>, is_object: bool) -> Vec<Malformed> {
    let mut defects = Vec::new();
    for runtime in HostRuntime::ALL {
        let renamed = imports.renamed_registration(runtime).filter(|_| !imports.registers(runtime));
        let Some(name) = renamed else { continue };
        let wrapper = wrappers.iter().find(|wrapper| runtime_of(wrapper.kind) == runtime);
        let offset = wrapper.map_or(0, |wrapper| wrapper.offset);
        let cause = format!("calls {name}, which is not the runtime's function {}", runtime.registration());
        defects.push(Malformed::new("registration", offset, Cause::Described(cause)));
    }
    if is_object {
        return defects;
    }
    // The constructor of the other file tells its own device link that the module is complete, so this one waits for it.
    if let Some(name) = imports.module_wrapper() {
        let cause =
            format!("{name} of its device link is in another library: the kernels of the link are not registered");
        defects.push(Malformed::new("registration", 0, Cause::Described(cause)));
    }
    // nvcc's device link adds the function.
    if let Some(name) = imports.linked_binary() {
        let cause = format!("calls {name}, which the object of nvcc -dlink defines: the device code is not linked");
        defects.push(Malformed::new("registration", 0, Cause::Described(cause)));
    }
    defects
}

fn runtime_of(kind: WrapperKind) -> HostRuntime {
    match kind {
        WrapperKind::Cuda => HostRuntime::Cuda,
        WrapperKind::Hip | WrapperKind::HipSplitByKpack => HostRuntime::Hip,
    }
}
