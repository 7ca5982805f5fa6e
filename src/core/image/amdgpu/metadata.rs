//! Metadata note of code objects since version 3: a MessagePack map with a list of kernels.
//!
//! The keys are from LLVM's User Guide for AMDGPU Backend, section Code Object V3 to V6 Metadata. Later versions only
//! add keys. Unused values are skipped without building them, because the note of a large library has megabytes.

use rmp_serde::decode::Error;
use serde::Deserialize;

use crate::image::kernel::{Kernel, Parameter};

#[derive(Deserialize)]
struct Note<'data> {
    #[serde(rename = "amdhsa.kernels", borrow, default)]
    kernels: Vec<KernelMetadata<'data>>,
    #[serde(rename = "amdhsa.target")]
    target: Option<&'data str>,
}

/// Contents of a note.
#[derive(Debug, Default, PartialEq)]
pub struct Metadata<'data> {
    pub kernels: Vec<DescribedKernel<'data>>,
    /// Target of the code object: a triple and a target ID. Present since version 4.
    pub target: Option<&'data str>,
}

/// A kernel, and the symbol of its descriptor if the note states it.
#[derive(Debug, PartialEq)]
pub struct DescribedKernel<'data> {
    pub kernel: Kernel,
    pub symbol: Option<&'data str>,
}

#[derive(Deserialize)]
struct KernelMetadata<'data> {
    #[serde(rename = ".name")]
    name: &'data str,
    #[serde(rename = ".symbol")]
    symbol: Option<&'data str>,
    #[serde(rename = ".vgpr_count")]
    vgprs: Option<u64>,
    #[serde(rename = ".agpr_count")]
    agprs: Option<u64>,
    #[serde(rename = ".sgpr_count")]
    sgprs: Option<u64>,
    #[serde(rename = ".vgpr_spill_count")]
    vgpr_spills: Option<u64>,
    #[serde(rename = ".sgpr_spill_count")]
    sgpr_spills: Option<u64>,
    #[serde(rename = ".private_segment_fixed_size")]
    private_segment: Option<u64>,
    #[serde(rename = ".uses_dynamic_stack", default)]
    uses_dynamic_stack: bool,
    #[serde(rename = ".group_segment_fixed_size")]
    group_segment: Option<u64>,
    #[serde(rename = ".kernarg_segment_size")]
    kernarg_segment: Option<u64>,
    #[serde(rename = ".wavefront_size")]
    wavefront_size: Option<u64>,
    #[serde(rename = ".max_flat_workgroup_size")]
    max_flat_workgroup_size: Option<u64>,
    #[serde(rename = ".reqd_workgroup_size")]
    required_workgroup_size: Option<[u64; 3]>,
    #[serde(rename = ".args", borrow, default)]
    arguments: Vec<Argument<'data>>,
}

#[derive(Deserialize)]
struct Argument<'data> {
    #[serde(rename = ".name")]
    name: Option<&'data str>,
    #[serde(rename = ".offset")]
    offset: u64,
    #[serde(rename = ".size")]
    size: u64,
    #[serde(rename = ".value_kind")]
    value_kind: &'data str,
}

/// Prefix of the kinds of parameters that the compiler adds.
const HIDDEN_PREFIX: &str = "hidden_";

/// Maximum nesting of values. LLVM's are six deep; each level takes stack space.
const MAX_DEPTH: usize = 64;

/// Number of bytes of memory to charge while a note of this size is parsed. An empty kernel takes eight bytes in the
/// note and a few hundred in memory. In real notes, the two are equal.
pub fn memory_of(note_size: u64) -> u64 {
    note_size.saturating_mul(8)
}

/// Parses the note. The note of another runtime (`amdpal.pipelines`) has no kernels.
pub fn read(note: &[u8]) -> Result<Metadata<'_>, Error> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(note);
    reader.set_max_depth(MAX_DEPTH);
    let Note { kernels, target } = Note::deserialize(&mut reader)?;
    Ok(Metadata { kernels: kernels.into_iter().map(DescribedKernel::from).collect(), target })
}

impl<'data> From<KernelMetadata<'data>> for DescribedKernel<'data> {
    fn from(metadata: KernelMetadata<'data>) -> Self {
        DescribedKernel { symbol: metadata.symbol, kernel: Kernel::from(metadata) }
    }
}

impl From<KernelMetadata<'_>> for Kernel {
    fn from(metadata: KernelMetadata<'_>) -> Kernel {
        let is_own = |argument: &Argument<'_>| !argument.value_kind.starts_with(HIDDEN_PREFIX);
        let parameter = |argument: Argument<'_>| Parameter {
            name: argument.name.map(str::to_owned),
            offset: argument.offset,
            size: argument.size,
        };
        Kernel {
            name: metadata.name.to_owned(),
            vgprs: metadata.vgprs,
            agprs: metadata.agprs,
            sgprs: metadata.sgprs,
            vgpr_spills: metadata.vgpr_spills,
            sgpr_spills: metadata.sgpr_spills,
            scratch: metadata.private_segment,
            scratch_is_minimum: metadata.uses_dynamic_stack,
            shared: metadata.group_segment,
            parameters: metadata.arguments.into_iter().filter(is_own).map(parameter).collect(),
            parameter_size: metadata.kernarg_segment,
            wave_size: metadata.wavefront_size,
            max_threads: metadata.max_flat_workgroup_size,
            required_threads: metadata.required_workgroup_size,
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels(note: &[u8]) -> Result<Vec<Kernel>, Error> {
        Ok(read(note)?.kernels.into_iter().map(|described| described.kernel).collect())
    }

    fn note(value: serde_json::Value) -> Vec<u8> {
        rmp_serde::to_vec(&value).unwrap()
    }

    #[test]
    fn skips_unknown_keys_and_leaves_missing_values_absent() {
        let kernels = kernels(&note(serde_json::json!({
            "amdhsa.version": [1, 9],
            "amdhsa.later": {"nested": [{"deeper": null}, 1.5, "x"]},
            "amdhsa.kernels": [{".name": "k", ".vgpr_count": 7, ".uses_dynamic_stack": true, ".later": [[[]]]}],
        })))
        .unwrap();
        let expected = Kernel { name: "k".to_owned(), vgprs: Some(7), scratch_is_minimum: true, ..Default::default() };
        assert_eq!(kernels, [expected]);
    }

    #[test]
    fn accepts_a_note_without_kernels_and_rejects_a_kernel_without_a_name() {
        assert_eq!(kernels(&note(serde_json::json!({"amdpal.version": [3, 0]}))).unwrap(), []);
        let error = kernels(&note(serde_json::json!({"amdhsa.kernels": [{".vgpr_count": 7}]}))).unwrap_err();
        assert!(error.to_string().contains("missing field `.name`"), "{error}");
    }

    #[test]
    fn truncated_or_corrupt_notes_never_panic() {
        let good = note(serde_json::json!({"amdhsa.kernels": [{".name": "k", ".args": [
            {".offset": 0, ".size": 8, ".value_kind": "global_buffer"}], ".reqd_workgroup_size": [1, 2, 3]}]}));
        for end in 0..good.len() {
            assert!(kernels(&good[..end]).is_err());
        }
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut broken = good.clone();
                broken[at] ^= 1 << bit;
                let _ = kernels(&broken);
            }
        }
        // Unbounded nesting, and a list with a huge stated length.
        assert!(kernels(&[b"\x81\xa1x".as_slice(), &[0x91; 1 << 20]].concat()).is_err());
        assert!(kernels(b"\x81\xaeamdhsa.kernels\xdd\xff\xff\xff\xff").is_err());
    }
}
