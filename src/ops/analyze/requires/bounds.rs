//! Known bounds of floors: of the oldest release that works.

use std::fmt;

use super::Release;

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
}

impl Limit {
    /// No requirement.
    pub const ANY: Limit = Limit { release: None, is_after: false };
}

impl Floor {
    /// No requirement is known.
    pub const NONE: Floor = Floor { least: Limit::ANY, most: Some(Limit::ANY) };

    /// Nothing is known.
    pub const UNKNOWN: Floor = Floor { least: Limit::ANY, most: None };

    /// Creates a floor that is known.
    pub fn since(release: Release) -> Floor {
        let limit = Limit { release: Some(release), is_after: false };
        Floor { least: limit, most: Some(limit) }
    }

    /// Creates an unknown floor that is newer than a release.
    pub fn after(release: Release) -> Floor {
        Floor { least: Limit { release: Some(release), is_after: true }, most: None }
    }

    /// Creates an unknown floor that is not newer than a release.
    pub fn until(release: Release) -> Floor {
        Floor { least: Limit::ANY, most: Floor::since(release).most }
    }

    /// Returns the floor with other releases in its bounds.
    pub fn map(self, change: impl Fn(Release) -> Release) -> Floor {
        let of_limit = |limit: Limit| Limit { release: limit.release.map(&change), ..limit };
        Floor { least: of_limit(self.least), most: self.most.map(of_limit) }
    }

    /// Returns whether it is known.
    pub fn is_known(self) -> bool {
        self.most == Some(self.least)
    }

    /// Returns the release, if it is known and not [`Floor::NONE`].
    pub fn release(self) -> Option<Release> {
        if self.is_known() { self.least.release } else { None }
    }

    /// Returns the floor of what has both floors.
    pub fn and(self, other: Floor) -> Floor {
        let most = self.most.zip(other.most).map(|(one, other)| one.max(other));
        Floor { least: self.least.max(other.least), most }
    }

    /// Returns the floor of what needs one of both.
    pub fn or(self, other: Floor) -> Floor {
        let most = self.most.into_iter().chain(other.most).min();
        Floor { least: self.least.min(other.least), most }
    }
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    use fatbin_core::format::readers::Product;

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
}
