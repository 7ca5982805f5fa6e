//! The functions that run at start and end, and the sections that make them run.

use crate::embed::llvm::wrapper_abi::Unregister;
use fatbin_core::host::{Data, Definition, Field, ObjectPlan, PlanSection, SectionKind, Step, SymbolId, Value};

/// Adds both functions: `register` runs as a constructor of this priority, `unregister` as the release unregisters.
pub fn functions(
    plan: &mut ObjectPlan,
    names: (&str, &str),
    priority: u16,
    how: Unregister,
    register: Vec<Step>,
    unregister: Vec<Step>,
) {
    // In the order of LLVM's objects.
    let register = plan.function(names.0, register);
    let unregister = plan.function(names.1, unregister);
    if how == Unregister::AtExit {
        let at_exit = plan.reference("atexit", Definition::Undefined);
        plan.append_steps(register, vec![Step::call(at_exit, vec![Value::Address(unregister.start())])]);
    }
    array(plan, ".init_array", SectionKind::Constructors(priority), register);
    if let Unregister::FiniArray(priority) = how {
        array(plan, ".fini_array", SectionKind::Destructors(priority), unregister);
    }
}

/// Adds a section with one function.
fn array(plan: &mut ObjectPlan, name: &str, kind: SectionKind, function: SymbolId) {
    let data = Data::Fields(vec![Field::Pointer(function.start())]);
    plan.section(PlanSection::new(name, kind, 8, data));
}
