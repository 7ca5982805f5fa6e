//! Budget: the resources that reading one input file may take.
//!
//! A file of a few bytes can state gigabytes, contain itself, or refer to one table a million times. Every view of an
//! input therefore has a budget, in proportion to the size of the input, and readers, decompressors and archives charge
//! it. Readers have no separate limits. SECURITY.md lists the limits; a test compares the list with [`Resource::ALL`].

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use crate::base::error::{Cause, Resource};

/// Limits that the user sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Limits {
    /// Limit on the decompressed bytes of one input file in total; `None` for the default.
    pub decompressed: Option<u64>,
    /// Factor that raises the limits on all resources.
    pub factor: u32,
}

impl Limits {
    /// Creates limits.
    #[doc(hidden)]
    pub fn new(decompressed: Option<u64>, factor: u32) -> Self {
        Limits { decompressed, factor }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { decompressed: None, factor: 1 }
    }
}

/// Limit on a resource, as a function of the size of the input.
struct Rate {
    /// Amount for a file of any size.
    minimum: u64,
    /// Amount for the bytes of the input.
    input: Ratio,
    /// Amount for the bytes that have been decompressed.
    decompressed: Ratio,
}

/// An amount for every `bytes` bytes.
#[derive(Clone, Copy)]
struct Ratio {
    amount: u64,
    bytes: NonZero<u64>,
}

impl Ratio {
    fn of(self, bytes: u64) -> u64 {
        (bytes / self.bytes).saturating_mul(self.amount)
    }
}

/// Creates the ratio of an amount to a number of bytes.
const fn per(amount: u64, bytes: u64) -> Ratio {
    Ratio { amount, bytes: NonZero::new(bytes).expect("a number of bytes") }
}

/// Maximum depth of archives in archives, and of containers in containers. Real files have three levels of each.
pub const MAX_NESTING: usize = 8;

impl Resource {
    /// Every resource.
    pub const ALL: [Resource; 4] = [Resource::Work, Resource::Memory, Resource::Decompressed, Resource::Members];

    const fn rate(self) -> Rate {
        match self {
            Resource::Work => Rate { minimum: 8 << 20, input: per(4, 1), decompressed: per(2, 1) },
            Resource::Memory => Rate { minimum: 32 << 20, input: per(16, 1), decompressed: per(1, 1) },
            Resource::Decompressed => Rate { minimum: 64 << 20, input: per(256, 1), decompressed: per(0, 1) },
            Resource::Members => Rate { minimum: 1 << 10, input: per(1, 60), decompressed: per(1, 512) },
        }
    }

    fn limit(self, size: u64, limits: Limits) -> u64 {
        let rate = self.rate();
        let limit = rate.input.of(size).saturating_add(rate.minimum).saturating_mul(limits.factor.into());
        match limits.decompressed {
            Some(stated) if self == Resource::Decompressed => stated,
            _ => limit,
        }
    }
}

/// Resources left for reading one input file and everything in it. Clones share them.
#[derive(Debug, Clone)]
pub struct Budget(Arc<State>);

#[derive(Debug)]
struct State {
    limits: Limits,
    /// Size of the input in bytes.
    size: u64,
    /// Limits without the amounts for decompressed bytes.
    base: PerResource<u64>,
    /// Amounts that are left.
    left: PerResource<AtomicI64>,
    /// Set of the exhausted resources: a bit for each.
    exhausted: AtomicU8,
    /// The budget that this part was charged to.
    charged_to: OnceLock<Budget>,
    /// Amounts are granted and released later.
    is_unordered: AtomicBool,
    /// Amounts to grant and to release.
    withheld: PerResource<AtomicI64>,
}

/// A value for each resource.
#[derive(Debug)]
struct PerResource<T> {
    work: T,
    memory: T,
    decompressed: T,
    members: T,
}

impl<T> PerResource<T> {
    fn new(value: impl Fn(Resource) -> T) -> Self {
        PerResource {
            work: value(Resource::Work),
            memory: value(Resource::Memory),
            decompressed: value(Resource::Decompressed),
            members: value(Resource::Members),
        }
    }

    fn of(&self, resource: Resource) -> &T {
        match resource {
            Resource::Work => &self.work,
            Resource::Memory => &self.memory,
            Resource::Decompressed => &self.decompressed,
            Resource::Members => &self.members,
        }
    }
}

/// Largest limit: no number of charges below it makes an amount wrap around. Amounts that exceed it saturate.
const MAX_LIMIT: u64 = 1 << 60;

