//! Architectures and forms of the images that have a kernel.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Architectures and forms.
pub type Archs = Arc<BTreeSet<String>>;

/// Sets of archs, each stored once: thousands of kernels share a set.
#[derive(Default)]
pub struct KnownArchs {
    all: HashSet<Archs>,
    /// Unions, by the addresses of the parts.
    unions: HashMap<[*const BTreeSet<String>; 2], Archs>,
}

impl KnownArchs {
    /// Returns the stored set that is equal.
    pub fn stored(&mut self, archs: BTreeSet<String>) -> Archs {
        let archs = Arc::new(archs);
        match self.all.get(&archs) {
            Some(known) => Arc::clone(known),
            None => {
                self.all.insert(Arc::clone(&archs));
                archs
            }
        }
    }

    /// Returns the union of two stored sets.
    pub fn union(&mut self, one: &Archs, other: &Archs) -> Archs {
        let parts = [Arc::as_ptr(one), Arc::as_ptr(other)];
        if let Some(known) = self.unions.get(&parts) {
            return Arc::clone(known);
        }
        let union = self.stored(&**one | &**other);
        self.unions.insert(parts, Arc::clone(&union));
        union
    }
}
