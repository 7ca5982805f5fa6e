//! The functions that run at start and end, and the sections that make them run.

use crate::host::{Data, Definition, Field, ObjectPlan, PlanSection, SectionKind, Step, SymbolId, Value};
use crate::llvm::wrapper_abi::Unregister;

/// Adds both functions: `register` runs as a constructor of this priority, `unregister` as the release unregisters.
pub fn functions(
    plan: &mut ObjectPlan,
    names: (&str, &str),
    priority: u16,
    how: Unregister,
    mut register: Vec<Step>,
    unregister: Vec<Step>,
) {
    let unregister = plan.function(names.1, unregister);
    if how == Unregister::AtExit {
        let at_exit = plan.symbol("atexit", Definition::Undefined);
        register.push(Step::call(at_exit, vec![Value::Address(unregister.start())]));
    }
    let register = plan.function(names.0, register);
    array(plan, ".init_array", SectionKind::Constructors, priority, register);
    if let Unregister::FiniArray(priority) = how {
        array(plan, ".fini_array", SectionKind::Destructors, priority, unregister);
    }
}

/// Adds a section with one function; the linker sorts these sections by the number in their names.
fn array(plan: &mut ObjectPlan, name: &str, kind: SectionKind, priority: u16, function: SymbolId) {
    let data = Data::Fields(vec![Field::Pointer(function.start())]);
    plan.section(PlanSection::new(format!("{name}.{priority}"), kind, 8, data));
}
