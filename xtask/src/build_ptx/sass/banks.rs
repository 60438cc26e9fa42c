//! Clocks that multiplications wait for register reads.
//!
//! The model: registers lie in two banks, by parity; each reads one register of a warp per clock.
//! An operand marked `.reuse` is kept for the next instruction of its pipe that reads it at the
//! same place (Huerta et al., "Analyzing modern NVIDIA GPU cores", 2025).

use std::collections::{BTreeMap, BTreeSet};

use super::listing::Instruction;

/// The clocks in which multiplications of `instructions` cannot start.
///
/// They wait because a bank still reads for an earlier multiplication.
pub(super) fn waits(instructions: &[Instruction]) -> u32 {
    let mut clocks = 0;
    let mut kept = BTreeMap::<usize, u32>::new();
    for instruction in instructions {
        if !matches!(instruction.name(), "FFMA" | "FADD" | "FMUL" | "IMAD") {
            continue;
        }
        let (mut needed, mut next) = (BTreeSet::new(), BTreeMap::new());
        for (place, operand) in instruction.operands.iter().skip(1).enumerate() {
            let Some(register) = register(operand) else { continue };
            if kept.get(&place) != Some(&register) {
                needed.insert(register);
            }
            if operand.contains(".reuse") {
                next.insert(place, register);
            }
        }
        kept = next;
        let even = needed.iter().filter(|&register| register % 2 == 0).count();
        clocks += even.max(needed.len() - even).saturating_sub(1) as u32;
    }
    clocks
}

/// The number of the register in an operand like `-R12.reuse`; `RZ` is none.
fn register(operand: &str) -> Option<u32> {
    let digits = operand.trim_start_matches(['-', '|', '~']).strip_prefix('R')?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn multiplication(operands: &str) -> Instruction {
        let operands = operands.split(' ').map(str::to_owned).collect();
        Instruction { opcode: "FFMA".to_owned(), operands }
    }

    #[test]
    fn operands_of_one_bank_are_read_one_after_another_unless_they_are_kept() {
        let waits = |texts: &[&str]| waits(&texts.iter().map(|text| multiplication(text)).collect::<Vec<_>>());
        assert_eq!(waits(&["R0 R1 R2 R3"]), 1);
        assert_eq!(waits(&["R0 R1 R2 R4"]), 1);
        assert_eq!(waits(&["R0 R2 R4 R6"]), 2);
        assert_eq!(waits(&["R0 R2 R2 RZ"]), 0);
        assert_eq!(waits(&["R0 R2.reuse R4 R5", "R1 R2 -R7 R8"]), 1);
        assert_eq!(waits(&["R0 R2.reuse R4 R5", "R1 R7 R2 R9"]), 2);
    }
}
