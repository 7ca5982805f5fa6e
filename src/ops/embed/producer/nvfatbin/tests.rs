//! Sequences of calls with the results of libnvfatbin 13.5; `linker-tests/fatbinary/nvfatbin.rs` compares random ones.

use super::*;

const PTX: &[u8] = b".version 8.8\n.target sm_90\n";
const TILE_IR: &[u8] = include_bytes!("../../../../../fixtures/answer.tilebc");
const CUBIN: &[u8] = include_bytes!("../../../../../fixtures/answer-sm_90.cubin");
const LTO_IR: &[u8] = include_bytes!("../../../../../fixtures/answer-sm_90.ltoir");

fn container(options: &[&str]) -> NvFatbin<'static> {
    NvFatbin::new(options).unwrap()
}

/// Kinds of the entries.
fn kinds(container: &NvFatbin) -> Vec<u16> {
    let bytes = container.get().unwrap();
    let (mut kinds, mut at) = (Vec::new(), 16);
    while at < bytes.len() {
        let word = |offset: usize| u32::from_le_bytes(*bytes[at + offset..].first_chunk().unwrap());
        kinds.push(word(0) as u16);
        at += (word(4) + word(8)) as usize;
    }
    kinds
}

#[test]
fn get_requires_the_size_after_the_last_addition() {
    let mut empty = container(&[]);
    assert_eq!(empty.get(), Err(NvFatbinError::Internal));
    assert_eq!(empty.size(), Ok(16));
    empty.add_cubin(CUBIN, "90", "").unwrap();
    assert_eq!(empty.get(), Err(NvFatbinError::Internal));
    let size = empty.size().unwrap();
    assert_eq!(empty.get().unwrap().len(), size);
}

#[test]
fn inputs_are_checked_in_the_order_of_nvfatbin() {
    let mut it = container(&[]);
    assert_eq!(it.add_ptx(b"x", "sm_90", "", ""), Err(NvFatbinError::EmptyInput));
    assert_eq!(it.add_ptx(b"xy", "sm_90", "", ""), Err(NvFatbinError::InvalidArch));
    assert_eq!(it.add_ptx(b"xy", "90", "", ""), Err(NvFatbinError::MissingPtxVersion));
    assert_eq!(it.add_cubin(CUBIN, "80", ""), Err(NvFatbinError::ElfArchMismatch));
    assert_eq!(it.add_cubin(PTX, "90", ""), Err(NvFatbinError::ElfSizeMismatch));
    assert_eq!(it.add_lto_ir(&LTO_IR[..7], "90", "", ""), Err(NvFatbinError::InvalidNvvm));
    assert_eq!(it.add_lto_ir(&LTO_IR[..8], "90", "", ""), Err(NvFatbinError::Internal));
    assert_eq!(it.add_tile_ir(PTX, "", ""), Err(NvFatbinError::Internal));
    assert_eq!(it.add_index(PTX, ""), Err(NvFatbinError::InvalidIndex));
    assert_eq!(it.add_reloc(&PTX[..15]), Err(NvFatbinError::EmptyInput));
    assert_eq!(it.add_reloc(PTX), Err(NvFatbinError::Internal));
    assert_eq!(container(&["-32"]).add_cubin(CUBIN, "90", ""), Err(NvFatbinError::ElfSizeMismatch));
    assert_eq!(it.size(), Ok(16));
}

#[test]
fn ptx_of_containers_follows_the_images_and_has_one_name() {
    let mut other = container(&[]);
    other.add_ptx(PTX, "90", "a.cu", "").unwrap();
    other.size().unwrap();
    let mut it = container(&[]);
    it.add_reloc(other.get().unwrap().to_vec()).unwrap();
    it.add_lto_ir(LTO_IR, "90", "", "-ftz=0").unwrap();
    assert_eq!(it.add_reloc(other.get().unwrap().to_vec()), Err(NvFatbinError::IdentifierReuse));
    it.size().unwrap();
    assert_eq!(kinds(&it), [8, 0x40]);
}

/// Additions to complete groups are part of the container after another addition, if each group has one.
#[test]
fn groups_are_complete_after_the_size() {
    let mut it = container(&["-concat"]);
    it.add_cubin(CUBIN, "90", "").unwrap();
    let size = it.size().unwrap();
    it.add_cubin(CUBIN, "90", "").unwrap();
    assert_eq!(it.size(), Ok(size));
    it.add_tile_ir(TILE_IR, "", "").unwrap();
    it.size().unwrap();
    assert_eq!(kinds(&it), [0x80, 0x100]);
    it.add_tile_ir(TILE_IR, "", "").unwrap();
    assert_eq!(it.size(), Err(NvFatbinError::NullPointer));
    assert_eq!(it.get(), Err(NvFatbinError::Internal));
}

#[test]
fn a_refused_image_begins_a_group_that_must_not_stay_empty() {
    for (compress, result) in [("-concat", Err(NvFatbinError::Internal)), ("-c", Ok(16))] {
        let mut it = container(&[compress]);
        assert_eq!(it.add_ptx(b"garbage", "90", "", ""), Err(NvFatbinError::MissingPtxVersion));
        assert_eq!(it.size(), result);
    }
    let mut it = container(&["-concat"]);
    assert_eq!(it.add_cubin(PTX, "90", ""), Err(NvFatbinError::ElfSizeMismatch));
    it.add_cubin(CUBIN, "90", "").unwrap();
    it.size().unwrap();
    assert_eq!(kinds(&it), [0x100]);
}
