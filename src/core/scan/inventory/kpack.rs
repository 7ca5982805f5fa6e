//! Device code of a host file in kpack archives next to it.

/// Reference of a host file to archives: the marker that its wrappers point to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KpackReference {
    /// Offset of the marker in the file, in bytes.
    pub offset: u64,
    /// Path of the file in the keys of the archives.
    pub kernel_name: String,
    /// Paths of the archives as the loader resolves them, in its order.
    pub search_paths: Vec<String>,
    /// Indices of the code objects that the wrappers request, sorted, without duplicates.
    pub indices: Vec<u32>,
    /// Archives on disk, in the order of the search paths; empty unless the file was scanned by its path.
    pub archives: Vec<FoundArchive>,
}

/// An archive that a search path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundArchive {
    /// Path of the archive.
    pub path: String,
    /// Search path with the target ID of this archive.
    pub search_path: String,
    /// Target IDs that lead the loader to the archive.
    pub arches: Vec<String>,
    /// Code objects of the host file in the archive: index and target ID, sorted.
    pub code: Vec<(u32, String)>,
}

impl KpackReference {
    /// Indices without code in any archive.
    pub fn missing(&self) -> impl Iterator<Item = u32> {
        self.indices.iter().copied().filter(|index| self.archs_of(*index).next().is_none())
    }

    /// Target IDs whose code object is in an archive.
    pub fn archs_of(&self, index: u32) -> impl Iterator<Item = &str> {
        self.archives.iter().flat_map(move |archive| archive.archs_of(index))
    }

    /// True if any archive has code of the file.
    pub fn has_code(&self) -> bool {
        self.archives.iter().any(|archive| !archive.code.is_empty())
    }
}

impl FoundArchive {
    /// Target IDs whose code object is in the archive.
    pub fn archs_of(&self, index: u32) -> impl Iterator<Item = &str> {
        let first = self.code.partition_point(|(known, _)| *known < index);
        let code = self.code.iter().skip(first).take_while(move |(known, _)| *known == index);
        code.map(|(_, arch)| arch.as_str())
    }

    /// True if the archive has the code object with this index for a target ID.
    pub fn has(&self, index: u32, arch: &str) -> bool {
        self.archs_of(index).any(|known| known == arch)
    }
}
