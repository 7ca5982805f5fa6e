//! `-targets`: valid targets, targets that conflict, and the IDs under which targets are stored.
//!
//! The tool splits a name at its first five dashes, whatever is between them: kind, four parts of a triple, target ID. It
//! stores the triple in normal form and the target ID as written if the processor is known to it; it drops an unknown one.
//! `hip-amdgcn-amd-amdhsa-gfx906` thus becomes code for any processor. Here an ID is stored as the tool stores it if that
//! loses nothing, and otherwise in the intended form, with a warning.
//!
//! Source: the output of clang-offload-bundler 22.1.8 for every processor that is known here.

use super::Result;
use crate::target::processors::Processor;
use crate::target::target_id::{TargetId, cut};
use crate::target::{BundleEntryId, OffloadKind, Triple, compatibility, names_architecture};

const FORMAT: &str = "Targets need to follow the format '<offload kind>-<target triple>', where '<target triple>' follows \
                      the format '<kind>-<arch>-<vendor>-<os>-<env>[-<target id>[:target features]]'.";

const KINDS: [&str; 4] = ["host", "openmp", "hip", "hipv4"];

/// A target of `-targets`.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// ID under which the target is stored.
    pub id: String,
    /// True if the target is the host.
    pub is_host: bool,
    /// Warning about the part of the target that the tool would lose, if any.
    pub lost: Option<String>,
}

/// Parses all names. Invalid, duplicate and conflicting targets are errors.
pub fn read(names: &[String]) -> Result<Vec<Target>> {
    let mut targets: Vec<Target> = Vec::new();
    let mut split_names = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            return Err(DUPLICATE.to_owned());
        }
        let split = SplitName::new(name)?;
        split.check(name)?;
        let target = split.target(name)?;
        if targets.iter().any(|other| canonical(&other.id) == canonical(&target.id)) {
            return Err(DUPLICATE.to_owned());
        }
        targets.push(target);
        split_names.push(split);
    }
    for name in &split_names {
        let same_triple = split_names.iter().filter(|other| (other.kind, other.triple) == (name.kind, name.triple));
        if let Some((one, other)) = compatibility::conflict(same_triple.map(|other| other.target_id)) {
            let [one, other] = [one, other].map(|target_id| format!("{}-{}-{target_id}", name.kind, name.triple));
            return Err(format!("Cannot bundle inputs with conflicting targets: '{one}' and '{other}'"));
        }
    }
    Ok(targets)
}

const DUPLICATE: &str = "Duplicate targets are not allowed";

fn canonical(id: &str) -> Option<String> {
    BundleEntryId::parse(id).map(|id| id.canonical())
}

/// A name, split like the tool splits it.
struct SplitName<'text> {
    kind: &'text str,
    /// Triple of four parts.
    triple: &'text str,
    target_id: &'text str,
}

impl<'text> SplitName<'text> {
    fn new(name: &'text str) -> Result<Self> {
        let dashes: Vec<usize> = name.match_indices('-').map(|(at, _)| at).collect();
        let ([first, _, _, _], end) = match dashes[..] {
            [a, b, c, d] => ([a, b, c, d], name.len()),
            [a, b, c, d, end, ..] => ([a, b, c, d], end),
            _ => return Err(FORMAT.to_owned()),
        };
        Ok(SplitName {
            kind: &name[..first],
            triple: &name[first + 1..end],
            target_id: name.get(end + 1..).unwrap_or(""),
        })
    }

    fn check(&self, name: &str) -> Result<()> {
        let mut message = format!("invalid target '{name}'");
        let (kind, triple) = (KINDS.contains(&self.kind), names_architecture(self.triple));
        if !kind {
            message += &format!(", unknown offloading kind '{}'", self.kind);
        }
        if !triple {
            message += &format!(", unknown target triple '{}'", self.triple);
        }
        if kind && triple { Ok(()) } else { Err(message) }
    }

    fn target(&self, name: &str) -> Result<Target> {
        let meant = BundleEntryId::parse(name).ok_or_else(|| format!("invalid target '{name}'"))?;
        let is_host = meant.kind == OffloadKind::Host;
        let kept = if is_known_to_the_tool(self.target_id) { self.target_id } else { "" };
        let stored = format!("{}-{}-{kept}", self.kind, Triple::normalize(self.triple));
        if meant.target_id.unwrap_or("") == kept {
            return Ok(Target { id: stored, is_host, lost: None });
        }
        let id = meant.canonical();
        let lost =
            format!("clang-offload-bundler of LLVM 22 would store '{name}' as '{stored}'; it is stored as '{id}'");
        Ok(Target { id, is_host, lost: Some(lost) })
    }
}

