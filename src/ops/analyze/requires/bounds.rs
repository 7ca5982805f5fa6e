//! Known bounds of floors: of the oldest release that works.

use std::fmt;

use fatbin_core::format::readers::Product;

use super::{LlvmReleases, Release};

/// A bound of a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit {
    /// The release; `None` for no requirement.
    pub release: Option<Release>,
    /// True if only releases after this one work.
    pub is_after: bool,
}

/// The oldest release of a product that works: not older than `least`, and not newer than `most`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    /// No release before this one works.
    pub least: Limit,
    /// This release works; `None` if no release is known to.
    pub most: Option<Limit>,
    /// Measured releases of LLVM that work. Later releases may stop to load old code.
    pub llvm: LlvmReleases,
}

impl Limit {
    /// No requirement.
    pub const ANY: Limit = Limit { release: None, is_after: false };
}

impl Floor {
    /// No requirement is known.
    pub const NONE: Floor = Floor { least: Limit::ANY, most: Some(Limit::ANY), llvm: LlvmReleases::ALL };

    /// Nothing is known.
    pub const UNKNOWN: Floor = Floor { most: None, ..Floor::NONE };

    /// Creates a floor that is known.
    pub fn since(release: Release) -> Floor {
        let limit = Limit { release: Some(release), is_after: false };
        Floor { least: limit, most: Some(limit), ..Floor::NONE }
    }

    /// Creates an unknown floor that is newer than a release.
    pub fn after(release: Release) -> Floor {
        Floor { least: Limit { release: Some(release), is_after: true }, ..Floor::UNKNOWN }
    }

    /// Creates an unknown floor that is not newer than a release.
    pub fn until(release: Release) -> Floor {
        Floor { most: Floor::since(release).most, ..Floor::NONE }
    }

    /// Creates the floor of what only some of the measured releases of LLVM load.
    pub fn of_llvm(llvm: LlvmReleases) -> Floor {
        let release = |major| Release::new(Product::Llvm, (major, 0));
        let floor = match llvm.majors().next() {
            None => Floor::UNKNOWN,
            Some(first) => match LlvmReleases::MEASURED.into_iter().take_while(|major| *major < first).last() {
                None => Floor::NONE,
                Some(before) => Floor { most: Floor::since(release(first)).most, ..Floor::after(release(before)) },
            },
        };
        Floor { llvm, ..floor }
    }

    /// Returns the floor with other releases in its bounds.
    pub fn map(self, change: impl Fn(Release) -> Release) -> Floor {
        let of_limit = |limit: Limit| Limit { release: limit.release.map(&change), ..limit };
        Floor { least: of_limit(self.least), most: self.most.map(of_limit), ..self }
    }

    /// Returns whether it is known, and every later release works.
    pub fn is_known(self) -> bool {
        self.most == Some(self.least) && self.measured_llvm().is_none()
    }

    /// Returns the measured releases of LLVM that work. `None` if all since the oldest one work.
    pub fn measured_llvm(self) -> Option<LlvmReleases> {
        let first = self.least.release.filter(|release| release.product == Product::Llvm);
        let since = |llvm: LlvmReleases| first.map_or(llvm, |release| llvm.since(release.version.0));
        let is_open = self.most == Some(self.least) && since(self.llvm) == since(LlvmReleases::ALL);
        (!self.llvm.are_all() && !is_open).then(|| since(self.llvm))
    }

    /// Returns the release, if it is known and not [`Floor::NONE`].
    pub fn release(self) -> Option<Release> {
        if self.is_known() { self.least.release } else { None }
    }

    /// Returns the floor of what has both floors.
    pub fn and(self, other: Floor) -> Floor {
        let most = self.most.zip(other.most).map(|(one, other)| one.max(other));
        Floor { least: self.least.max(other.least), most, llvm: self.llvm.and(other.llvm) }
    }