impl Budget {
    /// Creates the budget for an input of `size` bytes.
    pub fn new(limits: Limits, size: u64) -> Self {
        let base = PerResource::new(|resource| resource.limit(size, limits).min(MAX_LIMIT));
        let left = PerResource::new(|resource| AtomicI64::new(*base.of(resource) as i64));
        let withheld = PerResource::new(|_| AtomicI64::new(0));
        let is_unordered = AtomicBool::new(false);
        let exhausted = AtomicU8::new(0);
        Budget(Arc::new(State {
            limits,
            size,
            base,
            left,
            exhausted,
            charged_to: OnceLock::new(),
            is_unordered,
            withheld,
        }))
    }

    /// The budget that new reads charge: of a part that was charged, the budget that paid for it.
    pub(crate) fn current(&self) -> &Budget {
        self.0.charged_to.get().map_or(self, Budget::current)
    }

    /// The limits that the user has set.
    pub(crate) fn limits(&self) -> Limits {
        self.0.limits
    }

    /// Creates a budget with the same limits for a thread. The caller charges its usage with `charge_part`, in an order
    /// that does not depend on the threads: if several threads charged one budget, the result would depend on their
    /// timing.
    pub(crate) fn part(&self) -> Self {
        Budget::new(self.0.limits, self.0.size)
    }

    /// Charges the usage of a budget that [`Self::part`] has created. What is exhausted in the part is exhausted here,
    /// too.
    pub(crate) fn charge_part(&self, part: &Budget) -> Result<(), Cause> {
        self.0.exhausted.fetch_or(part.0.exhausted.load(Ordering::Relaxed), Ordering::Relaxed);
        for resource in Resource::ALL {
            self.charge(resource, part.used(resource))?;
        }
        Ok(())
    }

    /// Charges the usage of a budget that [`Self::part`] has created, if this budget has that much left and neither is
    /// exhausted. What was read with the part then charges this budget. Otherwise nothing is charged, and the caller
    /// reads with this budget directly.
    pub(crate) fn charge_fitting_part(&self, part: &Budget) -> bool {
        let used = |resource| part.used(resource);
        let decompressed = used(Resource::Decompressed);
        let available = |resource| self.left(resource).saturating_add(self.for_decompressed(resource, decompressed));
        let is_exhausted = self.exhaustion().is_some() || part.exhaustion().is_some();
        let fits = !is_exhausted && Resource::ALL.into_iter().all(|it| used(it) <= available(it));
        // Decompressed bytes first: they allow more of the others.
        let order = [Resource::Decompressed, Resource::Work, Resource::Memory, Resource::Members];
        let is_charged = fits && order.into_iter().all(|resource| self.charge(resource, used(resource)).is_ok());
        if is_charged {
            part.0.charged_to.get_or_init(|| self.clone());
        }
        is_charged
    }

