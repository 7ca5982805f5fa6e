//! The longest jumps of every architecture, compared with the bytes of `llvm-mc` 22.

use super::aarch64::A64Assembler;
use super::loongarch64::LoongArchAssembler;
use super::powerpc64le::PowerAssembler;
use super::riscv64::RiscvAssembler;
use super::s390x::ZAssembler;
use super::x86_64::X86Assembler;
use crate::host::assembler::{Assembler, Buffer, Label, Register};

/// Distance of a jump from its own start, and its bytes.
type Case = (isize, &'static [u8]);

fn jump<A: Assembler>(assembler: &mut A, to: Label) {
    assembler.jump(to);
}

fn if_not_below<A: Assembler>(assembler: &mut A, to: Label) {
    assembler.jump_if_not_below(Register::Local(0), Register::Scratch, to);
}

/// Checks a jump with its label at a distance. The jump is the last instruction that `emit` appends; instructions
/// before it, such as a comparison, count towards a backward distance.
fn check<A: Assembler + Default>(emit: fn(&mut A, Label), cases: &[Case]) {
    for &(distance, expected) in cases {
        let mut assembler = A::default();
        let label = assembler.buffer().label();
        emit(&mut assembler, label);
        let before = assembler.buffer().position() - expected.len();
        if distance < 0 {
            std::mem::take(assembler.buffer());
            let label = assembler.buffer().label();
            assembler.buffer().place(label);
            gap(assembler.buffer(), distance.unsigned_abs() - before);
            emit(&mut assembler, label);
        } else {
            gap(assembler.buffer(), distance.unsigned_abs() - expected.len());
            assembler.buffer().place(label);
        }
        let code = std::mem::take(assembler.buffer()).finish::<A>().bytes;
        let at = if distance < 0 { distance.unsigned_abs() } else { before };
        assert_eq!(code[at..at + expected.len()], *expected, "{distance}");
    }
}

fn gap(buffer: &mut Buffer, size: usize) {
    buffer.push(&vec![0; size]);
}

#[test]
fn x86_64() {
    check::<X86Assembler>(
        jump,
        &[(0x10000, &[0xe9, 0xfb, 0xff, 0x00, 0x00]), (-0x10000, &[0xe9, 0xfb, 0xff, 0xfe, 0xff])],
    );
    check::<X86Assembler>(
        if_not_below,
        &[(0x10000, &[0x0f, 0x83, 0xfa, 0xff, 0x00, 0x00]), (-0x10000, &[0x0f, 0x83, 0xfa, 0xff, 0xfe, 0xff])],
    );
}

#[test]
fn aarch64() {
    check::<A64Assembler>(jump, &[(0x7ff_fffc, &[0xff, 0xff, 0xff, 0x15]), (-0x800_0000, &[0x00, 0x00, 0x00, 0x16])]);
    check::<A64Assembler>(
        if_not_below,
        &[(0xf_fffc, &[0xe2, 0xff, 0x7f, 0x54]), (-0x10_0000, &[0x02, 0x00, 0x80, 0x54])],
    );
}

#[test]
fn riscv64() {
    check::<RiscvAssembler>(jump, &[(0xf_fffc, &[0x6f, 0xf0, 0xdf, 0x7f]), (-0x10_0000, &[0x6f, 0x00, 0x00, 0x80])]);
    check::<RiscvAssembler>(if_not_below, &[(0xffc, &[0xe3, 0xfe, 0x54, 0x7e]), (-0x1000, &[0x63, 0xf0, 0x54, 0x80])]);
}

#[test]
fn powerpc64le() {
    check::<PowerAssembler>(jump, &[(0x1ff_fffc, &[0xfc, 0xff, 0xff, 0x49]), (-0x200_0000, &[0x00, 0x00, 0x00, 0x4a])]);
    check::<PowerAssembler>(if_not_below, &[(0x7ffc, &[0xfc, 0x7f, 0x80, 0x40]), (-0x8000, &[0x00, 0x80, 0x80, 0x40])]);
}

/// Jumps reach 4 GiB, which no test fills.
#[test]
fn s390x() {
    check::<ZAssembler>(
        jump,
        &[(0x10000, &[0xc0, 0xf4, 0x00, 0x00, 0x80, 0x00]), (-0x10000, &[0xc0, 0xf4, 0xff, 0xff, 0x80, 0x00])],
    );
    check::<ZAssembler>(
        if_not_below,
        &[(0x10000, &[0xc0, 0xa4, 0x00, 0x00, 0x80, 0x00]), (-0x10000, &[0xc0, 0xa4, 0xff, 0xff, 0x80, 0x00])],
    );
}

#[test]
fn loongarch64() {
    check::<LoongArchAssembler>(
        jump,
        &[(0x7ff_fffc, &[0xff, 0xfd, 0xff, 0x53]), (-0x800_0000, &[0x00, 0x02, 0x00, 0x50])],
    );
    check::<LoongArchAssembler>(
        if_not_below,
        &[(0x1_fffc, &[0xec, 0xfe, 0xff, 0x6d]), (-0x2_0000, &[0xec, 0x02, 0x00, 0x6e])],
    );
}

#[test]
#[should_panic = "does not fit into 11 bits"]
fn rejects_a_jump_that_is_too_far() {
    check::<RiscvAssembler>(if_not_below, &[(0x1000, &[0; 4])]);
}
