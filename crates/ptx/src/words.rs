//! Registers of 64 bits that hold words of 32.

use std::collections::{HashMap, HashSet};

use crate::ast::{Body, Instruction, Operand, Reg};

/// The products of 64 by 64 bits whose factors are both words.
///
/// `mul.wide.u32` or `mad.wide.u32` is one instruction; these are two to four.
pub(crate) fn wide_products(body: &Body) -> impl Iterator<Item = &Instruction> {
    let words = words(body);
    let is_word = move |operand: &Operand| is_word(operand, &words);
    let products = body.instructions.iter().filter(|instruction| {
        matches!(instruction.opcode.text(), "mul.lo.s64" | "mul.lo.u64" | "mad.lo.s64" | "mad.lo.u64")
    });
    products.filter(move |product| {
        // A constant factor is an address or a scale, which compilers know how to make cheap.
        let factors = product.operands.get(1..3).unwrap_or_default();
        factors.iter().all(|factor| matches!(factor, Operand::Reg(_)) && is_word(factor))
    })
}

/// The registers whose every value is recognised as a word, whatever path leads to it.
fn words(body: &Body) -> HashSet<Reg> {
    let mut written = HashMap::<Reg, Vec<&Instruction>>::new();
    for instruction in &body.instructions {
        for reg in instruction.destinations() {
            written.entry(reg).or_default().push(instruction);
        }
    }
    // All are taken to be, and those that are not removed until none is left: so copies around a loop do not convict each other.
    let mut words: HashSet<Reg> = written.keys().copied().collect();
    loop {
        let others: Vec<_> =
            words.iter().copied().filter(|reg| !written[reg].iter().all(|by| makes_word(by, &words))).collect();
        if others.is_empty() {
            return words;
        }
        others.iter().for_each(|reg| {
            words.remove(reg);
        });
    }
}

/// Whether what `instruction` writes is below 2^32.
fn makes_word(instruction: &Instruction, words: &HashSet<Reg>) -> bool {
    let sources = instruction.operands.get(1..).unwrap_or_default();
    match instruction.opcode.text() {
        "cvt.u64.u8" | "cvt.u64.u16" | "cvt.u64.u32" => true,
        // A value narrower than its register is extended by zeros.
        load if load.starts_with("ld.") => {
            [".u8", ".u16", ".u32", ".b8", ".b16", ".b32"].iter().any(|narrow| load.ends_with(narrow))
        }
        "shr.u64" => matches!(sources, [_, Operand::Int(32..)]),
        "mov.b64" | "mov.u64" => matches!(sources, [source] if is_word(source, words)),
        "selp.b64" | "selp.u64" => matches!(sources, [one, other, _] if is_word(one, words) && is_word(other, words)),
        "and.b64" => sources.iter().any(|source| is_word(source, words)),
        _ => false,
    }
}

fn is_word(operand: &Operand, words: &HashSet<Reg>) -> bool {
    match operand {
        Operand::Reg(reg) => words.contains(reg),
        Operand::Int(value) => u32::try_from(*value).is_ok(),
        _ => false,
    }
}
