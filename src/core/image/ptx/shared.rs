//! Shared memory of kernels: the variables of a kernel and of all functions that it calls.

use super::function::PtxFunction;
use super::variable::{Variable, place};
use crate::base::bytes::{NameMap, Resource, View};
use crate::base::error::Malformed;

/// Functions of a module, with the references in their bodies. Names are looked up only once. Kernels that call the
/// same functions visit them again, and a visit costs much less than looking up the names.
pub struct SharedMemory<'module, 'text> {
    functions: Vec<References<'module, 'text>>,
    /// For each function, the last kernel that reached it.
    reached_from: Vec<Option<usize>>,
}

/// Functions and variables that the body of a function refers to.
struct References<'module, 'text> {
    /// Indices of the functions.
    callees: Vec<usize>,
    variables: Vec<&'module Variable<'text>>,
}

impl<'module, 'text> SharedMemory<'module, 'text> {
    /// Finds the references among `functions`, and `variables` in shared memory outside of them.
    pub fn new(
        functions: &'module [PtxFunction<'text>],
        variables: &'module NameMap<&'text str, Variable<'text>>,
    ) -> Self {
        let by_name: NameMap<_, _> =
            functions.iter().enumerate().map(|(index, function)| (function.name, index)).collect();
        let references = functions.iter().map(|function| References {
            callees: function.names.iter().filter_map(|name| by_name.get(name).copied()).collect(),
            variables: function
                .shared
                .iter()
                .chain(function.names.iter().filter_map(|name| variables.get(name)))
                .collect(),
        });
        SharedMemory { functions: references.collect(), reached_from: vec![None; functions.len()] }
    }

    /// Size of the shared memory of a kernel, with each variable counted once. `kernel` is its index among the
    /// functions. ptxas lays the variables out in declaration order, followed by dynamic shared memory. `None` beyond 64
    /// bits.
    pub fn size(&mut self, view: View<'_>, kernel: usize) -> Result<Option<u64>, Malformed> {
        let mut open = vec![kernel];
        let mut used = Vec::<&Variable<'_>>::new();
        while let Some(function) = open.pop() {
            let Some(reached_from) = self.reached_from.get_mut(function) else { continue };
            if reached_from.replace(kernel) == Some(kernel) {
                continue;
            }
            let Some(References { callees, variables }) = self.functions.get(function) else { continue };
            let work: usize = [1, callees.len(), variables.len()].iter().sum();
            view.charge("PTX function", Resource::Work, work as u64)?;
            open.extend(callees);
            used.extend(variables);
        }
        // A name is a slice of the text at the declaration of its variable, so its address gives the order.
        used.sort_by_cached_key(|variable| (variable.size == Some(0), variable.name.as_ptr().addr()));
        used.dedup_by_key(|variable| variable.name.as_ptr());
        Ok(used.iter().try_fold(0, |end, variable| Some(place(end, variable)?.end)))
    }
}