    /// Calls `work`, which several threads may charge. `None` if all its charges together exceed what is left: which of
    /// them fail then depends on timing. Nothing is charged in this case, and the caller works in a fixed order.
    pub(crate) fn charge_in_any_order<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        if self.exhaustion().is_some() {
            return None;
        }
        let state = &*self.0;
        let left = PerResource::new(|resource| state.left.of(resource).load(Ordering::Relaxed));
        // What one charge grants or releases must not pay for another.
        state.is_unordered.store(true, Ordering::Relaxed);
        let result = work();
        state.is_unordered.store(false, Ordering::Relaxed);
        let has_failed = state.exhausted.swap(0, Ordering::Relaxed) != 0;
        for resource in Resource::ALL {
            let withheld = state.withheld.of(resource).swap(0, Ordering::Relaxed);
            if has_failed {
                state.left.of(resource).store(*left.of(resource), Ordering::Relaxed);
            } else {
                state.left.of(resource).fetch_add(withheld, Ordering::Relaxed);
            }
        }
        if has_failed { None } else { Some(result) }
    }

    /// Adds an amount to what is left.
    fn add(&self, resource: Resource, amount: u64) {
        let is_unordered = self.0.is_unordered.load(Ordering::Relaxed);
        let amounts = if is_unordered { &self.0.withheld } else { &self.0.left };
        amounts.of(resource).fetch_add(amount.min(MAX_LIMIT) as i64, Ordering::Relaxed);
    }

    /// Charges an amount of a resource. An amount that exceeds the rest is an error, and so is every later charge of
    /// the resource. Decompressed bytes are the exception: their rest is left for smaller streams.
    #[inline]
    #[doc(hidden)]
    pub fn charge(&self, resource: Resource, amount: u64) -> Result<(), Cause> {
        let left = self.0.left.of(resource);
        let amount = amount.min(MAX_LIMIT) as i64;
        let before = left.fetch_sub(amount, Ordering::Relaxed);
        if before < amount {
            left.fetch_add(amount, Ordering::Relaxed);
            return Err(self.exhaust(resource, amount as u64, before.max(0) as u64));
        }
        if resource == Resource::Decompressed {
            self.grant(amount as u64);
        }
        Ok(())
    }

    /// Gives back an amount that was charged for memory that has been freed.
    pub(crate) fn release(&self, resource: Resource, amount: u64) {
        if !self.is_exhausted(resource) {
            self.add(resource, amount);
        }
    }

    /// Returns whether a charge of this resource has failed.
    pub(crate) fn is_exhausted(&self, resource: Resource) -> bool {
        self.0.exhausted.load(Ordering::Relaxed) & 1 << resource as u8 != 0
    }

    /// Error of the first resource with a failed charge.
    #[doc(hidden)]
    pub fn exhaustion(&self) -> Option<Cause> {
        let exhausted = Resource::ALL.into_iter().find(|&resource| self.is_exhausted(resource))?;
        Some(self.over_limit(exhausted))
    }

    /// Returns the error of a charge beyond the limit, without its amount.
    #[doc(hidden)]
    pub fn over_limit(&self, resource: Resource) -> Cause {
        Cause::OverBudget { limit: self.limit(resource), resource }
    }

    /// Raises the limits by the amounts for these decompressed bytes.
    fn grant(&self, decompressed: u64) {
        for resource in Resource::ALL {
            self.add(resource, self.for_decompressed(resource, decompressed));
        }
    }

    fn for_decompressed(&self, resource: Resource, decompressed: u64) -> u64 {
        resource.rate().decompressed.of(decompressed).saturating_mul(self.0.limits.factor.into())
    }

    /// Returns the limit on a resource, with the amount for the bytes that have been decompressed so far.
    #[doc(hidden)]
    pub fn limit(&self, resource: Resource) -> u64 {
        let of_size = |resource: Resource| *self.0.base.of(resource);
        let decompressed = of_size(Resource::Decompressed).saturating_sub(self.left(Resource::Decompressed));
        of_size(resource).saturating_add(self.for_decompressed(resource, decompressed))
    }

    fn used(&self, resource: Resource) -> u64 {
        self.limit(resource).saturating_sub(self.left(resource))
    }

    fn left(&self, resource: Resource) -> u64 {
        self.0.left.of(resource).load(Ordering::Relaxed).max(0) as u64
    }

    #[cold]
    fn exhaust(&self, resource: Resource, amount: u64, left: u64) -> Cause {
        self.0.exhausted.fetch_or(1 << resource as u8, Ordering::Relaxed);
        // Readers go on for as long as charges succeed. A container that is too large leaves decompression to smaller
        // ones.
        if resource != Resource::Decompressed {
            self.0.left.of(resource).store(0, Ordering::Relaxed);
        }
        match resource {
            Resource::Decompressed => Cause::OverLimit { size: amount, left, limit: self.limit(resource) },
            _ => self.over_limit(resource),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bytes::View;

    #[test]
    fn limits_grow_with_the_input_with_decompressed_bytes_and_by_the_factor() {
        let limit = |limits, size| Resource::ALL.map(|resource| Budget::new(limits, size).limit(resource));
        assert_eq!(limit(Limits::default(), 0), [8 << 20, 32 << 20, 64 << 20, 1 << 10]);
        assert_eq!(limit(Limits::default(), 600), [(8 << 20) + 2400, (32 << 20) + 9600, (64 << 20) + 153_600, 1034]);
        let tripled = Limits { factor: 3, decompressed: Some(5) };
        assert_eq!(limit(tripled, 600), [(24 << 20) + 7200, (96 << 20) + 28_800, 5, 3102]);
        let budget = Budget::new(Limits::default(), 0);
        budget.charge(Resource::Decompressed, 5120).unwrap();
        assert_eq!(Resource::ALL.map(|it| budget.limit(it)), [(8 << 20) + 10_240, (32 << 20) + 5120, 64 << 20, 1034]);
        assert_eq!(budget.limit(Resource::Members), budget.left(Resource::Members));
    }

    #[test]
    fn the_security_policy_lists_every_limit() {
        let policy = include_str!("../../../../SECURITY.md");
        let per = |Ratio { amount, bytes }| match bytes.get() {
            1 => amount.to_string(),
            bytes => format!("{amount}/{bytes}"),
        };
        for resource in Resource::ALL {
            let rate = resource.rate();
            let of_size = per(rate.input);
            let of_decompressed = per(rate.decompressed);
            let row = format!("| {} | {} | {of_size} | {of_decompressed} | ", resource.unit(), rate.minimum);
            assert!(policy.contains(&row), "SECURITY.md lacks this row:\n{row}");
        }
        assert!(policy.contains(&format!("to a depth of {MAX_NESTING}.")));
    }

    #[test]
    fn a_charge_beyond_the_limit_fails_and_leaves_the_rest() {
        let budget = Budget::new(Limits { decompressed: Some(100), factor: 1 }, 0);
        budget.charge(Resource::Decompressed, 60).unwrap();
        assert_eq!(budget.exhaustion(), None);
        let expected = Cause::OverLimit { size: 41, left: 40, limit: 100 };
        assert_eq!(budget.charge(Resource::Decompressed, 41), Err(expected));
        assert_eq!(budget.clone().charge(Resource::Decompressed, 40), Ok(()));
        let message = budget.exhaustion().unwrap().to_string();
        assert_eq!(message, "exceeds the limit of 100 decompressed bytes for this file");
        assert!(!budget.is_exhausted(Resource::Work));
        assert!(budget.charge(Resource::Work, u64::MAX).is_err() && budget.charge(Resource::Work, 1).is_err());
    }

    #[test]
    fn parts_are_charged_by_their_use() {
        let budget = Budget::new(Limits::default(), 1000);
        let part = budget.part();
        part.charge(Resource::Work, 70).unwrap();
        part.charge(Resource::Decompressed, 1000).unwrap();
        budget.charge_part(&part).unwrap();
        let used = |resource| budget.limit(resource) - budget.left(resource);
        assert_eq!(Resource::ALL.map(used), [70, 0, 1000, 0]);
    }

    #[test]
    fn a_part_that_was_charged_is_the_budget_that_paid_for_it() {
        let budget = Budget::new(Limits::default(), 0);
        let outer = budget.part();
        let inner = outer.part();
        assert!(outer.charge_fitting_part(&inner) && budget.charge_fitting_part(&outer));
        let view = View::with_budget(&[], &inner);
        view.charge("field", Resource::Work, budget.left(Resource::Work)).unwrap();
        assert_eq!(budget.left(Resource::Work), 0);
        view.charge("field", Resource::Work, 1).unwrap_err();
        assert!(budget.exhaustion().is_some() && !budget.charge_fitting_part(&budget.part()));
    }

    #[test]
    fn charges_in_any_order_succeed_together_or_charge_nothing() {
        let budget = Budget::new(Limits { decompressed: Some(100), factor: 1 }, 0);
        let left = || Resource::ALL.map(|resource| budget.left(resource));
        let [work, memory, ..] = left();
        let all = || (budget.charge(Resource::Work, work), budget.charge(Resource::Decompressed, 60));
        assert_eq!(budget.charge_in_any_order(all), Some((Ok(()), Ok(()))));
        assert_eq!(left(), [120, memory + 60, 40, 1024]);
        // In another order, the decompressed bytes would not allow the work.
        for (decompressed, work) in [(41, 0), (10, 121)] {
            let charge = || (budget.charge(Resource::Decompressed, decompressed), budget.charge(Resource::Work, work));
            assert_eq!(budget.charge_in_any_order(charge), None);
            assert_eq!((left(), budget.exhaustion()), ([120, memory + 60, 40, 1024], None));
        }
        let released = || {
            budget.charge(Resource::Memory, memory).unwrap();
            budget.release(Resource::Memory, memory);
            budget.charge(Resource::Memory, 61)
        };
        assert_eq!(budget.charge_in_any_order(released), None, "two threads may need the memory at a time");
        assert_eq!(released(), Ok(()));
        budget.charge(Resource::Decompressed, 41).unwrap_err();
        assert_eq!(budget.charge_in_any_order(|| ()), None);
    }

    #[test]
    fn parts_that_do_not_fit_charge_nothing() {
        let budget = Budget::new(Limits { decompressed: Some(1000), factor: 1 }, 0);
        let part = |decompressed, work| {
            let part = budget.part();
            part.charge(Resource::Decompressed, decompressed).unwrap();
            part.charge(Resource::Work, work).unwrap();
            part
        };
        let all_work = budget.left(Resource::Work);
        // The decompressed bytes of the part allow the work beyond the limit.
        assert!(budget.charge_fitting_part(&part(600, all_work + 1200)));
        assert_eq!((budget.left(Resource::Work), budget.left(Resource::Decompressed)), (0, 400));
        assert!(!budget.charge_fitting_part(&part(401, 0)));
        assert!(!budget.charge_fitting_part(&part(10, 21)));
        let exhausted = budget.part();
        exhausted.charge(Resource::Work, u64::MAX).unwrap_err();
        assert!(!budget.charge_fitting_part(&exhausted));
        assert_eq!((budget.exhaustion(), budget.left(Resource::Decompressed)), (None, 400));
        assert!(budget.charge_fitting_part(&part(10, 20)));
    }
}