    /// Returns the floor of what needs one of both.
    pub fn or(self, other: Floor) -> Floor {
        let most = self.most.into_iter().chain(other.most).min();
        Floor { least: self.least.min(other.least), most, llvm: self.llvm.or(other.llvm) }
    }
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(llvm) = self.measured_llvm() {
            return write!(f, "{llvm}");
        }
        let least = self.least.release;
        match (least, self.most.map(|most| most.release)) {
            (None, Some(None)) => f.write_str("none known"),
            (None, None) => f.write_str("unknown"),
            (Some(least), None) if self.least.is_after => write!(f, "unknown, newer than {least}"),
            (Some(least), None) => write!(f, "unknown, at least {least}"),
            (Some(least), Some(_)) if self.is_known() => write!(f, "{least}"),
            (Some(least), Some(Some(most))) => write!(f, "{least} to {most}"),
            (None, Some(Some(most))) => write!(f, "{most} or older"),
            (Some(least), Some(None)) => write!(f, "{least}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::requires::DriverNumber;

    fn release(version: (u32, u32), driver: Option<[u32; 3]>) -> Release {
        Release { driver: driver.map(DriverNumber), ..Release::new(Product::Cuda, version) }
    }

    #[test]
    fn unknown_floors_keep_what_is_known() {
        let old = Floor::since(release((11, 0), Some([450, 51, 5])));
        let new = Floor::since(release((12, 4), Some([550, 54, 14])));
        assert_eq!([old.and(new), old.or(new)], [new, old]);
        assert_eq!([old.and(Floor::NONE), old.or(Floor::NONE)], [old, Floor::NONE]);
        assert_eq!(old.and(Floor::UNKNOWN).to_string(), "unknown, at least CUDA 11.0 (driver 450.51.05)");
        assert_eq!(old.or(Floor::UNKNOWN).to_string(), "CUDA 11.0 (driver 450.51.05) or older");
        let newest = Floor::after(release((13, 5), None));
        assert_eq!(newest.and(new), newest);
        assert_eq!(newest.or(new), new);
        assert_eq!(newest.to_string(), "unknown, newer than CUDA 13.5");
        let between = Floor { least: old.least, ..new };
        assert_eq!(between.to_string(), "CUDA 11.0 (driver 450.51.05) to CUDA 12.4 (driver 550.54.14)");
        assert_eq!([Floor::NONE, Floor::UNKNOWN].map(|it| it.to_string()), ["none known", "unknown"]);
        assert_eq!([old, newest, Floor::UNKNOWN, Floor::NONE].map(Floor::is_known), [true, false, false, true]);
    }

    #[test]
    fn releases_of_llvm_have_floors_and_ceilings() {
        let llvm = |major| Floor::since(Release::new(Product::Llvm, (major, 0)));
        let of = |majors: &[u32]| Floor::of_llvm(LlvmReleases::of(majors.iter().copied()));
        let text = |floor: Floor| floor.to_string();
        assert_eq!(text(llvm(14).and(of(&[15, 16, 19]))), "LLVM 15 to 19");
        assert_eq!(text(llvm(14).and(of(&[15, 16, 22]))), "LLVM 15 to 16 and LLVM 22 or newer");
        assert_eq!(text(llvm(20).and(of(&[15, 16, 22]))), "LLVM 20");
        assert_eq!(text(llvm(20).and(of(&[15, 16, 19]))), "no measured release of LLVM");
        assert_eq!(text(llvm(14).and(of(&[22]))), "LLVM 22 or newer");
        assert_eq!(text(of(&[15, 16]).or(of(&[22]))), "LLVM 15 to 16 and LLVM 22 or newer");
        let all = llvm(14).and(of(&[15, 16, 19, 22]));
        assert_eq!((text(all), all.is_known()), ("LLVM 14".to_owned(), true));
        assert!(!llvm(14).and(of(&[15, 16, 19])).is_known());
    }
}