/// Returns whether the processor of a target ID is known to the tool. Of the processors known here, it does not know
/// NVIDIA's family names, AMD's alternative names, and two that AMD has dropped.
fn is_known_to_the_tool(target_id: &str) -> bool {
    let (written, _) = cut(target_id);
    let is_family = written.starts_with("sm_") && written.ends_with('f');
    let is_other_name = Processor::named(written).is_some_and(|processor| processor.name != written);
    TargetId::parse(written).is_ok() && !is_family && !is_other_name && !["gfx940", "gfx941"].contains(&written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(name: &str) -> (String, bool) {
        let target = read(&[name.to_owned()]).unwrap().remove(0);
        (target.id, target.lost.is_some())
    }

    #[test]
    fn stores_a_target_like_the_tool_if_nothing_is_lost() {
        let cases = [
            ("host-x86_64-unknown-linux-gnu", "host-x86_64-unknown-linux-gnu-"),
            ("host-x86_64-unknown-linux-", "host-x86_64-unknown-linux-unknown-"),
            ("hip-x86_64-linux-gnu-", "hip-x86_64-unknown-linux-gnu-"),
            ("hip-amdgcn-amd-amdhsa-", "hip-amdgcn-amd-amdhsa--"),
            ("hipv4-amdgcn-amd-amdhsa-unknown-gfx906", "hipv4-amdgcn-amd-amdhsa--gfx906"),
            ("hip-amdgcn-amd-amdhsa--gfx906:xnack+:sramecc-", "hip-amdgcn-amd-amdhsa--gfx906:xnack+:sramecc-"),
            ("hip-amdgcn-amd-amdhsa--gfx906:bogus+", "hip-amdgcn-amd-amdhsa--gfx906:bogus+"),
            ("hip-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+", "hip-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+"),
            ("openmp-nvptx64-nvidia-cuda--sm_70", "openmp-nvptx64-nvidia-cuda-unknown-sm_70"),
            ("hip-spirv64-amd-amdhsa--amdgcnspirv", "hip-spirv64-amd-amdhsa--amdgcnspirv"),
        ];
        for (name, id) in cases {
            assert_eq!(stored(name), (id.to_owned(), false), "{name}");
        }
    }

    #[test]
    fn keeps_what_the_tool_would_lose_and_warns() {
        let cases = [
            ("hip-amdgcn-amd-amdhsa--fiji", "hip-amdgcn-amd-amdhsa--gfx803"),
            ("hip-amdgcn-amd-amdhsa--gfx940", "hip-amdgcn-amd-amdhsa--gfx940"),
            ("hip-amdgcn-amd-amdhsa--gfx9999:xnack+", "hip-amdgcn-amd-amdhsa--gfx9999:xnack+"),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
            ("openmp-nvptx64-nvidia-cuda--sm_100f", "openmp-nvptx64-nvidia-cuda-unknown-sm_100f"),
            ("host-x86_64-unknown-linux-gnu-skylake", "host-x86_64-unknown-linux-gnu-skylake"),
        ];
        for (name, id) in cases {
            assert_eq!(stored(name), (id.to_owned(), true), "{name}");
        }
        let target = read(&["hip-amdgcn-amd-amdhsa--fiji".to_owned()]).unwrap().remove(0);
        let message = "clang-offload-bundler of LLVM 22 would store 'hip-amdgcn-amd-amdhsa--fiji' as \
                       'hip-amdgcn-amd-amdhsa--'; it is stored as 'hip-amdgcn-amd-amdhsa--gfx803'";
        assert_eq!(target.lost.as_deref(), Some(message));
    }

    #[test]
    fn rejects_invalid_duplicate_and_conflicting_targets() {
        let cases = [
            ("foo foo", FORMAT),
            ("host-x86_64-unknown-linux", FORMAT),
            ("", FORMAT),
            ("cuda-nvptx64-nvidia-cuda-", "invalid target 'cuda-nvptx64-nvidia-cuda-', unknown offloading kind 'cuda'"),
            (
                "foo-bar-a-b-c",
                "invalid target 'foo-bar-a-b-c', unknown offloading kind 'foo', unknown target triple 'bar-a-b-c'",
            ),
            ("hip-amdgcn-a/b-linux-gnu", "invalid target 'hip-amdgcn-a/b-linux-gnu'"),
            ("hip-amdgcn-amd-amdhsa-- hip-amdgcn-amd-amdhsa--", DUPLICATE),
            ("hip-amdgcn-amd-amdhsa--gfx906 hip-amdgcn-amd-amdhsa-unknown-gfx906", DUPLICATE),
            ("hip-amdgcn-amd-amdhsa--fiji hip-amdgcn-amd-amdhsa--polaris10", DUPLICATE),
            (
                "hip-amdgcn-amd-amdhsa--gfx906:xnack+ hip-amdgcn-amd-amdhsa--gfx906",
                "Cannot bundle inputs with conflicting targets: 'hip-amdgcn-amd-amdhsa--gfx906' and \
                 'hip-amdgcn-amd-amdhsa--gfx906:xnack+'",
            ),
        ];
        for (names, message) in cases {
            let names: Vec<String> = names.split(' ').map(str::to_owned).collect();
            assert_eq!(read(&names).unwrap_err(), message, "{names:?}");
        }
        let different = ["hip-amdgcn-amd-amdhsa--gfx906:xnack+", "hipv4-amdgcn-amd-amdhsa--gfx906"];
        assert_eq!(read(&different.map(str::to_owned)).unwrap().len(), 2);
    }
}
